//! The lock of a window's target: one rank has it alone, or several share it.
//!
//! A rank that does not get it is noted as waiting under the same mutex under which it has seen
//! that the lock is taken. So the last holder finds it there, and wakes it: no wake is
//! lost. Its model is in `loom/`, which compiles this file.

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// The holders of a target's lock.
#[derive(Debug, Default)]
struct State {
    /// The rank of the world that has it alone.
    alone: Option<usize>,
    /// How many share it.
    shared: usize,
    /// Those who may be asleep until it is free.
    waiting: Vec<usize>,
}

impl State {
    fn is_free(&self, is_exclusive: bool) -> bool {
        self.alone.is_none() && (self.shared == 0 || !is_exclusive)
    }
}

/// See the head of the file.
#[derive(Debug)]
pub struct TargetLock(Mutex<State>);

impl Default for TargetLock {
    fn default() -> TargetLock {
        TargetLock(Mutex::new(State::default()))
    }
}

impl TargetLock {
    fn state(&self) -> MutexGuard<'_, State> {
        // Its holder may have panicked: then the process ends anyway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it can be had now.
    pub fn is_free(&self, is_exclusive: bool) -> bool {
        self.state().is_free(is_exclusive)
    }

    /// Takes it for a rank of the world, or notes that the rank waits.
    pub fn take(&self, rank: usize, is_exclusive: bool) -> bool {
        let mut state = self.state();
        if !state.is_free(is_exclusive) {
            if !state.waiting.contains(&rank) {
                state.waiting.push(rank);
            }
            return false;
        }
        if is_exclusive {
            state.alone = Some(rank);
        } else {
            state.shared += 1;
        }
        true
    }

    /// Gives it back; gives the ranks that may have to be woken.
    #[must_use]
    pub fn give_back(&self, is_exclusive: bool) -> Vec<usize> {
        let mut state = self.state();
        if is_exclusive {
            state.alone = None;
        } else {
            state.shared -= 1;
        }
        if state.shared == 0 { std::mem::take(&mut state.waiting) } else { Vec::new() }
    }

    /// The holders, in words.
    pub fn describe(&self) -> String {
        let state = self.state();
        match state.alone {
            Some(by) => format!("which rank {by} has"),
            None => format!("which {} share", state.shared),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_shared_or_not_and_those_who_wait_are_woken_when_it_is_free() {
        let lock = TargetLock::default();
        assert!(lock.take(0, false) && lock.take(1, false) && !lock.take(2, true));
        assert_eq!(lock.give_back(false), []);
        assert!(!lock.take(2, true) && !lock.is_free(true) && lock.is_free(false));
        assert_eq!(lock.give_back(false), [2]);
        assert!(lock.take(2, true) && !lock.take(0, false) && !lock.take(1, false));
        assert_eq!(lock.give_back(true), [0, 1]);
        assert!(lock.take(0, false));
    }
}
