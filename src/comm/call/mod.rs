//! Collective calls, and messages, as values.
//!
//! A function of this page makes a call: the operation, its buffers, its operator, its root, and
//! the line that made it. The call holds its buffers, and does nothing yet. Then it is
//!
//! | | by | which gives |
//! |---|---|---|
//! | run, as by the method of its name | [`Comm::run`] | its buffer, or its values |
//! | run by a forced algorithm | `comm.ring().run(..)`: [`Forced`] | its buffer, or its values |
//! | run in fixed order | `comm.with_order(..).run(..)` | its buffer, or its values |
//! | overlapped with work | [`Comm::overlap`] | that, and the work's result |
//! | started, and waited for later | [`Requests::start`] | an [`OpenRequest`], which gives that |
//! | set up, to be started many times | [`Requests::set_up`] | a [`Persistent`] call |
//!
//! [`Forced`]: crate::Forced
//! [`Requests::start`]: crate::Requests::start
//! [`Requests::set_up`]: crate::Requests::set_up
//! [`OpenRequest`]: crate::OpenRequest
//! [`Persistent`]: crate::Persistent
//!
//! No values are calls in place on blocks, those that return a `Vec`, exchanges of owned values,
//! fixed sums, halos and plans of neighbours.
//!
//! Its arguments are looked at when it is run, started or set up: only then there are ranks. What
//! ranks must agree about, what ends the run, and in which order a reduction combines, the method
//! of [`Comm`] with the same name says. Of calls that are started or set up, ranks must agree about
//! the order in which they are started on a communicator, blocking ones among them; their
//! reductions have the order of [`Order::Fixed`](crate::Order::Fixed), always.
//!
//! Names in errors and records: `all_reduce`, `started all_reduce`, `persistent all_reduce`,
//! `overlapped all_reduce`.
//!
//! # Examples
//! ```
//! use phalanx::{call, op};
//! let out = phalanx::run(3, |comm| {
//!     let (mut x, mut y) = ([comm.rank() as f64], [1u8]);
//!     comm.run(call::all_reduce(&mut x, op::Sum));
//!     comm.ring().run(call::all_reduce(&mut x, op::Max));
//!     let ([all], work) = comm.overlap(call::sum([1]), || 6 * 7);
//!     comm.requests(|scope| {
//!         let sum = scope.start(call::all_reduce(&mut x, op::Sum));
//!         let max = scope.start(call::all_reduce(&mut y, op::Max));
//!         let y: &mut [u8] = scope.wait(max);
//!         (scope.wait(sum)[0], y[0], all + work)
//!     })
//! })?;
//! assert_eq!(out, [(9.0, 1, 45); 3]);
//! # Ok::<(), phalanx::Error>(())
//! ```
//! A buffer is not there while a call has it, started or not:
//! ```compile_fail,E0506
//! # use phalanx::{call, op};
//! let mut x = [1.0];
//! let sum = call::all_reduce(&mut x, op::Sum);
//! x[0] = 2.0;
//! drop(sum);
//! ```
//! A call is made once:
//! ```compile_fail,E0382
//! # use phalanx::{call, op};
//! phalanx::run(2, |comm| {
//!     let mut x = [1.0];
//!     let sum = call::all_reduce(&mut x, op::Sum);
//!     comm.run(sum);
//!     comm.run(sum);
//! });
//! ```

// Files:
//
// | file | |
// |---|---|
// | `mod.rs` | the value, and its arguments, which are looked at once |
// | `head.rs` | the facts of a call beside its kind and its data |
// | `kinds.rs` | the kinds of calls: operation, cut, names |
// | `make.rs`, `make_blocks.rs` | the functions that make them |
// | `input.rs` | an input, by `&` or by `&mut` |
// | `data.rs` | their data, and how that is run, started, set up |
// | `made.rs` | the line that made it |
// | `runs.rs` | calls that another communicator makes |
// | `message_call.rs` | tagged messages |
// | `segmented.rs` | segmented scans: a call, and each rank's own work around it |
// | `memory_call.rs` | calls on memory, for interfaces of other languages |
// | `startable.rs` | a call that is started, or set up |

mod data;
mod head;
mod input;
pub(crate) mod kinds;
pub(crate) mod made;
mod make;
mod make_blocks;
pub(crate) mod memory_call;
mod message_call;
pub(crate) mod runs;
mod segmented;
mod startable;

