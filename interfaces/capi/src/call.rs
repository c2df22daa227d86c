//! A rank's handle on a communicator, and the steps of every function on one: look the handle up,
//! note the caller's line, catch panics, keep the first cause's text.

use crate::arguments::{self, text};
use crate::error::{Answer, answer, code, fail};
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

/// The objects that are freed with a rank's first communicator, and how: parts that were split off;
/// grids, plans and windows, of which the second number is their communicator's handle.
type Children = Vec<(u64, u64, fn(u64))>;

/// The state that the communicators of a rank share, in a run.
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
        let children: Vec<u64> = self.children().iter().map(|child| child.0).collect();
        let handles = std::iter::once(self.first.load(Relaxed)).chain(children);
        handles.filter_map(|handle| COMMS.find(handle)).collect()
    }
}

/// A line, as a call notes it.
type Line = (&'static ForeignCall, &'static Location<'static>);

/// Lines of the program that call from here, so that each is looked up once: the file, the line,
/// and the other facts that tell one from another.
#[derive(Clone, Copy)]
struct Lines<K, const N: usize>([(*const c_char, c_int, K, Line); N]);

impl<K: Copy + PartialEq, const N: usize> Lines<K, N> {
    /// Of no file that there is, and no line.
    fn new(key: K) -> Self {
        let none = &ForeignCall { function: "", file: "", line: 0 };
        Lines([(std::ptr::dangling(), c_int::MIN, key, (none, Location::caller())); N])
    }

    /// # Safety
    /// The file is null or a string.
    #[inline(always)]
    unsafe fn find(&mut self, from: From, key: K) -> Line {
        let known = &self.0[from.line as usize % N];
        if known.1 == from.line && known.0 == from.file && known.2 == key {
            return known.3;
        }
        // SAFETY: passed on.
        unsafe { self.keep(from.function, (from.file, from.line), key) }
    }

    /// (All in registers: nothing is stored before it is known that the line is new.)
    ///
    /// # Safety
    /// As [`find`](Lines::find).
    #[cold]
    #[inline(never)]
    unsafe fn keep(&mut self, name: &'static str, at: (*const c_char, c_int), key: K) -> Line {
        let (file, line) = at;
        // SAFETY: passed on.
        let call = unsafe { line_of(name, file, line) };
        self.0[line as usize % N] = (file, line, key, (call, call.location()));
        (call, call.location())
    }
}

type MadeHandle = Result<*mut phx_comm, phx_err>;

/// None for the run's, which is lent to the rank's closure.
type Hold = Option<Box<Comm>>;

struct State {
    /// Of `hold`.
    comm: *mut Comm,
    /// By the address of the function's name.
    lines: Lines<*const u8, 16>,
    /// Each quick function has its own, so that only the line is compared.
    quick: [Lines<(), 8>; 4],
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

/// A handle on `comm`, which the calling thread lends to a function; null if there are too many.
pub(crate) fn lend(comm: &mut Comm) -> *mut phx_comm {
    seat_of((comm, None), Arc::default(), this_thread()).unwrap_or(std::ptr::null_mut())
}

/// A handle on a communicator of a thread of the user's own, which is not known yet; null if there
/// are too many.
pub(crate) fn own(mut comm: Comm) -> *mut phx_comm {
    // SAFETY: so programs in C promise (`phx_external`).
    unsafe { engine::take_turns(&mut comm) };
    seat_of(held(comm), Arc::default(), 0).unwrap_or(std::ptr::null_mut())
}

fn held(comm: Comm) -> (*mut Comm, Hold) {
    let mut comm = Box::new(comm);
    (&raw mut *comm, Some(comm))
}

fn seat_of((comm, hold): (*mut Comm, Hold), rank: Arc<Rank>, thread: usize) -> MadeHandle {
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
            lines: Lines::new(std::ptr::null()),
            quick: [Lines::new(()); 4],
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
        let is_first = rank.first.load(Relaxed) == handle;
        free_children(&rank, |comm| is_first || comm == handle);
        rank.children().retain(|it| it.0 != handle);
        // Its panic has ended the run, and that says it.
        drop(catch_unwind(AssertUnwindSafe(|| drop(hold))));
    }
    seat.thread.store(0, Relaxed);
    COMMS.recycle(handle);
}

/// The latest first.
fn free_children(rank: &Rank, is_one: impl Fn(u64) -> bool) {
    loop {
        let mut children = rank.children();
        let Some(at) = children.iter().rposition(|child| is_one(child.1)) else { return };
        let (child, _, free) = children.remove(at);
        // (Its list is open to those that it frees.)
        drop(children);
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

/// The place from which a function on a communicator is called.
#[derive(Clone, Copy)]
pub(crate) struct From {
    pub(crate) function: &'static str,
    pub(crate) file: *const c_char,
    pub(crate) line: c_int,
}

/// Runs a function on a communicator: `body` with the communicator of `handle`; its
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
    // SAFETY: passed on.
    let (line, _) = unsafe { state.lines.find(from, from.function.as_ptr()) };
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
        Ok(()) => passed(seat),
        Err(payload) => failed(seat, payload),
    }
}

/// [`call`] for a function that makes something, which `keep` keeps beside the communicator; its
/// handle goes to `place` in the end.
///
/// # Safety
/// As there; `place` is null or valid.
pub(crate) unsafe fn make<T, H>(
    comm: *mut phx_comm,
    from: From,
    place: *mut *mut H,
    keep: impl FnOnce(*mut phx_comm, T) -> Result<*mut H, phx_err>,
    body: impl FnOnce(&mut Comm) -> Result<T, String>,
) -> Answer {
    let mut made = None;
    let body = |comm: &mut Comm| {
        arguments::place(place)?;
        made = Some(body(comm)?);
        Ok(())
    };
    // SAFETY: passed on.
    answer(unsafe { call(comm, from, body) })?;
    let handle = keep(comm, made.ok_or(PHX_ERR_OTHER)?)?;
    // SAFETY: by the contract; it was looked at.
    unsafe { *place = handle };
    Ok(())
}

/// [`call`] for a function that is called all the time, number `QUICK` of those: `is_usual` looks
/// at the arguments, by the answers of the communicator in `ranks`, and `body` makes one call,
/// which has the location that it is given. Where anything is odd about the handle or the
/// arguments, nothing is done but `odd`, which is to do it by `call`: that says the fault.
///
/// # Safety
/// The file is null or a string. `body` leaves the communicator in its place.
#[inline(always)]
pub(crate) unsafe fn quick_call<const QUICK: usize>(
    handle: *mut phx_comm,
    from: From,
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
    let (_, at) = unsafe { state.quick[QUICK].find(from, ()) };
    seat.open_to.store(BUSY, Relaxed);
    // SAFETY: as in `call`.
    match unsafe { engine::attempt(&mut *comm, None, |comm| body(comm, ranks, at)) } {
        Ok(()) => passed(seat),
        Err(payload) => failed(seat, payload),
    }
}

/// A call is over. (A function of the user's that it has called may have failed elsewhere.)
#[inline(always)]
fn passed(seat: &Seat) -> phx_err {
    if seat.open_to.load(Relaxed) == BUSY {
        seat.open_to.store(this_thread(), Relaxed);
    }
    PHX_OK
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
    // The memory of the calls that the rank has started is its own again, too.
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

/// Keeps a communicator that was split off; null, if there is none.
pub(crate) fn keep(parent: *mut phx_comm, part: impl Into<Option<Comm>>) -> MadeHandle {
    let Some(part) = part.into() else { return Ok(std::ptr::null_mut()) };
    let rank = rank_of(parent)?;
    let handle = seat_of(held(part), rank.clone(), this_thread())?;
    rank.children().push((handle as usize as u64, 0, |it| free(it as usize as *mut phx_comm)));
    Ok(handle)
}

/// Frees an object with its communicator.
pub(crate) fn adopt_object(comm: *mut phx_comm, object: u64, free: fn(u64)) -> Answer {
    rank_of(comm)?.children().push((object, comm as usize as u64, free));
    Ok(())
}

/// The object is freed already.
pub(crate) fn forget_object(comm: *mut phx_comm, object: u64) -> Answer {
    rank_of(comm)?.children().retain(|child| child.0 != object);
    Ok(())
}

pub(crate) fn comm_free(comm: *mut phx_comm) -> Answer {
    let seat = enter(comm)?;
    // SAFETY: of this thread's.
    let State { rank, hold, .. } = unsafe { seat.state() };
    let is_busy = |seat: &Seat| seat.open_to.load(Relaxed) == BUSY;
    // Also one that was split off, in a function of which this was called.
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
