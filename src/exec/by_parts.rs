//! Blocks of which no rank knows all lengths, as parts: each rank gives every peer its block by the
//! channel to it, and takes the blocks that come. Up to [`EAGER`] bytes are copied; more stay where
//! they are, until the peer has copied them.
//!
//! | call | ranks that know a length |
//! |---|---|
//! | all-to-all | the sender and the receiver; compared by the receiver |
//! | collected into a `Vec` | the sender |
//! | owned values | the sender; they are never copied to a slot, so that each has one owner |

use super::call::{Call, Partition, RawBuffers, total};
use super::kernel::{copy as copy_bytes, stream};
use super::{Scratch, Workspace, board};
use crate::element::Element;
use crate::mailbox::EAGER;
use crate::shared::{Guard, Port, Span, StartedCall, Stop, copy_few};

/// A call of blocks of which no rank knows all lengths.
pub(crate) trait ByParts {
    /// Its result.
    type Gives;

    fn run_by_parts(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<Self::Gives, Stop>;
}

/// How blocks that are not few are copied.
#[derive(Clone, Copy)]
struct Delivery {
    /// The elements, the times that the ranks together touch them, and their bytes.
    touched: [usize; 3],
    /// Bytes that are touched from which the results are too large for any cache, and so go round
    /// them.
    stream_from: usize,
}

impl Delivery {
    /// Values that are used at once.
    const TO_CACHE: Self = Delivery { touched: [0; 3], stream_from: usize::MAX };

    /// If the ranks together touch `len` elements of `size` bytes so many times.
    #[inline(always)]
    fn of(work: &Workspace, len: usize, times: usize, size: usize) -> Self {
        Delivery { touched: [len, times, size], stream_from: work.stream_from }
    }

    fn streams(self) -> bool {
        self.touched.into_iter().fold(1, usize::saturating_mul) >= self.stream_from
    }

    /// Copies a block of so many bytes to `to`.
    ///
    /// # Safety
    /// The block is readable, and there is room for it at `to`, which is memory of this rank's
    /// alone.
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8, bytes: usize) {
        // SAFETY: by the contract.
        unsafe {
            match bytes <= EAGER {
                true => copy_few(to, from, bytes),
                false if bytes >= board::BLOCK && self.streams() => stream::copy(to, from, bytes),
                false => copy_bytes(to, from, bytes),
            }
        }
    }
}

/// The peers, each rank beginning with its successor, so that not all look at one rank's words.
#[inline(always)]
fn peers(port: &Port) -> impl Iterator<Item = usize> + use<> {
    let (mut peer, p) = (port.rank(), port.size());
    (1..p).map(move |_| {
        peer = if peer + 1 == p { 0 } else { peer + 1 };
        peer
    })
}

/// Of each peer its rank, and where its block of `counts` begins, and how long it is. A single
/// block is everybody's.
#[inline(always)]
fn blocks_of_peers<'a>(
    port: &Port,
    counts: &'a [usize],
) -> impl Iterator<Item = (usize, (usize, usize))> + use<'a> {
    let mut next = match *counts {
        [_] => 0,
        _ => before(counts, port.rank()) + counts[port.rank()],
    };
    peers(port).map(move |peer| match *counts {
        [len] => (peer, (0, len)),
        _ => {
            let (begin, len) = (if peer == 0 { 0 } else { next }, counts[peer]);
            next = begin + len;
            (peer, (begin, len))
        }
    })
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

/// The blocks that a rank gives: block `j` to rank `j`; a single one to everybody.
#[derive(Clone, Copy)]
struct GivenBlocks<'a> {
    data: *const u8,
    /// Elements of each block; they lie one after the other.
    counts: &'a [usize],
    /// Bytes of an element.
    size: usize,
    /// Whether they stay where they are, however few.
    are_lent: bool,
}

