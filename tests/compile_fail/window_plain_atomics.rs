//! Plain values of a window of atomics outside of an epoch; atomics of what has none; atomics of
//! plain elements.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn main() {
    phalanx::run(2, |comm| {
        let window = comm.shared_atomic::<u64>(4);
        #[cfg(not(fixed))]
        let plain: &[u64] = window.part(1); //~ E0308
        #[cfg(not(fixed))]
        let pairs = comm.shared_atomic::<(u8, u8)>(4); //~ E0277
        #[cfg(not(fixed))]
        comm.shared::<AtomicU64>(4); //~ E0277
        #[cfg(fixed)]
        let plain: &[AtomicU64] = window.part(1);
        #[cfg(fixed)]
        plain[0].load(Relaxed)
    })
    .unwrap();
}
