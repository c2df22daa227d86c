//! Requests: calls that are started, and waited for later, in a scope; and calls that are set up
//! once, and started many times.

use crate::call::{
    From, IN_PLACE, call, free, input, lend, line_of, output, phx_comm, rank_number, this_thread,
};
use crate::collective::{counts_of, of_all, one_buffer, sum, two_buffers};
use crate::error::{PHX_ERR_BUSY, PHX_ERR_DEAD, PHX_ERR_HANDLE, PHX_OK, fail, phx_err};
use crate::handle::{Table, Unused};
use crate::message::{given_tag, phx_status, sender, tag_of, tell};
use crate::types::{Type, phx_op, phx_type, prepared_combining, with_type};
use phalanx::raw::{self, MemoryCall, MemoryCut, Operation, PreparedCall, ReductionMemory};
use phalanx::{OpenRequest, Persistent, Requests, Status};
use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A scope in which calls are started. Only pointers to it are used, and they are no addresses.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct phx_requests {
    _nothing: [u8; 0],
}

/// A call that was started, or set up: a number, 0 for none.
#[allow(non_camel_case_types)]
pub type phx_request = u64;

/// What starts calls, and waits for them.
#[allow(non_camel_case_types)]
pub type phx_scope_fn =
    Option<unsafe extern "C-unwind" fn(scope: *mut phx_requests, argument: *mut c_void)>;

type Scope = Requests<'static, 'static>;

/// The line of a call, for what is started there: errors may name it long after.
type At = &'static Location<'static>;

/// A started call of any sort.
trait Started {
    /// Completes it. Returns what was set up, to be started again.
    fn wait(self: Box<Self>, scope: &mut Scope) -> (Option<Status>, Option<Box<dyn Restart>>);
    fn is_complete(&mut self, scope: &mut Scope) -> bool;
    /// For [`raw::wait_any`].
    fn place(&self) -> Option<usize>;
}

/// A call that was set up.
trait Restart {
    fn start(self: Box<Self>, scope: &mut Scope) -> Box<dyn Started>;
}

/// What a request gives, for C: of a receive what has come, and of what was set up this.
trait Given {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>);
}

impl Given for () {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>) {
        (None, None)
    }
}

impl<T> Given for &'static [T] {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>) {
        (None, None)
    }
}

impl<T> Given for &'static mut [T] {
    fn given(self) -> (Option<Status>, Option<Box<dyn Restart>>) {
        (None, None)
    }
}

