//! Parts: what ranks give each other in a collective whose sizes only some of them know.
//!
//! A part goes by a lane (`lane.rs`) that has nothing but parts: its receiver alone takes from it,
//! so it needs no lock, and a call's parts are taken in the same call. A long part is lent: its
//! message tells where it lies, its receiver copies it from there, and the lane's word of what is
//! taken tells the giver so. What has gaps and is long, and what finds its lane full, goes by the
//! receiver's queue.
//!
//! A part's tag names its call. So it matters not which way it goes; and one that comes first in
//! its lane but is for a later call, or for one that differs, goes to the queue.

use super::error::Site;
use super::mutex::lock;
use super::p2p::{self, EAGER, Envelope, Received, Req, Send};
use super::short_message::{NewMemory, ROOM, Short, ShortLane, ShortMemory, Solid};
use super::types::Place;
use super::world::World;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Longer parts are lent: two copies take longer than to wait for one.
const COPIED: usize = 1 << 10;

/// What a giver has to await before its call ends.
#[derive(Debug)]
pub enum Owed {
    /// A lent part: to whom it goes (a rank of the world), and its number in the lane.
    Lent(usize, u64),
    /// One that waits in the queue.
    Request(Arc<Req>),
}

/// Gives a part of at most `ROOM` bytes that lies without gaps: whether it went by its lane, so
/// that nothing is owed for it. `is_stream`: its receiver gives nothing back, so that this rank
/// runs ahead.
///
/// # Safety
/// It is memory of the program, of no more than `ROOM` bytes.
#[inline(always)]
pub unsafe fn give_solid(
    world: &World,
    (me, to): (usize, usize),
    envelope: Envelope,
    part: Solid,
    site: Site,
    is_stream: bool,
) -> bool {
    let lane = world.new_part_lane(to, me);
    // SAFETY: a rank's calls come one at a time; the caller's promise.
    let went =
        unsafe { !lane.is_crowded() && lane.push(|it| it.write_solid(envelope, part, site)) };
    if went {
        if is_stream {
            // SAFETY: as above.
            unsafe { lane.fetch_ahead() };
        }
        world.wake(me, to);
    }
    went
}

/// Takes the part of rank `by` that has this envelope and as many bytes (at most `ROOM`), if it is
/// the first of its lane, and comes soon.
///
/// # Safety
/// The memory is the program's, of no more than `ROOM` bytes, and nobody else uses it.
#[inline(always)]
pub unsafe fn take_solid(
    world: &World,
    (me, by): (usize, usize),
    wanted: Envelope,
    room: Solid,
) -> bool {
    let Some(lane) = world.part_lane(me, by) else { return false };
    let slot = &world.slots[me];
    let look = || {
        // SAFETY: this rank alone takes, in one call at a time; the caller's promise.
        let taken = unsafe { lane.take_if(|it, _| it.deliver_part(wanted, room)) };
        match taken {
            Some(taken) => Some(taken.is_some()),
            // It may be there.
            None => slot.has_parts().then_some(false),
        }
    };
    world.look_for(look) == Some(true)
}

/// Gives a part; what is owed for it then. `make`: the request, if it needs one.
///
/// # Safety
/// As `p2p::send`: until it has been awaited.
#[inline(always)]
pub unsafe fn give(world: &World, part: Send, make: impl FnOnce() -> Arc<Req>) -> Option<Owed> {
    let Send { me, to, envelope, ref place, site, .. } = part;
    let bytes = place.bytes();
    if bytes <= ROOM && to != me {
        // SAFETY: the caller's promise.
        let fill = |it: &mut Short| unsafe { it.write(envelope, place, bytes, site) };
        // SAFETY: a rank's calls come one at a time.
        if unsafe { world.new_part_lane(to, me).push(fill) } {
            world.wake(me, to);
            return None;
        }
    }
    // SAFETY: passed on.
    unsafe { give_otherwise(world, part, make) }
}

/// The same of a longer one, or if the lane is full.
///
/// # Safety
/// As `give`.
#[inline(never)]
unsafe fn give_otherwise(
    world: &World,
    part: Send,
    make: impl FnOnce() -> Arc<Req>,
) -> Option<Owed> {
    let (me, to, bytes) = (part.me, part.to, part.place.bytes());
    if bytes > ROOM && to != me {
        let lane = world.new_part_lane(to, me);
        if bytes > COPIED.min(world.lane_bytes()) && part.place.is_contiguous() {
            // SAFETY: a rank's calls come one at a time.
            let lent = unsafe { lane.push(|it| it.lend(&part)).then(|| lane.sent()) };
            if let Some(number) = lent {
                world.wake(me, to);
                return Some(Owed::Lent(to, number));
            }
        } else if bytes <= EAGER.min(world.lane_bytes()) {
            let fill = |it: &mut Short, memory: NewMemory| {
                // SAFETY: the caller's promise.
                unsafe { it.write_long(memory, &part, bytes) }
            };
            // SAFETY: a rank's calls come one at a time.
            if unsafe { lane.push_long(true, fill) } {
                world.wake(me, to);
                return None;
            }
        }
    }
    // SAFETY: passed on.
    unsafe { p2p::send_by_queue(world, part, make).map(Owed::Request) }
}

/// Takes the part of rank `by` for this pattern, if it comes soon.
///
/// # Safety
/// As `p2p::receive`.
#[inline(always)]
pub unsafe fn take_soon(
    world: &World,
    (me, by): (usize, usize),
    pattern: Envelope,
    place: &Place,
) -> Option<Received> {
    let slot = &world.slots[me];
    let mut seen = None;
    world.soon(me, || {
        // SAFETY: passed on.
        let taken = unsafe { take_now(world, (me, by), pattern, place) };
        if taken.is_some() || !slot.has_parts() || seen == Some(slot.left.told()) {
            return taken;
        }
        seen = Some(slot.left.told());
        // SAFETY: passed on.
        unsafe { p2p::receive_left(world, me, pattern, place) }
    })
}

/// Takes it from its lane, if it is there.
///
/// # Safety
/// As `take_soon`.
#[inline(always)]
pub unsafe fn take_now(
    world: &World,
    (me, by): (usize, usize),
    pattern: Envelope,
    place: &Place,
) -> Option<Received> {
    let lane = world.part_lane(me, by)?;
    loop {
        let mut is_lent = false;
        let one = |short: &Short, memory: ShortMemory<'_>| {
            is_lent = short.is_lent();
            if !short.is_for(&pattern) {
                lock(&world.slots[me].queue).arrive(world, (me, me), by, (short, memory));
                return None;
            }
            // SAFETY: the caller's promise; what is lent is its giver's promise.
            Some(unsafe { short.deliver(memory, place, by) })
        };
        // SAFETY: this rank alone takes, in one call at a time.
        let taken = unsafe { lane.take(one) }?;
        if is_lent {
            // As in `Req::complete`: the giver may be about to sleep. Only time depends on it.
            fence(Ordering::SeqCst);
            world.wake(me, by);
        }
        if taken.is_some() {
            return taken;
        }
    }
}

/// Whether a part from this rank has come by its lane.
#[inline]
pub fn has_come(world: &World, me: usize, by: usize) -> bool {
    world.part_lane(me, by).is_some_and(ShortLane::has_news)
}

/// Whether a lent part has been taken: its memory is the giver's again.
#[inline]
pub fn is_taken(world: &World, me: usize, to: usize, number: u64) -> bool {
    world.part_lane(to, me).is_none_or(|it: &ShortLane| it.has_taken(number))
}
