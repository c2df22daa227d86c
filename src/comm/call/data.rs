//! The data of calls, and how each of the ways begins.

use super::CheckedCalls;
use super::head::CallHead;
use super::kinds::{self, CallCut, CallKind, CallWay};
use super::runs::{LayerCall, Runs};
use crate::comm::requests::{Form, Gives, Kept, Lent};
use crate::comm::{Choice, Comm, OpenRequest, Requests};
use crate::element::Element;
use crate::exec::{self, Buffers, Kernel, Partition};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::Signature;
use std::ptr::NonNull;

/// The data of a call: nothing, values, or slices, with an operator if it combines them.
///
/// # Examples
/// See [`CollectiveCall`](super::CollectiveCall).
pub trait CallData<'a>: sealed::CallData<'a> {}

impl<'a, D: sealed::CallData<'a>> CallData<'a> for D {}

pub(super) mod sealed {
    use super::{CallHead, CallKind, Comm, OpenRequest, Requests, Runs};

    /// The ways of a call of any kind on such data.
    pub trait CallData<'a>: Sized {
        /// The call's result when it is over.
        type Gives;

        fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> Self::Gives;

        /// By the methods of another communicator.
        fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> Self::Gives;

        fn start<'scope, K: CallKind>(
            self,
            said: &CallHead<'a>,
            scope: &mut Requests<'scope, 'a>,
        ) -> OpenRequest<'scope, Self::Gives>;

        /// With `work` in between: it is started, and waited for after the work.
        #[track_caller]
        fn overlap<K: CallKind, R>(
            self,
            said: &CallHead<'a>,
            comm: &mut Comm,
            work: impl FnOnce() -> R,
        ) -> (Self::Gives, R) {
            super::started::<K, _, _>(self, said, comm, work)
        }
    }
}

/// A slice of elements that are moved.
///
/// # Examples
/// See [`broadcast`](super::broadcast).
#[derive(Debug)]
pub struct MovedInPlace<'a, T>(pub(super) &'a mut [T]);

/// A slice of elements that are combined by `O`.
///
/// # Examples
/// See [`all_reduce`](super::all_reduce).
#[derive(Debug)]
pub struct ReducedInPlace<'a, T, O> {
    pub(super) buf: &'a mut [T],
    pub(super) op: O,
}

/// Two slices, from one of which elements are moved to the other: `I` is `&[T]` or `&mut [T]`.
///
/// # Examples
/// See [`all_gather_into`](super::all_gather_into).
#[derive(Debug)]
pub struct MovedInto<'a, T, I> {
    pub(super) from: I,
    pub(super) to: &'a mut [T],
}

/// Two slices, from one of which elements are combined by `O`: `I` is `&[T]` or `&mut [T]`.
///
/// # Examples
/// See [`reduce_scatter_into`](super::reduce_scatter_into).
#[derive(Debug)]
pub struct ReducedInto<'a, T, I, O> {
    pub(super) from: I,
    pub(super) to: &'a mut [T],
    pub(super) op: O,
}

/// A few values, which are combined by `O`, and need no buffer.
///
/// # Examples
/// See [`all_reduce_values`](super::all_reduce_values).
#[derive(Debug)]
pub struct ReducedValues<T, const N: usize, O> {
    pub(super) values: [T; N],
    pub(super) op: O,
}

/// An input, for a call that only reads it.
pub trait Given<'a, T> {
    fn given(self) -> &'a [T];
}

impl<'a, T> Given<'a, T> for &'a [T] {
    #[inline(always)]
    fn given(self) -> &'a [T] {
        self
    }
}

impl<'a, T> Given<'a, T> for &'a mut [T] {
    #[inline(always)]
    fn given(self) -> &'a [T] {
        self
    }
}

/// Starts a call, and waits for it when `work` is done.
#[track_caller]
fn started<'a, K: CallKind, D: CallData<'a>, R>(
    data: D,
    said: &CallHead<'a>,
    comm: &mut Comm,
    work: impl FnOnce() -> R,
) -> (D::Gives, R) {
    comm.requests(|scope| {
        let open = data.start::<K>(said, scope);
        let done = work();
        (scope.wait(open), done)
    })
}

