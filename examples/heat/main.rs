//! The programs of docs/tutorial.md: a hot edge warms a plate, serially, in regions and by ranks.

// As a page shows them.
#![allow(unreachable_pub)]

mod ranks;
mod regions;
mod serial;

use std::time::Instant;

/// Returns the mean temperature of the plate, and the largest change in the last step.
type Program = fn() -> Result<[f64; 2], phalanx::Error>;

fn main() -> Result<(), phalanx::Error> {
    let programs: [(&str, Program); 4] = [
        ("serial", || Ok(serial::heat())),
        ("regions", regions::heat),
        ("ranks", || ranks::heat(1)),
        ("ranks-10", || ranks::heat(10)),
    ];
    let wanted = std::env::args().nth(1);
    if let Some(wanted) = wanted.as_deref().filter(|it| programs.iter().all(|(name, _)| name != it))
    {
        let names = programs.map(|(name, _)| name).join(", ");
        eprintln!("there is no program `{wanted}`; there are {names}");
        std::process::exit(2);
    }
    for (name, heat) in programs {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            let start = Instant::now();
            let [mean, change] = heat()?;
            println!("{name}: mean {mean:.6}, change {change:.6}, {:.1?}", start.elapsed());
            assert!((mean - MEAN).abs() < 1e-10 && (change - CHANGE).abs() < 1e-10);
        }
    }
    Ok(())
}

const MEAN: f64 = 0.02435623308;
const CHANGE: f64 = 0.00121035695;
