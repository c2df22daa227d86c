//! Gates for blocks of which only their owner knows the lengths: a rank shows blocks and their
//! lengths; few bytes are copied, of more it shows the address. Each peer finds its block by the
//! owner's counts.
//!
//! A rank that shows an address is in the call until everybody has [finished](Port::finish) it, as
//! on a board; so if one rank does, all finish and [close](Port::close). All know, as all look at
//! all.

use super::super::fingerprint::{Fingerprint, PayloadKind};
use super::waiting::For;
use super::{EagerAddress, Peer, Phase, Port, Stop};
use crate::mailbox::{EAGER, FIRST, Header, INLINE};

/// The blocks that a rank shows: they lie one after the other.
#[derive(Clone, Copy)]
pub(crate) struct OwnBlocks<'a> {
    /// Elements of each block.
    pub(crate) counts: &'a [usize],
    /// Of as many elements as the counts sum to, `len`, of `size` bytes each.
    pub(crate) data: *const u8,
    pub(crate) len: usize,
    pub(crate) size: usize,
    /// The block that no peer takes, if there is such a block: it is not copied.
    pub(crate) own: Option<usize>,
    /// Elements of the other blocks.
    pub(crate) for_peers: usize,
    /// Whether they stay where they are, however few.
    pub(crate) is_lent: bool,
}

/// A length in the copied bytes, before the data.
type ShortLength = u16;

/// The payload is in the slot.
const IN_SLOT: PayloadKind = PayloadKind::copied(0);
/// The payload is in the eager buffer.
const IN_BUFFER: PayloadKind = PayloadKind::COPIED;
/// The payload is an address.
const ELSEWHERE: PayloadKind = PayloadKind::SLICE;

impl OwnBlocks<'_> {
    /// Whether the bytes that a peer shows are probably not in a slot's first line alone, if it is
    /// as long.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_long(&self) -> bool {
        match self.is_lent {
            true => size_of::<BlocksAddress>() + size_of_val(self.counts) > FIRST,
            false => Self::head(self.counts.len()) + self.for_peers * self.size > FIRST,
        }
    }

    /// Bytes of the lengths: whole words, so that data of words are aligned.
    #[cfg_attr(not(debug_assertions), inline(always))]
    const fn head(blocks: usize) -> usize {
        (blocks * size_of::<ShortLength>()).next_multiple_of(size_of::<usize>())
    }

    /// Bytes of all, if they are few enough to be copied.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn copied(&self) -> Option<usize> {
        if self.is_lent {
            return None;
        }
        // A slice has at most isize::MAX bytes: no overflow. No count is more than all together.
        let bytes = Self::head(self.counts.len()) + self.for_peers * self.size;
        (bytes <= EAGER && self.for_peers <= usize::from(ShortLength::MAX)).then_some(bytes)
    }

    /// # Safety
    /// There is room at `body`, which is aligned for a word, for the bytes that are `copied`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn write(&self, body: *mut u8) {
        match *self.counts {
            // SAFETY: by the contract; aligned as the body is.
            [a, b] => unsafe {
                body.cast::<[ShortLength; 2]>().write([a as ShortLength, b as ShortLength])
            },
            _ => {
                for (i, &count) in self.counts.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { body.cast::<ShortLength>().add(i).write(count as ShortLength) };
                }
            }
        }
        let data = body.wrapping_add(Self::head(self.counts.len()));
        // The blocks before this rank's own, and those after it.
        let (before, after) = match (self.own, self.counts) {
            (Some(0), &[_, _]) => (0, self.len - self.for_peers),
            (Some(1), &[_, _]) => (self.for_peers, self.len),
            (Some(own), counts) => {
                let before = counts[..own].iter().sum();
                (before, before + counts[own])
            }
            (None, _) => (self.len, self.len),
        };
        let (before, from) = (before * self.size, after * self.size);
        let after = (self.len - after) * self.size;
        // SAFETY: by the contract, and that of `OwnBlocks`; the body is no memory of the caller's.
        unsafe {
            if before > 0 {
                copy_few(data, self.data, before);
            }
            if after > 0 {
                copy_few(data.wrapping_add(before), self.data.wrapping_add(from), after);
            }
        }
    }

    /// Writes the lengths behind an address: [`LENGTHS`] at most, else where they are.
    ///
    /// # Safety
    /// There is room for `LENGTHS` words at `to`, which is aligned for a word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn write_lengths(&self, to: *mut usize) {
        // SAFETY: by the contract.
        unsafe {
            match *self.counts {
                [a, b] => to.cast::<[usize; 2]>().write([a, b]),
                _ if self.counts.len() <= LENGTHS => {
                    std::ptr::copy_nonoverlapping(self.counts.as_ptr(), to, self.counts.len());
                }
                _ => to.cast::<*const usize>().write(self.counts.as_ptr()),
            }
        }
    }
}

