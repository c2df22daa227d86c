//! Open MPI's collectives on one node, by messages: tuned's for blocking calls, libnbc's for
//! persistent ones.

use super::by_messages::{
    Transport, binomial_reduce, doubling_all_reduce, halving_all_reduce, halving_reduce,
    scatter_broadcast, wide_broadcast,
};
use super::clocks::PhaseClocks;
use super::ext_mpi::Kind;
use super::node::Call;

/// Messages through a box, beyond 256 bytes through a list of fragments, and mapped ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    pub(super) boxed: Transport,
    pub(super) listed: Transport,
    pub(super) mapped: Transport,
}

const BOXED: f64 = 256.0;
/// Where messages are mapped: a user's buffer from here on, the new buffers of a fold later.
const MAPPED: [f64; 3] = [32768.0, 4096.0, 32768.0];

/// The bytes of a segment of a pipelined tree.
const SEGMENT: f64 = 8192.0;

pub(super) fn time(call: &Call<'_>, kind: Kind, by: &Ways) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let of = |bytes: f64| match bytes {
        b if b <= BOXED => &by.boxed,
        b if b <= MAPPED[kind as usize] => &by.listed,
        _ => &by.mapped,
    };
    let by = of(m);
    let part = of(m / p as f64);
    let part = &Transport { message_ns: 0.5 * (part.message_ns + by.message_ns), ..*by };
    match kind {
        Kind::AllReduce => doubling_all_reduce(call, by).min(halving_all_reduce(call, part)),
        Kind::Broadcast => wide_broadcast(call, by, 4)
            .min(pipelined(call, by, false))
            .min(scatter_broadcast(call, part, false)),
        Kind::Reduce => {
            binomial_reduce(call, by).min(pipelined(call, by, true)).min(halving_reduce(call, part))
        }
    }
}

/// A binary tree in segments: every rank has one at work while its parent has the next.
fn pipelined(call: &Call<'_>, by: &Transport, adds: bool) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    let segments = (m / SEGMENT).ceil().max(1.0);
    let bytes = m / segments;
    let mut clocks = PhaseClocks::new(call, by.buffers * m);
    // One segment on all edges of the tree at once.
    let mut depths = 0.0;
    for rank in 1..p {
        let parent = (rank - 1) / 2;
        depths += f64::from((rank + 1).ilog2());
        let (to, of) = if adds { (parent, rank) } else { (rank, parent) };
        clocks.work(to, by.message_ns + by.hand_offs * clocks.hand_off(rank, parent));
        clocks.read_cell(to, of, bytes);
        clocks.own_write(to, bytes);
        if adds {
            clocks.own_write(to, bytes);
        }
    }
    clocks.run();
    let pace = clocks.at.iter().copied().fold(0.0, f64::max) / 1000.0;
    pace * (segments - 1.0 + depths / p as f64)
}
