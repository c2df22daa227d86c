//! Ways to copy, for the hand-written calls that ours are compared with.

/// Copies so many bytes from the second to the first; they do not overlap.
pub(crate) type Copy = unsafe fn(*mut u8, *const u8, usize);

pub(crate) struct NamedCopy {
    pub(crate) name: &'static str,
    pub(crate) copy: Copy,
    /// Whether this processor has it.
    pub(crate) is_there: fn() -> bool,
}

/// The first one is there everywhere.
pub(crate) const COPIES: &[NamedCopy] = &[
    NamedCopy { name: "memcpy", copy: library, is_there: || true },
    #[cfg(target_arch = "x86_64")]
    NamedCopy { name: "movsb", copy: x86::movsb, is_there: || true },
    #[cfg(target_arch = "x86_64")]
    NamedCopy {
        name: "avx2",
        copy: x86::avx2,
        is_there: || std::arch::is_x86_feature_detected!("avx2"),
    },
    #[cfg(target_arch = "x86_64")]
    NamedCopy {
        name: "avx512",
        copy: x86::avx512,
        is_there: || std::arch::is_x86_feature_detected!("avx512f"),
    },
];

/// The C library's.
unsafe fn library(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    pub(super) unsafe fn movsb(to: *mut u8, from: *const u8, bytes: usize) {
        // SAFETY: by the contract; the direction flag is clear, as the ABI has it.
        unsafe {
            asm!(
                "rep movsb",
                inout("rcx") bytes => _,
                inout("rdi") to => _,
                inout("rsi") from => _,
                options(nostack, preserves_flags),
            );
        }
    }

    /// A loop of four moves of `$step` bytes through `$reg`, of which there are 0 to 3.
    macro_rules! moves {
        ($name:ident, $step:literal, $move:literal, $reg:literal) => {
            pub(super) unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
                let turns = bytes / (4 * $step);
                let done = turns * 4 * $step;
                if turns > 0 {
                    // SAFETY: so many bytes are there on both sides, by the contract; the
                    // processor has the registers (`is_there`), and no others are touched.
                    unsafe {
                        asm!(
                            "2:",
                            concat!($move, " ", $reg, "0, [{from}]"),
                            concat!($move, " ", $reg, "1, [{from} + ", $step, "]"),
                            concat!($move, " ", $reg, "2, [{from} + 2 * ", $step, "]"),
                            concat!($move, " ", $reg, "3, [{from} + 3 * ", $step, "]"),
                            concat!($move, " [{to}], ", $reg, "0"),
                            concat!($move, " [{to} + ", $step, "], ", $reg, "1"),
                            concat!($move, " [{to} + 2 * ", $step, "], ", $reg, "2"),
                            concat!($move, " [{to} + 3 * ", $step, "], ", $reg, "3"),
                            concat!("add {from}, 4 * ", $step),
                            concat!("add {to}, 4 * ", $step),
                            "dec {turns}",
                            "jnz 2b",
                            "vzeroupper",
                            from = inout(reg) from => _,
                            to = inout(reg) to => _,
                            turns = inout(reg) turns => _,
                            out("xmm0") _,
                            out("xmm1") _,
                            out("xmm2") _,
                            out("xmm3") _,
                            options(nostack),
                        );
                    }
                }
                // SAFETY: the rest, by the contract.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
                }
            }
        };
    }
    moves!(avx2, 32, "vmovdqu", "ymm");
    moves!(avx512, 64, "vmovdqu64", "zmm");
}
