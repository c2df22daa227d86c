//! Blocks of different lengths at the gates: every rank shows its own in one step. Up to
//! [`EAGER`] bytes are copied to the peers, more stay where they are, and are copied from there.
//!
//! | call | ranks that know the lengths |
//! |---|---|
//! | all-to-all | the sender and the receiver of each block; compared by the receiver |
//! | collected into a `Vec` | the sender |
//! | owned values | the sender; they are never copied to a gate, so that each has one owner |

use super::kernel::{copy as copy_bytes, stream};
use super::{Scratch, Workspace, board};
use crate::element::Element;
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::shared::{Guard, OwnBlocks, Port, ShownBlocks, Span, StartedCall, Stop, copy_few};

/// A call of blocks of which no rank knows all lengths.
pub(crate) trait Uneven {
    /// Its result.
    type Gives;

    fn run_uneven(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<Self::Gives, Stop>;
}

/// How blocks that are not few are copied.
#[derive(Clone, Copy)]
struct Delivery {
    /// Whether the results are too large for any cache, and so go round them.
    stream: bool,
}

impl Delivery {
    /// If the ranks together touch `len` elements of `size` bytes so many times.
    #[inline(always)]
    fn of(work: &Workspace, len: usize, times: usize, size: usize) -> Self {
        let touched = len.saturating_mul(size).saturating_mul(times);
        Delivery { stream: touched >= work.stream_from }
    }

    /// Copies a block that a peer shows, of so many bytes, to `to`.
    ///
    /// # Safety
    /// There is room for them at `to`, which is memory of this rank's alone; and as for
    /// [`ShownBlocks::block`].
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8, bytes: usize, is_elsewhere: bool) {
        // SAFETY: by the contract.
        unsafe {
            match is_elsewhere {
                false => copy_few(to, from, bytes),
                true if self.stream && bytes >= board::BLOCK => stream::copy(to, from, bytes),
                true => copy_bytes(to, from, bytes),
            }
        }
    }
}

/// The memory that everybody shows: `len` elements of `size` bytes at `data`, in blocks of `counts`
/// elements; no peer takes block `own`.
#[inline(always)]
fn own_blocks(
    (data, len, size): (*const u8, usize, usize),
    counts: &[usize],
    own: Option<usize>,
) -> OwnBlocks<'_> {
    let for_peers = len - own.map_or(0, |own| counts[own]);
    OwnBlocks { counts, data, len, size, own, for_peers, is_lent: false }
}

