//! How much of the processors' time this process may use: the quotas of its control groups.
//!
//! A container has a quota rather than a mask: it sees all processors, and is stopped for the rest
//! of each period once its threads have used up their time. Linux says it as `cpu.max` (version 2)
//! or `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1), in each group from the process's own
//! up to the root; the least of them holds.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// How much of the processors' time a process may use in each period.
///
/// # Examples
/// ```
/// use phalanx::machine::{CpuQuota, Machine};
/// let machine = Machine::this()?;
/// match machine.quota() {
///     Some(quota) => println!("at most {quota}: {} ranks by default", quota.ranks()),
///     None => println!("all the time of {} units", machine.allowed_pus().len()),
/// }
/// # Ok::<(), phalanx::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    time_us: u64,
    period_us: u64,
    /// The file that says so.
    file: PathBuf,
}

impl CpuQuota {
    /// How many cores' time that is.
    ///
    /// ```
    /// if let Some(quota) = phalanx::machine::Machine::this()?.quota() {
    ///     assert!(quota.cores() > 0.0);
    /// }
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn cores(&self) -> f64 {
        self.time_us as f64 / self.period_us as f64
    }

    /// How many ranks can run all the time: whole cores, at least 1.
    ///
    /// ```
    /// if let Some(quota) = phalanx::machine::Machine::this()?.quota() {
    ///     assert!(quota.ranks() == 1 || quota.ranks() as f64 <= quota.cores());
    /// }
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn ranks(&self) -> usize {
        usize::try_from(self.time_us / self.period_us).unwrap_or(usize::MAX).max(1)
    }

    fn is_below(&self, other: &CpuQuota) -> bool {
        u128::from(self.time_us) * u128::from(other.period_us)
            < u128::from(other.time_us) * u128::from(self.period_us)
    }

    /// The least quota of the process whose files are below `root`, if it has one.
    pub(super) fn read(root: &Path) -> Option<CpuQuota> {
        let read = |path: &str| read(root, path);
        let (groups, mounts) = (read("proc/self/cgroup")?, read("proc/self/mountinfo")?);
        let mut least: Option<CpuQuota> = None;
        for mount in mounts.lines().filter_map(Mount::of) {
            let own = groups.lines().find_map(|line| mount.group(line));
            let Some(own) = own else { continue };
            let top = root.join(mount.point.trim_start_matches('/'));
            // What is above the mount point is not to be seen in a container.
            for level in own.ancestors() {
                let quota = mount.version.quota(&top.join(level));
                let quota =
                    quota.filter(|it| least.as_ref().is_none_or(|least| it.is_below(least)));
                least = quota.or(least);
            }
        }
        least
    }
}

impl fmt::Display for CpuQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to hundredths, by integers: writing floats is 20 KB of code.
        let (time, period) = (u128::from(self.time_us), u128::from(self.period_us));
        let hundredths = (200 * time + period) / (2 * period);
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        write!(f, "the time of {whole}")?;
        match (rest / 10, rest % 10) {
            (0, 0) => {}
            (tenths, 0) => write!(f, ".{tenths}")?,
            _ => write!(f, ".{rest:02}")?,
        }
        let what = if hundredths == 100 { "core" } else { "cores" };
        write!(f, " {what} ({})", self.file.display())
    }
}

#[inline(never)]
fn read(dir: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(dir.join(file)).ok()
}

#[inline(never)]
fn leads_out(path: &Path) -> bool {
    path.components().any(|it| it == Component::ParentDir)
}

#[inline(never)]
fn has_cpu(list: &str) -> bool {
    list.split(',').any(|it| it == "cpu")
}

/// The two interfaces of control groups.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The quota of a group, if it has one.
    #[inline(never)]
    fn quota(self, group: &Path) -> Option<CpuQuota> {
        let read = |name: &str| read(group, name);
        let (name, time, period) = match self {
            Version::Two => {
                let text = read("cpu.max")?;
                let (time, period) = text.trim().split_once(' ')?;
                ("cpu.max", time.to_owned(), period.to_owned())
            }
            Version::One => {
                let name = "cpu.cfs_quota_us";
                (name, read(name)?, read("cpu.cfs_period_us")?)
            }
        };
        // Without a quota the time is "max", or -1.
        let (time_us, period_us) = (time.trim().parse().ok()?, period.trim().parse().ok()?);
        let file = group.join(name);
        (time_us > 0 && period_us > 0).then_some(CpuQuota { time_us, period_us, file })
    }
}

