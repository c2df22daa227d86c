//! The loop that measures one case.
//!
//! A sample: every rank rewrites its inputs and brings its buffers to the stated state of the
//! caches (untimed); all meet at a gate of our own and leave it at one moment; each times its own
//! call, or calls. The sample is the maximum over the ranks, less the clock's cost, divided by the
//! number of calls. Then all meet again and check. Every few milliseconds ranks 0 and 1 exchange
//! flags instead: the probe by which samples are filed.

use super::call_buffers::{BufferShape, CallBuffers};
use super::call_tally::CallTally;
use super::element::{Sample, Type};
use crate::interrupt;
use crate::measure::caches::CacheState;
use crate::measure::clock::Clock;
use crate::measure::probe::Probe;
use crate::measure::proximity::ProximityLimits;
use crate::measure::record::Record;
use crate::measure::start_gate::{Seat, StartGate};
use crate::measure::steal::Steal;
use phalanx::engine::{CoreUse, is_beside_load};
use phalanx::schedule::Operation;
use phalanx::topology::Extents;
use phalanx::{Algorithm, Comm, Error, Team};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Samples that a row needs at least, unless their number is given.
pub(crate) const FEWEST: usize = 5;
/// Samples of a row at most: enough for a percentile of 99.9.
const MOST: usize = 20_000;
/// Times of all ranks that are kept at most: 16 MiB.
const MOST_TIMES: usize = 4 << 20;
/// Time between two probes: virtual cores stay where they are for 100 ms and
/// more, mostly; a probe takes 0.02 to 0.15 ms.
const BETWEEN_PROBES: Duration = Duration::from_millis(4);
/// How long a round that is not a row's first warms up at most, after one
/// sample.
const WARM_AGAIN: Duration = Duration::from_millis(1);

/// The root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// This rank.
    Rank(usize),
    /// The next rank with every sample.
    All,
}

/// Which algorithm is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    /// The library's choice.
    Auto,
    /// This one.
    Algorithm(Algorithm),
    /// This one, on a mesh of these extents.
    On(Algorithm, Extents),
}

impl Force {
    /// The name in the table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Force::Auto => "auto",
            Force::Algorithm(algorithm) | Force::On(algorithm, _) => algorithm.id(),
        }
    }
}

/// How long to measure, and other measures besides time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleBudget {
    /// Samples of a row; none: as many as fit the time.
    pub samples: Option<usize>,
    /// Samples before the first that counts, in a row's first round.
    pub(crate) warmup: usize,
    /// How long the samples of one row may take together, with the work that is not
    /// timed.
    pub(crate) time: Duration,
    /// Whether results are checked.
    pub(crate) check: bool,
    /// Whether ranks share cores: no start at one moment then, and no probes.
    pub(crate) crowded: bool,
    /// Calls in a sample; none: as many as keep the buffers warm.
    pub(crate) calls: Option<usize>,
}

/// The call that one row of the table measures.
#[derive(Clone, Debug)]
pub(crate) struct SampleCase {
    pub(crate) shape: BufferShape,
    pub(crate) ty: Type,
    pub(crate) force: Force,
    pub(crate) root: Root,
    pub(crate) caches: CacheState,
    pub(crate) effort: SampleBudget,
}

/// A part of a row's samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Its number, from 0.
    pub(crate) number: usize,
    /// Samples; none: as many as fit the time.
    pub(crate) samples: Option<usize>,
    /// The time, and the samples to take even if they need more.
    pub(crate) time: Duration,
    pub(crate) fewest: usize,
}

/// The parts that measure.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) clock: Clock,
    pub(crate) limits: ProximityLimits,
    /// Between ranks 0 and 1; none where they are not bound to a core each.
    pub(crate) probe: Option<Probe>,
    /// Of the type that is asked for.
    pub(crate) measure: Measure,
}

/// The results of a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleResult {
    /// Samples (the time of one call on the slowest rank, in ns) and probes.
    pub(crate) record: Record<f64>,
    /// Wrong elements, over all ranks and samples.
    pub(crate) wrong: u64,
    /// Milliseconds that the host gave to others meanwhile, if it says so.
    pub(crate) stolen_ms: f64,
    /// Whether the library thought that the process is disturbed.
    pub(crate) disturbed: bool,
    /// The processor time of this process' ranks, if the system says so, and the time.
    pub(crate) used: Option<Duration>,
    pub(crate) took: Duration,
    /// The counts of the calls of this process' ranks, where they are recorded.
    pub(crate) tally: Option<CallTally>,
}

