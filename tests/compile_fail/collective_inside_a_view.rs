//! No collective while a view is open.
fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.with_peers(&[1], |_| comm.barrier()); //~ E0500 E0501
        #[cfg(fixed)]
        comm.with_peers(&[1], |_| ());
    })
    .unwrap();
}
