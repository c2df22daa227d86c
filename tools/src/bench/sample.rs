//! The measuring loop.
//!
//! A sample: every rank rewrites its inputs (untimed); all meet; rank 0 says
//! whether there is another sample and when it starts; all wait for that
//! moment; each times its own call, or calls. The sample is the maximum over
//! the ranks, divided by the number of calls. Then all meet again and check.

use super::element::{Sample, Type};
use super::work::{Shape, Work};
use crate::interrupt;
use phalanx::schedule::Operation;
use phalanx::topology::Extents;
use phalanx::{Algorithm, Comm, Error, Team};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Samples that a row needs at least, unless their number is given.
pub(crate) const FEWEST: usize = 5;
/// Samples of a row at most: enough for a percentile of 99.9.
const MOST: usize = 20_000;
/// From the word of rank 0 to the start: what its broadcast may take, at
/// first and for each rank (a flag exchange costs up to 260 ns on far cores).
const LEAD: Duration = Duration::from_micros(3);
const LEAD_PER_RANK: Duration = Duration::from_nanos(300);

/// Who is root.
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

/// How long to measure, and what besides time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Samples; none: as many as fit the time.
    pub(crate) samples: Option<usize>,
    /// Samples before the first that counts.
    pub(crate) warmup: usize,
    /// How long the samples of one row may take together, with what is not
    /// timed.
    pub(crate) time: Duration,
    /// Whether results are checked.
    pub(crate) check: bool,
    /// Whether there are cores enough for a start at one moment.
    pub(crate) crowded: bool,
}

/// What one row of the table measures.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) shape: Shape,
    pub(crate) ty: Type,
    pub(crate) force: Force,
    pub(crate) root: Root,
    pub(crate) effort: Effort,
}

/// What came out.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Nanoseconds of one call, by sample.
    pub(crate) ns: Vec<f64>,
    /// Wrong elements, over all ranks and samples.
    pub(crate) wrong: u64,
}

/// Measures one case.
pub(crate) fn measure(team: &Team, case: &Case) -> Result<Outcome, Error> {
    match case.ty {
        Type::F32 => measure_as::<f32>(team, case),
        Type::F64 => measure_as::<f64>(team, case),
        Type::I8 => measure_as::<i8>(team, case),
        Type::I16 => measure_as::<i16>(team, case),
        Type::I32 => measure_as::<i32>(team, case),
        Type::I64 => measure_as::<i64>(team, case),
        Type::U8 => measure_as::<u8>(team, case),
        Type::U16 => measure_as::<u16>(team, case),
        Type::U32 => measure_as::<u32>(team, case),
        Type::U64 => measure_as::<u64>(team, case),
    }
}

fn measure_as<T: Sample>(team: &Team, case: &Case) -> Result<Outcome, Error> {
    let epoch = Instant::now();
    let arrivals: Vec<Arrival> = (0..team.size()).map(|_| Arrival::default()).collect();
    let ranks = team.run(|comm| {
        let mut part = Part::<T>::new(case, epoch, &arrivals, comm);
        part.run(comm);
        (part.times, part.wrong)
    })?;
    let samples = ranks.iter().map(|(times, _)| times.len()).min().unwrap_or(0);
    let slowest = |i: usize| ranks.iter().map(|(times, _)| times[i]).max().unwrap_or_default();
    let calls = case.shape.lanes as f64;
    Ok(Outcome {
        ns: (0..samples).map(|i| slowest(i).as_nanos() as f64 / calls).collect(),
        wrong: ranks.iter().map(|(_, wrong)| wrong).sum(),
    })
}

/// How many barriers a rank has come to; written by that rank only.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Arrival(AtomicU64);

/// What rank 0 says before each sample: stop, start at once, or else when to
/// start, in nanoseconds from the epoch.
const STOP: u64 = 0;
const NOW: u64 = 1;

/// One rank's part of a measurement.
struct Part<'a, T> {
    case: &'a Case,
    epoch: Instant,
    arrivals: &'a [Arrival],
    work: Work<T>,
    times: Vec<Duration>,
    wrong: u64,
}

impl<'a, T: Sample> Part<'a, T> {
    fn new(case: &'a Case, epoch: Instant, arrivals: &'a [Arrival], comm: &Comm) -> Self {
        let work = Work::new(case.shape, comm.rank(), comm.size());
        Part { case, epoch, arrivals, work, times: Vec::new(), wrong: 0 }
    }

    fn run(&mut self, comm: &mut Comm) {
        let p = comm.size();
        let warmup = self.case.effort.warmup;
        let started = Instant::now();
        for sample in 0.. {
            let root = match self.case.root {
                Root::Rank(rank) => rank,
                Root::All => sample % p,
            };
            self.work.prepare(sample as u64, root);
            comm.barrier();
            let mut word = [STOP];
            if comm.rank() == 0 && !self.is_over(sample, p, started) {
                word[0] = self.start(p);
            }
            comm.broadcast(&mut word, 0);
            let start = match word[0] {
                STOP => break,
                NOW => {
                    comm.barrier();
                    Duration::ZERO
                }
                ns => Duration::from_nanos(ns),
            };
            while self.epoch.elapsed() < start {
                std::hint::spin_loop();
            }
            let time = match &self.case.force {
                Force::Auto => self.timed(comm, root),
                Force::Algorithm(algorithm) => self.timed(&mut comm.with(*algorithm), root),
                Force::On(algorithm, dims) => self.timed(&mut comm.with_on(*algorithm, dims), root),
            };
            if sample >= warmup {
                self.times.push(time);
            }
            comm.barrier();
            if self.case.effort.check {
                self.wrong += self.work.count_wrong(sample as u64, root);
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

    /// Whether there are samples enough, as rank 0 sees it.
    fn is_over(&self, sample: usize, ranks: usize, started: Instant) -> bool {
        let effort = &self.case.effort;
        let timed = sample.saturating_sub(effort.warmup);
        let fewest = if self.case.root == Root::All { FEWEST.max(ranks) } else { FEWEST };
        let enough = match effort.samples {
            Some(samples) => timed >= samples,
            None => timed >= fewest && (started.elapsed() >= effort.time || timed >= MOST),
        };
        enough || interrupt::asked()
    }

    /// When the next sample starts.
    fn start(&self, ranks: usize) -> u64 {
        if self.case.effort.crowded {
            return NOW;
        }
        let lead = LEAD + LEAD_PER_RANK * ranks as u32;
        (self.epoch.elapsed() + lead).as_nanos() as u64
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
        // Ordering: the barrier under test is what orders these accesses; it
        // promises that everything before it is visible after it.
        self.arrivals[rank].0.store(number, Ordering::Relaxed);
        match &self.case.force {
            Force::Auto => comm.barrier(),
            Force::Algorithm(algorithm) => comm.with(*algorithm).barrier(),
            Force::On(algorithm, dims) => comm.with_on(*algorithm, dims).barrier(),
        }
        // Ordering: as above.
        let seen = self.arrivals.iter().map(|arrival| arrival.0.load(Ordering::Relaxed));
        seen.filter(|&seen| seen < number).count() as u64
    }
}
