//! Elements that neighbours may be reading are not written by the work meanwhile.
fn main() {
    phalanx::run(2, |comm| {
        let plan = comm.ghosts(&phalanx::dist::Block::new(2, 2), &[0]);
        let (mut own, mut ghosts) = ([1.0], [0.0]);
        #[cfg(not(fixed))]
        plan.gather_while(comm, &own, &mut ghosts, || own[0] = 2.0); //~ E0502
        #[cfg(fixed)]
        plan.gather_while(comm, &own, &mut ghosts, || ());
        own[0] = 3.0;
    })
    .unwrap();
}
