//! Collectives take slices. (A type mismatch: there is no trait that could say more.)
use phalanx::op;

fn main() {
    phalanx::run(2, |comm| {
        let mut x = 1.0;
        #[cfg(not(fixed))]
        comm.all_reduce(&mut x, op::Sum); //~ E0308
        #[cfg(fixed)]
        comm.all_reduce(std::slice::from_mut(&mut x), op::Sum);
        comm.sum([x])
    })
    .unwrap();
}
