//! Messages between two ranks, by their channels.

use super::super::fingerprint::{Fingerprint, PayloadKind};
use super::slot_layout::WordBytes;
use super::waiting::For;
use super::{EagerAddress, Expected, Peer, Port, Stop};
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::mailbox::Header;
use crate::mailbox::{FIRST, LONG, offset, pack};

/// Fills a payload, or takes it. (A trait of its own for the reason of
/// [`Question`](crate::wait::Question).)
pub(crate) trait PayloadUse<P> {
    fn at(&mut self, at: P);
}

impl<P, F: FnMut(P)> PayloadUse<P> for F {
    fn at(&mut self, at: P) {
        self(at);
    }
}

impl Port {
    /// Whether a message to `peer` can be posted without waiting, as far as is known:
    /// [`post_copy_in_room`](Port::post_copy_in_room) relies on it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_room(&mut self, peer: usize) -> bool {
        self.peers[peer].endpoint().has_room()
    }

    /// Posts a message of `kind` to `peer`; `fill` writes the payload.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn post(
        &mut self,
        peer: usize,
        kind: PayloadKind,
        fill: impl FnOnce(*mut u8),
    ) -> Result<u32, Stop> {
        self.await_room(peer)?;
        Ok(self.post_in_room(peer, kind, fill))
    }

    /// Posts a message of `kind` to `peer`, in whose mailbox there is room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn post_in_room(&mut self, peer: usize, kind: PayloadKind, fill: impl FnOnce(*mut u8)) -> u32 {
        let header = self.header(kind);
        let peer = &mut self.peers[peer];
        let n = peer.endpoint().post(header, fill);
        peer.wake();
        n
    }

    /// Posts `len` elements of `size` bytes, [`EAGER`] bytes at most, written by
    /// `fill`. They are copied; nothing needs to be settled.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn post_copy(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), Stop> {
        self.await_room(peer)?;
        self.post_copy_in_room(peer, len, size, fill);
        Ok(())
    }

    /// [`post_copy`](Port::post_copy), compiled once: `fill` is behind a pointer.
    #[inline(never)]
    pub(crate) fn post_packed(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        fill: &mut dyn PayloadUse<*mut u8>,
    ) -> Result<(), Stop> {
        self.post_copy(peer, len, size, |at| fill.at(at))
    }

    /// [`take_copy`](Port::take_copy), in one body as [`post_packed`](Port::post_packed).
    #[inline(never)]
    pub(crate) fn take_packed(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        take: &mut dyn PayloadUse<*const u8>,
    ) -> Result<(), Stop> {
        self.take_copy(peer, len, size, |at| take.at(at))
    }

    /// Posts a copy as [`post_copy`](Port::post_copy) does, where there is room
    /// ([`has_room`](Port::has_room)).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn post_copy_in_room(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        fill: impl FnOnce(*mut u8),
    ) {
        // Elements without bytes are counted as if they had one: so their number is compared.
        let bytes = len * size.max(1);
        let kind = PayloadKind::copied(bytes);
        if bytes <= LONG {
            self.post_in_room(
                peer,
                kind,
                #[cfg_attr(not(debug_assertions), inline(always))]
                |body| {
                    // SAFETY: the body of a slot.
                    unsafe { pack(body, (bytes > PayloadKind::BRIEF).then_some(len), bytes, fill) }
                },
            );
            return;
        }
        let header = self.header(kind);
        let Port { peers, shared, .. } = self;
        let peer = &mut peers[peer];
        let eager_buffer = *peer.eager_buffer.get_or_insert_with(|| shared.new_eager_buffer());
        // SAFETY: the state keeps it as long as the channels.
        let eager_buffer = unsafe { eager_buffer.as_ref() };
        let mut endpoint = peer.endpoint();
        // SAFETY: the eager buffer was made for this end alone.
        let place = unsafe { endpoint.eager_slot(eager_buffer, fill) };
        // SAFETY: a body has room for the two words.
        endpoint.post(header, |body| unsafe {
            body.cast::<EagerAddress>().write(EagerAddress { len, place })
        });
        peer.wake();
    }

    /// Posts words that describe memory of this rank (as [`PayloadKind::SLICE`] or
    /// [`PayloadKind::LIST`]). That memory must stay as it is until
    /// [`wait_acked`](Port::wait_acked) or [`wait_all_acked`](Port::wait_all_acked), and
    /// [`quiesce`](Port::quiesce) must run before it is freed in any other way.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn post_words(
        &mut self,
        peer: usize,
        kind: PayloadKind,
        words: WordBytes,
    ) -> Result<(), Stop> {
        let n = self.post(peer, kind, |body| {
            // SAFETY: the body has INLINE = 104 bytes, aligned to 8.
            unsafe { body.cast::<WordBytes>().write(words) }
        })?;
        self.debts.push((peer, n));
        Ok(())
    }

    /// Takes the next message from `peer`, which must be of the call in
    /// progress and have `len` elements of `size` bytes that were copied; `take`
    /// gets them, aligned to 8, those of more than [`LONG`] bytes to [`EAGER`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_copy<R>(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        let bytes = len * size.max(1);
        let own = Expected { header: self.header(PayloadKind::copied(bytes)), sig: self.sig, len };
        if bytes > FIRST && bytes <= LONG {
            self.await_two_lines(peer)?;
        } else {
            self.await_message(peer)?;
        }
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        let taken = endpoint.read(
            #[cfg_attr(not(debug_assertions), inline(always))]
            |got, body| {
                // SAFETY: a message of this kind was written by `post_copy`, and
                // is not consumed yet.
                unsafe { own.unpack(peer, bytes, got, body, take) }
            },
        )?;
        endpoint.consume();
        at.wake();
        Ok(taken)
    }

    /// Waits for `peer`'s message of any kind, which `take` is told: for senders who alone know how
    /// much they have to say.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(loom, allow(dead_code))] // `take_copy` is what is modelled.
    pub(crate) fn take_any<R>(
        &mut self,
        peer: usize,
        take: impl FnOnce(PayloadKind, *const u8) -> R,
    ) -> Result<R, Stop> {
        self.await_message(peer)?;
        self.take_arrived(peer, take)
    }

    /// Takes `peer`'s message, which has come and may be of any kind.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take_arrived<R>(
        &mut self,
        peer: usize,
        take: impl FnOnce(PayloadKind, *const u8) -> R,
    ) -> Result<R, Stop> {
        let own = self.check;
        let sig = self.sig;
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        let taken = endpoint.read(|got, body| {
            let kind = Fingerprint(got.check).kind();
            let expected = Header { sig: std::ptr::from_ref(sig).cast(), check: own.with(kind).0 };
            if Fingerprint(expected.check).agrees(Fingerprint(got.check)) && sig.agrees(got.sig) {
                Ok(take(kind, body.wrapping_add(kind.bytes().map_or(0, offset))))
            } else {
                Err(Stop::Mismatch { peer, expected, got, lens: None })
            }
        })?;
        endpoint.consume();
        at.wake();
        Ok(taken)
    }

    /// Waits for `peer`'s message that describes memory of `len` elements: `take` gets the three
    /// words once the length agrees.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_words<R>(
        &mut self,
        peer: usize,
        len: usize,
        take: impl FnOnce(PayloadKind, WordBytes) -> R,
    ) -> Result<R, Stop> {
        let (kind, words) = self.look_at_words(peer, len)?;
        let taken = take(kind, words);
        self.consume(peer);
        Ok(taken)
    }

    /// The words of the next message from `peer`, which stays until it is
    /// [consumed](Port::consume), as does the memory that it describes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn look_at_words(
        &mut self,
        peer: usize,
        len: usize,
    ) -> Result<(PayloadKind, WordBytes), Stop> {
        self.await_message(peer)?;
        let (slice, list) = (self.header(PayloadKind::SLICE), self.header(PayloadKind::LIST));
        let sig = self.sig;
        self.peers[peer].endpoint().read(|got, body| {
            let is_slice = Fingerprint(slice.check).agrees(Fingerprint(got.check));
            let fits = is_slice || Fingerprint(list.check).agrees(Fingerprint(got.check));
            if !(fits && sig.agrees(got.sig)) {
                return Err(Stop::Mismatch { peer, expected: slice, got, lens: None });
            }
            // SAFETY: a message of these kinds was written by `post_words`.
            let words = unsafe { body.cast::<WordBytes>().read() };
            if words.len != len {
                let lens = Some((len, words.len));
                return Err(Stop::Mismatch { peer, expected: slice, got, lens });
            }
            Ok((if is_slice { PayloadKind::SLICE } else { PayloadKind::LIST }, words))
        })
    }

    /// Declares that this rank is done with the message that it has looked at.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn consume(&mut self, peer: usize) {
        let at = &mut self.peers[peer];
        at.endpoint().consume();
        at.wake();
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn await_message(&mut self, peer: usize) -> Result<(), Stop> {
        if self.peers[peer].endpoint().poll_for::<false>(self.looks) {
            return Ok(());
        }
        self.wait_more(peer, For::Peer, &mut |peer: &mut Peer| peer.endpoint().poll())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn await_two_lines(&mut self, peer: usize) -> Result<(), Stop> {
        if self.peers[peer].endpoint().poll_for::<true>(self.looks) {
            return Ok(());
        }
        self.wait_more(peer, For::Peer, &mut |peer: &mut Peer| peer.endpoint().poll())
    }

    /// Waits until a message to `peer` can be posted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn await_room(&mut self, peer: usize) -> Result<(), Stop> {
        if self.peers[peer].endpoint().has_room() {
            return Ok(());
        }
        self.await_more_room(peer)
    }

    #[cold]
    #[inline(never)]
    fn await_more_room(&mut self, peer: usize) -> Result<(), Stop> {
        // Not so often that the peer has to fetch the line back for each
        // message that it acknowledges.
        #[cfg(not(any(loom, shuttle)))]
        for _ in 0..self.looks / 16 {
            if self.peers[peer].endpoint().can_post() {
                return Ok(());
            }
            (0..3).for_each(|_| crate::sync::spin_loop());
        }
        self.wait(peer, For::Peer, |peer| peer.endpoint().can_post())
    }

    /// The last message posted to `peer`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn posted(&self, peer: usize) -> u32 {
        self.peers[peer].cursor.tx
    }

    /// Waits until `peer` is done with message `n`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn wait_acked(&mut self, peer: usize, n: u32) -> Result<(), Stop> {
        self.wait(peer, For::Peer, |peer| peer.endpoint().is_acked(n))
    }

    /// [`wait_acked`](Port::wait_acked), in one body for what is handed over by address.
    #[inline(never)]
    pub(crate) fn settle(&mut self, peer: usize, n: u32) -> Result<(), Stop> {
        self.wait_acked(peer, n)
    }

    /// Waits until no peer can reach this rank's memory by a message.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn wait_all_acked(&mut self) -> Result<(), Stop> {
        while let Some(&(peer, n)) = self.debts.last() {
            self.settle(peer, n)?;
            self.debts.pop();
        }
        Ok(())
    }
}
