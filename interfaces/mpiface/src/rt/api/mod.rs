//! The functions of MPI, a chapter of the standard each file, and the table through which the shim
//! calls them.
//!
//! The table's entries are made from functions.txt (`build/calls.rs`): an entry takes the values
//! of the shim (this rank's state, the call's return address, the arguments of C's binding), makes
//! of it the arguments of a function here (`arguments.rs`), calls it, keeps the object that it
//! gives, and acts on an error. So the functions themselves see objects instead of handles.

mod arguments;
mod attributes;
mod buffers;
mod collectives;
mod communicators;
mod contents;
mod counts;
mod datatypes;
mod environment;
mod epochs;
mod errors;
mod failures;
mod general;
mod graphs;
mod groups;
mod infos;
mod intercommunicators;
mod keep;
mod look;
mod neighbours;
mod one_sided;
mod operands;
mod operators;
mod packing;
mod point_to_point;
mod recorded;
mod requests;
mod sessions;
mod started;
mod topologies;
mod windows;

pub use table::TABLE;

use super::rank::Rank;
use std::sync::OnceLock;

/// A function's address, in the order of functions.txt.
#[derive(Debug)]
#[repr(transparent)]
pub struct Entry(*const ());

// SAFETY: addresses of functions, never written.
unsafe impl Sync for Entry {}
// SAFETY: as above.
unsafe impl Send for Entry {}

/// The table for a recorded run: made when the first begins.
pub fn recording_table() -> &'static [Entry] {
    static MADE: OnceLock<Box<[Entry]>> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut all: Vec<Entry> = TABLE.iter().map(|it| Entry(it.0)).collect();
        for (place, entry) in recording::RECORDED {
            all[*place] = Entry(entry.0);
        }
        all.into()
    })
}

/// The names that all chapters use.
mod prelude {
    pub(super) use super::arguments::{Caller, List, Out, StatusOut, int};
    pub(super) use crate::rt::comm::Comm;
    pub(super) use crate::rt::envelope::PROC_NULL;
    pub(super) use crate::rt::error::{Class, Error, Outcome, error};
    pub(super) use crate::rt::handle::Handle;
    pub(super) use crate::rt::standard::{self, UNDEFINED};
    pub(super) use crate::rt::types::Place;
    pub(super) use std::ffi::{c_int, c_void};
    pub(super) use std::rc::Rc;
    pub(super) use std::sync::Arc;
}

/// Where the entries find the functions.
mod functions {
    pub(super) use super::attributes::*;
    pub(super) use super::collectives::*;
    pub(super) use super::communicators::*;
    pub(super) use super::contents::*;
    pub(super) use super::datatypes::*;
    pub(super) use super::environment::*;
    pub(super) use super::epochs::*;
    pub(super) use super::errors::*;
    pub(super) use super::general::*;
    pub(super) use super::graphs::*;
    pub(super) use super::groups::*;
    pub(super) use super::infos::*;
    pub(super) use super::intercommunicators::*;
    pub(super) use super::neighbours::*;
    pub(super) use super::one_sided::*;
    pub(super) use super::operators::*;
    pub(super) use super::packing::*;
    pub(super) use super::point_to_point::*;
    pub(super) use super::requests::*;
    pub(super) use super::sessions::*;
    pub(super) use super::started::*;
    pub(super) use super::topologies::*;
    pub(super) use super::windows::*;
}

mod table {
    #![expect(non_snake_case, reason = "the standard's names")]

    use super::arguments::{Caller, List, Out, Peer, RawText, Status, StatusOut, TextOut, text};
    use super::buffers::{Blocks, Buffer, Remote, TypedBlocks};
    use super::counts::{CountOut, Counts};
    use super::infos::InfoText;
    use super::keep::Keep as _;
    use super::operands::Operands;
    use super::{Entry, Rank, functions};
    use crate::rt::error::{Outcome, Site};
    use crate::rt::handle::Handle;
    use crate::rt::rank::ErrorFunction;
    use crate::rt::request::{CancelFunction, FreeFunction, QueryFunction};
    use crate::rt::standard;
    use crate::rt::user_function::{FarFunction, NearFunction};
    use std::ffi::{c_char, c_int, c_void};
    use std::sync::Arc;

    /// Makes a call between MPI_Init and MPI_Finalize; an error goes by the communicator's handler.
    ///
    /// # Safety
    /// `rank` is the calling rank's state.
    #[inline(always)]
    unsafe fn call(
        rank: *const Rank,
        site: Site,
        comm: Handle,
        run: impl FnOnce(Caller<'_>) -> Outcome,
    ) -> c_int {
        // SAFETY: passed on.
        let caller = unsafe { Caller::new(rank, site) };
        caller.rank.call(site, comm, || run(caller))
    }

    /// Makes a call that may come at any time.
    ///
    /// # Safety
    /// As `call`.
    #[inline(always)]
    unsafe fn always(
        rank: *const Rank,
        site: Site,
        run: impl FnOnce(Caller<'_>) -> Outcome,
    ) -> c_int {
        // SAFETY: passed on.
        let caller = unsafe { Caller::new(rank, site) };
        caller.rank.always(site, || run(caller))
    }

    macro_rules! absent {
        ($function:literal) => {{
            unsafe extern "C" fn absent(rank: *const Rank, address: usize) -> c_int {
                let site = Site::new($function, address);
                // SAFETY: the shim gives this rank's state.
                let me = unsafe { Caller::new(rank, site) }.me;
                let place = site.describe();
                crate::rt::error::end(
                    1,
                    &format!("phalanx: rank {me}: {place}: this function is not in the subset"),
                )
            }
            absent as *const ()
        }};
    }

    include!(concat!(env!("OUT_DIR"), "/table.rs"));
}

mod recording {
    #![expect(non_snake_case, reason = "the standard's names")]
    #![expect(
        clippy::redundant_field_names,
        clippy::useless_conversion,
        reason = "made by a program, for counts of each width"
    )]

    use super::arguments::Status;
    use super::recorded::{After, Facts, On, Recording, sized, total};
    use super::{Entry, Rank};
    use crate::rt::error::Site;
    use crate::rt::handle::Handle;
    use crate::rt::request::{CancelFunction, FreeFunction, QueryFunction};
    use std::ffi::{c_char, c_int, c_void};

    include!(concat!(env!("OUT_DIR"), "/recorded.rs"));
}
