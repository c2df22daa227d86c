//! Neighbourhoods: a rank shows its memory on a board of a plan's own, and some peers look at it;
//! it waits for those alone. The protocol is that of the boards, with fewer readers
//! (`src/mailbox/README.md`, "Boards").
//!
//! A plan has no words in the fabric: its boards are kept by all who look at them. So whatever may
//! end the call early goes through a [`NeighborGuard`], which knows who may be reading.

use super::super::fingerprint::PayloadKind;
use super::waiting::For;
use super::{Port, Stop};
use crate::mailbox::{Board, Notice};

impl Port {
    /// Shows `len` fields at `a` on `own`, this rank's board in a plan, in the call in progress.
    /// Its readers are to be [woken](Port::wake). Does not wait.
    ///
    /// # Safety
    /// - Only this rank shows anything on `own`.
    /// - Each peer that may read its notice has finished the last call in which something was
    ///   shown there, or this port is dead.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn show_neighbors(&mut self, own: &Board, a: *mut u8, len: usize) {
        let header = self.header(PayloadKind::SLICE);
        let notice = Notice { header, a, b: std::ptr::null_mut(), len };
        // SAFETY: by the contract.
        unsafe { own.show(self.calls, notice) };
    }

    /// Wakes `peer`, for which this rank has published something on a plan's board.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn wake(&self, peer: usize) {
        self.peers[peer].wake();
    }

    /// Waits for `peer`'s notice of this call on `board`, the peer's in a plan. It stands for `len`
    /// fields, and stays until this rank has [finished](Port::finish_neighbors).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn notice_of_neighbor(
        &mut self,
        peer: usize,
        board: &Board,
        len: usize,
    ) -> Result<Notice, Stop> {
        let call = self.calls;
        self.wait(peer, For::Peer, |_| board.look() >= call)?;
        // A peer that shows a later call has never shown this one here.
        if board.look() != call {
            return Err(self.later_call(peer, board.look()));
        }
        // SAFETY: this rank is in call `call`, has seen that number, and has not finished it.
        let notice = unsafe { board.notice() };
        self.compare_notice(peer, notice, Some(len))
    }

    /// Declares on `own`, this rank's board in a plan, that it is done with the memory of all
    /// neighbours in this call. Those that showed something are to be [woken](Port::wake).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish_neighbors(&mut self, own: &Board) {
        own.finish(self.calls);
    }

    /// Waits until `peer`, whose board in a plan is `board`, has finished this call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn close_neighbor(&mut self, peer: usize, board: &Board) -> Result<(), Stop> {
        let call = self.calls;
        self.wait(peer, For::Peer, |_| board.has_finished(call))
    }

    /// The number of the call in progress.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn call_number(&self) -> u64 {
        self.calls
    }
}

/// A [`Guard`](super::Guard) for a call in which neighbours may reach this rank's memory through
/// a plan's boards.
pub(crate) struct NeighborGuard<'a> {
    pub(crate) port: &'a mut Port,
    /// Whether a peer reads none of this rank's memory any more, as far as the plan's boards say.
    is_done: &'a dyn Fn(usize) -> bool,
    user_code: bool,
}

impl<'a> NeighborGuard<'a> {
    /// `user_code`: an operator, or other code of the user, runs in the call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(
        port: &'a mut Port,
        user_code: bool,
        is_done: &'a dyn Fn(usize) -> bool,
    ) -> Self {
        if user_code {
            port.enter_user_code();
        }
        NeighborGuard { port, is_done, user_code }
    }

    /// The call has ended well: no peer reaches this rank's memory any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn disarm(self) {
        if self.user_code {
            self.port.leave_user_code();
        }
        std::mem::forget(self);
    }
}

impl Drop for NeighborGuard<'_> {
    fn drop(&mut self) {
        if self.user_code {
            self.port.leave_user_code();
        }
        self.port.quiesce_until(self.is_done);
    }
}
