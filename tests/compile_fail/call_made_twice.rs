//! A call is made once: it has its buffers, and gives them back.
use phalanx::{call, op};

fn main() {
    phalanx::run(2, |comm| {
        let mut x = [1.0];
        let sum = call::all_reduce(&mut x, op::Sum);
        comm.run(sum);
        #[cfg(fixed)]
        let sum = call::all_reduce(&mut x, op::Sum);
        comm.run(sum); //~ E0382
    })
    .unwrap();
}
