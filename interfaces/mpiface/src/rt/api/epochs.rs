//! When windows may be accessed. A fence is a barrier; a lock is a word of the target under its
//! mutex; post, start, complete and wait are numbers that rise, one word ([`Word`]) for each pair
//! of ranks and direction. A rank waits for them as for everything else (`standings.rs`).

use super::keep::NewGroup;
use super::prelude::*;
use super::windows::place;
use crate::rt::standings::Condition;
use crate::rt::window::{Win, sync};
use crate::rt::window_part::Part;
use crate::rt::word::Word;
use std::cell::Cell;

/// A lock that is not free yet.
#[derive(Debug)]
struct Locked {
    part: Arc<Part>,
    is_exclusive: bool,
}

impl Condition for Locked {
    fn holds(&self) -> bool {
        self.part.lock.is_free(self.is_exclusive)
    }

    fn describe(&self) -> String {
        let Part { owner, lock, .. } = &*self.part;
        format!("the lock of rank {owner}'s window, {}", lock.describe())
    }
}

/// A number that a rank has not told yet.
#[derive(Debug)]
struct Told {
    part: Arc<Part>,
    /// The other rank in the window.
    with: usize,
    number: u64,
    is_post: bool,
}

impl Told {
    fn word(&self) -> &Word {
        if self.is_post { &self.part.posted[self.with] } else { &self.part.completed[self.with] }
    }
}

impl Condition for Told {
    fn holds(&self) -> bool {
        self.word().has_told(self.number)
    }

    fn describe(&self) -> String {
        if self.is_post {
            format!("rank {} to call MPI_Win_post", self.part.owner)
        } else {
            format!("rank {} of the window to call MPI_Win_complete", self.with)
        }
    }
}

fn await_told(caller: Caller<'_>, win: &Win, told: Told) {
    let by = if told.is_post { told.part.owner } else { win.parts[told.with].owner };
    let told = Arc::new(told);
    let condition = || Arc::clone(&told) as _;
    caller.world.wait(caller.me, caller.site, Some(by), || told.holds(), condition);
}

/// No epoch of another kind than between fences lasts.
pub(super) fn only_fences(win: &Win) -> Outcome {
    let epochs = win.epochs.borrow();
    match () {
        () if epochs.started.is_some() => sync("MPI_Win_complete is missing"),
        () if epochs.posted.is_some() => sync("MPI_Win_wait is missing"),
        () if epochs.has_locks() => sync("a target is locked"),
        () => Ok(()),
    }
}

/// Between fences from now on, or no more.
pub(super) fn win_fence(caller: Caller<'_>, assertion: c_int, win: &Win) -> Outcome {
    only_fences(win)?;
    {
        let mut epochs = win.epochs.borrow_mut();
        (epochs.fence, epochs.is_used) = (assertion & standard::MODE_NOSUCCEED == 0, false);
    }
    caller.on(&win.comm).barrier();
    Ok(())
}

/// An access may begin: fences lie behind.
fn begin(win: &Win) -> Outcome {
    let mut epochs = win.epochs.borrow_mut();
    match () {
        () if epochs.fence && epochs.is_used => sync("MPI_Win_fence is missing"),
        () if epochs.started.is_some() => sync("MPI_Win_complete is missing"),
        () => {
            epochs.fence = false;
            Ok(())
        }
    }
}

/// The group's ranks in the window.
fn places(win: &Win, group: &[usize]) -> NewGroup {
    let find = |rank: &usize| win.comm.shared.members.iter().position(|it| it == rank);
    let found: Vec<usize> = group.iter().filter_map(find).collect();
    if found.len() != group.len() {
        return error(Class::Group, "a rank of the group is not in the window");
    }
    Ok(found)
}

pub(super) fn win_post(
    caller: Caller<'_>,
    group: &[usize],
    _assertion: c_int,
    win: &Win,
) -> Outcome {
    let ranks = places(win, group)?;
    let mut epochs = win.epochs.borrow_mut();
    if epochs.posted.is_some() {
        return sync("MPI_Win_wait is missing");
    }
    epochs.fence = false;
    for rank in &ranks {
        epochs.posts[*rank] += 1;
        // Publishes the owner's writes to its memory.
        win.own().posted[*rank].tell(epochs.posts[*rank]);
        caller.world.wake(caller.me, win.parts[*rank].owner);
    }
    epochs.posted = Some(ranks);
    Ok(())
}

/// Awaits that the group's ranks have posted.
pub(super) fn win_start(
    caller: Caller<'_>,
    group: &[usize],
    _assertion: c_int,
    win: &Win,
) -> Outcome {
    let ranks = places(win, group)?;
    begin(win)?;
    if win.epochs.borrow().has_locks() {
        return sync("a target is locked");
    }
    for rank in &ranks {
        let number = {
            let mut epochs = win.epochs.borrow_mut();
            epochs.starts[*rank] += 1;
            epochs.starts[*rank]
        };
        let (part, with) = (Arc::clone(&win.parts[*rank]), win.comm.rank);
        await_told(caller, win, Told { part, with, number, is_post: true });
    }
    win.epochs.borrow_mut().started = Some(ranks);
    Ok(())
}

