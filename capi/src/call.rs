//! A rank's handle on a communicator, and what every function on one does: look the handle up, note
//! the caller's line, catch what is thrown, keep the first cause's text.

use crate::error::{
    PHX_ERR_ARGUMENT, PHX_ERR_BUSY, PHX_ERR_DEAD, PHX_ERR_HANDLE, PHX_ERR_THREAD, PHX_OK, code,
    fail, phx_err,
};
use crate::handle::Table;
use phalanx::Comm;
use phalanx::raw::{self, ForeignCall};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// A rank's hold on a group of ranks. Only pointers to it are used, and they are no addresses.
#[allow(non_camel_case_types)]
#[derive(Debug)]
#[repr(C)]
pub struct phx_comm {
    _nothing: [u8; 0],
}

/// What the communicators of a rank have in common, in a run.
#[derive(Default)]
pub(crate) struct Rank {
    /// A call on one of them has failed: the run is over.
    failed: AtomicBool,
    /// Handles of communicators that were split off and of plans, to be freed with the first.
    children: std::sync::Mutex<Vec<u64>>,
}

/// Lines of the program that call from here, so that each is looked up once.
const LINES: usize = 16;

#[derive(Clone, Copy)]
struct KnownLine {
    file: *const c_char,
    line: c_int,
    function: *const u8,
    call: &'static ForeignCall,
}

enum Hold {
    /// The run's, lent to the rank's closure.
    Lent(*mut Comm),
    Owned(Box<Comm>),
}

struct State {
    comm: Hold,
    rank: Arc<Rank>,
    is_busy: bool,
    lines: [Option<KnownLine>; LINES],
}

/// The object of a handle.
#[derive(Default)]
pub(crate) struct Seat {
    /// A word of the thread that may use it; 0 for none yet.
    thread: AtomicUsize,
    state: UnsafeCell<Option<State>>,
}

// SAFETY: `state` is used by the thread that `thread` names only, or by the one that makes or frees
// the handle, while nobody else has it.
unsafe impl Sync for Seat {}

pub(crate) static COMMS: Table<Seat> = Table::new(1);

thread_local! {
    static HERE: u8 = const { 0 };
}

/// A number of the calling thread, which no other has meanwhile.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// The text at `text`, or nothing for null.
///
/// # Safety
/// `text` is null, or a string that ends with a zero.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A handle on `comm`, which the calling thread lends to what it calls.
pub(crate) fn lend(comm: &mut Comm) -> *mut phx_comm {
    let thread = this_thread();
    make(Hold::Lent(comm), Arc::default(), thread)
}

/// A handle on a communicator of a thread of the user's own, which is not known yet.
pub(crate) fn own(comm: Comm) -> *mut phx_comm {
    make(Hold::Owned(Box::new(comm)), Arc::default(), 0)
}

fn make(comm: Hold, rank: Arc<Rank>, thread: usize) -> *mut phx_comm {
    let (handle, seat) = COMMS.reserve();
    let state = State { comm, rank, is_busy: false, lines: [None; LINES] };
    seat.thread.store(thread, Relaxed);
    // SAFETY: the handle is nobody's yet.
    unsafe { *seat.state.get() = Some(state) };
    COMMS.publish(handle);
    handle as usize as *mut phx_comm
}

/// Frees a handle and the communicators that were split off, the latest first.
pub(crate) fn free(comm: *mut phx_comm) {
    let handle = comm as usize as u64;
    let Some(seat) = COMMS.find(handle) else { return };
    if !COMMS.retire(handle) {
        return;
    }
    // SAFETY: the handle is nobody's any more, and its thread is this one (the callers have
    // looked).
    let state = unsafe { (*seat.state.get()).take() };
    if let Some(State { comm, rank, .. }) = state {
        if let Hold::Lent(_) = comm {
            free_children(&rank);
        } else if Arc::strong_count(&rank) > 1 {
            // Of a root of own threads: what was split off goes with it.
            let is_root =
                !rank.children.lock().unwrap_or_else(|e| e.into_inner()).contains(&handle);
            if is_root {
                free_children(&rank);
            }
        }
        rank.children.lock().unwrap_or_else(|e| e.into_inner()).retain(|&it| it != handle);
        // What it throws has ended the run, and that says it.
        drop(catch_unwind(AssertUnwindSafe(|| drop(comm))));
    }
    seat.thread.store(0, Relaxed);
    COMMS.recycle(handle);
}

