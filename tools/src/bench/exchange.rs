//! The raw exchange of two flags between the cores of ranks 0 and 1: the least
//! that any operation between them can cost, and so the unit to compare with.
//! Virtual cores move, so it is measured before each row and after the table.

use phalanx::{Error, Team};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Batches, of which the median counts, and exchanges in each: 0.2 to 0.8 ms
/// together.
const BATCHES: usize = 15;
const EXCHANGES: u64 = 200;
/// Looks after which somebody else may have the core.
const LOOKS: u32 = 1 << 14;

/// A flag on cache lines of its own; written by one rank, read by the other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Flag(AtomicU64);

/// Nanoseconds of one exchange (both flags set and seen); none if ranks 0 and
/// 1 do not have a core each.
pub(crate) fn exchange(team: &Team) -> Result<Option<f64>, Error> {
    let bindings = team.bindings();
    let apart = match &bindings[..] {
        [a, b, ..] => a.pu.is_some() && b.pu.is_some() && a.pu != b.pu,
        _ => false,
    };
    if !apart || bindings[..2].iter().any(|b| b.problem.is_some()) {
        return Ok(None);
    }
    let flags = [Flag::default(), Flag::default()];
    let ranks = team.run(|comm| {
        comm.barrier();
        let ns = (comm.rank() < 2).then(|| batches(&flags[comm.rank()], &flags[1 - comm.rank()]));
        comm.barrier();
        ns
    })?;
    Ok(ranks.into_iter().flatten().next())
}

fn batches(own: &Flag, other: &Flag) -> f64 {
    let mut number = 0;
    let mut ns = [0.0; BATCHES];
    for ns in &mut ns {
        let start = Instant::now();
        for _ in 0..EXCHANGES {
            number += 1;
            // Ordering: Release and Acquire of the other rank's load and
            // store, as every flag of the library has to have.
            own.0.store(number, Ordering::Release);
            let mut looks = 0;
            while other.0.load(Ordering::Acquire) < number {
                looks += 1;
                if looks == LOOKS {
                    looks = 0;
                    std::thread::yield_now();
                }
            }
        }
        *ns = start.elapsed().as_nanos() as f64 / EXCHANGES as f64;
    }
    ns.sort_by(f64::total_cmp);
    ns[BATCHES / 2]
}
