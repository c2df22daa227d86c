//! Collective operations of a port, by gates and boards.

use super::super::fingerprint::{CallParams, Fingerprint, PayloadKind};
use super::waiting::For;
use super::{EagerAddress, Expected, Peer, Phase, Port, Stop, has_woken_neighbour};
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::mailbox::{FIRST, LONG, pack};
use crate::mailbox::{Header, Notice};

impl Port {
    /// Shows `len` elements of `size` bytes, [`EAGER`] bytes at most, written by
    /// `fill`, to all peers, each of which does the same and
    /// [`look`](Port::look)s at everybody's: the gates. Does not wait. They are
    /// copied; nothing needs to be settled.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn show_all(&mut self, len: usize, size: usize, fill: impl FnOnce(*mut u8)) {
        self.episode += 1;
        let bytes = len * size;
        let header = self.header(PayloadKind::copied(bytes));
        let Port { gate, shared, eager_buffer, episode, .. } = self;
        // SAFETY: a word of the state, which is kept.
        let gate = unsafe { gate.as_ref() };
        // SAFETY: this is the owner; whoever shows something has looked at all peers in the episode
        // before, or the port is dead. A body has room for the payload, and the eager buffer was
        // made for this gate alone, and is kept by the state.
        unsafe {
            if bytes <= LONG {
                gate.show(
                    *episode,
                    header,
                    #[cfg_attr(not(debug_assertions), inline(always))]
                    |body| pack(body, (bytes > PayloadKind::BRIEF).then_some(len), bytes, fill),
                );
            } else {
                let eager_buffer = *eager_buffer.get_or_insert_with(|| shared.new_eager_buffer());
                let place = gate.eager_slot(eager_buffer.as_ref(), *episode, fill);
                let eager = EagerAddress { len, place };
                gate.show(*episode, header, |body| body.cast::<EagerAddress>().write(eager));
            }
        }
        self.tell_all();
    }

    /// Declares that everybody was looked at in this episode, each peer once: a rank that sleeps
    /// until all have shown something wakes. Not needed of two ranks.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn looked_at_all(&self) {
        if self.crowded {
            self.complete(Phase::Gates, self.episode);
        }
    }

    /// Declares that everybody's notice in this call was looked at.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn noticed_all(&self) {
        if self.crowded {
            self.complete(Phase::Entered, self.calls);
        }
    }

    fn complete(&self, phase: Phase, event: u64) {
        let group = self.shared.group(self.rank);
        if self.size() > 2 && self.shared.events(phase).complete(group, event) {
            has_woken_neighbour();
        }
    }

    /// Waits for the payload that `peer` shows in this episode; `take` gets it, as from
    /// [`take_copy`](Port::take_copy). It stays where it is until this rank shows
    /// something again.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn look<R>(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        let own =
            Expected { header: self.header(PayloadKind::copied(len * size)), sig: self.sig, len };
        let episode = self.episode;
        let gate = self.peers[peer].gate;
        // SAFETY: a word of the state, which is kept.
        let gate = unsafe { gate.as_ref() };
        let (looks, bytes) = (self.looks, len * size);
        let has_shown = match bytes > FIRST && bytes <= LONG {
            true => gate.has_shown_two_lines_within(episode, looks),
            false => gate.has_shown_within(episode, looks),
        };
        if !has_shown {
            self.wait_more(peer, For::All(Phase::Gates), &mut |peer: &mut Peer| {
                peer.gate().has_shown(episode)
            })?;
        }
        // SAFETY: this rank is in that episode, and has seen its word; the body
        // was written by `show_all`.
        unsafe {
            gate.read(
                episode,
                #[cfg_attr(not(debug_assertions), inline(always))]
                |got, body| own.unpack(peer, bytes, got, body, take),
            )
        }
    }

    /// Shows two places of `len` elements in this rank's memory to all peers,
    /// until [`close`](Port::close). All of them do so, and look at
    /// [`all`](Port::noticed_all) notices.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn show(&mut self, a: *mut u8, b: *mut u8, len: usize) {
        self.put_up(a, b, len);
        self.tell_all();
    }

    /// Shows two places to peers of which not all show some: they look by
    /// [`notice_alone`](Port::notice_alone).
    pub(crate) fn show_alone(&mut self, a: *mut u8, b: *mut u8, len: usize) {
        self.put_up(a, b, len);
        if self.crowded && self.size() > 2 {
            self.shared.events(Phase::Entered).wake_groups(self.calls);
        } else {
            self.tell_all();
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put_up(&mut self, a: *mut u8, b: *mut u8, len: usize) {
        self.open = Some(self.calls);
        let notice = Notice { header: self.header(PayloadKind::SLICE), a, b, len };
        // SAFETY: this is the owner; and `close` (or `quiesce`, after which
        // the port is dead) has waited for everyone to be done with the
        // notice before this one.
        unsafe { self.peers[self.rank].board().show(self.calls, notice) };
    }

    /// Waits for `peer`'s notice of this call. `len` is compared unless `None`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn notice(&mut self, peer: usize, len: Option<usize>) -> Result<Notice, Stop> {
        self.await_notice(peer, len, For::All(Phase::Entered))
    }

    /// Waits for `peer`'s notice in a call in which not all ranks show one.
    pub(crate) fn notice_alone(&mut self, peer: usize, len: Option<usize>) -> Result<Notice, Stop> {
        self.await_notice(peer, len, For::Notice)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn await_notice(&mut self, peer: usize, len: Option<usize>, what: For) -> Result<Notice, Stop> {
        let call = self.calls;
        // A peer that shows a *later* call never showed this one to us.
        self.wait(peer, what, |peer| peer.board().look() >= call)?;
        let board = self.peers[peer].board();
        if board.look() != call {
            return Err(self.later_call(peer, board.look()));
        }
        // SAFETY: this rank is in call `call`, has seen that number, and
        // finishes it only in `finish`.
        let notice = unsafe { board.notice() };
        self.compare_notice(peer, notice, len)
    }

    /// Why this rank's call ends that `peer` has passed by: it shows `call`.
    #[cold]
    pub(super) fn later_call(&self, peer: usize, call: u64) -> Stop {
        let expected = self.header(PayloadKind::SLICE);
        let check = Fingerprint::new(call, &const { CallParams::of(0) }, 0);
        let got = Header { sig: expected.sig, check: check.0 };
        Stop::Mismatch { peer, expected, got, lens: None }
    }

    /// `peer`'s notice of this call, if it is one of this rank's call. `len` is compared
    /// unless `None`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn compare_notice(
        &self,
        peer: usize,
        notice: Notice,
        len: Option<usize>,
    ) -> Result<Notice, Stop> {
        let expected = self.header(PayloadKind::SLICE);
        let got = notice.header;
        if !Fingerprint(expected.check).agrees(Fingerprint(got.check)) || !self.sig.agrees(got.sig)
        {
            return Err(Stop::Mismatch { peer, expected, got, lens: None });
        }
        match len {
            Some(len) if len != notice.len => {
                Err(Stop::Mismatch { peer, expected, got, lens: Some((len, notice.len)) })
            }
            _ => Ok(notice),
        }
    }

    /// Why a call ends in which `peer`'s notice, of this call, stands for
    /// another number of elements than this rank expects.
    #[cold]
    pub(crate) fn unequal(&self, peer: usize, expected: usize, got: usize) -> Stop {
        // Its header agrees with this rank's own but for the record's number.
        // SAFETY: as in `notice`, which the caller has had it from.
        let header = unsafe { self.shared.board(peer).notice() }.header;
        let lens = Some((expected, got));
        Stop::Mismatch { peer, expected: self.header(PayloadKind::SLICE), got: header, lens }
    }

    /// Declares this rank done with all foreign memory of this call, in which everybody waits for
    /// everybody by [`close`](Port::close).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish(&mut self) {
        self.peers[self.rank].board().finish(self.calls);
        self.tell_all();
    }

    /// Declares this rank done with all foreign memory of this call, in which only `root` waits, by
    /// [`close_alone`](Port::close_alone).
    pub(crate) fn finish_for(&mut self, root: usize) {
        let call = self.calls;
        self.peers[self.rank].board().finish(call);
        if !self.crowded {
            return self.peers[root].wake();
        }
        let have = |peer: &Peer| peer.board().has_finished(call);
        let all = || (0..).zip(&self.peers).all(|(rank, peer)| rank == root || have(peer));
        let peer = &self.peers[root];
        if peer.seat().berth().call(self.rank, all) && peer.near {
            has_woken_neighbour();
        }
    }

    /// After showing something that everybody waits for: wakes every peer that naps. Where ranks
    /// are crowded, the last to look at it wakes the others; of two ranks it is a matter between
    /// them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn tell_all(&self) {
        match &*self.peers {
            [a, b] => if self.rank == 0 { b } else { a }.wake(),
            // All phases are alike here.
            _ if self.crowded => self.shared.events(Phase::Gates).shown(),
            // The own seat does no harm: this rank is awake.
            peers => peers.iter().for_each(|peer| peer.wake()),
        }
    }

    /// Waits until all peers, which do the same, have finished this call: the board is free again.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn close(&mut self) -> Result<(), Stop> {
        self.await_finished(For::All(Phase::Finished))?;
        if self.crowded {
            self.complete(Phase::Finished, self.calls);
        }
        Ok(())
    }

    /// Waits until all peers have finished this call, in which no other rank waits.
    pub(crate) fn close_alone(&mut self) -> Result<(), Stop> {
        self.await_finished(For::Last)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn await_finished(&mut self, what: For) -> Result<(), Stop> {
        let call = self.calls;
        for peer in (self.rank + 1..self.size()).chain(0..self.rank) {
            self.wait(peer, what, |peer| peer.board().has_finished(call))?;
        }
        self.open = None;
        Ok(())
    }
}
