//! The floating-point control of the calling thread: how its arithmetic rounds, and whether it
//! takes subnormal numbers for 0. A program changes it, or a plug-in of `-ffast-math`.
//!
//! Ranks with different ones would get different bits from one call. So reductions compute with the
//! control of a new process, which the compiler takes for granted as well.

use std::hint::black_box;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod register {
    use std::arch::asm;
    use std::mem::MaybeUninit;
    /// Of MXCSR rounding, flush-to-zero, denormals-are-zero.
    pub(super) const ARITHMETIC: u64 = 0xe040;
    /// .. and which exceptions trap; not those that were met.
    pub(super) const ALL: u64 = 0xffc0;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        let mut word = MaybeUninit::<u32>::uninit();
        let at = word.as_mut_ptr();
        // SAFETY: stores four bytes there.
        unsafe { asm!("stmxcsr [{}]", in(reg) at, options(nostack, preserves_flags)) }
        // SAFETY: as above.
        unsafe { word.assume_init() }.into()
    }

    pub(super) fn write(word: u64) {
        let word = word as u32;
        // SAFETY: a word that was read, with other bits of those above.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod register {
    use std::arch::asm;
    /// Of FPCR alternative halves, default NaNs, flushes (FZ, FZ16, FIZ), rounding, NEP, AH.
    pub(super) const ARITHMETIC: u64 = 0x07c8_0007;
    /// .. and which exceptions trap.
    pub(super) const ALL: u64 = ARITHMETIC | 0x9f00;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        let word;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) }
        word
    }

    pub(super) fn write(word: u64) {
        // SAFETY: a word that was read, with other bits of those above.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod register {
    pub(super) const ARITHMETIC: u64 = 0;
    pub(super) const ALL: u64 = 0;

    #[inline(always)]
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn write(_: u64) {}
}

/// A floating-point control, of x86-64 (MXCSR) and AArch64 (FPCR); elsewhere nothing.
///
/// # Examples
/// ```
/// use phalanx::engine::FloatControl;
/// let of_caller = FloatControl::here();
/// let sum = std::thread::spawn(move || of_caller.lend(|| 0.1 + 0.2)).join();
/// assert_eq!(sum.unwrap(), FloatControl::STANDARD.during(|| 0.1 + 0.2));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FloatControl {
    /// The bits of the register that belong to it.
    mask: u64,
    bits: u64,
}

impl FloatControl {
    /// To the nearest, subnormal numbers as they are; which exceptions trap is left open.
    pub const STANDARD: Self = FloatControl { mask: register::ARITHMETIC, bits: 0 };

    /// The calling thread's.
    pub fn here() -> Self {
        FloatControl { mask: register::ALL, bits: register::read() & register::ALL }
    }

    /// Whether it is the calling thread's.
    #[inline(always)]
    pub fn is_here(self) -> bool {
        register::read() & self.mask == self.bits
    }

    /// Does `work` with this control.
    ///
    /// **Cost** a look at the register, if it is the thread's; else that of [`lend`](Self::lend).
    #[inline(always)]
    pub fn during<R>(self, work: impl FnOnce() -> R) -> R {
        if self.is_here() { work() } else { self.lend(work) }
    }

    /// Does `work` with this control, and gives the thread its own back, also from a panic; the
    /// exceptions that `work` has met stay noted.
    ///
    /// **Cost** some dozens of cycles.
    #[cold]
    #[inline(never)]
    pub fn lend<R>(self, work: impl FnOnce() -> R) -> R {
        struct Kept(FloatControl);
        impl Drop for Kept {
            fn drop(&mut self) {
                self.0.set();
            }
        }
        #[inline(never)]
        fn call<R, F: FnOnce() -> R>(work: &mut Option<F>) -> Option<R> {
            work.take().map(|work| work())
        }
        let _kept = Kept(FloatControl { bits: register::read() & self.mask, ..self });
        self.set();
        // The compiler, which believes that the control never changes, must not see which function
        // that is, lest it compute something of it before.
        let call: fn(&mut Option<_>) -> Option<R> = call;
        black_box(call)(&mut Some(work)).expect("called once")
    }

    /// Makes it the calling thread's.
    fn set(self) {
        if !self.is_here() {
            register::write(register::read() & !self.mask | self.bits);
        }
    }
}