/// How data with a form starts its call.
macro_rules! start_by_form {
    () => {
        #[inline(always)]
        fn start<'scope, K: CallKind>(
            self,
            said: &CallHead<'a>,
            scope: &mut Requests<'scope, 'a>,
        ) -> OpenRequest<'scope, &'a mut [T]> {
            let form = self.form::<K, { CallWay::STARTED }>(said, scope.comm());
            scope.start_form(form)
        }
    };
}

impl<'a> sealed::CallData<'a> for () {
    type Gives = ();

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) {
        comm.barrier_as(kinds::moving::<K, (), { CallWay::WAITS }>(), said.at);
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) {
        LayerCall::moved::<K, ()>(said, (&[], &mut []), by);
    }

    #[inline(always)]
    fn start<'scope, K: CallKind>(
        self,
        said: &CallHead<'a>,
        scope: &mut Requests<'scope, 'a>,
    ) -> OpenRequest<'scope, ()> {
        let Form { call, mut kept, .. } =
            MovedInPlace::<()>(&mut []).form::<K, { CallWay::STARTED }>(said, scope.comm());
        let slot = scope.start_call(&call, &mut kept, &Gives::nothing());
        slot.map_or(OpenRequest::over(()), OpenRequest::open)
    }

    #[inline]
    fn overlap<K: CallKind, R>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
        work: impl FnOnce() -> R,
    ) -> ((), R) {
        if comm.choice != Choice::Auto {
            let done = work();
            comm.barrier_as(kinds::moving::<K, (), { CallWay::AFTER_WORK }>(), said.at);
            return ((), done);
        }
        // Nothing is combined, but everybody hears of everybody.
        let sig = kinds::moving::<K, (), { CallWay::OVERLAPPED }>();
        let call = exec::Call::new(Operation::AllReduce, sig, said.at, Partition::Vector(1));
        let mut nothing = [()];
        let call = call.combining(Buffers::InPlace(&mut nothing), &Nothing);
        let call = call.in_order().on_bytes(comm.rank(), comm.size());
        match comm.by_gates_or_boards(&call, work) {
            Some(done) => ((), done),
            None => comm.nothing_to_return(),
        }
    }
}

/// The operator of an overlapped barrier.
struct Nothing;

impl Operator<()> for Nothing {
    const NAME: &'static str = "";
    const COMMUTATIVE: bool = true;

    fn combine(&self, _: (), _: ()) {}
}

impl<'a, T: Element> MovedInPlace<'a, T> {
    /// The form of the call.
    #[inline(always)]
    pub(super) fn form<K: CallKind, const WAY: u8>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
    ) -> Form<'a, T> {
        let sig = kinds::moving::<K, T, WAY>();
        let len = self.0.len();
        let call = comm.checked_to_start::<K>(said, sig, (len, len));
        let (result, buf) = Lent::new(self.0);
        let call = call.moving(Buffers::InPlace(buf)).on_bytes(comm.rank(), comm.size());
        Form { call, kept: Kept::NOTHING, result }
    }
}

impl<'a, T: Element> sealed::CallData<'a> for MovedInPlace<'a, T> {
    type Gives = &'a mut [T];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> &'a mut [T] {
        let sig = kinds::moving::<K, T, { CallWay::WAITS }>();
        let len = self.0.len();
        if let Some(call) = comm.checked::<K>(said, sig, (len, len)) {
            let is_idle = call.is_idle();
            comm.carry_out(call.moving(Buffers::InPlace(&mut *self.0)));
            if K::OPERATION == Operation::Shift && is_idle && comm.size() > 1 {
                comm.port.count_silent_call();
            }
        }
        self.0
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> &'a mut [T] {
        LayerCall::moved::<K, T>(said, (&[], self.0), by);
        self.0
    }

    start_by_form!();
}

impl<'a, T: Element, I: Given<'a, T>> MovedInto<'a, T, I> {
    /// The form of the call.
    #[inline(always)]
    pub(super) fn form<K: CallKind, const WAY: u8>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
    ) -> Form<'a, T> {
        let sig = kinds::moving::<K, T, WAY>();
        let (from, (result, to)) = (self.from.given(), Lent::new(self.to));
        let call = comm.checked_to_start::<K>(said, sig, (from.len(), to.len()));
        let call = call.moving(Buffers::Apart(from, to)).on_bytes(comm.rank(), comm.size());
        Form { call, kept: Kept::NOTHING, result }
    }
}

