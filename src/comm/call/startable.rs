//! Calls that are started, or set up, in a scope of requests.

use super::CollectiveCall;
use super::data::{CallData, MovedInPlace, MovedInto, ReducedInPlace, ReducedInto};
use super::head::CallHead;
use super::kinds::{CallKind, CallWay};
use crate::comm::requests::Lent;
use crate::comm::{OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::error::At;
use crate::op::Operator;
use std::panic::Location;

/// A value that [`Requests::start`] starts: a [`CollectiveCall`], a message, or a [`Persistent`]
/// call, once more.
///
/// # Examples
/// See [`Requests::start`].
pub trait Start<'scope, 'env>: sealed::Start<'scope, 'env> {}

impl<'scope, 'env, C: sealed::Start<'scope, 'env>> Start<'scope, 'env> for C {}

/// A value that [`Requests::set_up`] sets up: a [`CollectiveCall`] on slices, or a message. It has
/// its result by `&mut`, as that is filled between two starts.
///
/// # Examples
/// See [`Requests::set_up`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be set up",
    note = "a call that is set up has its buffers by `&mut`, as they are filled between two starts"
)]
pub trait SetUp<'scope, 'env>: sealed::SetUp<'scope, 'env> {}

impl<'scope, 'env, C: sealed::SetUp<'scope, 'env>> SetUp<'scope, 'env> for C {}

pub(in crate::comm) mod sealed {
    use super::{At, OpenRequest, Persistent, Requests};

    /// The value that can be started in the scope.
    pub trait Start<'scope, 'env>: Sized {
        /// Its request's result.
        type Gives;

        /// Starts it, in the line `at`.
        fn start(
            self,
            scope: &mut Requests<'scope, 'env>,
            at: At,
        ) -> OpenRequest<'scope, Self::Gives>;
    }

    /// The value that can be set up in the scope.
    pub trait SetUp<'scope, 'env>: Sized {
        /// The type of its elements.
        type Element;

        fn set_up(
            self,
            scope: &mut Requests<'scope, 'env>,
        ) -> Persistent<'scope, 'env, Self::Element>;
    }
}

impl<'scope, 'env, K: CallKind, D: CallData<'env>> sealed::Start<'scope, 'env>
    for CollectiveCall<'env, K, D>
{
    type Gives = D::Gives;

    #[inline(always)]
    fn start(self, scope: &mut Requests<'scope, 'env>, _: At) -> OpenRequest<'scope, D::Gives> {
        let CollectiveCall { said, data, .. } = self;
        data.start::<K>(&said, scope)
    }
}

impl<'scope, 'env, T> sealed::Start<'scope, 'env> for Persistent<'scope, 'env, T> {
    type Gives = Self;

    fn start(self, scope: &mut Requests<'scope, 'env>, at: At) -> OpenRequest<'scope, Self> {
        scope.start_again(self, at)
    }
}

/// Data of a call that can be set up.
#[diagnostic::on_unimplemented(
    message = "a call on `{Self}` cannot be set up",
    note = "a call that is set up has its buffers by `&mut`, as they are filled between two starts"
)]
pub trait SetUpData<'env> {
    type Element: 'env;

    fn set_up<'scope, K: CallKind>(
        self,
        said: &CallHead<'env>,
        scope: &mut Requests<'scope, 'env>,
    ) -> Persistent<'scope, 'env, Self::Element>;
}

impl<'env> SetUpData<'env> for () {
    type Element = ();

    fn set_up<'scope, K: CallKind>(
        self,
        said: &CallHead<'env>,
        scope: &mut Requests<'scope, 'env>,
    ) -> Persistent<'scope, 'env, ()> {
        MovedInPlace(&mut []).set_up::<K>(said, scope)
    }
}

/// How data with a form sets up its call; the second of the pair is an input that is kept with it.
macro_rules! set_up_by_form {
    (|$data:ident| $pair:expr) => {
        type Element = T;

        fn set_up<'scope, K: CallKind>(
            self,
            said: &CallHead<'env>,
            scope: &mut Requests<'scope, 'env>,
        ) -> Persistent<'scope, 'env, T> {
            let $data = self;
            let (data, input) = $pair;
            let mut form = data.form::<K, { CallWay::PERSISTENT }>(said, scope.comm());
            let from = input.as_ref().map(|input: &Lent<'_, T>| input.at().cast_const().cast());
            // SAFETY: the same memory, by the addresses that the program's own use begins with.
            unsafe { form.call.place(from, form.result.at().cast()) };
            scope.set_up_form(form, input, None)
        }
    };
}

impl<'env, T: Element> SetUpData<'env> for MovedInPlace<'env, T> {
    set_up_by_form!(|data| (data, None));
}

impl<'env, T: Element, O: Operator<T> + 'env> SetUpData<'env> for ReducedInPlace<'env, T, O> {
    set_up_by_form!(|data| (data, None));
}

impl<'env, T: Element> SetUpData<'env> for MovedInto<'env, T, &'env mut [T]> {
    set_up_by_form!(|data| {
        let (input, from) = Lent::new(data.from);
        (MovedInto { from, ..data }, Some(input))
    });
}