impl GivenBlocks<'_> {
    /// Gives every peer its block, or `root` alone, and puts the call on record. `given` counts the
    /// peers that have theirs.
    ///
    /// # Safety
    /// As [`Port::give_block`].
    #[inline(always)]
    unsafe fn give_to(
        self,
        root: Option<usize>,
        port: &mut Port,
        begun: StartedCall,
        given: &mut usize,
    ) -> Result<(), Stop> {
        let mut is_logged = false;
        for (peer, (begin, len)) in blocks_of_peers(port, self.counts) {
            if root.is_some_and(|root| root != peer) {
                continue;
            }
            if !port.has_room(peer) {
                // On record before it waits.
                if !std::mem::replace(&mut is_logged, true) {
                    port.log_call(begun);
                }
                port.await_room(peer)?;
            }
            let block = (self.data.wrapping_add(begin * self.size), len);
            // SAFETY: passed on.
            unsafe { port.give_block(peer, block, self.size, self.are_lent) };
            *given += 1;
        }
        if !is_logged {
            port.log_call(begun);
        }
        Ok(())
    }
}

/// An all-to-all of which each rank knows the blocks that it sends, and those that it expects.
impl ByParts for &Call<'_, RawBuffers<'_>> {
    type Gives = ();

    #[inline(always)]
    fn run_by_parts(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        let Partition::Pairs { send, recv } = self.cut() else { unreachable!("not by parts") };
        let &RawBuffers { ref kernel, input, output, .. } = self.memory();
        let (rank, p, size) = (port.rank(), port.size(), kernel.size());
        let guard = Guard::new(port);
        let port = &mut *guard.port;
        let blocks = GivenBlocks { data: input, counts: send, size, are_lent: false };
        // SAFETY: the call's; all is settled below, or the guard quiesces the port.
        unsafe { blocks.give_to(None, port, begun, &mut 0)? };
        let (mine, begin) = (before(send, rank), before(recv, rank));
        let place = |begin: usize| output.wrapping_add(begin * size);
        // SAFETY: the own block of both, as long in both; they do not overlap.
        unsafe { copy_few(place(begin), input.wrapping_add(mine * size), send[rank] * size) };
        let delivery = Delivery::of(work, total(recv), 2 * p, size);
        for (peer, (begin, expected)) in blocks_of_peers(port, recv) {
            let (part, got) = port.look_at_block(peer, expected, size)?;
            if part.bytes != expected * size.max(1) {
                let lens = (expected, part.bytes / size.max(1));
                return Err(port.unequal_block(peer, got, lens));
            }
            // SAFETY: the block of the output that is for this peer, which gives as many elements
            // of the same type (fingerprint), until we consume them.
            unsafe { delivery.copy(place(begin), part.at, expected * size) };
            port.consume(peer);
        }
        port.wait_all_acked()?;
        guard.disarm();
        Ok(())
    }
}

/// Awaits a block of each peer; `spans` tells where they all are, the own one at `own`. Returns how
/// many elements they have.
fn look_at_all(
    port: &mut Port,
    spans: &mut Vec<Span>,
    own: Span,
    size: usize,
) -> Result<usize, Stop> {
    spans.clear();
    spans.resize(port.size(), own);
    for peer in peers(port) {
        let (part, _) = port.look_at_block(peer, own.len, size)?;
        spans[peer] = Span { at: part.at, len: part.bytes / size.max(1) };
    }
    let total = spans.iter().try_fold(0usize, |sum, span| sum.checked_add(span.len));
    Ok(total.expect("the blocks sum to more than memory can hold"))
}

/// Takes all blocks, in rank order, to `to`, which cannot fail.
///
/// # Safety
/// [`look_at_all`] has found them, and there is room for them, of elements of `size` bytes.
unsafe fn take_all(
    port: &mut Port,
    spans: &[Span],
    mut to: *mut u8,
    size: usize,
    delivery: Delivery,
) {
    for (rank, span) in spans.iter().enumerate() {
        // SAFETY: by the contract; the peers give elements of the same type (fingerprint), until
        // we consume them.
        unsafe { delivery.copy(to, span.at, span.len * size) };
        to = to.wrapping_add(span.len * size);
        if rank != port.rank() {
            port.consume(rank);
        }
    }
}

/// Every rank gives `send`, in a block for each rank, or in one for all, or for `root` alone. Who
/// is given something gets the elements that have come, in rank order, and the lengths.
pub(crate) struct Collection<'a, T> {
    pub(crate) send: &'a [T],
    pub(crate) counts: &'a [usize],
    pub(crate) root: Option<usize>,
}

