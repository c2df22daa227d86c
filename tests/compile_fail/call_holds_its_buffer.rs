//! A call that is a value holds its buffers, before it is made.
use phalanx::{call, op};

fn main() {
    phalanx::run(2, |comm| {
        let (mine, mut all, mut x) = ([1.0], [0.0; 2], [1.0]);
        let sum = call::all_reduce(&mut x, op::Sum);
        #[cfg(not(fixed))]
        { x[0] = 2.0; } //~ E0506
        comm.run(sum);
        let blocks = call::all_gather_into(&mine, &mut all);
        #[cfg(not(fixed))]
        drop(all[0] + 1.0); //~ E0503
        comm.run(blocks);
    })
    .unwrap();
}