pub use data::{CallData, MovedInPlace, MovedInto, ReducedInPlace, ReducedInto, ReducedValues};
pub use input::Input;
pub use kinds::{
    AllGather, AllGatherVaried, AllReduce, AllReduceValues, AllToAll, AllToAllVaried, Barrier,
    Broadcast, CallKind, ExclusiveScan, ExclusiveSegmentedScan, Gather, GatherVaried, Reduce,
    ReduceScatter, ReduceScatterVaried, Scan, Scatter, ScatterVaried, SegmentedScan, Shift,
    SumValues,
};
pub use make::{
    all_reduce, all_reduce_values, barrier, broadcast, exclusive_scan, reduce, scan, shift, sum,
};
pub use make_blocks::{
    all_gather_into, all_gather_varied_into, all_to_all_into, all_to_all_varied_into, gather_into,
    gather_varied_into, reduce_scatter_into, reduce_scatter_varied_into, scatter_into,
    scatter_varied_into,
};
pub use message_call::{ReceiveMessage, SendMessage, recv_tagged, send_tagged};
pub use segmented::{ReducedSegments, exclusive_segmented_scan, segmented_scan};
pub use startable::{SetUp, Start};

use super::Comm;
use super::arguments::Checks;
use crate::exec::{self, Partition};
use crate::schedule::Operation;
use crate::shared::{CountFacts, Digest, Signature};
use head::CallHead;
use kinds::CallCut;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// A collective call that is not made yet: of kind `K`, with its data, `D`. The functions
/// of [`call`](crate::call) make it.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank()];
///     let sum = call::all_reduce(&mut x, op::Sum); // nothing is done yet
///     comm.run(sum)[0]
/// })?;
/// assert_eq!(out, [3; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[must_use = "a call is only made when it is run, overlapped, started or set up"]
pub struct CollectiveCall<'a, K, D> {
    said: CallHead<'a>,
    data: D,
    kind: PhantomData<K>,
}

impl<'a, K, D> CollectiveCall<'a, K, D> {
    #[inline(always)]
    #[track_caller]
    fn new(data: D) -> Self {
        let said = CallHead { at: Location::caller(), parameter: 0, counts: [&[]; 2] };
        CollectiveCall { said, data, kind: PhantomData }
    }

    #[inline(always)]
    fn root(mut self, root: usize) -> Self {
        self.said.parameter = root as isize;
        self
    }

    #[inline(always)]
    fn by(mut self, distance: isize) -> Self {
        self.said.parameter = distance;
        self
    }

    #[inline(always)]
    fn blocks(mut self, send: &'a [usize], recv: &'a [usize]) -> Self {
        self.said.counts = [send, recv];
        self
    }
}

impl<K: CallKind, D> fmt::Debug for CollectiveCall<'_, K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectiveCall")
            .field("operation", &K::OPERATION)
            .field("made_at", &self.said.at)
            .finish_non_exhaustive()
    }
}

/// # Calls as values
impl Comm {
    /// Makes a [call](crate::call): as the method of its name does. It returns what a request of
    /// the call would give, the buffer that has the result, or the values.
    ///
    /// By `comm.ring().run(..)` it goes by the ring.
    ///
    /// Ranks must agree on all that the method of its name asks for; its errors and its cost are
    /// the method's.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Algorithm, Order, call, op};
    /// let out = phalanx::run(4, |comm| {
    ///     let (mine, mut all, mut x) = ([comm.rank()], [0; 4], [0.1]);
    ///     let all = comm.with(Algorithm::AG_HCUBE).run(call::all_gather_into(&mine, &mut all));
    ///     let x = comm.with_order(Order::Fixed).run(call::all_reduce(&mut x, op::Sum));
    ///     (all[3], x[0])
    /// })?;
    /// assert_eq!(out, [(3, (0.1 + 0.1) + (0.1 + 0.1)); 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline(always)]
    pub fn run<'a, K: CallKind, D: CallData<'a>>(
        &mut self,
        call: CollectiveCall<'a, K, D>,
    ) -> D::Gives {
        let CollectiveCall { said, data, .. } = call;
        data.run::<K>(&said, self)
    }