/// Measures one round of a case, in the case's element type.
type MeasureRound = fn(&Team, &SampleCase, Round, &Tools) -> Result<SampleResult, Error>;

/// The functions that measure calls on elements of one type: compiled where the type is named, as
/// everything that an operation and an operator need is a copy for each type.
#[derive(Clone, Copy, Debug)]
pub struct Measure(MeasureRound);

impl Measure {
    /// Measures in `T`.
    pub fn of<T: Sample>() -> Self {
        Measure(measure_as::<T>)
    }
}

/// Measures one round of a case.
pub(crate) fn measure(
    team: &Team,
    case: &SampleCase,
    round: Round,
    tools: &Tools,
) -> Result<SampleResult, Error> {
    (tools.measure.0)(team, case, round, tools)
}

fn measure_as<T: Sample>(
    team: &Team,
    case: &SampleCase,
    round: Round,
    tools: &Tools,
) -> Result<SampleResult, Error> {
    let p = team.size();
    let arrivals: Vec<Arrival> = (0..p).map(|_| Arrival::default()).collect();
    let gate = StartGate::new(p, case.effort.crowded);
    let steal = Steal::now();
    let began = Instant::now();
    let (ranks, rest): (Vec<_>, Vec<_>) = team
        .run(|comm| {
            let mut part =
                SamplePart::<T>::new(case, round, tools, &arrivals, gate.seat(comm.rank()), comm);
            let used = || CoreUse::now().map(|at| at.used);
            let before = used();
            part.run(comm);
            let used = used().zip(before).map(|(after, before)| after - before);
            ((part.times, part.probes, part.wrong), (used, CallTally::of(comm)))
        })?
        .into_iter()
        .unzip();
    let took = began.elapsed();
    let (used, tallies): (Vec<Option<u64>>, Vec<_>) = rest.into_iter().unzip();
    let used = used.into_iter().sum::<Option<u64>>().map(Duration::from_nanos);
    let tally = CallTally::sum(tallies.iter().flatten());
    let samples = ranks.iter().map(|(times, ..)| times.len()).min().unwrap_or(0);
    let calls = case.shape.sets as f64;
    let ns = |time: Duration| tools.clock.net(time.as_nanos() as f64) / calls;
    let sample = |i: usize| ranks.iter().map(|(times, ..)| ns(times[i])).fold(0.0, f64::max);
    let mut record = Record::default();
    let mut from = 0;
    for &(at, exchange) in ranks.first().map_or(&[][..], |rank| &rank.1) {
        record.samples((from..at).map(sample));
        record.probe(exchange);
        from = at;
    }
    record.samples((from..samples).map(sample));
    let wrong = ranks.iter().map(|(.., wrong)| wrong).sum();
    let (stolen_ms, disturbed) = (steal.ms_since().unwrap_or(0.0), is_beside_load());
    Ok(SampleResult { record, wrong, stolen_ms, disturbed, used, took, tally })
}

/// How many barriers a rank has come to; written by that rank only.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Arrival(AtomicU64);

/// The number that rank 0 gives before each sample.
const STOP: u64 = 0;
const PROBE: u64 = 1;
const WARM: u64 = 2;
const GO: u64 = 3;

/// One rank's part in a round.
struct SamplePart<'a, T> {
    case: &'a SampleCase,
    round: Round,
    tools: &'a Tools,
    arrivals: &'a [Arrival],
    seat: Seat<'a>,
    work: CallBuffers<T>,
    times: Vec<Duration>,
    /// The number of times when ranks 0 and 1 exchanged flags, and the ns.
    probes: Vec<(usize, f64)>,
    wrong: u64,
    /// When the round began, and when the last probe was.
    started: Instant,
    probed: Instant,
}

impl<'a, T: Sample> SamplePart<'a, T> {
    fn new(
        case: &'a SampleCase,
        round: Round,
        tools: &'a Tools,
        arrivals: &'a [Arrival],
        seat: Seat<'a>,
        comm: &mut Comm,
    ) -> Self {
        let mut work = CallBuffers::new(case.shape, comm.rank(), comm.size());
        work.make_ready(comm);
        let now = Instant::now();
        SamplePart {
            case,
            round,
            tools,
            arrivals,
            seat,
            work,
            times: Vec::new(),
            probes: Vec::new(),
            wrong: 0,
            started: now,
            probed: now,
        }
    }

