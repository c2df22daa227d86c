//! Requests: waiting, testing, freeing.

use super::arguments::{Caller, Out, Status, StatusOut, int};
use super::failures::Failures;
use super::general::{free_later, general};
use super::point_to_point::start_again;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::Handle;
use crate::rt::p2p::{self, OneOf};
use crate::rt::rank::{Active, Rank, Started};
use crate::rt::request::{Ask, Kind, NOBODY, Req, SENT};
use crate::rt::standard;
use crate::rt::standard::UNDEFINED;
use crate::rt::standings::Condition;
use crate::rt::started::close;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

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
fn has_come(caller: Caller<'_>, req: &Req) -> bool {
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
fn request(caller: Caller<'_>, handle: Handle) -> Outcome<Option<Arc<Req>>> {
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
            failed.take().into_iter().for_each(|it| req.fail(*it));
            req.complete(&caller.world, owner, *arrived);
            started.active = Active::Shared(Arc::clone(&req));
            Some(req)
        }
        Active::Early(_) => unreachable!("early receives have been posted"),
    })
}

/// The requests of a list.
struct Requests {
    handles: Out<Handle>,
    all: Vec<Option<Arc<Req>>>,
}

impl Requests {
    fn new(caller: Caller<'_>, count: c_int, handles: Out<Handle>) -> Outcome<Requests> {
        let all: Outcome<_> =
            handles.copied(count).into_iter().map(|it| request(caller, it)).collect();
        let requests = Requests { handles, all: all? };
        requests.advance(caller);
        requests.look(caller);
        Ok(requests)
    }

    /// Carries this rank's collectives on.
    fn advance(&self, caller: Caller<'_>) {
        self.active().filter(|it| it.ask.open.is_some()).for_each(|it| _ = caller.advance(it));
    }

    /// Looks at this rank's rings, if one of these can come there.
    fn look(&self, caller: Caller<'_>) {
        let mut receives = self.active().filter(|it| it.ask.kind == Kind::Receive && !it.is_done());
        if let Some(one) = receives.next() {
            let by = one.ask.by.filter(|_| receives.next().is_none());
            p2p::look(&caller.world, caller.me, by);
        }
    }

    fn active(&self) -> impl Iterator<Item = &Arc<Req>> {
        self.all.iter().flatten()
    }

    /// Whether there is nothing to wait for.
    fn is_empty(&self) -> bool {
        self.active().next().is_none()
    }

    /// The complete ones, by their places in the list.
    fn done(&self) -> impl Iterator<Item = (usize, &Req)> {
        self.all
            .iter()
            .enumerate()
            .filter_map(|(place, req)| Some((place, req.as_deref().filter(|it| it.is_done())?)))
    }

    /// Awaits that one of them is complete.
    fn wait(&self, caller: Caller<'_>) {
        let (world, all) = (|| Arc::clone(&caller.world), || self.active().cloned().collect());
        let condition = || Arc::new(OneOf { world: world(), me: caller.me, all: all() }) as _;
        let holds = || {
            self.look(caller);
            self.active().any(|it| it.is_done() || caller.can_advance(it))
        };
        // Of one request it is known which rank completes it.
        let mut all = self.active();
        let by = all.next().and_then(|it| it.ask.by).filter(|_| all.next().is_none());
        while self.done().next().is_none() {
            caller.world.wait(caller.me, caller.site, by, holds, condition);
            self.advance(caller);
        }
    }

    /// Ends a complete one: its status, and the null handle.
    fn retire(&self, caller: Caller<'_>, place: usize, status: StatusOut) -> Outcome {
        retire(caller, self.handles.at(place), status)
    }

    /// Ends all, which are complete. The first has this place in the call's list.
    fn retire_all(
        &self,
        caller: Caller<'_>,
        statuses: StatusOut,
        first: usize,
        failures: &mut Failures,
    ) {
        for (place, req) in self.all.iter().enumerate() {
            let status = statuses.at(first + place);
            match req {
                Some(_) => failures.note(first + place, self.retire(caller, place, status)),
                None => status.set_empty(),
            }
        }
    }

