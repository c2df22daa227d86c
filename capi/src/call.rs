//! A rank's handle on a communicator, and what every function on one does: look the handle up, note
//! the caller's line, catch what is thrown, keep the first cause's text.

use crate::arguments::text;
use crate::error::{Answer, code, fail};
use crate::handle::{Table, Unused};
use crate::names::*;
use phalanx::Comm;
use phalanx::engine::{self, ForeignCall};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What is freed with a rank's first communicator, and how: parts that were split off, plans and
/// windows.
type Children = Vec<(u64, fn(u64))>;

/// What the communicators of a rank have in common, in a run.
#[derive(Default)]
pub(crate) struct Rank {
    /// The handle of the first of them.
    first: AtomicU64,
    children: std::sync::Mutex<Children>,
}

impl Rank {
    fn children(&self) -> std::sync::MutexGuard<'_, Children> {
        self.children.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The seats of all of them.
    fn seats(&self) -> Vec<&'static Seat> {
        let children: Vec<u64> = self.children().iter().map(|&(handle, _)| handle).collect();
        let handles = std::iter::once(self.first.load(Relaxed)).chain(children);
        handles.filter_map(|handle| COMMS.find(handle)).collect()
    }
}

/// Lines of the program that call from here, so that each is looked up once: the file, the line,
/// and what else tells one from another.
#[derive(Clone, Copy)]
struct Lines<K, V, const N: usize>([(*const c_char, c_int, K, V); N]);

impl<K: Copy + PartialEq, V: Copy, const N: usize> Lines<K, V, N> {
    /// Of no file that there is, and no line.
    const fn new(key: K, value: V) -> Self {
        Lines([(std::ptr::dangling(), c_int::MIN, key, value); N])
    }

    #[inline(always)]
    fn find(&mut self, (file, line, key): (*const c_char, c_int, K), new: impl FnOnce() -> V) -> V {
        let known = &self.0[line as usize % N];
        if known.1 == line && known.0 == file && known.2 == key {
            return known.3;
        }
        self.keep((file, line, key), new)
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, (file, line, key): (*const c_char, c_int, K), new: impl FnOnce() -> V) -> V {
        let known = &mut self.0[line as usize % N];
        *known = (file, line, key, new());
        known.3
    }
}

/// A function that solvers call all the time, on few bytes.
#[derive(Clone, Copy)]
pub(crate) enum Quick {
    Barrier,
    Broadcast,
    AllReduce,
    AllGather,
}

impl Quick {
    /// Its name.
    pub(crate) const fn function(self) -> &'static str {
        match self {
            Quick::Barrier => "phx_barrier",
            Quick::Broadcast => "phx_broadcast",
            Quick::AllReduce => "phx_all_reduce",
            Quick::AllGather => "phx_all_gather",
        }
    }
}

/// None for the run's, which is lent to the rank's closure.
type Hold = Option<Box<Comm>>;

struct State {
    /// Of `hold`.
    comm: *mut Comm,
    /// By the address of the function's name.
    lines: Lines<*const u8, &'static ForeignCall, 16>,
    /// Each function has its own, so that only the line is compared.
    quick: [Lines<(), &'static Location<'static>, 8>; 4],
    rank: Arc<Rank>,
    hold: Hold,
}

/// The object of a handle.
pub(crate) struct Seat {
    /// The thread that may begin a call now, or why there is none: [`BUSY`], [`OVER`], or 0, if no
    /// thread has used it yet. One comparison says that all is well.
    open_to: AtomicUsize,
    /// The thread that it belongs to; 0 for none yet.
    thread: AtomicUsize,
    /// There while the handle is anybody's.
    state: UnsafeCell<Option<State>>,
}

/// In [`Seat::open_to`]: the communicator is in a call. (No thread has a number so small.)
const BUSY: usize = 1;
/// There: a call of the rank has failed, and its run is over.
const OVER: usize = 2;

// SAFETY: `state` is used by the thread that `thread` names only, by one that takes the handle
// after it, or by the one that makes or frees the handle, while nobody else has it.
unsafe impl Sync for Seat {}

impl Unused for Seat {
    const UNUSED: Seat = Seat {
        open_to: AtomicUsize::new(0),
        thread: AtomicUsize::new(0),
        state: UnsafeCell::new(None),
    };
}

pub(crate) static COMMS: Table<Seat> = Table::new(1);

/// A number of the calling thread, which no other has meanwhile.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    engine::this_thread()
}

/// A handle on `comm`, which the calling thread lends to what it calls; null if there are too many.
pub(crate) fn lend(comm: &mut Comm) -> *mut phx_comm {
    make((comm, None), Arc::default(), this_thread()).unwrap_or(std::ptr::null_mut())
}

