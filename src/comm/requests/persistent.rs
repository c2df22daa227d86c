//! Persistent requests: set up once, started many times.

use super::started_collective::{Again, Collective, Kept, Lent, Repeated};
use super::{Brand, OpenRequest, Requests};
use crate::element::Element;
use crate::exec::board::started::Job;
use crate::exec::{Buffers, Call, Partition, RawBuffers};
use crate::fabric::{CallParams, CallTransport, Signature};
use crate::op::Operator;
use crate::schedule::Operation;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// A call that is set up, and not under way: [`start`](Requests::start) starts it, and
/// [`wait`](Requests::wait) gives it back. `MPI_Allreduce_init` and its relatives.
///
/// # Examples
/// ```
/// use phalanx::op;
/// let out = phalanx::run(3, |comm| {
///     let mut x = [0.0; 4];
///     comm.requests(|scope| {
///         let mut sum = scope.persistent_all_reduce(&mut x, op::Sum);
///         for step in 1..=10 {
///             sum.buf_mut().fill(f64::from(step));
///             let request = scope.start(sum);
///             // .. work ..
///             sum = scope.wait(request);
///         }
///         sum.buf()[0]
///     })
/// })?;
/// assert_eq!(out, [30.0; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Persistent<'scope, 'env, T> {
    again: Box<dyn Again<'env> + 'env>,
    buf: *mut [T],
    _brand: Brand<'scope>,
    _buf: PhantomData<&'env mut [T]>,
}

impl<'env, T> Persistent<'_, 'env, T> {
    pub(super) fn of(again: Box<dyn Again<'env> + 'env>, buf: *mut [T]) -> Self {
        Persistent { again, buf, _brand: PhantomData, _buf: PhantomData }
    }

    /// The buffer: what the latest call has left there.
    pub fn buf(&self) -> &[T] {
        // SAFETY: borrowed for 'env, and no call that has it is under way.
        unsafe { &*self.buf }
    }

    /// The buffer, to be filled for the next call.
    pub fn buf_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; exclusively, as this is.
        unsafe { &mut *self.buf }
    }
}

impl<T> fmt::Debug for Persistent<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persistent").finish_non_exhaustive()
    }
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a persistent request. Its arguments were checked when it was set up, and nothing is
    /// allocated.
    ///
    /// **Must agree on all ranks:** the order in which calls are started, as ever; that this one is
    /// persistent makes no difference to the others.
    ///
    /// # Examples
    /// See [`Persistent`].
    #[track_caller]
    pub fn start<T: Element>(
        &mut self,
        mut persistent: Persistent<'scope, 'env, T>,
    ) -> OpenRequest<'scope, Persistent<'scope, 'env, T>> {
        let (sig, params) = persistent.again.params();
        let begun = self.begin(sig, Location::caller(), params);
        // SAFETY: made with this port (`keep`), which `begin` has compared; the scope completes the
        // call, or waits until nobody has its memory.
        let result = unsafe { persistent.again.start(&mut self.comm.port, begun) };
        self.added(result, persistent.again)
    }

    /// Sets up an [`all_reduce`](Requests::all_reduce).
    ///
    /// # Examples
    /// See [`Persistent`].
    #[track_caller]
    pub fn persistent_all_reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let sig = const { &Signature::combining::<T, O>("started all_reduce", O::NAME, "") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::AllReduce, sig, Location::caller(), cut);
        self.keep_combining(call, buf, op)
    }

    /// Sets up a [`reduce`](Requests::reduce).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.requests(|scope| {
    ///         let max = scope.persistent_reduce(&mut x, op::Max, 0);
    ///         let request = scope.start(max);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out[0], 2);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let sig = const { &Signature::combining::<T, O>("started reduce", O::NAME, "to root") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Reduce, sig, Location::caller(), cut);
        let call = self.rooted(call, root);
        self.keep_combining(call, buf, op)
    }

    /// Sets up a [`broadcast`](Requests::broadcast).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.requests(|scope| {
    ///         let ones = scope.persistent_broadcast(&mut x, 1);
    ///         let request = scope.start(ones);
    ///         scope.wait(request).buf()[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [1; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn persistent_broadcast<T: Element>(
        &mut self,
        buf: &'env mut [T],
        root: usize,
    ) -> Persistent<'scope, 'env, T> {
        let sig = const { &Signature::of::<T>("started broadcast", "from root") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Broadcast, sig, Location::caller(), cut);
        let call = self.rooted(call, root);
        let buf = std::ptr::from_mut(buf);
        // SAFETY: the same slice, for the call; until that is over nobody uses `buf`.
        let call = call.moving(Buffers::InPlace(unsafe { &mut *buf }));
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.keep(call, (), buf)
    }

    fn keep_combining<T: Element, O: Operator<T> + 'env>(
        &mut self,
        call: Call<'env>,
        buf: &'env mut [T],
        op: O,
    ) -> Persistent<'scope, 'env, T> {
        let (lent, buf) = Lent::new(buf);
        let kept = Kept::new(op);
        // SAFETY: kept until the call is dropped.
        let op: &'env O = unsafe { &*kept.at().as_ptr() };
        let call = call.combining(Buffers::InPlace(buf), op);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.keep(call, kept, lent.into_raw())
    }

    /// `call` as one that is not started yet.
    fn keep<K: 'env, T: Element>(
        &mut self,
        call: Call<'env, RawBuffers<'env>>,
        kept: K,
        buf: *mut [T],
    ) -> Persistent<'scope, 'env, T> {
        self.check_place();
        let (sig, params) = (call.sig(), params(&call));
        let comm = &*self.comm;
        let job = Job::new(call, comm.port.rank(), comm.port.size()).streaming_as(&comm.work);
        let call = Collective::new(&comm.port, job, kept, ());
        Persistent::of(Box::new(Repeated { call, buf, sig, params }), buf)
    }
}

/// What goes into a started call's fingerprint beside the signature.
pub(super) fn params(call: &Call<'_, RawBuffers<'_>>) -> CallParams {
    CallParams { transport: CallTransport::Boards, ..call.params_alone() }
}