/// Every rank sends block `j` of its input, of as many elements as count `j` says, to rank `j`, and
/// expects as many as it has a count for.
pub(crate) struct AllToAll<'a> {
    send: (*const u8, usize, &'a [usize]),
    recv: (*mut u8, usize, &'a [usize]),
    size: usize,
}

impl<'a> AllToAll<'a> {
    /// Of elements of `size` bytes.
    ///
    /// # Safety
    /// - `send` is valid for reads, and `recv` for writes, of as many elements as their counts sum
    ///   to. They do not overlap, and nobody else accesses them until the call has returned.
    /// - The own block has the same length in both.
    #[inline(always)]
    pub(crate) unsafe fn new(
        send: (*const u8, usize, &'a [usize]),
        recv: (*mut u8, usize, &'a [usize]),
        size: usize,
    ) -> Self {
        AllToAll { send, recv, size }
    }
}

impl Uneven for AllToAll<'_> {
    type Gives = ();

    #[inline(always)]
    fn run_uneven(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        let AllToAll { send: (send, send_len, send_counts), recv, size } = self;
        let (recv, recv_len, recv_counts) = recv;
        let (rank, p) = (port.rank(), port.size());
        let delivery = Delivery::of(work, send_len.max(recv_len), 2 * p, size);
        let own = own_blocks((send, send_len, size), send_counts, Some(rank));
        let guard = Guard::new(port);
        // SAFETY: the call has them and the counts until this returns, and it does so only after
        // `settle`, or when the guard has quiesced the port.
        let mut are_elsewhere = unsafe { guard.port.show_blocks(&own) };
        guard.port.log_call(begun);
        let (mine, begin) = (before(send_counts, rank), before(recv_counts, rank));
        let n = send_counts[rank];
        let place = |begin: usize| recv.wrapping_add(begin * size);
        // SAFETY: the own block of both; they do not overlap.
        unsafe { copy_few(place(begin), send.wrapping_add(mine * size), n * size) };
        let long = own.is_long();
        let mut take = |port: &mut Port, peer: usize, begin: usize| {
            let expected = recv_counts[peer];
            let shown = port.look_at_blocks(peer, (p, true), long)?;
            are_elsewhere |= shown.is_elsewhere();
            // SAFETY: the peer shows a block for every rank, of elements of the same type
            // (fingerprint); we have not shown anything since, nor finished.
            let (from, len) = unsafe { shown.block(rank, size) };
            if len != expected {
                return Err(port.unequal_blocks(peer, &shown, (expected, len)));
            }
            // SAFETY: the block of the output that is for this peer.
            unsafe { delivery.copy(place(begin), from, len * size, shown.is_elsewhere()) };
            Ok(())
        };
        if p == 2 {
            let begin = if rank == 0 { n } else { 0 };
            take(guard.port, 1 - rank, begin)?;
        } else {
            // Each begins with its successor, so that not all look at one gate.
            let mut at = begin + n;
            for peer in (rank + 1..p).chain(0..rank) {
                at = if peer == 0 { 0 } else { at };
                take(guard.port, peer, at)?;
                at += recv_counts[peer];
            }
            guard.port.looked_at_all();
        }
        settle(guard, are_elsewhere)
    }
}

/// The elements of the blocks before `rank`'s.
#[inline(always)]
fn before(counts: &[usize], rank: usize) -> usize {
    match (rank, counts) {
        (0, _) => 0,
        (1, &[first, ..]) => first,
        _ => counts[..rank].iter().sum(),
    }
}

/// The end of a call in which, perhaps, addresses were shown.
#[inline(always)]
fn settle(guard: Guard<'_>, are_elsewhere: bool) -> Result<(), Stop> {
    if are_elsewhere {
        guard.port.finish();
        guard.port.close()?;
    }
    guard.disarm();
    Ok(())
}

/// Every rank shows `send`, in `counts.len()` blocks, as many as every other; of every rank this
/// one takes block `part`, if any. Gives the elements that it has taken, in rank order, and the
/// lengths.
pub(crate) struct Collection<'a, T> {
    pub(crate) send: &'a [T],
    pub(crate) counts: &'a [usize],
    pub(crate) part: Option<usize>,
}

impl<T: Element> Uneven for Collection<'_, T> {
    type Gives = (Vec<T>, Vec<usize>);

    fn run_uneven(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<Self::Gives, Stop> {
        let Collection { send, counts, part } = self;
        let (rank, p) = (port.rank(), port.size());
        // A block for every rank, of which each takes its own.
        let has_own = counts.len() == p;
        let size = size_of::<T>();
        let own =
            own_blocks((send.as_ptr().cast(), send.len(), size), counts, has_own.then_some(rank));
        let guard = Guard::new(port);
        // SAFETY: as in `all_to_all`.
        let mut are_elsewhere = unsafe { guard.port.show_blocks(&own) };
        guard.port.log_call(begun);
        let long = own.is_long();
        let (mut blocks, mut lens) = (Vec::<(*const u8, bool)>::new(), Vec::new());
        if let Some(part) = part {
            // Those of this rank are where they were; the peers' come below.
            let begin: usize = counts[..part].iter().sum();
            blocks.resize(p, (send[begin..].as_ptr().cast(), true));
            lens.resize(p, counts[part]);
        }
        for peer in (rank + 1..p).chain(0..rank) {
            let shown: ShownBlocks =
                guard.port.look_at_blocks(peer, (counts.len(), has_own), long)?;
            are_elsewhere |= shown.is_elsewhere();
            if let Some(part) = part {
                // SAFETY: the peer shows as many blocks, of elements of the same type
                // (fingerprint); we have not shown anything since, nor finished.
                let (from, len) = unsafe { shown.block(part, size) };
                (blocks[peer], lens[peer]) = ((from, shown.is_elsewhere()), len);
            }
        }
        if p > 2 {
            guard.port.looked_at_all();
        }
        let total = lens.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let total = total.expect("the blocks sum to more than memory can hold");
        let delivery = Delivery::of(work, total, p + counts.len(), size);
        let mut all = Vec::<T>::with_capacity(total);
        let mut at = 0;
        for (&(from, is_elsewhere), &len) in blocks.iter().zip(&lens) {
            // SAFETY: within the capacity, as `at + len <= total`; the block is kept as above,
            // or borrowed by us.
            unsafe {
                delivery.copy(all.as_mut_ptr().add(at).cast(), from, len * size, is_elsewhere)
            };
            at += len;
        }
        // SAFETY: the first `at` elements are written, copies of elements of T.
        unsafe { all.set_len(at) };
        settle(guard, are_elsewhere)?;
        Ok((all, lens))
    }
}

/// Values on their way, sorted by the rank that each is for. A rank takes all that is for it or,
/// if its call fails, nothing. So when a call fails, each value has one owner: a peer, if that has
/// finished the call, else this rank.
struct Parcels<'a, T> {
    port: &'a mut Port,
    /// Has been emptied, and has room for all of them.
    outbox: &'a mut Vec<(usize, T)>,
    /// Beside each value, this rank.
    sorted: *mut (usize, T),
    /// How many are for each rank.
    counts: &'a [usize],
    /// Whether this rank has taken those for itself.
    has_taken_own: bool,
}

