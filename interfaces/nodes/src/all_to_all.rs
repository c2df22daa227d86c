//! Total exchange.

use crate::call::NodeCall;
use crate::layout::{in_order, starts, to_ranks};
use crate::moves::Collected;
use crate::node_comm::{NodeComm, of_comm};
use crate::steps::{Move, Steps, all_set, room, room_mut, unset};
use phalanx::Element;
use std::mem::MaybeUninit;

impl Steps<'_> {
    /// `counts`: elements to, and from, each rank; none if all are equally many.
    #[track_caller]
    pub(crate) fn all_to_all<T: Element>(
        &mut self,
        send: &[MaybeUninit<T>],
        recv: &mut [MaybeUninit<T>],
        counts: Option<(&[usize], &[usize])>,
    ) {
        let (layout, leader) = (self.layout(), self.is_leader());
        let (p, t, nodes) = (layout.ranks(), self.comm.size(), layout.nodes());
        // The counts that each of this node's ranks sends to all, and receives from all.
        let [sends, recvs] = match counts {
            None => [vec![send.len() / p; t * p], vec![send.len() / p; t * p]],
            Some((send, recv)) => [send, recv].map(|counts| {
                let mut all = vec![0usize; t * p];
                self.comm.all_gather_into(counts, &mut all);
                all
            }),
        };
        let rows = |table: &[usize]| table.chunks(p).map(|row| row.iter().sum()).collect();
        let (sent, received): (Vec<usize>, Vec<usize>) = (rows(&sends), rows(&recvs));
        let mut gathered = unset(if leader { sent.iter().sum() } else { 0 });
        self.comm.gather_varied_into(send, &mut gathered, &sent, 0);
        let mut sorted = Vec::new();
        if leader {
            // Where the block of a local rank and a rank begins.
            let begins = |table: &[usize]| starts(table.iter().copied());
            // The pairs of a local rank and a rank, as they travel.
            let there = |j: usize| {
                (0..t).flat_map(move |l| layout.members(j).iter().map(move |&r| l * p + r))
            };
            let back = |j: usize| {
                layout.members(j).iter().flat_map(move |&r| (0..t).map(move |l| l * p + r))
            };
            let total = |table: &[usize], j: usize| there(j).map(|at| table[at]).sum();
            let by_node = |table: &[usize]| (0..nodes).map(|j| total(table, j)).collect();
            let (to, from): (Vec<usize>, Vec<usize>) = (by_node(&sends), by_node(&recvs));
            // [rank here][rank] becomes [node][rank here][rank there].
            let out = in_order((0..nodes).flat_map(there), &begins(&sends), &gathered);
            let mut came = unset(from.iter().sum());
            let it = Move::AllToAll { send: &out, sends: &to, recv: &mut came, recvs: &from };
            if counts.is_some() {
                self.agree();
                self.compare_tables(&there, &back, &sends, &recvs);
                self.carry(None, it);
            } else {
                self.agree_and(it);
            }
            // [node][rank there][rank here] becomes [rank here][rank].
            sorted = unset(came.len());
            to_ranks((0..nodes).flat_map(back), &begins(&recvs), &came, &mut sorted);
        }
        self.comm.scatter_varied_into(&sorted, recv, &received, 0);
    }

    /// Whether ranks on other nodes send as much to ours as ours expect.
    fn compare_tables<A: Iterator<Item = usize>, B: Iterator<Item = usize>>(
        &mut self,
        there: &impl Fn(usize) -> A,
        back: &impl Fn(usize) -> B,
        sends: &[usize],
        recvs: &[usize],
    ) {
        let (layout, p, nodes) = (self.layout(), self.layout().ranks(), self.nodes());
        let pairs: Vec<usize> = layout.sizes().map(|there| there * self.comm.size()).collect();
        let told: Vec<usize> = (0..nodes).flat_map(there).map(|at| sends[at]).collect();
        let mut heard = vec![0usize; told.len()];
        let recv = &mut heard;
        self.carry(None, Move::AllToAll { send: &told, sends: &pairs, recv, recvs: &pairs });
        for (at, sent) in (0..nodes).flat_map(back).zip(heard) {
            let (from, here) = (at % p, layout.members(self.node())[at / p]);
            if sent != recvs[at] {
                let expected = recvs[at];
                self.fail(&format!(
                    "rank {from} sends {sent} elements to rank {here}, which expects {expected}"
                ));
            }
        }
    }
}

impl NodeComm<'_> {
    #[doc = of_comm!("all_to_all_in_place",
        "phalanx_nodes::run(2, |comm| comm.all_to_all_in_place(&mut [1; 4]))?;")]
    #[track_caller]
    pub fn all_to_all_in_place<T: Element>(&mut self, data: &mut [T]) {
        let call = NodeCall::of::<T>("all_to_all_in_place", data.len() / self.size());
        if let Some(mut steps) = self.steps(call) {
            steps.check_blocks("the data have", data.len());
            let send = data.to_vec();
            // SAFETY: all blocks are received.
            return steps.all_to_all(room(&send), unsafe { room_mut(data) }, None);
        }
        self.here().all_to_all_in_place(data);
    }

    #[doc = of_comm!("all_to_all_vec",
        "let out = phalanx_nodes::run(2, |comm| comm.all_to_all_vec(&[3, 4], &[1, 1]))?;",
        "assert_eq!(out[1], (vec![4, 4], vec![1, 1]));")]
    #[track_caller]
    pub fn all_to_all_vec<T: Element>(&mut self, send: &[T], counts: &[usize]) -> Collected<T> {
        if self.group.is_none() {
            return self.here().all_to_all_vec(send, counts);
        }
        let (p, total) = (self.size(), counts.iter().try_fold(0usize, |n, &it| n.checked_add(it)));
        let mut lens = vec![0; p];
        if let Some(mut steps) = self.steps(NodeCall::of::<T>("all_to_all_vec", 0)) {
            if counts.len() != p {
                steps.refuse(format!("{} counts for {p} ranks", counts.len()));
            }
            steps.check_len("the input", send.len(), total);
            // SAFETY: all counts are received.
            steps.all_to_all(room(counts), unsafe { room_mut(&mut lens) }, None);
        }
        let mut recv = unset(lens.iter().sum());
        if let Some(mut steps) = self.steps(NodeCall::of::<T>("all_to_all_vec", 1)) {
            steps.all_to_all(room(send), &mut recv, Some((counts, &lens)));
        }
        // SAFETY: all blocks have been received.
        (unsafe { all_set(&recv) }, lens)
    }
}