impl<T: Element> ByParts for Collection<'_, T> {
    type Gives = (Vec<T>, Vec<usize>);

    fn run_by_parts(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<Self::Gives, Stop> {
        let Collection { send, counts, root } = self;
        let (rank, p, size) = (port.rank(), port.size(), size_of::<T>());
        let blocks = GivenBlocks { data: send.as_ptr().cast(), counts, size, are_lent: false };
        let guard = Guard::new(port);
        let port = &mut *guard.port;
        // SAFETY: as in an all-to-all.
        unsafe { blocks.give_to(root, port, begun, &mut 0)? };
        let (mut all, mut lens) = (Vec::<T>::new(), Vec::new());
        if root.is_none_or(|root| root == rank) {
            let own = if counts.len() == 1 { 0 } else { rank };
            let at = send[before(counts, own)..].as_ptr().cast();
            let total = look_at_all(port, &mut work.spans, Span { at, len: counts[own] }, size)?;
            lens = work.spans.iter().map(|span| span.len).collect();
            all = Vec::with_capacity(total);
            let delivery = Delivery::of(work, total, p + counts.len(), size);
            // SAFETY: there is room for all, of which all are written.
            unsafe {
                take_all(port, &work.spans, all.as_mut_ptr().cast(), size, delivery);
                all.set_len(total);
            }
        }
        port.wait_all_acked()?;
        guard.disarm();
        Ok((all, lens))
    }
}

/// Values on their way, sorted by the rank that each is for. A rank takes all that is for it or,
/// if its call fails, nothing. So when a call fails, each value has one owner: a peer, if that has
/// acknowledged its block, else this rank.
struct Parcels<'a, T> {
    port: &'a mut Port,
    /// Has been emptied, and has room for all of them.
    outbox: &'a mut Vec<(usize, T)>,
    /// Beside each value, this rank.
    sorted: *mut (usize, T),
    /// How many are for each rank.
    counts: &'a [usize],
    /// So many peers have been given theirs.
    given: usize,
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
        Parcels { port, outbox, sorted, counts, given: 0, has_taken_own: false }
    }
}

impl<T> Drop for Parcels<'_, T> {
    /// Puts the values that nobody has taken back into the outbox.
    fn drop(&mut self) {
        self.port.quiesce();
        let (rank, given) = (self.port.rank(), self.given);
        let mut at = self.sorted;
        for (to, &count) in self.counts.iter().enumerate() {
            let is_taken = match to == rank {
                true => self.has_taken_own,
                false => {
                    peers(self.port).take(given).any(|peer| peer == to)
                        && self.port.has_taken_block(to)
                }
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

impl<T> ByParts for OwnedExchange<'_, T> {
    type Gives = ();

    fn run_by_parts(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        let OwnedExchange { outbox, inbox } = self;
        let (rank, size) = (port.rank(), size_of::<(usize, T)>());
        let Workspace { counts, scratch, spans, .. } = work;
        let mut parcels = Parcels::pack(port, (counts, scratch), outbox);
        let Parcels { ref mut port, sorted, counts, ref mut given, .. } = parcels;
        let blocks = GivenBlocks { data: sorted.cast_const().cast(), counts, size, are_lent: true };
        // SAFETY: `parcels` keeps them until all have finished, or the port has quiesced.
        unsafe { blocks.give_to(None, port, begun, given)? };
        let at = sorted.wrapping_add(before(counts, rank)).cast_const().cast();
        let total = look_at_all(port, spans, Span { at, len: counts[rank] }, size)?;
        inbox.reserve(total);
        let (len, end) = (inbox.len() + total, inbox.spare_capacity_mut().as_mut_ptr());
        // SAFETY: `inbox` has room for all, and is no memory that a rank lends. These values are
        // for this rank, which alone reads them, once; their owners forget those taken. From here
        // on nothing can fail until this rank has finished.
        unsafe {
            take_all(port, spans, end.cast(), size, Delivery::TO_CACHE);
            inbox.set_len(len);
        }
        parcels.has_taken_own = true;
        // All return, or find the run over, with all values in their places.
        parcels.port.close_owned()?;
        // All are taken.
        std::mem::forget(parcels);
        Ok(())
    }
}
