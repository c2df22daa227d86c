//! The report of a rank's fault before the process dies of it: rank, kind and line.
//!
//! Ranks fault together, as SPMD programs do. So the handlers take turns: each thread that faults
//! has a number, says its line when all before it have, and the process dies when nobody is left
//! with a number, by the first one's signal. The report allocates and reads files, which a
//! handler must not rely on: a program may have damaged the heap, or hold its lock. If that
//! faults again, or takes [`PATIENCE`], the handler reports without a line.

use crate::load::frame;
use crate::rt::site::place;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::io::Write as _;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

/// Faults that have come, and those of them that were told (or counted).
static COME: AtomicUsize = AtomicUsize::new(0);
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// The first one's signal.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The rank and the fault that is told at present, for [`give_up`].
static RANK_TOLD: AtomicUsize = AtomicUsize::new(NONE);
static FAULT_TOLD: AtomicI32 = AtomicI32::new(0);

/// No rank: another thread of a program.
const NONE: usize = usize::MAX;

/// In place of a signal: a stack overflow.
const OVERFLOW: c_int = -1;

/// So many are told with their lines; the others are counted.
const NAMED: usize = 8;

/// Seconds that the lines may take.
const PATIENCE: c_uint = 5;

/// The facts about a rank's thread that the handler needs.
#[derive(Clone, Copy)]
struct Here {
    rank: usize,
    /// The lowest address of its stack, and the stack's length.
    low: usize,
    length: usize,
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here { rank: NONE, low: 0, length: 0 }) };
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Names the rank of a fault, then lets the process die of it as it would without us (core dump,
/// code 139 or 134): the program's own handler, if it installs one, replaces this.
pub(crate) fn catch() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
        // Entered again by a fault in itself: see the head.
        let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: when the handler returns, the process dies.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = fault as *const () as usize;
            action.sa_flags = flags;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// The calling thread is this rank's: it gets a stack for the handler, in case its own overflows.
/// Leaked with its thread.
pub(crate) fn enter(rank: usize) {
    const LENGTH: usize = 256 << 10;
    let room = Box::leak(vec![0_u8; LENGTH].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: LENGTH };
    // SAFETY: the memory is leaked, so it lives as long as the thread.
    unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) };
    let (low, length) = own_stack();
    HERE.set(Here { rank, low, length });
}

/// The lowest address of the calling thread's stack, and its length; zeros if they are not known.
fn own_stack() -> (usize, usize) {
    let (mut low, mut length) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are those of this thread; they are made, read and destroyed here.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 {
            libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut length);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
    (low as usize, length)
}

fn here() -> Here {
    HERE.try_with(Cell::get).unwrap_or(Here { rank: NONE, low: 0, length: 0 })
}

/// Whether the calling thread is a rank's.
pub(crate) fn is_a_rank() -> bool {
    here().rank != NONE
}

extern "C" fn fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if IS_TELLING.try_with(|it| it.replace(true)).unwrap_or(true) {
        give_up(signal);
    }
    let here = here();
    let what = if is_overflow(signal, info, context, here) { OVERFLOW } else { signal };
    // Relaxed, here and below, where nothing is said otherwise: turns are by the number alone.
    let number = COME.fetch_add(1, Ordering::Relaxed);
    if number == 0 {
        FIRST.store(signal, Ordering::Relaxed);
        // SAFETY: sets a handler that writes and ends the process, and asks for its signal.
        unsafe {
            libc::signal(libc::SIGALRM, give_up as *const () as usize);
            libc::alarm(PATIENCE);
        }
    }
    // Acquire: pairs with the Release below, so that the present report is set once.
    while TOLD.load(Ordering::Acquire) < number {
        std::thread::sleep(Duration::from_millis(1));
    }
    RANK_TOLD.store(here.rank, Ordering::Relaxed);
    FAULT_TOLD.store(what, Ordering::Relaxed);
    if number < NAMED {
        tell(what, here, context);
    }
    // Release: see above.
    TOLD.store(number + 1, Ordering::Release);
    if COME.load(Ordering::Relaxed) == number + 1 {
        if number >= NAMED {
            eprintln!("phalanx: and {} more ranks or threads with a fault", number + 1 - NAMED);
        }
        return die_there();
    }
    // The next one ends the process.
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// The process dies by the first fault's signal when the handler returns: where the thread has
/// faulted, which is the place in a core dump.
fn die_there() {
    let signal = FIRST.load(Ordering::Relaxed);
    // SAFETY: the signal, whose default action ends the process, is blocked until the handler's
    // return, which restores the former mask.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        mask(libc::SIG_BLOCK, signal);
        libc::raise(signal);
    }
}

