//! The collectives that a rank has called last, for the verdict that nobody can go on and for the
//! texts of errors: no protocol reads them.
//!
//! A rank writes its own log, a few stores a call; others read it when something is wrong. The
//! number of the call is published last, and looked at again after a reading, so that what was
//! overwritten meanwhile is not taken for a call.

use super::error::Site;
use super::ops::Mark;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

/// So many calls are kept: ranks are in the same one, or a few apart.
pub const KEPT: usize = 8;
/// Instead of a root, or of a number of bytes.
const NONE: usize = usize::MAX;

/// A collective call of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The communicator's number.
    pub context: u32,
    /// The number of the meeting there.
    pub number: u64,
    /// The call.
    pub site: Site,
    /// The root, if it has one.
    pub root: Option<usize>,
    /// Bytes of data (of a rank's part), if all ranks must have as many.
    pub bytes: Option<usize>,
    /// The operator.
    pub op: Mark,
}

impl Collective {
    /// Whether the two can be one collective's.
    pub fn agrees(&self, other: &Collective) -> bool {
        self.site.call().function == other.site.call().function
            && self.root == other.root
            && self.bytes == other.bytes
            && self.op == other.op
    }

    /// In words.
    pub fn describe(&self) -> String {
        let mut text = self.site.describe();
        if let Some(root) = self.root {
            text.push_str(&format!(", root {root}"));
        }
        if let Some(bytes) = self.bytes {
            text.push_str(&format!(", {bytes} bytes"));
        }
        if let Mark::Known(op, element) = self.op {
            text.push_str(&format!(", operator {} of {element:?}", super::ops::name(op)));
        }
        text
    }
}

#[derive(Debug, Default)]
struct LogEntry {
    context: AtomicU32,
    number: AtomicU64,
    site: AtomicU64,
    root: AtomicUsize,
    bytes: AtomicUsize,
    op: AtomicUsize,
}

/// The latest collectives of a rank.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Log {
    entries: [LogEntry; KEPT],
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Log {
    /// The rank begins a call.
    #[inline]
    pub fn begin(&self, it: &Collective) {
        let number = self.begun.load(Relaxed);
        let entry = &self.entries[number as usize % KEPT];
        entry.context.store(it.context, Relaxed);
        entry.number.store(it.number, Relaxed);
        entry.site.store(it.site.number(), Relaxed);
        entry.root.store(it.root.unwrap_or(NONE), Relaxed);
        entry.bytes.store(it.bytes.unwrap_or(NONE), Relaxed);
        entry.op.store(it.op.number(), Relaxed);
        // Pairs with the loads of `begun` in `read`: publishes the entry.
        self.begun.store(number + 1, Release);
    }

    /// The call that was begun last has ended.
    #[inline]
    pub fn end(&self) {
        // Pairs with `current`'s load.
        self.ended.store(self.begun.load(Relaxed), Release);
    }

    fn read(&self, number: u64) -> Option<Collective> {
        let entry = &self.entries[number as usize % KEPT];
        let given = |it: usize| (it != NONE).then_some(it);
        let it = Collective {
            context: entry.context.load(Relaxed),
            number: entry.number.load(Relaxed),
            site: Site::of(entry.site.load(Relaxed)),
            root: given(entry.root.load(Relaxed)),
            bytes: given(entry.bytes.load(Relaxed)),
            op: Mark::of(entry.op.load(Relaxed)),
        };
        // Pairs with the store in `begin`.
        let begun = self.begun.load(Acquire);
        (number < begun && begun < number + KEPT as u64).then_some(it)
    }

    /// The call that the rank is in, and its number among the rank's.
    pub fn current(&self) -> Option<(u64, Collective)> {
        // Pairs with the stores in `end` and `begin`.
        let (ended, begun) = (self.ended.load(Acquire), self.begun.load(Acquire));
        let it = if ended < begun { self.read(begun - 1) } else { None };
        it.map(|it| (begun, it))
    }

    /// The latest call, ended or not.
    pub fn latest(&self) -> Option<Collective> {
        // Pairs with the store in `begin`.
        self.read(self.begun.load(Acquire).checked_sub(1)?)
    }

    /// The rank's call in a meeting, if it is still known.
    pub fn find(&self, context: u32, number: u64) -> Option<Collective> {
        // Pairs with the store in `begin`.
        let begun = self.begun.load(Acquire);
        let kept = begun.saturating_sub(KEPT as u64 - 1)..begun;
        kept.rev()
            .filter_map(|it| self.read(it))
            .find(|it| it.context == context && it.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::basic::Element;
    use super::*;

    #[test]
    fn the_latest_calls_are_found_until_they_are_overwritten() {
        let log = Log::default();
        assert_eq!((log.current(), log.latest()), (None, None));
        let call = |number| Collective {
            context: 3,
            number,
            site: Site::default(),
            root: Some(1),
            bytes: None,
            op: Mark::Known(0x21, Element::F64),
        };
        for number in 1..=20 {
            log.begin(&call(number));
            assert_eq!(log.current(), Some((number, call(number))));
            assert_eq!(log.find(3, number), Some(call(number)));
            assert_eq!(log.find(4, number), None);
            log.end();
            assert_eq!((log.current(), log.latest()), (None, Some(call(number))));
        }
        assert_eq!(log.find(3, 14), Some(call(14)));
        assert_eq!(log.find(3, 12), None);
    }
}
