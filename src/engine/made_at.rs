//! A call with the location of another language's.

use super::{At, Made};

/// The [`call`](crate::call), made at `at`: errors and records name that line. The code that runs
/// it, or starts it, is inlined, as the methods are that programs call all the time; so it costs
/// what they do, without the call.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// use phalanx::{call, op};
/// let at = ForeignCall::kept("lib_all_reduce", "heat.f90", 15).location();
/// let out = phalanx::run(2, |comm| {
///     let (mut x, mut y) = ([comm.rank() + 1], [0_usize]);
///     let sent = x;
///     comm.run(engine::made_at(call::all_reduce(&mut x, op::Sum), at));
///     let peer = 1 - comm.rank();
///     comm.requests(|scope| {
///         let receive = scope.start(engine::made_at(call::recv_tagged(&mut y, peer, 5), at));
///         let send = scope.start(engine::made_at(call::send_tagged(&sent, peer, 5), at));
///         scope.wait(receive);
///         scope.wait(send);
///     });
///     (x, y)
/// })?;
/// assert_eq!(out, [([3], [2]), ([3], [1])]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
pub fn made_at<C: Made>(call: C, at: At) -> C {
    call.made_at(at)
}
