//! Exchanges of parts: each rank gives parts to some ranks, and takes those that others give it.
//! How long a part is only its giver knows, and the receiver judges it. For interfaces with calls
//! that have a datatype for each rank, or counts that no other rank knows.
//!
//! A rank waits for those alone from whom it takes, and for those to whom it lends memory. Parts go
//! by the channels, as messages do; those from one rank to another are taken in the order in which
//! they are given.

use super::Comm;
use crate::mailbox::{EAGER, SLOTS};
use crate::shared::{CallParams, Fingerprint, GivenPart, Guard, Port, Signature, Stop};
use std::panic::Location;

/// Bytes of a part that are copied; longer ones are lent.
pub const COPIED_PART: usize = EAGER;

/// Parts that a rank may give another one before it takes that one's.
pub const PARTS_AHEAD: usize = SLOTS as usize;

static EXCHANGE: Signature = Signature::of::<()>("exchange", "root");

/// The facts that ranks compare of an exchange.
///
/// # Examples
/// See [`exchange`](crate::engine::exchange).
#[derive(Clone, Copy, Debug)]
pub struct ExchangeCall {
    /// The number of the interface's function, below 4096.
    pub function: usize,
    /// The root, if it has one.
    pub root: Option<usize>,
}

impl ExchangeCall {
    #[inline(always)]
    fn params(self) -> CallParams {
        let parameter = self.root.unwrap_or(Fingerprint::NO_PARAMETER);
        CallParams { parameter, ..CallParams::of(self.function) }
    }
}

/// Why an exchange cannot go on: the run is over; or, on the short way, that something does not
/// come soon.
///
/// # Examples
/// See [`exchange`](crate::engine::exchange).
#[derive(Debug)]
pub struct ExchangeStop(Option<Stop>);

impl ExchangeStop {
    fn over(stop: Stop) -> Self {
        ExchangeStop(Some(stop))
    }
}

/// A rank's side of an exchange. On the *short way*
/// ([`begin_exchange`](crate::engine::begin_exchange)) nothing waits for long, or throws, and the
/// part that has not been done goes the long way.
///
/// # Examples
/// See [`begin_exchange`](crate::engine::begin_exchange).
pub struct PartExchange<'a> {
    port: &'a mut Port,
    is_short: bool,
}

impl std::fmt::Debug for PartExchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartExchange").finish_non_exhaustive()
    }
}

impl PartExchange<'_> {
    /// Gives `peer` so many bytes, without gaps, if there is room now: whether there was. `copy`
    /// copies them to where it is told, if they are few. `is_stream`: the peer gives nothing back,
    /// so that this rank may run ahead.
    ///
    /// # Safety
    /// They are memory that nobody writes or frees until the exchange is over.
    #[inline(always)]
    pub unsafe fn give_now(
        &mut self,
        peer: usize,
        part: (*const u8, usize),
        is_stream: bool,
        copy: impl FnOnce(*mut u8),
    ) -> bool {
        // SAFETY: passed on; the call is over once all is settled.
        unsafe { self.port.give_part_now(peer, part, is_stream, copy) }
    }

    /// Takes the next part of `peer`, if it comes soon, and is of so many bytes, without gaps:
    /// whether it was. `copy` copies them from where it is told, if they are few.
    ///
    /// # Safety
    /// There is room for them, which nobody else uses.
    #[inline(always)]
    pub unsafe fn take_soon(
        &mut self,
        peer: usize,
        room: (*mut u8, usize),
        copy: impl FnOnce(*const u8),
    ) -> bool {
        // SAFETY: passed on.
        unsafe { self.port.take_part_soon(peer, room, copy) }
    }

    /// Whether all that was lent has been taken, or is so soon: then an exchange on the short way
    /// is over.
    #[inline(always)]
    pub fn is_over_soon(&mut self) -> bool {
        self.port.has_settled_soon()
    }

    fn await_room(&mut self, peer: usize) -> Result<(), ExchangeStop> {
        match self.is_short {
            true => self.port.can_give_part(peer).then_some(()).ok_or(ExchangeStop(None)),
            false => self.port.await_room(peer).map_err(ExchangeStop::over),
        }
    }

    /// Gives `peer` a part of `bytes` bytes, [`COPIED_PART`] at most, that `fill` writes behind the
    /// pointer that it gets.
    ///
    /// # Errors
    /// If the run is over; on the short way, if there is no room now.
    pub fn give(
        &mut self,
        peer: usize,
        bytes: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), ExchangeStop> {
        self.await_room(peer)?;
        self.port.post_copy_in_room(peer, bytes, 1, fill);
        Ok(())
    }

    /// Lends `peer` a part of any length.
    ///
    /// # Errors
    /// As [`give`](PartExchange::give).
    ///
    /// # Safety
    /// The memory that `part` names is such that nobody writes or frees until the exchange is over.
    pub unsafe fn lend(&mut self, peer: usize, part: GivenPart) -> Result<(), ExchangeStop> {
        self.await_room(peer)?;
        self.port.lend_part(peer, part).map_err(ExchangeStop::over)
    }

    /// Awaits the next part of `peer`, which is probably `expected` bytes long, and gives it to
    /// `take`.
    ///
    /// # Errors
    /// If the run is over; on the short way, if it does not come soon, or is not of this call.
    pub fn take<R>(
        &mut self,
        peer: usize,
        expected: usize,
        take: impl FnOnce(GivenPart) -> R,
    ) -> Result<R, ExchangeStop> {
        if !self.port.has_part_soon(peer, expected) {
            if self.is_short {
                return Err(ExchangeStop(None));
            }
            self.port.await_part(peer).map_err(ExchangeStop::over)?;
        }
        self.port.take_part(peer, take).map_err(ExchangeStop::over)
    }
}

impl Comm {
    /// Begins an exchange the short way, if that may be.
    #[inline(always)]
    pub(crate) fn begin_exchange(&mut self, call: ExchangeCall) -> Option<PartExchange<'_>> {
        if !self.belongs_to_thread_and_run() {
            return None;
        }
        // On record once it waits: until then nobody can be told of it.
        let _ = self.port.begin(&EXCHANGE, Location::caller(), call.params());
        Some(PartExchange { port: &mut self.port, is_short: true })
    }

    /// Carries an exchange out, or the rest of one that has begun the short way.
    pub(crate) fn carry_out_exchange<R>(
        &mut self,
        call: ExchangeCall,
        has_begun: bool,
        run: impl FnOnce(&mut PartExchange<'_>) -> Result<R, ExchangeStop>,
    ) -> R {
        let (at, params) = (Location::caller(), call.params());
        let begun = match has_begun {
            true => Some(self.port.begun(at, params)),
            false => self.begin(&EXCHANGE, at, params),
        };
        let Some(begun) = begun else { self.nothing_to_return() };
        self.port.log_call(begun);
        let guard = Guard::new(&mut self.port);
        let result = run(&mut PartExchange { port: &mut *guard.port, is_short: false });
        let result = result.and_then(|it| {
            guard.port.wait_all_acked().map_err(ExchangeStop::over)?;
            guard.disarm();
            Ok(it)
        });
        self.port.record_end();
        match result {
            Ok(result) => result,
            Err(ExchangeStop(Some(stop))) => self.stop_for_good(stop),
            Err(ExchangeStop(None)) => unreachable!("nothing is short on the long way"),
        }
    }
}