/// Where groups that have quotas are mounted.
struct Mount<'a> {
    version: Version,
    /// The group that is seen at the mount point.
    root: &'a str,
    point: &'a str,
}

impl<'a> Mount<'a> {
    /// Of a line of `mountinfo`, if it is one.
    fn of(line: &'a str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (name, _, options) = (kind.next()?, kind.next()?, kind.next()?);
        let version = match name {
            "cgroup2" => Version::Two,
            "cgroup" if has_cpu(options) => Version::One,
            _ => return None,
        };
        // Whatever a damaged file says, stay below the root.
        (!leads_out(Path::new(point))).then_some(Mount { version, root, point })
    }

    /// The process's group, from the mount point on, if a line of `cgroup` is of its kind.
    fn group(&self, line: &'a str) -> Option<&'a Path> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let is_its = match self.version {
            Version::Two => controllers.is_empty(),
            Version::One => has_cpu(controllers),
        };
        if !is_its {
            return None;
        }
        // A container sees its own group, or one above it, at the mount point; the path may be the
        // host's, or lead out of its namespace.
        let below = Path::new(path).strip_prefix(self.root).unwrap_or(Path::new(""));
        Some(if leads_out(below) { Path::new("") } else { below })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of such files, below a folder of its own.
    fn quota(name: &str, files: &[(&str, &str)]) -> Option<CpuQuota> {
        let name = format!("phalanx-quota-{}-{name}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = CpuQuota::read(&root);
        std::fs::remove_dir_all(&root).unwrap();
        found
    }

    const V2: (&str, &str) =
        ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    const V1: (&str, &str) = (
        "proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
         31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n",
    );

    fn group(text: &str) -> (&str, &str) {
        ("proc/self/cgroup", text)
    }

    #[test]
    fn the_least_of_all_levels_holds() {
        let files = [
            V2,
            group("0::/pod/app\n"),
            ("sys/fs/cgroup/pod/app/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/pod/cpu.max", "250000 100000\n"),
            ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ];
        let found = quota("levels", &files).unwrap();
        assert_eq!((found.ranks(), found.cores()), (2, 2.5));
        let text = found.to_string();
        assert!(text.starts_with("the time of 2.5 cores ("), "{text}");
        assert!(text.ends_with("pod/cpu.max)"), "{text}");
        // Periods differ: 0.5 of a core is less than 0.6.
        let files = [
            V2,
            group("0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "60000 100000"),
            ("sys/fs/cgroup/a/cpu.max", "5000 10000"),
        ];
        let found = quota("periods", &files).unwrap();
        assert_eq!((found.ranks(), found.cores()), (1, 0.5));
    }

    #[test]
    fn both_versions_are_read_and_no_quota_is_none() {
        let files = [
            V1,
            group("5:cpu,cpuacct:/job\n4:cpuset:/other\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(quota("one", &files).unwrap().ranks(), 4);
        let mut none = files;
        none[2].1 = "-1\n";
        assert_eq!(quota("none", &none), None);
        assert_eq!(quota("nothing", &[V2, group("0::/\n")]), None);
        let odd = |text| [V2, group("0::/\n"), ("sys/fs/cgroup/cpu.max", text)];
        for text in ["", "max", "0 100000", "5 0", "-5 7", "x y", "1 2 3", "18446744073709551616 1"]
        {
            assert_eq!(quota("odd", &odd(text)), None, "{text:?}");
        }
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount_point() {
        let max = ("sys/fs/cgroup/cpu.max", "300000 100000\n");
        let mount =
            |root: &str| format!("30 23 0:26 {root} /sys/fs/cgroup ro - cgroup2 cgroup ro\n");
        for (root, path) in [
            // The host's path, of which the mount begins in the midst.
            ("/docker/abc", "/docker/abc"),
            ("/", "/"),
            // Of a namespace that the process has been moved out of.
            ("/", "/../../elsewhere"),
            ("/docker/abc", "/unseen"),
        ] {
            let text = mount(root);
            let files = [("proc/self/mountinfo", &*text), group(&format!("0::{path}\n")), max]
                .map(|(name, text)| (name.to_owned(), text.to_owned()));
            let files: Vec<_> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
            let found = quota("container", &files).unwrap_or_else(|| panic!("{root} {path}"));
            assert_eq!(found.ranks(), 3, "{root} {path}");
        }
        let out = "30 23 0:26 / /../../sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(quota("out", &[("proc/self/mountinfo", out), group("0::/\n"), max]), None);
    }
}