    /// Ends those that are complete: their number, places and statuses.
    fn retire_done(
        &self,
        caller: Caller<'_>,
        count: Out<c_int>,
        indices: Out<c_int>,
        statuses: StatusOut,
    ) -> Outcome {
        let mut found = 0;
        let mut failures = Failures::default();
        for (place, _) in self.done() {
            indices.at(found).set(int(place));
            failures.note(found, self.retire(caller, place, statuses.at(found)));
            found += 1;
        }
        count.set(int(found));
        failures.outcome(statuses, found)
    }
}

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
        Active::Rest | Active::Early(_) | Active::Nobody(_) => Ok(()),
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
fn found<'a>(
    caller: Caller<'_>,
    flag: Out<c_int>,
    is_found: bool,
    all: impl Iterator<Item = &'a Arc<Req>>,
) -> bool {
    flag.set(c_int::from(is_found));
    caller.tested(is_found, || awaited(caller, all));
    is_found
}

/// One of these that are not complete.
fn awaited<'a>(caller: Caller<'_>, all: impl Iterator<Item = &'a Arc<Req>>) -> Arc<dyn Condition> {
    let all = all.filter(|it| !it.is_done()).cloned().collect();
    Arc::new(OneOf { world: Arc::clone(&caller.world), me: caller.me, all })
}

/// Whether one is complete (true); none if not yet. False: it needs more than a look, as it rests,
/// or has functions of the program, or is no request.
#[inline]
fn is_done_now(caller: Caller<'_>, handle: Handle) -> Option<bool> {
    let requests = caller.requests.borrow();
    match requests.get(handle) {
        Some(Started { general: None, active, .. }) => match active {
            Active::Rest => Some(false),
            Active::Sent(_) | Active::Nobody(_) | Active::Arrived(..) => Some(true),
            // The message that comes may be for an early receive.
            Active::Shared(req) if req.ask.kind == Kind::Receive && caller.has_early() => {
                let is_done = req.is_done();
                drop(requests);
                caller.publish();
                is_done.then_some(true)
            }
            // An operator of the program may run: no borrow lasts.
            Active::Shared(req) if req.ask.open.is_some() => {
                let req = Arc::clone(req);
                drop(requests);
                caller.advance(&req).then_some(true)
            }
            Active::Shared(req) => has_come(caller, req).then_some(true),
            Active::Early(_) => {
                drop(requests);
                if !caller.look_early() {
                    return None;
                }
                let requests = caller.requests.borrow();
                let active = requests.get(handle).map(|it| &it.active);
                matches!(active, Some(Active::Arrived(..))).then_some(true)
            }
        },
        _ => Some(false),
    }
}

/// The first complete one of a list: its place, or `None` if there is none yet. The outer `None`:
/// there is nothing to wait for, or one needs more than a look.
#[inline]
fn first_done(caller: Caller<'_>, count: c_int, handles: Out<Handle>) -> Option<Option<usize>> {
    let mut is_active = false;
    for place in 0..usize::try_from(count).unwrap_or(0) {
        let handle = handles.at(place).get();
        if handle != standard::REQUEST_NULL {
            match is_done_now(caller, handle) {
                Some(true) => return Some(Some(place)),
                Some(false) => return None,
                None => is_active = true,
            }
        }
    }
    is_active.then_some(None)
}

