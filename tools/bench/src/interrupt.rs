//! Ctrl-C, or a signal to end or that the terminal is gone: a flag that commands check between two
//! steps.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C, SIGTERM and SIGHUP set the flag instead of ending the process; a second one ends
/// it at once. So what `timeout` ends ends its own programs, and writes what it has.
pub fn listen() {
    // Without a handler Ctrl-C ends the process as it always does.
    let _: Result<(), _> = ctrlc::set_handler(|| {
        // Ordering: a flag by itself; it publishes nothing.
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether somebody asked for the end.
pub fn asked() -> bool {
    // Ordering: as above.
    ASKED.load(Ordering::Relaxed)
}
