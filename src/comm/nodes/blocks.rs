//! Calls that move blocks: broadcast, gather, scatter, all-to-all.

use super::{Lengths, LocalStep, starts};
use crate::exec::{Kernel, Partition};
use crate::net::{NodeLayout, Transfer};
use crate::schedule::Operation;
use std::ptr::null;

impl LocalStep<'_> {
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn broadcast(&mut self, kernel: &Kernel<'_>, output: *mut u8) {
        let layout = self.layout();
        let (home, root) = layout.place(self.call.root_rank());
        let Partition::Vector(n) = self.call.cut() else { unreachable!("a vector") };
        let (cut, bytes) = (Partition::Vector(n), n * kernel.size());
        let (at, op) = (output, Operation::Broadcast);
        let lanes = self.lanes(bytes);
        // SAFETY: in place, by the contract; the network's part as well, and it
        // is not looked at meanwhile.
        unsafe {
            if home == self.node() {
                self.step(op, root, cut, kernel, null(), output);
            }
            if lanes {
                return self.broadcast_by_lanes(home, kernel, output, n);
            }
            if self.is_leader() {
                self.agree_while(Some(Transfer::Broadcast { root: home, at, bytes }));
            }
            if home != self.node() {
                self.step(op, 0, cut, kernel, null(), output);
            }
        }
    }

    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn all_gather(
        &mut self,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let cut = self.call.cut();
        let lens = Lengths::of_cut(cut);
        let total: usize = (0..self.layout().ranks()).map(|rank| lens.of(rank)).sum();
        // SAFETY: the contract.
        unsafe {
            if self.lanes(total * kernel.size()) {
                return self.all_gather_by_lanes(&lens, kernel, input, output);
            }
            self.assemble(&lens, kernel, input, output);
            self.step(Operation::Broadcast, 0, Partition::Vector(total), kernel, null(), output);
        }
    }

    /// All ranks' blocks, in rank order, in the leaders' `output`.
    ///
    /// # Safety
    /// As `Call::on_memory` for an all-gather; `output` is looked at on leaders only.
    pub(super) unsafe fn assemble(
        &mut self,
        lens: &Lengths<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let (layout, size, node) = (self.layout(), kernel.size(), self.node());
        let own = self.own_counts(lens);
        let counts = node_bytes(&layout, lens, size);
        let starts = starts(counts.iter().copied());
        let total = starts[layout.nodes()];
        let in_place = layout.is_contiguous();
        let all = match (self.is_leader(), in_place) {
            (true, false) => self.memory(0, total, kernel),
            _ => output,
        };
        let section = if self.is_leader() { all.wrapping_add(starts[node]) } else { all };
        // SAFETY: the blocks by the contract; the leader's section has room for
        // this node's, and the whole for all.
        unsafe {
            self.step(Operation::Gather, 0, lens.cut(&own), kernel, input, section);
            if self.is_leader() {
                self.agree_while(Some(Transfer::AllGather { all, counts: &counts }));
                if !in_place {
                    by_rank(&layout, lens, kernel, all, output);
                }
            }
        }
    }

    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn gather(&mut self, kernel: &Kernel<'_>, input: *const u8, output: *mut u8) {
        let (layout, size, node) = (self.layout(), kernel.size(), self.node());
        let cut = self.call.cut();
        let lens = Lengths::of_cut(cut);
        let own = self.own_counts(&lens);
        let counts = node_bytes(&layout, &lens, size);
        let starts = starts(counts.iter().copied());
        let (home, root) = layout.place(self.call.root_rank());
        let bytes = if home == node { starts[layout.nodes()] } else { counts[node] };
        let leader = self.is_leader();
        let all = if leader { self.memory(0, bytes, kernel) } else { std::ptr::null_mut() };
        let section = if home == node { all.wrapping_add(starts[node]) } else { all };
        let section = if leader { section } else { std::ptr::null_mut() };
        // SAFETY: the blocks by the contract; the leader's memory has room.
        unsafe {
            self.step(Operation::Gather, 0, lens.cut(&own), kernel, input, section);
            if leader {
                let mine = section;
                self.agree_while(Some(Transfer::Gather { root: home, mine, all, counts: &counts }));
            }
            if home != node {
                return;
            }
            let total = starts[layout.nodes()];
            let mut sorted = all;
            if leader && !layout.is_contiguous() {
                sorted = self.memory(1, total, kernel);
                by_rank(&layout, &lens, kernel, all, sorted);
            }
            let elements = (0..layout.ranks()).map(|rank| lens.of(rank)).sum();
            self.deliver(root, elements, kernel, sorted, output);
        }
    }

    /// Copies `n` elements at the leader's `from` to local rank `to`'s `output`.
    ///
    /// # Safety
    /// Both are valid for that, and do not overlap.
    pub(super) unsafe fn deliver(
        &mut self,
        to: usize,
        n: usize,
        kernel: &Kernel<'_>,
        from: *const u8,
        output: *mut u8,
    ) {
        if to == 0 {
            if self.is_leader() {
                // SAFETY: by the contract.
                unsafe { kernel.copy(output, from, n) };
            }
            return;
        }
        let mut counts = vec![0; self.comm.port.size()];
        counts[to] = n;
        let output = if self.local() == to { output } else { std::ptr::null_mut() };
        // SAFETY: one block, by the contract.
        unsafe {
            self.step(Operation::Scatter, 0, Partition::Varied(&counts), kernel, from, output);
        }
    }

    /// Copies `n` elements at local rank `from`'s `input` to the leader's
    /// `output`.
    ///
    /// # Safety
    /// As `deliver`.
    pub(super) unsafe fn fetch(
        &mut self,
        from: usize,
        n: usize,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        if from == 0 {
            if self.is_leader() {
                // SAFETY: by the contract.
                unsafe { kernel.copy(output, input, n) };
            }
            return;
        }
        let mut counts = vec![0; self.comm.port.size()];
        counts[from] = n;
        // SAFETY: one block, by the contract.
        unsafe {
            self.step(Operation::Gather, 0, Partition::Varied(&counts), kernel, input, output)
        };
    }

    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn scatter(
        &mut self,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let (layout, size, node) = (self.layout(), kernel.size(), self.node());
        let cut = self.call.cut();
        let lens = Lengths::of_cut(cut);
        let own = self.own_counts(&lens);
        let counts = node_bytes(&layout, &lens, size);
        let starts = starts(counts.iter().copied());
        let (home, root) = layout.place(self.call.root_rank());
        let (leader, total) = (self.is_leader(), starts[layout.nodes()]);
        let bytes = if home == node { total } else { counts[node] };
        let mut all = if leader { self.memory(0, bytes, kernel) } else { std::ptr::null_mut() };
        // SAFETY: the blocks by the contract; the leader's memory has room.
        unsafe {
            if home == node {
                let elements = (0..layout.ranks()).map(|rank| lens.of(rank)).sum();
                self.fetch(root, elements, kernel, input, all);
                if leader && !layout.is_contiguous() {
                    let sorted = self.memory(1, total, kernel);
                    by_node(&layout, &lens, kernel, all, sorted);
                    all = sorted;
                }
            }
            let section = if home == node { all.wrapping_add(starts[node]) } else { all };
            if leader {
                let transfer =
                    Transfer::Scatter { root: home, all, mine: section, counts: &counts };
                self.agree_while(Some(transfer));
            }
            self.step(Operation::Scatter, 0, lens.cut(&own), kernel, section, output);
        }
    }

    /// # Safety
    /// As `Call::on_memory`. Both may be one buffer: all is gathered before anything is scattered.
    pub(super) unsafe fn all_to_all(
        &mut self,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let (layout, node, size) = (self.layout(), self.node(), kernel.size());
        let (p, t, nodes) = (layout.ranks(), self.comm.port.size(), layout.nodes());
        let leader = self.is_leader();
        // On the leader: what each of this node's ranks sends to all, and
        // receives from all.
        let (sends, recvs) = match self.call.cut() {
            Partition::Equal(m) => (vec![m; t * p], vec![m; t * p]),
            Partition::Pairs { send, recv } => self.tables(send, recv),
            _ => unreachable!("blocks for all ranks"),
        };
        let rows = |table: &[usize]| -> Vec<usize> {
            (0..t).map(|l| table[l * p..][..p].iter().sum()).collect()
        };
        let (sent, received) = (rows(&sends), rows(&recvs));
        let (send_starts, recv_starts) =
            (starts(sent.iter().copied()), starts(received.iter().copied()));
        let local = layout.members(node).to_vec();
        // By node: the elements that go there, and come from there.
        let to = |j: usize, table: &[usize]| -> usize {
            let pairs = (0..t).flat_map(|l| layout.members(j).iter().map(move |&r| l * p + r));
            pairs.map(|at| table[at]).sum()
        };
        let send_counts: Vec<usize> = (0..nodes).map(|j| to(j, &sends) * size).collect();
        let recv_counts: Vec<usize> = (0..nodes).map(|j| to(j, &recvs) * size).collect();
        let (gathered, send, recv) = if leader {
            (
                self.memory(0, send_starts[t] * size, kernel),
                self.memory(1, send_starts[t] * size, kernel),
                self.memory(2, recv_starts[t] * size, kernel),
            )
        } else {
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut())
        };
        // SAFETY: the buffers by the contract, of the lengths in the tables, which
        // are checked against them before; the leader's memory has room for all of
        // this node's.
        unsafe {
            self.step(Operation::Gather, 0, Partition::Varied(&sent), kernel, input, gathered);
            if leader {
                // [rank here][rank] becomes [node][rank here][rank there].
                let mut at = send;
                for j in 0..nodes {
                    for l in 0..t {
                        let begins = starts(sends[l * p..][..p].iter().copied());
                        for &r in layout.members(j) {
                            let n = sends[l * p + r];
                            let from = (send_starts[l] + begins[r]) * size;
                            kernel.copy(at, gathered.wrapping_add(from), n);
                            at = at.wrapping_add(n * size);
                        }
                    }
                }
                if matches!(self.call.cut(), Partition::Pairs { .. }) {
                    self.agree_while(None);
                    self.compare_tables(&layout, &sends, &recvs);
                }
                let (send_counts, recv_counts) = (&send_counts[..], &recv_counts[..]);
                let transfer = Transfer::AllToAll { send, send_counts, recv, recv_counts };
                match self.call.cut() {
                    Partition::Pairs { .. } => self.transfer(transfer),
                    _ => self.agree_while(Some(transfer)),
                }
            }
            // [node][rank there][rank here] becomes [rank here][rank].
            let sorted = match leader {
                true => self.memory(0, recv_starts[t] * size, kernel),
                false => std::ptr::null_mut(),
            };
            if leader {
                let mut from = recv;
                let begins: Vec<Vec<usize>> =
                    (0..t).map(|l| starts(recvs[l * p..][..p].iter().copied())).collect();
                for j in 0..nodes {
                    for &r in layout.members(j) {
                        for l in 0..local.len() {
                            let n = recvs[l * p + r];
                            let at = (recv_starts[l] + begins[l][r]) * size;
                            kernel.copy(sorted.wrapping_add(at), from, n);
                            from = from.wrapping_add(n * size);
                        }
                    }
                }
            }
            self.step(Operation::Scatter, 0, Partition::Varied(&received), kernel, sorted, output);
        }
    }

    /// This node's ranks' counts to and from all ranks, on all of this node.
    fn tables(&mut self, send: &[usize], recv: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let t = self.comm.port.size();
        let kernel = Kernel::mover::<usize>();
        let mut gather = |counts: &[usize]| {
            let mut all = vec![0usize; t * counts.len()];
            let (from, to) = (counts.as_ptr().cast(), all.as_mut_ptr().cast());
            let cut = Partition::Equal(counts.len());
            // SAFETY: a block, and room for all of them; peers compare the call
            // and the step, which has no other payload anywhere.
            unsafe { self.step(Operation::AllGather, 0, cut, &kernel, from, to) };
            all
        };
        (gather(send), gather(recv))
    }

    /// Whether what ranks on other nodes send to ours is what ours expect.
    fn compare_tables(&mut self, layout: &NodeLayout, sends: &[usize], recvs: &[usize]) {
        let (p, t, node) = (layout.ranks(), self.comm.port.size(), self.node());
        let pairs: Vec<usize> =
            (0..layout.nodes()).map(|j| t * layout.members(j).len() * 8).collect();
        let told: Vec<u64> = (0..layout.nodes())
            .flat_map(|j| (0..t).map(move |l| (j, l)))
            .flat_map(|(j, l)| layout.members(j).iter().map(move |&r| l * p + r))
            .map(|at| sends[at] as u64)
            .collect();
        let mut heard = vec![0u64; told.len()];
        self.transfer(Transfer::AllToAll {
            send: told.as_ptr().cast(),
            send_counts: &pairs,
            recv: heard.as_mut_ptr().cast(),
            recv_counts: &pairs,
        });
        let mut heard = heard.into_iter();
        for j in 0..layout.nodes() {
            for &r in layout.members(j) {
                for l in 0..t {
                    let (sent, expected) = (heard.next().unwrap_or(0), recvs[l * p + r] as u64);
                    if sent != expected {
                        let here = layout.members(node)[l];
                        self.fail(&format!(
                            "rank {r} sends {sent} elements to rank {here}, \
                             which expects {expected}"
                        ));
                    }
                }
            }
        }
    }
}

