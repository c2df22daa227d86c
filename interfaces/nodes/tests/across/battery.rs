//! Every call of every kind, on any number of ranks and nodes. The same file runs on one node, on
//! nodes inside one process, and over MPI; what it gives is the same everywhere.

use super::calls::{Call, KINDS, TYPES, sort};
use phalanx_nodes::NodeComm;

/// Lengths: nothing, a few, what travels with a message's header and one more, more than a mailbox
/// holds, more than rails and pieces need.
const LENGTHS: [usize; 7] = [0, 1, 7, 128, 129, 300, 9_000];
/// In sub-communicators.
const FEWER: [usize; 2] = [1, 290];

/// Runs everything; returns a digest of all ranks' results.
pub(crate) fn all(comm: &mut NodeComm) -> u64 {
    let (r, p, mut out) = (comm.rank(), comm.size(), Vec::new());
    every_call(comm, &LENGTHS, &mut out);
    // The same in communicators: halves, reversed, interleaved; even ranks before odd ones, where
    // nodes and ranks are not in one order.
    for (color, key) in [(r % 2, r), (0, p - r), (2 * r / p, r), (7, r % 2 * p + r)] {
        every_call(&mut comm.split(color, key), &FEWER, &mut out);
    }
    let mut node = NodeComm::from(comm.split_by_node());
    assert_eq!(node.nodes(), 1);
    every_call(&mut node, &FEWER, &mut Vec::new());
    drop(node);
    let own = out.iter().fold(r as u64, |sum, x| (sum ^ x).wrapping_mul(0x0100_0000_01b3));
    let [digest] = comm.sum([own]);
    digest
}

fn every_call(comm: &mut NodeComm, lengths: &[usize], out: &mut Vec<u64>) {
    let p = comm.size();
    for (kind, &n) in (0..KINDS).flat_map(|kind| lengths.iter().map(move |n| (kind, n))) {
        let types: &[usize] = match sort(kind) {
            (_, true) if n > 300 => &[6],
            (_, true) => &[1, kind % 6, 6],
            (true, _) if n > 300 => &[0, 4, TYPES - 1],
            (true, _) => &[0, 1, 2, 3, 4, 5, 6, 7, 8, TYPES - 1],
            _ => &[0],
        };
        for &of in types {
            let (root, seed) = ((kind + n) % p, (1000 * kind + 10 * n + of) as u64);
            // Some have nothing.
            let counts = (0..p).map(|q| (q + 1) % 3 * (n / 2 + 1)).collect();
            let is_fixed = (kind + n + of) % 2 == 0;
            Call { kind, n, root, seed, counts, is_fixed, rounds: false }.make(comm, of, 1, out);
        }
    }
}
