//! Early receives: short ones that only their rank knows of yet.
//!
//! Most started receives are waited for next, and their message comes by a ring. To post such a
//! receive under the queue's lock, where other ranks find it, takes longer than the message does.
//! So it is noted here, in the rank's own memory. It is as if it were posted at the last moment at
//! which that makes no difference:
//!
//! - Early receives are younger than all that are posted. A look takes messages from rings only
//!   while nothing lies in the queue, neither a message nor a posted receive; if something does,
//!   all are posted first. So are they as soon as a message in the ring is there for which none of
//!   them asks ([`take_from`](EarlyReceives::take_from)).
//! - A rank posts them all before any other receive or probe, and before it waits for long. So
//!   whoever judges whether a rank that waits can go on finds its receives posted.
//! - There are fewer than [`MOST`]: then all are posted, where the queue's list finds one of many.
//!
//! Tagged messages have them in a scope of requests (`early_receive.rs`), MPI's in the rank
//! (`interfaces/mpiface/src/rt/early.rs`).

use super::message_ring::{MessageMemory, MessageRing};

/// So many early receives are posted: they are looked at one after the other.
const MOST: usize = 128;

/// A rank's early receives, in the order of their calls: a ring with entries that are written word
/// by word. (A whole one that is moved right after its words were written waits until all that the
/// rank has stored before is in the cache: a message that is on its way, too.)
///
/// # Examples
/// ```
/// use phalanx::engine::{EarlyReceives, MessageRing};
/// let ring = MessageRing::<u32, ()>::new::<8>();
/// let mut early = EarlyReceives::<(u32, bool)>::default(); // a tag, and whether it has come
/// *early.add(Some(0)) = (5, false);
/// *early.add(Some(0)) = (6, false);
/// assert_eq!((early.count(), early.is_full(), early.from()), (2, false, Some(0)));
/// // SAFETY: this thread alone sends.
/// assert!(unsafe { ring.push(|tag| *tag = 6) });
/// let (asks, mut come) = (|it: &(u32, bool), tag: &u32| it.0 == *tag, vec![]);
/// // SAFETY: it alone takes, and there is no queue.
/// let left = unsafe {
///     early.take_from(&ring, |_| true, asks, |it, _, _| Ok::<(), ()>(come.push(it.0)))
/// };
/// assert_eq!((left, come), (Ok(false), vec![6])); // taken, and nothing is left that none asks for
/// assert_eq!(early.position(|it| it.0 == 5), Some(0));
/// early.at(0).1 = true;
/// assert!(early.iter().all(|it| it.1));
/// early.remove(0);
/// early.clear();
/// assert_eq!(early.count(), 0);
/// ```
#[derive(Debug, Default)]
pub struct EarlyReceives<E> {
    /// None, or a power of two.
    entries: Vec<E>,
    first: usize,
    count: usize,
    /// The only rank from which any of them can take, if it is one.
    from: Option<usize>,
}

impl<E: Default> EarlyReceives<E> {
    #[inline(always)]
    fn place(&self, index: usize) -> usize {
        (self.first + index) & (self.entries.len() - 1)
    }

