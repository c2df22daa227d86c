//! Events between domains of an agent simulation, by the library's sparse exchange (the example
//! `agents`), and by channels with a barrier, as such programs have it.

#[allow(dead_code, reason = "the example has a `main`")]
#[path = "../../examples/agents.rs"]
mod example;

pub use example::{by_exchange, serial};

use example::{Domain, Event};
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, channel};

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
