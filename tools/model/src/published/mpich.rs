//! MPICH's collectives on one node: release and gather by flags and small cells, and the schedules
//! of its messages (those of its persistent calls).

use super::by_messages::{
    Transport, binomial_broadcast, binomial_reduce, doubling_all_reduce, halving_all_reduce,
    halving_reduce, scatter_broadcast,
};
use super::clocks::PhaseClocks;
use super::ext_mpi::Kind;
use super::node::{Call, Node};

/// The bytes of a cell of release and gather, and of a message's cell.
const CELL: f64 = 8192.0;

/// The software of release and gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    /// A call without its flags: all-reduce, broadcast, reduce.
    pub(super) call_ns: [f64; 3],
    /// A chunk or a child.
    pub(super) child_ns: f64,
}

/// A tree of `k` children a rank within each package, and the packages' first ranks below the root.
fn tree(clocks: &PhaseClocks<'_>, node: &Node, spread: bool, k: usize) -> Vec<Vec<usize>> {
    let p = clocks.ranks();
    let mut local: Vec<Vec<usize>> = vec![Vec::new(); node.packages];
    (0..p).for_each(|r| local[node.package(node.core(r, spread))].push(r));
    let mut children = vec![Vec::new(); p];
    for members in &local {
        for (i, member) in members.iter().enumerate().skip(1) {
            children[members[(i - 1) / k]].push(*member);
        }
    }
    let firsts: Vec<usize> = local.iter().filter_map(|m| m.first().copied()).collect();
    for first in firsts.iter().skip(1) {
        children[0].insert(0, *first);
    }
    children
}

/// From the root on, parents before their children.
fn order(children: &[Vec<usize>]) -> Vec<usize> {
    let mut all = vec![0];
    let mut i = 0;
    while i < all.len() {
        all.extend(&children[all[i]]);
        i += 1;
    }
    all
}

/// Gathers flags, and with `bytes` adds the children's cells; the flags arrive along the tree.
fn gather(
    clocks: &mut PhaseClocks<'_>,
    node: &Node,
    children: &[Vec<usize>],
    bytes: f64,
    flags: Flags,
) {
    let lines = super::clocks::lines(bytes);
    let order = order(children);
    let mut depth = vec![0usize; children.len()];
    order.iter().for_each(|&r| children[r].iter().for_each(|&c| depth[c] = depth[r] + 1));
    let line = |d: usize| node.line(d, node.reads_in_flight);
    let deepest = depth.iter().copied().max().unwrap_or(0);
    for level in (0..deepest).rev() {
        let here: Vec<usize> = (0..children.len()).filter(|r| depth[*r] == level).collect();
        let of_rank = |r: usize| -> f64 {
            children[r].iter().map(|c| lines * line(clocks.distance(r, *c))).sum()
        };
        let busiest = here.iter().map(|r| of_rank(*r)).fold(0.0, f64::max);
        let all: usize = here.iter().map(|r| children[*r].len()).sum();
        let home = all as f64 * lines * node.home;
        let stretch = if busiest > 0.0 { (home / busiest).max(1.0) } else { 1.0 };
        for r in here {
            for &c in &children[r] {
                let (h, d) = (clocks.hand_off(r, c), clocks.distance(r, c));
                // The flag was polled: it is taken back, then fetched; a child that is long there
                // costs its fetch.
                clocks.at[r] = (clocks.at[c] + 2.0 * h).max(clocks.at[r] + h) + flags.child_ns;
                if lines > 0.0 {
                    clocks.at[r] += h + (lines - 1.0) * line(d) * stretch;
                }
            }
        }
    }
}

