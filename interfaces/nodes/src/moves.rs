//! Calls that move blocks: broadcast, gather, scatter.

use crate::call::NodeCall;
use crate::layout::{Lengths, in_order, to_ranks};
use crate::node_comm::{NodeComm, of_comm};
use crate::steps::{Move, Steps, all_set, filled, room, room_mut, unset};
use phalanx::Element;
use std::mem::MaybeUninit;
use std::ops::Range;

/// See [`Steps::rooted`].
type Rooted<T> = ((usize, usize), Vec<usize>, Vec<MaybeUninit<T>>, Range<usize>);

impl Steps<'_> {
    /// Elements of this node's ranks.
    pub(crate) fn own_counts(&self, lens: &Lengths<'_>) -> Vec<usize> {
        self.layout().members(self.node()).iter().map(|&rank| lens.of(rank)).collect()
    }

    #[track_caller]
    pub(crate) fn broadcast<T: Element>(&mut self, buf: &mut [T], root: usize) {
        self.check_rank("root", root);
        let (home, root) = self.layout().place(root);
        if home == self.node() {
            self.comm.broadcast(buf, root);
        }
        if self.rails(size_of_val(buf)) {
            return self.broadcast_by_rails(home, buf);
        }
        if self.is_leader() {
            self.agree_and(Move::Broadcast { root: home, data: buf });
        }
        if home != self.node() {
            self.comm.broadcast(buf, 0);
        }
    }

    #[track_caller]
    pub(crate) fn all_gather<T: Element>(&mut self, mine: &[T], all: &mut [T], lens: &Lengths<'_>) {
        if self.rails(size_of_val(all)) {
            return self.all_gather_by_rails(lens, mine, all);
        }
        self.assemble(mine, all, lens);
        self.comm.broadcast(all, 0);
    }

    /// All ranks' blocks, in rank order, in the leaders' `all`.
    #[track_caller]
    pub(crate) fn assemble<T: Element>(&mut self, mine: &[T], all: &mut [T], lens: &Lengths<'_>) {
        let layout = self.layout();
        let (own, counts) = (self.own_counts(lens), lens.by_node(layout));
        if !self.is_leader() {
            return self.gather_here(mine, &mut [], lens, &own);
        }
        let begin: usize = counts[..self.node()].iter().sum();
        let section = begin..begin + counts[self.node()];
        if layout.is_contiguous() {
            self.gather_here(mine, &mut all[section], lens, &own);
            return self.agree_and(Move::AllGather { all, counts: &counts });
        }
        let mut by_node = filled(all, all.len());
        self.gather_here(mine, &mut by_node[section], lens, &own);
        self.agree_and(Move::AllGather { all: &mut by_node, counts: &counts });
        to_ranks(layout.by_node(), &lens.starts(layout), &by_node, all);
    }

    /// This node's blocks at the leader.
    #[track_caller]
    fn gather_here<T: Element>(
        &mut self,
        mine: &[T],
        section: &mut [T],
        lens: &Lengths<'_>,
        own: &[usize],
    ) {
        match lens {
            Lengths::Equal(_) => self.comm.gather_into(mine, section, 0),
            Lengths::Varied(_) => self.comm.gather_varied_into(mine, section, own, 0),
        }
    }

    /// Of a call with this root: the root's node and number there, elements of each node, and the
    /// leader's room: for all blocks on the root's node, else for this node's blocks, which lie
    /// in this range.
    fn rooted<T: Element>(&self, root: usize, lens: &Lengths<'_>) -> Rooted<T> {
        let (node, counts) = (self.node(), lens.by_node(self.layout()));
        let place = self.layout().place(root);
        let nodes = if place.0 == node { 0..counts.len() } else { node..node + 1 };
        let begin = counts[nodes.start..node].iter().sum();
        let (n, section) = match self.is_leader() {
            true => (counts[nodes].iter().sum(), begin..begin + counts[node]),
            false => (0, 0..0),
        };
        (place, counts, unset(n), section)
    }

    #[track_caller]
    pub(crate) fn gather<T: Element>(
        &mut self,
        mine: &[T],
        all: &mut [T],
        root: usize,
        lens: &Lengths<'_>,
    ) {
        let ((home, root), counts, mut memory, section) = self.rooted(root, lens);
        let (layout, is_home) = (self.layout(), home == self.node());
        self.gather_here(room(mine), &mut memory[section], lens, &self.own_counts(lens));
        if self.is_leader() {
            let (mine, all): (&[_], &mut [_]) =
                if is_home { (&[], &mut memory) } else { (&memory, &mut []) };
            self.agree_and(Move::Gather { root: home, mine, all, counts: &counts });
        }
        if !is_home {
            return;
        }
        if self.is_leader() && !layout.is_contiguous() {
            let mut sorted = unset(memory.len());
            to_ranks(layout.by_node(), &lens.starts(layout), &memory, &mut sorted);
            memory = sorted;
        }
        // SAFETY: all blocks have been received.
        unsafe { self.deliver(root, counts.iter().sum(), &memory, room_mut(all)) };
    }

    /// Copies `n` elements of the leader's to local rank `to`'s `output`.
    #[track_caller]
    pub(crate) fn deliver<T: Element>(
        &mut self,
        to: usize,
        n: usize,
        from: &[T],
        output: &mut [T],
    ) {
        if to == 0 {
            if self.is_leader() {
                output.copy_from_slice(from);
            }
            return;
        }
        let mut counts = vec![0; self.comm.size()];
        counts[to] = n;
        let output = if self.comm.rank() == to { output } else { &mut [] };
        self.comm.scatter_varied_into(from, output, &counts, 0);
    }

    /// Copies `n` elements at local rank `from`'s `input` to the leader's `output`.
    #[track_caller]
    pub(crate) fn fetch<T: Element>(
        &mut self,
        from: usize,
        n: usize,
        input: &[T],
        output: &mut [T],
    ) {
        if from == 0 {
            if self.is_leader() {
                output.copy_from_slice(input);
            }
            return;
        }
        let mut counts = vec![0; self.comm.size()];
        counts[from] = n;
        let input = if self.comm.rank() == from { input } else { &[] };
        self.comm.gather_varied_into(input, output, &counts, 0);
    }

    #[track_caller]
    pub(crate) fn scatter<T: Element>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        root: usize,
        lens: &Lengths<'_>,
    ) {
        let ((home, root), counts, mut memory, section) = self.rooted(root, lens);
        let (layout, is_home) = (self.layout(), home == self.node());
        if is_home {
            self.fetch(root, counts.iter().sum(), room(all), &mut memory);
            if self.is_leader() && !layout.is_contiguous() {
                memory = in_order(layout.by_node(), &lens.starts(layout), &memory);
            }
        }
        if self.is_leader() {
            let (all, mine): (&[_], &mut [_]) =
                if is_home { (&memory, &mut []) } else { (&[], &mut memory) };
            self.agree_and(Move::Scatter { root: home, all, mine, counts: &counts });
        }
        // SAFETY: the scattered blocks have been received.
        let mine = unsafe { room_mut(mine) };
        self.scatter_here(&memory[section], mine, lens, &self.own_counts(lens));
    }

    /// The leader's blocks to this node's ranks.
    #[track_caller]
    pub(crate) fn scatter_here<T: Element>(
        &mut self,
        section: &[T],
        mine: &mut [T],
        lens: &Lengths<'_>,
        own: &[usize],
    ) {
        match lens {
            Lengths::Equal(_) => self.comm.scatter_into(section, mine, 0),
            Lengths::Varied(_) => self.comm.scatter_varied_into(section, mine, own, 0),
        }
    }

    /// Checks that `len` elements are a block for each rank; the elements of one.
    pub(crate) fn check_blocks(&mut self, what: &str, len: usize) -> usize {
        let p = self.layout().ranks();
        if !len.is_multiple_of(p) {
            self.refuse(format!("{what} {len} elements, no multiple of {p} ranks"));
        }
        len / p
    }
}

