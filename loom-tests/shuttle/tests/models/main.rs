//! Models of whole programs. See `../../README.md`.

mod failed;
mod good;
mod harness;

use checker::Memory;
use checker::threads::spawn;
use phalanx::placement::Placement;
use phalanx::{Comm, Error, Team, Wait};
use std::cell::UnsafeCell;

/// `f` on `ranks` threads of the user's own, none of which may fail.
fn settled(ranks: usize, f: impl Fn(&mut Comm) + Clone + Send + 'static) {
    let comms = Team::external(ranks).expect("nothing stands against it");
    let run = |mut comm: Comm| {
        let f = f.clone();
        spawn(move || f(&mut comm))
    };
    let threads: Vec<_> = comms.into_iter().map(run).collect();
    for thread in threads {
        if let Err(payload) = thread.join() {
            checker::panic::resume_unwind(payload);
        }
    }
}

/// `f` on `comms`, each protected, on a thread of its own; the words of each.
fn protected<R: Send + 'static>(
    comms: Vec<Comm>,
    f: impl Fn(&mut Comm) -> R + Clone + Send + 'static,
) -> Vec<Result<R, Error>> {
    let run = |mut comm: Comm| {
        let f = f.clone();
        spawn(move || comm.protect(|comm| f(comm)))
    };
    let threads: Vec<_> = comms.into_iter().map(run).collect();
    threads.into_iter().map(|t| t.join().expect("protected")).collect()
}

fn waiting(wait: Wait, ranks: usize, f: impl FnOnce(&Team)) {
    let team = Team::builder().ranks(ranks).placement(Placement::Unpinned).wait(wait);
    let team = team.pin_caller(false).build().expect("nothing stands against it");
    f(&team);
}

fn team(ranks: usize, f: impl FnOnce(&Team)) {
    waiting(Wait::Auto, ranks, f);
}

/// Memory that several ranks use in turn, and believe in an order.
struct Many(UnsafeCell<Memory<u64>>);

fn many(memory: Memory<u64>) -> Many {
    Many(UnsafeCell::new(memory))
}

// SAFETY: all threads of an execution are coroutines of one thread of the system, and go on only
// between accesses.
unsafe impl Sync for Many {}
// SAFETY: as above.
unsafe impl Send for Many {}

impl Many {
    fn read<R>(&self, f: impl FnOnce(&[u64]) -> R) -> R {
        // SAFETY: nobody else goes on before `f` returns.
        f(unsafe { &*self.0.get() })
    }

    fn write<R>(&self, f: impl FnOnce(&mut [u64]) -> R) -> R {
        // SAFETY: as above.
        f(unsafe { &mut *self.0.get() })
    }
}