    /// How many there are.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there are so many that all are to be posted.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.count >= MOST
    }

    /// The only rank from which any of them can take, if it is one.
    #[inline(always)]
    pub fn from(&self) -> Option<usize> {
        self.from
    }

    /// One more, which can take from this rank alone, or from any: an old one, to be written.
    #[inline(always)]
    pub fn add(&mut self, from: Option<usize>) -> &mut E {
        if self.count == 0 {
            self.from = from;
        } else if self.from != from {
            self.from = None;
        }
        if self.count == self.entries.len() {
            self.widen();
        }
        self.count += 1;
        self.at(self.count - 1)
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self) {
        self.entries.rotate_left(self.first);
        self.first = 0;
        let length = (2 * self.entries.len()).max(8);
        self.entries.resize_with(length, E::default);
    }

    /// The one of this place in the order of their calls.
    #[inline(always)]
    pub fn at(&mut self, index: usize) -> &mut E {
        let place = self.place(index);
        &mut self.entries[place]
    }

    /// All, in that order.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        (0..self.count).map(|it| &self.entries[self.place(it)])
    }

    /// The first of which this holds.
    #[inline(always)]
    pub fn position(&self, is_it: impl FnMut(&E) -> bool) -> Option<usize> {
        self.iter().position(is_it)
    }

    /// Takes one out.
    #[inline(always)]
    pub fn remove(&mut self, index: usize) {
        for later in (1..=index).rev() {
            let (one, other) = (self.place(later - 1), self.place(later));
            self.entries.swap(one, other);
        }
        self.first = self.place(1);
        self.count -= 1;
    }

    /// There are none any more.
    #[inline(always)]
    pub fn clear(&mut self) {
        (self.first, self.count) = (0, 0);
    }

    /// Takes messages of a ring, in their order, each for the first receive that `asks` for it, to
    /// which `give` gives it; unless it refuses, so that the message stays. Whether one is there
    /// that none asks for, though some may ask for others of this ring (`may_ask`): then all are to
    /// be posted. A message after the last of those stays in the ring, since its receive may come.
    ///
    /// # Errors
    /// The receive with a message that was refused, and why.
    ///
    /// # Safety
    /// This rank may take from the ring ([`MessageRing::take`]), and nothing lies in its queue.
    #[inline]
    pub unsafe fn take_from<T, R, O, X>(
        &mut self,
        ring: &MessageRing<T, R, O>,
        may_ask: impl Fn(&E) -> bool,
        asks: impl Fn(&E, &T) -> bool,
        mut give: impl FnMut(&mut E, &T, MessageMemory<'_, R, O>) -> Result<(), X>,
    ) -> Result<bool, (usize, X)> {
        while self.position(&may_ask).is_some() {
            let mut refused = None;
            let one = |message: &T, memory: MessageMemory<'_, R, O>| {
                let index = self.position(|it| asks(it, message))?;
                match give(self.at(index), message, memory) {
                    Ok(()) => Some(index),
                    Err(why) => {
                        refused = Some((index, why));
                        None
                    }
                }
            };
            // SAFETY: by the contract.
            match (unsafe { ring.take_if(one) }, refused) {
                (_, Some(refused)) => return Err(refused),
                (Some(Some(index)), _) => self.remove(index),
                (Some(None), _) => return Ok(true),
                (None, _) => return Ok(false),
            }
        }
        Ok(false)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn receives_keep_the_order_of_their_calls() {
        let (mut all, mut plain) = (EarlyReceives::default(), Vec::new());
        let mut seed = 1_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for value in 0..4000_u32 {
            if plain.len() < 40 && next(5) > 1 || plain.is_empty() {
                *all.add(Some(0)) = value;
                plain.push(value);
            } else {
                let index = next(plain.len());
                assert_eq!(*all.at(index), plain.remove(index));
                all.remove(index);
            }
            assert!(all.iter().eq(&plain) && all.count() == plain.len() && !all.is_full());
        }
    }

    #[test]
    fn messages_go_to_the_first_that_asks_and_others_are_told() {
        let ring = MessageRing::<u32, ()>::new::<8>();
        let mut all = EarlyReceives::<u32>::default();
        let add = |all: &mut EarlyReceives<u32>, of: &[u32]| {
            of.iter().for_each(|it| *all.add(None) = *it);
        };
        let mut got = Vec::new();
        let mut look = |all: &mut EarlyReceives<u32>, may_ask: bool| {
            let give = |it: &mut u32, message: &u32, _: MessageMemory<'_, (), ()>| {
                got.push((*it, *message));
                if *message == 13 { Err("no luck") } else { Ok(()) }
            };
            let asks = |it: &u32, message: &u32| it % 10 == message % 10;
            // SAFETY: one thread sends and takes.
            unsafe { all.take_from(&ring, |_| may_ask, asks, give) }
        };
        // SAFETY: as above.
        let send = |it: u32| assert!(unsafe { ring.push(|to| *to = it) });
        add(&mut all, &[1, 2, 11]);
        assert_eq!(look(&mut all, true), Ok(false));
        [31, 41, 5].into_iter().for_each(send);
        assert_eq!(look(&mut all, false), Ok(false));
        // The last one is nobody's.
        assert_eq!(look(&mut all, true), Ok(true));
        add(&mut all, &[5, 3]);
        send(13);
        assert_eq!(look(&mut all, true), Err((1, "no luck")));
        assert!(all.iter().eq(&[2, 3]));
        // It is there still.
        assert_eq!(look(&mut all, true), Err((1, "no luck")));
        all.clear();
        assert_eq!(look(&mut all, true), Ok(false));
        assert_eq!(got, [(1, 31), (11, 41), (5, 5), (3, 13), (3, 13)]);
    }
}
