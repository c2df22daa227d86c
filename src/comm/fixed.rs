//! Reductions in the order of one tree, whatever carries the data:
//! `Order::Fixed`.
//!
//! What is forced by topology then is how contributions *travel* (its all-to-all
//! and all-gather); they are combined by the rank that has all of them.

use super::perform::Task;
use super::{Choice, Comm, View};
use crate::element::Element;
use crate::engine::{Cut, Kernel, fixed};
use crate::fabric::{Check, Params, Shape, Sig};
use crate::op::Operator;
use crate::order::{Order, by_tree};
use crate::schedule::{Algorithm, Operation};
use std::panic::Location;

/// Bytes up to which every rank gets every contribution whole, rather than its
/// part of each and then the parts' results: one step less.
const WHOLE: usize = 2 << 10;

/// What carries a reduction in fixed order.
enum Way {
    /// Messages in the mailbox's line, or the boards.
    Direct,
    /// The topology's data movement.
    Moved,
}

/// Who calls: what a [`Task`] is made of.
#[derive(Clone, Copy)]
pub(super) struct Caller {
    pub(super) sig: &'static Sig,
    pub(super) at: &'static Location<'static>,
}

impl Comm {
    /// This communicator with the order in which `all_reduce`, `reduce` and
    /// `reduce_scatter` (and their varied and batched forms) combine. With
    /// [`Order::Fixed`] an element's result has the same bits for every
    /// topology, length and chunk size: it depends on nothing but the
    /// contributions and their number. Prefixes (`scan`) stay as they are.
    ///
    /// For results that do not depend on the number of ranks either:
    /// [`fixed_sum`](Comm::fixed_sum), [`fixed_dot`](Comm::fixed_dot).
    ///
    /// **Must agree on all ranks:** the order.
    ///
    /// **Cost** up to 40 bytes on up to 64 ranks: `p - 1` messages in the
    /// mailboxes' lines, all at once; else that of the fused paths: 1.05 to 1.16
    /// times that of a plain all-reduce of 8 bytes on two ranks, 1.01 from 16 KiB
    /// on (`benches/solver.rs`). On a topology: its all-to-all and all-gather, instead of a reduction.
    /// `reduce` costs as much as `all_reduce` where a topology is forced.
    ///
    /// # Errors
    /// A reduction through a view that forces an algorithm by name (other than
    /// the fused ones) ends the run: the name says in which order it combines.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Order, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [0.1 * comm.rank() as f64; 100];
    ///     comm.with_order(Order::Fixed).all_reduce(&mut x, op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [(0.0 + 0.1) + 0.2; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn with_order(&mut self, order: Order) -> View<'_> {
        let choice = self.choice.clone();
        let view = self.choosing(choice);
        view.comm.order = order;
        view
    }

    fn way(&mut self, caller: Caller, len: usize) -> Option<Way> {
        match &self.choice {
            Choice::Auto | Choice::Model(_) => Some(Way::Direct),
            Choice::Algorithm(a) | Choice::On(a, _) if a.is_direct() => Some(Way::Direct),
            Choice::Algorithm(a) | Choice::On(a, _) => {
                let what = format!(
                    "{a} combines in an order of its own; with Order::Fixed a topology can be \
                     forced (ring(), mesh(), hypercube(), tree()), but no algorithm"
                );
                self.wrong(caller.sig, caller.at, len, what);
                None
            }
            _ => Some(Way::Moved),
        }
    }

    pub(super) fn all_reduce_fixed<T: Element, O: Operator<T>>(
        &mut self,
        at: &'static Location<'static>,
        buf: &mut [T],
        op: &O,
    ) {
        let sig = const { &Sig::combining::<T, O>("all_reduce in fixed order", O::NAME, "") };
        let caller = Caller { sig, at };
        match self.way(caller, buf.len()) {
            Some(Way::Direct) => drop(self.reduce_around(sig, at, buf, op, || ())),
            Some(Way::Moved) => self.all_reduce_moved(caller, buf, op),
            None => (),
        }
    }

    pub(super) fn reduce_fixed<T: Element, O: Operator<T>>(
        &mut self,
        at: &'static Location<'static>,
        buf: &mut [T],
        op: &O,
        root: usize,
    ) {
        let sig = const { &Sig::combining::<T, O>("reduce in fixed order", O::NAME, "to root") };
        let caller = Caller { sig, at };
        let len = buf.len();
        match self.way(caller, len) {
            Some(Way::Direct) => {
                let at = buf.as_mut_ptr();
                // SAFETY: in place on the root, elsewhere only read; the slice
                // is exclusively ours for the call.
                unsafe { self.reduce_directly(caller, at, len, fixed::To::Root(root), op, root) }
            }
            Some(Way::Moved) => {
                let mut all = buf.to_vec();
                self.all_reduce_moved(caller, &mut all, op);
                if self.rank() == root {
                    buf.copy_from_slice(&all);
                }
            }
            None => (),
        }
    }

    /// Of the result, `counts` (or, for none, as many for each rank) elements
    /// go to each rank. The lengths are checked.
    pub(super) fn reduce_scatter_fixed<T: Element, O: Operator<T>>(
        &mut self,
        at: &'static Location<'static>,
        all: &[T],
        mine: &mut [T],
        counts: Option<&[usize]>,
        op: &O,
    ) {
        let sig = const { &Sig::combining::<T, O>("reduce_scatter in fixed order", O::NAME, "") };
        let caller = Caller { sig, at };
        let (rank, p) = (self.rank(), self.size());
        let count = |r: usize| counts.map_or(mine.len(), |c| c[r]);
        let start: usize = (0..rank).map(count).sum();
        let way = self.way(caller, all.len());
        // Carried or not, what is cut so is compared.
        self.salt = counts.map(|counts| self.shape_of(counts));
        match way {
            Some(Way::Direct) => {
                let (from, to) = (all.as_ptr(), mine.as_mut_ptr().cast());
                let to = fixed::To::Own(start..start + mine.len(), to);
                let none = Check::NO_PARAMETER;
                // SAFETY: the lengths are checked; input and output are
                // different borrows.
                unsafe { self.reduce_directly(caller, from, all.len(), to, op, none) }
            }
            Some(Way::Moved) => {
                let m = (0..p).map(count).max().unwrap_or(0);
                let Some(&filler) = all.first() else {
                    // Nothing to carry; but a call, of which the counts are compared.
                    self.carry::<T>(caller, Operation::AllToAll, 0, &[], &mut []);
                    self.salt = None;
                    return;
                };
                let mut send = vec![filler; m * p];
                let mut from = 0;
                for (r, block) in send.chunks_exact_mut(m).enumerate() {
                    block[..count(r)].copy_from_slice(&all[from..from + count(r)]);
                    from += count(r);
                }
                let mut recv = send.clone();
                self.carry(caller, Operation::AllToAll, m, &send, &mut recv);
                combine(p, &recv, m, mine, op);
            }
            None => (),
        }
        self.salt = None;
    }

    /// # Safety
    /// As [`fixed::reduce`]'s, for elements of T.
    unsafe fn reduce_directly<T: Element, O: Operator<T>>(
        &mut self,
        caller: Caller,
        input: *const T,
        len: usize,
        to: fixed::To,
        op: &O,
        parameter: usize,
    ) {
        let algorithm = Algorithm::RED_FUSED.index();
        let shape = self.salt.unwrap_or(Shape::NONE);
        let params = Params { parameter, algorithm, shape, ..Params::of(len) };
        if !self.enter(caller.sig, caller.at, params) {
            return;
        }
        if self.port.has_new_counts()
            && let Err(stop) = self.port.compare_counts()
        {
            return self.stop(stop);
        }
        let kernel = Kernel::combiner(op);
        let slots = self.scratch.reserve(fixed::scratch(&kernel, self.size()), kernel.align());
        let memory = fixed::Memory { all: &mut self.addresses, slots };
        // SAFETY: passed on; the scratch memory is this communicator's own.
        let result =
            unsafe { fixed::reduce(&mut self.port, input.cast(), len, to, &kernel, memory) };
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// All-reduce by the data movement of the forced topology.
    fn all_reduce_moved<T: Element, O: Operator<T>>(
        &mut self,
        caller: Caller,
        buf: &mut [T],
        op: &O,
    ) {
        let p = self.size();
        let Some(&filler) = buf.first() else {
            return self.carry::<T>(caller, Operation::AllGather, 0, &[], &mut []);
        };
        if size_of_val(buf) <= WHOLE {
            let n = buf.len();
            let mut all = vec![filler; n * p];
            self.carry(caller, Operation::AllGather, n, buf, &mut all);
            return combine(p, &all, n, buf, op);
        }
        let m = buf.len().div_ceil(p);
        let mut parts = vec![filler; m * p];
        parts[..buf.len()].copy_from_slice(buf);
        let mut mine = parts.clone();
        self.carry(caller, Operation::AllToAll, m, &parts, &mut mine);
        let mut sum = vec![filler; m];
        combine(p, &mine, m, &mut sum, op);
        self.carry(caller, Operation::AllGather, m, &sum, &mut parts);
        buf.copy_from_slice(&parts[..buf.len()]);
    }

    /// An all-gather or all-to-all of blocks of `m` elements.
    fn carry<T: Element>(
        &mut self,
        Caller { sig, at }: Caller,
        operation: Operation,
        m: usize,
        from: &[T],
        to: &mut [T],
    ) {
        let cut = Cut::Equal(m);
        let task = Task {
            operation,
            sig,
            at,
            root: 0,
            shift: 0,
            cut,
            len: m,
            commutative: true,
            built_in: None,
        };
        assert!(to.len() == m * self.size() && from.len().is_multiple_of(m.max(1)));
        // SAFETY: the output has p blocks, as the input of an all-to-all has;
        // that of an all-gather has one; the borrows last for the call.
        unsafe {
            let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
            self.perform(&task, &Kernel::mover::<T>(), from, to);
        }
    }
}

/// Element by element, combines the first elements of `p` blocks of `m` each.
fn combine<T: Element, O: Operator<T>>(p: usize, all: &[T], m: usize, out: &mut [T], op: &O) {
    for (i, x) in out.iter_mut().enumerate() {
        *x = by_tree(0, p, &mut |r| all[r * m + i], &mut |a, b| op.combine(a, b));
    }
}
