//! What one rank shows on a communicator: its cards, how far it is, and its latest calls.

use super::sheet::Sheet;
use crate::rt::cards::{PLACES, Tray};
use crate::rt::error::Site;
use crate::rt::history::History;
use crate::rt::log::Collective;
use crate::rt::mutex::lock;
use crate::rt::ops::Mark;
use crate::rt::word::Word;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// In the number of a persistent collective.
pub(super) const AGAIN: u64 = 1 << 63;
/// Words of a call in the history: its digest, site, root, bytes, operator.
const WORDS: usize = 5;
/// For a root, or bytes, that a call does not have.
const NONE: u64 = u64::MAX;

/// A card in a list.
#[derive(Debug)]
pub(super) struct ListedCard {
    number: u64,
    tray: Tray<Sheet>,
    /// Ranks that are done with it.
    parted: AtomicUsize,
}

/// What a rank writes of its progress: on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Progress {
    /// It is done with all collectives up to this one.
    pub(super) done: Word,
    /// The last that it started, and its digest, which is written before.
    pub(super) last: Word,
    digest: AtomicU64,
}

/// What a rank shows on a communicator.
#[derive(Debug)]
pub(super) struct RankCards {
    places: Box<[Tray<Sheet>; PLACES as usize]>,
    pub(super) progress: Progress,
    /// How many cards are in the list.
    listed: AtomicUsize,
    list: Mutex<Vec<Arc<ListedCard>>>,
    history: Box<History<WORDS>>,
}

/// A card that was looked for.
pub(super) enum Found<'a> {
    Here(&'a Tray<Sheet>),
    ListedCard(Arc<ListedCard>),
}

impl Deref for Found<'_> {
    type Target = Tray<Sheet>;

    #[inline]
    fn deref(&self) -> &Tray<Sheet> {
        match self {
            Found::Here(tray) => tray,
            Found::ListedCard(it) => &it.tray,
        }
    }
}

impl RankCards {
    pub(super) fn new() -> RankCards {
        RankCards {
            places: Box::new(std::array::from_fn(|_| Tray::default())),
            progress: Progress::default(),
            listed: AtomicUsize::new(0),
            list: Mutex::default(),
            history: Box::default(),
        }
    }

    #[inline]
    pub(super) fn place(&self, number: u64) -> &Tray<Sheet> {
        &self.places[(number % PLACES) as usize]
    }

    /// Whether cards are in the list.
    #[inline]
    pub(super) fn has_list(&self) -> bool {
        // Relaxed: a hint; the list has its lock.
        self.listed.load(Ordering::Relaxed) > 0
    }

    /// Whether the card of a collective has been shown: asked while the asking rank is not done
    /// with it.
    #[inline]
    pub(super) fn has_shown(&self, number: u64) -> bool {
        let is_here = number & AGAIN == 0 && self.place(number).shown() >= number;
        is_here || self.is_listed(number)
    }

    #[inline]
    fn is_listed(&self, number: u64) -> bool {
        self.has_list() && self.listed_card(number).is_some()
    }

    #[cold]
    pub(super) fn listed_card(&self, number: u64) -> Option<Arc<ListedCard>> {
        lock(&self.list).iter().find(|it| it.number == number).cloned()
    }

    /// The card of a collective, which has been shown.
    #[inline]
    pub(super) fn card(&self, number: u64) -> Found<'_> {
        let place = self.place(number);
        if number & AGAIN == 0 && place.shown() == number {
            return Found::Here(place);
        }
        Found::ListedCard(
            self.listed_card(number).expect("it was shown, and the asker is not done"),
        )
    }

    /// Puts a card into the list.
    pub(super) fn put(&self, number: u64, tray: Tray<Sheet>) {
        let mut list = lock(&self.list);
        list.push(Arc::new(ListedCard { number, tray, parted: AtomicUsize::new(0) }));
        self.listed.store(list.len(), Ordering::Relaxed);
    }

    /// Drops cards with which all ranks are done.
    #[cold]
    pub(super) fn clear(&self, done: u64) {
        let mut list = lock(&self.list);
        list.retain(|it| it.number & AGAIN != 0 || it.number > done);
        self.listed.store(list.len(), Ordering::Relaxed);
    }

    /// A rank of so many is done with a persistent collective's card: all ranks look for those.
    pub(super) fn part(&self, it: &Arc<ListedCard>, size: usize) {
        // AcqRel: the last one drops it after all have read it.
        if it.parted.fetch_add(1, Ordering::AcqRel) + 1 == size {
            let mut list = lock(&self.list);
            list.retain(|other| !Arc::ptr_eq(other, it));
            self.listed.store(list.len(), Ordering::Relaxed);
        }
    }

    /// Notes a call that the rank makes.
    #[inline]
    pub(super) fn note(&self, number: u64, digest: u64, call: &Collective) {
        let root = call.root.map_or(NONE, |it| it as u64);
        let bytes = call.bytes.map_or(NONE, |it| it as u64);
        // Relaxed: published by `last`, with the call.
        self.progress.digest.store(digest, Ordering::Relaxed);
        let words = [digest, call.site.number(), root, bytes, call.op.number() as u64];
        self.history.note(&self.progress.last, number, words);
    }

    /// A call of the rank, if it is still known, and its digest.
    pub(super) fn past(&self, number: u64) -> Option<(u64, Collective)> {
        let [digest, site, root, bytes, op] = self.history.past(&self.progress.last, number)?;
        let given = |it: u64| (it != NONE).then_some(it as usize);
        let (root, bytes) = (given(root), given(bytes));
        let (site, op) = (Site::of(site), Mark::of(op as usize));
        Some((digest, Collective { context: 0, number, site, root, bytes, op }))
    }
}
