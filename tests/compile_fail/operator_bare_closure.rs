//! Whether a closure is commutative must be said.
// says: is no operator on elements of type
// says: `op::ordered(|a, b| ..)`
use phalanx::op;

fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.all_reduce(&mut [1], |a: i32, b: i32| a + b); //~ E0277
        #[cfg(fixed)]
        comm.all_reduce(&mut [1], op::commutative(|a: i32, b: i32| a + b));
    })
    .unwrap();
}
