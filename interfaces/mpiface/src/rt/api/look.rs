//! A look at requests: which of a list are complete.

use super::prelude::*;
use super::requests::{has_come, request};
use crate::rt::rank::{Active, Started};
use crate::rt::request::Kind;

/// A request, as a look finds it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Now {
    Complete,
    Open,
    /// A persistent one that is not started.
    Rest,
    /// It needs more than a look, as it has functions of the program, or is no request.
    Other,
}

/// Looks at one. `has_looked`: at all of this rank's rings, so that no other one has to.
#[inline]
pub(super) fn now(caller: Caller<'_>, handle: Handle, has_looked: &mut bool) -> Now {
    let requests = caller.requests.borrow();
    let is_complete = match requests.get(handle) {
        Some(Started { general: None, active, .. }) => match active {
            Active::Rest => return Now::Rest,
            Active::Sent(_) | Active::Nobody(_) | Active::Arrived(..) => true,
            // The message that comes may be for an early receive.
            Active::Shared(req) if req.ask.kind == Kind::Receive && caller.has_early() => {
                let is_done = req.is_done();
                drop(requests);
                caller.publish();
                is_done
            }
            // An operator of the program may run: no borrow lasts.
            Active::Shared(req) if req.ask.open.is_some() => {
                let req = Arc::clone(req);
                drop(requests);
                caller.advance(&req)
            }
            Active::Shared(req) if *has_looked || req.is_done() => req.is_done(),
            Active::Shared(req) => {
                *has_looked = req.ask.kind == Kind::Receive && req.ask.by.is_none();
                has_come(caller, req)
            }
            Active::Early(_) => {
                drop(requests);
                caller.look_early()
                    && matches!(
                        caller.requests.borrow().get(handle),
                        Some(Started { active: Active::Arrived(..), .. })
                    )
            }
        },
        _ => return Now::Other,
    };
    if is_complete { Now::Complete } else { Now::Open }
}

/// So many words are looked at in one go.
const NULLS: usize = 16;

/// A look at a list.
#[derive(Default)]
pub(super) struct Seen {
    /// So many are not at rest: as far as the look went.
    pub(super) active: usize,
    /// So many of those are complete.
    pub(super) done: usize,
    /// Whether one is the program's to complete, perhaps by a thread of its own: it is looked at
    /// once, as other looks borrow the table.
    pub(super) is_general: bool,
}

/// Looks at a list, from a place on, and then at those before it: `is_enough` is told of each
/// complete one its number and its place. One that is no more costs a word.
#[inline]
pub(super) fn look_at(
    caller: Caller<'_>,
    from: usize,
    (count, handles): (c_int, Out<Handle>),
    mut is_enough: impl FnMut(usize, usize) -> bool,
) -> Outcome<Seen> {
    let (mut seen, mut has_looked) = (Seen::default(), false);
    let count = usize::try_from(count).unwrap_or(0);
    // Of the null handle there are none.
    let bits = |place| handles.at(place).get() ^ standard::REQUEST_NULL;
    for (mut place, end) in [(from, count), (0, from)] {
        while place < end {
            let handle = handles.at(place).get();
            place += 1;
            if handle == standard::REQUEST_NULL {
                // Without a branch for each.
                let any = |from| (from..from + NULLS).fold(0, |any, it| any | bits(it)) != 0;
                while place + NULLS <= end && !any(place) {
                    place += NULLS;
                }
                continue;
            }
            let is_done = match now(caller, handle, &mut has_looked) {
                Now::Rest => continue,
                Now::Other => {
                    let Some(req) = request(caller, handle)? else { continue };
                    seen.is_general = true;
                    req.is_done()
                }
                it => it == Now::Complete,
            };
            seen.active += 1;
            if is_done {
                seen.done += 1;
                if is_enough(seen.done - 1, place - 1) {
                    return Ok(seen);
                }
            }
        }
    }
    Ok(seen)
}
