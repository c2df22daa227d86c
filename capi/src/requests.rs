//! Requests: calls that are started, and waited for later, in a scope.

use crate::call::{
    From, IN_PLACE, apart, call, free, input, lend, output, phx_comm, rank_number, this_thread,
};
use crate::error::{PHX_ERR_BUSY, PHX_ERR_DEAD, PHX_ERR_HANDLE, PHX_OK, fail, phx_err};
use crate::handle::Table;
use crate::message::{given_tag, phx_status, sender, tag_of, tell};
use crate::types::{
    PHX_F32, PHX_F64, PHX_I32, PHX_I64, PHX_MAX, PHX_MIN, PHX_PROD, PHX_SUM, PHX_U64, Type, phx_op,
    phx_type, with_type,
};
use phalanx::{OpenRequest, Requests, Status, op, raw};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A scope in which calls are started. Only pointers to it are used, and they are no addresses.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct phx_requests {
    _nothing: [u8; 0],
}

/// A call that was started: a number, 0 for none.
#[allow(non_camel_case_types)]
pub type phx_request = u64;

/// What starts calls, and waits for them.
#[allow(non_camel_case_types)]
pub type phx_scope_fn =
    Option<unsafe extern "C-unwind" fn(scope: *mut phx_requests, argument: *mut c_void)>;

type Scope = Requests<'static, 'static>;

/// A request of any sort.
trait Started {
    fn wait(self: Box<Self>, scope: &mut Scope) -> Option<Status>;
    fn is_complete(&mut self, scope: &mut Scope) -> bool;
}

struct Plain<B>(OpenRequest<'static, B>);

impl<B> Started for Plain<B> {
    fn wait(self: Box<Self>, scope: &mut Scope) -> Option<Status> {
        scope.wait(self.0);
        None
    }

    fn is_complete(&mut self, scope: &mut Scope) -> bool {
        scope.test(&mut self.0)
    }
}

/// A receive, by the bytes of an element that C sees.
struct Received<B>(OpenRequest<'static, (B, Status)>);

impl<B> Started for Received<B> {
    fn wait(self: Box<Self>, scope: &mut Scope) -> Option<Status> {
        Some(scope.wait(self.0).1)
    }

    fn is_complete(&mut self, scope: &mut Scope) -> bool {
        scope.test(&mut self.0)
    }
}

struct State {
    scope: *mut Scope,
    started: Vec<(phx_request, Option<Type>, Box<dyn Started>)>,
    next: phx_request,
    /// The handle for calls that wait, or null.
    comm: *mut phx_comm,
    /// What a call of the scope has thrown, for the scope's end.
    thrown: Option<Box<dyn Any + Send>>,
}

/// The object of a handle.
#[derive(Default)]
struct Seat {
    thread: AtomicUsize,
    state: UnsafeCell<Option<State>>,
}

// SAFETY: `state` is used by the thread that `thread` names only, or by the one that makes or
// retires the handle.
unsafe impl Sync for Seat {}

static SCOPES: Table<Seat> = Table::new(5);

fn find(scope: *mut phx_requests) -> Result<&'static Seat, phx_err> {
    let seat = SCOPES.find(scope as usize as u64);
    let own = seat.filter(|seat| seat.thread.load(Relaxed) == this_thread());
    own.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such scope: it is null, over, or another thread's"))
}

/// Runs `f` with a scope, in which calls on the communicator are started and waited for; what it
/// has not waited for is complete when this returns. Buffers of started calls are not touched
/// before. After a call of the scope has failed they may be in use by other ranks until this
/// returns.
///
/// # Safety
/// `f` may be called with `argument`; buffers of the calls that it starts are valid until they were
/// waited for, or this has returned; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_requests_at(
    comm: *mut phx_comm,
    f: phx_scope_fn,
    argument: *mut c_void,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_requests", file, line };
    let body = |comm: &mut phalanx::Comm| {
        let f = f.ok_or("the function is null")?;
        comm.requests(|scope| {
            let scope: *mut Requests<'_, '_> = scope;
            let (handle, seat) = SCOPES.reserve();
            seat.thread.store(this_thread(), Relaxed);
            let (comm, started, thrown) = (std::ptr::null_mut(), Vec::new(), None);
            let state = State { scope: scope.cast(), started, next: 1, comm, thrown };
            // SAFETY: the handle is nobody's yet.
            unsafe { *seat.state.get() = Some(state) };
            SCOPES.publish(handle);
            // SAFETY: by the contract. (Nothing is thrown out of it.)
            unsafe { f(handle as usize as *mut phx_requests, argument) };
            SCOPES.retire(handle);
            // SAFETY: the handle is nobody's any more, and no call of the scope is under way.
            let state = unsafe { (*seat.state.get()).take() };
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
    unsafe { call(comm, from, body) }
}

/// Does what a function on a scope does.
///
/// # Safety
/// The file is null or a string that stays; `body` makes calls as the functions' contracts say.
unsafe fn within(
    scope: *mut phx_requests,
    from: From,
    body: impl FnOnce(&mut Scope, &mut State) -> Result<(), String>,
) -> phx_err {
    let seat = match find(scope) {
        Ok(seat) => seat,
        Err(code) => return code,
    };
    // SAFETY: of this thread alone. It is taken out, so that nothing enters it a second time.
    let Some(mut state) = (unsafe { (*seat.state.get()).take() }) else {
        return fail(PHX_ERR_BUSY, "the scope is in a call already");
    };
    if state.thrown.is_some() {
        // SAFETY: as above.
        unsafe { *seat.state.get() = Some(state) };
        return fail(PHX_ERR_DEAD, "a call of this scope has failed before");
    }
    // SAFETY: the scope lives until `f` of `phx_requests_at` has returned, and this thread alone
    // has it. Lifetimes are forgotten: requests do not outlive the scope (they are dropped with its
    // state), and their buffers are the caller's promise.
    let open = unsafe { &mut *state.scope };
    // SAFETY: passed on.
    let name = unsafe { crate::call::text(from.file) };
    let line = raw::foreign_call(from.function, &name, u32::try_from(from.line).unwrap_or(0));
    let note = raw::note(open.comm(), line);
    let result = catch_unwind(AssertUnwindSafe(|| {
        if let Err(what) = body(open, &mut state) {
            raw::refuse(open.comm(), what);
        }
    }));
    drop(note);
    let code = match result {
        Ok(()) => PHX_OK,
        Err(payload) => {
            state.thrown = Some(payload);
            fail(PHX_ERR_DEAD, "a call of this scope has failed; phx_requests says why")
        }
    };
    // SAFETY: as above.
    unsafe { *seat.state.get() = Some(state) };
    code
}

/// Keeps a started call, and tells its number.
///
/// # Safety
/// `request` is null or valid.
unsafe fn keep(
    state: &mut State,
    ty: Option<Type>,
    started: Box<dyn Started>,
    request: *mut phx_request,
) {
    let number = state.next;
    state.next += 1;
    state.started.push((number, ty, started));
    if !request.is_null() {
        // SAFETY: by the contract.
        unsafe { *request = number };
    }
}

/// Starts a barrier.
///
/// # Safety
/// `request` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_barrier_at(
    scope: *mut phx_requests,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_barrier", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            keep(state, None, Box::new(Plain(scope.barrier())), request);
            Ok(())
        })
    }
}