/// Elements of every rank, one rank after the other, and how many each gave.
pub(crate) type Collected<T> = (Vec<T>, Vec<usize>);

impl NodeComm<'_> {
    #[doc = of_comm!("all_gather_in_place",
        "phalanx_nodes::run(2, |comm| comm.all_gather_in_place(&mut [0; 4]))?;")]
    #[track_caller]
    pub fn all_gather_in_place<T: Element>(&mut self, all: &mut [T]) {
        let (rank, n) = (self.rank(), all.len() / self.size());
        if let Some(mut steps) = self.steps(NodeCall::of::<T>("all_gather_in_place", n)) {
            let n = steps.check_blocks("the buffer has", all.len());
            let mine = all[rank * n..][..n].to_vec();
            return steps.all_gather(&mine, all, &Lengths::Equal(n));
        }
        self.here().all_gather_in_place(all);
    }

    #[doc = of_comm!("all_gather_vec",
        "let all = phalanx_nodes::run(2, |comm| comm.all_gather_vec(&vec![7; comm.rank()]))?;",
        "assert_eq!(all[0], (vec![7], vec![0, 1]));")]
    #[track_caller]
    pub fn all_gather_vec<T: Element>(&mut self, mine: &[T]) -> Collected<T> {
        if self.group.is_none() {
            return self.here().all_gather_vec(mine);
        }
        let lens = self.lengths("all_gather_vec", mine.len());
        let call = NodeCall::of::<T>("all_gather_vec", lens.iter().sum()).counts(&lens);
        let mut all = unset(lens.iter().sum());
        if let Some(mut steps) = self.steps(call) {
            steps.all_gather(room(mine), &mut all, &Lengths::Varied(&lens));
        }
        // SAFETY: every rank's have been received.
        (unsafe { all_set(&all) }, lens)
    }

    /// How many elements each rank gives.
    #[track_caller]
    pub(crate) fn lengths(&mut self, name: &'static str, own: usize) -> Vec<usize> {
        let mut lens = vec![0; self.size()];
        if let Some(mut steps) = self.steps(NodeCall::of::<()>(name, 1)) {
            steps.all_gather(&[own], &mut lens, &Lengths::Equal(1));
        }
        lens
    }

    #[doc = of_comm!("gather_in_place",
        "phalanx_nodes::run(1, |comm| comm.gather_in_place(&mut [0; 4], 0))?;")]
    #[track_caller]
    pub fn gather_in_place<T: Element>(&mut self, data: &mut [T], root: usize) {
        let (rank, p) = (self.rank(), self.size());
        let n = if rank == root { data.len() / p } else { data.len() };
        let call = NodeCall::of::<T>("gather_in_place", n).with("to root", root);
        if let Some(mut steps) = self.steps(call) {
            steps.check_rank("root", root);
            if rank != root {
                return steps.gather(data, &mut [], root, &Lengths::Equal(n));
            }
            steps.check_blocks("the buffer has", data.len());
            let mine = data[rank * n..][..n].to_vec();
            return steps.gather(&mine, data, root, &Lengths::Equal(n));
        }
        self.here().gather_in_place(data, root);
    }

    #[doc = of_comm!("gather_vec",
        "let all = phalanx_nodes::run(2, |comm| comm.gather_vec(&[comm.rank()], 0))?;",
        "assert_eq!(all[0], Some((vec![0, 1], vec![1, 1])));")]
    #[track_caller]
    pub fn gather_vec<T: Element>(&mut self, mine: &[T], root: usize) -> Option<Collected<T>> {
        if self.group.is_none() {
            return self.here().gather_vec(mine, root);
        }
        let is_root = self.rank() == root;
        let lens = self.lengths("gather_vec", mine.len());
        let total = lens.iter().sum();
        let mut all = unset(if is_root { total } else { 0 });
        let call = NodeCall::of::<T>("gather_vec", total).with("to root", root).counts(&lens);
        if let Some(mut steps) = self.steps(call) {
            steps.check_rank("root", root);
            steps.gather(room(mine), &mut all, root, &Lengths::Varied(&lens));
        }
        // SAFETY: every rank's have been received, on the root.
        is_root.then(|| (unsafe { all_set(&all) }, lens))
    }
}
