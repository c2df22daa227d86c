//! Requests for tagged messages with the location of another language's call, and of several
//! requests the first that is complete.

use super::At;
use crate::{Element, OpenRequest, Persistent, Requests, Source, Status, Tag};

/// [`Requests::send_tagged`], called at `at`.
///
/// # Examples
/// See [`recv_tagged`].
pub fn send_tagged<'scope, 'env, T: Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env [T],
    (to, tag): (usize, u32),
    at: At,
) -> OpenRequest<'scope, ()> {
    scope.send_tagged_at(data, to, tag, at)
}

/// [`Requests::recv_tagged`], called at `at`.
///
/// # Examples
/// ```
/// use phalanx::{Source, Tag, engine};
/// let at = engine::ForeignCall::kept("lib_sendrecv", "heat.f90", 18).location();
/// let out = phalanx::run(2, |comm| {
///     let (mine, mut x, other) = ([comm.rank()], [9_usize], 1 - comm.rank());
///     comm.requests(|scope| {
///         let from = (Source::Rank(other), Tag::Is(5));
///         let receive = engine::recv_tagged(scope, &mut x, from, at);
///         let send = engine::send_tagged(scope, &mine, (other, 5), at);
///         scope.wait(receive);
///         scope.wait(send);
///     });
///     x
/// })?;
/// assert_eq!(out, [[1], [0]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn recv_tagged<'scope, 'env, T: Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env mut [T],
    (from, tag): (Source, Tag),
    at: At,
) -> OpenRequest<'scope, (&'env mut [T], Status)> {
    scope.recv_tagged_at(data, from, tag, at)
}

/// [`Requests::persistent_send_tagged`], called at `at`.
///
/// # Examples
/// See [`persistent_recv_tagged`].
pub fn persistent_send_tagged<'scope, 'env, T: Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env mut [T],
    (to, tag): (usize, u32),
    at: At,
) -> Persistent<'scope, 'env, T> {
    scope.persistent_send_tagged_at(data, to, tag, at)
}

/// [`Requests::persistent_recv_tagged`], called at `at`.
///
/// # Examples
/// ```
/// use phalanx::{Source, Tag, engine};
/// let at = engine::ForeignCall::kept("lib_recv_init", "heat.f90", 19).location();
/// let out = phalanx::run(2, |comm| {
///     let mut x = [comm.rank() + 7];
///     let is_sender = comm.rank() == 0;
///     comm.requests(|scope| {
///         let idle = match is_sender {
///             true => engine::persistent_send_tagged(scope, &mut x, (1, 5), at),
///             false => {
///                 let from = (Source::Any, Tag::Is(5));
///                 engine::persistent_recv_tagged(scope, &mut x, from, at)
///             }
///         };
///         let open = scope.start(idle);
///         scope.wait(open);
///     });
///     x
/// })?;
/// assert_eq!(out, [[7], [7]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn persistent_recv_tagged<'scope, 'env, T: Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env mut [T],
    (from, tag): (Source, Tag),
    at: At,
) -> Persistent<'scope, 'env, T> {
    scope.persistent_recv_tagged_at(data, from, tag, at)
}

/// A request's place in its scope, for [`wait_any`]; none if it is over.
///
/// # Examples
/// See [`wait_any`].
pub fn place_of<B>(request: &OpenRequest<'_, B>) -> Option<usize> {
    request.slot()
}

/// Waits until one of the scope's requests is complete, of any types; returns which of those given.
/// It is still to be waited for, which takes no time.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// phalanx::run(2, |comm| {
///     let (mut few, mut many) = ([1_u8], [1.0; 100]);
///     comm.requests(|scope| {
///         let few = scope.all_reduce(&mut few, phalanx::op::Max);
///         let many = scope.broadcast(&mut many, 0);
///         let places = [engine::place_of(&few), engine::place_of(&many)];
///         assert!(engine::wait_any(scope, places.into_iter()) < 2);
///         scope.wait(few);
///         scope.wait(many);
///     });
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
#[track_caller]
pub fn wait_any(
    scope: &mut Requests<'_, '_>,
    requests: impl Iterator<Item = Option<usize>>,
) -> usize {
    scope.wait_any_of(requests)
}

/// Makes the memory of what the scope has started the rank's own again, where the program goes on
/// after a call has failed (`is_over`: if the run is over).
///
/// # Examples
/// ```
/// use phalanx::engine;
/// phalanx::run(2, |comm| {
///     let mut x = [1.0; 100];
///     comm.requests(|scope| {
///         let open = scope.all_reduce(&mut x, phalanx::op::Sum);
///         engine::quiesce(scope, true); // the run is not over: nothing is done
///         scope.wait(open);
///     });
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn quiesce(scope: &Requests<'_, '_>, is_over: bool) {
    scope.quiesce(is_over);
}
