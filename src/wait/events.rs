//! Sleep until all ranks have shown something: two levels, one wake-up a core.
//!
//! Ranks of one core are a group. An event is a number that grows: an episode of the gates, or a
//! call on the boards. While something of it is missing, a rank sleeps on one of two kinds of
//! words, each with the event's number and a mark that somebody sleeps:
//!
//! - on its *group's*, if a rank of its own core is still missing;
//! - on the *top* word, if its core is complete: the last of a core to arrive, its leader.
//!
//! ```text
//! show(e):      publish (Release); fence
//! sleep(W, e):  W = (e, asleep), unless W is newer: then e is complete
//!               fence; is e complete? go on : sleep on W
//! complete(e):  (has seen all of e)  fence
//!               for W in [top, own group's]: W == (e, asleep)? W = (e, awake), wake all
//! ```
//!
//! **Why no wake-up is lost.** Everybody who sleeps marks, fences, looks again; everybody who shows
//! publishes, fences, looks. Of two such fences one is first, so at least one side sees the other.
//! - *A group's word*: one member is the last, in the order of fences, to show `e`. It sees its
//!   whole group in, so it never sleeps on the group's word; it ends the event, and calls
//!   `complete`. Its load after that fence sees the mark, or the sleeper's look after its own fence
//!   sees what it saw.
//! - *The top word*: the last of all to show sees everything, does not sleep, and calls `complete`.
//! - *A mark made too late*, when the event is complete already, is its maker's to wake: another
//!   rank may fall asleep by it that had looked before.
//! - *A newer mark* may overwrite an older one: its marker has completed the older event, and so
//!   has woken its sleepers or left a fence that makes them see it complete. Never the other way:
//!   sleepers of the newer event would have no mark.
//!
//! For this every rank must look at everybody in every event, and then say
//! [`complete`](Events::complete); and the groups must be the same for all: they are fixed when the
//! words are made.

use super::word::Word;
use crate::sync::diagnostic::AtomicU64;
use crate::sync::{Ordering, fence};
use crate::wait::Question;
use crossbeam_utils::CachePadded;
use std::time::Duration;

/// In a word: somebody sleeps.
const ASLEEP: u32 = 1;

/// Where to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SleepLevel {
    /// With the leaders of the other groups.
    Top,
    /// With one's own group.
    Group(usize),
}

impl SleepLevel {
    /// Where a rank of `group` sleeps, of whose other ranks `near` says whether they have shown
    /// what they have to.
    pub(crate) fn of(group: usize, mut near: impl Iterator<Item = bool>) -> Self {
        if near.all(|has_shown| has_shown) { SleepLevel::Top } else { SleepLevel::Group(group) }
    }
}

/// See the module documentation.
pub(crate) struct Events {
    top: CachePadded<Word>,
    groups: Box<[CachePadded<Word>]>,
    /// The latest event that a leader has waited for in vain.
    roused: AtomicU64,
}

/// The number of an event, with room for the mark: 31 bits, which wrap.
fn awake(event: u64) -> u32 {
    (event as u32) << 1
}

/// Whether `word` is of an event after that of `mine`. By distance: an event that is 2^30 away was
/// long ago.
fn is_newer(word: u32, mine: u32) -> bool {
    let ahead = (word >> 1).wrapping_sub(mine >> 1) & (u32::MAX >> 1);
    ahead != 0 && ahead < 1 << 30
}

impl Events {
    /// For so many groups, with `event` as the last event before.
    pub(crate) fn new(groups: usize, event: u64) -> Self {
        let word = || CachePadded::new(Word::new(awake(event)));
        Events {
            top: word(),
            groups: (0..groups).map(|_| word()).collect(),
            roused: AtomicU64::new(event),
        }
    }

    fn word(&self, level: SleepLevel) -> &Word {
        match level {
            SleepLevel::Top => &self.top,
            SleepLevel::Group(group) => &self.groups[group],
        }
    }