impl<'a, T: Element, I: Given<'a, T>> sealed::CallData<'a> for MovedInto<'a, T, I> {
    type Gives = &'a mut [T];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> &'a mut [T] {
        let sig = kinds::moving::<K, T, { CallWay::WAITS }>();
        let (at, [send, recv]) = (said.at, said.counts);
        let (from, to) = (self.from.given(), self.to);
        match (K::OPERATION, K::CUT) {
            (Operation::AllGather, _) | (Operation::AllToAll, CallCut::Equal) => {
                let (kernel, sent, received) = (Kernel::mover::<T>(), from.len(), to.len());
                let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
                // SAFETY: slices of the signature's type. A word from everybody takes a third more
                // instructions if the size is not known (`tools/instructions all-gather-8`).
                unsafe {
                    comm.move_blocks::<K>(said, (sig, kernel), (from, sent), (to, received));
                }
            }
            (_, CallCut::Pairs) => comm.exchange_varied((sig, at), (from, send), (to, recv)),
            (_, CallCut::Varied) => {
                let buffers = (from, &mut *to);
                comm.run_varied::<K, T, _>(said, sig, buffers, |call, buffers| {
                    call.moving(buffers)
                });
            }
            _ => {
                if let Some(call) = comm.checked::<K>(said, sig, (from.len(), to.len())) {
                    comm.carry_out(call.moving(Buffers::Apart(from, &mut *to)));
                }
            }
        }
        to
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> &'a mut [T] {
        LayerCall::moved::<K, T>(said, (self.from.given(), self.to), by);
        self.to
    }

    start_by_form!();
}

impl Comm {
    /// Carries out a call by which blocks go from all to all, of lengths that all ranks know.
    ///
    /// # Safety
    /// Pointers and lengths are those of a `&` and a `&mut` slice of the signature's type, which is
    /// the kernel's.
    #[inline(always)]
    unsafe fn move_blocks<K: CallKind>(
        &mut self,
        said: &CallHead<'_>,
        (sig, kernel): (&'static Signature, Kernel<'_>),
        (from, sent): (*const u8, usize),
        (to, received): (*mut u8, usize),
    ) {
        let lengths = (sent, received);
        let call = match K::CUT {
            CallCut::Varied => {
                let (counts, call) = (said.counts[0], (sig, said.at));
                let facts = self.check_common_counts(counts, sent, kernel.size(), call);
                let Some(facts) = facts else { return };
                self.checked_varied::<K>(said, sig, facts, lengths).map(|call| call.giving(sent))
            }
            _ => self.checked::<K>(said, sig, lengths),
        };
        let Some(call) = call else { return };
        // SAFETY: the lengths are those of the operation's blocks.
        self.moving_by_route(unsafe { call.on_memory(kernel, from, to) });
    }

    /// Carries out a call of blocks of lengths that all ranks know.
    #[inline(always)]
    fn run_varied<'a, 'b, K: CallKind, T: Element, O: Operator<T> + 'b>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        (from, to): (&'b [T], &'b mut [T]),
        with: impl FnOnce(exec::Call<'b>, Buffers<'b, T>) -> exec::Call<'b, exec::Slices<'b, T, O>>,
    ) where
        'a: 'b,
    {
        let counts = said.counts[0];
        let own = match K::OPERATION {
            Operation::Scatter | Operation::ReduceScatter => to.len(),
            _ => from.len(),
        };
        let facts = self.check_common_counts(counts, own, size_of::<T>(), (sig, said.at));
        let Some(facts) = facts else { return };
        let lengths = (from.len(), to.len());
        if let Some(call) = self.checked_varied::<K>(said, sig, facts, lengths) {
            self.carry_out(with(call, Buffers::Apart(from, to)));
        }
    }
}

