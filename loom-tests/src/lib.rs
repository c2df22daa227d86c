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

#[cfg(test)]
mod harness;
#[cfg(test)]
mod models;
