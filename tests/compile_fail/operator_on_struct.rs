//! A sum of structs is not there by itself. The compiler shows the ways to one.
// says: is no operator on elements of type `Atom`
// says: `op::commutative(|a, b| ..)`
// says: `num_complex::Complex`
// says: features `complex` and `half` of phalanx
use phalanx::op;

#[derive(Clone, Copy)]
struct Atom {
    mass: f64,
}

fn main() {
    phalanx::run(2, |comm| {
        let mut atoms = [Atom { mass: 1.0 }; 4];
        #[cfg(not(fixed))]
        comm.all_reduce(&mut atoms, op::Sum); //~ E0277
        #[cfg(fixed)]
        comm.all_reduce(&mut atoms, {
            op::commutative(|a: Atom, b: Atom| Atom { mass: a.mass + b.mass })
        });
    })
    .unwrap();
}
