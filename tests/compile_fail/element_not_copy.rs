//! Elements are copied bit by bit, so they may not own anything.
// says: `String` cannot travel between ranks
// says: move the plain values in it: the bytes of a `String`
// says: `send_owned` hands over any `Send` value
fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.broadcast(&mut [String::new()], 0); //~ E0277
        #[cfg(fixed)]
        comm.broadcast(&mut ['x'], 0);
    })
    .unwrap();
}
