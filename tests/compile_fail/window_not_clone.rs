//! Two handles of one rank: one could be read while the other writes.

fn main() {
    phalanx::run(2, |comm| {
        let window = comm.shared::<u64>(4);
        #[cfg(not(fixed))]
        let other = window.clone(); //~ E0599
        #[cfg(fixed)]
        let other = window;
        other.len()
    })
    .unwrap();
}
