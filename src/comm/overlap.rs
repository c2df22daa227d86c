//! Work while the others are on their way: a contribution is posted, the
//! caller's closure runs, and the call completes.
//!
//! What is posted first must be all that peers ever need from this rank, or
//! they would wait for its closure. So few ranks send each their value to all
//! others ([`FLAT`]); else, and for long vectors, everybody shows its buffer on
//! its board.

use super::{Choice, Comm};
use crate::element::Element;
use crate::engine::{Guard, Kernel, fixed};
use crate::fabric::{Kind, Params, Port, Sig, Stop};
use crate::op::{Operator, Sum};
use crate::order::{Order, by_tree};
use crate::schedule::Algorithm;
use std::mem::MaybeUninit;
use std::panic::Location;

/// Ranks up to which everybody posts to everybody what fits the mailbox's line:
/// p - 1 stores and looks, of which none waits for another, where a tree's steps
/// would wait for the work of the ranks between. With more ranks the boards cost
/// fewer stores (a store to another core's line is 20 to 50 ns, so these are some
/// microseconds).
pub(super) const FLAT: usize = 64;

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
        self.all_reduce(&mut values, op);
        values
    }

    /// The sums over all ranks of a few values:
    /// [`all_reduce_values`](Comm::all_reduce_values) with
    /// [`Sum`](crate::op::Sum).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(4, |comm| comm.sum([1.0, comm.rank() as f64]))?;
    /// assert_eq!(out, [[4.0, 6.0]; 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn sum<T: Element, const N: usize>(&mut self, values: [T; N]) -> [T; N]
    where
        Sum: Operator<T>,
    {
        self.all_reduce_values(values, Sum)
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
    /// operator's kind.
    ///
    /// **Order.** That of [`Order::Fixed`](crate::Order::Fixed), always. (Through
    /// a view with a forced algorithm the work is done first, and then the
    /// all-reduce by that algorithm; on several nodes, too, in the fixed order.)
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
    /// The buffer is not there for the work:
    /// ```compile_fail
    /// # use phalanx::op;
    /// phalanx::run(2, |comm| {
    ///     let mut x = [1.0];
    ///     comm.all_reduce_while(&mut x, op::Sum, || x[0] += 1.0);
    /// });
    /// ```
    #[track_caller]
    pub fn all_reduce_while<T: Element, O: Operator<T>, R>(
        &mut self,
        buf: &mut [T],
        op: O,
        work: impl FnOnce() -> R,
    ) -> R {
        let sig = const { &Sig::combining::<T, O>("all_reduce_while", O::NAME, "") };
        if self.is_wide() {
            let r = work();
            self.with_order(Order::Fixed).all_reduce(buf, op);
            return r;
        }
        if self.choice != Choice::Auto {
            let r = work();
            self.all_reduce(buf, op);
            return r;
        }
        match self.reduce_around(sig, Location::caller(), buf, &op, work) {
            Some(r) => r,
            None => self.nothing_to_return(),
        }
    }

    /// All-reduce in the order of the tree. None if the call was refused while
    /// a panic unwinds.
    pub(super) fn reduce_around<T: Element, O: Operator<T>, R>(
        &mut self,
        sig: &'static Sig,
        at: &'static Location<'static>,
        buf: &mut [T],
        op: &O,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        let len = buf.len();
        let flat = size_of_val(buf) <= Kind::BRIEF && self.size() <= FLAT;
        let algorithm = if flat { Algorithm::AR_ANY } else { Algorithm::AR_FUSED };
        let params = Params { algorithm: algorithm.index(), ..Params::of(len) };
        if !self.enter(sig, at, params) {
            return None;
        }
        let result = if flat {
            all_to_all(&mut self.port, buf, op, work)
        } else {
            let kernel = Kernel::combiner(op);
            let slots = self.scratch.reserve(fixed::scratch(&kernel, self.size()), kernel.align());
            let memory = fixed::Memory { all: &mut self.addresses, slots };
            let (port, buf) = (&mut self.port, buf.as_mut_ptr().cast());
            // SAFETY: in place on a slice that is exclusively ours for the
            // call, and of which the work knows nothing; the scratch memory is
            // this communicator's own.
            unsafe { fixed::all_reduce(port, buf, len, &kernel, memory, work) }
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
    /// looks at everybody's board.
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
    pub fn barrier_while<R>(&mut self, work: impl FnOnce() -> R) -> R {
        static SIG: Sig = Sig::of::<()>("barrier_while", "");
        if self.choice != Choice::Auto || self.is_wide() {
            let r = work();
            self.barrier();
            return r;
        }
        // Nothing is combined, but everybody hears of everybody.
        match self.reduce_around(&SIG, Location::caller(), &mut [()], &Nothing, work) {
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

/// What a peer has sent.
#[derive(Clone, Copy)]
struct Line([MaybeUninit<u8>; Kind::BRIEF]);

/// All-reduce of a value that fits the mailbox's line, among at most [`FLAT`]
/// ranks: everybody sends its own to all, and combines all by the tree.
#[inline]
fn all_to_all<T: Element, O: Operator<T>, R>(
    port: &mut Port,
    buf: &mut [T],
    op: &O,
    work: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let (rank, p) = (port.rank(), port.size());
    let bytes = size_of_val(buf);
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    // Each begins with its successor, so that not all write to one rank.
    let peers = (1..p).map(|d| if rank + d < p { rank + d } else { rank + d - p });
    for peer in peers.clone() {
        port.post_copy(peer, bytes, 1, |body| {
            // SAFETY: there is room for `bytes` bytes.
            unsafe { std::ptr::copy_nonoverlapping(buf.as_ptr().cast(), body, bytes) }
        })?;
    }
    let result = work();
    let mut lines = [Line([const { MaybeUninit::uninit() }; Kind::BRIEF]); FLAT];
    for peer in peers {
        let line = &mut lines[peer];
        port.take_copy(peer, bytes, 1, |body| {
            // SAFETY: the peer wrote as many bytes (kind).
            unsafe { std::ptr::copy_nonoverlapping(body, line.0.as_mut_ptr().cast(), bytes) }
        })?;
    }
    for (i, own) in buf.iter_mut().enumerate() {
        let mine = *own;
        let operand = |r: usize| match r {
            r if r == rank => mine,
            // SAFETY: rank r sent as many elements of the same type
            // (fingerprint and kind agree); a line is not aligned for them.
            r => unsafe { lines[r].0.as_ptr().cast::<T>().add(i).read_unaligned() },
        };
        *own = by_tree(0, p, &mut { operand }, &mut |a, b| op.combine(a, b));
    }
    guard.disarm();
    Ok(result)
}
