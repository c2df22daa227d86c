//! The load.

use std::time::{Duration, Instant};

/// Busy processes, ended when dropped.
pub(crate) struct Busy(Vec<libc::pid_t>);

impl Busy {
    /// So many, of another scheduler group than this process, with the same weight, if `other`.
    /// Each rests for so long after each millisecond.
    pub(crate) fn new(processes: usize, other: bool, rest: Duration) -> Self {
        let nice = autogroup_nice();
        let start = |_| {
            // SAFETY: the child makes system calls only, and allocates nothing.
            match unsafe { libc::fork() } {
                0 => {
                    // SAFETY: no memory is touched but the text, which is a local one. It ends with
                    // its parent, and after ten minutes in any case.
                    unsafe {
                        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                        libc::alarm(600);
                        if other && libc::setsid() > 0 {
                            let file = libc::open(AUTOGROUP.as_ptr(), libc::O_WRONLY);
                            libc::write(file, nice.as_ptr().cast(), nice.len());
                        }
                    }
                    loop {
                        let from = Instant::now();
                        while rest.is_zero() || from.elapsed() < Duration::from_millis(1) {}
                        std::thread::sleep(rest);
                    }
                }
                child => child,
            }
        };
        Busy((0..processes).map(start).filter(|&child| child > 0).collect())
    }
}

/// The file of a session's scheduler group.
const AUTOGROUP: &std::ffi::CStr = c"/proc/self/autogroup";

/// The nice level of this session's scheduler group, as text.
fn autogroup_nice() -> String {
    let text = AUTOGROUP.to_str().ok().and_then(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| Some(text.split_whitespace().last()?.to_string())).unwrap_or_default()
}

impl Drop for Busy {
    fn drop(&mut self) {
        for &child in &self.0 {
            // SAFETY: a child of ours that nobody has waited for; the status is not asked for.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
    }
}
