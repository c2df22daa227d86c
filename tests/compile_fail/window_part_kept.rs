//! The own part, or all parts of atomics, kept beyond the epoch.

fn main() {
    phalanx::run(2, |comm| {
        let mut window = comm.shared::<u64>(4);
        let mut atomics = comm.shared_atomic::<u64>(4);
        #[cfg(not(fixed))]
        {
            let kept = window.update(comm, |mine| mine); //~ lifetime
            let all = atomics.read(comm, |all| all); //~ lifetime
            kept[0] + all[0][0]
        }
        #[cfg(fixed)]
        {
            let kept = window.update(comm, |mine| mine[0]);
            let all = atomics.read(comm, |all| all[0][0]);
            kept + all
        }
    })
    .unwrap();
}
