//! Overlap of communication and work: a rank posts its contribution, runs the caller's closure, and
//! completes the call.
//!
//! What is posted first must be all that peers ever need from this rank, or
//! they would wait for its closure. So few ranks send each their value to all
//! others ([`flat`]); else, and for long vectors, everybody shows its buffer on
//! its board.

use super::{Choice, Comm};
use crate::element::Element;
use crate::exec::board::ordered;
use crate::exec::{Buffers, Call, Partition, RawBuffers, flat};
use crate::fabric::{CallTransport, Digest, Signature, reduction};
use crate::op::{Operator, Sum};
use crate::schedule::{Algorithm, Operation};
use std::panic::Location;

impl Comm {
    /// [`all_reduce`](Comm::all_reduce) of a few values at once, by value:
    /// several dot products at the price of one.
    ///
    /// **Must agree, order, cost:** as there.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let r = comm.rank() as f64;
    ///     comm.all_reduce_values([r, -r], op::Max)
    /// })?;
    /// assert_eq!(out, [[2.0, 0.0]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn all_reduce_values<T: Element, const N: usize, O: Operator<T>>(
        &mut self,
        mut values: [T; N],
        op: O,
    ) -> [T; N] {
        let sig = reduction!("all_reduce_values" meets "all_reduce", T, O, "");
        self.all_reduce_as(sig, &mut values, op, Location::caller());
        values
    }

    /// The sums over all ranks of a few values:
    /// [`all_reduce_values`](Comm::all_reduce_values) with
    /// [`Sum`]. Of one value: `let [total] = comm.sum([x]);`.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(4, |comm| comm.sum([1.0, comm.rank() as f64]))?;
    /// assert_eq!(out, [[4.0, 6.0]; 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn sum<T: Element, const N: usize>(&mut self, mut values: [T; N]) -> [T; N]
    where
        Sum: Operator<T>,
    {
        let sig = reduction!("sum" meets "all_reduce", T, Sum, "");
        self.all_reduce_as(sig, &mut values, Sum, Location::caller());
        values
    }

    /// [`all_reduce`](Comm::all_reduce) with work in between: this rank's
    /// contribution is there for all to see, `work` runs, and then the others'
    /// contributions are combined. What `work` returns is returned.
    ///
    /// Up to 40 bytes on up to 64 ranks, the call waits for the others to
    /// *arrive*, not for their work; so ranks whose work takes longer than that
    /// do not wait at all. Else it returns once everybody's work is done.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, the
    /// operator's type.
    ///
    /// **Order.** That of [`Order::Fixed`](crate::Order::Fixed), always. (Through
    /// a view with a forced algorithm the work is done first, and then the
    /// all-reduce by that algorithm.)
    ///
    /// **Cost** up to 40 bytes on up to 64 ranks: `p - 1` messages in the
    /// mailboxes' lines, all at once; else as `AR-FUSED`.
    ///
    /// If `work` panics, the run ends with that panic, as anywhere else on a
    /// rank; `buf` then holds anything of its type.
    ///
    /// # Examples
    /// A dot product on its way while the preconditioner works:
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let r = [1.0, 2.0, 3.0];
    ///     let mut rr = [r.iter().map(|x| x * x).sum::<f64>()];
    ///     let z = comm.all_reduce_while(&mut rr, op::Sum, || r.map(|x| x / 4.0));
    ///     (rr[0], z[2])
    /// })?;
    /// assert_eq!(out, [(42.0, 0.75); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// This communicator is busy while `work` runs, another one is not: with one made by
    /// [`split`](Comm::split), the work may send, or exchange halos, or reduce, as pipelined
    /// conjugate gradients do (the matrix's product, whose halo is exchanged, beside the dots):
    /// ```
    /// use phalanx::{dist::Halo, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let mut other = comm.split(0, comm.rank()); // the same ranks; made once
    ///     let halo = Halo::new(&[2], 1);
    ///     let mut w = [0.0, 1.0, 1.0, 0.0];
    ///     let mut dots = [2.0];
    ///     let n = comm.all_reduce_while(&mut dots, op::Sum, || {
    ///         other.cart(&[0], &[true]).exchange_halo(&mut w, &halo);
    ///         [1, 2].map(|i| 4.0 * w[i] - w[i - 1] - w[i + 1]) // A w
    ///     });
    ///     (dots[0], n)
    /// })?;
    /// assert_eq!(out, [(6.0, [2.0, 2.0]); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// The buffer is not there for the work:
    /// ```compile_fail
    /// # use phalanx::op;
    /// phalanx::run(2, |comm| {
    ///     let mut x = [1.0];
    ///     comm.all_reduce_while(&mut x, op::Sum, || x[0] += 1.0);
    /// });
    /// ```
    #[track_caller]
    #[inline]
    pub fn all_reduce_while<T: Element, O: Operator<T>, R>(
        &mut self,
        buf: &mut [T],
        op: O,
        work: impl FnOnce() -> R,
    ) -> R {
        let at = Location::caller();
        if self.choice != Choice::Auto {
            let sig = reduction!("all_reduce_while" meets "all_reduce", T, O, "");
            let r = work();
            self.all_reduce_as(sig, buf, op, at);
            return r;
        }
        let sig = const { &Signature::combining::<T, O>("all_reduce_while", O::NAME, "") };
        let call = Call::new(Operation::AllReduce, sig, at, Partition::Vector(buf.len()));
        let call = call.combining(Buffers::InPlace(buf), &op).on_bytes(self.rank(), self.size());
        match self.carry_out_around(&call, work) {
            Some(r) => r,
            None => self.nothing_to_return(),
        }
    }

    /// A reduction in the order of the tree, with work in between. None if the call
    /// was refused while a panic unwinds.
    #[inline]
    pub(super) fn carry_out_around<R>(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        let flat = call.operation() == Operation::AllReduce && flat::fits(call, self.size());
        let (algorithm, transport) = match call.operation() {
            _ if flat => (Algorithm::AR_ANY, CallTransport::Messages),
            Operation::AllReduce => (Algorithm::AR_FUSED, CallTransport::Boards),
            _ => (Algorithm::RED_FUSED, CallTransport::Boards),
        };
        let params =
            call.params(algorithm, transport, self.step_fingerprint.unwrap_or(Digest::NONE));
        let begun = self.begin_compared(call.sig(), call.at(), params)?;
        let result = if flat {
            flat::run(&mut self.port, begun, call, work)
        } else {
            let result = ordered::run(&mut self.port, &mut self.work, begun, call, work);
            self.port.record_end();
            result
        };
        match result {
            Ok(r) => Some(r),
            Err(stop) => {
                self.stop(stop);
                None
            }
        }
    }

    /// A [`barrier`](Comm::barrier) in two phases with work in between: this
    /// rank's arrival is announced, `work` runs, and then the rank waits until
    /// all have arrived. What `work` returns is returned.
    ///
    /// What any rank did before the call is visible to every rank after it. What
    /// it does in `work` need not be: others may have gone on by then (on up to
    /// 64 ranks; with more they wait for everybody's work).
    ///
    /// **Cost** up to 64 ranks: `p - 1` empty messages, all at once; else two
    /// looks at all boards.
    ///
    /// If `work` panics, the run ends with that panic.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// let ready = AtomicUsize::new(0);
    /// let out = phalanx::run(3, |comm| {
    ///     ready.fetch_add(1, Relaxed);
    ///     let own = comm.barrier_while(|| 6 * 7); // while the others come
    ///     (own, ready.load(Relaxed))
    /// })?;
    /// assert_eq!(out, [(42, 3); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn barrier_while<R>(&mut self, work: impl FnOnce() -> R) -> R {
        static SIG: Signature = Signature::of::<()>("barrier_while", "");
        if self.choice != Choice::Auto {
            static CARRIED: Signature = Signature::of::<()>("barrier_while", "").meets("barrier");
            let r = work();
            self.barrier_as(&CARRIED, Location::caller());
            return r;
        }
        // Nothing is combined, but everybody hears of everybody.
        let call = Call::new(Operation::AllReduce, &SIG, Location::caller(), Partition::Vector(1));
        let mut nothing = [()];
        let call = call.combining(Buffers::InPlace(&mut nothing), &Nothing);
        match self.carry_out_around(&call.on_bytes(self.rank(), self.size()), work) {
            Some(r) => r,
            None => self.nothing_to_return(),
        }
    }
}

/// The operator of a barrier.
struct Nothing;

impl Operator<()> for Nothing {
    const NAME: &'static str = "";
    const COMMUTATIVE: bool = true;

    fn combine(&self, _: (), _: ()) {}
}
