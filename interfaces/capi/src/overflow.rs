//! The words of a rank that overflows its stack, before the process dies of it. Rust's standard
//! library has such for the threads of Rust's programs, by a handler that it installs before
//! `main`; in a program of another language there is none, so here is one, if that program has
//! left the signal alone. A handler of the program's, also a later one, stays in charge.

use std::io::Write as _;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A rank's thread, for the handler, which may look at any time: so it is never freed, but taken
/// by another thread when this one has ended.
struct Watched {
    /// The lowest address of its stack; 0 if the place is free.
    low: AtomicUsize,
    rank: AtomicUsize,
    next: *mut Watched,
}

static FIRST: AtomicPtr<Watched> = AtomicPtr::new(null_mut());

/// The place of the calling thread, and the stack on which its handler runs.
struct Watch {
    place: &'static Watched,
    stack: Option<Box<[u8]>>,
}

thread_local! {
    static WATCH: Option<Watch> = Watch::new();
}

/// The calling thread is this rank's.
#[inline]
pub(crate) fn watch(rank: usize) {
    let _ = WATCH.try_with(|it| {
        // Relaxed: read by this thread's handler.
        it.as_ref().inspect(|it| it.place.rank.store(rank, Ordering::Relaxed));
    });
}

fn all() -> impl Iterator<Item = &'static Watched> {
    // Ordering: pairs with the exchange in `Watch::new`: the place is written.
    // SAFETY: places are never freed, and made before they are found.
    let place = |at: *mut Watched| unsafe { at.as_ref() };
    let first = place(FIRST.load(Ordering::Acquire));
    std::iter::successors(first, move |it| place(it.next))
}

impl Watch {
    #[cold]
    fn new() -> Option<Watch> {
        static HAS_HANDLER: OnceLock<bool> = OnceLock::new();
        let low = own_stack()?;
        if !HAS_HANDLER.get_or_init(install) {
            return None;
        }
        // Relaxed: a place is taken by one thread, and read by its own handler.
        let is_taken = |it: &&Watched| {
            it.low.compare_exchange(0, low, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let place = all().find(is_taken).unwrap_or_else(|| {
            let (low, rank) = (AtomicUsize::new(low), AtomicUsize::new(0));
            let place = Box::leak(Box::new(Watched { low, rank, next: null_mut() }));
            // Ordering: the release publishes the place; pairs with the load in `all`.
            let insert = |first| {
                place.next = first;
                Some(&raw mut *place)
            };
            let order = (Ordering::Release, Ordering::Relaxed);
            let _ = FIRST.fetch_update(order.0, order.1, insert);
            place
        });
        Some(Watch { place, stack: signal_stack() })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.place.low.store(0, Ordering::Relaxed);
        let Some(stack) = &self.stack else { return };
        // SAFETY: asks, and gives back a stack that is this thread's own.
        unsafe {
            let mut now: libc::stack_t = zeroed();
            libc::sigaltstack(null(), &raw mut now);
            if now.ss_sp.cast_const().cast() == stack.as_ptr() {
                now.ss_flags = libc::SS_DISABLE;
                libc::sigaltstack(&raw const now, null_mut());
            } else if now.ss_flags != libc::SS_DISABLE {
                // The program has another by now, and may come back to this one.
                std::mem::forget(self.stack.take());
            }
        }
    }
}

/// Installs the handler, if the program has none. Whether it is there.
fn install() -> bool {
    // SAFETY: sets a handler that writes and returns.
    unsafe {
        let (mut action, mut old): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
        libc::sigaction(libc::SIGSEGV, null(), &raw mut old);
        action.sa_sigaction = fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        old.sa_sigaction == libc::SIG_DFL
            && libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()) == 0
    }
}

/// The lowest address of the calling thread's stack.
fn own_stack() -> Option<usize> {
    let (mut low, mut length) = (null_mut(), 0);
    // SAFETY: the attributes are those of this thread; they are made, read and destroyed here.
    unsafe {
        let mut attributes: libc::pthread_attr_t = zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 {
            libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut length);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
    Some(low as usize).filter(|low| *low > 0)
}

/// A stack for the thread's handlers, if it has none.
fn signal_stack() -> Option<Box<[u8]>> {
    const LENGTH: usize = 64 << 10;
    // SAFETY: asks, and sets a stack that is given back before it is freed.
    unsafe {
        let mut now: libc::stack_t = zeroed();
        libc::sigaltstack(null(), &raw mut now);
        (now.ss_flags == libc::SS_DISABLE).then(|| {
            let mut stack = vec![0_u8; LENGTH].into_boxed_slice();
            let ss_sp = stack.as_mut_ptr().cast();
            let new = libc::stack_t { ss_sp, ss_flags: 0, ss_size: LENGTH };
            libc::sigaltstack(&raw const new, null_mut());
            stack
        })
    }
}

/// Says whose stack has ended, if one has; then the process dies as without this.
extern "C" fn fault(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // The system keeps a gap of this size above other memory; a long frame leaps over a guard page.
    const NEAR: usize = 1 << 20;
    // SAFETY: the kernel's structure, handed to the handler; of a fault it has the address.
    let (is_fault, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
    // Relaxed: the thread's own place, by its address.
    let distance = |it: &Watched| it.low.load(Ordering::Relaxed).abs_diff(address);
    let nearest =
        all().filter(|it| it.low.load(Ordering::Relaxed) > 0).min_by_key(|it| distance(it));
    if let Some(it) = nearest.filter(|it| is_fault && distance(it) <= NEAR + 4096) {
        let rank = it.rank.load(Ordering::Relaxed);
        let mut text = [0_u8; 96];
        let mut rest = &mut text[..];
        let who = if rank == 0 { " (the caller)" } else { "" };
        let _ = writeln!(rest, "phalanx: rank {rank}{who} has overflowed its stack");
        let length = 96 - rest.len();
        // SAFETY: so many bytes are there.
        unsafe { libc::write(2, text.as_ptr().cast(), length) };
    }
    // SAFETY: the default action, by which the same fault, or the same signal, ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if !is_fault {
            libc::raise(signal);
        }
    }
}
