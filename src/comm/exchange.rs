//! Exchanges of parts: each rank gives parts to some ranks, and takes those that others give it.
//! How long a part is only its giver knows, and the receiver judges it. For interfaces whose calls
//! have a datatype for each rank, or counts that no other rank knows.
//!
//! A rank waits for those alone from whom it takes, and for those to whom it lends memory. Parts go
//! by the channels, as messages do; those from one rank to another are taken in the order in which
//! they are given.

use super::Comm;
use crate::fabric::{CallParams, Fingerprint, GivenPart, Guard, Port, Signature, Stop};
use crate::mailbox::{EAGER, SLOTS};
use std::panic::Location;

/// Bytes of a part that are copied; longer ones are lent.
pub const COPIED_PART: usize = EAGER;

/// Parts that a rank may give another one before it takes what that one gives.
pub const PARTS_AHEAD: usize = SLOTS as usize;

static EXCHANGE: Signature = Signature::of::<()>("exchange", "root");

/// What ranks compare of an exchange.
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

/// Why an exchange cannot go on: the run is over.
#[derive(Debug)]
pub struct ExchangeStop(Stop);

/// A rank's side of an exchange. `_now` and `_soon`: the short way, which does not wait for long,
/// nor throw; where it gives false nothing has happened, and the rest goes the long way.
pub struct PartExchange<'a> {
    port: &'a mut Port,
}

impl std::fmt::Debug for PartExchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartExchange").finish_non_exhaustive()
    }
}

impl PartExchange<'_> {
    /// Gives `peer` a part of `bytes` bytes (96 at most), that `fill` writes behind the pointer
    /// that it gets. `is_stream`: the peer gives nothing back, so that this rank may run ahead.
    #[inline(always)]
    pub fn give_now(
        &mut self,
        peer: usize,
        bytes: usize,
        is_stream: bool,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        self.port.give_part_now(peer, bytes, is_stream, fill)
    }

    /// Takes the next part of `peer`, if it is of `bytes` bytes (96 at most): `take` gets them.
    #[inline(always)]
    pub fn take_soon(&mut self, peer: usize, bytes: usize, take: impl FnOnce(*const u8)) -> bool {
        self.port.take_part_soon(peer, bytes, take)
    }

    /// The same of up to [`COPIED_PART`] bytes; waits for room.
    ///
    /// # Errors
    /// If the run is over.
    pub fn give(
        &mut self,
        peer: usize,
        bytes: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), ExchangeStop> {
        self.port.post_copy(peer, bytes, 1, fill).map_err(ExchangeStop)
    }

    /// Lends `peer` a part of any length.
    ///
    /// # Errors
    /// As [`give`](PartExchange::give).
    ///
    /// # Safety
    /// What `part` tells of is memory that nobody writes or frees until the exchange is over.
    pub unsafe fn lend(&mut self, peer: usize, part: GivenPart) -> Result<(), ExchangeStop> {
        self.port.lend_part(peer, part).map_err(ExchangeStop)
    }

    /// Waits for the next part of `peer`, which is probably `expected` bytes long, and gives it to
    /// `take`.
    ///
    /// # Errors
    /// As [`give`](PartExchange::give).
    pub fn take<R>(
        &mut self,
        peer: usize,
        expected: usize,
        take: impl FnOnce(GivenPart) -> R,
    ) -> Result<R, ExchangeStop> {
        self.port.take_part(peer, expected, take).map_err(ExchangeStop)
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
        Some(PartExchange { port: &mut self.port })
    }

    /// Carries an exchange out, or the rest of one that has begun the short way.
    pub(crate) fn carry_out_exchange<R>(
        &mut self,
        call: ExchangeCall,
        has_begun: bool,
        run: impl FnOnce(&mut PartExchange<'_>) -> Result<R, ExchangeStop>,
    ) -> R {
        let (at, params) = (Location::caller(), call.params());
        if !has_begun {
            let begun = self.begin(&EXCHANGE, at, params);
            let Some(begun) = begun else { self.nothing_to_return() };
            self.port.log_call(begun);
        } else {
            self.port.log_call(self.port.begun(at, params));
        }
        let guard = Guard::new(&mut self.port);
        let result = run(&mut PartExchange { port: &mut *guard.port });
        let result = result.and_then(|it| {
            guard.port.wait_all_acked().map_err(ExchangeStop)?;
            guard.disarm();
            Ok(it)
        });
        self.port.record_end();
        match result {
            Ok(result) => result,
            Err(ExchangeStop(stop)) => self.stop_for_good(stop),
        }
    }
}
