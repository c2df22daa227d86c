//! Sleep until one rank, or the last of all, has something for this one: one word a rank, which
//! names the awaited rank.
//!
//! ```text
//! sleep:  word = 1 + awaited rank (or EVERYBODY); fence; has it come? go on : sleep on the word
//! send:   publish (Release); fence; does the word name me? word = 0, wake
//! ```
//!
//! Of the two fences one is first: the sender sees the word, or the sleeper sees what was sent. Of
//! many senders that the owner waits for together, the last in the order of fences sees that all
//! have sent.
//!
//! Where nobody is crowded senders do not fence (15 to 20 ns a message) unless the owner has set
//! its [`Mark`](super::Mark).

use super::word::Word;
use crate::sync::{Ordering, fence};
use crate::wait::Question;
use std::time::Duration;

/// Awake.
const NOBODY: u32 = 0;
/// The owner waits for the last of all.
const EVERYBODY: u32 = u32::MAX;

/// Whom a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    Rank(usize),
    Everybody,
}

impl Awaited {
    fn word(self) -> u32 {
        match self {
            Awaited::Rank(rank) => rank as u32 + 1,
            Awaited::Everybody => EVERYBODY,
        }
    }
}

/// See the module documentation.
pub(crate) struct Berth(Word);

impl Berth {
    pub(crate) fn new() -> Self {
        Berth(Word::new(NOBODY))
    }

    /// Sleeps until `awaited` may have sent something, for `longest` at most. `over` looks whether
    /// it has, or whether there is another reason not to sleep. May end for no reason. Whether
    /// `over` said so. Only the owner calls this.
    pub(crate) fn sleep(
        &self,
        awaited: Awaited,
        longest: Option<Duration>,
        over: &mut dyn Question,
    ) -> bool {
        let word = awaited.word();
        // Relaxed, as are all accesses to the word: it publishes nothing.
        self.0.store(word, Ordering::Relaxed);
        // Pairs with the fence in `call`.
        fence(Ordering::SeqCst);
        let over = over.ask();
        if !over {
            self.0.sleep(word, longest);
        }
        // An RMW, as the waker's: it comes after that one, and so does all that is stored from here
        // on.
        self.0.change(word, NOBODY);
        over
    }

    /// `me` has sent something: wakes the owner if it waits for that. `all` looks whether everybody
    /// has. Whether somebody was woken.
    pub(crate) fn call(&self, me: usize, all: impl FnOnce() -> bool) -> bool {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        let word = self.0.load(Ordering::Relaxed);
        let is_meant = word == Awaited::Rank(me).word() || (word == EVERYBODY && all());
        is_meant && self.wake(word)
    }

    /// Wakes the owner, whomever it waits for: there is another reason not to sleep, published
    /// before.
    pub(crate) fn rouse(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        let word = self.0.load(Ordering::Relaxed);
        if word != NOBODY {
            self.wake(word);
        }
    }

    #[cold]
    fn wake(&self, word: u32) -> bool {
        let changed = self.0.change(word, NOBODY);
        if changed {
            self.0.wake();
        }
        changed
    }
}
