//! Calls on a communicator as parts of a call of another language, and the end of those that
//! fail.

use super::ForeignCall;
use crate::Comm;
use crate::error::Error;
use std::any::Any;

/// Makes `f`'s calls on `comm`, and catches their panics: no other rank reaches the memory of
/// this one then. Errors and records name them as parts of `call`; of none, if they have a
/// [location](ForeignCall::location) each.
///
/// **Cost** 6 instructions with a call, which is noted beside the rank's records; without one, none
/// on a thread of the library's.
///
/// # Errors
/// The payload of the panic, for [`first_cause`].
///
/// # Safety
/// `f` leaves the communicator in its place.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let err = phalanx::run(2, |comm| {
///     let call = ForeignCall::kept("lib_sum", "dot.c", 7);
///     let mut x = vec![1; 1 + comm.rank()]; // must be as long on all ranks
///     let sum = |comm: &mut phalanx::Comm| comm.all_reduce(&mut x, phalanx::op::Sum);
///     // SAFETY: the communicator stays in its place.
///     assert!(unsafe { engine::attempt(comm, Some(call), sum) }.is_err());
/// });
/// assert!(err.unwrap_err().to_string().contains("dot.c:7"));
/// ```
#[inline(always)]
pub unsafe fn attempt<R>(
    comm: &mut Comm,
    call: Option<&'static ForeignCall>,
    f: impl FnOnce(&mut Comm) -> R,
) -> Result<R, Box<dyn Any + Send>> {
    // SAFETY: passed on, both.
    unsafe {
        match call {
            Some(call) => comm.as_foreign(call, f),
            None => comm.caught_calls(f),
        }
    }
}

/// Notes `call` for the records that `comm`'s rank makes until the note is dropped: for calls in a
/// scope, where the communicator is lent, and [`attempt`] cannot be.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let err = phalanx::run(2, |comm| {
///     let _note = engine::note(comm, ForeignCall::kept("lib_bcast", "main.f90", 3));
///     let root = comm.rank(); // must be the same on all ranks
///     comm.broadcast(&mut [0], root);
/// });
/// assert!(err.unwrap_err().to_string().contains("main.f90:3"));
/// ```
pub fn note(comm: &Comm, call: &'static ForeignCall) -> impl Drop + use<> {
    comm.note_foreign(call)
}

/// Why the run has ended, after [`attempt`] has caught `payload`: the result of `kind` for the
/// first cause, if that is known on this rank, and its text. Ends the run, unless it has ended.
///
/// **Cost** waits up to 100 ms for the reason of a failure that another rank has met.
///
/// # Examples
/// ```
/// use phalanx::{Error, engine};
/// let texts = phalanx::run(1, |comm| {
///     // SAFETY: the communicator stays in its place.
///     let made = unsafe { engine::attempt(comm, None, |_| panic!("no such file")) };
///     let is_panic = |error: &Error| matches!(error, Error::Panicked { .. });
///     let payload: Result<(), _> = made;
///     let (kind, text) = engine::first_cause(comm, payload.unwrap_err(), is_panic);
///     assert!(kind == Some(true) && text.contains("no such file"), "{text}");
/// });
/// assert!(texts.is_err()); // the run is over, whatever the closure returns
/// ```
pub fn first_cause<K>(
    comm: &mut Comm,
    payload: Box<dyn Any + Send>,
    kind: impl Fn(&Error) -> K,
) -> (Option<K>, String) {
    comm.first_cause(payload, kind)
}

/// Ends the run with [`Error::Argument`], and throws: an argument of the call that is under way is
/// wrong, with these words.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let err = phalanx::run(2, |comm| engine::refuse(comm, "a count of -1".into())).unwrap_err();
/// assert!(matches!(err, phalanx::Error::Argument { .. }), "{err}");
/// ```
pub fn refuse(comm: &mut Comm, what: String) -> ! {
    comm.refuse_argument(what)
}
