//! Requests: waiting, testing, freeing.

use super::arguments::Status;
use super::failures::Failures;
use super::general::{free_later, general};
use super::look::{Now, Seen, look_at, now};
use super::point_to_point::start_again;
use super::prelude::*;
use crate::rt::p2p::{self, OneOf};
use crate::rt::rank::{Active, Rank, Started};
use crate::rt::request::{Ask, Kind, NOBODY, Req, SENT};
use crate::rt::standings::Condition;
use crate::rt::started::close;

/// Awaits one request.
pub(super) fn wait_one(caller: Caller<'_>, req: &Arc<Req>) {
    // A rank that sends a message to this one, and waits for its receive, must find that.
    caller.publish();
    let one = || vec![Arc::clone(req)];
    let world = || Arc::clone(&caller.world);
    let condition = || Arc::new(OneOf { world: world(), me: caller.me, all: one() }) as _;
    if req.ask.open.is_none() {
        let holds = || has_come(caller, req);
        return caller.world.wait(caller.me, caller.site, req.ask.by, holds, condition);
    }
    // It is carried on outside of the library, where other ranks can be woken.
    while caller.world.soon(caller.me, || caller.advance(req).then_some(())).is_none() {
        let holds = || caller.can_advance(req);
        caller.world.wait(caller.me, caller.site, None, holds, condition);
    }
}

/// Whether a request is complete, once this rank's rings are looked at.
#[inline]
pub(super) fn has_come(caller: Caller<'_>, req: &Req) -> bool {
    if req.is_done() || req.ask.kind != Kind::Receive {
        return caller.advance(req);
    }
    p2p::look(&caller.world, caller.me, req.ask.by);
    req.is_done()
}

/// Gives a complete request's status; the request can be used again then.
pub(super) fn finish(caller: Caller<'_>, req: Arc<Req>, status: StatusOut) -> Outcome {
    let (arrived, failed) = req.arrived();
    status.set(arrived, req.is_cancelled());
    let outcome = failed.map_or(Ok(()), |error| Err(error.clone()));
    caller.give_back(req);
    outcome
}

/// The call under way of a handle; `None` for the null one, and for one that is not started.
pub(super) fn request(caller: Caller<'_>, handle: Handle) -> Outcome<Option<Arc<Req>>> {
    if handle == standard::REQUEST_NULL {
        return Ok(None);
    }
    caller.publish();
    let mut requests = caller.requests.borrow_mut();
    let Some(started) = requests.get_mut(handle) else {
        return error(Class::Request, format!("{handle:#x} is no request"));
    };
    Ok(match &mut started.active {
        Active::Rest => None,
        Active::Shared(req) => Some(Arc::clone(req)),
        Active::Sent(_) => Some(Arc::clone(&caller.sent)),
        Active::Nobody(_) => Some(Arc::clone(&caller.from_nobody)),
        Active::Arrived(arrived, failed) => {
            let (owner, site, kind) = (caller.me, caller.site, Kind::Receive);
            let context = failed.as_ref().and_then(|it| it.context).unwrap_or(0);
            let req = caller.request(Ask { owner, site, kind, context, ..Ask::default() });
            failed.take().into_iter().for_each(|it| req.fail(it));
            req.complete(&caller.world, owner, *arrived);
            started.active = Active::Shared(Arc::clone(&req));
            Some(req)
        }
        Active::Early(_) => unreachable!("early receives have been posted"),
    })
}

/// The calls under way of a list.
fn requests(caller: Caller<'_>, count: c_int, handles: Out<Handle>) -> Outcome<Vec<Arc<Req>>> {
    let all = handles.copied(count).into_iter().map(|it| request(caller, it));
    all.filter_map(Outcome::transpose).collect()
}

/// Awaits that one of a list is complete, or goes on.
fn wait_any(caller: Caller<'_>, count: c_int, handles: Out<Handle>) -> Outcome {
    let all = requests(caller, count, handles)?;
    // Of one request it is known which rank completes it.
    let by = if let [one] = all.as_slice() { one.ask.by } else { None };
    let is_receive = all.iter().any(|it| it.ask.kind == Kind::Receive);
    let holds = || {
        if is_receive {
            p2p::look(&caller.world, caller.me, by);
        }
        all.iter().any(|it| caller.can_advance(it))
    };
    caller.world.wait(caller.me, caller.site, by, holds, || one_of(caller, all.clone()));
    Ok(())
}

