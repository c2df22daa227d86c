//! Collectives take the communicator exclusively: an operator cannot call one on the same.
use phalanx::op;
fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.all_reduce(&mut [1], op::commutative(|a, b| { comm.barrier(); a + b })); //~ E0525
        #[cfg(fixed)]
        comm.all_reduce(&mut [1], op::commutative(|a, b| a + b));
    })
    .unwrap();
}
