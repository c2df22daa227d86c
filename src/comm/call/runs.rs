//! Calls that another communicator than [`Comm`](crate::Comm) makes.

use super::data::CallData;
use super::head::CallHead;
use super::kinds::{self, CallKind, CallWay};
use super::{CheckedCalls, CollectiveCall, Lengths};
use crate::comm::arguments::{CallAt, Checks};
use crate::element::Element;
use crate::exec::{self, Partition};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::Signature;
use std::any::TypeId;
use std::panic::Location;
use typeid::ConstTypeId;

/// The facts of a call that [`Runs`] make, beside its operation and its buffers.
///
/// # Examples
/// See [`run_by`].
#[derive(Clone, Copy, Debug)]
pub struct LayerCall<'a> {
    /// The method's name.
    pub name: &'static str,
    /// The name that calls that may meet have in common.
    pub meets: &'static str,
    /// The element type, exactly, and for people.
    pub element: (TypeId, &'static str),
    /// The operator's type, exactly, and for people.
    pub operator: Option<(ConstTypeId, &'static str)>,
    /// The root, or the distance of a shift, below the number of ranks: in words, and in numbers.
    pub parameter: Option<(&'static str, usize)>,
    /// Elements of a vector, of one block, or of all blocks of different lengths.
    pub len: usize,
    /// Elements of each rank's block, if lengths differ; of those that come, if it is another list.
    pub counts: [&'a [usize]; 2],
    /// The line that made it.
    pub at: &'static Location<'static>,
}

/// A maker of calls as [`Comm`](crate::Comm) is one: a communicator of a layer above.
///
/// # Examples
/// See [`run_by`]; `phalanx-nodes` has one, with ranks on several nodes.
pub trait Runs {
    /// The rank, and the number of ranks.
    fn place(&self) -> (usize, usize);
    /// Makes a call that moves elements, in `to` alone if it is one in place.
    fn moves<T: Element>(
        &mut self,
        operation: Operation,
        facts: LayerCall<'_>,
        buffers: (&[T], &mut [T]),
    );
    /// Makes a call that combines elements, in `to` alone if it is one in place.
    fn combines<T: Element, O: Operator<T>>(
        &mut self,
        operation: Operation,
        facts: LayerCall<'_>,
        buffers: (&[T], &mut [T]),
        op: &O,
    );
    /// Ends the run: an argument of the call is wrong.
    fn refuse(&mut self, facts: LayerCall<'_>, what: String) -> !;
}

impl<'a> LayerCall<'a> {
    fn of(call: exec::Call<'a>) -> Self {
        let sig = call.sig();
        let parameter = match call.operation() {
            Operation::Shift => call.distance(),
            _ => call.root_rank(),
        };
        LayerCall {
            name: sig.call,
            meets: sig.meets,
            element: (sig.element(), (sig.element_name)()),
            operator: (sig.operator_type != ConstTypeId::of::<()>())
                .then_some((sig.operator_type, sig.operator)),
            parameter: (!sig.parameter.is_empty()).then_some((sig.parameter, parameter)),
            len: call.len(),
            counts: match call.cut() {
                Partition::Varied(counts) => [counts, &[]],
                Partition::Pairs { send, recv } => [send, recv],
                _ => [&[]; 2],
            },
            at: call.at(),
        }
    }

    /// The call of kind `K` on slices of these lengths, with good arguments.
    pub(super) fn checked<K: CallKind>(
        said: &CallHead<'a>,
        sig: &'static Signature,
        lengths: Lengths,
        by: &mut impl Runs,
    ) -> Self {
        let mut checker = Checker { by, operation: K::OPERATION, parameter: said.parameter };
        LayerCall::of(checker.checked_to_start::<K>(said, sig, lengths))
    }

    /// Makes a call that moves elements.
    #[track_caller]
    pub(super) fn moved<K: CallKind, T: Element>(
        said: &CallHead<'a>,
        (from, to): (&[T], &mut [T]),
        by: &mut impl Runs,
    ) {
        let sig = kinds::moving::<K, T, { CallWay::WAITS }>();
        let facts = LayerCall::checked::<K>(said, sig, (from.len(), to.len()), by);
        by.moves(K::OPERATION, facts, (from, to));
    }

    /// Makes a call that combines elements.
    #[track_caller]
    pub(super) fn combined<K: CallKind, T: Element, O: Operator<T>>(
        said: &CallHead<'a>,
        (from, to, op): (&[T], &mut [T], &O),
        by: &mut impl Runs,
    ) {
        let sig = kinds::combining::<K, T, O, { CallWay::WAITS }>();
        let facts = LayerCall::checked::<K>(said, sig, (from.len(), to.len()), by);
        by.combines(K::OPERATION, facts, (from, to), op);
    }
}

/// The maker of a call, while its arguments are looked at.
struct Checker<'m, R> {
    by: &'m mut R,
    operation: Operation,
    parameter: isize,
}

impl<R: Runs> Checks for Checker<'_, R> {
    fn place(&self) -> (usize, usize) {
        self.by.place()
    }

    fn wrong_argument(&mut self, (sig, at): CallAt, len: usize, what: String) {
        let call = exec::Call::new(self.operation, sig, at, Partition::Vector(len));
        self.by.refuse(LayerCall::of(call.root(self.parameter as usize)), what)
    }
}

/// Has `by` make a [call](crate::call), after a look at its arguments.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, Runs};
/// use phalanx::{call, op};
///
/// fn sum_by(by: &mut impl Runs) -> f64 {
///     engine::run_by(call::all_reduce(&mut [1.0], op::Sum), by)[0]
/// }
/// ```
#[track_caller]
pub fn run_by<'a, K: CallKind, D: CallData<'a>>(
    call: CollectiveCall<'a, K, D>,
    by: &mut impl Runs,
) -> D::Gives {
    call.data.run_by::<K, _>(&call.said, by)
}