/// A handle on a communicator of a thread of the user's own, which is not known yet; null if there
/// are too many.
pub(crate) fn own(mut comm: Comm) -> *mut phx_comm {
    // SAFETY: so programs in C promise (`phx_external`).
    unsafe { engine::take_turns(&mut comm) };
    make(held(comm), Arc::default(), 0).unwrap_or(std::ptr::null_mut())
}

fn held(comm: Comm) -> (*mut Comm, Hold) {
    let mut comm = Box::new(comm);
    (&raw mut *comm, Some(comm))
}

fn make(
    (comm, hold): (*mut Comm, Hold),
    rank: Arc<Rank>,
    thread: usize,
) -> Result<*mut phx_comm, phx_err> {
    let (handle, seat) = COMMS.reserve()?;
    if rank.first.load(Relaxed) == 0 {
        rank.first.store(handle, Relaxed);
    }
    seat.thread.store(thread, Relaxed);
    seat.open_to.store(thread, Relaxed);
    // SAFETY: the handle is nobody's yet.
    unsafe {
        *seat.state.get() = Some(State {
            comm,
            lines: Lines::new(std::ptr::null(), &ForeignCall { function: "", file: "", line: 0 }),
            quick: [Lines::new((), Location::caller()); 4],
            rank,
            hold,
        })
    };
    COMMS.publish(handle);
    Ok(handle as usize as *mut phx_comm)
}

/// Frees a handle and the communicators that were split off, the latest first.
pub(crate) fn free(comm: *mut phx_comm) {
    let handle = comm as usize as u64;
    let Some(seat) = COMMS.find(handle) else { return };
    // Before the place is free, where 0 finds it (`find_first`).
    seat.open_to.store(0, Relaxed);
    if !COMMS.retire(handle) {
        return;
    }
    // SAFETY: the handle is nobody's any more, and its thread is this one (the callers have
    // looked).
    let state = unsafe { (*seat.state.get()).take() };
    if let Some(State { hold, rank, .. }) = state {
        if rank.first.load(Relaxed) == handle {
            free_children(&rank);
        }
        rank.children().retain(|it| it.0 != handle);
        // What it throws has ended the run, and that says it.
        drop(catch_unwind(AssertUnwindSafe(|| drop(hold))));
    }
    seat.thread.store(0, Relaxed);
    COMMS.recycle(handle);
}

fn free_children(rank: &Rank) {
    loop {
        // (Its list is open to those that it frees.)
        let Some((child, free)) = rank.children().pop() else { return };
        free(child);
    }
}

/// The seat behind a handle of the calling thread's.
fn enter(comm: *const phx_comm) -> Result<&'static Seat, phx_err> {
    let thread = this_thread();
    let Some(seat) = COMMS.find(comm as usize as u64) else { return Err(no_handle(comm)) };
    if seat.thread.load(Relaxed) != thread {
        take(seat, thread)?;
    }
    Ok(seat)
}

/// The calling thread uses the communicator from now on, after another or as the first.
#[cold]
#[inline(never)]
fn take(seat: &Seat, thread: usize) -> Result<(), phx_err> {
    let is_busy = |seat: &Seat| seat.open_to.load(Relaxed) == BUSY;
    if is_busy(seat) {
        return Err(other_thread());
    }
    // SAFETY: threads use a rank's handles one after the other, and the one before is in no call.
    let state = unsafe { seat.state() };
    if state.rank.seats().into_iter().any(is_busy) {
        return Err(other_thread());
    }
    // SAFETY: the rank's communicator, which lives until the handle is freed; and as above.
    if !unsafe { engine::take(&mut *state.comm) } {
        return Err(other_thread());
    }
    seat.thread.store(thread, Relaxed);
    if seat.open_to.load(Relaxed) != OVER {
        seat.open_to.store(thread, Relaxed);
    }
    Ok(())
}

/// Whether the calling thread may use an object of `comm`'s rank, which `thread` has used last.
#[inline(always)]
pub(crate) fn may_use(thread: &AtomicUsize, comm: impl FnOnce() -> Option<usize>) -> bool {
    thread.load(Relaxed) == this_thread() || may_take(thread, comm())
}

#[cold]
#[inline(never)]
fn may_take(thread: &AtomicUsize, comm: Option<usize>) -> bool {
    let is_taken = comm.is_some_and(|comm| enter(comm as *const phx_comm).is_ok());
    if is_taken {
        thread.store(this_thread(), Relaxed);
    }
    is_taken
}

/// The seat behind a handle that a call begins with and that is not open to it; or the error.
#[cold]
#[inline(never)]
fn enter_or_refuse(comm: *const phx_comm) -> Result<&'static Seat, phx_err> {
    let seat = enter(comm)?;
    match seat.open_to.load(Relaxed) {
        BUSY => Err(refused(true)),
        OVER => Err(refused(false)),
        _ => Ok(seat),
    }
}