/// Starts a broadcast.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody else uses until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_broadcast_at(
    scope: *mut phx_requests,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_broadcast", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let n = ty.count(n)?;
            let started: Box<dyn Started> = with_type!(ty, T => {
                Box::new(Plain(scope.broadcast(output::<T>("the buffer", buf, n)?, root)))
            });
            keep(state, None, started, request);
            Ok(())
        })
    }
}

/// Starts an all-reduce of `PHX_F32`, `PHX_F64`, `PHX_I32`, `PHX_I64` or `PHX_U64` by `PHX_SUM`,
/// `PHX_PROD`, `PHX_MIN` or `PHX_MAX`.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_reduce_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_reduce", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            Type::of(ty)?.count(n)?;
            macro_rules! of {
                ($T:ty) => {{
                    let buf = output::<$T>("the buffer", inout, n)?;
                    let started: Box<dyn Started> = match op {
                        PHX_SUM => Box::new(Plain(scope.all_reduce(buf, op::Sum))),
                        PHX_PROD => Box::new(Plain(scope.all_reduce(buf, op::Prod))),
                        PHX_MIN => Box::new(Plain(scope.all_reduce(buf, op::Min))),
                        PHX_MAX => Box::new(Plain(scope.all_reduce(buf, op::Max))),
                        _ => {
                            return Err("a started all-reduce takes PHX_SUM, PHX_PROD, PHX_MIN \
                                         and PHX_MAX"
                                .into());
                        }
                    };
                    started
                }};
            }
            let started = match ty {
                PHX_F32 => of!(f32),
                PHX_F64 => of!(f64),
                PHX_I32 => of!(i32),
                PHX_I64 => of!(i64),
                PHX_U64 => of!(u64),
                _ => {
                    return Err(
                        "a started all-reduce takes PHX_F32, PHX_F64, PHX_I32, PHX_I64 and \
                                PHX_U64"
                            .into(),
                    );
                }
            };
            keep(state, None, started, request);
            Ok(())
        })
    }
}

