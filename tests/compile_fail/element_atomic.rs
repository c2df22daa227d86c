//! Atomics do not travel; ranks share them.
// says: `AtomicU64` cannot travel between ranks
// says: the closure of `run` captures `&[AtomicU64]`, or `shared_atomic` makes them
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

fn main() {
    let shared = [AtomicU64::new(0), AtomicU64::new(0)];
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.with_peers(&[AtomicU64::new(1)], |all| all[0][0].load(Relaxed)); //~ E0277
        shared[comm.rank()].fetch_add(1, Relaxed);
        comm.barrier();
        shared[0].load(Relaxed)
    })
    .unwrap();
}
