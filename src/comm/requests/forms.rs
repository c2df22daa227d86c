//! The calls that can be started, or set up: each is made of checked arguments here, once.

use super::Requests;
use super::pending::{Kept, Lent};
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition, RawBuffers};
use crate::fabric::Signature;
use crate::op::Operator;
use crate::schedule::Operation;
use std::panic::Location;

/// A call that can be started, with what it uses (`kept`: its operator), and its result's buffer.
pub(super) struct Form<'env, T> {
    pub(super) call: Call<'env, RawBuffers<'env>>,
    pub(super) kept: Kept<'env>,
    pub(super) result: Lent<'env, T>,
}

/// The signature of a call that is started, or set up by `persistent_..`; the two meet.
macro_rules! started {
    ($name:literal, $persistent:ident, $make:ident::<$($of:ty),*>, $($rest:expr),*) => {
        match $persistent {
            false => const {
                &Signature::$make::<$($of),*>(concat!("started ", $name), $($rest),*)
            },
            true => const {
                &Signature::$make::<$($of),*>(concat!("persistent_", $name), $($rest),*)
                    .meets(concat!("started ", $name))
            },
        }
    };
}

pub(super) use started;

impl<'env> Requests<'_, 'env> {
    #[track_caller]
    pub(super) fn barrier_form<const PERSISTENT: bool>(&mut self) -> Form<'env, ()> {
        let sig = started!("barrier", PERSISTENT, of::<()>, "");
        let cut = Partition::Vector(0);
        let call = Call::new(Operation::Barrier, sig, Location::caller(), cut);
        self.moving_in_place(call, &mut [])
    }

    #[track_caller]
    pub(super) fn broadcast_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        buf: &'env mut [T],
        root: usize,
    ) -> Form<'env, T> {
        let sig = started!("broadcast", PERSISTENT, of::<T>, "from root");
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Broadcast, sig, Location::caller(), cut);
        let call = self.rooted(call, root);
        self.moving_in_place(call, buf)
    }

    #[track_caller]
    pub(super) fn reduce_form<const PERSISTENT: bool, T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
        root: usize,
    ) -> Form<'env, T> {
        let sig = started!("reduce", PERSISTENT, combining::<T, O>, O::NAME, "to root");
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Reduce, sig, Location::caller(), cut);
        let call = self.rooted(call, root);
        self.combining_in_place(call, buf, op)
    }

    #[track_caller]
    pub(super) fn all_reduce_form<const PERSISTENT: bool, T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Form<'env, T> {
        let sig = started!("all_reduce", PERSISTENT, combining::<T, O>, O::NAME, "");
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::AllReduce, sig, Location::caller(), cut);
        self.combining_in_place(call, buf, op)
    }

    #[track_caller]
    pub(super) fn scan_form<const PERSISTENT: bool, T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Form<'env, T> {
        let sig = started!("scan", PERSISTENT, combining::<T, O>, O::NAME, "");
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Scan, sig, Location::caller(), cut);
        self.combining_in_place(call, buf, op)
    }

    #[track_caller]
    pub(super) fn exclusive_scan_form<const PERSISTENT: bool, T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Form<'env, T> {
        let sig = started!("exclusive_scan", PERSISTENT, combining::<T, O>, O::NAME, "");
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::ExclusiveScan, sig, Location::caller(), cut);
        let (result, buf) = Lent::new(buf);
        let identity = op.identity();
        let (kept, at) = Kept::new((op, identity));
        // SAFETY: kept until the call is dropped.
        let (op, identity) = unsafe { &*at.as_ptr() };
        let call = call.combining(Buffers::InPlace(buf), op).or(identity.as_ref());
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        Form { call, kept, result }
    }

    #[track_caller]
    pub(super) fn reduce_scatter_form<const PERSISTENT: bool, T: Element, O: Operator<T> + 'env>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        op: O,
    ) -> Form<'env, T> {
        let sig = started!("reduce_scatter_into", PERSISTENT, combining::<T, O>, O::NAME, "");
        let at = Location::caller();
        self.check_blocks("the input", all.len(), mine.len(), sig, at);
        let call = Call::new(Operation::ReduceScatter, sig, at, Partition::Equal(mine.len()));
        self.combining_apart(call, all, mine, op)
    }

    #[track_caller]
    pub(super) fn all_gather_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
    ) -> Form<'env, T> {
        let sig = started!("all_gather_into", PERSISTENT, of::<T>, "");
        let at = Location::caller();
        self.check_blocks("the output", all.len(), mine.len(), sig, at);
        let call = Call::new(Operation::AllGather, sig, at, Partition::Equal(mine.len()));
        self.moving_apart(call, mine, all)
    }

    #[track_caller]
    pub(super) fn all_to_all_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        send: &'env [T],
        recv: &'env mut [T],
    ) -> Form<'env, T> {
        let sig = started!("all_to_all_into", PERSISTENT, of::<T>, "");
        let at = Location::caller();
        let block = send.len() / self.comm.port.size();
        self.check_blocks("the input", send.len(), block, sig, at);
        self.check_blocks("the output", recv.len(), block, sig, at);
        let call = Call::new(Operation::AllToAll, sig, at, Partition::Equal(block));
        self.moving_apart(call, send, recv)
    }

    #[track_caller]
    pub(super) fn gather_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
        root: usize,
    ) -> Form<'env, T> {
        let sig = started!("gather_into", PERSISTENT, of::<T>, "to root");
        let at = Location::caller();
        let call = Call::new(Operation::Gather, sig, at, Partition::Equal(mine.len()));
        let call = self.rooted(call, root);
        if self.comm.port.rank() == root {
            self.check_blocks("the output", all.len(), mine.len(), sig, at);
        }
        self.moving_apart(call, mine, all)
    }

    #[track_caller]
    pub(super) fn scatter_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        root: usize,
    ) -> Form<'env, T> {
        let sig = started!("scatter_into", PERSISTENT, of::<T>, "from root");
        let at = Location::caller();
        let call = Call::new(Operation::Scatter, sig, at, Partition::Equal(mine.len()));
        let call = self.rooted(call, root);
        if self.comm.port.rank() == root {
            self.check_blocks("the input", all.len(), mine.len(), sig, at);
        }
        self.moving_apart(call, all, mine)
    }

    #[track_caller]
    pub(super) fn shift_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        buf: &'env mut [T],
        distance: isize,
    ) -> Form<'env, T> {
        let sig = started!("shift", PERSISTENT, of::<T>, "by");
        let by = distance.rem_euclid(self.comm.port.size() as isize) as usize;
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Shift, sig, Location::caller(), cut).shifted(by);
        self.moving_in_place(call, buf)
    }

    #[track_caller]
    pub(super) fn all_gather_varied_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
        counts: &'env [usize],
    ) -> Form<'env, T> {
        let sig = started!("all_gather_varied_into", PERSISTENT, of::<T>, "");
        let at = Location::caller();
        let call = self.counted::<T>(Operation::AllGather, sig, at, (counts, mine.len()));
        self.check_total("the output", all.len(), &call);
        self.moving_apart(call, mine, all)
    }

    #[track_caller]
    pub(super) fn gather_varied_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
        counts: &'env [usize],
        root: usize,
    ) -> Form<'env, T> {
        let sig = started!("gather_varied_into", PERSISTENT, of::<T>, "to root");
        let at = Location::caller();
        let call = self.counted::<T>(Operation::Gather, sig, at, (counts, mine.len()));
        let call = self.rooted(call, root);
        if self.comm.port.rank() == root {
            self.check_total("the output", all.len(), &call);
        }
        self.moving_apart(call, mine, all)
    }

    #[track_caller]
    pub(super) fn scatter_varied_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        root: usize,
    ) -> Form<'env, T> {
        let sig = started!("scatter_varied_into", PERSISTENT, of::<T>, "from root");
        let at = Location::caller();
        let call = self.counted::<T>(Operation::Scatter, sig, at, (counts, mine.len()));
        let call = self.rooted(call, root);
        if self.comm.port.rank() == root {
            self.check_total("the input", all.len(), &call);
        }
        self.moving_apart(call, all, mine)
    }

    #[track_caller]
    pub(super) fn reduce_scatter_varied_form<
        const PERSISTENT: bool,
        T: Element,
        O: Operator<T> + 'env,
    >(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        op: O,
    ) -> Form<'env, T> {
        let sig =
            started!("reduce_scatter_varied_into", PERSISTENT, combining::<T, O>, O::NAME, "");
        let at = Location::caller();
        let call = self.counted::<T>(Operation::ReduceScatter, sig, at, (counts, mine.len()));
        self.check_total("the input", all.len(), &call);
        self.combining_apart(call, all, mine, op)
    }

    #[track_caller]
    pub(super) fn all_to_all_varied_form<const PERSISTENT: bool, T: Element>(
        &mut self,
        send: &'env [T],
        send_counts: &'env [usize],
        recv: &'env mut [T],
        recv_counts: &'env [usize],
    ) -> Form<'env, T> {
        let sig = started!("all_to_all_varied_into", PERSISTENT, of::<T>, "");
        let at = Location::caller();
        if !self.comm.check_pairs(sig, at, (send.len(), send_counts), (recv.len(), recv_counts)) {
            self.comm.nothing_to_return();
        }
        let cut = Partition::Pairs { send: send_counts, recv: recv_counts };
        let call = Call::new(Operation::AllToAll, sig, at, cut);
        self.moving_apart(call, send, recv)
    }

    fn moving_in_place<T: Element>(&self, call: Call<'env>, buf: &'env mut [T]) -> Form<'env, T> {
        let (result, buf) = Lent::new(buf);
        self.moving(call, Buffers::InPlace(buf), result)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn moving_apart<T: Element>(
        &self,
        call: Call<'env>,
        from: &'env [T],
        to: &'env mut [T],
    ) -> Form<'env, T> {
        let (result, to) = Lent::new(to);
        self.moving(call, Buffers::Apart(from, to), result)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn combining_in_place<T: Element, O: Operator<T> + 'env>(
        &self,
        call: Call<'env>,
        buf: &'env mut [T],
        op: O,
    ) -> Form<'env, T> {
        let (result, buf) = Lent::new(buf);
        self.combining(call, Buffers::InPlace(buf), op, result)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn combining_apart<T: Element, O: Operator<T> + 'env>(
        &self,
        call: Call<'env>,
        from: &'env [T],
        to: &'env mut [T],
        op: O,
    ) -> Form<'env, T> {
        let (result, to) = Lent::new(to);
        self.combining(call, Buffers::Apart(from, to), op, result)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn moving<T: Element>(
        &self,
        call: Call<'env>,
        buffers: Buffers<'env, T>,
        result: Lent<'env, T>,
    ) -> Form<'env, T> {
        let call = call.moving(buffers);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        Form { call, kept: Kept::NOTHING, result }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn combining<T: Element, O: Operator<T> + 'env>(
        &self,
        call: Call<'env>,
        buffers: Buffers<'env, T>,
        op: O,
        result: Lent<'env, T>,
    ) -> Form<'env, T> {
        let (kept, at) = Kept::new(op);
        // SAFETY: kept until the call is dropped.
        let op: &'env O = unsafe { &*at.as_ptr() };
        let call = call.combining(buffers, op);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        Form { call, kept, result }
    }

    /// `call` with a root, which must be a rank.
    pub(super) fn rooted(&mut self, call: Call<'env>, root: usize) -> Call<'env> {
        if !self.comm.check_rank("root", root, call.sig(), call.at(), call.len()) {
            self.comm.nothing_to_return();
        }
        call.root(root)
    }

    /// A call of blocks of `counts` elements, `own` of this rank.
    pub(super) fn counted<T: Element>(
        &mut self,
        operation: Operation,
        sig: &'static Signature,
        at: &'static Location<'static>,
        (counts, own): (&'env [usize], usize),
    ) -> Call<'env> {
        match self.comm.check_counts(counts, own, size_of::<T>(), sig, at) {
            Some(total) => Call::of_counts(operation, sig, at, counts, total),
            None => self.comm.nothing_to_return(),
        }
    }

    /// Ends the run unless `what` has the elements of all blocks of `call`.
    fn check_total(&mut self, what: &str, got: usize, call: &Call<'env>) {
        let total = call.len();
        if !self.comm.check_len(what, got, Some(total), call.sig(), call.at(), total) {
            self.comm.nothing_to_return();
        }
    }

    /// Ends the run unless `what` has a block of `block` elements for every rank.
    fn check_blocks(
        &mut self,
        what: &str,
        got: usize,
        block: usize,
        sig: &'static Signature,
        at: &'static Location<'static>,
    ) {
        let wanted = block.checked_mul(self.comm.port.size());
        if !self.comm.check_len(what, got, wanted, sig, at, block) {
            self.comm.nothing_to_return();
        }
    }
}