    /// Sleeps until `event` may be complete, for `longest` at most. `over` looks whether it is, or
    /// whether there is another reason not to sleep. May end for no reason. Whether `over` said so.
    pub(crate) fn sleep(
        &self,
        level: SleepLevel,
        event: u64,
        longest: Option<Duration>,
        over: &mut dyn Question,
    ) -> bool {
        let word = self.word(level);
        let (up, down) = (awake(event), awake(event) | ASLEEP);
        // Ordering: whoever marked this had completed all events before; pairs with `change`.
        let now = word.load(Ordering::Acquire);
        // That it is newer and the event is not over happens to what is not used for 2^30 events
        // only.
        if is_newer(now, up) && over.ask() {
            return true;
        }
        if now != down && !word.change(now, down) {
            return false;
        }
        // Pairs with the fence after showing, in `shown` and `complete`.
        fence(Ordering::SeqCst);
        if over.ask() {
            // Somebody who was woken before this mark, but has not fallen asleep yet, may take it
            // for its own; and those who complete the event may have looked before it was made.
            if now != down {
                word.change(down, up);
                word.wake();
            }
            return true;
        }
        word.sleep(down, longest);
        false
    }

    /// To be called between showing something for an event and looking for the others'.
    #[inline(always)]
    pub(crate) fn shown(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
    }

    /// The caller, of group `group`, has seen everybody in `event`: wakes the leaders, and its
    /// group. Whether any of its group slept.
    #[inline]
    pub(crate) fn complete(&self, group: usize, event: u64) -> bool {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        wake(&self.top, event);
        wake(&self.groups[group], event)
    }

    /// Wakes every group's sleepers of `event`, which was shown just now by the one they wait for;
    /// or so that they look, and sleep again.
    pub(crate) fn wake_groups(&self, event: u64) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        for word in &self.groups {
            wake(word, event);
        }
    }

    /// A leader is about to sleep: lets all who sleep for `event` look once, if no leader has
    /// before. Beside many busy threads they queue for their cores at the same time then, and not
    /// one after the other.
    pub(crate) fn rouse(&self, event: u64) {
        // Relaxed: it only ever wakes.
        if self.roused.load(Ordering::Relaxed) != event
            && self.roused.swap(event, Ordering::Relaxed) != event
        {
            self.wake_groups(event);
        }
    }

    /// Wakes everybody, whatever they wait for: there is another reason not to sleep, published
    /// before.
    pub(crate) fn wake_everybody(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        for word in std::iter::once(&self.top).chain(&self.groups) {
            loop {
                let now = word.load(Ordering::Relaxed);
                if now & ASLEEP == 0 {
                    break;
                }
                if word.change(now, now & !ASLEEP) {
                    word.wake();
                    break;
                }
            }
        }
    }
}

/// Wakes the sleepers of `event`, which only one rank does: the one that changes the mark.
#[inline(always)]
fn wake(word: &Word, event: u64) -> bool {
    let (up, down) = (awake(event), awake(event) | ASLEEP);
    // Relaxed: by the fence before, this sees every mark whose sleeper has not seen the event
    // complete.
    word.load(Ordering::Relaxed) == down && wake_marked(word, down, up)
}

#[cold]
fn wake_marked(word: &Word, down: u32, up: u32) -> bool {
    let changed = word.change(down, up);
    if changed {
        word.wake();
    }
    changed
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn events_are_compared_by_distance() {
        for (word, mine, newer) in [
            (0, 0, false),
            (1, 0, true),
            (0, 1, false),
            (0, u64::from(u32::MAX >> 1), true),
            (5, 0xffff_ffff, true),
            (0xffff_ffff, 5, false),
        ] {
            assert_eq!(is_newer(awake(word), awake(mine)), newer, "{word} {mine}");
            assert_eq!(is_newer(awake(word) | ASLEEP, awake(mine)), newer);
        }
    }

    #[test]
    fn what_was_not_used_for_long_can_still_be_slept_on() {
        // The word is of an event that seems to be newer, and is not.
        let events = Events::new(1, 7);
        let event = 7 + (1 << 31) - 100;
        assert!(!events.sleep(SleepLevel::Group(0), event, Some(Duration::ZERO), &mut || false));
        assert_eq!(events.groups[0].load(Ordering::Relaxed), awake(event) | ASLEEP);
        events.complete(0, event);
        assert_eq!(events.groups[0].load(Ordering::Relaxed), awake(event));
    }
}