    /// Makes a [call](crate::call) with work in between: this rank's contribution is there for all
    /// to see, `work` runs, and then the call is completed. Returns the call's result, and
    /// that of `work`.
    ///
    /// A barrier, or an all-reduce of few bytes, waits for the others to *arrive*, not for their
    /// work; so ranks with longer work do not wait at all. So does any
    /// other call of little data. A long one, of which each rank has to do a part, returns when
    /// everybody's work is done ([`Comm::requests`]).
    ///
    /// Each rank's writes before an overlapped barrier are visible to every rank after it. Those
    /// that it does in `work` need not be: others may have gone on by then.
    ///
    /// **Must agree on all ranks:** all that the method of the call's name asks for, and that the
    /// call is overlapped.
    ///
    /// **Order** of a reduction: that of [`Order::Fixed`](crate::Order::Fixed), always. (With a
    /// forced algorithm the work is done first, and then the call, by that algorithm.)
    ///
    /// **Cost** of a barrier, or of few bytes all-reduced: one step at the gates, in which each
    /// rank looks at all others (up to 60 bytes; on up to four ranks, or more ranks than cores, as
    /// many as [`Comm::all_reduce`] takes there); of any other call that of one that is started
    /// ([`Comm::requests`]).
    ///
    /// If `work` panics, the run ends with that panic, as anywhere else on a rank; a buffer then
    /// holds anything of its type.
    ///
    /// # Examples
    /// A dot product on its way while the preconditioner works:
    /// ```
    /// use phalanx::call;
    /// let out = phalanx::run(3, |comm| {
    ///     let r = [1.0, 2.0, 3.0];
    ///     let rr = r.iter().map(|x| x * x).sum::<f64>();
    ///     let ([rr], z) = comm.overlap(call::sum([rr]), || r.map(|x| x / 4.0));
    ///     (rr, z[2])
    /// })?;
    /// assert_eq!(out, [(42.0, 0.75); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// This communicator is busy while `work` runs, another one is not: with one made by
    /// [`split`](Comm::split), the work may send, or exchange halos, or reduce, as pipelined
    /// conjugate gradients do (the matrix's product, its halo beside the dots):
    /// ```
    /// use phalanx::{call, dist::Halo, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let mut other = comm.split(0, comm.rank()); // the same ranks; made once
    ///     let halo = Halo::new(&[2], 1);
    ///     let mut w = [0.0, 1.0, 1.0, 0.0];
    ///     let mut dots = [2.0];
    ///     let (dots, n) = comm.overlap(call::all_reduce(&mut dots, op::Sum), || {
    ///         other.cart(&[0], &[true]).exchange_halo(&mut w, &halo);
    ///         [1, 2].map(|i| 4.0 * w[i] - w[i - 1] - w[i + 1]) // A w
    ///     });
    ///     (dots[0], n)
    /// })?;
    /// assert_eq!(out, [(6.0, [2.0, 2.0]); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// A barrier in two phases:
    /// ```
    /// use phalanx::call;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// let ready = AtomicUsize::new(0);
    /// let out = phalanx::run(3, |comm| {
    ///     ready.fetch_add(1, Relaxed);
    ///     let ((), own) = comm.overlap(call::barrier(), || 6 * 7); // while the others come
    ///     (own, ready.load(Relaxed))
    /// })?;
    /// assert_eq!(out, [(42, 3); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// The buffer is not there for the work:
    /// ```compile_fail,E0499
    /// # use phalanx::{call, op};
    /// phalanx::run(2, |comm| {
    ///     let mut x = [1.0];
    ///     comm.overlap(call::all_reduce(&mut x, op::Sum), || x[0] += 1.0);
    /// });
    /// ```
    #[track_caller]
    #[inline]
    pub fn overlap<'a, K: CallKind, D: CallData<'a>, R>(
        &mut self,
        call: CollectiveCall<'a, K, D>,
        work: impl FnOnce() -> R,
    ) -> (D::Gives, R) {
        call.data.overlap::<K, R>(&call.said, self, work)
    }
}

/// Elements of a call's input and output.
type Lengths = (usize, usize);

