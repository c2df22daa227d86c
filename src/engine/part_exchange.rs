//! Exchanges of parts, of which only their givers know the lengths.

pub use crate::comm::{COPIED_PART, ExchangeCall, ExchangeStop, PARTS_AHEAD, PartExchange};
pub use crate::shared::GivenPart;

use crate::Comm;

/// Begins an exchange the short way: without a record, and without the cost of
/// [`attempt`](super::attempt). None, and nothing has happened, if the call has to be looked at
/// first. The rest, be it that parts have yet [to be taken](PartExchange::is_over_soon), goes on by
/// [`exchange`], as the rank's next call.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ExchangeCall};
/// let out = phalanx::run(2, |comm| {
///     let call = ExchangeCall { function: 8, root: None };
///     let (me, it, mut got) = (comm.rank() as u8, 1 - comm.rank(), [9_u8]);
///     let at = got.as_mut_ptr();
///     // Whether this rank has given, and taken, on the short way.
///     let mut done = [false; 2];
///     let mut is_over = false;
///     let has_begun = match engine::begin_exchange(comm, call) {
///         None => false,
///         Some(mut parts) => {
///             // SAFETY: a byte, which is copied; and room for one.
///             unsafe {
///                 done[0] = parts.give_now(it, (&me, 1), false, |to| to.write(me));
///                 done[1] = done[0] && parts.take_soon(it, (at, 1), |from| at.write(from.read()));
///             }
///             is_over = done[1] && parts.is_over_soon();
///             true
///         }
///     };
///     if !is_over {
///         engine::exchange(comm, call, has_begun, |parts| {
///             if !done[0] {
///                 // SAFETY: there is room for a byte.
///                 parts.give(it, 1, |to| unsafe { to.write(me) })?;
///             }
///             if !done[1] {
///                 // SAFETY: the peer gives a byte.
///                 parts.take(it, 1, |part| unsafe { at.write(part.at.read()) })?;
///             }
///             Ok(())
///         });
///     }
///     got[0]
/// })?;
/// assert_eq!(out, [1, 0]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
pub fn begin_exchange(comm: &mut Comm, call: ExchangeCall) -> Option<PartExchange<'_>> {
    comm.begin_exchange(call)
}

/// Carries an exchange out by `run`; if it `has_begun` already, by the short way of the same call,
/// the rest of it. Afterwards no rank reaches memory that was lent. Like any call that fails it
/// throws; so it belongs into [`attempt`](super::attempt).
///
/// A rank gives another one [`PARTS_AHEAD`] parts at most before it takes that one's.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ExchangeCall};
/// // Each rank gives the next one as many bytes as its number says, which only it knows.
/// let out = phalanx::run(3, |comm| {
///     let (me, p) = (comm.rank(), comm.size());
///     let call = ExchangeCall { function: 7, root: None };
///     engine::exchange(comm, call, false, |parts| {
///         // SAFETY: there is room for as many bytes.
///         parts.give((me + 1) % p, me, |to| unsafe { to.write_bytes(1, me) })?;
///         parts.take((me + p - 1) % p, 1, |part| part.bytes)
///     })
/// })?;
/// assert_eq!(out, [2, 0, 1]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn exchange<R>(
    comm: &mut Comm,
    call: ExchangeCall,
    has_begun: bool,
    run: impl FnOnce(&mut PartExchange<'_>) -> Result<R, ExchangeStop>,
) -> R {
    comm.carry_out_exchange(call, has_begun, run)
}
