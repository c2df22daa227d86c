//! Copies that bypass the caches: for results that no cache would still hold at their next use.
//!
//! An ordinary store first reads the line that it is going to overwrite; a
//! streaming (non-temporal) store does not. Where both sides of a copy are
//! larger than the last cache that saves a third of the traffic, and below that
//! it costs a factor, because the data leave the caches.

/// Copies `bytes` bytes with streaming stores, and orders them before every
/// later store of this thread.
///
/// **Why the fence.** Streaming stores are not ordered by a later `Release`
/// store: a peer could see the flag and not yet the data. The fence at the end
/// of this function is what makes the `Release` stores of the boards
/// (`finish`) and of the mailboxes publish what was streamed, too.
///
/// # Safety
/// - `src` is valid for reads and `dst` for writes of `bytes` bytes.
/// - They do not overlap.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle)), not(miri)))]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    use std::arch::asm;
    /// Bytes of a turn of the loop: a cache line, so that the processor writes
    /// whole lines.
    const TURN: usize = 64;
    // Up to the first whole line of the destination, and after the last.
    let head = dst.align_offset(TURN).min(bytes);
    let turns = (bytes - head) / TURN;
    let tail = (bytes - head) % TURN;
    // SAFETY: within the two, by the contract.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, head) };
    let (from, to) = (src.wrapping_add(head), dst.wrapping_add(head));
    if turns > 0 {
        // In assembly, as elements may have padding, which no Rust type that a
        // register could be loaded from may have. SSE2 only, which every
        // x86-64 has; wider stores fill the same write-combining buffers.
        //
        // SAFETY: `turns` whole lines are left on both sides; `to` is aligned
        // to 16 bytes and more, as `movntdq` needs. Nothing but the named
        // registers, the flags and that memory changes.
        unsafe {
            asm!(
                "2:",
                "movdqu {a}, [{from}]", "movdqu {b}, [{from} + 16]",
                "movdqu {c}, [{from} + 32]", "movdqu {d}, [{from} + 48]",
                "movntdq [{to}], {a}", "movntdq [{to} + 16], {b}",
                "movntdq [{to} + 32], {c}", "movntdq [{to} + 48], {d}",
                "add {from}, 64", "add {to}, 64",
                "dec {turns}", "jnz 2b",
                // See "Why the fence".
                "sfence",
                from = inout(reg) from => _, to = inout(reg) to => _, turns = inout(reg) turns => _,
                a = out(xmm_reg) _, b = out(xmm_reg) _,
                c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack),
            );
        }
    }
    let done = head + turns * TURN;
    // SAFETY: as for the head.
    unsafe { std::ptr::copy_nonoverlapping(src.wrapping_add(done), dst.wrapping_add(done), tail) };
}

/// Elsewhere an ordinary copy: streaming stores are a matter of measurement.
///
/// # Safety
/// As above.
#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle)), not(miri))))]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_and_no_other() {
        let src: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
        for (from, to) in [(0, 0), (1, 0), (0, 5), (3, 64), (17, 63)] {
            for n in [0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 500, 900] {
                let mut dst = vec![0xa5; 1100];
                // SAFETY: both have room for `n` bytes from there on.
                unsafe { super::copy(dst[to..].as_mut_ptr(), src[from..].as_ptr(), n) };
                assert_eq!(dst[to..to + n], src[from..from + n], "{from} {to} {n}");
                assert!(dst[..to].iter().chain(&dst[to + n..]).all(|&b| b == 0xa5));
            }
        }
    }

    /// Whoever sees a flag that was stored after a copy sees what was copied, the last lines too:
    /// without the fence these are still on their way when the flag is there. (ThreadSanitizer
    /// does not see what assembly writes.)
    #[test]
    fn what_was_streamed_is_there_with_the_flag() {
        use std::sync::atomic::{AtomicU64, Ordering};
        /// 16 lines; the first one is aligned.
        #[repr(align(64))]
        struct Lines([AtomicU64; 128]);
        let lines = Lines([const { AtomicU64::new(0) }; 128]);
        let (shown, seen) = (AtomicU64::new(0), AtomicU64::new(0));
        let wait = |word: &AtomicU64, n: u64| {
            for looks in 0.. {
                if word.load(Ordering::Acquire) >= n {
                    return;
                }
                if looks > 64 {
                    std::thread::yield_now();
                }
            }
        };
        std::thread::scope(|s| {
            s.spawn(|| {
                for round in 1..=6000u64 {
                    let src = [round; 128];
                    wait(&seen, round - 1);
                    let to = lines.0.as_ptr().cast_mut().cast();
                    // SAFETY: atomics may be written through a shared borrow, nobody looks at
                    // them until `shown`, and both are 1024 bytes long.
                    unsafe { super::copy(to, src.as_ptr().cast(), size_of_val(&src)) };
                    shown.store(round, Ordering::Release);
                }
            });
            for round in 1..=6000 {
                wait(&shown, round);
                // The last ones first: they are the latest to come.
                let late = lines.0.iter().rev().position(|x| x.load(Ordering::Relaxed) != round);
                // If it fails the writer goes on to its end.
                seen.store(late.map_or(round, |_| u64::MAX), Ordering::Release);
                assert_eq!(late, None, "round {round}: words from the end");
            }
        });
    }
}
