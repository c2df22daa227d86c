//! A message that its receiver's queue keeps, so that its sender goes on.

use std::mem::MaybeUninit;

/// Bytes up to which a message is kept in its entry.
const BRIEF: usize = 64;

/// Room for a copy of a message: in its entry, or by itself. Aligned to 8.
///
/// # Examples
/// ```
/// use phalanx::engine::KeptBytes;
/// let text = b"a message";
/// // SAFETY: there is room for as many bytes.
/// let fill = |to: *mut u8| unsafe { text.as_ptr().copy_to_nonoverlapping(to, text.len()) };
/// let kept = KeptBytes::new(text.len(), fill);
/// assert!(KeptBytes::are_brief(text.len())); // it lies in its entry
/// // SAFETY: so many have been written.
/// assert_eq!(unsafe { std::slice::from_raw_parts(kept.at(), text.len()) }, text);
/// ```
#[derive(Debug)]
pub enum KeptBytes {
    /// Of a few bytes.
    Brief([MaybeUninit<u64>; BRIEF / 8]),
    /// Of more.
    Long(Box<[MaybeUninit<u64>]>),
}

impl KeptBytes {
    /// Whether a copy of so many bytes lies in its entry.
    #[inline(always)]
    pub fn are_brief(bytes: usize) -> bool {
        bytes <= BRIEF
    }

    /// So many, which `fill` writes.
    #[inline(always)]
    pub fn new(bytes: usize, fill: impl FnOnce(*mut u8)) -> Self {
        let mut kept = match Self::are_brief(bytes) {
            true => KeptBytes::Brief([MaybeUninit::uninit(); BRIEF / 8]),
            false => KeptBytes::Long(Box::new_uninit_slice(bytes.div_ceil(8))),
        };
        fill(match &mut kept {
            KeptBytes::Brief(words) => words.as_mut_ptr().cast(),
            KeptBytes::Long(words) => words.as_mut_ptr().cast(),
        });
        kept
    }

    /// Where they are.
    #[inline(always)]
    pub fn at(&self) -> *const u8 {
        match self {
            KeptBytes::Brief(words) => words.as_ptr().cast(),
            KeptBytes::Long(words) => words.as_ptr().cast(),
        }
    }
}