/// Whether a communicator that was split off is in a call, whose function has called this.
fn has_busy_child(rank: &Rank) -> bool {
    let children = rank.children.lock().unwrap_or_else(|e| e.into_inner());
    let is_busy = |&child: &u64| {
        COMMS.find(child).is_some_and(|seat| {
            // SAFETY: of the rank's thread, which is this one.
            unsafe { &*seat.state.get() }.as_ref().is_some_and(|state| state.is_busy)
        })
    };
    children.iter().any(is_busy)
}

fn free_children(rank: &Rank) {
    loop {
        let child = rank.children.lock().unwrap_or_else(|e| e.into_inner()).pop();
        match child {
            Some(child) if child & 15 == 1 => free(child as usize as *mut phx_comm),
            Some(plan) => crate::plan::free(plan),
            None => return,
        }
    }
}

/// The state behind a handle, for the calling thread alone.
#[inline(always)]
fn enter(comm: *const phx_comm) -> Result<&'static mut State, phx_err> {
    let thread = this_thread();
    let Some(seat) = COMMS.find(comm as usize as u64) else { return Err(no_handle(comm)) };
    if seat.thread.load(Relaxed) != thread && !settle(seat, thread) {
        return Err(other_thread());
    }
    // SAFETY: of this thread alone, which leaves again before it enters another time: no caller
    // keeps the reference while user code may run, but as `Busy` says.
    match unsafe { &mut *seat.state.get() } {
        Some(state) => Ok(state),
        None => Err(no_handle(comm)),
    }
}

#[cold]
fn settle(seat: &Seat, thread: usize) -> bool {
    seat.thread.compare_exchange(0, thread, Relaxed, Relaxed).is_ok()
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
    fail(PHX_ERR_THREAD, "the communicator belongs to another thread, which has used it first")
}

impl State {
    #[inline(always)]
    fn comm(&mut self) -> *mut Comm {
        match &mut self.comm {
            Hold::Lent(comm) => *comm,
            Hold::Owned(comm) => &raw mut **comm,
        }
    }

    /// The call of `function` in this line.
    ///
    /// # Safety
    /// `file` is null or a string.
    #[inline(always)]
    unsafe fn line(
        &mut self,
        function: &'static str,
        file: *const c_char,
        line: c_int,
    ) -> &'static ForeignCall {
        let at = (line as usize ^ file.addr() >> 3) % LINES;
        match &self.lines[at] {
            Some(known)
                if known.line == line
                    && known.file == file
                    && known.function == function.as_ptr() =>
            {
                known.call
            }
            // SAFETY: passed on.
            _ => unsafe { self.other_line(at, function, file, line) },
        }
    }

    /// # Safety
    /// As [`line`](State::line).
    #[cold]
    #[inline(never)]
    unsafe fn other_line(
        &mut self,
        at: usize,
        function: &'static str,
        file: *const c_char,
        line: c_int,
    ) -> &'static ForeignCall {
        // SAFETY: passed on.
        let name = unsafe { text(file) };
        let call = raw::foreign_call(function, &name, u32::try_from(line).unwrap_or(0));
        self.lines[at] = Some(KnownLine { file, line, function: function.as_ptr(), call });
        call
    }
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
    let state = match enter(handle) {
        Ok(state) => state,
        Err(code) => return code,
    };
    if state.is_busy || state.rank.failed.load(Relaxed) {
        return refused(state.is_busy);
    }
    // SAFETY: passed on.
    let line = unsafe { state.line(from.function, from.file, from.line) };
    let comm = state.comm();
    state.is_busy = true;
    let state = std::ptr::from_mut(state);
    // SAFETY: the rank's communicator, which lives until the handle is freed; only this thread has
    // it, and not twice (`is_busy`). `body` leaves it in its place.
    let result = unsafe {
        raw::attempt(&mut *comm, line, |comm| match body(comm) {
            Ok(()) => {}
            Err(what) => raw::refuse(comm, what),
        })
    };
    // The state may have been entered meanwhile, by a function of the user's that the body has
    // called, and left again; the handle cannot have been freed, as it was busy.
    // SAFETY: as in `enter`.
    let state = unsafe { &mut *state };
    state.is_busy = false;
    match result {
        Ok(()) => PHX_OK,
        Err(payload) => failed(state, payload),
    }
}

/// A call has thrown `payload`: the run is over for the rank.
#[cold]
#[inline(never)]
fn failed(state: &mut State, payload: Box<dyn Any + Send>) -> phx_err {
    state.rank.failed.store(true, Relaxed);
    // SAFETY: as in `call`.
    let (code, text) = unsafe { raw::first_cause(&mut *state.comm(), payload, code) };
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
    let state = enter(handle)?;
    // SAFETY: as in `call`; a call that is under way further out does not use it meanwhile.
    Ok(f(unsafe { &*state.comm() }))
}

