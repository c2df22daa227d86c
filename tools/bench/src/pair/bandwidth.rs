//! Rates: a rank reads, copies or combines another rank's fresh data.

use super::probe_rounds::{Effort, Meeting, Placed, Taken, placed};
use crate::measure::clock::Clock;
use crate::measure::proximity::ProximityLimits;
use crate::measure::start_gate::Seat;
use phalanx::{Comm, Error, Team};
use std::hint::black_box;
use std::time::Instant;

/// The use that a reader makes of the owner's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sums them up.
    Read,
    /// Copies them into its own buffer.
    Copy,
    /// Adds them to its own buffer's, in place.
    Combine,
}

phalanx_cli::named! { Work "work": Read "read" Copy "copy" Combine "combine" }

impl Work {
    /// Does it.
    #[inline(never)]
    fn run(self, own: &mut [f64], theirs: &[f64]) {
        match self {
            Work::Read => {
                // As integers: sums of floats may not be split over lanes.
                let sum = theirs.iter().fold(0u64, |sum, x| sum.wrapping_add(x.to_bits()));
                black_box(sum);
            }
            Work::Copy => own.copy_from_slice(theirs),
            Work::Combine => own.iter_mut().zip(theirs).for_each(|(a, b)| *a += *b),
        }
        black_box(own);
    }
}

/// One measurement: which rank reads which buffer, all at once.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    pub work: Work,
    /// Bytes of a buffer.
    pub bytes: usize,
    /// By rank of the team: the rank of the buffer that it reads (perhaps its own); none for a
    /// rank that only writes its own.
    pub reads: &'a [Option<usize>],
}

/// Measures on a team of as many ranks as the case has. A sample is the time of
/// the slowest reader, from a common start, in ns.
pub fn measure(
    team: &Team,
    case: &Case<'_>,
    effort: &Effort,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Vec<Placed>, Error> {
    let meeting = Meeting::new(team.size(), false, *limits);
    let sides: Vec<Taken> = team.run(|comm| {
        let rank = comm.rank();
        let words = (case.bytes / size_of::<f64>()).max(1);
        // Written first, and so touched first, by their owner.
        let (mut mine, mut own) = (vec![0.0; words + LINES], vec![0.0; words + LINES]);
        let (mine, own) = (aligned(&mut mine, words), aligned(&mut own, words));
        own.iter_mut().for_each(|x| *x = 1.0);
        let mut sample = 0.0;
        meeting.rounds(rank, effort, |seat, samples| {
            for _ in 0..effort.round {
                sample += 1.0;
                mine.iter_mut().enumerate().for_each(|(i, x)| *x = sample + i as f64);
                let part = BandwidthPart { case, clock, mine, own };
                match part.timed(comm, seat, rank) {
                    Some(ns) => samples.push(ns),
                    None => return,
                }
            }
        })
    })?;
    Ok(placed(&sides, limits))
}

/// Elements of two cache lines.
const LINES: usize = 128 / size_of::<f64>();

/// `words` elements from the first whole pair of lines on. The C library's copy (glibc 2.36,
/// `rep movsb` on Zen 3) takes 17 times as long where the target lies 1 to 63 bytes behind the
/// source, but for whole pages; so would every number here by the chance of an allocation.
fn aligned(memory: &mut [f64], words: usize) -> &mut [f64] {
    let first = memory.as_ptr().align_offset(LINES * size_of::<f64>());
    &mut memory[first..][..words]
}

struct BandwidthPart<'a> {
    case: &'a Case<'a>,
    clock: &'a Clock,
    mine: &'a [f64],
    own: &'a mut [f64],
}

impl BandwidthPart<'_> {
    /// One sample of this rank; 0 if it does not read.
    fn timed(self, comm: &mut Comm, seat: &mut Seat<'_>, rank: usize) -> Option<f64> {
        comm.with_peers(self.mine, |all| {
            seat.start(0)?;
            let Some(from) = self.case.reads[rank] else { return Some(0.0) };
            let start = Instant::now();
            self.case.work.run(self.own, &all[from]);
            Some(self.clock.net(start.elapsed().as_nanos() as f64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_with_a_line() {
        for words in [1, 7, 64, 4096] {
            let mut memory = vec![0.0; words + LINES];
            let own = aligned(&mut memory, words);
            assert!(own.len() == words && own.as_ptr().addr().is_multiple_of(128));
        }
    }

    #[test]
    fn the_work_is_done() {
        let mut own = [1.0, 2.0];
        Work::Combine.run(&mut own, &[10.0, 20.0]);
        assert_eq!(own, [11.0, 22.0]);
        Work::Copy.run(&mut own, &[5.0, 6.0]);
        assert_eq!(own, [5.0, 6.0]);
        Work::Read.run(&mut own, &[7.0]);
        assert_eq!(own, [5.0, 6.0]);
        assert!("cpoy".parse::<Work>().unwrap_err().contains("did you mean copy?"));
    }
}