/// Blocks a signal on the calling thread, or unblocks it.
///
/// # Safety
/// The caller knows the actions that follow.
unsafe fn mask(how: c_int, signal: c_int) {
    // SAFETY: a set of bits, for which zeros are valid, and which lives through the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// Says a fault with its line.
fn tell(what: c_int, here: Here, context: *mut c_void) {
    let line = counter(context).and_then(|it| {
        let after = frame::in_program(it + 1);
        let how = if after == it + 1 { "at" } else { "in a call at" };
        Some(format!(" {how} {}", place(after)?))
    });
    let line = line.unwrap_or_default();
    let help = match what {
        OVERFLOW => format!(
            "; the rank's stack has {} MiB: `phalanx-mpirun --stack MIB` or `ulimit -s KIB` \
             sets it",
            here.length >> 20
        ),
        _ => String::new(),
    };
    let who = match here.rank {
        NONE => "a thread of a rank".to_owned(),
        rank => format!("rank {rank}"),
    };
    eprintln!("phalanx: {who}: {}{line}{help}", name(what));
}

fn name(what: c_int) -> &'static str {
    match what {
        OVERFLOW => "stack overflow",
        libc::SIGSEGV => "segmentation fault",
        libc::SIGBUS => "bus error",
        libc::SIGFPE => "arithmetic fault",
        libc::SIGILL => "illegal instruction",
        _ => "abort",
    }
}

/// Reports without memory of its own, and ends the process: the line was not found in
/// time, or by a handler that has faulted.
extern "C" fn give_up(_signal: c_int) {
    let (rank, what) = (RANK_TOLD.load(Ordering::Relaxed), FAULT_TOLD.load(Ordering::Relaxed));
    let mut text = [0_u8; 160];
    let mut rest = &mut text[..];
    let (what, line) = (name(what), "(its line was not found: the heap may be damaged)");
    let _ = match rank {
        NONE => writeln!(rest, "phalanx: a thread of a rank: {what} {line}"),
        _ => writeln!(rest, "phalanx: rank {rank}: {what} {line}"),
    };
    let length = 160 - rest.len();
    // SAFETY: the buffer has so many bytes.
    unsafe { libc::write(2, text.as_ptr().cast(), length) };
    die();
}

/// Ends the process by the first fault's signal, here and now.
fn die() -> ! {
    let signal = FIRST.load(Ordering::Relaxed);
    // SAFETY: the default action of these signals ends the process; else the exit below does.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        mask(libc::SIG_UNBLOCK, signal);
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

/// Whether the thread has come to the end of its stack: the address that faulted lies below the
/// stack, and not below the addresses that the stack's pointer has claimed.
fn is_overflow(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
    here: Here,
) -> bool {
    if !matches!(signal, libc::SIGSEGV | libc::SIGBUS) || here.low == 0 {
        return false;
    }
    // SAFETY: the kernel's structure, handed to the handler; a fault has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    // A call or a probe writes a little below the pointer.
    const BELOW: usize = 4096;
    pointer(context).is_some_and(|it| {
        let claimed = it.saturating_sub(BELOW)..here.low;
        let last_page = here.low.saturating_sub(BELOW)..here.low;
        claimed.contains(&address) || (it < here.low + BELOW && last_page.contains(&address))
    })
}

/// The address of the instruction at which a signal came.
fn counter(context: *mut c_void) -> Option<usize> {
    register(context, 0)
}

/// The stack's pointer there.
fn pointer(context: *mut c_void) -> Option<usize> {
    register(context, 1)
}

/// The instruction's address, or the stack's pointer.
fn register(context: *mut c_void, which: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the kernel's structure, handed to the handler.
        let registers = unsafe { &(*context).uc_mcontext.gregs };
        let number = [libc::REG_RIP, libc::REG_RSP][which];
        registers.get(number as usize).and_then(|it| usize::try_from(*it).ok())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (context, which);
        None
    }
}
