//! From which footprint on streaming stores are faster: the same all-gather by
//! two teams, one that always streams and one that never does, by turns.

use super::contest::{Call, Outcome, contest};
use super::switches::switch;
use crate::bench::machine::available_memory;
use crate::failure::Failure;
use crate::interrupt;
use crate::matrix::run::rounded;
use crate::measure::clock::Clock;
use crate::measure::place::{Limits, Place};
use crate::pair::rounds::Effort;
use crate::progress::Progress;
use phalanx::model::Tuning;
use phalanx::schedule::Operation;
use phalanx::{Algorithm, Team};
use serde_json::{Value, json};
use std::time::Duration;

/// Bytes that all ranks read and write together, in the measure of
/// [`Tuning::stream_from`].
const FOOTPRINTS: [usize; 6] = [2 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20, 192 << 20];
/// How often each team has its turn.
const TURNS: usize = 4;
/// The time for one turn.
const LIMIT: Duration = Duration::from_millis(120);

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) before: usize,
    pub(crate) from: usize,
    points: Vec<Measured>,
}

#[derive(Clone, Debug)]
struct Measured {
    bytes: usize,
    place: Place,
    cached_ns: f64,
    streamed_ns: f64,
}

impl Stream {
    /// For json.
    pub(crate) fn object(&self) -> Value {
        let size = |size: usize| (size != usize::MAX).then_some(size);
        let point = |p: &Measured| {
            json!({
                "footprint_bytes": p.bytes,
                "place": p.place.name(),
                "cached_ns": rounded(p.cached_ns),
                "streamed_ns": rounded(p.streamed_ns),
                "ratio": rounded(p.streamed_ns / p.cached_ns),
            })
        };
        json!({
            "operation": "all-gather",
            "algorithm": Algorithm::AG_FUSED.id(),
            "default_from": size(self.before),
            "from": size(self.from),
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

/// Measures on `ranks` ranks. `build` makes a team with a tuning.
pub(crate) fn measure_stream(
    ranks: usize,
    before: usize,
    build: impl Fn(Tuning) -> Result<Team, Failure>,
    limits: &Limits,
    clock: &Clock,
) -> Result<Stream, Failure> {
    let mut tuning = Tuning::default();
    tuning.stream_from = usize::MAX;
    let cached = build(tuning)?;
    tuning.stream_from = 0;
    let streaming = build(tuning)?;
    let available = available_memory().unwrap_or(u64::MAX);
    let mut progress = Progress::new(FOOTPRINTS.len());
    let effort = Effort { samples: 16, round: 2, limit: LIMIT };
    let mut points = Vec::new();
    // A quarter of what there is.
    let fits = FOOTPRINTS.into_iter().filter(|&bytes| bytes as u64 <= available / 4);
    for footprint in fits {
        progress.step(&format!("all-gather of {} MiB in all", footprint >> 20));
        // Each rank holds its block, and all of them.
        let call = Call {
            operation: Operation::AllGather,
            bytes: (footprint / (ranks * (ranks + 1))).next_multiple_of(8),
        };
        let mut outcomes: Vec<[Outcome; 2]> = Vec::new();
        for _ in 0..TURNS {
            if interrupt::asked() {
                return Err(Failure::Interrupted);
            }
            let once =
                |team| contest(team, &call, &[Some(Algorithm::AG_FUSED)], &effort, limits, clock);
            if let (Some(a), Some(b)) = (once(&cached)?, once(&streaming)?)
                && a.place == b.place
            {
                outcomes.push([a, b]);
            }
        }
        points.extend(middle(footprint, &outcomes));
    }
    let ratios: Vec<(usize, f64)> =
        points.iter().map(|p| (p.bytes, p.streamed_ns / p.cached_ns)).collect();
    Ok(Stream { before, from: switch(&ratios, before), points })
}

/// The turn whose ratio is in the middle.
fn middle(bytes: usize, outcomes: &[[Outcome; 2]]) -> Option<Measured> {
    let mut all: Vec<Measured> = outcomes
        .iter()
        .map(|[a, b]| Measured {
            bytes,
            place: a.place,
            cached_ns: a.medians[0],
            streamed_ns: b.medians[0],
        })
        .collect();
    let ratio = |m: &Measured| m.streamed_ns / m.cached_ns;
    all.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    all.get(all.len() / 2).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_turn_counts() {
        let outcome = |ns: f64| Outcome {
            place: Place::Ccx,
            samples: 8,
            medians: vec![ns],
            ratios: vec![1.0],
        };
        let turns = [2.0, 0.5, 0.8].map(|ratio| [outcome(100.0), outcome(100.0 * ratio)]);
        assert_eq!(middle(1, &turns).unwrap().streamed_ns, 80.0);
        assert!(middle(1, &[]).is_none());
    }
}
