//! Which of a rank's calls came from another language, and from which line there.
//!
//! A rank's records hold Rust lines, which know nothing of C. So a caller of another language notes
//! its own call before it makes those of the library: the note holds for all records from the next
//! one on, until the call is over. Notes are kept apart, so that the calls of Rust programs pay
//! nothing for them.
//!
//! As with records: a rank writes its own notes, others read them only when something has gone
//! wrong, and at worst name a neighbouring call.

use crate::error::ForeignCall;
use crate::sync::diagnostic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Notes kept per rank: as many as records, of which each note has one at least, as a rule.
const KEPT: usize = 16;

#[derive(Default)]
#[repr(align(32))]
struct Note {
    /// The number of the first record that it holds for; 0 before it holds for any.
    from: AtomicU64,
    /// The first that it does not hold for any more.
    until: AtomicU64,
    call: AtomicPtr<ForeignCall>,
}

/// The latest calls of one rank from other languages.
#[derive(Default)]
pub(crate) struct ForeignCalls([Note; KEPT]);

/// Not over yet.
const OPEN: u64 = u64::MAX;

impl ForeignCalls {
    /// The owner's records from number `from` on are parts of `call`.
    #[inline(always)]
    pub(crate) fn begin(&self, from: u64, call: &'static ForeignCall) {
        let note = &self.0[from as usize % KEPT];
        note.call.store(std::ptr::from_ref(call).cast_mut(), Relaxed);
        note.until.store(OPEN, Relaxed);
        note.from.store(from, Relaxed);
    }

    /// The call that was noted with `from` is over, before record `until`.
    #[inline(always)]
    pub(crate) fn end(&self, from: u64, until: u64) {
        self.0[from as usize % KEPT].until.store(until, Relaxed);
    }

    /// The call that record `number` is a part of, if it is one's of another language: the latest
    /// that was noted before.
    pub(crate) fn of(&self, number: u64) -> Option<&'static ForeignCall> {
        let holds = |note: &&Note| {
            let from = note.from.load(Relaxed);
            from != 0 && from <= number && number < note.until.load(Relaxed)
        };
        let note = self.0.iter().filter(holds).max_by_key(|note| note.from.load(Relaxed))?;
        // SAFETY: null, or made of a `&'static ForeignCall` (`begin`).
        unsafe { note.call.load(Relaxed).as_ref() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_note_holds_from_its_first_record_to_its_end() {
        static CALLS: [ForeignCall; 3] = [
            ForeignCall { function: "a", file: "a.c", line: 1 },
            ForeignCall { function: "b", file: "b.c", line: 2 },
            ForeignCall { function: "c", file: "c.c", line: 3 },
        ];
        let notes = ForeignCalls::default();
        let line = |number| notes.of(number).map(|call| call.line);
        assert_eq!(line(1), None);
        notes.begin(5, &CALLS[0]);
        assert_eq!((line(4), line(5), line(9)), (None, Some(1), Some(1)));
        // An inner one, as from an operator.
        notes.begin(7, &CALLS[1]);
        assert_eq!((line(6), line(7)), (Some(1), Some(2)));
        notes.end(7, 8);
        assert_eq!((line(7), line(8)), (Some(2), Some(1)));
        notes.end(5, 9);
        assert_eq!((line(8), line(9)), (Some(1), None));
        // One that made no record gives way to the next.
        notes.begin(9, &CALLS[1]);
        notes.end(9, 9);
        notes.begin(9, &CALLS[2]);
        assert_eq!((line(9), line(10)), (Some(3), Some(3)));
    }
}
