//! The footprint from which streaming stores are faster: one all-gather by two teams in turns, of
//! which one always streams and the other never does.

use super::compare::{ComparedCall, Comparison, contest};
use super::thresholds::switch;
use phalanx::schedule::Operation;
use phalanx::tuning::Tuning;
use phalanx::{Algorithm, Team};
use phalanx_bench::bench::run_conditions::available_memory;
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::matrix::saved_run::rounded;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::proximity::ProximityLimits;
use phalanx_bench::pair::probe_rounds::Effort;
use phalanx_bench::progress::Progress;
use serde_json::{Value, json};
use std::time::Duration;

/// Bytes that all ranks read and write together, in the measure of
/// [`Tuning::stream_from`].
const FOOTPRINTS: [usize; 6] = [2 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20, 192 << 20];
/// How often each team has its turn.
const TURNS: usize = 4;
/// The time for one turn.
const LIMIT: Duration = Duration::from_millis(120);

/// The finding.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) before: usize,
    pub(crate) from: usize,
    /// By footprint: through the caches, and round them.
    points: Vec<(usize, Comparison)>,
}

impl Stream {
    /// For json.
    pub(crate) fn object(&self) -> Value {
        let size = |size: usize| (size != usize::MAX).then_some(size);
        let point = |(bytes, outcome): &(usize, Comparison)| {
            json!({
                "footprint_bytes": bytes,
                "place": outcome.place.name(),
                "turns": outcome.turns,
                "cached_ns": rounded(outcome.ns[0]),
                "streamed_ns": rounded(outcome.ns[1]),
                "ratio": rounded(outcome.ratio),
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
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Stream, Failure> {
    let mut tuning = Tuning::default();
    tuning.all_gather_fused = 0;
    tuning.many_ranks = usize::MAX;
    tuning.stream_from = usize::MAX;
    let cached = build(tuning)?;
    tuning.stream_from = 0;
    let streaming = build(tuning)?;
    let available = available_memory().unwrap_or(u64::MAX);
    let mut progress = Progress::new(FOOTPRINTS.len());
    let effort = Effort { samples: 16, round: 2, limit: LIMIT };
    let mut points = Vec::new();
    // A quarter of the memory.
    let fits = FOOTPRINTS.into_iter().filter(|&bytes| bytes as u64 <= available / 4);
    for footprint in fits {
        progress.step(&format!("all-gather of {} MiB in all", footprint >> 20));
        // Each rank holds its block, and all of them.
        let call = ComparedCall {
            operation: Operation::AllGather,
            bytes: (footprint / (ranks * (ranks + 1))).next_multiple_of(8),
        };
        if interrupt::asked() {
            return Err(Failure::Interrupted);
        }
        let teams = [&cached, &streaming];
        if let Some(outcome) = contest(teams, &call, TURNS, &effort, limits, clock)? {
            points.push((footprint, outcome));
        }
    }
    let ratios: Vec<(usize, f64)> = points.iter().map(|(b, o)| (*b, o.ratio)).collect();
    Ok(Stream { before, from: switch(&ratios, before), points })
}
