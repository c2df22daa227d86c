//! The tagged messages that lie unread while a rank waits, in words: for errors.

use super::call_log::CallRecord;
use super::comm_state::CommState;
use super::match_list::MatchPattern;
use super::team_state::{MessageQueues, TeamState};
use super::unfit_receive::UnfitReceive;
use crate::error::{CallSite, UNREAD};
use crate::sync::Arc;

/// So many messages are named.
const NAMED: usize = 3;

impl CommState {
    /// To be shared by its ranks. Their team's errors will know of its messages.
    pub(crate) fn shared(self) -> Arc<Self> {
        let shared = Arc::new(self);
        #[cfg(not(loom))]
        shared.world().add_queues(Arc::<CommState>::downgrade(&shared));
        shared
    }
}

impl MessageQueues for CommState {
    fn comm(&self) -> u64 {
        self.id()
    }

    fn unread(&self, member: usize) -> Vec<String> {
        let Some(rank) = (0..self.size()).find(|&rank| self.member(rank) == member) else {
            return Vec::new();
        };
        let words = |(source, tag, label)| {
            let named = MatchPattern { source: Some(rank as u32), tag: Some(tag) };
            let sent = UnfitReceive::new(source, &label, named, String::new()).there;
            let source = self.member(source as usize);
            let at = self.world().records(source).refined(sent).at;
            format!("{UNREAD}{source} with tag {tag} waits unread, sent at {at}")
        };
        self.tagged(rank).unread().into_iter().map(words).collect()
    }
}

impl TeamState {
    /// `call`, in which `rank` waits, as it appears in an error.
    pub(crate) fn waiting_site(&self, rank: usize, call: &CallRecord) -> CallSite {
        let CallSite { call: words, at } = call.site();
        CallSite { call: words + &self.unread(rank, call), at }
    }

    /// The messages that lie on the communicator of `call`, in which `rank` waits, if it is for a
    /// message; if there is none, on others.
    pub(crate) fn unread(&self, rank: usize, call: &CallRecord) -> String {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        // In other calls messages may lie there for later ones.
        for queues in self.queues().iter().filter(|_| call.call == 0) {
            match queues.comm() == call.comm {
                true => own.extend(queues.unread(rank)),
                false => others.extend(queues.unread(rank)),
            }
        }
        let (all, end) = match own.is_empty() {
            true => (others, ", on another communicator)"),
            false => (own, ")"),
        };
        let more = all.len().saturating_sub(NAMED);
        let mut words: String =
            all.iter().take(NAMED).flat_map(|words| [words.as_str(), end]).collect();
        if more > 0 {
            words += &format!(" (and {more} more)");
        }
        words
    }
}
