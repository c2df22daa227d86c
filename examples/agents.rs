//! Agents in domains: in each step a domain has events for some others, and none knows how many
//! will come to it. The log of a domain depends on the order of the senders, and is that of a
//! serial run: `all_to_all_owned` brings events in rank order.

use phalanx::{Error, Team};

#[derive(Debug)]
pub(crate) enum Event {
    Enter { link: String, time: f64 },
    Leave { link: String },
}

pub(crate) struct Domain {
    rank: usize,
    ranks: usize,
    seed: u64,
    pub(crate) log: u64,
}

impl Domain {
    pub(crate) fn new(rank: usize, ranks: usize) -> Domain {
        Domain { rank, ranks, seed: 0x9e37_79b9_7f4a_7c15 ^ ((rank as u64 + 1) << 20), log: 0 }
    }

    fn random(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed % below as u64) as usize
    }

    /// This step's events, each beside the rank that it is for.
    pub(crate) fn step(&mut self, time: usize, outbox: &mut Vec<(usize, Vec<Event>)>) {
        let rank = self.rank;
        for to in (0..self.ranks).filter(|&to| to != rank) {
            let events = (0..self.random(4)).map(|vehicle| {
                let link = format!("link {to} of {rank}");
                match vehicle % 2 {
                    0 => Event::Enter { link, time: time as f64 + vehicle as f64 / 10.0 },
                    _ => Event::Leave { link },
                }
            });
            let events: Vec<Event> = events.collect();
            if !events.is_empty() {
                outbox.push((to, events));
            }
        }
    }

    pub(crate) fn take(&mut self, from: usize, events: Vec<Event>) {
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

/// The same, by the ranks of a team.
///
/// # Errors
/// As [`Team::run`].
pub fn by_exchange(team: &Team, steps: usize) -> Result<Vec<u64>, Error> {
    team.run(|comm| {
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

fn main() -> Result<(), Error> {
    for ranks in 1..=6 {
        let team = Team::builder().ranks(ranks).build()?;
        assert_eq!(by_exchange(&team, 200)?, serial(ranks, 200), "{ranks} ranks");
    }
    Ok(())
}