    fn run(&mut self, comm: &mut Comm) {
        let p = comm.size();
        // No two rounds have the same data.
        let first = (self.round.number as u64) << 32;
        for sample in 0.. {
            let root = match self.case.root {
                Root::Rank(rank) => rank,
                Root::All => (sample + self.round.number * self.round.fewest) % p,
            };
            match self.case.effort.check {
                true => self.work.prepare(first + sample as u64, root, true),
                false => self.work.refill(first + sample as u64, root),
            }
            self.work.settle(self.case.caches, root);
            let word = loop {
                let word = if comm.rank() == 0 { self.next(sample, p) } else { STOP };
                let Some(word) = self.seat.start(word) else { return };
                match word {
                    STOP => return,
                    PROBE => self.exchange(comm.rank()),
                    _ => break word,
                }
            };
            let time = match &self.case.force {
                Force::Auto => self.timed(comm, root),
                Force::Algorithm(algorithm) => self.timed(&mut comm.with(*algorithm), root),
                Force::On(algorithm, dims) => {
                    self.timed(&mut comm.with_mesh(*algorithm, dims), root)
                }
            };
            if word == GO {
                self.times.push(time);
            }
            // The next steps must not disturb a rank that is not done.
            if self.seat.meet(0).is_none() {
                return;
            }
            if self.case.effort.check {
                self.wrong += self.work.count_wrong(first + sample as u64, root);
                if self.case.shape.operation == Operation::Barrier {
                    self.wrong += self.check_barrier(comm, sample as u64);
                }
            }
        }
    }

    #[inline(always)]
    fn timed(&mut self, comm: &mut Comm, root: usize) -> Duration {
        let start = Instant::now();
        self.work.call(comm, root);
        start.elapsed()
    }

    fn exchange(&mut self, rank: usize) {
        if let (0 | 1, Some(probe)) = (rank, &self.tools.probe) {
            let ns = probe.exchange(rank);
            self.probes.push((self.times.len(), ns));
        }
        self.probed = Instant::now();
    }

    /// The next step, as rank 0 sees it. Every sample that counts has a probe before and after it.
    fn next(&self, sample: usize, ranks: usize) -> u64 {
        let is_probed = self.tools.probe.is_none()
            || self.probes.last().is_some_and(|&(at, _)| at == self.times.len());
        if self.is_over(ranks) || interrupt::asked() {
            return if is_probed || self.times.is_empty() { STOP } else { PROBE };
        }
        if self.times.is_empty() && self.is_cold(sample) {
            return WARM;
        }
        let is_due = self.probes.is_empty() || self.probed.elapsed() >= BETWEEN_PROBES;
        if !is_probed && is_due { PROBE } else { GO }
    }

    fn is_cold(&self, sample: usize) -> bool {
        let again = self.round.number > 0;
        sample < self.case.effort.warmup
            && !(again && sample > 0 && self.started.elapsed() > WARM_AGAIN)
    }

    /// Whether there are samples enough.
    fn is_over(&self, ranks: usize) -> bool {
        let timed = self.times.len();
        match self.round.samples {
            Some(samples) => timed >= samples,
            None => {
                let most = MOST.min(MOST_TIMES / ranks);
                let enough = self.started.elapsed() >= self.round.time || timed >= most;
                timed >= self.round.fewest && enough
            }
        }
    }

    /// One more barrier, to which the ranks come at different times. Returns
    /// how many ranks had not come when this one left.
    fn check_barrier(&self, comm: &mut Comm, sample: u64) -> u64 {
        let (rank, p) = (comm.rank(), comm.size());
        let number = sample + 1;
        let late = Duration::from_micros(2 * ((sample as usize + rank) % p.min(4)) as u64);
        let now = Instant::now();
        while now.elapsed() < late {
            std::hint::spin_loop();
        }
        // Ordering: the barrier under test orders these accesses; it promises that everything
        // before it is visible after it.
        self.arrivals[rank].0.store(number, Ordering::Relaxed);
        match &self.case.force {
            Force::Auto => comm.barrier(),
            Force::Algorithm(algorithm) => comm.with(*algorithm).barrier(),
            Force::On(algorithm, dims) => comm.with_mesh(*algorithm, dims).barrier(),
        }
        // Ordering: as above.
        let seen = self.arrivals.iter().map(|arrival| arrival.0.load(Ordering::Relaxed));
        seen.filter(|&seen| seen < number).count() as u64
    }
}
