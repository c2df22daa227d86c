//! Loom models of the library's synchronisation. See `README.md`.
//!
//! The library's own sources are compiled into this crate, with `cfg(loom)`
//! set by `build.rs`: nothing here is a copy.

// The models use a part of the compiled code.
#![allow(dead_code, unused_imports, unused_macros)]

#[cfg(not(loom))]
compile_error!("without cfg(loom) the models would explore nothing; build.rs sets it");

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
    /// The items that the port's source finds beside itself.
    mod fingerprint {
        pub(super) use crate::shared::{
            BeginningCall, CallParams, Fingerprint, PayloadKind, Signature,
        };
    }
    mod call_log {
        pub(super) use crate::shared::{CallLog, CallRecord, RankState, run_pass};
    }
    mod digest {
        pub(super) use crate::shared::Digest;
    }
    mod counts {
        pub(super) use crate::shared::{CountFacts, OwnCounts};
    }
    mod call_counts {
        pub(super) use crate::shared::CallCount;
    }
    mod recorder {
        pub(super) use crate::shared::Recorder;
    }
    mod event_ring {
        pub(super) use crate::shared::{CallFacts, EventLine, EventRing};
    }
    mod comm_hold {
        pub(super) use crate::shared::CommHold;
    }
    mod long_wait {
        pub(super) use crate::shared::LongWait;
    }
    mod comm_state {
        pub(super) use crate::shared::{CommState, PERHAPS, Phase, RankSlots};
    }

    /// The items that the events' and the berth's sources find beside themselves.
    mod word {
        pub(super) use crate::wait::Word;
    }
    mod asymmetric_fence {
        pub(super) use crate::wait::{heavy_fence, light_fence};
    }

    /// The items that the gate's source finds beside itself.
    mod channel {
        pub(super) use crate::mailbox::Slot;
    }
    mod eager_buffer {
        pub(super) use crate::mailbox::{EagerBuffer, EagerSlot};
    }
    mod tray {
        pub(super) use crate::mailbox::Tray;
    }
    mod thread {
        pub(super) use crate::shared::{ANYBODY, Seen};
    }
    mod early_receive {
        pub(super) use crate::shared::EarlyReceive;
    }
    mod rank_place {
        pub(super) use crate::shared::RankPlace;
    }
    mod started_progress {
        pub(super) use crate::shared::{StartedPart, StartedProgress};
    }
    mod early_receives {
        pub(super) use crate::shared::EarlyReceives;
    }
    mod kept_bytes {
        pub(super) use crate::shared::KeptBytes;
    }
    mod match_list {
        pub(super) use crate::shared::{MatchList, MatchPattern};
    }
    mod tagged_lists {
        pub(super) use crate::shared::{
            MessageBody, PostedReceive, ReceiveRoom, TaggedLists, TaggedMessage,
        };
    }
    mod tagged_queue {
        pub(super) use crate::shared::{
            Copier, Data, OutgoingMessage, OwnedMessage, Received, SentMessage, TaggedQueue,
        };
    }
    mod message_label {
        pub(super) use crate::shared::MessageLabel;
    }
    mod unfit_receive {
        pub(super) use crate::shared::UnfitReceive;
    }
    mod tagged_ring {
        pub(super) use crate::shared::{SHORT, ShortMemory, ShortMessage, TaggedRing, copy_bytes};
    }
    mod ticket {
        pub(super) use crate::shared::{Envelope, Ticket};
    }
    mod team_state {
        pub(super) use crate::shared::discard;
    }
    use crate::mailbox::Header;

    pub(crate) mod gate_of_one_slot {
        include!(concat!(env!("OUT_DIR"), "/gate_of_one_slot/mod.rs"));
    }
    pub(crate) mod block_counter_counting_apart {
        include!(concat!(env!("OUT_DIR"), "/block_counter_counting_apart/mod.rs"));
    }
    pub(crate) mod dispatch_returning_late {
        include!(concat!(env!("OUT_DIR"), "/dispatch_returning_late/mod.rs"));
    }
    pub(crate) mod dispatch_without_second_look {
        include!(concat!(env!("OUT_DIR"), "/dispatch_without_second_look/mod.rs"));
    }
    pub(crate) mod dispatch_marking_once {
        include!(concat!(env!("OUT_DIR"), "/dispatch_marking_once/mod.rs"));
    }
    pub(crate) mod dispatch_with_modelled_mark {
        include!(concat!(env!("OUT_DIR"), "/dispatch_with_modelled_mark/mod.rs"));
    }
    pub(crate) mod dispatch_looking_at_the_mark_early {
        include!(concat!(env!("OUT_DIR"), "/dispatch_looking_at_the_mark_early/mod.rs"));
    }
    pub(crate) mod dispatch_marking_after_the_look {
        include!(concat!(env!("OUT_DIR"), "/dispatch_marking_after_the_look/mod.rs"));
    }
    pub(crate) mod dispatch_with_relaxed_swaps {
        include!(concat!(env!("OUT_DIR"), "/dispatch_with_relaxed_swaps/mod.rs"));
    }
    pub(crate) mod dispatch_without_swaps {
        include!(concat!(env!("OUT_DIR"), "/dispatch_without_swaps/mod.rs"));
    }
    pub(crate) mod port_without_last_look {
        include!(concat!(env!("OUT_DIR"), "/port_without_last_look/mod.rs"));
    }
    pub(crate) mod port_with_early_poison {
        include!(concat!(env!("OUT_DIR"), "/port_with_early_poison/mod.rs"));
    }
    pub(crate) mod port_confirming_early {
        include!(concat!(env!("OUT_DIR"), "/port_confirming_early/mod.rs"));
    }
    pub(crate) mod port_leaving_unpoisoned {
        include!(concat!(env!("OUT_DIR"), "/port_leaving_unpoisoned/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod port_quiescing_by_poison {
        include!(concat!(env!("OUT_DIR"), "/port_quiescing_by_poison/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod port_judging_by_the_gate {
        include!(concat!(env!("OUT_DIR"), "/port_judging_by_the_gate/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod port_settling_unseen {
        include!(concat!(env!("OUT_DIR"), "/port_settling_unseen/mod.rs"));
    }
    pub(crate) mod port_giving_up_in_silence {
        include!(concat!(env!("OUT_DIR"), "/port_giving_up_in_silence/mod.rs"));
    }
    pub(crate) mod port_sleeping_without_limit {
        include!(concat!(env!("OUT_DIR"), "/port_sleeping_without_limit/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod port_claiming_early {
        include!(concat!(env!("OUT_DIR"), "/port_claiming_early/mod.rs"));
    }
    pub(crate) mod port_claiming_the_next_unseen {
        include!(concat!(env!("OUT_DIR"), "/port_claiming_the_next_unseen/mod.rs"));
    }
    pub(crate) mod shared_joining_blindly {
        include!(concat!(env!("OUT_DIR"), "/shared_joining_blindly/mod.rs"));
    }
    pub(crate) mod shared_cancelling_unordered {
        include!(concat!(env!("OUT_DIR"), "/shared_cancelling_unordered/mod.rs"));
    }
    pub(crate) mod shared_reopening_unordered {
        include!(concat!(env!("OUT_DIR"), "/shared_reopening_unordered/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod shared_with_old_edges {
        include!(concat!(env!("OUT_DIR"), "/shared_with_old_edges/mod.rs"));
    }
    pub(crate) mod shared_of_separate_worlds {
        include!(concat!(env!("OUT_DIR"), "/shared_of_separate_worlds/mod.rs"));
    }
    pub(crate) mod events_without_fence_after_show {
        include!(concat!(env!("OUT_DIR"), "/events_without_fence_after_show/mod.rs"));
    }
    pub(crate) mod events_without_fence_after_mark {
        include!(concat!(env!("OUT_DIR"), "/events_without_fence_after_mark/mod.rs"));
    }
    pub(crate) mod events_without_second_look {
        include!(concat!(env!("OUT_DIR"), "/events_without_second_look/mod.rs"));
    }
    pub(crate) mod events_without_leader {
        include!(concat!(env!("OUT_DIR"), "/events_without_leader/mod.rs"));
    }
    pub(crate) mod events_without_top {
        include!(concat!(env!("OUT_DIR"), "/events_without_top/mod.rs"));
    }
    pub(crate) mod events_rousing_unfenced {
        include!(concat!(env!("OUT_DIR"), "/events_rousing_unfenced/mod.rs"));
    }
    pub(crate) mod berth_calling_unfenced {
        include!(concat!(env!("OUT_DIR"), "/berth_calling_unfenced/mod.rs"));
    }
    pub(crate) mod berth_sleeping_unfenced {
        include!(concat!(env!("OUT_DIR"), "/berth_sleeping_unfenced/mod.rs"));
    }
    pub(crate) mod berth_calling_another {
        include!(concat!(env!("OUT_DIR"), "/berth_calling_another/mod.rs"));
    }
    pub(crate) mod berth_rousing_unfenced {
        include!(concat!(env!("OUT_DIR"), "/berth_rousing_unfenced/mod.rs"));
    }
    pub(crate) mod mark_modelled {
        include!(concat!(env!("OUT_DIR"), "/mark_modelled/mod.rs"));
    }
    #[allow(unused_imports)]
    pub(crate) mod mark_unfenced {
        include!(concat!(env!("OUT_DIR"), "/mark_unfenced/mod.rs"));
    }
    pub(crate) mod mark_set_late {
        include!(concat!(env!("OUT_DIR"), "/mark_set_late/mod.rs"));
    }
    pub(crate) mod tagged_queue_withdrawing_blindly {
        include!(concat!(env!("OUT_DIR"), "/tagged_queue_withdrawing_blindly/mod.rs"));
    }
    pub(crate) mod tagged_queue_completing_early {
        include!(concat!(env!("OUT_DIR"), "/tagged_queue_completing_early/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod tagged_queue_taking_by_sight {
        include!(concat!(env!("OUT_DIR"), "/tagged_queue_taking_by_sight/mod.rs"));
    }
    #[allow(unused_variables)]
    pub(crate) mod tagged_queue_taking_early_blindly {
        include!(concat!(env!("OUT_DIR"), "/tagged_queue_taking_early_blindly/mod.rs"));
    }
    pub(crate) mod tagged_queue_not_draining {
        include!(concat!(env!("OUT_DIR"), "/tagged_queue_not_draining/mod.rs"));
    }
    pub(crate) mod message_ring_overrunning {
        include!(concat!(env!("OUT_DIR"), "/message_ring_overrunning/mod.rs"));
    }
    pub(crate) mod message_ring_with_a_room_for_two {
        include!(concat!(env!("OUT_DIR"), "/message_ring_with_a_room_for_two/mod.rs"));
    }
    pub(crate) mod message_ring_passing_early {
        include!(concat!(env!("OUT_DIR"), "/message_ring_passing_early/mod.rs"));
    }
    pub(crate) mod message_ring_passing_what_stays {
        include!(concat!(env!("OUT_DIR"), "/message_ring_passing_what_stays/mod.rs"));
    }
    pub(crate) mod card_row_never_full {
        include!(concat!(env!("OUT_DIR"), "/card_row_never_full/mod.rs"));
    }
    pub(crate) mod card_row_forgetting_early {
        include!(concat!(env!("OUT_DIR"), "/card_row_forgetting_early/mod.rs"));
    }
    pub(crate) mod card_row_ending_early {
        include!(concat!(env!("OUT_DIR"), "/card_row_ending_early/mod.rs"));
    }
    pub(crate) mod started_unclaimed {
        include!(concat!(env!("OUT_DIR"), "/started_unclaimed/mod.rs"));
    }
    pub(crate) mod started_not_awaited {
        include!(concat!(env!("OUT_DIR"), "/started_not_awaited/mod.rs"));
    }
    pub(crate) mod started_not_awaiting_help {
        include!(concat!(env!("OUT_DIR"), "/started_not_awaiting_help/mod.rs"));
    }
    #[allow(unreachable_code, unused_variables)]
    pub(crate) mod port_lean {
        include!(concat!(env!("OUT_DIR"), "/port_lean/mod.rs"));
    }
}

#[cfg(test)]
mod harness;
#[cfg(test)]
mod models;
