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
    use std::arch::x86_64::*;

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

    macro_rules! loops {
        ($name:ident, $feature:literal, $ty:ty, $load:ident, $store:ident) => {
            pub(super) unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
                const STEP: usize = size_of::<$ty>();
                #[target_feature(enable = $feature)]
                unsafe fn turns(to: *mut u8, from: *const u8, turns: usize) {
                    for i in 0..turns {
                        // SAFETY: within the two, by the contract.
                        unsafe {
                            let (to, from) = (to.add(4 * STEP * i), from.add(4 * STEP * i));
                            let a = $load(from.cast());
                            let b = $load(from.add(STEP).cast());
                            let c = $load(from.add(2 * STEP).cast());
                            let d = $load(from.add(3 * STEP).cast());
                            $store(to.cast(), a);
                            $store(to.add(STEP).cast(), b);
                            $store(to.add(2 * STEP).cast(), c);
                            $store(to.add(3 * STEP).cast(), d);
                        }
                    }
                }
                let whole = bytes / (4 * STEP);
                let done = whole * 4 * STEP;
                // SAFETY: by the contract; the processor has the feature (`is_there`).
                unsafe {
                    turns(to, from, whole);
                    std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
                }
            }
        };
    }
    loops!(avx2, "avx2", __m256i, _mm256_loadu_si256, _mm256_storeu_si256);
    loops!(avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_storeu_si512);
}
