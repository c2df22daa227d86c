//! Copies by a loop of our own.
//!
//! On x86-64 the C library's `memcpy` turns to `rep movsb` at 2 KiB, which on AMD's
//! Zen 3 to 5 takes 2 to 13 times as long where the destination begins at, or a few
//! bytes after, the source's place in its page. Vectors that come from `mmap`
//! all begin at the same place of a page. A loop of vector moves does not care,
//! and is never slower (docs/measurements.md).

/// Below this `memcpy` is as good.
#[cfg(all(target_arch = "x86_64", not(any(miri, plain_copies))))]
const LEAST: usize = 1 << 10;

/// Copies `bytes` bytes.
///
/// # Safety
/// - `src` is valid for reads and `dst` for writes of `bytes` bytes.
/// - They do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // ThreadSanitizer does not see what assembly does (`.ci/tsan`).
    #[cfg(all(target_arch = "x86_64", not(any(miri, plain_copies))))]
    if bytes >= LEAST && std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: passed on; the processor has AVX.
        return unsafe { avx(dst, src, bytes) };
    }
    // SAFETY: passed on.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) }
}

/// # Safety
/// As [`copy`].
#[cfg(all(target_arch = "x86_64", not(any(miri, plain_copies))))]
#[target_feature(enable = "avx")]
#[inline(never)]
unsafe fn avx(dst: *mut u8, src: *const u8, bytes: usize) {
    use std::arch::asm;
    const TURN: usize = 128;
    // Up to the first whole line of the destination, and after the last turn.
    let head = dst.align_offset(64).min(bytes);
    let turns = (bytes - head) / TURN;
    let done = head + turns * TURN;
    // SAFETY: within the two, by the contract.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, head) };
    if turns > 0 {
        // In assembly, as elements may have padding, which no Rust type that a
        // register could be loaded from may have, and so that the compiler does not
        // make a `memcpy` of it.
        //
        // SAFETY: `turns` times 128 bytes are left on both sides. Nothing but the
        // named registers, the flags and that memory changes.
        unsafe {
            asm!(
                "2:",
                "vmovdqu {a}, [{from}]",
                "vmovdqu {b}, [{from} + 32]",
                "vmovdqu {c}, [{from} + 64]",
                "vmovdqu {d}, [{from} + 96]",
                "vmovdqa [{to}], {a}",
                "vmovdqa [{to} + 32], {b}",
                "vmovdqa [{to} + 64], {c}",
                "vmovdqa [{to} + 96], {d}",
                "add {from}, 128",
                "add {to}, 128",
                "dec {turns}",
                "jnz 2b",
                from = inout(reg) src.wrapping_add(head) => _,
                to = inout(reg) dst.wrapping_add(head) => _,
                turns = inout(reg) turns => _,
                a = out(ymm_reg) _,
                b = out(ymm_reg) _,
                c = out(ymm_reg) _,
                d = out(ymm_reg) _,
                options(nostack),
            );
        }
    }
    // SAFETY: as for the head.
    unsafe {
        std::ptr::copy_nonoverlapping(src.wrapping_add(done), dst.wrapping_add(done), bytes - done);
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_and_no_other() {
        let src: Vec<u8> = (0..9000).map(|i| (i * 7) as u8).collect();
        for (from, to) in [(0, 0), (1, 0), (0, 5), (3, 64), (17, 63), (64, 16)] {
            for n in [0, 1, 63, 1023, 1024, 1025, 1151, 1152, 1279, 2048, 8191, 8192] {
                let mut dst = vec![0xa5; 9000];
                // SAFETY: both have room for `n` bytes from there on.
                unsafe { super::copy(dst[to..].as_mut_ptr(), src[from..].as_ptr(), n) };
                assert_eq!(dst[to..to + n], src[from..from + n], "{from} {to} {n}");
                assert!(dst[..to].iter().chain(&dst[to + n..]).all(|&b| b == 0xa5));
            }
        }
    }
}