/// Copies `bytes` bytes. A word or two, the usual case, without a call.
///
/// # Safety
/// As `copy_nonoverlapping`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) unsafe fn copy_few(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe {
        match bytes {
            8 => std::ptr::copy_nonoverlapping(from, to, 8),
            16 => std::ptr::copy_nonoverlapping(from, to, 16),
            4 => std::ptr::copy_nonoverlapping(from, to, 4),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// In a slot, in place of blocks that are not copied. Their lengths follow, if there are at most
/// [`LENGTHS`], else the address of the lengths.
#[derive(Clone, Copy)]
#[repr(C)]
struct BlocksAddress {
    data: *const u8,
    /// The number of the call, in full: the header has a part of it.
    call: u64,
}

/// As many lengths as a slot has room for behind an address.
const LENGTHS: usize = (INLINE - size_of::<BlocksAddress>()) / size_of::<usize>();

/// Where the lengths of a peer's blocks are.
#[derive(Clone, Copy)]
enum BlockLengths {
    Copied(*const ShortLength),
    Elsewhere(*const usize),
}

/// A peer's blocks.
#[derive(Clone, Copy)]
pub(crate) struct ShownBlocks {
    header: Header,
    lengths: BlockLengths,
    data: *const u8,
    /// The block that is not there, if any.
    omitted: Option<usize>,
}

impl ShownBlocks {
    /// Whether they are in the peer's own memory, until all have finished the call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.lengths, BlockLengths::Elsewhere(_))
    }

    /// Block `i`: where it is, perhaps not aligned, and how many elements of `size` bytes it has.
    ///
    /// # Safety
    /// The peer shows more than `i` blocks, of elements of that size, and keeps them: the bytes
    /// that were copied until the caller shows something again, the rest until it finishes the
    /// call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn block(&self, i: usize, size: usize) -> (*const u8, usize) {
        let (start, len) = match self.lengths {
            // SAFETY: by the contract.
            BlockLengths::Copied(at) => unsafe {
                before_and_at(i, self.omitted, |k| usize::from(*at.add(k)))
            },
            // SAFETY: by the contract.
            BlockLengths::Elsewhere(at) => unsafe { before_and_at(i, None, |k| *at.add(k)) },
        };
        (self.data.wrapping_add(start * size), len)
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn before_and_at(
    i: usize,
    omitted: Option<usize>,
    length: impl Fn(usize) -> usize,
) -> (usize, usize) {
    let before = match (i, omitted) {
        (0, _) | (1, Some(0)) => 0,
        (1, _) => length(0),
        _ => (0..i).filter(|&k| Some(k) != omitted).map(&length).sum(),
    };
    (before, length(i))
}

impl Port {
    /// Shows blocks to all peers, each of which does the same and
    /// [looks](Port::look_at_blocks) at everybody's. Returns whether they stay where they are: then
    /// all must [`finish`](Port::finish) and [`close`](Port::close). Does not wait.
    ///
    /// # Safety
    /// `own.data` is valid for reads of `own.len` elements, which the counts sum to. If true is
    /// returned, nobody writes them, or the counts, until the call is closed or the port has
    /// quiesced.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn show_blocks(&mut self, own: &OwnBlocks<'_>) -> bool {
        self.episode += 1;
        let episode = self.episode;
        // SAFETY: a word of the state, which is kept.
        let gate = unsafe { self.gate.as_ref() };
        let copied = own.copied();
        // SAFETY: for the gate and the eager buffer as in `show_all`. The copied bytes have room:
        // in a slot INLINE bytes, in an eager slot EAGER; both are aligned for a word.
        unsafe {
            match copied {
                Some(bytes) if bytes <= INLINE => {
                    gate.show(episode, self.header(IN_SLOT), |body| own.write(body));
                }
                Some(_) => {
                    let header = self.header(IN_BUFFER);
                    let Port { shared, eager_buffer, .. } = self;
                    let eager_buffer =
                        *eager_buffer.get_or_insert_with(|| shared.new_eager_buffer());
                    let fill = |body| own.write(body);
                    let place = gate.eager_slot(eager_buffer.as_ref(), episode, fill);
                    let eager = EagerAddress { len: own.len, place };
                    gate.show(episode, header, |body| body.cast::<EagerAddress>().write(eager));
                }
                None => {
                    let (data, call) = (own.data, self.calls);
                    let address = BlocksAddress { data, call };
                    // From here on a peer may read them.
                    self.open = Some(call);
                    let header = self.header(ELSEWHERE);
                    gate.show(episode, header, |body| {
                        let body = body.cast::<BlocksAddress>();
                        body.write(address);
                        own.write_lengths(body.add(1).cast());
                    });
                }
            }
        }
        self.tell_all();
        copied.is_none()
    }

    /// Waits for the `blocks` blocks that `peer` shows in this episode, as many as this rank,
    /// and with the same kind of `own` block. `long`: they are perhaps not in the slot's first
    /// line.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn look_at_blocks(
        &mut self,
        peer: usize,
        (blocks, has_own): (usize, bool),
        long: bool,
    ) -> Result<ShownBlocks, Stop> {
        let (episode, looks) = (self.episode, self.looks);
        // SAFETY: a word of the state, which is kept.
        let gate = unsafe { self.peers[peer].gate.as_ref() };
        let has_shown = match long {
            true => gate.has_shown_two_lines_within(episode, looks),
            false => gate.has_shown_within(episode, looks),
        };
        if !has_shown {
            self.wait_more(peer, For::All(Phase::Gates), &mut |peer: &mut Peer| {
                peer.gate().has_shown(episode)
            })?;
        }
        // SAFETY: this rank is in that episode, and has seen its word.
        unsafe {
            gate.read(episode, |got, body| self.unpack_blocks(peer, (blocks, has_own), got, body))
        }
    }

    /// # Safety
    /// If the header agrees, `show_blocks` wrote the body, and does not write it again now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn unpack_blocks(
        &self,
        peer: usize,
        (blocks, has_own): (usize, bool),
        got: Header,
        body: *const u8,
    ) -> Result<ShownBlocks, Stop> {
        let kind = Fingerprint(got.check).kind();
        let expected = self.header(kind);
        let agrees = Fingerprint(expected.check).agrees(Fingerprint(got.check));
        if !agrees || !self.sig.agrees(got.sig) {
            return Err(Stop::Mismatch { peer, expected, got, lens: None });
        }
        let copied = |at: *const u8| ShownBlocks {
            header: got,
            lengths: BlockLengths::Copied(at.cast()),
            data: at.wrapping_add(OwnBlocks::head(blocks)),
            omitted: has_own.then_some(peer),
        };
        match kind {
            IN_SLOT => Ok(copied(body)),
            // SAFETY: by the kind, which only `show_blocks` sets in this call; eager buffers live
            // as long as the state.
            IN_BUFFER => Ok(unsafe { (*body.cast::<EagerAddress>().read().place).read(copied) }),
            _ => {
                // SAFETY: by the kind, as above.
                let BlocksAddress { data, call } = unsafe { body.cast::<BlocksAddress>().read() };
                if call != self.calls {
                    return Err(Stop::Mismatch { peer, expected, got, lens: None });
                }
                let after = body.wrapping_add(size_of::<BlocksAddress>());
                let lengths = match blocks <= LENGTHS {
                    true => after.cast(),
                    // SAFETY: by the number of blocks, which is the peer's too: `write_lengths`.
                    false => unsafe { after.cast::<*const usize>().read() },
                };
                let lengths = BlockLengths::Elsewhere(lengths);
                Ok(ShownBlocks { header: got, lengths, data, omitted: None })
            }
        }
    }

    /// Whether `peer` has finished the call of the latest episode, in which this rank has shown
    /// where its blocks are. The answer is final once this rank has quiesced.
    #[cold]
    pub(crate) fn has_taken_block(&self, peer: usize) -> bool {
        let (call, episode, peer) = (self.calls, self.episode, &self.peers[peer]);
        // A peer that is in another call may have finished one of that number, too.
        if !peer.gate().has_shown(episode) || !peer.board().has_finished(call) {
            return false;
        }
        // SAFETY: this rank is in that episode, and has seen its word.
        let got = unsafe { peer.gate().read(episode, |got, _| got) };
        let expected = self.header(Fingerprint(got.check).kind());
        Fingerprint(expected.check).agrees(Fingerprint(got.check)) && self.sig.agrees(got.sig)
    }

    /// Why a call ends in which a block of `shown`, by `peer`, has another number of elements than
    /// this rank expects.
    #[cold]
    pub(crate) fn unequal_blocks(
        &self,
        peer: usize,
        shown: &ShownBlocks,
        (expected, got): (usize, usize),
    ) -> Stop {
        let header = self.header(Fingerprint(shown.header.check).kind());
        Stop::Mismatch { peer, expected: header, got: shown.header, lens: Some((expected, got)) }
    }
}
