//! Round trips and one-way times between two units.

use super::flags::Flags;
use super::probe_rounds::{Effort, Meeting, Placed, Taken, placed};
use crate::measure::clock::Clock;
use crate::measure::proximity::ProximityLimits;
use phalanx::{Comm, Error, Team};
use std::sync::OnceLock;
use std::time::Instant;

/// Round trips of one sample: 3 to 30 us, against 25 ns for the clock.
const BATCH: u64 = 32;

/// What carries the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// Two flags in lines of their own.
    Flag,
    /// `send` and `recv` of 8 bytes.
    Mailbox,
}

phalanx_cli::named! { Via "way": Flag "flag" Mailbox "mailbox" }

/// The side that touches the flags' page first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Src,
    Dst,
}

phalanx_cli::named! { Home "home": Src "src" Dst "dst" }

/// What is measured of each pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) via: Via,
    pub(crate) home: Home,
    /// From one clock reading to the other side's, instead of there and back.
    pub(crate) one_way: bool,
}

impl Way {
    /// The name in tables.
    pub(crate) fn kind(self) -> &'static str {
        if self.one_way { "one-way" } else { "round-trip" }
    }

    /// Where the line lives: the mailbox's are the library's business.
    pub(crate) fn home_name(self) -> &'static str {
        match self.via {
            Via::Flag => self.home.name(),
            Via::Mailbox => "library",
        }
    }
}

/// Measures from rank `src` to rank `dst` of a team; its other ranks sleep.
/// The samples by place, the most frequent first, in ns.
pub(crate) fn measure(
    team: &Team,
    src: usize,
    dst: usize,
    way: Way,
    effort: &Effort,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Vec<Placed>, Error> {
    let meeting = Meeting::new(2, false, *limits);
    let flags = OnceLock::new();
    let epoch = Instant::now();
    let part = LatencyPart { way, flags: &flags, meeting: &meeting, effort, clock, epoch };
    let sides = team.run(|comm| match comm.rank() {
        rank if rank == src => Some(part.run(comm, 0, dst)),
        rank if rank == dst => Some(part.run(comm, 1, src)),
        _ => None,
    })?;
    // A one-way time is known where the message arrives.
    let side = if way.one_way { dst } else { src };
    let taken: Vec<Taken> = sides.into_iter().nth(side).flatten().into_iter().collect();
    Ok(placed(&taken, limits))
}

struct LatencyPart<'a> {
    way: Way,
    flags: &'a OnceLock<Flags>,
    meeting: &'a Meeting,
    effort: &'a Effort,
    clock: &'a Clock,
    epoch: Instant,
}

impl LatencyPart<'_> {
    fn run(&self, comm: &mut Comm, side: usize, peer: usize) -> Taken {
        let home = usize::from(self.way.home == Home::Dst);
        if side == home {
            self.flags.get_or_init(Flags::touched);
        }
        let flags = loop {
            match self.flags.get() {
                Some(flags) => break flags,
                None => std::thread::yield_now(),
            }
        };
        let mut number = 0;
        self.meeting.rounds(side, self.effort, |seat, samples| {
            if seat.meet(0).is_none() {
                return;
            }
            match (self.way.via, self.way.one_way) {
                (Via::Flag, false) => self.trips(side, samples, |_| {
                    number += 1;
                    if side == 0 {
                        flags.set(0, number);
                        flags.wait(0, number - 1);
                    } else {
                        flags.wait(1, number - 1);
                        flags.set(1, number);
                    }
                }),
                (Via::Mailbox, false) => self.trips(side, samples, |k| {
                    let mut word = [k];
                    if side == 0 {
                        comm.send(&word, peer);
                        comm.recv(&mut word, peer);
                    } else {
                        comm.recv(&mut word, peer);
                        comm.send(&word, peer);
                    }
                }),
                (Via::Flag, true) => {
                    let mut last = number;
                    self.stamps(side, samples, |own| match own {
                        Some(stamp) => {
                            flags.set(side, stamp);
                            0
                        }
                        None => {
                            last = flags.wait(side, last);
                            last
                        }
                    });
                    number = last;
                }
                (Via::Mailbox, true) => self.stamps(side, samples, |own| match own {
                    Some(stamp) => {
                        comm.send(&[stamp], peer);
                        0
                    }
                    None => {
                        let mut word = [0];
                        comm.recv(&mut word, peer);
                        word[0]
                    }
                }),
            }
        })
    }

    /// Round trips, timed as a batch by side 0.
    #[inline(always)]
    fn trips(&self, side: usize, samples: &mut Vec<f64>, mut trip: impl FnMut(u64)) {
        for _ in 0..self.effort.round {
            let start = Instant::now();
            for k in 0..BATCH {
                trip(k);
            }
            let ns = start.elapsed().as_nanos() as f64;
            // Side 1 has the same number of samples, which nobody reads.
            samples.push(if side == 0 { self.clock.net(ns) / BATCH as f64 } else { ns });
        }
    }

    /// The time of sending travels with the message; `pass` sends a stamp, or
    /// receives one. Both sides send in turn. What is left of a difference
    /// without the clock's own cost may be negative: then the clocks disagree.
    #[inline(always)]
    fn stamps(
        &self,
        side: usize,
        samples: &mut Vec<f64>,
        mut pass: impl FnMut(Option<u64>) -> u64,
    ) {
        let now = || self.epoch.elapsed().as_nanos() as u64;
        for _ in 0..self.effort.round {
            if side == 0 {
                pass(Some(now()));
            }
            let sent = pass(None);
            let ns = now() as f64 - sent as f64 - self.clock.overhead_ns;
            samples.push(ns);
            if side == 1 {
                pass(Some(now()));
            }
        }
    }
}
