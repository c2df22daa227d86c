//! Of several requests the first that is complete; and the end of a scope that has failed.

use crate::{OpenRequest, Requests};

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
/// use phalanx::{call, engine, op};
/// phalanx::run(2, |comm| {
///     let (mut few, mut many) = ([1_u8], [1.0; 100]);
///     comm.requests(|scope| {
///         let few = scope.start(call::all_reduce(&mut few, op::Max));
///         let many = scope.start(call::broadcast(&mut many, 0));
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
/// use phalanx::{call, engine, op};
/// phalanx::run(2, |comm| {
///     let mut x = [1.0; 100];
///     comm.requests(|scope| {
///         let open = scope.start(call::all_reduce(&mut x, op::Sum));
///         engine::quiesce(scope, true); // the run is not over: nothing is done
///         scope.wait(open);
///     });
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn quiesce(scope: &Requests<'_, '_>, is_over: bool) {
    scope.quiesce(is_over);
}
