//! What a core takes to copy memory of its own: collectives do that beside their messages.

use super::fit::Point;
use super::pieces::of_copies;
use phalanx::tuning::Piece;
use phalanx_model::median;
use phalanx_tool::failure::Failure;
use phalanx_tool::interrupt;
use phalanx_tool::matrix::run::rounded;
use phalanx_tool::measure::clock::Clock;
use phalanx_tool::measure::place::Limits;
use phalanx_tool::pair::bandwidth::{Case, Work, measure};
use phalanx_tool::pair::rounds::Effort;
use phalanx_tool::pair::team::team;
use serde_json::{Value, json};
use std::time::Duration;

/// Bytes that are copied.
const LENGTHS: [usize; 7] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The time for one length.
const LIMIT: Duration = Duration::from_millis(150);

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    points: Vec<Point>,
}

impl Copies {
    /// For the profile.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        of_copies(&self.points)
    }

    /// For json.
    pub(crate) fn object(&self) -> Value {
        let point = |p: &Point| json!({ "bytes": p.bytes, "ns_median": rounded(p.ns) });
        json!({ "points": self.points.iter().map(point).collect::<Vec<_>>() })
    }
}

/// Measures on one unit.
pub(crate) fn measure_copies(pu: usize, limits: &Limits, clock: &Clock) -> Result<Copies, Failure> {
    let team = team(&[pu])?;
    let effort = Effort { samples: 60, round: 6, limit: LIMIT };
    let mut points = Vec::new();
    for bytes in LENGTHS {
        if interrupt::asked() {
            return Err(Failure::Interrupted);
        }
        let case = Case { work: Work::Copy, bytes, reads: &[Some(0)] };
        for placed in measure(&team, &case, &effort, limits, clock)? {
            points.push(Point { bytes, ns: median(&placed.samples) });
        }
    }
    Ok(Copies { points })
}
