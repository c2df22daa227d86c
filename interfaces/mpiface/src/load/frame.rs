//! Calls a rank's main so that `exit`, or the end of its thread, ends the rank alone (c/frame.c).

use std::ffi::{c_char, c_int, c_void};

/// A program's main.
pub type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

unsafe extern "C" {
    fn phalanx_call_main(
        main: Main,
        rank: c_int,
        argc: c_int,
        argv: *mut *mut c_char,
        envp: *mut *mut c_char,
        exited: *mut *mut c_void,
        cut: *mut c_int,
    ) -> c_int;
    fn phalanx_bar_exit(by: c_int);
    fn phalanx_expect(ranks: c_int);
    fn phalanx_print_lines();
    fn phalanx_in_program(address: *mut c_void) -> *mut c_void;
}

/// The value that a rank's main gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The value returned, or handed to `exit`.
    pub code: i32,
    /// The address after the call of `exit`, if it was not a return from main.
    pub exit: Option<usize>,
    /// Whether the thread was ended in main, by `pthread_exit` or `pthread_cancel`.
    pub is_cut: bool,
}

/// So many ranks are [called](call) from now on: one that ends the process ends them, too, even if
/// they have not begun.
pub fn expect(ranks: usize) {
    // SAFETY: adds to a counter.
    unsafe { phalanx_expect(c_int::try_from(ranks).unwrap_or(c_int::MAX)) };
}

/// Calls `main` of a rank with these arguments.
///
/// # Safety
/// `main` is a program's main (its frames are of C, C++ or Fortran: `exit` jumps over them,
/// and the end of the thread unwinds them), and
/// the two arrays are as the C language says: pointers to strings with a null pointer at the end,
/// which live as long as the program runs.
pub unsafe fn call(
    main: Main,
    rank: usize,
    argv: &mut [*mut c_char],
    envp: *mut *mut c_char,
) -> Ended {
    let int = |n: usize| c_int::try_from(n).unwrap_or(c_int::MAX);
    let (count, rank, argv) = (int(argv.len().saturating_sub(1)), int(rank), argv.as_mut_ptr());
    let (mut exited, mut cut) = (std::ptr::null_mut(), 0);
    // SAFETY: the caller's promise; `exited` and `cut` live through the call.
    let code =
        unsafe { phalanx_call_main(main, rank, count, argv, envp, &raw mut exited, &raw mut cut) };
    Ended { code, exit: (!exited.is_null()).then_some(exited as usize), is_cut: cut != 0 }
}

/// The process's output by the C library's stream goes line by line from now on: before it
/// prints anything.
pub fn print_lines() {
    // SAFETY: sets the buffer of a stream that nobody has used.
    unsafe { phalanx_print_lines() };
}

/// The address after an instruction, or if that is in a library which the calling rank's program
/// has called: the address after the call.
pub fn in_program(address: usize) -> usize {
    // SAFETY: any address may be asked for; walks the stack of this thread.
    unsafe { phalanx_in_program(address as *mut c_void) as usize }
}

/// While this lives, `exit` on this thread ends the process: frames of Rust lie above the
/// program's.
#[derive(Debug)]
pub struct Barred(());

impl Barred {
    /// Bars `exit`'s way back.
    #[expect(clippy::new_without_default, reason = "it acts on the thread")]
    pub fn new() -> Barred {
        // SAFETY: adds to a counter of this thread.
        unsafe { phalanx_bar_exit(1) };
        Barred(())
    }
}

impl Drop for Barred {
    fn drop(&mut self) {
        // SAFETY: subtracts from the counter the number that `new` added.
        unsafe { phalanx_bar_exit(-1) };
    }
}
