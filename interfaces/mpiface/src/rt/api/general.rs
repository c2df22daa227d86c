//! Requests that the program completes.

use super::arguments::Status;
use super::prelude::*;
use crate::load::frame::Barred;
use crate::rt::rank::{Active, Started};
use crate::rt::request::{Ask, CancelFunction, FreeFunction, General, Kind, QueryFunction, SENT};

pub(super) fn grequest_start(
    caller: Caller<'_>,
    query: Option<QueryFunction>,
    free: Option<FreeFunction>,
    cancel: Option<CancelFunction>,
    extra: *mut c_void,
) -> Outcome<Handle> {
    let (Some(query), Some(free), Some(cancel)) = (query, free, cancel) else {
        return error(Class::Arg, "a function is a null pointer");
    };
    let general = General { query, free, cancel, extra: extra as usize, is_freed: false };
    let (owner, site) = (caller.me, caller.site);
    let ask = Ask { owner, site, kind: Kind::General, ..Ask::default() };
    let (active, general) = (Active::Shared(caller.request(ask)), Some(Box::new(general)));
    let started = Started { active, again: None, general };
    Ok(caller.requests.borrow_mut().insert(started))
}

pub(super) fn grequest_complete(caller: Caller<'_>, handle: Handle) -> Outcome {
    let found = match caller.requests.borrow().get(handle) {
        Some(Started { active: Active::Shared(req), general: Some(general), .. }) => {
            Some((Arc::clone(req), **general))
        }
        _ => None,
    };
    let Some((req, general)) = found else {
        return error(Class::Request, format!("{handle:#x} is no request of the program's own"));
    };
    req.complete(&caller.world, caller.me, SENT);
    if general.is_freed {
        caller.requests.borrow_mut().remove(handle);
        return general.free();
    }
    Ok(())
}

fn outcome(code: c_int) -> Outcome {
    match code {
        0 => Ok(()),
        _ => Err(Error::given(code, format!("a function of the program's request gave {code}"))),
    }
}

impl General {
    /// Asks the program for the status.
    pub(super) fn query(&self, status: StatusOut) -> Outcome {
        let mut own = Status::default();
        let at = if status.address().is_null() { (&raw mut own).cast() } else { status.address() };
        let _barred = Barred::new();
        // SAFETY: the program's own function with its argument.
        outcome(unsafe { (self.query)(self.extra as *mut c_void, at) })
    }

    /// Tells the program that the request is no more.
    pub(super) fn free(&self) -> Outcome {
        let _barred = Barred::new();
        // SAFETY: as above.
        outcome(unsafe { (self.free)(self.extra as *mut c_void) })
    }

    /// Tells the program that the request is cancelled.
    pub(super) fn cancel(&self, is_complete: bool) -> Outcome {
        let _barred = Barred::new();
        // SAFETY: as above.
        outcome(unsafe { (self.cancel)(self.extra as *mut c_void, c_int::from(is_complete)) })
    }
}

/// The program's functions of a request, if it has such.
pub(super) fn general(caller: Caller<'_>, handle: Handle) -> Option<General> {
    caller.requests.borrow().get(handle).and_then(|it| it.general.as_deref().copied())
}

/// Frees a request of the program's own: it stays known until the program completes it.
pub(super) fn free_later(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    let at = handle.get();
    handle.set(standard::REQUEST_NULL);
    let mut all = caller.requests.borrow_mut();
    let Some(started) = all.get_mut(at) else { return Ok(()) };
    let Some(general) = &mut started.general else { return Ok(()) };
    if matches!(&started.active, Active::Shared(it) if !it.is_done()) {
        general.is_freed = true;
        return Ok(());
    }
    let general = **general;
    all.remove(at);
    drop(all);
    general.free()
}