impl Seat {
    /// # Safety
    /// Of a handle of this thread's, which is not freed as long as the reference is used; no caller
    /// keeps it while user code may run.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn state(&self) -> &mut State {
        // SAFETY: by the contract; it is there as long as the handle.
        unsafe { (*self.state.get()).as_mut().unwrap_unchecked() }
    }
}

#[cold]
fn no_handle(comm: *const phx_comm) -> phx_err {
    let what = match comm.is_null() {
        true => "the communicator is null",
        false => "no such communicator: it was freed, its run is over, or it never was one",
    };
    fail(PHX_ERR_HANDLE, what)
}

#[cold]
fn other_thread() -> phx_err {
    let what = "another thread is in a call of the rank, or the communicator is another rank's, or \
                the rank has split off others in its run: those stay on its own thread";
    fail(PHX_ERR_THREAD, what)
}

/// The call of `function` in this line.
///
/// # Safety
/// `file` is null or a string.
pub(crate) unsafe fn line_of(
    function: &'static str,
    file: *const c_char,
    line: c_int,
) -> &'static ForeignCall {
    // SAFETY: passed on.
    let name = unsafe { text(file) };
    ForeignCall::kept(function, &name, u32::try_from(line).unwrap_or(0))
}

/// What a function on a communicator is called from.
#[derive(Clone, Copy)]
pub(crate) struct From {
    pub(crate) function: &'static str,
    pub(crate) file: *const c_char,
    pub(crate) line: c_int,
}

/// Does what a function on a communicator does: `body` with the communicator of `handle`, whose
/// `Err` is a wrong argument, and ends the run.
///
/// # Safety
/// The file is null or a string. `body` leaves the communicator in its place.
#[inline(always)]
pub(crate) unsafe fn call(
    handle: *mut phx_comm,
    from: From,
    body: impl FnOnce(&mut Comm) -> Result<(), String>,
) -> phx_err {
    let seat = match COMMS.find(handle as usize as u64) {
        Some(seat) if seat.open_to.load(Relaxed) == this_thread() => seat,
        _ => match enter_or_refuse(handle) {
            Ok(seat) => seat,
            Err(code) => return code,
        },
    };
    // SAFETY: of this thread's, which has it open.
    let state = unsafe { seat.state() };
    let From { function, file, line } = from;
    // SAFETY: passed on.
    let new = || unsafe { line_of(function, file, line) };
    let line = state.lines.find((file, line, function.as_ptr()), new);
    let comm = state.comm;
    seat.open_to.store(BUSY, Relaxed);
    // SAFETY: the rank's communicator, which lives until the handle is freed; only this thread has
    // it, and not twice (`BUSY`). `body` leaves it in its place.
    let result = unsafe {
        engine::attempt(&mut *comm, Some(line), |comm| match body(comm) {
            Ok(()) => {}
            Err(what) => engine::refuse(comm, what),
        })
    };
    match result {
        // A function of the user's that the body has called may have failed elsewhere.
        Ok(()) if seat.open_to.load(Relaxed) == BUSY => {
            seat.open_to.store(this_thread(), Relaxed);
            PHX_OK
        }
        Ok(()) => PHX_OK,
        Err(payload) => failed(seat, payload),
    }
}

/// [`call`] for a function that gives something, which goes to `place` in the end.
///
/// # Safety
/// As there.
pub(crate) unsafe fn call_for<T, H>(
    handle: *mut phx_comm,
    from: From,
    place: *mut H,
    f: impl FnOnce(&mut Comm) -> Result<T, String>,
) -> Result<T, phx_err> {
    let mut made = None;
    let body = |comm: &mut Comm| {
        if place.is_null() {
            return Err("the place of the result is null".into());
        }
        made = Some(f(comm)?);
        Ok(())
    };
    // SAFETY: passed on.
    let code = unsafe { call(handle, from, body) };
    made.filter(|_| code == PHX_OK).ok_or(code)
}

