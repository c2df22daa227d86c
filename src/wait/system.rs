//! The operating system's services: sleep on a word, a heavy fence, and a thread's time slice.
//!
//! The only unsafe code of this room: `futex`, `membarrier` and `sched_setattr`, which the C
//! library does not wrap. Elsewhere than on Linux (and under Miri) a table of locks and condition
//! variables stands in for the first, and nothing for the others.

use std::time::Duration;

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use super::super::lost_time::Usage;
    use crate::sync::AtomicU32;
    use std::time::Duration;

    /// Of a word that other processes do not map, and of one that they do.
    const FLAG: [libc::c_int; 2] = [libc::FUTEX_PRIVATE_FLAG, 0];

    /// Sleeps until woken, or for `longest`, if `word` still is `value`. May end for no reason.
    #[inline(always)]
    pub(super) fn sleep<const SHARED: bool>(
        word: &AtomicU32,
        value: u32,
        longest: Option<Duration>,
    ) {
        let time = longest.map(|longest| libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            // Of either width, by target; below 10^9, so it fits.
            #[allow(clippy::cast_lossless)]
            tv_nsec: longest.subsec_nanos() as _,
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let operation = libc::FUTEX_WAIT | FLAG[usize::from(SHARED)];
        // SAFETY: the word outlives the call, and the kernel only reads it; the time is read before
        // the call returns, or null. What it answers does not matter: the caller looks again.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time) };
    }

    /// Wakes up to `most` threads that sleep on `word`.
    #[inline(always)]
    pub(super) fn wake<const SHARED: bool>(word: &AtomicU32, most: i32) {
        let operation = libc::FUTEX_WAKE | FLAG[usize::from(SHARED)];
        // SAFETY: the kernel uses the address as a key only.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) };
    }

    /// Of `membarrier`.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Registers the process for heavy fences. Where the system refuses, it refuses those as well.
    pub(super) fn register_heavy_fence() {
        // SAFETY: touches no memory of the process.
        unsafe { libc::syscall(libc::SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) };
    }

    /// Makes all threads of the process that run fence. Whether that was done.
    pub(super) fn heavy_fence() -> bool {
        // SAFETY: touches no memory of the process.
        unsafe { libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0 }
    }

    /// The calling thread's usage so far. Its time is that of its clock: `getrusage` may be behind
    /// by a tick, which is as much as a thread that lost its core may have lost.
    pub(super) fn usage() -> Option<Usage> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut all = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both write to their second argument, of which any content is valid.
        let all = unsafe {
            if libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) != 0
                || libc::getrusage(libc::RUSAGE_THREAD, all.as_mut_ptr()) != 0
            {
                return None;
            }
            all.assume_init()
        };
        // Of either width, by target.
        #[allow(clippy::unnecessary_cast)]
        let time = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        Some(Usage { time, taken: all.ru_nivcsw as u64, given: all.ru_nvcsw as u64 })
    }

    /// The kernel's `struct sched_attr`, in its first version.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }

    /// Asks for this slice for the calling thread, 0 for the system's. Whether that was done.
    pub(super) fn set_slice(nanoseconds: u64) -> bool {
        let mut attributes = Attributes::default();
        let size = size_of::<Attributes>() as u32;
        // SAFETY: thread 0 is the calling one; the kernel writes `size` bytes at most.
        let read =
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        // Only with the usual policy is the runtime a slice. All else stays as it was.
        if read != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
            return false;
        }
        attributes.size = size;
        attributes.runtime = nanoseconds;
        // SAFETY: as above; the kernel reads `size` bytes.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod imp {
    use super::super::lost_time::Usage;
    use crate::sync::AtomicU32;
    use crate::sync::Ordering::Relaxed;
    use std::sync::{Condvar, Mutex, MutexGuard};
    use std::time::Duration;

    /// Who sleeps on one of these words. The lock orders a waker, which changes the word first,
    /// with a sleeper's last look at it.
    struct Bucket(Mutex<()>, Condvar);

    static BUCKETS: [Bucket; 64] = [const { Bucket(Mutex::new(()), Condvar::new()) }; 64];

    fn of(word: &AtomicU32) -> (&'static Bucket, MutexGuard<'static, ()>) {
        let bucket = &BUCKETS[std::ptr::from_ref(word).addr() / 128 % BUCKETS.len()];
        (bucket, bucket.0.lock().unwrap_or_else(|e| e.into_inner()))
    }

    pub(super) fn sleep<const SHARED: bool>(
        word: &AtomicU32,
        value: u32,
        longest: Option<Duration>,
    ) {
        let (bucket, guard) = of(word);
        if word.load(Relaxed) == value {
            match longest {
                Some(longest) => drop(bucket.1.wait_timeout(guard, longest)),
                None => drop(bucket.1.wait(guard)),
            }
        }
    }

    /// All of the bucket: who sleeps on another word of it looks again.
    pub(super) fn wake<const SHARED: bool>(word: &AtomicU32, _most: i32) {
        let (bucket, _guard) = of(word);
        bucket.1.notify_all();
    }

    pub(super) fn usage() -> Option<Usage> {
        None
    }

    pub(super) fn register_heavy_fence() {}

    pub(super) fn heavy_fence() -> bool {
        false
    }

    pub(super) fn set_slice(_nanoseconds: u64) -> bool {
        false
    }
}

/// See [`imp::sleep`].
pub(super) fn sleep(word: &crate::sync::AtomicU32, value: u32, longest: Option<Duration>) {
    imp::sleep::<false>(word, value, longest);
}

/// See [`imp::wake`].
pub(super) fn wake(word: &crate::sync::AtomicU32, most: i32) {
    imp::wake::<false>(word, most);
}

/// As [`sleep`], on a word that other processes map, too.
pub(crate) fn sleep_shared(word: &crate::sync::AtomicU32, value: u32, longest: Duration) {
    imp::sleep::<true>(word, value, Some(longest));
}

/// As [`wake`], all of the threads that sleep by [`sleep_shared`].
pub(crate) fn wake_shared(word: &crate::sync::AtomicU32) {
    imp::wake::<true>(word, i32::MAX);
}

/// See [`imp::usage`].
pub(crate) fn usage() -> Option<super::lost_time::Usage> {
    imp::usage()
}

/// See [`imp::register_heavy_fence`]. Once is enough, also for a child of a fork.
pub(super) fn register_heavy_fence() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(imp::register_heavy_fence);
}

/// Fences in the name of every thread of the process. Whether that was done: a system without
/// `membarrier`, or one that refuses it, does nothing.
pub(crate) fn heavy_fence() -> bool {
    imp::heavy_fence()
}

/// See [`imp::set_slice`].
pub(super) fn set_slice(nanoseconds: u64) -> bool {
    imp::set_slice(nanoseconds)
}
