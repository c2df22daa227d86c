//! On arrays an operator combines each element: it must be one of the elements.
// says: is no operator on elements of type `Atom`
// says: `op::commutative(|a, b| ..)`
use phalanx::op;

#[derive(Clone, Copy)]
struct Atom;

fn main() {
    phalanx::run(2, |comm| {
        #[cfg(not(fixed))]
        comm.all_reduce(&mut [[Atom; 3]; 2], op::Max); //~ E0277
        #[cfg(fixed)]
        comm.all_reduce(&mut [[Atom; 3]; 2], op::commutative(|a: [Atom; 3], _| a));
    })
    .unwrap();
}
