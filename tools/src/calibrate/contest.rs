//! Algorithms of one operation beside each other, in the same rounds: what the
//! machine does to one of them it does to all.

use crate::bench::redop::Redop;
use crate::bench::work::{Shape, Work, has_blocks, lanes_for};
use crate::measure::clock::Clock;
use crate::measure::place::{Limits, Place};
use crate::measure::stats::median;
use crate::pair::rounds::{Effort, Meeting, Taken};
use phalanx::schedule::Operation;
use phalanx::{Algorithm, Comm, Error, Team};
use std::time::Instant;

/// What is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    /// Bytes of the vector, or of one block.
    pub(crate) bytes: usize,
}

impl Call {
    /// The shape of it on `ranks` ranks, in `f64`s.
    fn shape(&self, ranks: usize, crowded: bool) -> Shape {
        let elements = (self.bytes / size_of::<f64>()).max(1);
        let count = match self.operation {
            Operation::Barrier => 0,
            op if has_blocks(op) => elements * ranks,
            _ => elements,
        };
        Shape {
            operation: self.operation,
            redop: self.operation.combines().then_some(Redop::Sum),
            count,
            lanes: if crowded { 1 } else { lanes_for(count * size_of::<f64>()) },
            shift: 1,
            apart: false,
        }
    }
}

/// What came out, at the place where the most samples are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) place: Place,
    /// Samples of each contender.
    pub(crate) samples: usize,
    /// By contender, the median of a call in ns.
    pub(crate) medians: Vec<f64>,
    /// By contender, the median of its time in the first one's of the same
    /// turn.
    pub(crate) ratios: Vec<f64>,
}

/// Runs the contenders (none: the automatic choice) by turns. None if no two
/// probes agreed.
pub(crate) fn contest(
    team: &Team,
    call: &Call,
    contenders: &[Option<Algorithm>],
    effort: &Effort,
    limits: &Limits,
    clock: &Clock,
) -> Result<Option<Outcome>, Error> {
    let p = team.size();
    let crowded = p > team.machine().allowed_pus().len();
    let shape = call.shape(p, crowded);
    // Probes of ranks that share cores would say nothing.
    let meeting = Meeting::new(p, crowded, *limits).probing(!crowded && p > 1);
    let sides: Vec<Taken<Vec<f64>>> = team.run(|comm| {
        let mut work = Work::<f64>::new(shape, comm.rank(), p);
        let mut number = 0;
        meeting.rounds(comm.rank(), effort, |seat, samples| {
            for turn in 0..effort.round {
                let mut times = vec![0.0; contenders.len()];
                for i in 0..contenders.len() {
                    // Another one begins each turn.
                    let which = (i + turn) % contenders.len();
                    number += 1;
                    work.prepare(number, 0);
                    if seat.start(0).is_none() {
                        return;
                    }
                    let start = Instant::now();
                    run(&mut work, comm, contenders[which]);
                    let ns = clock.net(start.elapsed().as_nanos() as f64);
                    times[which] = ns / shape.lanes as f64;
                }
                samples.push(times);
            }
        })
    })?;
    Ok(judge(&sides, contenders.len(), limits))
}

#[inline(always)]
fn run(work: &mut Work<f64>, comm: &mut Comm, contender: Option<Algorithm>) {
    match contender {
        None => work.call(comm, 0),
        Some(algorithm) => work.call(&mut comm.with(algorithm), 0),
    }
}

/// The slowest rank of each call counts.
fn judge(sides: &[Taken<Vec<f64>>], contenders: usize, limits: &Limits) -> Option<Outcome> {
    let (place, turns) = sides.first()?.by_place(limits).into_iter().next()?;
    let slowest = |turn: usize, which: usize| {
        sides.iter().map(|side| side.samples[turn][which]).fold(0.0, f64::max)
    };
    let middle = |which: usize, under: Option<usize>| {
        let mut all: Vec<f64> = turns
            .iter()
            .map(|&t| slowest(t, which) / under.map_or(1.0, |under| slowest(t, under)))
            .collect();
        all.sort_by(f64::total_cmp);
        median(&all)
    };
    Some(Outcome {
        place,
        samples: turns.len(),
        medians: (0..contenders).map(|which| middle(which, None)).collect(),
        ratios: (0..contenders).map(|which| middle(which, Some(0))).collect(),
    })
}