/// Releases by flags; with `bytes` all ranks but the root copy the root's cell.
fn release(
    clocks: &mut PhaseClocks<'_>,
    node: &Node,
    children: &[Vec<usize>],
    bytes: f64,
    flags: Flags,
) {
    let lines = super::clocks::lines(bytes);
    for &r in &order(children) {
        for (i, &c) in children[r].iter().enumerate() {
            // All children poll one line, and get it one after the other.
            let h = clocks.hand_off(r, c);
            clocks.at[c] = clocks.at[c].max(clocks.at[r] + 2.0 * h + i as f64 * node.reader);
            clocks.at[c] += flags.child_ns;
        }
    }
    if lines == 0.0 {
        return;
    }
    // Each line of the cell is asked for by all: its home passes it on to one after the other.
    let p = clocks.ranks();
    let served = (lines - 1.0) * p as f64 * node.reader;
    for r in 1..p {
        let d = clocks.distance(r, 0);
        let line = node.line(d, node.reads_in_flight) + node.work;
        clocks.at[r] += node.hand_off[d] + ((lines - 1.0) * line).max(served);
    }
}

/// A call by release and gather.
pub(super) fn release_gather(call: &Call<'_>, kind: Kind, flags: Flags) -> f64 {
    let &Call { node, p, spread, bytes: m } = call;
    let chunks = (m / CELL).ceil().max(1.0);
    let bytes = m / chunks;
    let lines = super::clocks::lines(bytes);
    let mut clocks = PhaseClocks::new(call, 2.0 * m);
    let missed = clocks.missed();
    let narrow = tree(&clocks, node, spread, 4);
    let wide = tree(&clocks, node, spread, 64);
    // A rank's copy of a chunk into its cell, of lines that its parent has.
    let claimed = node.line(1, node.writes_in_flight);
    let own = node.work * (1.0 - missed) + node.core_memory * missed;
    let copy_in = (lines * (claimed + own)).max(lines * p as f64 * node.home);
    let most = |c: &PhaseClocks<'_>| c.at.iter().copied().fold(0.0, f64::max);
    match kind {
        Kind::AllReduce => {
            clocks.at.iter_mut().for_each(|t| *t += copy_in + flags.call_ns[0]);
            gather(&mut clocks, node, &narrow, bytes, flags);
            release(&mut clocks, node, &wide, bytes, flags);
            clocks.mean_us() + (chunks - 1.0) * most(&clocks) / 1000.0
        }
        Kind::Broadcast => {
            clocks.at[0] += lines * (claimed + own);
            clocks.at.iter_mut().for_each(|t| *t += flags.call_ns[1]);
            release(&mut clocks, node, &wide, bytes, flags);
            let (mean, pace) = (clocks.mean_us(), most(&clocks));
            // Beyond four cells the root waits for the flags of three chunks ago.
            gather(&mut clocks, node, &wide, 0.0, flags);
            let back = (clocks.at[0] - pace) / 3.0;
            mean + ((chunks - 1.0) * pace + (chunks - 4.0).max(0.0) * back) / 1000.0
        }
        Kind::Reduce => {
            // Four cells: a rank is up to three chunks ahead of its parent.
            clocks.at.iter_mut().for_each(|t| *t += copy_in + flags.call_ns[2]);
            gather(&mut clocks, node, &narrow, bytes, flags);
            let ahead = chunks.min(4.0);
            let line = node.line(1, node.reads_in_flight);
            let pace = 4.0 * (lines * line + 2.0 * node.hand_off[1] + flags.child_ns);
            let pace = (pace + lines * (claimed + own)).max(2.0 * lines * p as f64 * node.home);
            let early = ahead * clocks.mean_us();
            early + (chunks - ahead) * pace / 1000.0
        }
    }
}

/// A persistent call: the schedules of the nonblocking calls, by messages.
pub(super) fn messages(call: &Call<'_>, kind: Kind, by: &Transport) -> f64 {
    let &Call { p, bytes: m, .. } = call;
    match kind {
        Kind::AllReduce if m <= 2048.0 || m / 4.0 < p as f64 / 2.0 => doubling_all_reduce(call, by),
        Kind::AllReduce => halving_all_reduce(call, by),
        Kind::Broadcast if m < 12288.0 => binomial_broadcast(call, by),
        Kind::Broadcast => scatter_broadcast(call, by, p.is_power_of_two() && m < 524288.0),
        Kind::Reduce if m <= 2048.0 => binomial_reduce(call, by),
        Kind::Reduce => halving_reduce(call, by),
    }
}