/// The checks of calls, of whoever makes them.
pub(in crate::comm) trait CheckedCalls: Checks {
    /// The call of kind `K` on buffers of these lengths; not of blocks of different lengths. None
    /// if it is wrong, and a panic unwinds.
    #[inline(always)]
    fn checked<'a, K: kinds::sealed::CallKind>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        (from, to): Lengths,
    ) -> Option<exec::Call<'a>> {
        let (_, p) = self.place();
        let cut = match (K::CUT, K::OPERATION) {
            (CallCut::Vector, _) => Partition::Vector(to),
            (_, Operation::Scatter | Operation::ReduceScatter) => Partition::Equal(to),
            (_, Operation::AllToAll) => Partition::Equal(from / p),
            _ => Partition::Equal(from),
        };
        if K::OPERATION == Operation::AllToAll
            && !self.check_blocks("the input has", from, (sig, said.at))
        {
            return None;
        }
        let call = exec::Call::new(K::OPERATION, sig, said.at, cut);
        let call = self.with_parameter(call, said.parameter)?;
        let wanted = match K::OPERATION {
            Operation::AllToAll => Some(from),
            _ => call.len().checked_mul(p),
        };
        self.fits(K::OPERATION, &call, wanted, (from, to)).then_some(call)
    }

    /// A call of blocks of different lengths, `total` elements together, whose counts are good.
    #[inline(always)]
    fn checked_varied<'a, K: kinds::sealed::CallKind>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        facts: CountFacts,
        lengths: Lengths,
    ) -> Option<exec::Call<'a>> {
        let counted = (said.counts[0], facts);
        let call = exec::Call::of_counts(K::OPERATION, sig, said.at, counted);
        let call = self.with_parameter(call, said.parameter)?;
        self.fits(K::OPERATION, &call, Some(facts.total), lengths).then_some(call)
    }

    /// The call of any kind on buffers of these lengths, to be started.
    #[inline(always)]
    fn checked_to_start<'a, K: kinds::sealed::CallKind>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        lengths: Lengths,
    ) -> exec::Call<'a> {
        let (from, to) = lengths;
        let [send, recv] = said.counts;
        let call = match K::CUT {
            CallCut::Vector | CallCut::Equal => self.checked::<K>(said, sig, lengths),
            CallCut::Varied => {
                let own = match K::OPERATION {
                    Operation::Scatter | Operation::ReduceScatter => to,
                    _ => from,
                };
                self.check_counts(send, own, sig.element_size, (sig, said.at))
                    .and_then(|_| CountFacts::of(send, Digest::NONE))
                    .and_then(|facts| self.checked_varied::<K>(said, sig, facts, lengths))
            }
            CallCut::Pairs => {
                self.check_pairs((sig, said.at), (from, send), (to, recv)).then(|| {
                    exec::Call::new(K::OPERATION, sig, said.at, Partition::Pairs { send, recv })
                })
            }
        };
        match call {
            Some(call) => call,
            None => panic!("a call was refused while another panic unwinds"),
        }
    }

    /// The call with its root or its distance, if it has one; none if that is no rank.
    #[inline(always)]
    fn with_parameter<'a>(
        &mut self,
        call: exec::Call<'a>,
        parameter: isize,
    ) -> Option<exec::Call<'a>> {
        match call.operation() {
            Operation::Shift => {
                Some(call.shifted(parameter.rem_euclid(self.place().1 as isize) as usize))
            }
            Operation::Reduce | Operation::Broadcast | Operation::Gather | Operation::Scatter => {
                let root = parameter as usize;
                self.check_rank("root", root, (call.sig(), call.at()), call.len())
                    .then(|| call.root(root))
            }
            _ => Some(call),
        }
    }

    /// Whether a buffer of all blocks, where this rank has one, is as long as is `wanted`.
    #[inline(always)]
    fn fits(
        &mut self,
        operation: Operation,
        call: &exec::Call<'_>,
        wanted: Option<usize>,
        (from, to): Lengths,
    ) -> bool {
        let (sig, at, len) = (call.sig(), call.at(), call.len());
        let is_root = self.place().0 == call.root_rank();
        let (input, output) = match operation {
            Operation::AllGather => (false, true),
            Operation::Gather => (false, is_root),
            Operation::ReduceScatter => (true, false),
            Operation::Scatter => (is_root, false),
            Operation::AllToAll => (true, true),
            _ => (false, false),
        };
        (!input || self.check_len("the input", from, wanted, (sig, at), len))
            && (!output || self.check_len("the output", to, wanted, (sig, at), len))
    }
}

impl<C: Checks> CheckedCalls for C {}
