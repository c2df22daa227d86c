//! Runs a script on a team, and checks its end.

use super::dice::{Dice, mix};
use super::elements::Tick;
use super::program::{Act, CallKind, CallWay, Fault, Script};
use phalanx::{Comm, Error};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The text of a fault's panic; a wrong result says something else.
const BOMB: &str = "bomb";

/// What the ranks of a run note for its judge.
#[derive(Debug, Default)]
pub(crate) struct RunNotes {
    /// The first that must not happen whatever else fails: a wrong result, a read of freed memory.
    /// In a run with a fault a panic would not do, as the run may end with the fault's.
    mishap: Option<String>,
    /// The fault is there, and the run cannot end well.
    must_fail: bool,
}

thread_local! {
    /// Of the run in which this thread plays a rank.
    static NOTES: RefCell<Arc<Mutex<RunNotes>>> = RefCell::default();
}

impl RunNotes {
    pub(crate) fn mishap(text: String) {
        NOTES.with_borrow(|it| it.lock().unwrap().mishap.get_or_insert(text).len());
    }

    fn must_fail() {
        NOTES.with_borrow(|it| it.lock().unwrap().must_fail = true);
    }
}

/// One rank's part: the acts, one after the other. `make` makes a call, with more elements, and a
/// tick for operators and views.
pub(crate) fn play(
    comm: &mut Comm,
    script: &Script,
    seed: u64,
    make: &mut dyn FnMut(&mut Comm, &Act, usize, Tick<'_>),
) {
    let me = comm.rank();
    NOTES.set(script.notes.clone());
    let mut dice = Dice::of_seed(seed ^ mix(me as u64));
    let mut children: Vec<Comm> = Vec::new();
    let fuse = Cell::new(0u64);
    let tick = || match fuse.get() {
        0 => (),
        1 => {
            RunNotes::must_fail();
            resume_unwind(Box::new(BOMB))
        }
        more => fuse.set(more - 1),
    };
    for (i, act) in script.acts.iter().enumerate() {
        if script.jitter {
            be_late(&mut dice);
        }
        let (mut act, mut longer, mut times) = (*act, 0, 1);
        let fault = script.fault.filter(|&(who, at, _)| (who, at) == (me, i)).map(|it| it.2);
        if fault.is_some() && script.must_fail(comm.size()) {
            RunNotes::must_fail();
        }
        match fault {
            None => (),
            Some(Fault::Panic) => resume_unwind(Box::new(BOMB)),
            Some(Fault::PanicInside(calls)) => fuse.set(calls),
            Some(Fault::Return) => return,
            Some(Fault::Forget) => return children.into_iter().for_each(std::mem::forget),
            Some(Fault::Drop) => children.clear(),
            Some(Fault::OtherLength | Fault::CaughtOtherLength) => {
                longer = usize::from(!act.kind.may_differ());
            }
            Some(Fault::OtherElement) => act.element += 1,
            Some(Fault::OtherCall) => {
                let all = || CallKind::all().filter(|kind| *kind != act.kind);
                act.kind = all().nth(act.number % all().count()).expect("it is one of them");
            }
            Some(Fault::MoreCalls) => {
                if let Some(comm) = of(comm, &mut children, act.comm) {
                    comm.barrier();
                }
            }
            Some(Fault::OtherNumber) => act.number += 1,
            Some(Fault::OtherWay) if act.way == CallWay::Auto => {
                act.way = CallWay::Named(act.number);
            }
            Some(Fault::OtherWay) => act.way = CallWay::Auto,
            Some(Fault::Skip) => times = 0,
            Some(Fault::Twice) => times = 2,
        }
        for _ in 0..times {
            // After some faults it has fewer communicators than the others.
            let Some(it) = of(comm, &mut children, act.comm) else { return };
            match act.kind {
                CallKind::Split => {
                    let colors = 1 + act.number % 3;
                    let hash = mix(act.salt ^ it.rank() as u64) as usize;
                    let child = it.split(hash % colors, hash >> 8);
                    children.push(child);
                }
                CallKind::Drop => drop(children.pop()),
                _ if fault == Some(Fault::CaughtOtherLength) => {
                    let call = || make(it, &act, longer, &tick);
                    if catch_unwind(AssertUnwindSafe(call)).is_err() {
                        return refused(comm, &mut children);
                    }
                }
                _ => make(it, &act, longer, &tick),
            }
        }
    }
}

/// The communicator that an act is for: the team's, or a child's.
fn of<'a>(comm: &'a mut Comm, children: &'a mut [Comm], which: usize) -> Option<&'a mut Comm> {
    if which == 0 { Some(comm) } else { children.get_mut(which - 1) }
}

/// Sees that no communicator goes on after a failure that was caught.
fn refused(comm: &mut Comm, children: &mut [Comm]) {
    for it in children.iter_mut().chain([comm]) {
        if catch_unwind(AssertUnwindSafe(|| it.barrier())).is_ok() {
            RunNotes::mishap(format!("{} goes on after a failure", it.size()));
        }
    }
}

/// The delay that a rank has now and then before a call.
pub(crate) fn be_late(dice: &mut Dice) {
    match dice.below(12) {
        0 => std::thread::yield_now(),
        1 => std::thread::sleep(Duration::from_micros(dice.word() % 300)),
        2 => (0..dice.below(20_000)).for_each(|_| std::hint::spin_loop()),
        _ => (),
    }
}

/// Whether a run of `script` may have ended like this; if not, why not.
pub(crate) fn judge(script: &Script, result: &Result<(), Error>) -> Result<(), String> {
    let notes = std::mem::take(&mut *script.notes.lock().unwrap());
    let error = match (notes.mishap, result) {
        (Some(text), _) => return Err(text),
        (_, Ok(())) if notes.must_fail => return Err("nobody speaks of the fault".to_string()),
        // A fault may be none: a barrier has no length, a fuse is too long.
        (_, Ok(())) => return Ok(()),
        (_, Err(error)) => error,
    };
    let fits = match script.fault {
        Some((who, _, Fault::Panic | Fault::PanicInside(_))) => {
            matches!(error, Error::Panicked { rank, message, .. }
                if *rank == who && message == BOMB)
        }
        Some((who, _, Fault::Return)) => match error {
            // It made fewer calls, and nobody waited for it.
            Error::Mismatch { rank, peer, .. } => [*rank, *peer].contains(&who),
            Error::Left { peer, site: Some(_), .. } | Error::Unreceived { peer, .. } => {
                *peer == who
            }
            _ => false,
        },
        Some(_) => matches!(
            error,
            Error::Mismatch { .. }
                | Error::Left { .. }
                | Error::Deadlock { .. }
                | Error::Unreceived { .. }
        ),
        None => false,
    };
    if fits { Ok(()) } else { Err(format!("the run ends with another error: {error}")) }
}