/// A test has found none of a list, which other ranks have to know of if it goes on for long.
#[inline]
fn missed(caller: Caller<'_>, count: c_int, handles: Out<Handle>, flag: Out<c_int>) {
    flag.set(0);
    caller.tested(false, || {
        let all = handles.copied(count).into_iter().map(|it| request(caller, it));
        let all: Vec<Arc<Req>> = all.filter_map(|it| it.ok().flatten()).collect();
        awaited(caller, all.iter())
    });
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
    if !caller.world.soon(caller.me, || is_done_now(caller, handle.get()))? {
        return None;
    }
    Some(retire(caller, handle, status))
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
    let requests = match Requests::new(caller, int(count - first), handles.at(first)) {
        Ok(requests) => requests,
        Err(error) if failures.is_empty() => return Err(error),
        Err(_) => {
            note_unawaited(caller, (first, count), handles, statuses, failures);
            return Ok(());
        }
    };
    requests.active().for_each(|it| wait_one(caller, it));
    requests.retire_all(caller, statuses, first, failures);
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

pub(super) fn waitany(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    index: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let first = || first_done(caller, count, handles);
    let soon = caller.world.soon(caller.me, || first().map_or(Some(None), |it| it.map(Some)));
    if let Some(Some(place)) = soon {
        index.set(int(place));
        return retire(caller, handles.at(place), status);
    }
    let requests = Requests::new(caller, count, handles)?;
    index.set(UNDEFINED);
    if requests.is_empty() {
        status.set_empty();
        return Ok(());
    }
    requests.wait(caller);
    let Some((place, _)) = requests.done().next() else { return Ok(()) };
    index.set(int(place));
    requests.retire(caller, place, status)
}

pub(super) fn waitsome(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    out_count: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let requests = Requests::new(caller, count, handles)?;
    if requests.is_empty() {
        out_count.set(UNDEFINED);
        return Ok(());
    }
    requests.wait(caller);
    requests.retire_done(caller, out_count, indices, statuses)
}

pub(super) fn testsome(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    out_count: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let requests = Requests::new(caller, count, handles)?;
    if requests.is_empty() {
        out_count.set(UNDEFINED);
        return Ok(());
    }
    let is_found = requests.done().next().is_some();
    caller.tested(is_found, || awaited(caller, requests.active()));
    requests.retire_done(caller, out_count, indices, statuses)
}

pub(super) fn test(
    caller: Caller<'_>,
    handle: Out<Handle>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    match first_done(caller, 1, handle) {
        Some(Some(_)) => {
            found(caller, flag, true, [].into_iter());
            return retire(caller, handle, status);
        }
        Some(None) => {
            missed(caller, 1, handle, flag);
            return Ok(());
        }
        None => {}
    }
    match request(caller, handle.get())? {
        Some(req) if found(caller, flag, has_come(caller, &req), [&req].into_iter()) => {
            retire(caller, handle, status)
        }
        Some(_) => Ok(()),
        None => {
            caller.polls.skip();
            flag.set(1);
            status.set_empty();
            Ok(())
        }
    }
}

pub(super) fn testall(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    flag: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let requests = Requests::new(caller, count, handles)?;
    let is_found = requests.active().all(|it| it.is_done());
    if !found(caller, flag, is_found, requests.active()) {
        return Ok(());
    }
    let mut failures = Failures::default();
    requests.retire_all(caller, statuses, 0, &mut failures);
    failures.outcome(statuses, requests.all.len())
}

pub(super) fn testany(
    caller: Caller<'_>,
    count: c_int,
    handles: Out<Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    match first_done(caller, count, handles) {
        Some(Some(place)) => {
            found(caller, flag, true, [].into_iter());
            index.set(int(place));
            return retire(caller, handles.at(place), status);
        }
        Some(None) => {
            index.set(UNDEFINED);
            missed(caller, count, handles, flag);
            return Ok(());
        }
        None => {}
    }
    let requests = Requests::new(caller, count, handles)?;
    index.set(UNDEFINED);
    if requests.is_empty() {
        flag.set(1);
        status.set_empty();
        return Ok(());
    }
    let first = requests.done().next();
    found(caller, flag, first.is_some(), requests.active());
    let Some((place, _)) = first else { return Ok(()) };
    index.set(int(place));
    requests.retire(caller, place, status)
}

pub(super) fn request_get_status(
    caller: Caller<'_>,
    handle: Handle,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    match request(caller, handle)? {
        Some(req) if found(caller, flag, has_come(caller, &req), [&req].into_iter()) => {
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

pub(super) fn test_cancelled(_: Caller<'_>, status: &Status, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(status.is_cancelled()));
    Ok(())
}
