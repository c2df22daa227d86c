//! Direct access: every rank shows its buffers on its board. Then each rank reads the others'
//! memory directly, and writes to it where that spreads the work.
//!
//! | operation | rank `i` | `direct_reduce.rs` / `direct_move.rs` |
//! |---|---|---|
//! | all-reduce | combines part `i` of all vectors and stores it to all | reduce |
//! | reduce | combines part `i` of all vectors and stores it to the root | reduce |
//! | reduce-scatter | combines block `i` of all vectors | reduce |
//! | scans | turns part `i` of all vectors into their prefixes | reduce |
//! | broadcast | copies part `i` of the root's vector to all others | move |
//! | all-gather, all-to-all | copies every rank's block for `i` | move |
//! | all-to-all in place | swaps half of its block with every rank's for it | move |
//! | scatter | copies its block from the root | move |
//! | gather | copies its block to the root | move |
//! | shift | moves part `i` of all vectors on | move |
//!
//! A schedule's all-reduce moves `2 m (p-1)/p` words into every rank and then combines the copies;
//! here each input word is read once and each result word written once, by one rank. In a
//! prototype, at 4 MiB on two cores, this was 1.5 to 5 times as fast as reduce-scatter plus
//! all-gather. Where one rank would have to do all the work (a broadcast, a gather, a scan on two
//! ranks) the others do their share of it.
//!
//! Operands are combined in rank order. A rank is in such a call from its
//! `show` until everybody has finished (`close`), whatever ends the call: a
//! guard quiesces the port if the operator panics or a wait is given up, so
//! nobody's memory is reached after its call is over.

pub(super) mod direct_move;
pub(super) mod direct_reduce;
pub(crate) mod ordered;
pub(crate) mod started;

use super::call::{Call, Partition, RawBuffers};
use super::kernel::stream;
use super::{Kernel, Workspace};
use crate::dist::chunk;
use crate::shared::{Guard, Port, StartedCall, Stop};
use std::ops::Range;

/// Bytes that are worked on over all ranks before the next are begun, where
/// they pass through a partial result or a bounce buffer: it and a few inputs
/// then stay in the innermost cache (32 KiB or more on every machine of the
/// last ten years).
pub(super) const BLOCK: usize = 8 << 10;

/// The part of `len` elements that rank `rank` of `p` works on, in whole lines
/// of `1 << line` elements from the beginning: two ranks write to one cache line
/// only where the buffer is not aligned.
fn share(len: usize, rank: usize, p: usize, line: u32) -> Range<usize> {
    let part = match p {
        // The most frequent case, without divisions.
        2 => {
            let half = len >> (line + 1);
            if rank == 0 { 0..half } else { half..usize::MAX >> line }
        }
        _ => chunk((len >> line) + usize::from(len & ((1 << line) - 1) != 0), rank, p),
    };
    (part.start << line).min(len)..(part.end << line).min(len)
}

/// The ranges of a part that fit a block.
pub(super) fn blocks(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (BLOCK / size.max(1)).max(1);
    range.clone().step_by(step).map(move |i| i..i.saturating_add(step).min(range.end))
}

/// The state that a call has at hand.
pub(super) struct Access<'a> {
    port: &'a mut Port,
    /// The call, which goes on record once its notice is out.
    begun: StartedCall,
    call: &'a Call<'a, RawBuffers<'a>>,
    /// Room for everybody's address.
    all: &'a mut Vec<*mut u8>,
    work: Work<'a>,
}

pub(crate) fn run<R>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    match call.is_in_order() {
        true => ordered::run(port, work, begun, call, between),
        false => run_direct(port, work, begun, call).map(|()| between()),
    }
}

fn run_direct(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
) -> Result<(), Stop> {
    let kernel = &call.memory().kernel;
    let (rank, p) = (port.rank(), port.size());
    // A combination in place delivers nothing, and two ranks combine where the operands are.
    let in_place = call.operation().has_order() && call.operation().is_in_place();
    let scratch = match in_place && p == 2 {
        true => std::ptr::null_mut(),
        false => work.scratch.reserve(scratch_bytes(kernel), kernel.align()),
    };
    let stream = !in_place && touched(call, p) >= work.stream_from;
    // The operator is user code.
    let guard = match call.operation().combines() {
        true => Guard::around_user_code(port),
        false => Guard::new(port),
    };
    let access = &mut Access {
        port: &mut *guard.port,
        begun,
        call,
        all: &mut work.addresses,
        work: Work { kernel, rank, p, scratch, stream },
    };
    // SAFETY: the function of the call's operation; the call promises its memory.
    unsafe { (call.code().on_boards)(access)? };
    guard.disarm();
    Ok(())
}