/// An address for no elements, where there is none.
pub(super) fn non_null(at: *mut u8, kernel: &Kernel<'_>) -> *mut u8 {
    if at.is_null() { std::ptr::without_provenance_mut(kernel.align()) } else { at }
}

/// Bytes of each node's blocks.
pub(super) fn node_bytes(layout: &NodeLayout, lens: &Lengths<'_>, size: usize) -> Vec<usize> {
    (0..layout.nodes())
        .map(|j| layout.members(j).iter().map(|&r| lens.of(r)).sum::<usize>() * size)
        .collect()
}

/// Blocks that lie node by node, put in the order of ranks.
///
/// # Safety
/// Both are valid for all blocks and do not overlap.
unsafe fn by_rank(
    layout: &NodeLayout,
    lens: &Lengths<'_>,
    kernel: &Kernel<'_>,
    from: *const u8,
    to: *mut u8,
) {
    let begins = starts((0..layout.ranks()).map(|r| lens.of(r)));
    let mut from = from;
    for r in (0..layout.nodes()).flat_map(|j| layout.members(j)) {
        let n = lens.of(*r);
        // SAFETY: by the contract.
        unsafe { kernel.copy(to.wrapping_add(begins[*r] * kernel.size()), from, n) };
        from = from.wrapping_add(n * kernel.size());
    }
}

/// The other way.
///
/// # Safety
/// As `by_rank`.
pub(super) unsafe fn by_node(
    layout: &NodeLayout,
    lens: &Lengths<'_>,
    kernel: &Kernel<'_>,
    from: *const u8,
    to: *mut u8,
) {
    let begins = starts((0..layout.ranks()).map(|r| lens.of(r)));
    let mut to = to;
    for r in (0..layout.nodes()).flat_map(|j| layout.members(j)) {
        let n = lens.of(*r);
        // SAFETY: by the contract.
        unsafe { kernel.copy(to, from.wrapping_add(begins[*r] * kernel.size()), n) };
        to = to.wrapping_add(n * kernel.size());
    }
}
