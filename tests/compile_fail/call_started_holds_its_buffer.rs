//! A started call has its buffers until it was waited for; a request stays in its scope, and so
//! does a call that was set up.
use phalanx::{call, op};

fn main() {
    phalanx::run(2, |comm| {
        let mut x = [1.0];
        comm.requests(|scope| {
            let sum = scope.start(call::all_reduce(&mut x, op::Sum));
            #[cfg(not(fixed))]
            { x[0] = 2.0; } //~ E0506
            let x: &mut [f64] = scope.wait(sum);
            x[0] = 2.0;
        });
        #[cfg(not(fixed))]
        comm.requests(|scope| {
            let mut y = [1.0];
            let sum = scope.start(call::all_reduce(&mut y, op::Sum)); //~ E0597
            scope.wait(sum);
        });
        #[cfg(not(fixed))]
        drop(comm.requests(|scope| scope.start(call::barrier()))); //~ lifetime
        #[cfg(not(fixed))]
        drop(comm.requests(|scope| scope.set_up(call::barrier()))); //~ lifetime
    })
    .unwrap();
}
