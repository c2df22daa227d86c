//! Requests: calls that are started, and waited for later, in a scope; and calls that are set up
//! once, and started many times. Here: the scope, and its state.
//!
//! - `messages`: starting those, or setting them up.
//! - `segmented`: segmented scans, started or not.
//! - `completion`: started again, waited for, looked at.

mod completion;
mod messages;
mod segmented;

pub(crate) use completion::{requests_comm, start, test, wait, wait_all, wait_any};
pub(crate) use messages::{recv, send};
pub(crate) use segmented::{exclusive_segmented_scan, segmented_scan};

use crate::arguments::put;
use crate::call::{From, call, free, line_of, this_thread};
use crate::error::{Answer, answer, fail};
use crate::handle::Table;
use crate::names::*;
use crate::objects::OwnSeat;
use crate::results::Leave;
use crate::types::Type;
use phalanx::call::{SetUp, Start};
use phalanx::engine::{self, Made, made_at};
use phalanx::{OpenRequest, Persistent, Requests, Status};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

pub(crate) type Scope = Requests<'static, 'static>;

/// The line of a call, for the calls that are started there: errors may name it long after.
pub(crate) type At = &'static Location<'static>;

/// The arguments of a function on a scope: the scope, its state, and the caller's line.
pub(crate) type Open<'a> = (&'a mut Scope, &'a mut ScopeState, At);

/// A started call of any sort.
pub(crate) trait Started {
    /// Completes it. Returns the call that was set up, to be started again.
    fn wait(self: Box<Self>, scope: &mut Scope) -> (Option<Status>, Option<Box<dyn Restart>>);
    fn is_complete(&mut self, scope: &mut Scope) -> bool;
    /// For [`engine::wait_any`].
    fn place(&self) -> Option<usize>;
}

/// A call that was set up.
pub(crate) trait Restart {
    fn start(self: Box<Self>, scope: &mut Scope) -> Box<dyn Started>;
}

/// A request's result, for C: a receive's message, and a call that was set up.
pub(crate) trait Given: Sized + 'static {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>) {
        (None, None)
    }
}

impl Given for () {}
impl<T: 'static> Given for &'static [T] {}
impl<T: 'static> Given for &'static mut [T] {}

impl<B: 'static> Given for (B, Status) {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>) {
        (Some(self.1), None)
    }
}

impl<T: 'static> Given for Persistent<'static, 'static, T> {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>) {
        (self.status(), Some(Box::new(self)))
    }
}

impl<B: Given> Started for OpenRequest<'static, B> {
    fn wait(self: Box<Self>, scope: &mut Scope) -> (Option<Status>, Option<Box<dyn Restart>>) {
        scope.wait(*self).given()
    }

    fn is_complete(&mut self, scope: &mut Scope) -> bool {
        scope.test(self)
    }

    fn place(&self) -> Option<usize> {
        engine::place_of(self)
    }
}

impl<T: 'static> Restart for Persistent<'static, 'static, T> {
    fn start(self: Box<Self>, scope: &mut Scope) -> Box<dyn Started> {
        Box::new(scope.start(*self))
    }
}

enum Work {
    Started(Box<dyn Started>),
    /// Set up, and not under way.
    Idle(Box<dyn Restart>),
}

struct Request {
    number: phx_request,
    /// Of a receive: its element type.
    ty: Option<Type>,
    work: Work,
}

pub(crate) struct ScopeState {
    scope: *mut Scope,
    requests: Vec<Request>,
    next: phx_request,
    /// The handle for calls that wait, or null.
    comm: *mut phx_comm,
    /// The panic of a call of the scope, for the scope's end.
    thrown: Option<Box<dyn Any + Send>>,
}

static SCOPES: Table<OwnSeat<ScopeState>> = Table::new(5);

thread_local! {
    /// The handles of the scopes that the thread is in.
    static OPEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn find(scope: *mut phx_requests) -> Result<&'static OwnSeat<ScopeState>, phx_err> {
    let seat = SCOPES.find(scope as usize as u64);
    let own = seat.filter(|seat| seat.thread.load(Relaxed) == this_thread());
    own.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such scope: it is null, over, or another thread's"))
}

/// A call of this thread's has failed: of the scopes of a run that is over, no other rank reaches
/// the memory of the started calls when this returns. The program goes on, and may free it.
#[cold]
pub(crate) fn quiesce_failed() {
    let open = OPEN.try_with(|open| open.borrow().clone()).unwrap_or_default();
    for seat in open.into_iter().filter_map(|handle| SCOPES.find(handle)) {
        // None: a call of the scope is under way further out, and comes here itself.
        // SAFETY: of this thread alone.
        let state = unsafe { seat.it() }.as_ref();
        if let Some(state) = state.filter(|state| state.thrown.is_none()) {
            // SAFETY: as in `within`.
            engine::quiesce(unsafe { &*state.scope }, true);
        }
    }
}

