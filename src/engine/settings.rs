//! Settings of a communicator that stay: views of Rust's, which end with a borrow, have no likeness
//! in other languages.

use crate::{Choice, Comm, Order};

/// Chooses the algorithms of `comm`'s later calls; none: as before any choice. Extents of a mesh
/// multiply to the number of ranks: the caller has looked.
///
/// # Examples
/// ```
/// use phalanx::{Choice, engine};
/// phalanx::run(3, |comm| {
///     engine::choose(comm, Some(Choice::Ring));
///     comm.all_reduce(&mut [1.0], phalanx::op::Sum); // by the ring
///     engine::choose(comm, None);
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn choose(comm: &mut Comm, choice: Option<Choice>) {
    comm.choose(choice);
}

/// Chooses the order of `comm`'s later reductions.
///
/// # Examples
/// ```
/// use phalanx::{Order, engine};
/// phalanx::run(3, |comm| {
///     engine::set_order(comm, Order::Fixed);
///     comm.all_reduce(&mut [0.1], phalanx::op::Sum); // the same bits by each algorithm
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn set_order(comm: &mut Comm, order: Order) {
    comm.set_order(order);
}
