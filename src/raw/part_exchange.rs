//! Exchanges of parts, of which only their givers know the lengths.

pub use crate::comm::{COPIED_PART, ExchangeCall, ExchangeStop, PARTS_AHEAD, PartExchange};
pub use crate::fabric::GivenPart;

use crate::Comm;

/// Begins an exchange the short way: without a record, and without what
/// [`attempt`](super::attempt) costs. None, and nothing has happened, if the call has to be looked
/// at first. What is not done by then, be it that parts have yet
/// [to be taken](PartExchange::is_over_soon), goes on by [`exchange`], as the rank's next call.
#[inline(always)]
pub fn begin_exchange(comm: &mut Comm, call: ExchangeCall) -> Option<PartExchange<'_>> {
    comm.begin_exchange(call)
}

/// Carries an exchange out by `run`; if it `has_begun` already, by the short way of the same call,
/// what is left of it. Afterwards no rank reaches memory that was lent. Like any call that fails it
/// throws; so it belongs into [`attempt`](super::attempt).
///
/// A rank gives another one [`PARTS_AHEAD`] parts at most before it takes what that one gives it.
pub fn exchange<R>(
    comm: &mut Comm,
    call: ExchangeCall,
    has_begun: bool,
    run: impl FnOnce(&mut PartExchange<'_>) -> Result<R, ExchangeStop>,
) -> R {
    comm.carry_out_exchange(call, has_begun, run)
}
