//! The register of a thread's floating-point control: how to change it.

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;
    /// Flushes, of results and of operands, then upward, downward, and towards zero.
    pub(crate) const KINDS: [u64; 5] = [0x8000, 0x40, 0x4000, 0x2000, 0xe040];

    /// MXCSR, without the exceptions that were met.
    pub(crate) fn read() -> u64 {
        let mut word = 0_u32;
        // SAFETY: stores four bytes there.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word) }
        u64::from(word & !0x3f)
    }

    pub(crate) fn write(word: u64) {
        let word = word as u32;
        // SAFETY: bits of the control that exist; nothing relies on it.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word) }
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use std::arch::asm;
    /// Flush to zero, then upward, downward, and all.
    pub(crate) const KINDS: [u64; 4] = [1 << 24, 1 << 22, 2 << 22, 0x1c8_0000];

    pub(crate) fn read() -> u64 {
        let word;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word) }
        word
    }

    pub(crate) fn write(word: u64) {
        // SAFETY: as on x86-64.
        unsafe { asm!("msr fpcr, {}", in(reg) word) }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub(crate) const KINDS: [u64; 0] = [];

    pub(crate) fn read() -> u64 {
        0
    }

    pub(crate) fn write(_: u64) {}
}

pub(crate) use register::{KINDS, read, write};

/// Does `work` with other bits in the thread's register, which it is to leave there.
pub(crate) fn disturbed<R>(bits: u64, work: impl FnOnce() -> R) -> R {
    let usual = read();
    write(usual | bits);
    let result = work();
    assert_eq!(read(), usual | bits, "the thread's control has changed");
    write(usual);
    result
}
