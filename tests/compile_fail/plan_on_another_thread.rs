//! A plan of ghosts stays on the thread of its rank.
fn is_send<T: Send>(_: T) {}
fn main() {
    phalanx::run(2, |comm| {
        let plan = comm.ghosts(&phalanx::dist::Block::new(2, 2), &[]);
        #[cfg(not(fixed))]
        is_send(plan); //~ E0277
        #[cfg(fixed)]
        drop(plan);
    })
    .unwrap();
}
