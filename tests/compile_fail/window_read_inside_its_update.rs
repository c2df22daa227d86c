//! Peers' parts of a window in an update of it; the communicator in an update by it.

fn main() {
    phalanx::run(2, |comm| {
        let mut window = comm.shared::<u64>(4);
        #[cfg(not(fixed))]
        window.update(comm, |mine| mine[0] = window.part(1)[0]); //~ E0502
        #[cfg(not(fixed))]
        window.update(comm, |_| comm.barrier()); //~ E0499 E0500 E0501
        #[cfg(fixed)]
        window.update(comm, |mine| mine[0] = 1);
    })
    .unwrap();
}