/// Ends a complete one: its status, and the null handle.
fn retire(caller: Caller<'_>, handle: Out<Handle>, status: StatusOut) -> Outcome {
    if is_of_nobody(caller.rank, handle, status) {
        return Ok(());
    }
    let (ended, general) = {
        let mut requests = caller.requests.borrow_mut();
        match requests.get_mut(handle.get()) {
            Some(Started { active, again: Some(_), .. }) => {
                (std::mem::replace(active, Active::Rest), None)
            }
            _ => {
                let started = requests.remove(handle.get());
                handle.set(standard::REQUEST_NULL);
                started.map_or((Active::Rest, None), |it| (it.active, it.general))
            }
        }
    };
    let outcome = match ended {
        Active::Rest => {
            status.set_empty();
            Ok(())
        }
        Active::Early(_) | Active::Nobody(_) => Ok(()),
        Active::Sent(_) => {
            status.set(SENT, false);
            Ok(())
        }
        Active::Arrived(arrived, failed) => {
            status.set(arrived, false);
            failed.map_or(Ok(()), |it| Err(*it))
        }
        Active::Shared(req) => finish(caller, req, status),
    };
    match general {
        Some(general) => outcome.and(general.query(status)).and(general.free()),
        None => outcome,
    }
}

/// Starts a persistent request.
pub(super) fn start(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    let again = match caller.requests.borrow().get(handle.get()) {
        Some(Started { active: Active::Rest, again: Some(again), .. }) => Rc::clone(again),
        Some(Started { again: Some(_), .. }) => {
            return error(Class::Request, "the request is under way");
        }
        _ => return error(Class::Request, "this is no persistent request"),
    };
    let (active, is_early) = start_again(caller, &again)?.active();
    if let Some(started) = caller.requests.borrow_mut().get_mut(handle.get()) {
        started.active = active;
    }
    if is_early {
        caller.name_early(handle.get());
    }
    Ok(())
}

pub(super) fn startall(caller: Caller<'_>, count: c_int, handles: Out<Handle>) -> Outcome {
    let count = usize::try_from(count).unwrap_or(0);
    (0..count).try_for_each(|index| start(caller, handles.at(index)))
}

/// A test's answer, for requests of which some are not complete if nothing is found: a row of such
/// tests gives up the core.
fn found(
    caller: Caller<'_>,
    flag: Out<c_int>,
    is_found: bool,
    all: impl FnOnce() -> Outcome<Vec<Arc<Req>>>,
) -> bool {
    flag.set(c_int::from(is_found));
    caller.tested(is_found, || one_of(caller, all().unwrap_or_default()));
    is_found
}

/// One of these that are not complete.
fn one_of(caller: Caller<'_>, mut all: Vec<Arc<Req>>) -> Arc<dyn Condition> {
    all.retain(|it| !it.is_done());
    Arc::new(OneOf { world: Arc::clone(&caller.world), me: caller.me, all })
}

/// The same until one is complete, if there is anything to wait for.
fn await_some(
    caller: Caller<'_>,
    from: usize,
    count: c_int,
    handles: Out<Handle>,
    mut is_enough: impl FnMut(usize, usize) -> bool,
) -> Outcome<Seen> {
    loop {
        let look = || match look_at(caller, from, (count, handles), &mut is_enough) {
            Ok(Seen { active: 1.., done: 0, is_general: false }) => None,
            seen => Some(seen),
        };
        if let Some(seen) = caller.world.soon(caller.me, look).transpose()?
            && (seen.done > 0 || seen.active == 0)
        {
            return Ok(seen);
        }
        wait_any(caller, count, handles)?;
    }
}

/// Ends a request, if it is that of messages to and from nobody, which stays for the next ones.
#[inline(always)]
fn is_of_nobody(rank: &Rank, handle: Out<Handle>, status: StatusOut) -> bool {
    let is_it = handle.get() == rank.nobody;
    if is_it {
        status.set(NOBODY, false);
        handle.set(standard::REQUEST_NULL);
    }
    is_it
}

/// Ends a request, if it is a message that needs no more than its status: complete, or soon, and
/// without an error; no persistent one, and not seen by other ranks. Whether it has.
#[inline(always)]
fn has_retired(rank: &Rank, handle: Out<Handle>, status: StatusOut) -> bool {
    is_of_nobody(rank, handle, status) || has_retired_own(rank, handle, status)
}

/// The same of a request of its own.
#[inline(never)]
fn has_retired_own(rank: &Rank, handle: Out<Handle>, status: StatusOut) -> bool {
    if handle.get() == standard::REQUEST_NULL {
        status.set_empty();
        return true;
    }
    let mut requests = rank.requests.borrow_mut();
    let retired = requests.remove_if(handle.get(), |it| match it {
        Some(Started { active, again: None, general: None }) => match active {
            Active::Sent(_) => {
                status.set(SENT, false);
                Some(())
            }
            Active::Early(_) => {
                let say = |arrived| status.set(arrived, false);
                rank.has_arrived_early(handle.get(), say).then_some(())
            }
            Active::Arrived(arrived, None) => {
                status.set(*arrived, false);
                Some(())
            }
            _ => None,
        },
        _ => None,
    });
    if retired.is_some() {
        handle.set(standard::REQUEST_NULL);
    }
    retired.is_some()
}

