//! The input of a call is a slice, an array or a `Vec`, by reference.
// says: is no input of elements
use phalanx::call;

fn main() {
    phalanx::run(2, |comm| {
        let (mine, mut all) = (1.0, [0.0; 2]);
        #[cfg(not(fixed))]
        comm.run(call::all_gather_into(&mine, &mut all)); //~ E0277
        #[cfg(fixed)]
        comm.run(call::all_gather_into(&[mine], &mut all));
    })
    .unwrap();
}