/// [`call`] for a function that is called all the time: `is_usual` looks at the arguments, by what
/// `ranks` has asked the communicator, and `body` makes one call, which has the location that it is
/// given. Where anything is odd about the handle
/// or the arguments, nothing is done but `odd`, which is to do it by `call`: that says what.
///
/// # Safety
/// The file is null or a string. `body` leaves the communicator in its place.
#[inline(always)]
pub(crate) unsafe fn quick_call(
    handle: *mut phx_comm,
    function: Quick,
    (file, line): (*const c_char, c_int),
    ranks: impl FnOnce(&Comm) -> usize,
    is_usual: impl FnOnce(usize) -> bool,
    body: impl FnOnce(&mut Comm, usize, &'static Location<'static>),
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let (seat, is_it) = COMMS.find_first(handle as usize as u64);
    // A place that is free is open to no thread.
    if !is_it || seat.open_to.load(Relaxed) != this_thread() {
        return odd();
    }
    // SAFETY: of this thread's, which has it open.
    let state = unsafe { seat.state() };
    let comm = state.comm;
    // SAFETY: as in `call`; nothing of the program's is called.
    let ranks = ranks(unsafe { &*comm });
    if !is_usual(ranks) {
        return odd();
    }
    // SAFETY: passed on.
    let new = move || unsafe { line_of(function.function(), file, line) }.location();
    let at = state.quick[function as usize].find((file, line, ()), new);
    seat.open_to.store(BUSY, Relaxed);
    // SAFETY: as in `call`.
    match unsafe { engine::attempt(&mut *comm, None, |comm| body(comm, ranks, at)) } {
        Ok(()) => {
            // A started call may have gone on meanwhile, whose operator has failed elsewhere.
            if seat.open_to.load(Relaxed) == BUSY {
                seat.open_to.store(this_thread(), Relaxed);
            }
            PHX_OK
        }
        Err(payload) => failed(seat, payload),
    }
}

/// A call has thrown `payload`: the run is over for the rank.
#[cold]
#[inline(never)]
fn failed(seat: &Seat, payload: Box<dyn Any + Send>) -> phx_err {
    // SAFETY: of this thread's; the handle cannot have been freed, as it was busy.
    let state = unsafe { seat.state() };
    for seat in state.rank.seats() {
        seat.open_to.store(OVER, Relaxed);
    }
    // SAFETY: as in `call`.
    let (code, text) = unsafe { engine::first_cause(&mut *state.comm, payload, code) };
    // What the rank has started is its own again, too.
    crate::requests::quiesce_failed();
    fail(code.unwrap_or(PHX_ERR_DEAD), text)
}

#[cold]
fn refused(is_busy: bool) -> phx_err {
    match is_busy {
        true => fail(PHX_ERR_BUSY, "the communicator is in a call, whose function has called this"),
        false => fail(PHX_ERR_DEAD, "a call of this rank has failed before: its run is over"),
    }
}

/// Something of the communicator that no call is needed for.
pub(crate) fn look<R>(handle: *const phx_comm, f: impl FnOnce(&Comm) -> R) -> Result<R, phx_err> {
    // SAFETY: of this thread's, and `f` calls nothing of the user's.
    let comm = unsafe { enter(handle)?.state() }.comm;
    // SAFETY: as in `call`; a call that is under way further out does not use it meanwhile.
    Ok(f(unsafe { &*comm }))
}

/// The rank's, of a handle of this thread's.
fn rank_of(comm: *mut phx_comm) -> Result<Arc<Rank>, phx_err> {
    // SAFETY: of this thread's.
    Ok(unsafe { enter(comm)?.state() }.rank.clone())
}

/// Keeps a communicator that was split off `parent`.
pub(crate) fn adopt(parent: *mut phx_comm, child: Comm) -> Result<*mut phx_comm, phx_err> {
    let rank = rank_of(parent)?;
    let handle = make(held(child), rank.clone(), this_thread())?;
    rank.children().push((handle as usize as u64, |it| free(it as usize as *mut phx_comm)));
    Ok(handle)
}

/// Frees an object with the communicators of its rank.
pub(crate) fn adopt_object(comm: *mut phx_comm, object: u64, free: fn(u64)) -> Answer {
    rank_of(comm)?.children().push((object, free));
    Ok(())
}

pub(crate) fn comm_free(comm: *mut phx_comm) -> Answer {
    let seat = enter(comm)?;
    // SAFETY: of this thread's.
    let State { rank, hold, .. } = unsafe { seat.state() };
    let is_busy = |seat: &Seat| seat.open_to.load(Relaxed) == BUSY;
    // Also one that was split off, whose function has called this.
    let mut children = rank.children().clone().into_iter().filter_map(|it| COMMS.find(it.0));
    if is_busy(seat) || children.any(is_busy) {
        return Err(refused(true));
    }
    if hold.is_none() {
        let what = "phx_comm_free: the run's own communicator is freed by the run";
        return Err(fail(PHX_ERR_ARGUMENT, what));
    }
    free(comm);
    Ok(())
}

pub(crate) fn rank(comm: *const phx_comm) -> c_int {
    look(comm, |comm| comm.rank() as c_int).unwrap_or(-1)
}

pub(crate) fn size(comm: *const phx_comm) -> c_int {
    look(comm, |comm| comm.size() as c_int).unwrap_or(-1)
}