impl<'a, T> Parcels<'a, T> {
    /// Empties `outbox`, of which each value is for a rank.
    fn pack(
        port: &'a mut Port,
        (counts, scratch): (&'a mut Vec<usize>, &mut Scratch),
        outbox: &'a mut Vec<(usize, T)>,
    ) -> Self {
        let (rank, len) = (port.rank(), outbox.len());
        counts.clear();
        counts.resize(port.size(), 0);
        outbox.iter().for_each(|&(to, _)| counts[to] += 1);
        let bytes = len * size_of::<(usize, T)>();
        let sorted = scratch.reserve(bytes, align_of::<(usize, T)>()).cast::<(usize, T)>();
        // Each rank's number becomes the place where its values begin, and then that where they
        // end.
        let mut next = 0;
        counts.iter_mut().for_each(|count| next += std::mem::replace(count, next));
        // SAFETY: a vector may hold none of its values. From here on nothing can fail until they
        // are in `sorted`.
        unsafe { outbox.set_len(0) };
        for i in 0..len {
            // SAFETY: value `i` of `len`, read once. Places are below `len`, each is written once,
            // and `scratch` has room for so many.
            unsafe {
                let (to, value) = outbox.as_ptr().add(i).read();
                sorted.add(counts[to]).write((rank, value));
                counts[to] += 1;
            }
        }
        for to in (1..counts.len()).rev() {
            counts[to] -= counts[to - 1];
        }
        Parcels { port, outbox, sorted, counts, has_taken_own: false }
    }
}

impl<T> Drop for Parcels<'_, T> {
    /// Puts the values that nobody has taken back into the outbox.
    fn drop(&mut self) {
        self.port.quiesce();
        let rank = self.port.rank();
        let mut at = self.sorted;
        for (to, &count) in self.counts.iter().enumerate() {
            let is_taken = match to == rank {
                true => self.has_taken_own,
                false => self.port.has_taken_block(to),
            };
            for i in (0..count).filter(|_| !is_taken) {
                // SAFETY: a value that was sorted, and that no peer takes any more, as the port has
                // quiesced. It is read once. The outbox has room for it: nothing is allocated.
                self.outbox.push((to, unsafe { at.add(i).read().1 }));
            }
            at = at.wrapping_add(count);
        }
    }
}

/// Moves each value of `outbox` to the rank that stands beside it, one of the port's, and appends
/// to `inbox` those that come to this rank, each beside its sender: in rank order, and those of a
/// sender in the order in which they were. If this fails, no value is in two places, or lost.
pub(crate) struct OwnedExchange<'a, T> {
    pub(crate) outbox: &'a mut Vec<(usize, T)>,
    pub(crate) inbox: &'a mut Vec<(usize, T)>,
}

impl<T> Uneven for OwnedExchange<'_, T> {
    type Gives = ();

    fn run_uneven(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        let OwnedExchange { outbox, inbox } = self;
        let (rank, p, len) = (port.rank(), port.size(), outbox.len());
        let size = size_of::<(usize, T)>();
        let Workspace { counts, scratch, spans, .. } = work;
        let mut parcels = Parcels::pack(port, (counts, scratch), outbox);
        let (data, counts) = (parcels.sorted.cast_const().cast(), parcels.counts);
        let own = OwnBlocks { counts, data, len, size, own: None, for_peers: len, is_lent: true };
        // SAFETY: `parcels` keeps values and counts until the call is closed, or the port has
        // quiesced.
        unsafe { parcels.port.show_blocks(&own) };
        parcels.port.log_call(begun);
        let long = own.is_long();
        let before = counts[..rank].iter().sum();
        let mine = Span { at: parcels.sorted.wrapping_add(before).cast(), len: counts[rank] };
        spans.clear();
        spans.resize(p, mine);
        for peer in (rank + 1..p).chain(0..rank) {
            let shown = parcels.port.look_at_blocks(peer, (p, false), long)?;
            // SAFETY: the peer shows a block for every rank, of elements of the same type
            // (fingerprint); we have not finished.
            let (at, len) = unsafe { shown.block(rank, size) };
            spans[peer] = Span { at, len };
        }
        parcels.port.looked_at_all();
        let total: usize = spans.iter().map(|span| span.len).sum();
        inbox.reserve(total);
        // From here on nothing can fail until this rank has finished.
        let mut at = inbox.len();
        for span in &*spans {
            // SAFETY: `inbox` has room for all, and is no memory that a rank shows. These values
            // are for this rank, which alone reads them, once; their owners forget those taken.
            unsafe {
                inbox.as_mut_ptr().add(at).copy_from_nonoverlapping(span.at.cast(), span.len);
            }
            at += span.len;
        }
        // SAFETY: so many are there now.
        unsafe { inbox.set_len(at) };
        parcels.has_taken_own = true;
        parcels.port.finish();
        parcels.port.close()?;
        // All are taken.
        std::mem::forget(parcels);
        Ok(())
    }
}
