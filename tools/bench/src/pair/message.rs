//! The time of a message by its length, to which t_s and t_w are fitted.

use super::probe_rounds::{Effort, Meeting, Placed, Taken, placed};
use crate::measure::clock::Clock;
use crate::measure::proximity::ProximityLimits;
use phalanx::{Comm, Error, Team};
use std::time::Instant;

/// Bytes that the messages of one sample may take together: half of a small L1
/// cache, so that many short ones are as warm as one would be.
const WARM: usize = 16 << 10;
/// Messages of one sample at most.
const MOST: usize = 16;

/// Messages of `bytes` bytes between the two ranks of a team, by `send` and
/// `recv`: half of a round trip, in ns. Both have just written their messages.
pub fn measure(
    team: &Team,
    bytes: usize,
    effort: &Effort,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Vec<Placed>, Error> {
    let meeting = Meeting::new(2, false, *limits);
    let sides: Vec<Taken> = team.run(|comm| {
        let (rank, sets) = (comm.rank(), (WARM / bytes.max(1)).clamp(1, MOST));
        let mut mine = vec![vec![0u8; bytes]; sets];
        let mut got = vec![1u8; bytes];
        let mut number = 0u8;
        meeting.rounds(rank, effort, |seat, samples| {
            for _ in 0..effort.round {
                number = number.wrapping_add(1);
                mine.iter_mut().for_each(|set| set.fill(number));
                if seat.start(0).is_none() {
                    return;
                }
                let start = Instant::now();
                mine.iter().for_each(|set| trip(comm, set, &mut got));
                let ns = clock.net(start.elapsed().as_nanos() as f64);
                // Side 1 waits for the last message only: it is done sooner.
                samples.push(ns / (2 * sets) as f64);
            }
        })
    })?;
    Ok(placed(&sides[..1], limits))
}

#[inline(always)]
fn trip(comm: &mut Comm, data: &[u8], got: &mut [u8]) {
    let peer = 1 - comm.rank();
    if peer == 1 {
        comm.send(data, peer);
        comm.recv(got, peer);
    } else {
        comm.recv(got, peer);
        comm.send(data, peer);
    }
}
