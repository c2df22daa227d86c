//! Handles of C are numbers that look like pointers: places in a table. So a freed one is an error,
//! and so is a team that two threads use at once.

use crate::handle::{Table, Unused};
use crate::{Wrong, argument};
use phalanx_processes::Team;
use phalanx_processes::foreign::Ender;
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// A team, as C has it.
#[derive(Debug)]
#[repr(C)]
pub struct TeamHandle(u8);

pub(crate) struct Seat {
    /// A thread makes a call, or gives the team back.
    busy: AtomicBool,
    rank: AtomicI32,
    size: AtomicI32,
    /// Used by the thread that has made `busy` true only.
    team: UnsafeCell<Option<Box<Team>>>,
    ender: Mutex<Option<Ender>>,
}

// SAFETY: `team` is used by the thread that has made `busy` true.
unsafe impl Sync for Seat {}

impl Unused for Seat {
    const UNUSED: Seat = Seat {
        busy: AtomicBool::new(false),
        rank: AtomicI32::new(-1),
        size: AtomicI32::new(-1),
        team: UnsafeCell::new(None),
        ender: Mutex::new(None),
    };
}

static TEAMS: Table<Seat> = Table::new(1);

/// A new handle.
pub(crate) fn hand_out(team: Team) -> Result<*mut TeamHandle, Wrong> {
    let (handle, seat) = TEAMS.reserve().map_err(|_| argument("there are too many teams"))?;
    seat.rank.store(team.rank() as i32, Ordering::Relaxed);
    seat.size.store(team.size() as i32, Ordering::Relaxed);
    set_ender(seat, Some(Ender::of(&team)));
    // SAFETY: the place is this thread's until it is published.
    unsafe { *seat.team.get() = Some(Box::new(team)) };
    TEAMS.publish(handle);
    Ok(std::ptr::without_provenance_mut(handle as usize))
}

fn set_ender(seat: &Seat, ender: Option<Ender>) {
    *seat.ender.lock().unwrap_or_else(|e| e.into_inner()) = ender;
}

fn find(handle: *const TeamHandle) -> Result<&'static Seat, Wrong> {
    let seat = TEAMS.find(handle.addr() as u64);
    seat.ok_or_else(|| match handle.is_null() {
        true => argument("the team is null"),
        false => argument("the team is none, or has been left"),
    })
}

/// Rank and size of a team.
pub(crate) fn numbers(handle: *const TeamHandle) -> (i32, i32) {
    find(handle).map_or((-1, -1), |seat| {
        (seat.rank.load(Ordering::Relaxed), seat.size.load(Ordering::Relaxed))
    })
}

/// The seat of a handle while one thread has it.
struct Held(&'static Seat);

impl Drop for Held {
    fn drop(&mut self) {
        // Ordering: the team is as this thread leaves it; pairs with the swap in `hold`.
        self.0.busy.store(false, Ordering::Release);
    }
}

/// Takes a seat for this thread. Where another has it, the team is over: it cannot be known which
/// call came first.
fn hold(handle: *mut TeamHandle, doing: &str) -> Result<Held, Wrong> {
    let seat = find(handle)?;
    // Ordering: pairs with the store in the drop of `Held`.
    if seat.busy.swap(true, Ordering::Acquire) {
        let ender = seat.ender.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let text = format!("{doing} while the team is in another call");
        return Err(ender.map_or_else(|| argument(&text), |ender| ender.end(&text).into()));
    }
    let held = Held(seat);
    // It may have been left meanwhile.
    find(handle).map(|_| held)
}

/// Runs a call on a team.
pub(crate) fn with<R>(
    handle: *mut TeamHandle,
    call: impl FnOnce(&mut Team) -> Result<R, Wrong>,
) -> Result<R, Wrong> {
    let held = hold(handle, "a call")?;
    // SAFETY: `busy` is this thread's.
    match unsafe { &mut *held.0.team.get() } {
        Some(team) => call(team),
        None => Err(argument("the team has been left")),
    }
}

/// Leaves a team.
pub(crate) fn leave(handle: *mut TeamHandle) -> Result<(), Wrong> {
    let held = hold(handle, "phx_proc_leave")?;
    TEAMS.retire(handle.addr() as u64);
    // SAFETY: `busy` is this thread's.
    let team = unsafe { (*held.0.team.get()).take() };
    set_ender(held.0, None);
    drop((team, held));
    TEAMS.recycle(handle.addr() as u64);
    Ok(())
}
