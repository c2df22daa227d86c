//! The core that a thread is on, and how often it has lost one.

#[cfg(not(any(loom, shuttle)))]
use crate::{machine::affinity::current_unit, wait::usage};

/// The calling thread's counts at one moment. (Of recorded runs, and for `phalanx bench`.)
///
/// # Examples
/// ```
/// use phalanx::engine::CoreUse;
/// if let Some(begin) = CoreUse::now() {
///     std::thread::yield_now();
///     assert!(CoreUse::now().is_some_and(|end| end.lost >= begin.lost));
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CoreUse {
    /// The processing unit.
    pub pu: usize,
    /// Nanoseconds of processor time that the thread has used.
    pub used: u64,
    /// How often the system has taken a core from the thread.
    pub lost: u64,
    /// How often the thread has given its core away: it slept.
    pub given: u64,
}

impl CoreUse {
    /// Now; none where the system does not say.
    #[cfg(not(any(loom, shuttle)))]
    pub fn now() -> Option<CoreUse> {
        let usage = usage()?;
        let (used, lost, given) = (usage.time, usage.taken, usage.given);
        Some(CoreUse { pu: current_unit()?, used, lost, given })
    }

    /// In the checkers' hands no core is lost.
    #[cfg(any(loom, shuttle))]
    pub fn now() -> Option<CoreUse> {
        None
    }
}