impl<'a, T: Element, O: Operator<T> + 'a> ReducedInPlace<'a, T, O> {
    /// The form of the call.
    #[inline(always)]
    pub(super) fn form<K: CallKind, const WAY: u8>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
    ) -> Form<'a, T> {
        let sig = kinds::combining::<K, T, O, WAY>();
        let len = self.buf.len();
        let call = comm.checked_to_start::<K>(said, sig, (len, len));
        let (result, buf) = Lent::new(self.buf);
        let (buffers, rank, p) = (Buffers::InPlace(buf), comm.rank(), comm.size());
        if K::OPERATION == Operation::ExclusiveScan {
            let identity = self.op.identity();
            let (kept, at) = Kept::new((self.op, identity));
            // SAFETY: kept until the call is dropped.
            let (op, identity): &'a (O, Option<T>) = unsafe { &*at.as_ptr() };
            let call = call.combining(buffers, op).or(identity.as_ref()).on_bytes(rank, p);
            return Form { call, kept, result };
        }
        let (kept, at) = Kept::new(self.op);
        // SAFETY: kept until the call is dropped.
        let op: &'a O = unsafe { &*at.as_ptr() };
        Form { call: call.combining(buffers, op).on_bytes(rank, p), kept, result }
    }
}

impl<'a, T: Element, O: Operator<T> + 'a> sealed::CallData<'a> for ReducedInPlace<'a, T, O> {
    type Gives = &'a mut [T];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> &'a mut [T] {
        // Apart, so that the slice stays in registers when the operator's address is taken.
        let ReducedInPlace { buf, op } = self;
        comm.reduce_as::<K, T, O, { CallWay::WAITS }>(said, buf, &op);
        buf
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> &'a mut [T] {
        LayerCall::combined::<K, T, O>(said, (&[], self.buf, &self.op), by);
        self.buf
    }

    start_by_form!();

    #[inline]
    #[track_caller]
    fn overlap<K: CallKind, R>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
        work: impl FnOnce() -> R,
    ) -> (&'a mut [T], R) {
        if K::OPERATION != Operation::AllReduce {
            return started::<K, _, _>(self, said, comm, work);
        }
        let ReducedInPlace { buf, op } = self;
        let done = comm.reduce_around::<K, T, O, R>(said, buf, &op, work);
        (buf, done)
    }
}

impl Comm {
    /// Carries out a call that combines in place.
    #[inline(always)]
    fn reduce_as<K: CallKind, T: Element, O: Operator<T>, const WAY: u8>(
        &mut self,
        said: &CallHead<'_>,
        buf: &mut [T],
        op: &O,
    ) {
        let sig = kinds::combining::<K, T, O, WAY>();
        let lengths = (buf.len(), buf.len());
        let Some(call) = self.checked::<K>(said, sig, lengths) else { return };
        let call = call.combining(Buffers::InPlace(buf), op);
        if K::OPERATION == Operation::ExclusiveScan {
            let identity = op.identity();
            return self.carry_out(call.or(identity.as_ref()));
        }
        self.carry_out(call);
    }

    /// Carries out an all-reduce with work in between.
    #[inline]
    fn reduce_around<K: CallKind, T: Element, O: Operator<T>, R>(
        &mut self,
        said: &CallHead<'_>,
        buf: &mut [T],
        op: &O,
        work: impl FnOnce() -> R,
    ) -> R {
        if self.choice != Choice::Auto {
            let done = work();
            self.reduce_as::<K, T, O, { CallWay::AFTER_WORK }>(said, buf, op);
            return done;
        }
        let sig = kinds::combining::<K, T, O, { CallWay::OVERLAPPED }>();
        let call = exec::Call::new(K::OPERATION, sig, said.at, Partition::Vector(buf.len()));
        let call = call.combining(Buffers::InPlace(buf), op).in_order();
        let call = call.on_bytes(self.rank(), self.size());
        match self.by_gates_or_boards(&call, work) {
            Some(done) => done,
            None => self.nothing_to_return(),
        }
    }
}

impl<'a, T: Element, I: Given<'a, T>, O: Operator<T> + 'a> ReducedInto<'a, T, I, O> {
    /// The form of the call.
    #[inline(always)]
    pub(super) fn form<K: CallKind, const WAY: u8>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
    ) -> Form<'a, T> {
        let sig = kinds::combining::<K, T, O, WAY>();
        let (from, (result, to)) = (self.from.given(), Lent::new(self.to));
        let call = comm.checked_to_start::<K>(said, sig, (from.len(), to.len()));
        let (kept, at) = Kept::new(self.op);
        // SAFETY: kept until the call is dropped.
        let op: &'a O = unsafe { &*at.as_ptr() };
        let call = call.combining(Buffers::Apart(from, to), op).on_bytes(comm.rank(), comm.size());
        Form { call, kept, result }
    }
}

