//! Each operation as one call on buffers of its sizes.

use phalanx::schedule::Operation;
use phalanx::{Comm, op};

/// One rank's buffers.
pub(crate) struct Buffers {
    pub(crate) x: Vec<f64>,
    pub(crate) wide: Vec<f64>,
    pub(crate) out: Vec<f64>,
}

/// One call on `n` elements; of the operations with blocks, `n` is the length of
/// all blocks.
pub(crate) fn call(comm: &mut Comm, operation: Operation, b: &mut Buffers, n: usize) {
    let p = comm.size();
    let block = n / p;
    let at_root = if comm.rank() == 0 { block * p } else { 0 };
    match operation {
        Operation::Broadcast => comm.broadcast(&mut b.x[..n], 0),
        Operation::Reduce => comm.reduce(&mut b.x[..n], op::Sum, 0),
        Operation::AllReduce => comm.all_reduce(&mut b.x[..n], op::Sum),
        Operation::Scan => comm.scan(&mut b.x[..n], op::Sum),
        Operation::ExclusiveScan => comm.exclusive_scan(&mut b.x[..n], op::Sum),
        Operation::Shift => comm.shift(&mut b.x[..n], 1),
        Operation::AllGather => comm.all_gather_into(&b.x[..block], &mut b.out[..block * p]),
        Operation::Gather => comm.gather_into(&b.x[..block], &mut b.out[..at_root], 0),
        Operation::Scatter => comm.scatter_into(&b.wide[..at_root], &mut b.out[..block], 0),
        Operation::ReduceScatter => {
            comm.reduce_scatter_into(&b.wide[..block * p], &mut b.out[..block], op::Sum);
        }
        Operation::AllToAll => {
            comm.all_to_all_into(&b.wide[..block * p], &mut b.out[..block * p]);
        }
        Operation::AllToAllInPlace => comm.all_to_all_in_place(&mut b.x[..block * p]),
        _ => comm.barrier(),
    }
}
