//! Loom models of the library's synchronisation. See `README.md`.
//!
//! The library's own sources are compiled into this crate, with `cfg(loom)`
//! set by `build.rs`: nothing here is a copy.

// The models use a part of the compiled code.
#![allow(dead_code, unused_imports, unused_macros)]

#[cfg(not(loom))]
compile_error!("without cfg(loom) the models would explore nothing; build.rs sets it");

mod atomics;
#[path = "../../src/team/block_counter.rs"]
mod block_counter;
#[path = "../../src/team/dispatch.rs"]
mod dispatch;
#[path = "../../src/mailbox/mod.rs"]
mod mailbox;
#[path = "../../src/mix.rs"]
mod mix;
#[path = "../../src/error/rank_report.rs"]
mod rank_report;
#[path = "../../src/shared/mod.rs"]
mod shared;
mod sleepers;
#[path = "../../src/sorted.rs"]
mod sorted;
#[path = "../../src/error/source_line.rs"]
mod source_line;
#[path = "../../src/sync.rs"]
mod sync;
#[path = "../any-number/trace.rs"]
mod trace;
#[path = "../../src/wait/mod.rs"]
mod wait;

mod fork {
    //! The models do not fork.

    pub(crate) struct Inside;

    pub(crate) fn inside() -> Inside {
        Inside
    }
}

mod error {
    //! The room `shared` only stores causes, and makes call sites for them.
    pub use crate::rank_report::{Activity, RankReport};
    pub use crate::source_line::{ForeignCall, SourceLine};

    #[derive(Debug, PartialEq, Eq)]
    pub(crate) struct Error(pub(crate) u32);

    /// The cause that stands for a deadline.
    pub(crate) const DEADLINE: Error = Error(40);

    impl Error {
        pub(crate) fn deadline(
            _: usize,
            _: usize,
            _: std::time::Duration,
            _: Vec<RankReport>,
        ) -> Self {
            DEADLINE
        }
    }

    impl std::fmt::Display for Error {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Ok(())
        }
    }

    pub(crate) fn say(_: &str) {}

    pub(crate) const UNREAD: &str = "";

    /// As the library's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CallSite {
        pub call: String,
        pub at: SourceLine,
    }

    impl std::fmt::Display for CallSite {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{} at {}", self.call, self.at)
        }
    }
}

/// For models of three ranks: waits that end well, and nothing else.
///
/// A wait of the variant `port_lean` looks at the awaited word only (not for poison, for ranks that
/// left, for waits), and it does not begin to look at a message's word before the message was
/// posted, which loom is not told of. A look that fails changes nothing, so all that is left out is
/// executions that differ from others by such looks. The value that a look *sees* after the store
/// is loom's choice as ever: also the old value.
#[cfg(test)]
mod lean {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    std::thread_local! {
        /// By communicator, sender and receiver: messages posted. (Loom runs all
        /// threads of a model on one; the harness asserts it.)
        static POSTED: RefCell<BTreeMap<(u64, usize, usize), u32>> =
            const { RefCell::new(BTreeMap::new()) };
    }

    /// A new execution begins.
    pub(crate) fn reset() {
        POSTED.with_borrow_mut(BTreeMap::clear);
    }

    pub(crate) fn posted(shared: u64, from: usize, to: usize, n: u32) {
        POSTED.with_borrow_mut(|posted| posted.insert((shared, from, to), n));
    }

    /// Waits until the message after the first `taken` was posted.
    pub(crate) fn await_post(shared: u64, from: usize, to: usize, taken: u32) {
        let posted =
            || POSTED.with_borrow(|posted| posted.get(&(shared, from, to)).copied().unwrap_or(0));
        while posted() <= taken {
            crate::sync::yield_now();
        }
    }
}

/// The same with one passage replaced; see `build.rs`.
#[cfg(test)]
mod mutants {
    /// The items that the sources find beside themselves.
    macro_rules! beside {
        ($($from:ident: $($module:ident { $($item:ident)+ })+;)+) => {
            $($(mod $module { pub(super) use crate::$from::{$($item),+}; })+)+
        };
    }

    beside! {
        shared:
            fingerprint { BeginningCall CallParams Fingerprint PayloadKind Signature }
            call_log { CallLog CallRecord RankState run_pass }
            digest { Digest }
            counts { CountFacts OwnCounts }
            call_counts { CallCount }
            recorder { Recorder }
            event_ring { CallFacts EventLine EventRing }
            comm_hold { CommHold }
            long_wait { LongWait }
            comm_state { CommState PERHAPS Phase RankSlots }
            thread { ANYBODY Seen }
            early_receive { EarlyReceive }
            rank_place { RankPlace }
            started_progress { StartedPart StartedProgress }
            early_receives { EarlyReceives }
            kept_bytes { KeptBytes }
            match_list { MatchList MatchPattern }
            tagged_lists { MessageBody PostedReceive ReceiveRoom TaggedLists TaggedMessage }
            tagged_queue { Copier Data OutgoingMessage OwnedMessage Received
                SentMessage TaggedQueue }
            message_label { MessageLabel }
            unfit_receive { UnfitReceive }
            tagged_ring { SHORT ShortMemory ShortMessage TaggedRing copy_bytes }
            ticket { Envelope Ticket }
            team_state { discard };
        wait:
            word { Word }
            asymmetric_fence { heavy_fence light_fence };
        mailbox:
            channel { Slot }
            eager_buffer { EagerBuffer EagerSlot }
            tray { Tray };
    }
    use crate::mailbox::Header;

    include!(concat!(env!("OUT_DIR"), "/mutants.rs"));
}

#[cfg(test)]
mod harness;
#[cfg(test)]
mod models;
