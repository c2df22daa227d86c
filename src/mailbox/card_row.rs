//! The cards that one rank shows of the calls that it has started on a communicator: a row of
//! trays, used in turn, a list for cards that find no tray, and how far the rank is.

use super::tray::Tray;
use crate::sync::{Arc, AtomicU64, Ordering, Site, consume, publish};
use crate::wait::Lock;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Deref;

/// How far a rank is: on lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct RowProgress {
    /// It is done with all calls up to this one.
    done: AtomicU64,
    /// So many calls beyond that it is done with, too. Of its rank alone.
    beyond: AtomicU64,
}

/// A tray of the row: on lines of its own. (Of cards in the list, there may be very many.)
#[derive(Debug)]
#[repr(align(128))]
struct RowTray<C>(Tray<C>);

/// A card in the list.
#[derive(Debug)]
struct ListedCard<C> {
    number: u64,
    tray: Arc<Tray<C>>,
}

/// The content of one rank: cards in `N` trays, and beside them an `E`. The card of call `n`
/// lies in tray `n % N`, which is free again when every rank is done with the call that had it
/// before. (A rank that may not wait for that puts the card into the list.)
///
/// # Examples
/// See [`CardTable`](super::CardTable).
#[derive(Debug)]
pub struct CardRow<C, E, const N: usize> {
    trays: [RowTray<C>; N],
    progress: RowProgress,
    beside: E,
    /// The number of the last card in the list; 0: there is none.
    listed: AtomicU64,
    /// By their numbers: so one of very many is found soon.
    list: Lock<VecDeque<ListedCard<C>>>,
    /// Calls beyond `done` that the rank is done with.
    beyond: Lock<BinaryHeap<Reverse<u64>>>,
}

/// A card that was looked for.
///
/// # Examples
/// See [`CardTable`](super::CardTable).
#[derive(Debug)]
pub enum FoundCard<'a, C> {
    /// In its tray.
    Here(&'a Tray<C>),
    /// In the list.
    Listed(Arc<Tray<C>>),
}

impl<C> Deref for FoundCard<'_, C> {
    type Target = Tray<C>;

    #[inline(always)]
    fn deref(&self) -> &Tray<C> {
        match self {
            FoundCard::Here(tray) => tray,
            FoundCard::Listed(tray) => tray,
        }
    }
}

impl<C: Default, E: Default, const N: usize> Default for CardRow<C, E, N> {
    fn default() -> Self {
        let progress = RowProgress { done: AtomicU64::new(0), beyond: AtomicU64::new(0) };
        CardRow {
            trays: std::array::from_fn(|_| RowTray(Tray::default())),
            progress,
            beside: E::default(),
            listed: AtomicU64::new(0),
            list: Lock::default(),
            beyond: Lock::default(),
        }
    }
}

impl<C, E, const N: usize> CardRow<C, E, N> {
    /// Whether the tray of call `number` is free, if all ranks are done with all calls up to
    /// `done`.
    #[inline(always)]
    pub fn is_free(number: u64, done: u64) -> bool {
        number <= done + N as u64
    }

    /// The tray of a call.
    #[inline(always)]
    pub fn tray(&self, number: u64) -> &Tray<C> {
        &self.trays[number as usize % N].0
    }

    /// The `E` that the rank shows beside its cards.
    #[inline(always)]
    pub fn beside(&self) -> &E {
        &self.beside
    }

    /// The rank is done with all calls up to this one.
    #[inline(always)]
    pub fn done(&self) -> u64 {
        // Ordering: pairs with the store in `end`.
        self.progress.done.load(consume(Site::Finished))
    }

    /// The rank, the calling one, is done with call `number`: it reads no card of it any more.
    #[inline(always)]
    pub fn end(&self, number: u64) {
        let RowProgress { done, beyond } = &self.progress;
        // Relaxed, both: this rank alone writes them.
        let is_next = done.load(Ordering::Relaxed) + 1 == number;
        let number = match is_next && beyond.load(Ordering::Relaxed) == 0 {
            true => number,
            false => self.end_beyond(number),
        };
        // Ordering: everything that the rank has read elsewhere comes before; pairs with the load
        // in `done`.
        done.store(number, publish(Site::Finished));
    }

    /// Ends a request out of order; returns up to which number the rank is done now.
    #[cold]
    fn end_beyond(&self, number: u64) -> u64 {
        let mut done = self.progress.done.load(Ordering::Relaxed);
        let left = self.beyond.with(|ended| {
            ended.push(Reverse(number));
            while ended.peek() == Some(&Reverse(done + 1)) {
                ended.pop();
                done += 1;
            }
            ended.len()
        });
        self.progress.beyond.store(left as u64, Ordering::Relaxed);
        done
    }

    /// Whether cards are in the list.
    #[inline(always)]
    pub fn has_list(&self) -> bool {
        // Relaxed: a hint; the list has its lock.
        self.listed.load(Ordering::Relaxed) > 0
    }

    /// Whether the card of a call has been shown: asked while the asking rank is not done with it.
    #[inline(always)]
    pub fn has_shown(&self, number: u64) -> bool {
        // Relaxed: as in `has_list`. One that looks for many does not take the lock for those that
        // cannot be there.
        self.tray(number).shown() >= number
            || (self.listed.load(Ordering::Relaxed) >= number && self.listed_card(number).is_some())
    }

    /// The card of a call, if it has been shown: asked as above.
    #[inline(always)]
    pub fn card(&self, number: u64) -> Option<FoundCard<'_, C>> {
        let tray = self.tray(number);
        if tray.shown() == number {
            return Some(FoundCard::Here(tray));
        }
        self.listed_card(number).map(FoundCard::Listed)
    }

    #[cold]
    fn listed_card(&self, number: u64) -> Option<Arc<Tray<C>>> {
        self.list.with(|list| {
            let at = list.binary_search_by_key(&number, |it| it.number).ok()?;
            Some(Arc::clone(&list[at].tray))
        })
    }

    fn with_list<R>(&self, run: impl FnOnce(&mut VecDeque<ListedCard<C>>) -> R) -> R {
        self.list.with(|list| {
            let result = run(list);
            self.listed.store(list.back().map_or(0, |it| it.number), Ordering::Relaxed);
            result
        })
    }

    /// Puts a card, which was shown in a tray of its own, into the list, where all are of earlier
    /// calls. By the rank that owns it.
    pub fn put(&self, number: u64, tray: Tray<C>) {
        let card = ListedCard { number, tray: Arc::new(tray) };
        self.with_list(|list| list.push_back(card));
    }

    /// Drops cards with which all ranks are done, those up to `done`.
    #[cold]
    pub fn forget(&self, done: u64) {
        // The content of a card may be dropped when the lock is free again.
        let gone = self.with_list(|list| {
            let over = list.partition_point(|it| it.number <= done);
            list.drain(..over).collect::<Vec<_>>()
        });
        drop(gone);
    }
}