impl<'env, T, O> SetUpData<'env> for ReducedInto<'env, T, &'env mut [T], O>
where
    T: Element,
    O: Operator<T> + 'env,
{
    set_up_by_form!(|data| {
        let (input, from) = Lent::new(data.from);
        (ReducedInto { from, ..data }, Some(input))
    });
}

impl<'scope, 'env, K: CallKind, D: SetUpData<'env>> sealed::SetUp<'scope, 'env>
    for CollectiveCall<'env, K, D>
{
    type Element = D::Element;

    fn set_up(self, scope: &mut Requests<'scope, 'env>) -> Persistent<'scope, 'env, D::Element> {
        self.data.set_up::<K>(&self.said, scope)
    }
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a [call](crate::call): a collective, a message, or one that was
    /// [set up](Requests::set_up). [`wait`](Requests::wait) completes it, and gives the buffer
    /// back, or the values; of a call that was set up, that.
    ///
    /// A collective is complete when the ranks that give input have started it; if it is long, when
    /// all have done their parts ([`Comm::requests`](crate::Comm::requests)). A rank's writes
    /// before it started a barrier are visible to every rank that has waited for it. A sent value
    /// stays in its slice, however little it is, until its receivers have it.
    ///
    /// **Order** of a reduction: that of [`Order::Fixed`](crate::Order::Fixed), always.
    ///
    /// **Must agree on all ranks:** as the page of the method of [`Comm`](crate::Comm) with the
    /// call's name says; and the order in which calls are started. That one is set up makes no
    /// difference to the others.
    ///
    /// **Cost** of a start: nothing is allocated, but for an operator or values that are kept.
    ///
    /// # Errors
    /// Arguments that do not fit end the run, as in the method.
    ///
    /// # Examples
    /// Two on their way at once:
    /// ```
    /// use phalanx::{call, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut x, mut y) = ([comm.rank(); 100], [1.0]);
    ///     comm.requests(|scope| {
    ///         let a = scope.start(call::all_reduce(&mut x, op::Max));
    ///         let b = scope.start(call::all_reduce(&mut y, op::Sum));
    ///         (scope.wait(b)[0], scope.wait(a)[0])
    ///     })
    /// })?;
    /// assert_eq!(out, [(3.0, 2); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// A buffer is not there while a call has it, and no request leaves its scope:
    /// ```compile_fail,E0506
    /// # use phalanx::{call, op};
    /// phalanx::run(2, |comm| {
    ///     let mut x = [1.0];
    ///     comm.requests(|scope| {
    ///         let sum = scope.start(call::all_reduce(&mut x, op::Sum));
    ///         x[0] = 2.0;
    ///         scope.wait(sum);
    ///     });
    /// });
    /// ```
    /// ```compile_fail
    /// # use phalanx::call;
    /// phalanx::run(2, |comm| {
    ///     let kept = comm.requests(|scope| scope.start(call::barrier()));
    /// });
    /// ```
    /// ```compile_fail,E0597
    /// # use phalanx::{call, op};
    /// phalanx::run(2, |comm| {
    ///     comm.requests(|scope| {
    ///         let mut x = [1.0]; // shorter than the scope
    ///         let sum = scope.start(call::all_reduce(&mut x, op::Sum));
    ///         scope.wait(sum);
    ///     });
    /// });
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn start<C: Start<'scope, 'env>>(&mut self, call: C) -> OpenRequest<'scope, C::Gives> {
        call.start(self, Location::caller())
    }

    /// Sets a [call](crate::call) up, to be [started](Requests::start) many times: a collective on
    /// slices, or a message. Its arguments are looked at now, and not at a start, which allocates
    /// nothing. `MPI_Allreduce_init` and its relatives.
    ///
    /// It keeps its buffers, and lends them out between two starts: so they are all borrowed by
    /// `&mut`, also where it is only read.
    ///
    /// **Must agree on all ranks:** nothing now; the calls that they start then.
    ///
    /// # Errors
    /// Arguments that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// use phalanx::call;
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut mine, mut all) = ([comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let mut blocks = scope.set_up(call::all_gather_into(&mut mine, &mut all));
    ///         for _ in 0..2 {
    ///             blocks.input_mut()[0] += 10;
    ///             let request = scope.start(blocks);
    ///             blocks = scope.wait(request);
    ///         }
    ///         assert_eq!(blocks.input(), [20 + scope.comm().rank()]);
    ///         blocks.buf().to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[20, 21, 22]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// An input that others may read meanwhile cannot be filled:
    /// ```compile_fail,E0277
    /// # use phalanx::call;
    /// phalanx::run(3, |comm| {
    ///     let (mine, mut all) = ([comm.rank()], [9; 3]);
    ///     comm.requests(|scope| drop(scope.set_up(call::all_gather_into(&mine, &mut all))));
    /// });
    /// ```
    pub fn set_up<C: SetUp<'scope, 'env>>(
        &mut self,
        call: C,
    ) -> Persistent<'scope, 'env, C::Element> {
        call.set_up(self)
    }
}