/// An operation by direct access.
///
/// # Safety
/// The call is one of that operation, and its memory as [`RawBuffers`] promises. The scratch memory
/// has [`scratch_bytes`], unless two ranks combine in place.
pub(super) type OnBoards = unsafe fn(&mut Access<'_>) -> Result<(), Stop>;

/// Bytes that a call reads and writes on all `p` ranks together.
fn touched(call: &Call<'_, RawBuffers<'_>>, p: usize) -> usize {
    // Of a rank; for blocks, of all blocks together.
    let larger = match call.cut() {
        Partition::Vector(n) => n,
        Partition::Equal(m) => m.saturating_mul(p),
        Partition::Varied(_) => call.len(),
        Partition::Pairs { send, recv } => send.iter().sum::<usize>().max(recv.iter().sum()),
    };
    let bytes = larger.saturating_mul(call.memory().kernel.size());
    bytes.saturating_mul(call.operation().touched(p))
}

/// Bytes of scratch memory for a call: two blocks, or elements.
fn scratch_bytes(kernel: &Kernel<'_>) -> usize {
    2 * half_of_scratch(kernel)
}

/// Where the second half of the scratch memory begins, aligned like the first.
fn half_of_scratch(kernel: &Kernel<'_>) -> usize {
    BLOCK.max(kernel.size()).next_multiple_of(kernel.align())
}

impl<'a> Access<'a> {
    /// Elements of the vector, or of each block.
    fn len(&self) -> usize {
        match self.call.cut() {
            Partition::Vector(n) | Partition::Equal(n) => n,
            Partition::Varied(_) | Partition::Pairs { .. } => 0,
        }
    }

    /// Shows `own`, `len` elements, and collects everybody's addresses, in rank order. When its
    /// work is done the rank [parts](Access::part).
    fn meet(&mut self, own: *mut u8, len: usize) -> Result<(), Stop> {
        self.meet_with((own, std::ptr::null_mut()), len).map(|_| ())
    }

    /// As [`meet`](Access::meet), with a second address of each rank; returns that of rank 0.
    fn meet_with(&mut self, own: (*mut u8, *mut u8), len: usize) -> Result<*mut u8, Stop> {
        let Access { port, begun, all, work, .. } = self;
        port.show(own.0, own.1, len);
        port.log_call(*begun);
        let (rank, p) = (work.rank, work.p);
        if all.len() != p {
            all.resize(p, own.0);
        }
        all[rank] = own.0;
        let mut second = own.1;
        // Each begins with its successor, so that not all look at one board.
        for peer in (rank + 1..p).chain(0..rank) {
            let shown = port.notice(peer, Some(len))?;
            all[peer] = shown.a;
            if peer == 0 {
                second = shown.b;
            }
        }
        port.noticed_all();
        Ok(second)
    }

    /// Returns when everybody has done its work.
    fn part(&mut self) -> Result<(), Stop> {
        self.port.finish();
        self.port.close()
    }
}

/// An operation without memory.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn barrier(_: &mut Access<'_>) -> Result<(), Stop> {
    unreachable!("a barrier has no memory to access")
}

/// The memory that a rank works with, between the waits of a call.
struct Work<'a> {
    kernel: &'a Kernel<'a>,
    rank: usize,
    p: usize,
    scratch: *mut u8,
    stream: bool,
}

impl Work<'_> {
    /// The address of element `i` of a buffer.
    #[inline(always)]
    fn at(&self, buf: *mut u8, i: usize) -> *mut u8 {
        buf.wrapping_add(i.wrapping_mul(self.kernel.size()))
    }

    /// The part of `len` elements that this rank works on.
    fn share(&self, len: usize) -> Range<usize> {
        share(len, self.rank, self.p, self.kernel.line())
    }

    fn blocks(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        blocks(range, self.kernel.size())
    }

    /// Copies `n` elements to where they will not be needed at once.
    ///
    /// # Safety
    /// As [`Kernel::copy`].
    unsafe fn deliver(&self, dst: *mut u8, src: *const u8, n: usize) {
        let bytes = n.wrapping_mul(self.kernel.size());
        // SAFETY: passed on.
        unsafe {
            if self.stream && bytes >= BLOCK {
                stream::copy(dst, src, bytes);
            } else {
                self.kernel.copy(dst, src, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for len in [0, 1, 2, 7, 8, 9, 100, 1021, 4096] {
            for p in 1..=9 {
                for (size, line) in [(0, 0), (1, 6), (3, 0), (8, 3), (32, 1), (64, 0), (65, 0)] {
                    let mut end = 0;
                    for rank in 0..p {
                        let part = share(len, rank, p, line);
                        assert_eq!(part.start, end);
                        end = part.end;
                        let covered: usize = blocks(part.clone(), size).map(|b| b.len()).sum();
                        assert_eq!(covered, part.len());
                    }
                    assert_eq!(end, len, "{len} {p} {line}");
                }
            }
        }
        for p in [2, 3] {
            assert_eq!(share(usize::MAX, p - 1, p, 0).end, usize::MAX);
        }
    }
}