pub(super) fn win_complete(caller: Caller<'_>, win: &Win) -> Outcome {
    let mut epochs = win.epochs.borrow_mut();
    let Some(ranks) = epochs.started.take() else {
        return sync("MPI_Win_start is missing");
    };
    for rank in ranks {
        let part = &win.parts[rank];
        // Publishes this rank's writes there.
        part.completed[win.comm.rank].tell(epochs.starts[rank]);
        caller.world.wake(caller.me, part.owner);
    }
    Ok(())
}

/// The ranks to which it has posted, and how often.
fn exposed(win: &Win) -> Outcome<Vec<(usize, u64)>> {
    let epochs = win.epochs.borrow();
    match &epochs.posted {
        Some(ranks) => Ok(ranks.iter().map(|it| (*it, epochs.posts[*it])).collect()),
        None => sync("MPI_Win_post is missing"),
    }
}

pub(super) fn win_wait(caller: Caller<'_>, win: &Win) -> Outcome {
    for (with, number) in exposed(win)? {
        let part = Arc::clone(win.own());
        await_told(caller, win, Told { part, with, number, is_post: false });
    }
    win.epochs.borrow_mut().posted = None;
    Ok(())
}

pub(super) fn win_test(caller: Caller<'_>, win: &Win) -> Outcome<c_int> {
    let told = |(with, number): &(usize, u64)| win.own().completed[*with].has_told(*number);
    let is_over = exposed(win)?.iter().all(told);
    if is_over {
        win.epochs.borrow_mut().posted = None;
    }
    caller.looked(is_over);
    Ok(c_int::from(is_over))
}

fn acquire(caller: Caller<'_>, win: &Win, target: usize, is_exclusive: bool) {
    let (part, has) = (&win.parts[target], Cell::new(false));
    let take = || {
        if !has.get() {
            has.set(part.lock.take(caller.me, is_exclusive));
        }
        has.get()
    };
    let condition = || Arc::new(Locked { part: Arc::clone(part), is_exclusive }) as _;
    caller.world.wait(caller.me, caller.site, None, take, condition);
}

pub(super) fn win_lock(
    caller: Caller<'_>,
    kind: c_int,
    rank: c_int,
    _assertion: c_int,
    win: &Win,
) -> Outcome {
    if !matches!(kind, standard::LOCK_EXCLUSIVE | standard::LOCK_SHARED) {
        return error(Class::Locktype, format!("{kind} is no kind of lock"));
    }
    let is_exclusive = kind == standard::LOCK_EXCLUSIVE;
    let Some(target) = place(win, rank)? else { return Ok(()) };
    begin(win)?;
    if win.epochs.borrow().has_locked(target) {
        return sync("the target is locked already");
    }
    acquire(caller, win, target, is_exclusive);
    win.epochs.borrow_mut().locks.insert(target, is_exclusive);
    Ok(())
}

pub(super) fn win_unlock(caller: Caller<'_>, rank: c_int, win: &Win) -> Outcome {
    let Some(target) = place(win, rank)? else { return Ok(()) };
    let Some(is_exclusive) = win.epochs.borrow_mut().locks.remove(&target) else {
        return sync("the target is not locked");
    };
    win.parts[target].unlock(&caller.world, caller.me, is_exclusive);
    Ok(())
}

pub(super) fn win_lock_all(caller: Caller<'_>, _assertion: c_int, win: &Win) -> Outcome {
    begin(win)?;
    if win.epochs.borrow().has_locks() {
        return sync("a target is locked already");
    }
    (0..win.parts.len()).for_each(|it| acquire(caller, win, it, false));
    win.epochs.borrow_mut().lock_all = true;
    Ok(())
}

pub(super) fn win_unlock_all(caller: Caller<'_>, win: &Win) -> Outcome {
    if !std::mem::take(&mut win.epochs.borrow_mut().lock_all) {
        return sync("MPI_Win_lock_all is missing");
    }
    win.parts.iter().for_each(|it| it.unlock(&caller.world, caller.me, false));
    Ok(())
}

/// A program may call this again and again until another rank has done something: where ranks share
/// cores, that must get one.
pub(super) fn may_poll(caller: Caller<'_>) {
    if caller.world.is_crowded() {
        caller.looked(false);
    }
}

/// The accesses to a target (or to all) are done: by the calls themselves.
fn flushed(has: bool) -> Outcome {
    if has { Ok(()) } else { sync("the target is not locked") }
}

pub(super) fn win_flush(caller: Caller<'_>, rank: c_int, win: &Win) -> Outcome {
    may_poll(caller);
    let has = |target| flushed(win.epochs.borrow().has_locked(target));
    place(win, rank)?.map_or(Ok(()), has)
}

pub(super) fn win_flush_all(caller: Caller<'_>, win: &Win) -> Outcome {
    may_poll(caller);
    flushed(win.epochs.borrow().has_locks())
}

pub(super) fn win_sync(caller: Caller<'_>, _: &Win) -> Outcome {
    may_poll(caller);
    // Loads and stores of the program around this call: pairs with the same fence of the rank that
    // has stored, or looks, on the other side.
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    Ok(())
}
