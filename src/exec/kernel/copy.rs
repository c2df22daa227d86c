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
        // The last instruction says that the registers' upper halves are free. While they
        // are not, each instruction of SSE has to keep them, and so waits for what was
        // in its register before: a program's arithmetic that was compiled without AVX took
        // three to six times as long after such a copy (Zen 5).
        //
        // SAFETY: `turns` times 128 bytes are left on both sides. Nothing but the
        // named registers, the flags and that memory changes.
        unsafe {
            asm!(
                "2:",
                "vmovdqu ymm0, [{from}]", "vmovdqu ymm1, [{from} + 32]",
                "vmovdqu ymm2, [{from} + 64]", "vmovdqu ymm3, [{from} + 96]",
                "vmovdqa [{to}], ymm0", "vmovdqa [{to} + 32], ymm1",
                "vmovdqa [{to} + 64], ymm2", "vmovdqa [{to} + 96], ymm3",
                "add {from}, 128", "add {to}, 128",
                "dec {turns}", "jnz 2b", "vzeroupper",
                from = inout(reg) src.wrapping_add(head) => _,
                to = inout(reg) dst.wrapping_add(head) => _,
                turns = inout(reg) turns => _,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
                out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
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

    /// While they are in use, the program's arithmetic is slow.
    #[test]
    #[cfg(all(target_arch = "x86_64", not(any(miri, plain_copies))))]
    fn upper_halves_of_registers_are_left_free() {
        use std::arch::asm;
        if !std::arch::is_x86_feature_detected!("avx") {
            return;
        }
        let (src, mut dst) = (vec![0xff_u8; 8192], vec![0_u8; 8192]);
        let mut upper = [[0xff_u8; 16]; 4];
        // SAFETY: both have 8192 bytes.
        unsafe { super::copy(dst.as_mut_ptr(), src.as_ptr(), 8192) };
        // SAFETY: the processor has AVX; 64 bytes are written, which `upper` has.
        unsafe {
            asm!(
                "vextractf128 [{to}], ymm0, 1", "vextractf128 [{to} + 16], ymm1, 1",
                "vextractf128 [{to} + 32], ymm2, 1", "vextractf128 [{to} + 48], ymm3, 1",
                to = in(reg) upper.as_mut_ptr(),
                options(nostack),
            );
        }
        assert_eq!((upper, dst), ([[0; 16]; 4], src));
    }
}