/// Ends a request if it is complete soon, and has no functions of the program: then nothing of it
/// has to be kept meanwhile.
fn retire_soon(caller: Caller<'_>, handle: Out<Handle>, status: StatusOut) -> Option<Outcome> {
    if has_retired(caller.rank, handle, status) {
        return Some(Ok(()));
    }
    let look = || Some(now(caller, handle.get(), &mut false)).filter(|it| *it != Now::Open);
    let is_other = caller.world.soon(caller.me, look)? == Now::Other;
    (!is_other).then(|| retire(caller, handle, status))
}

#[inline(always)]
pub(super) fn wait(caller: Caller<'_>, handle: Out<Handle>, status: StatusOut) -> Outcome {
    if has_retired(caller.rank, handle, status) {
        return Ok(());
    }
    wait_otherwise(&caller.again(), handle, status)
}

#[inline(never)]
fn wait_otherwise(caller: &Caller<'_>, handle: Out<Handle>, status: StatusOut) -> Outcome {
    let caller = *caller;
    if let Some(outcome) = retire_soon(caller, handle, status) {
        return outcome;
    }
    let Some(req) = request(caller, handle.get())? else {
        status.set_empty();
        return Ok(());
    };
    wait_one(caller, &req);
    retire(caller, handle, status)
}

#[inline(always)]
pub(super) fn waitall(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    statuses: StatusOut,
) -> Outcome {
    for place in 0..usize::try_from(count).unwrap_or(0) {
        if !has_retired(caller.rank, handles.at(place), statuses.at(place)) {
            return waitall_otherwise(&caller.again(), place, count, handles, statuses);
        }
    }
    Ok(())
}

/// The same for those from this place on.
#[inline(never)]
fn waitall_otherwise(
    caller: &Caller<'_>,
    first: usize,
    count: c_int,
    handles: Out<Handle>,
    statuses: StatusOut,
) -> Outcome {
    let caller = *caller;
    let count = usize::try_from(count).unwrap_or(0);
    let mut failures = Failures::default();
    for place in first..count {
        match retire_soon(caller, handles.at(place), statuses.at(place)) {
            Some(Ok(())) => {}
            Some(failed) => failures.note(place, failed),
            None => {
                wait_rest(caller, (place, count), handles, statuses, &mut failures)?;
                break;
            }
        }
    }
    failures.outcome(statuses, count)
}

/// The rest of a list, of which the first takes long, or needs more than a look.
#[cold]
#[inline(never)]
fn wait_rest(
    caller: Caller<'_>,
    (first, count): (usize, usize),
    handles: Out<Handle>,
    statuses: StatusOut,
    failures: &mut Failures,
) -> Outcome {
    let requests = match requests(caller, int(count - first), handles.at(first)) {
        Ok(requests) => requests,
        Err(error) if failures.is_empty() => return Err(error),
        Err(_) => {
            note_unawaited(caller, (first, count), handles, statuses, failures);
            return Ok(());
        }
    };
    requests.iter().for_each(|it| wait_one(caller, it));
    for place in first..count {
        failures.note(place, retire(caller, handles.at(place), statuses.at(place)));
    }
    Ok(())
}

/// The rest of a list with a handle of no request, after others have failed and are gone: the
/// statuses say both, and which requests are there still.
fn note_unawaited(
    caller: Caller<'_>,
    (first, count): (usize, usize),
    handles: Out<Handle>,
    statuses: StatusOut,
    failures: &mut Failures,
) {
    for place in first..count {
        let outcome = match request(caller, handles.at(place).get()) {
            Ok(Some(_)) => error(Class::Pending, "the call has not waited for this request"),
            Ok(None) => {
                statuses.at(place).set_empty();
                Ok(())
            }
            Err(error) => Err(error),
        };
        failures.note(place, outcome);
    }
}

/// In a list of up to so many the first complete one is found.
const SHORT: c_int = 64;

pub(super) fn waitany(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    index: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let mut first = None;
    let from = next_place(caller, count, handles);
    await_some(caller, from, count, handles, |_, place| first.replace(place).is_none())?;
    retire_first(caller, first, handles, index, status)
}

/// Ends the first complete one of a list, which has this place; or there is nothing to wait for.
fn retire_first(
    caller: Caller<'_>,
    first: Option<usize>,
    handles: Out<Handle>,
    index: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    index.set(first.map_or(UNDEFINED, int));
    let Some(place) = first else {
        status.set_empty();
        return Ok(());
    };
    caller.ended.set((handles.address(), place + 1));
    retire(caller, handles.at(place), status)
}