impl<'a, T, I, O> sealed::CallData<'a> for ReducedInto<'a, T, I, O>
where
    T: Element,
    I: Given<'a, T>,
    O: Operator<T> + 'a,
{
    type Gives = &'a mut [T];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> &'a mut [T] {
        let sig = kinds::combining::<K, T, O, { CallWay::WAITS }>();
        let ReducedInto { from, to, op } = self;
        let from = from.given();
        if K::CUT == CallCut::Varied {
            let buffers = (from, &mut *to);
            comm.run_varied::<K, T, O>(said, sig, buffers, |call, buffers| {
                call.combining(buffers, &op)
            });
        } else if let Some(call) = comm.checked::<K>(said, sig, (from.len(), to.len())) {
            comm.carry_out(call.combining(Buffers::Apart(from, &mut *to), &op));
        }
        to
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> &'a mut [T] {
        LayerCall::combined::<K, T, O>(said, (self.from.given(), self.to, &self.op), by);
        self.to
    }

    start_by_form!();
}

impl<'a, T: Element, const N: usize, O: Operator<T> + 'a> sealed::CallData<'a>
    for ReducedValues<T, N, O>
{
    type Gives = [T; N];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> [T; N] {
        let ReducedValues { mut values, op } = self;
        comm.reduce_as::<K, T, O, { CallWay::WAITS }>(said, &mut values, &op);
        values
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(mut self, said: &CallHead<'a>, by: &mut R) -> [T; N] {
        LayerCall::combined::<K, T, O>(said, (&[], &mut self.values, &self.op), by);
        self.values
    }

    #[inline(always)]
    fn start<'scope, K: CallKind>(
        self,
        said: &CallHead<'a>,
        scope: &mut Requests<'scope, 'a>,
    ) -> OpenRequest<'scope, [T; N]> {
        let sig = kinds::combining::<K, T, O, { CallWay::STARTED }>();
        let call = exec::Call::new(K::OPERATION, sig, said.at, Partition::Vector(N));
        let (rank, p) = (scope.comm().rank(), scope.comm().size());
        let is_few = size_of::<[T; N]>() <= BRIEF_ROOM && align_of::<T>() <= BRIEF_ALIGN;
        let ReducedValues { values: mut few, op } = self;
        let few = &raw mut few;
        // Others have the address of more.
        let (mut kept, (values, op), gives) = if is_few {
            let (kept, op) = Kept::new(op);
            (kept, (few, op.as_ptr()), Gives::values::<[T; N]>(None))
        } else {
            // SAFETY: it has them.
            let (kept, all) = Kept::new((unsafe { few.read() }, op));
            // SAFETY: just made.
            let (values, op) = unsafe { (&raw mut (*all.as_ptr()).0, &raw mut (*all.as_ptr()).1) };
            (kept, (values, op), Gives::values(NonNull::new(values)))
        };
        // SAFETY: the operator is kept until the call is dropped. So are more than a few values,
        // which the call has alone until it is over; it goes from a few to where their result is
        // to be if it is not over when this returns (`PendingCollective::call`).
        let (by, at): (&'a O, &'a mut [T; N]) = unsafe { (&*op, &mut *values) };
        let call = call.combining(Buffers::InPlace(at), by).on_bytes(rank, p);
        match scope.start_call(&call, &mut kept, &gives) {
            Some(slot) => OpenRequest::open(slot),
            // SAFETY: it is over, and its data is there.
            None => OpenRequest::over(unsafe { values.read() }),
        }
    }

    #[inline]
    fn overlap<K: CallKind, R>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
        work: impl FnOnce() -> R,
    ) -> ([T; N], R) {
        let ReducedValues { mut values, op } = self;
        let done = comm.reduce_around::<K, T, O, R>(said, &mut values, &op, work);
        (values, done)
    }
}
