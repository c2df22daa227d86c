//! Loom models of the library's synchronisation. See `README.md`.
//!
//! The library's own sources are compiled into this crate, with `cfg(loom)`
//! set by `build.rs`: nothing here is a copy.

// The models use a part of what is compiled.
#![allow(dead_code, unused_imports)]

#[cfg(not(loom))]
compile_error!("without cfg(loom) the models would explore nothing; build.rs sets it");

#[path = "../../src/team/dispatch.rs"]
mod dispatch;
#[path = "../../src/fabric/mod.rs"]
mod fabric;
#[path = "../../src/mailbox/mod.rs"]
mod mailbox;
#[path = "../../src/sync.rs"]
mod sync;
#[path = "../../src/wait.rs"]
mod wait;

mod error {
    //! The fabric only stores causes, and makes call sites for them.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) struct Error(pub(crate) u32);

    /// As the library's.
    pub(crate) struct CallSite {
        pub(crate) call: String,
        pub(crate) at: &'static std::panic::Location<'static>,
    }
}

/// The same with one passage replaced; see `build.rs`.
#[cfg(test)]
mod mutants {
    /// What the port's source finds beside itself.
    mod sig {
        pub(super) use crate::fabric::{Check, Kind, Params, Sig};
    }
    mod record {
        pub(super) use crate::fabric::Call;
    }
    mod words {
        pub(super) use crate::fabric::{Fabric, Seat};
    }

    /// What the gate's source finds beside itself.
    mod channel {
        pub(super) use crate::mailbox::{SLOTS, Slot};
    }
    mod shelf {
        pub(super) use crate::mailbox::{Place, Shelf};
    }
    mod record {
        pub(super) use crate::fabric::Records;
    }
    mod world {
        pub(super) use crate::fabric::Line;
    }
    use crate::mailbox::Header;

    pub(crate) mod gate_of_one_slot {
        include!(concat!(env!("OUT_DIR"), "/gate_of_one_slot.rs"));
    }
    pub(crate) mod dispatch_without_second_look {
        include!(concat!(env!("OUT_DIR"), "/dispatch_without_second_look.rs"));
    }
    pub(crate) mod dispatch_marking_once {
        include!(concat!(env!("OUT_DIR"), "/dispatch_marking_once.rs"));
    }
    pub(crate) mod dispatch_with_relaxed_swaps {
        include!(concat!(env!("OUT_DIR"), "/dispatch_with_relaxed_swaps.rs"));
    }
    pub(crate) mod dispatch_without_swaps {
        include!(concat!(env!("OUT_DIR"), "/dispatch_without_swaps.rs"));
    }
    pub(crate) mod port_without_last_look {
        include!(concat!(env!("OUT_DIR"), "/port_without_last_look.rs"));
    }
    pub(crate) mod port_with_early_poison {
        include!(concat!(env!("OUT_DIR"), "/port_with_early_poison.rs"));
    }
    pub(crate) mod port_confirming_early {
        include!(concat!(env!("OUT_DIR"), "/port_confirming_early.rs"));
    }
    pub(crate) mod port_leaving_unpoisoned {
        include!(concat!(env!("OUT_DIR"), "/port_leaving_unpoisoned.rs"));
    }
    pub(crate) mod port_quiescing_by_poison {
        include!(concat!(env!("OUT_DIR"), "/port_quiescing_by_poison.rs"));
    }
}

#[cfg(test)]
mod harness;
#[cfg(test)]
mod models;