/// Where to begin to look for one of a list: a long one, of which one ended last, after that. (From
/// the first one on, the looks at those that are no more grow with the square.)
fn next_place(caller: Caller<'_>, count: c_int, handles: Out<Handle>) -> usize {
    let (list, place) = caller.ended.get();
    let is_within = count > SHORT && place < usize::try_from(count).unwrap_or(0);
    if is_within && list == handles.address() { place } else { 0 }
}

pub(super) fn waitsome(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    out_count: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let seen = await_some(caller, 0, count, handles, note_in(indices))?;
    retire_seen(caller, seen, handles, (out_count, indices), statuses)
}

/// Notes the places of all.
fn note_in(indices: Out<c_int>) -> impl FnMut(usize, usize) -> bool {
    move |number, place| {
        indices.at(number).set(int(place));
        false
    }
}

/// Ends those that are complete, whose places are noted: their number and statuses.
fn retire_seen(
    caller: Caller<'_>,
    seen: Seen,
    handles: Out<Handle>,
    (out_count, indices): (Out<c_int>, Out<c_int>),
    statuses: StatusOut,
) -> Outcome {
    if seen.active == 0 {
        out_count.set(UNDEFINED);
        return Ok(());
    }
    let mut failures = Failures::default();
    for number in 0..seen.done {
        let handle = handles.at(indices.at(number).get() as usize);
        failures.note(number, retire(caller, handle, statuses.at(number)));
    }
    out_count.set(int(seen.done));
    failures.outcome(statuses, seen.done)
}

pub(super) fn testsome(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    out_count: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let seen = look_at(caller, 0, (count, handles), note_in(indices))?;
    if seen.active > 0 {
        found(caller, out_count, seen.done > 0, || requests(caller, count, handles));
    }
    retire_seen(caller, seen, handles, (out_count, indices), statuses)
}

pub(super) fn test(
    caller: Caller<'_>,
    handle: Out<Handle>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let seen = look_at(caller, 0, (1, handle), |_, _| true)?;
    if seen.active == 0 {
        caller.polls.skip();
        flag.set(1);
        status.set_empty();
        return Ok(());
    }
    match found(caller, flag, seen.done > 0, || requests(caller, 1, handle)) {
        true => retire(caller, handle, status),
        false => Ok(()),
    }
}

pub(super) fn testall(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    flag: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let Seen { active, done, .. } = look_at(caller, 0, (count, handles), |_, _| false)?;
    if !found(caller, flag, done == active, || requests(caller, count, handles)) {
        return Ok(());
    }
    let mut failures = Failures::default();
    let count = usize::try_from(count).unwrap_or(0);
    for place in 0..count {
        failures.note(place, retire(caller, handles.at(place), statuses.at(place)));
    }
    failures.outcome(statuses, count)
}

pub(super) fn testany(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let mut first = None;
    let from = next_place(caller, count, handles);
    let is_enough = |_, place| first.replace(place).is_none();
    let seen = look_at(caller, from, (count, handles), is_enough)?;
    if seen.active == 0 {
        flag.set(1);
    } else if !found(caller, flag, seen.done > 0, || requests(caller, count, handles)) {
        index.set(UNDEFINED);
        return Ok(());
    }
    retire_first(caller, first, handles, index, status)
}

pub(super) fn request_get_status(
    caller: Caller<'_>,
    handle: Handle,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    match request(caller, handle)? {
        Some(req) if found(caller, flag, has_come(caller, &req), || Ok(vec![Arc::clone(&req)])) => {
            status.set(req.arrived().0, req.is_cancelled());
            if let Some(general) = general(caller, handle) {
                return general.query(status);
            }
        }
        Some(_) => {}
        None => {
            flag.set(1);
            status.set_empty();
        }
    }
    Ok(())
}

pub(super) fn request_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    request(caller, handle.get())?;
    if general(caller, handle.get()).is_some() {
        return free_later(caller, handle);
    }
    if is_of_nobody(caller.rank, handle, StatusOut::IGNORED) {
        return Ok(());
    }
    let started = caller.requests.borrow_mut().remove(handle.get());
    started.iter().filter_map(Started::own_comm).for_each(|it| close(it, false));
    // The objects that it has held are dropped here.
    if let Some(Active::Shared(req)) = started.map(|it| it.active) {
        caller.keep_freed(req);
    }
    handle.set(standard::REQUEST_NULL);
    caller.sweep()
}

pub(super) fn cancel(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    if let Some(req) = request(caller, handle.get())? {
        if let Some(general) = general(caller, handle.get()) {
            return general.cancel(req.is_done());
        }
        p2p::cancel(&caller.world, caller.me, &req);
    }
    Ok(())
}

pub(super) fn test_cancelled(_: Caller<'_>, status: &Status) -> Outcome<c_int> {
    Ok(c_int::from(status.is_cancelled()))
}
