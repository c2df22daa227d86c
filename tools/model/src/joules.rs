//! The energy that the processors use, where the system lets it be read: the counters of RAPL, of
//! which each package has one, for all that runs on the machine.

#![allow(unreachable_pub, reason = "a program of other packages compiles this file by itself")]

use std::fs;
use std::path::Path;

/// A reading of all counters: microjoules, and where each begins anew.
#[derive(Clone, Debug)]
pub struct Joules(Vec<[u64; 2]>);

impl Joules {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Joules::of(Path::new("/sys/class/powercap")).unwrap_or(Joules(Vec::new()))
    }

    fn of(folder: &Path) -> Option<Self> {
        let mut packages = Vec::new();
        for zone in fs::read_dir(folder).ok()?.flatten().map(|zone| zone.path()) {
            let text = |file: &str| fs::read_to_string(zone.join(file)).ok();
            let number = |file: &str| text(file)?.trim().parse().ok();
            let is_rapl = zone.to_str()?.contains("/intel-rapl:");
            if is_rapl && text("name")?.starts_with("package") {
                let counter = [number("energy_uj")?, number("max_energy_range_uj")?];
                packages.push((zone.clone(), counter));
            }
        }
        packages.sort();
        Some(Joules(packages.into_iter().map(|package| package.1).collect()))
    }

    /// Joules that all packages have used since then; none where that cannot be read.
    #[must_use]
    pub fn since(&self) -> Option<f64> {
        self.until(&Joules::now())
    }

    fn until(&self, end: &Joules) -> Option<f64> {
        let is_readable = !self.0.is_empty() && self.0.len() == end.0.len();
        let used = |(from, to): (&[u64; 2], &[u64; 2])| {
            to[0].checked_sub(from[0]).unwrap_or((to[0] + from[1]).saturating_sub(from[0]))
        };
        is_readable.then(|| self.0.iter().zip(&end.0).map(used).sum::<u64>() as f64 / 1e6)
    }
}

#[cfg(test)]
#[test]
fn packages_are_added_up_across_a_counters_end() {
    let folder = std::env::temp_dir().join(format!("phalanx-joules-{}", std::process::id()));
    let write = |zone: &str, name: &str, energy: u64| {
        let zone = folder.join(zone);
        fs::create_dir_all(&zone).unwrap();
        for (file, text) in [("name", name), ("energy_uj", &energy.to_string())] {
            fs::write(zone.join(file), format!("{text}\n")).unwrap();
        }
        fs::write(zone.join("max_energy_range_uj"), "9000000\n").unwrap();
    };
    write("intel-rapl:0", "package-0", 1_000_000);
    write("intel-rapl:0:0", "core", 500);
    write("intel-rapl-mmio:0", "package-0", 700);
    write("intel-rapl:1", "package-1", 8_000_000);
    let from = Joules::of(&folder).unwrap();
    write("intel-rapl:0", "package-0", 3_500_000);
    write("intel-rapl:1", "package-1", 500_000);
    assert_eq!(from.until(&Joules::of(&folder).unwrap()), Some(4.0));
    fs::remove_dir_all(&folder).unwrap();
    assert!(Joules::of(&folder).is_none());
    assert_eq!(Joules(Vec::new()).until(&from), None);
}
