//! Events between domains of an agent simulation: in each step a domain has events, which own
//! memory, for some others, and none knows how many will come to it. By the library's sparse
//! exchange, and by channels with a barrier, as such programs have it.

use crate::Random;
use phalanx::{Comm, Error};
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What an agent does at a border.
#[derive(Debug)]
pub enum Event {
    /// It enters a link of another domain.
    Enter {
        /// The link's name.
        link: String,
        /// When.
        time: f64,
    },
    /// It leaves one.
    Leave {
        /// The link's name.
        link: String,
    },
}

/// A domain: its log depends on the order of the senders.
#[derive(Debug)]
pub struct Domain {
    rank: usize,
    ranks: usize,
    random: Random,
    log: u64,
}

impl Domain {
    fn new(rank: usize, ranks: usize) -> Domain {
        Domain { rank, ranks, random: Random::new(rank as u64), log: 0 }
    }

    /// This step's events, each beside the rank that it is for.
    fn step(&mut self, time: usize, outbox: &mut Vec<(usize, Vec<Event>)>) {
        let rank = self.rank;
        for to in (0..self.ranks).filter(|&to| to != rank) {
            let event = |vehicle: usize| {
                let link = format!("link {to} of {rank}");
                match vehicle % 2 {
                    0 => Event::Enter { link, time: time as f64 + vehicle as f64 / 10.0 },
                    _ => Event::Leave { link },
                }
            };
            let events: Vec<Event> = (0..self.random.below(4)).map(event).collect();
            if !events.is_empty() {
                outbox.push((to, events));
            }
        }
    }

    fn take(&mut self, from: usize, events: Vec<Event>) {
        for event in events {
            let (link, start) = match event {
                Event::Enter { link, time } => (link, time.to_bits()),
                Event::Leave { link } => (link, 1),
            };
            let hash = link.bytes().fold(start, |hash, b| hash.wrapping_mul(31) + u64::from(b));
            self.log = self.log.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ hash ^ from as u64;
        }
    }
}

/// The logs after so many steps, by one thread.
pub fn serial(ranks: usize, steps: usize) -> Vec<u64> {
    let mut domains: Vec<Domain> = (0..ranks).map(|rank| Domain::new(rank, ranks)).collect();
    for time in 0..steps {
        let sent = domains.iter_mut().map(|domain| {
            let mut outbox = Vec::new();
            domain.step(time, &mut outbox);
            outbox
        });
        for (from, outbox) in sent.collect::<Vec<_>>().into_iter().enumerate() {
            outbox.into_iter().for_each(|(to, events)| domains[to].take(from, events));
        }
    }
    domains.iter().map(|domain| domain.log).collect()
}

/// The logs, by a team's ranks and [`Comm::all_to_all_owned`].
///
/// # Errors
/// As [`phalanx::Team::run`].
pub fn by_exchange(team: &phalanx::Team, steps: usize) -> Result<Vec<u64>, Error> {
    team.run(|comm: &mut Comm| {
        let mut domain = Domain::new(comm.rank(), comm.size());
        let (mut outbox, mut inbox) = (Vec::new(), Vec::new());
        for time in 0..steps {
            domain.step(time, &mut outbox);
            comm.all_to_all_owned(&mut outbox, &mut inbox);
            inbox.drain(..).for_each(|(from, events)| domain.take(from, events));
        }
        domain.log
    })
}

/// The logs, by threads with a channel for each pair and a barrier a step: a thread sends to each
/// other, and looks into its channels after the barrier.
pub fn by_channels(ranks: usize, steps: usize) -> Vec<u64> {
    type Ends = (Vec<Sender<Vec<Event>>>, Vec<Receiver<Vec<Event>>>);
    let mut ends: Vec<Ends> = (0..ranks).map(|_| (Vec::new(), Vec::new())).collect();
    for from in 0..ranks {
        for to in 0..ranks {
            let (send, receive) = channel();
            ends[from].0.push(send);
            ends[to].1.push(receive);
        }
    }
    let barrier = &Barrier::new(ranks);
    std::thread::scope(|scope| {
        let life = |(rank, (send, receive)): (usize, Ends)| {
            move || {
                let (mut domain, mut outbox) = (Domain::new(rank, ranks), Vec::new());
                for time in 0..steps {
                    domain.step(time, &mut outbox);
                    for (to, events) in outbox.drain(..) {
                        send[to].send(events).expect("its receiver lives as long");
                    }
                    barrier.wait();
                    for (from, receive) in receive.iter().enumerate() {
                        receive.try_iter().for_each(|events| domain.take(from, events));
                    }
                    // Nobody's next events come before all have looked.
                    barrier.wait();
                }
                domain.log
            }
        };
        let threads: Vec<_> =
            ends.into_iter().enumerate().map(life).map(|life| scope.spawn(life)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).collect()
    })
}