impl<B> Given for (B, Status) {
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
        raw::place_of(self)
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

struct State {
    scope: *mut Scope,
    requests: Vec<Request>,
    next: phx_request,
    /// The handle for calls that wait, or null.
    comm: *mut phx_comm,
    /// What a call of the scope has thrown, for the scope's end.
    thrown: Option<Box<dyn Any + Send>>,
}

/// The object of a handle.
struct Seat {
    thread: AtomicUsize,
    state: UnsafeCell<Option<State>>,
}

// SAFETY: `state` is used by the thread that `thread` names only, or by the one that makes or
// retires the handle.
unsafe impl Sync for Seat {}

impl Unused for Seat {
    const UNUSED: Seat = Seat { thread: AtomicUsize::new(0), state: UnsafeCell::new(None) };
}

static SCOPES: Table<Seat> = Table::new(5);

thread_local! {
    /// The handles of the scopes that the thread is in.
    static OPEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn find(scope: *mut phx_requests) -> Result<&'static Seat, phx_err> {
    let seat = SCOPES.find(scope as usize as u64);
    let own = seat.filter(|seat| seat.thread.load(Relaxed) == this_thread());
    own.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such scope: it is null, over, or another thread's"))
}

/// A call of this thread's has failed: of the scopes whose run is over, no other rank reaches the
/// memory of what was started when this returns. The program goes on, and may free it.
#[cold]
pub(crate) fn quiesce_failed() {
    let open = OPEN.try_with(|open| open.borrow().clone()).unwrap_or_default();
    for seat in open.into_iter().filter_map(|handle| SCOPES.find(handle)) {
        // None: a call of the scope is under way further out, and comes here itself.
        // SAFETY: of this thread alone.
        let state = unsafe { &*seat.state.get() }.as_ref();
        if let Some(state) = state.filter(|state| state.thrown.is_none()) {
            // SAFETY: as in `within`.
            raw::quiesce(unsafe { &*state.scope }, true);
        }
    }
}

/// Runs `f` with a scope, in which calls on the communicator are started and waited for; what it
/// has not waited for is complete when this returns. Buffers of started calls are not touched
/// before; after a failed call no other rank reaches them.
///
/// # Safety
/// `f` may be called with `argument`; buffers of the calls that it starts are valid until they were
/// waited for, or this has returned, or a call has failed; `file` is null or a string that stays.
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
            // Scopes that are open at once are on the stack: never so many.
            let (handle, seat) = SCOPES.reserve().expect("a place");
            seat.thread.store(this_thread(), Relaxed);
            let (comm, requests, thrown) = (std::ptr::null_mut(), Vec::new(), None);
            let state = State { scope: scope.cast(), requests, next: 1, comm, thrown };
            // SAFETY: the handle is nobody's yet.
            unsafe { *seat.state.get() = Some(state) };
            SCOPES.publish(handle);
            let _: Result<(), _> = OPEN.try_with(|open| open.borrow_mut().push(handle));
            // SAFETY: by the contract. (Nothing is thrown out of it.)
            unsafe { f(handle as usize as *mut phx_requests, argument) };
            let _: Result<_, _> = OPEN.try_with(|open| open.borrow_mut().pop());
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
    body: impl FnOnce(&mut Scope, &mut State, At) -> Result<(), String>,
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
    let call = unsafe { line_of(from.function, from.file, from.line) };
    let (note, at) = (raw::note(open.comm(), call), raw::location_of(call));
    let result = catch_unwind(AssertUnwindSafe(|| {
        if let Err(what) = body(open, &mut state, at) {
            raw::refuse(open.comm(), what);
        }
    }));
    drop(note);
    let failed = result.is_err();
    if let Err(payload) = result {
        // The memory of all that was started is the program's again: it may return now.
        raw::quiesce(open, false);
        state.thrown = Some(payload);
    }
    // SAFETY: as above.
    unsafe { *seat.state.get() = Some(state) };
    if !failed {
        return PHX_OK;
    }
    quiesce_failed();
    fail(PHX_ERR_DEAD, "a call of this scope has failed; phx_requests says why")
}

impl State {
    /// Keeps a call, and tells its number.
    ///
    /// # Safety
    /// `request` is null or valid.
    unsafe fn keep(&mut self, ty: Option<Type>, work: Work, request: *mut phx_request) {
        let number = self.next;
        self.next += 1;
        self.requests.push(Request { number, ty, work });
        if !request.is_null() {
            // SAFETY: by the contract.
            unsafe { *request = number };
        }
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
            unsafe { tell(status, it, ty) };
        }
        if let Some(idle) = again {
            self.requests.push(Request { number, ty, work: Work::Idle(idle) });
        }
    }
}

/// Starts a collective, or sets it up.
///
/// # Safety
/// As [`raw::start`]; `request` is null or valid.
unsafe fn launch(
    (scope, state): (&mut Scope, &mut State),
    call: PreparedCall,
    (persistent, request): (c_int, *mut phx_request),
    at: At,
) {
    // SAFETY: passed on.
    unsafe {
        let work = match persistent {
            0 => Work::Started(Box::new(raw::start(scope, call, at))),
            _ => Work::Idle(Box::new(raw::set_up(scope, call, at))),
        };
        state.keep(None, work, request);
    }
}

/// A call that moves elements of a type.
fn moving(
    ty: Type,
    operation: Operation,
    cut: MemoryCut,
    parameter: usize,
    memory: ReductionMemory,
) -> PreparedCall {
    let call = MemoryCall { operation, cut, parameter, memory };
    with_type!(ty, T => PreparedCall::moving::<T>(call))
}

