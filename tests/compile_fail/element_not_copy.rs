//! Elements are copied bit by bit: nothing that owns something.
fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.broadcast(&mut [String::new()], 0); //~ E0277
        #[cfg(fixed)]
        comm.broadcast(&mut ['x'], 0);
    })
    .unwrap();
}