pub(crate) unsafe fn requests(
    comm: *mut phx_comm,
    from: From,
    f: phx_scope_fn,
    argument: *mut c_void,
) -> Answer {
    let body = |comm: &mut phalanx::Comm| {
        let f = f.ok_or("the function is null")?;
        comm.requests(|scope| {
            let scope: *mut Requests<'_, '_> = scope;
            // Scopes that are open at once are on the stack: never so many.
            let (handle, seat) = SCOPES.reserve().expect("a place");
            seat.thread.store(this_thread(), Relaxed);
            let (comm, requests, thrown) = (std::ptr::null_mut(), Vec::new(), None);
            let state = ScopeState { scope: scope.cast(), requests, next: 1, comm, thrown };
            // SAFETY: the handle is nobody's yet.
            unsafe { *seat.it() = Some(state) };
            SCOPES.publish(handle);
            let _: Result<(), _> = OPEN.try_with(|open| open.borrow_mut().push(handle));
            // SAFETY: by the contract. (Nothing is thrown out of it.)
            engine::call_back(|| unsafe { f(handle as usize as *mut phx_requests, argument) });
            let _: Result<_, _> = OPEN.try_with(|open| open.borrow_mut().pop());
            SCOPES.retire(handle);
            // SAFETY: the handle is nobody's any more, and no call of the scope is under way.
            let state = unsafe { seat.it().take() };
            SCOPES.recycle(handle);
            if let Some(state) = state {
                free(state.comm);
                if let Some(payload) = state.thrown {
                    resume_unwind(payload);
                }
            }
        });
        Ok(())
    };
    // SAFETY: by the contract.
    answer(unsafe { call(comm, from, body) })
}

/// Runs a function on a scope.
///
/// # Safety
/// The file is null or a string that stays; `body` makes calls as the functions' contracts say.
pub(crate) unsafe fn within(
    scope: *mut phx_requests,
    from: From,
    body: impl FnOnce(Open<'_>) -> Result<(), String>,
) -> phx_err {
    let seat = match find(scope) {
        Ok(seat) => seat,
        Err(code) => return code,
    };
    // SAFETY: of this thread alone. It is taken out, so that nothing enters it a second time.
    let Some(mut state) = (unsafe { seat.it().take() }) else {
        return fail(PHX_ERR_BUSY, "the scope is in a call already");
    };
    if state.thrown.is_some() {
        // SAFETY: as above.
        unsafe { *seat.it() = Some(state) };
        return fail(PHX_ERR_DEAD, "a call of this scope has failed before");
    }
    // SAFETY: the scope lives until `f` of `phx_requests_at` has returned, and this thread alone
    // has it. Lifetimes are forgotten: requests do not outlive the scope (they are dropped with its
    // state), and their buffers are the caller's promise.
    let open = unsafe { &mut *state.scope };
    // SAFETY: passed on.
    let call = unsafe { line_of(from.function, from.file, from.line) };
    let (note, at) = (engine::note(open.comm(), call), call.location());
    let result = catch_unwind(AssertUnwindSafe(|| {
        if let Err(what) = body((open, &mut state, at)) {
            engine::refuse(open.comm(), what);
        }
    }));
    drop(note);
    let failed = result.is_err();
    if let Err(payload) = result {
        // The memory of all that was started is the program's again: it may return now.
        engine::quiesce(open, false);
        state.thrown = Some(payload);
    }
    // SAFETY: as above.
    unsafe { *seat.it() = Some(state) };
    if !failed {
        return PHX_OK;
    }
    quiesce_failed();
    fail(PHX_ERR_DEAD, "a call of this scope has failed; phx_requests says why")
}

impl ScopeState {
    /// Keeps a call, and tells its number.
    ///
    /// # Safety
    /// `request` is null or valid.
    unsafe fn keep(&mut self, ty: Option<Type>, work: Work, request: *mut phx_request) {
        let number = self.next;
        self.next += 1;
        self.requests.push(Request { number, ty, work });
        // SAFETY: by the contract.
        unsafe { put(request, number) };
    }

    fn place(&self, request: phx_request) -> Result<usize, String> {
        let place = self.requests.iter().position(|it| it.number == request);
        place.ok_or_else(|| format!("{request} is no request of this scope, or was waited for"))
    }

    /// Completes a call.
    ///
    /// # Safety
    /// `status` is null or valid.
    unsafe fn complete(&mut self, scope: &mut Scope, at: usize, status: *mut phx_status) {
        let Request { number, ty, work } = self.requests.swap_remove(at);
        let (come, again) = match work {
            Work::Started(started) => started.wait(scope),
            Work::Idle(idle) => (None, Some(idle)),
        };
        if let Some(it) = come {
            // SAFETY: by the contract.
            unsafe { it.leave(status, ty.map_or(1, Type::parts)) };
        }
        if let Some(idle) = again {
            self.requests.push(Request { number, ty, work: Work::Idle(idle) });
        }
    }
}

/// The arguments of a function that starts a call, or sets it up.
pub(crate) struct Starting<'a> {
    pub(crate) open: Open<'a>,
    /// Not 0: it is set up.
    pub(crate) persistent: c_int,
    pub(crate) request: *mut phx_request,
}

impl Starting<'_> {
    /// Starts `call`, or sets it up: of a receive, with elements of this type.
    ///
    /// # Safety
    /// `request` is null or valid.
    pub(crate) unsafe fn go<C>(self, ty: Option<Type>, call: C)
    where
        C: Made + Start<'static, 'static, Gives: Given> + SetUp<'static, 'static, Element: 'static>,
    {
        let Starting { open: (scope, state, at), persistent, request } = self;
        let work = match persistent {
            0 => Work::Started(Box::new(scope.start(made_at(call, at)))),
            _ => Work::Idle(Box::new(scope.set_up(made_at(call, at)))),
        };
        // SAFETY: passed on.
        unsafe { state.keep(ty, work, request) };
    }
}

pub(crate) unsafe fn barrier(starting: Starting<'_>) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe { starting.go(None, phalanx::call::barrier()) };
    Ok(())
}
