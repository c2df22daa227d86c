//! The time that a core takes to copy its own memory, which collectives do besides their messages.

use super::fit::FitPoint;
use super::length_ranges::of_copies;
use phalanx::tuning::Piece;
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::matrix::saved_run::rounded;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::proximity::ProximityLimits;
use phalanx_bench::pair::bandwidth::{Case, Work, measure};
use phalanx_bench::pair::probe_rounds::Effort;
use phalanx_bench::pair::team::team;
use phalanx_model::median;
use serde_json::{Value, json};
use std::time::Duration;

/// Bytes that are copied.
const LENGTHS: [usize; 7] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The time for one length.
const LIMIT: Duration = Duration::from_millis(150);

/// The measurement.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    points: Vec<FitPoint>,
}

impl Copies {
    /// For the profile.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        of_copies(&self.points)
    }

    /// For json.
    pub(crate) fn object(&self) -> Value {
        let point = |p: &FitPoint| json!({ "bytes": p.bytes, "ns_median": rounded(p.ns) });
        json!({ "points": self.points.iter().map(point).collect::<Vec<_>>() })
    }
}

/// Measures on one unit.
pub(crate) fn measure_copies(
    pu: usize,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Copies, Failure> {
    let team = team(&[pu])?;
    let effort = Effort { samples: 60, round: 6, limit: LIMIT };
    let mut points = Vec::new();
    for bytes in LENGTHS {
        if interrupt::asked() {
            return Err(Failure::Interrupted);
        }
        let case = Case { work: Work::Copy, bytes, reads: &[Some(0)] };
        for placed in measure(&team, &case, &effort, limits, clock)? {
            points.push(FitPoint { bytes, ns: median(&placed.samples) });
        }
    }
    Ok(Copies { points })
}
