//! Reductions over the boards, as in `fused`, in the order of one tree.
//!
//! Rank `i` combines chunk `i` of all buffers in place, neighbours first (see
//! `order.rs`), and stores the result to all. The order of an element's operands
//! depends on nothing but their number: not on the length, the chunks or the
//! blocks.

use super::execute::Guard;
use super::fused::{addresses, blocks, chunk};
use super::kernel::Kernel;
use crate::fabric::{Port, Stop};
use crate::order::left_half;

/// All-reduce in place of `len` elements at `buf`; `work` runs when they are
/// shown, before this rank looks at anybody.
///
/// # Safety
/// - `buf` is valid for reads and writes of `len` elements of the kernel's
///   type, and nobody but this call and the peers' same call accesses it.
/// - `all` is scratch space for the peers' addresses.
pub(crate) unsafe fn all_reduce<R>(
    port: &mut Port,
    buf: *mut u8,
    len: usize,
    kernel: &Kernel<'_>,
    all: &mut Vec<*mut u8>,
    work: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let (rank, p, size) = (port.rank(), port.size(), kernel.size());
    port.show(buf, buf, len);
    let result = work();
    addresses(port, buf, len, all)?;
    let mine = chunk(len, rank, p);
    if let [a, b] = all[..] {
        let at = mine.start * size;
        // SAFETY: chunks of different ranks are disjoint, the two buffers are
        // (two live `&mut`), and both owners keep them until we finish.
        unsafe { kernel.both(a.wrapping_add(at), b.wrapping_add(at), mine.len()) };
    } else {
        for block in blocks(mine, size) {
            // SAFETY: as above: this range of every buffer is ours alone.
            unsafe {
                let at = block.start * size;
                tree(kernel, all, at, block.len());
                let sum = all[0].wrapping_add(at);
                for &x in &all[1..] {
                    kernel.copy(x.wrapping_add(at), sum, block.len());
                }
            }
        }
    }
    port.finish();
    port.close()?;
    guard.disarm();
    Ok(result)
}

/// Combines `len` elements, `at` bytes behind the addresses in `all`, into the
/// first, in the order of the tree; the others are overwritten.
///
/// # Safety
/// The elements are of the kernel's type, ours to read and write, and those of
/// different addresses do not overlap.
pub(crate) unsafe fn tree(kernel: &Kernel<'_>, all: &[*mut u8], at: usize, len: usize) {
    if all.len() < 2 {
        return;
    }
    let (left, right) = all.split_at(left_half(all.len()));
    // SAFETY: by the contract.
    unsafe {
        tree(kernel, left, at, len);
        tree(kernel, right, at, len);
        let (left, right) = (left[0].wrapping_add(at), right[0].wrapping_add(at));
        kernel.combine(left, left, right, len);
    }
}