/// Keeps a communicator that was split off `parent`.
pub(crate) fn adopt(parent: *mut phx_comm, child: Comm) -> Result<*mut phx_comm, phx_err> {
    let rank = enter(parent)?.rank.clone();
    let handle = make(Hold::Owned(Box::new(child)), rank.clone(), this_thread());
    rank.children.lock().unwrap_or_else(|e| e.into_inner()).push(handle as usize as u64);
    Ok(handle)
}

/// Frees a plan with the communicators of its rank.
pub(crate) fn adopt_plan(comm: *mut phx_comm, plan: u64) -> Result<(), phx_err> {
    let rank = &enter(comm)?.rank;
    rank.children.lock().unwrap_or_else(|e| e.into_inner()).push(plan);
    Ok(())
}

/// Frees a communicator that was split off, or one of a thread of one's own. On such a thread the
/// ones that were split off it go with it, and it is to be freed by the thread that has used it, or
/// after that has ended.
#[unsafe(no_mangle)]
pub extern "C" fn phx_comm_free(comm: *mut phx_comm) -> phx_err {
    match enter(comm) {
        Err(code) => code,
        Ok(state) if state.is_busy || has_busy_child(&state.rank) => refused(true),
        Ok(State { comm: Hold::Lent(_), .. }) => {
            fail(PHX_ERR_ARGUMENT, "phx_comm_free: the run's own communicator is freed by the run")
        }
        Ok(_) => {
            free(comm);
            PHX_OK
        }
    }
}

/// The rank's number, from 0 on; -1 for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_rank(comm: *const phx_comm) -> c_int {
    look(comm, |comm| comm.rank() as c_int).unwrap_or(-1)
}

/// The number of ranks; -1 for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_size(comm: *const phx_comm) -> c_int {
    look(comm, |comm| comm.size() as c_int).unwrap_or(-1)
}

/// A pointer that says "in place" as a collective's first buffer.
pub(crate) const IN_PLACE: *const c_void = std::ptr::without_provenance(usize::MAX);

/// A rank's number, of a C integer.
pub(crate) fn rank_number(what: &str, rank: c_int) -> Result<usize, String> {
    usize::try_from(rank).map_err(|_| format!("{what} {rank} is no rank"))
}

/// `n` elements at `at`, to be read.
///
/// # Safety
/// `at` is null, or has `n` elements for as long as the caller uses them.
#[inline(always)]
pub(crate) unsafe fn input<'a, T>(
    what: &str,
    at: *const c_void,
    n: usize,
) -> Result<&'a [T], String> {
    if n == 0 {
        return Ok(&[]);
    }
    if at.is_null() || !at.cast::<T>().is_aligned() || at == IN_PLACE {
        return Err(bad_pointer(what, at, align_of::<T>()));
    }
    // SAFETY: by the contract; the caller has looked that memory can hold so many.
    Ok(unsafe { std::slice::from_raw_parts(at.cast(), n) })
}

/// `n` elements at `at`, to be written.
///
/// # Safety
/// As [`input`], and nobody else uses them meanwhile.
#[inline(always)]
pub(crate) unsafe fn output<'a, T>(
    what: &str,
    at: *mut c_void,
    n: usize,
) -> Result<&'a mut [T], String> {
    if n == 0 {
        return Ok(&mut []);
    }
    if at.is_null() || !at.cast::<T>().is_aligned() || at.cast_const() == IN_PLACE {
        return Err(bad_pointer(what, at, align_of::<T>()));
    }
    // SAFETY: by the contract.
    Ok(unsafe { std::slice::from_raw_parts_mut(at.cast(), n) })
}

#[cold]
fn bad_pointer(what: &str, at: *const c_void, align: usize) -> String {
    if at.is_null() {
        format!("{what} is null")
    } else if at == IN_PLACE {
        format!("{what} is PHX_IN_PLACE, which this function does not take there")
    } else {
        format!("{what} at {at:p} is not aligned to {align} bytes, as its elements are")
    }
}

/// Looks that what is read is not written, too.
#[inline(always)]
pub(crate) fn apart(
    (from, bytes): (*const c_void, usize),
    (to, room): (*mut c_void, usize),
) -> Result<(), String> {
    let (from, to) = (from.addr(), to.addr());
    if bytes == 0 || room == 0 || from + bytes <= to || to + room <= from {
        return Ok(());
    }
    Err("the input and the output overlap (PHX_IN_PLACE says that they are one)".into())
}
