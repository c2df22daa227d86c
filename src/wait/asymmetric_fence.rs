//! Two fences of which one is free: a light one costs no instruction, a heavy one is a system call
//! that makes every thread of the process fence (`membarrier` on Linux). Two accesses that a light
//! fence separates, and two that a heavy one separates, are ordered as by two fences; light fences
//! order nothing between each other.
//!
//! In loom's models a heavy fence waits until each thread that is awake has fenced in its name
//! (`loom-tests/src/sleepers.rs`).

#[cfg(loom)]
pub(crate) use crate::sync::{heavy_fence, light_fence};

/// Keeps the compiler from moving accesses across; the processor is held by the
/// [heavy](heavy_fence) fence that this pairs with.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn light_fence() {
    #[cfg(not(shuttle))]
    crate::sync::compiler_fence(crate::sync::Ordering::SeqCst);
}

/// Fences in the name of every thread of the process. Whether that was done: some systems refuse,
/// and then it is no fence at all.
#[cfg(not(any(loom, shuttle)))]
pub(crate) use super::system::heavy_fence;

/// Shuttle's threads see the latest values in any case.
#[cfg(shuttle)]
pub(crate) fn heavy_fence() -> bool {
    true
}

/// Registers the process for heavy fences, as early as possible: with few threads it is quick.
pub(crate) fn prepare() {
    #[cfg(not(any(loom, shuttle)))]
    super::system::register_heavy_fence();
}