/// Starts a barrier; if `persistent`, sets it up.
///
/// # Safety
/// `request` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_barrier_at(
    scope: *mut phx_requests,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_barrier", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let work = match persistent {
                0 => Work::Started(Box::new(scope.barrier())),
                _ => Work::Idle(Box::new(scope.persistent_barrier())),
            };
            state.keep(None, work, request);
            Ok(())
        })
    }
}

/// Starts a broadcast; if `persistent`, sets it up.
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
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_broadcast", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let n = ty.count(n)?;
            let (memory, cut) = (one_buffer(ty, buf, n)?, MemoryCut::Vector(n));
            let call = moving(ty, Operation::Broadcast, cut, root, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a shift; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_shift_at(
    scope: *mut phx_requests,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    by: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_shift", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            let n = ty.count(n)?;
            let by = (by as isize).rem_euclid(scope.comm().size() as isize) as usize;
            let (memory, cut) = (one_buffer(ty, buf, n)?, MemoryCut::Vector(n));
            let call = moving(ty, Operation::Shift, cut, by, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// # Safety
/// As [`phx_start_broadcast_at`].
unsafe fn combine_in_place(
    scope: *mut phx_requests,
    from: From,
    (operation, root): (Operation, c_int),
    (inout, n): (*mut c_void, usize),
    (ty, op): (phx_type, phx_op),
    request: (c_int, *mut phx_request),
) -> phx_err {
    // SAFETY: passed on.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, parameter) = (Type::of(ty)?, rank_number("root", root)?);
            ty.count(n)?;
            let (memory, cut) = (one_buffer(ty, inout, n)?, MemoryCut::Vector(n));
            let call = MemoryCall { operation, cut, parameter, memory };
            launch((scope, state), prepared_combining(call, ty, op)?, request, at);
            Ok(())
        })
    }
}

