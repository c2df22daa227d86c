//! Views on several nodes: slices of other nodes are copied to this node first, once for all of its
//! ranks.

use crate::call::NodeCall;
use crate::layout::{Lengths, starts};
use crate::node_comm::{NodeComm, of_comm};
use crate::steps::{Move, room, set, unset};
use phalanx::{Element, Global, Peers, engine};

impl NodeComm<'_> {
    /// Calls `f` with the slices of all nodes' ranks.
    #[track_caller]
    pub(crate) fn show_all<T: Element, R>(
        &mut self,
        name: &'static str,
        mine: &[T],
        f: impl for<'p> FnOnce(Peers<'p, T>) -> R,
    ) -> R {
        let lens = self.lengths(name, mine.len());
        let total = lens.iter().sum();
        let call = NodeCall::of::<T>(name, total).counts(&lens);
        let mut steps = self.steps_between(call);
        let mut all = unset(if steps.is_leader() { total } else { 0 });
        steps.assemble(room(mine), &mut all, &Lengths::Varied(&lens));
        let starts = starts(lens.iter().copied());
        steps.comm.with_root(&all, 0, |all| {
            // SAFETY: the leader has received all of them.
            let all = unsafe { set(all) };
            let parts: Vec<&[T]> = starts.windows(2).map(|at| &all[at[0]..at[1]]).collect();
            engine::with_parts(&parts, f)
        })
    }

    #[doc = of_comm!("with_peers",
        "let sums = phalanx_nodes::run(3, |comm| {",
        "    comm.with_peers(&[comm.rank()], |all| all.iter().flatten().sum::<usize>())",
        "})?;",
        "assert_eq!(sums, [3; 3]);")]
    ///
    /// Every node has one copy of the other nodes' slices, for all of its ranks.
    ///
    /// **Cost** two all-gathers between leaders, of lengths and slices.
    #[track_caller]
    pub fn with_peers<T: Element, R>(
        &mut self,
        mine: &[T],
        f: impl for<'p> FnOnce(Peers<'p, T>) -> R,
    ) -> R {
        match self.group {
            Some(_) => self.show_all("with_peers", mine, f),
            None => self.here().with_peers(mine, f),
        }
    }

    #[doc = of_comm!("with_global",
        "let x = phalanx_nodes::run(2, |comm| comm.with_global(&[comm.rank()], |x| x[1]))?;",
        "assert_eq!(x, [1; 2]);")]
    #[track_caller]
    pub fn with_global<T: Element, R>(
        &mut self,
        mine: &[T],
        f: impl for<'g> FnOnce(Global<'g, T>) -> R,
    ) -> R {
        match self.group {
            Some(_) => self.show_all("with_global", mine, |peers| engine::global_of(peers, f)),
            None => self.here().with_global(mine, f),
        }
    }

    #[doc = of_comm!("with_root",
        "let sums = phalanx_nodes::run(2, |comm| comm.with_root(&[1, 2], 0, |x| x[0] + x[1]))?;",
        "assert_eq!(sums, [3, 3]);")]
    ///
    /// Every node has one copy.
    ///
    /// **Cost** two broadcasts between leaders, of the length and of the data.
    #[track_caller]
    pub fn with_root<T: Element, R>(
        &mut self,
        data: &[T],
        root: usize,
        f: impl for<'d> FnOnce(&'d [T]) -> R,
    ) -> R {
        let mut n = [data.len()];
        let call = NodeCall::of::<()>("with_root", 1).with("from root", root);
        let Some(mut steps) = self.steps(call) else {
            return self.here().with_root(data, root, f);
        };
        steps.broadcast(&mut n, root);
        drop(steps);
        let [n] = n;
        let call = NodeCall::of::<T>("with_root", n).with("from root", root);
        let mut steps = self.steps_between(call);
        let (home, local) = steps.layout().place(root);
        let mut copy = unset(if steps.is_leader() { n } else { 0 });
        if home == steps.node() {
            steps.fetch(local, n, room(data), &mut copy);
        }
        if steps.is_leader() {
            steps.agree_and(Move::Broadcast { root: home, data: &mut copy });
        }
        // SAFETY: the leader has received all of them.
        steps.comm.with_root(&copy, 0, |all| f(unsafe { set(all) }))
    }
}
