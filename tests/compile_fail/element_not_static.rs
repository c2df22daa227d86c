//! A rank's references would be dangling on another: fingerprints do not know lifetimes.
fn main() {
    phalanx::run(2, |comm| {
        let local = comm.rank();
        #[cfg(not(fixed))]
        comm.broadcast(&mut [&local], 0); //~ E0597
        #[cfg(fixed)]
        comm.broadcast(&mut [local], 0);
    })
    .unwrap();
}
