//! A slice that peers can see is not written meanwhile.
fn main() {
    phalanx::run(2, |comm| {
        let mut mine = vec![1, 2, 3];
        #[cfg(not(fixed))]
        comm.with_peers(&mine, |_| mine[0] = 7); //~ E0502
        #[cfg(fixed)]
        comm.with_peers(&mine, |_| ());
        mine[0] = 8;
    })
    .unwrap();
}