/// Starts an all-gather of `n` elements of each rank.
///
/// # Safety
/// `mine` has `n` elements of `ty`, `all` has `n` for each rank; they do not overlap, and nobody
/// uses `all` until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_gather_at(
    scope: *mut phx_requests,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    ty: phx_type,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            let ty = Type::of(ty)?;
            let ranks = scope.comm().size();
            let total = n.checked_mul(ranks).ok_or("more elements than memory can hold")?;
            let (n, total) = (ty.count(n)?, ty.count(total)?);
            if mine == IN_PLACE {
                return Err("a started all-gather is not in place".into());
            }
            let started: Box<dyn Started> = with_type!(ty, T => {
                let mine = input::<T>("the input", mine, n)?;
                apart((mine.as_ptr().cast(), size_of_val(mine)), (all, total * size_of::<T>()))?;
                Box::new(Plain(scope.all_gather_into(mine, output::<T>("the output", all, total)?)))
            });
            keep(state, None, started, request);
            Ok(())
        })
    }
}

/// Starts a tagged send.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody changes until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_send_at(
    scope: *mut phx_requests,
    buf: *const c_void,
    n: usize,
    ty: phx_type,
    to: c_int,
    tag: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_send", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            let (ty, to, tag) = (Type::of(ty)?, rank_number("rank", to)?, given_tag(tag)?);
            let n = ty.count(n)?;
            let started: Box<dyn Started> = with_type!(ty, T => {
                Box::new(Plain(scope.send_tagged(input::<T>("the buffer", buf, n)?, to, tag)))
            });
            keep(state, None, started, request);
            Ok(())
        })
    }
}

/// Starts a tagged receive.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody uses until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_recv_at(
    scope: *mut phx_requests,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    source: c_int,
    tag: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_recv", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            let (ty, source, tag) = (Type::of(ty)?, sender(source)?, tag_of(tag)?);
            let n = ty.count(n)?;
            let started: Box<dyn Started> = with_type!(ty, T => {
                let buf = output::<T>("the buffer", buf, n)?;
                Box::new(Received(scope.recv_tagged(buf, source, tag)))
            });
            keep(state, Some(ty), started, request);
            Ok(())
        })
    }
}

/// Waits until a started call is complete. Of a receive, `status` says what has come.
///
/// # Safety
/// `status` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_wait_at(
    scope: *mut phx_requests,
    request: phx_request,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_wait", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            let at = place(state, request)?;
            let (_, ty, started) = state.started.swap_remove(at);
            if let Some(it) = started.wait(scope) {
                tell(status, it, ty);
            }
            Ok(())
        })
    }
}

/// Whether a started call is complete: `complete` is 1 or 0. It is still to be waited for.
///
/// # Safety
/// `complete` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_test_at(
    scope: *mut phx_requests,
    request: phx_request,
    complete: *mut c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_test", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state| {
            let at = place(state, request)?;
            let is_complete = state.started[at].2.is_complete(scope);
            if !complete.is_null() {
                *complete = c_int::from(is_complete);
            }
            Ok(())
        })
    }
}

fn place(state: &State, request: phx_request) -> Result<usize, String> {
    let place = state.started.iter().position(|(number, ..)| *number == request);
    place.ok_or_else(|| format!("{request} is no request of this scope, or was waited for"))
}

/// The scope's communicator, for calls that wait: a handle of its own, until the scope ends. (That
/// with which the scope was begun is in use by it.) Null for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_requests_comm(scope: *mut phx_requests) -> *mut phx_comm {
    let Ok(seat) = find(scope) else { return std::ptr::null_mut() };
    // SAFETY: of this thread alone, which leaves it before anything else enters it.
    match unsafe { &mut *seat.state.get() } {
        Some(state) => {
            if state.comm.is_null() {
                // SAFETY: as in `within`.
                state.comm = lend(unsafe { &mut *state.scope }.comm());
            }
            state.comm
        }
        None => {
            fail(PHX_ERR_BUSY, "the scope is in a call");
            std::ptr::null_mut()
        }
    }
}
