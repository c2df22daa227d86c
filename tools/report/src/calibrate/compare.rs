//! The time of the automatic choice for an operation, by one team, or by two teams with different
//! sizes, in turns.
//!
//! Algorithms are not forced through a view: that has checks of its own at every
//! call, which the automatic choice does not pay.

use phalanx::schedule::Operation;
use phalanx::{Error, Team};
use phalanx_bench::bench::call_buffers::{BufferShape, CallBuffers, has_blocks, sets_for};
use phalanx_bench::bench::call_form::CallForm;
use phalanx_bench::bench::operator::Redop;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::proximity::{Proximity, ProximityLimits};
use phalanx_bench::pair::probe_rounds::{Effort, Meeting, Taken, placed};
use phalanx_model::median;
use std::time::Instant;

/// The call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedCall {
    pub(crate) operation: Operation,
    /// Bytes of the vector, or of one block.
    pub(crate) bytes: usize,
}

impl ComparedCall {
    /// The shape of it on `ranks` ranks, in `f64`s.
    fn shape(&self, ranks: usize, crowded: bool) -> BufferShape {
        let elements = (self.bytes / size_of::<f64>()).max(1);
        let count = match self.operation {
            Operation::Barrier => 0,
            op if has_blocks(op) => elements * ranks,
            _ => elements,
        };
        BufferShape {
            operation: self.operation,
            redop: self.operation.combines().then_some(Redop::Sum),
            count,
            sets: if crowded { 1 } else { sets_for(count * size_of::<f64>()) },
            shift: 1,
            apart: false,
            form: CallForm::Even,
        }
    }
}

/// A call, at the place where the most samples are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ComparedTime {
    pub(crate) place: Proximity,
    pub(crate) samples: usize,
    /// The median in ns.
    pub(crate) ns: f64,
}

/// Times a call: the slowest rank of each sample. None if no two probes agreed.
pub(crate) fn timed(
    team: &Team,
    call: &ComparedCall,
    effort: &Effort,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Option<ComparedTime>, Error> {
    let p = team.size();
    let crowded = p > team.machine().allowed_pus().len();
    let shape = call.shape(p, crowded);
    // Probes of ranks that share cores would say nothing.
    let meeting = Meeting::new(p, crowded, *limits).probing(!crowded && p > 1);
    let sides: Vec<Taken> = team.run(|comm| {
        let mut work = CallBuffers::<f64>::new(shape, comm.rank(), p);
        let mut number = 0;
        meeting.rounds(comm.rank(), effort, |seat, samples| {
            for _ in 0..effort.round {
                number += 1;
                work.prepare(number, 0, false);
                if seat.start(0).is_none() {
                    return;
                }
                let start = Instant::now();
                work.call(comm, 0);
                let ns = clock.net(start.elapsed().as_nanos() as f64);
                samples.push(ns / shape.sets as f64);
            }
        })
    })?;
    let Some(first) = placed(&sides, limits).into_iter().next() else { return Ok(None) };
    let (place, samples) = (first.place, first.samples.len());
    Ok(Some(ComparedTime { place, samples, ns: median(&first.samples) }))
}

/// Two ways beside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) place: Proximity,
    /// Turns that count: both were at one place.
    pub(crate) turns: usize,
    /// The medians of the turns, in ns.
    pub(crate) ns: [f64; 2],
    /// The median over the turns of the second one's time in the first one's.
    pub(crate) ratio: f64,
}

/// Two teams carry out the same call in turn. None if no turn counts.
pub(crate) fn contest(
    teams: [&Team; 2],
    call: &ComparedCall,
    turns: usize,
    effort: &Effort,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Option<Comparison>, Error> {
    let mut all = Vec::with_capacity(turns);
    for turn in 0..turns {
        // Another one begins each turn.
        let first = turn % 2;
        let a = timed(teams[first], call, effort, limits, clock)?;
        let b = timed(teams[1 - first], call, effort, limits, clock)?;
        if let (Some(a), Some(b)) = (a, b) {
            all.push(if first == 0 { [a, b] } else { [b, a] });
        }
    }
    Ok(judge(&all))
}

/// The place that most turns were at counts.
fn judge(turns: &[[ComparedTime; 2]]) -> Option<Comparison> {
    let at =
        |place: Proximity| turns.iter().filter(move |t| t[0].place == place && t[1].place == place);
    let place = Proximity::ALL.into_iter().max_by_key(|&place| at(place).count())?;
    let middle =
        |of: &dyn Fn(&[ComparedTime; 2]) -> f64| median(&at(place).map(of).collect::<Vec<f64>>());
    let count = at(place).count();
    (count > 0).then(|| Comparison {
        place,
        turns: count,
        ns: [middle(&|t| t[0].ns), middle(&|t| t[1].ns)],
        ratio: middle(&|t| t[1].ns / t[0].ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_at_one_place_count() {
        let at = |place, ns| ComparedTime { place, samples: 8, ns };
        let (ccx, far) = (Proximity::Ccx, Proximity::Far);
        let turns = [
            [at(ccx, 100.0), at(ccx, 200.0)],
            [at(ccx, 100.0), at(far, 900.0)],
            [at(far, 100.0), at(far, 10.0)],
            [at(ccx, 110.0), at(ccx, 55.0)],
            [at(ccx, 120.0), at(ccx, 96.0)],
        ];
        let outcome = judge(&turns).unwrap();
        assert_eq!((outcome.place, outcome.turns), (ccx, 3));
        assert_eq!((outcome.ns, outcome.ratio), ([110.0, 96.0], 0.8));
        assert_eq!(judge(&turns[1..2]), None);
        assert_eq!(judge(&[]), None);
    }
}
