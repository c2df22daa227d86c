//! The collectives that a rank has called last, for the verdict that nobody can go on and for the
//! texts of errors: no protocol reads them.
//!
//! A rank writes its own log, a few stores a call; others read it when something is wrong
//! (`history.rs`).

use super::error::Site;
use super::history::History;
use super::ops::Mark;
use super::word::Word;

/// So many calls are kept: ranks are in the same one, or a few apart.
pub const KEPT: usize = 8;
/// Words of a call in a history.
pub const WORDS: usize = 6;
/// Instead of a root, or of a number of bytes.
const NONE: u64 = u64::MAX;

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

    /// In words of a history.
    #[inline]
    pub fn words(&self) -> [u64; WORDS] {
        let given = |it: Option<usize>| it.map_or(NONE, |it| it as u64);
        let (root, bytes) = (given(self.root), given(self.bytes));
        let op = self.op.number() as u64;
        [u64::from(self.context), self.number, self.site.number(), root, bytes, op]
    }

    /// Of such words.
    pub fn of_words([context, number, site, root, bytes, op]: [u64; WORDS]) -> Collective {
        let given = |it: u64| (it != NONE).then_some(it as usize);
        Collective {
            context: context as u32,
            number,
            site: Site::of(site),
            root: given(root),
            bytes: given(bytes),
            op: Mark::of(op as usize),
        }
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

/// The latest collectives of a rank.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Log {
    history: History<WORDS, KEPT>,
    /// So many were begun.
    begun: Word,
    /// The last that has ended.
    ended: Word,
}

impl Log {
    /// The rank begins a call.
    #[inline]
    pub fn begin(&self, it: &Collective) {
        self.history.note(&self.begun, self.begun.told() + 1, it.words());
    }

    /// The call that was begun last has ended.
    #[inline]
    pub fn end(&self) {
        self.ended.tell(self.begun.told());
    }

    fn read(&self, number: u64) -> Option<Collective> {
        self.history.past(&self.begun, number).map(Collective::of_words)
    }

    /// The call that the rank is in, and its number among the rank's.
    pub fn current(&self) -> Option<(u64, Collective)> {
        let (ended, begun) = (self.ended.told(), self.begun.told());
        let it = if ended < begun { self.read(begun) } else { None };
        it.map(|it| (begun, it))
    }

    /// The latest call, ended or not.
    pub fn latest(&self) -> Option<Collective> {
        self.read(self.begun.told())
    }

    /// The rank's call in a meeting, if it is still known.
    pub fn find(&self, context: u32, number: u64) -> Option<Collective> {
        let begun = self.begun.told();
        let kept = (begun + 1).saturating_sub(KEPT as u64)..=begun;
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