/// Starts a reduction to `root`; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_reduce_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_reduce", file, line };
    let (what, request) = ((Operation::Reduce, root), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts an all-reduce; if `persistent`, sets it up.
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
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_reduce", file, line };
    let (what, request) = ((Operation::AllReduce, 0), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts a scan; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_scan_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_scan", file, line };
    let (what, request) = ((Operation::Scan, 0), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts an exclusive scan; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_exclusive_scan_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_exclusive_scan", file, line };
    let (what, request) = ((Operation::ExclusiveScan, 0), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts a reduce-scatter of `n` elements for each rank, or, if `counts` is not null, of
/// `counts[r]` for rank r; if `persistent`, sets it up.
///
/// # Safety
/// `all` has the elements of `ty` of all blocks, `mine` those of the own one; they do not overlap,
/// and nobody uses `mine` until the call was waited for. `counts` is null or has one for each rank,
/// and is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_reduce_scatter_at(
    scope: *mut phx_requests,
    all: *const c_void,
    mine: *mut c_void,
    n: usize,
    counts: *const usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_reduce_scatter", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            // An operator's elements are whole, also those of bytes.
            let size = if ty.is_bytes() { ty.size } else { 1 };
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let memory = two_buffers(ty, (all, total), (mine, own))?;
            let cut = match cut {
                MemoryCut::Equal(n) => MemoryCut::Equal(n / size),
                MemoryCut::Varied(counts) => {
                    MemoryCut::Varied(counts.into_iter().map(|n| n / size).collect())
                }
                other => other,
            };
            let operation = Operation::ReduceScatter;
            let call = MemoryCall { operation, cut, parameter: 0, memory };
            let call = prepared_combining(call, ty, op)?;
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// The own block, all, and how they are cut: in equal ones of `n`, or by counts, if they are not
/// null. In Rust elements.
///
/// # Safety
/// `counts` is null, or has one for each rank.
unsafe fn blocks(
    scope: &mut Scope,
    n: usize,
    counts: *const usize,
    ty: Type,
) -> Result<(usize, usize, MemoryCut), String> {
    let comm = scope.comm();
    if counts.is_null() {
        let (own, total) = (ty.count(n)?, of_all(comm, n, ty)?);
        return Ok((own, total, MemoryCut::Equal(own)));
    }
    // SAFETY: by the contract.
    let counts = unsafe { counts_of(comm, counts, ty)? };
    let (own, total) = (counts[comm.rank()], sum(&counts, ty)?);
    Ok((own, total, MemoryCut::Varied(counts)))
}

#[cold]
fn not_in_place() -> String {
    "a started call that moves blocks is not in place".into()
}

/// Starts an all-gather of `n` elements of each rank, or, if `counts` is not null, of `counts[r]`
/// of rank r; if `persistent`, sets it up.
///
/// # Safety
/// `mine` has the own block's elements of `ty`, `all` those of all; they do not overlap, and nobody
/// uses `all` until the call was waited for. `counts` is null or has one for each rank, and is
/// copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_gather_at(
    scope: *mut phx_requests,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            if mine == IN_PLACE {
                return Err(not_in_place());
            }
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let memory = two_buffers(ty, (mine, own), (all, total))?;
            let call = moving(ty, Operation::AllGather, cut, 0, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a gather to `root`, of blocks as those of [`phx_start_all_gather_at`].
///
/// # Safety
/// As there; `all` is looked at on the root only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_gather_at(
    scope: *mut phx_requests,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let total = if scope.comm().rank() == root { total } else { 0 };
            let memory = two_buffers(ty, (mine, own), (all, total))?;
            let call = moving(ty, Operation::Gather, cut, root, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a scatter from `root`, of blocks as those of [`phx_start_all_gather_at`].
///
/// # Safety
/// As there; `all` is looked at on the root only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_scatter_at(
    scope: *mut phx_requests,
    all: *const c_void,
    mine: *mut c_void,
    n: usize,
    counts: *const usize,
    ty: phx_type,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_scatter", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let total = if scope.comm().rank() == root { total } else { 0 };
            let memory = two_buffers(ty, (all, total), (mine, own))?;
            let call = moving(ty, Operation::Scatter, cut, root, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts an all-to-all of blocks of `n` elements; if `persistent`, sets it up.
///
/// # Safety
/// Both have `n` elements of `ty` for each rank, do not overlap, and nobody uses `recv` until the
/// call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_to_all_at(
    scope: *mut phx_requests,
    send: *const c_void,
    recv: *mut c_void,
    n: usize,
    ty: phx_type,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_to_all", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            if send == IN_PLACE {
                return Err(not_in_place());
            }
            let (_, total, cut) = blocks(scope, n, std::ptr::null(), ty)?;
            let memory = two_buffers(ty, (send, total), (recv, total))?;
            let call = moving(ty, Operation::AllToAll, cut, 0, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts an all-to-all of blocks of different lengths; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_all_to_all_at`], with as many elements as the counts sum to; both lists have one
/// count for each rank, and are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_to_allv_at(
    scope: *mut phx_requests,
    send: *const c_void,
    send_counts: *const usize,
    recv: *mut c_void,
    recv_counts: *const usize,
    ty: phx_type,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_to_allv", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            let send_counts = counts_of(scope.comm(), send_counts, ty)?;
            let recv_counts = counts_of(scope.comm(), recv_counts, ty)?;
            let (sent, received) = (sum(&send_counts, ty)?, sum(&recv_counts, ty)?);
            let memory = two_buffers(ty, (send, sent), (recv, received))?;
            let cut = MemoryCut::Pairs(send_counts, recv_counts);
            let call = moving(ty, Operation::AllToAll, cut, 0, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a tagged send; if `persistent`, sets it up.
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
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_send", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, to, tag) = (Type::of(ty)?, rank_number("rank", to)?, given_tag(tag)?);
            let n = ty.count(n)?;
            let work = with_type!(ty, T => if persistent == 0 {
                let buf = input::<T>("the buffer", buf, n)?;
                Work::Started(Box::new(raw::send_tagged(scope, buf, (to, tag), at)))
            } else {
                // It is read only, when it is under way.
                let buf = output::<T>("the buffer", buf.cast_mut(), n)?;
                Work::Idle(Box::new(raw::persistent_send_tagged(scope, buf, (to, tag), at)))
            });
            state.keep(None, work, request);
            Ok(())
        })
    }
}

/// Starts a tagged receive; if `persistent`, sets it up.
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
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_recv", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, source, tag) = (Type::of(ty)?, sender(source)?, tag_of(tag)?);
            let n = ty.count(n)?;
            let work = with_type!(ty, T => {
                let buf = output::<T>("the buffer", buf, n)?;
                match persistent {
                    0 => Work::Started(Box::new(raw::recv_tagged(scope, buf, (source, tag), at))),
                    _ => {
                        let (from, call) = ((source, tag), raw::persistent_recv_tagged);
                        Work::Idle(Box::new(call(scope, buf, from, at)))
                    }
                }
            });
            state.keep(Some(ty), work, request);
            Ok(())
        })
    }
}

/// Starts a call that was set up, and is not under way.
///
/// # Safety
/// As where it was set up; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_at(
    scope: *mut phx_requests,
    request: phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let at = state.place(request)?;
            let Request { number, ty, work } = state.requests.swap_remove(at);
            let Work::Idle(idle) = work else {
                return Err(format!("request {request} is under way already"));
            };
            let work = Work::Started(idle.start(scope));
            state.requests.push(Request { number, ty, work });
            Ok(())
        })
    }
}

/// Waits until a started call is complete. Of a receive, `status` says what has come. One that was
/// set up may be started again; if it is not under way this returns at once.
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
        within(scope, from, |scope, state, _| {
            let at = state.place(request)?;
            state.complete(scope, at, status);
            Ok(())
        })
    }
}

/// Waits for `n` requests.
///
/// # Safety
/// `requests` has `n` numbers; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_wait_all_at(
    scope: *mut phx_requests,
    requests: *const phx_request,
    n: usize,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_wait_all", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let n = n.min(isize::MAX as usize / size_of::<phx_request>());
            for &request in input::<phx_request>("the list of requests", requests.cast(), n)? {
                let at = state.place(request)?;
                state.complete(scope, at, std::ptr::null_mut());
            }
            Ok(())
        })
    }
}

/// Waits until one of `n` requests is complete, completes it, and says which: its place in the
/// list, or `n` if none of them is under way (numbers that are 0 are passed over).
///
/// # Safety
/// `requests` has `n` numbers; `which` is valid, `status` is null or valid; `file` is null or a
/// string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_wait_any_at(
    scope: *mut phx_requests,
    requests: *const phx_request,
    n: usize,
    which: *mut usize,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_wait_any", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let n = n.min(isize::MAX as usize / size_of::<phx_request>());
            let requests = input::<phx_request>("the list of requests", requests.cast(), n)?;
            let which = output::<usize>("the place of the result", which.cast(), 1)?;
            // Of each that is under way: its place in the list, in the state, and in the scope.
            let mut open = Vec::with_capacity(n);
            for (i, &request) in requests.iter().enumerate().filter(|&(_, &it)| it != 0) {
                let at = state.place(request)?;
                if let Work::Started(started) = &state.requests[at].work {
                    open.push((i, at, started.place()));
                }
            }
            which[0] = n;
            if open.is_empty() {
                return Ok(());
            }
            let first = raw::wait_any(scope, open.iter().map(|&(.., place)| place));
            let (i, at, _) = open[first];
            which[0] = i;
            state.complete(scope, at, status);
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
        within(scope, from, |scope, state, _| {
            let at = state.place(request)?;
            let is_complete = match &mut state.requests[at].work {
                Work::Started(started) => started.is_complete(scope),
                Work::Idle(_) => true,
            };
            if !complete.is_null() {
                *complete = c_int::from(is_complete);
            }
            Ok(())
        })
    }
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
