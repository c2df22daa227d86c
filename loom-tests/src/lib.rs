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
}

#[cfg(test)]
mod harness;
#[cfg(test)]
mod models;
