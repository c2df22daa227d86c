//! Collectives that are started now and complete later.
//!
//! Each rank shows a card (`cards.rs`): which call it is in, and its data. As soon as the cards
//! that a rank needs are shown, it copies and combines for itself; ranks do so at the same time.
//!
//! | data of a card | | a rank's request is complete when |
//! |---|---|---|
//! | up to [`STORED`] bytes | lie in the card | it has done its own part |
//! | more | are lent: others read them where they are | all parts that touch its memory are done |
//!
//! So with short data nobody waits for readers, and the root of a broadcast waits for nobody. What
//! has to be done for a rank whose partners lend memory is claimed before: by the rank itself, or,
//! if it is busy elsewhere, by a lender that waits. So no call of the others is needed after their
//! start, and a rank may start several and await them in any order.
//!
//! Ranks' numbers of collectives are their order on the communicator. A card that finds no free
//! place (its rank has started many that others have not), and that of a persistent collective,
//! whose order is free, lies in a list of the rank, under a lock.
//!
//! Calls must agree: each card has a digest of its call and of all before on the communicator, so
//! who reads a card has compared all. A rank that reads no cards compares when it looks whether a
//! place is free, and at the end of the communicator. The calls themselves, for the text, are in a
//! history of the latest ones.

use super::cards::{PLACES, Tray, is_free};
use super::coll::{Operator, Temporary, fold, part};
use super::comm::{Comm, Shared, Terms};
use super::error::{Class, Error, Site, end};
use super::log::Collective;
use super::ops::{Mark, apply};
use super::types::{Place, bytes_at, copy};
use super::word::Word;
use super::world::{World, lock};
use std::mem::{MaybeUninit, offset_of};
use std::ops::{Deref, Range};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence, fence};
use std::sync::{Arc, Mutex, OnceLock};

/// Up to so many bytes lie in a card.
const STORED: usize = 2 << 10;
/// The same in a communicator of many ranks: they have as many places each.
const STORED_BY_MANY: usize = 1 << 10;
const MANY: usize = 64;
/// Up to so many bytes lie in the lines of the card that have its number.
const ROOM: usize = 72;
/// After so many looks in vain a rank does what others have to do, if it waits for that: they come
/// to it by themselves within fewer, if they are in MPI.
const LOOKS: u32 = 100;
const LOOKS_CROWDED: u32 = 16;
/// So many calls of a rank are kept for texts.
const KEPT: usize = 32;
/// Results of long reductions are made in parts of so many bytes, which stay in the nearest cache.
const BLOCK: usize = 8 << 10;
/// In the number of a persistent collective.
const AGAIN: u64 = 1 << 63;

/// What a rank offers the others.
#[derive(Debug, Default)]
pub enum Pieces {
    /// Nothing.
    #[default]
    Nothing,
    /// The same for all.
    Same(Place),
    /// A piece for each, one behind the other: the first.
    Even(Place),
    /// A piece for each.
    Each(Vec<Place>),
}

impl Pieces {
    /// The piece for this rank.
    fn of(&self, rank: usize) -> Option<Place> {
        match self {
            Pieces::Nothing => None,
            Pieces::Same(place) => Some(place.clone()),
            Pieces::Even(first) => Some(first.moved((rank * first.count) as isize, first.count)),
            Pieces::Each(places) => places.get(rank).cloned(),
        }
    }

    /// Bytes of all, for so many ranks.
    fn bytes(&self, size: usize) -> usize {
        match self {
            Pieces::Nothing => 0,
            Pieces::Same(place) => place.bytes(),
            Pieces::Even(first) => first.bytes().saturating_mul(size),
            Pieces::Each(places) => places.iter().map(Place::bytes).fold(0, usize::saturating_add),
        }
    }
}

/// Where a rank takes what the others offer.
#[derive(Debug, Default)]
pub enum Takes {
    /// Nothing.
    #[default]
    Nothing,
    /// From this one.
    One(usize, Place),
    /// From each, one behind the other: the first.
    Even(Place),
    /// The same, but not from this rank.
    EvenBut(usize, Place),
    /// From each, if it takes from it.
    Each(Vec<Option<Place>>),
}

impl Takes {
    fn each(&self, size: usize, mut take: impl FnMut(usize, &Place)) {
        match self {
            Takes::Nothing => {}
            Takes::One(peer, place) => take(*peer, place),
            Takes::Even(first) | Takes::EvenBut(_, first) => {
                let is_left_out = |peer| matches!(self, Takes::EvenBut(it, _) if *it == peer);
                for peer in (0..size).filter(|it| !is_left_out(*it)) {
                    take(peer, &first.moved((peer * first.count) as isize, first.count));
                }
            }
            Takes::Each(places) => {
                let given = |(peer, it): (usize, &Option<Place>)| {
                    if let Some(place) = it {
                        take(peer, place);
                    }
                };
                places.iter().enumerate().for_each(given);
            }
        }
    }
}

/// A result: where it goes, of which ranks, and from which element on.
type Gives = (Place, Range<usize>, usize);

/// What a rank brings, and what it awaits.
#[derive(Debug)]
pub enum Part {
    /// Data that is only moved.
    Exchange {
        /// What it offers the others.
        offer: Pieces,
        /// Where it takes what each offers.
        takes: Takes,
        /// Whether what it takes goes to where its offer lies, which so is kept elsewhere.
        is_in_place: bool,
    },
    /// A reduction.
    Fold {
        /// The rank's own values.
        own: Place,
        /// The operator.
        op: Operator,
        /// Where a result goes, if one does: of these ranks, from this element on.
        gives: Option<Gives>,
    },
}

impl Part {
    /// Of a call without data.
    pub fn nothing() -> Part {
        let (offer, takes) = (Pieces::Nothing, Takes::Nothing);
        Part::Exchange { offer, takes, is_in_place: false }
    }
}

/// Whose cards a rank needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    /// Nobody's.
    #[default]
    Nothing,
    /// Of one rank.
    One(u32),
    /// Of so many, from the first on.
    First(u32),
    /// Of all.
    All,
}

impl Awaits {
    fn ranks(self, size: usize) -> Range<usize> {
        match self {
            Awaits::Nothing => 0..0,
            Awaits::One(rank) => rank as usize..rank as usize + 1,
            Awaits::First(count) => 0..count as usize,
            Awaits::All => 0..size,
        }
    }
}

/// What the data of a card is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
enum Data {
    /// There is none.
    #[default]
    Nothing,
    /// The same for all.
    Same,
    /// A piece for each, all as long.
    Even,
    /// As many ends of pieces as there are ranks (of 4 bytes each), and the pieces.
    Each,
    /// It lies where the part says.
    Lent,
}

/// A line of memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "used by its address")] [u8; 64]);

/// What a card says.
#[derive(Debug, Default)]
#[repr(C)]
struct Sheet {
    front: Front,
    rest: Box<Rest>,
}

/// What only its rank needs as long as data is short. It lies elsewhere: processors fetch the lines
/// behind those that others read, too, and each write there would wait for them.
#[derive(Debug)]
#[repr(align(128))]
struct Rest {
    call: Collective,
    awaits: Awaits,
    part: Option<Part>,
    /// What was offered, if its own memory cannot lend it.
    kept: Vec<u8>,
    failed: OnceLock<Error>,
}

impl Default for Rest {
    fn default() -> Rest {
        let (site, op) = (Site::default(), Mark::None);
        let call = Collective { context: 0, number: 0, site, root: None, bytes: None, op };
        let (kept, failed) = (Vec::new(), OnceLock::new());
        Rest { call, awaits: Awaits::Nothing, part: None, kept, failed }
    }
}

/// All that others read of short data: with the number, two lines.
#[derive(Debug)]
#[repr(C)]
struct Front {
    digest: u64,
    /// Up to this number the rank is done.
    done: u64,
    length: u32,
    data: Data,
    room: [MaybeUninit<u8>; ROOM],
    /// For more than `ROOM` bytes; kept for the place's next card.
    lines: Box<[Line]>,
}

// With the number: two lines, and data from the 32nd byte on, so that it is aligned for each
// element.
const _: () = assert!(offset_of!(Front, room) == 24 && size_of::<Sheet>() == 120);

impl Default for Front {
    fn default() -> Front {
        Front {
            digest: 0,
            done: 0,
            length: 0,
            data: Data::Nothing,
            room: [MaybeUninit::uninit(); ROOM],
            lines: Box::default(),
        }
    }
}

impl Front {
    /// The address of what is stored.
    #[inline]
    fn address(&self) -> usize {
        let is_short = self.length as usize <= ROOM;
        if is_short { self.room.as_ptr() as usize } else { self.lines.as_ptr() as usize }
    }

    /// Where so many bytes go.
    #[inline]
    fn store(&mut self, data: Data, length: usize) -> usize {
        (self.data, self.length) = (data, length as u32);
        if length > ROOM && size_of_val(&*self.lines) < length {
            self.widen(length);
        }
        self.address()
    }

    #[cold]
    fn widen(&mut self, length: usize) {
        let lines = length.next_power_of_two().div_ceil(size_of::<Line>());
        self.lines = vec![Line([0; 64]); lines].into();
    }

    /// The piece for a rank of so many, as the address and length of what is stored.
    #[inline]
    fn piece(&self, rank: usize, size: usize) -> (usize, usize) {
        let (at, length) = (self.address(), self.length as usize);
        match self.data {
            Data::Even => (at + length / size * rank, length / size),
            Data::Each => {
                // SAFETY: `store_pieces` has written as many ends, aligned as lines are.
                let end = |index: usize| unsafe { (at as *const u32).add(index).read() as usize };
                let start = if rank == 0 { 4 * size } else { end(rank - 1) };
                (at + start, end(rank) - start)
            }
            _ => (at, length),
        }
    }

    /// Stores what is offered to so many ranks.
    ///
    /// # Safety
    /// The places are memory as their types say, which nobody writes.
    unsafe fn store_pieces(&mut self, offer: &Pieces, size: usize) {
        let length = offer.bytes(size);
        // SAFETY: the caller's promise; there is room for all pieces.
        unsafe {
            match offer {
                Pieces::Nothing => _ = self.store(Data::Nothing, 0),
                Pieces::Same(place) => place.read(self.store(Data::Same, length) as *mut u8),
                Pieces::Even(first) => {
                    let at = self.store(Data::Even, length);
                    first.moved(0, size * first.count).read(at as *mut u8);
                }
                Pieces::Each(places) => {
                    let at = self.store(Data::Each, length + 4 * size);
                    let mut next = 4 * size;
                    for (index, place) in places.iter().enumerate() {
                        place.read((at + next) as *mut u8);
                        next += place.bytes();
                        (at as *mut u32).add(index).write(next as u32);
                    }
                }
            }
        }
    }

    /// Takes the data of the rank's part.
    ///
    /// # Safety
    /// The places are memory as their types say, which nobody writes.
    #[inline]
    unsafe fn take_data(&mut self, part: &Part, is_stored: bool, size: usize) {
        match part {
            // SAFETY: the caller's promise.
            Part::Exchange { offer, .. } if is_stored => unsafe { self.store_pieces(offer, size) },
            Part::Fold { own, .. } if is_stored => {
                let length = own.bytes();
                // SAFETY: the caller's promise; there is room for it.
                unsafe { own.read(self.store(Data::Same, length) as *mut u8) };
            }
            _ => (self.data, self.length) = (Data::Lent, 0),
        }
    }
}

impl Sheet {
    /// The piece of an exchange for a rank of so many goes there: the error, if it is not as long.
    ///
    /// # Safety
    /// As `copy`; the card's rank `peer` lends its memory still, if it does.
    #[inline]
    unsafe fn give(&self, peer: usize, (rank, size): (usize, usize), to: &Place) -> Option<Error> {
        let given = match self.front.data {
            Data::Nothing => return None,
            Data::Lent => {
                let Some(Part::Exchange { offer, .. }) = &self.rest.part else { return None };
                let from = offer.of(rank)?;
                if from.bytes() == to.bytes() {
                    // SAFETY: the caller's promise.
                    unsafe { copy(&from, to) };
                    return None;
                }
                from.bytes()
            }
            _ => {
                let (at, length) = self.front.piece(rank, size);
                if length == to.bytes() {
                    // SAFETY: so many bytes are stored there; the rest is the caller's promise.
                    unsafe { to.write(std::slice::from_raw_parts(at as *const u8, length)) };
                    return None;
                }
                length
            }
        };
        Some(self.unequal(peer, given, to.bytes()))
    }

    #[cold]
    fn unequal(&self, peer: usize, given: usize, expected: usize) -> Error {
        let place = self.rest.call.site.describe();
        let text = format!(
            "rank {peer} of the communicator gives {given} bytes in {place}, and {expected} are \
             expected"
        );
        Error::new(Class::Truncate, text)
    }
}

/// A call that a rank has made, for texts. Relaxed: fences order them (`Shelf::past`).
#[derive(Debug, Default)]
struct Past {
    number: AtomicU64,
    digest: AtomicU64,
    site: AtomicU64,
    root: AtomicUsize,
    bytes: AtomicUsize,
    op: AtomicUsize,
}

/// A card in a list.
#[derive(Debug)]
struct Apart {
    number: u64,
    tray: Tray<Sheet>,
    /// Ranks that are done with it.
    parted: AtomicUsize,
}

/// What a rank writes of its progress: on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Progress {
    /// It is done with all collectives up to this one.
    done: Word,
    /// The last that it started, and its digest, which is written before.
    last: Word,
    digest: AtomicU64,
}

/// What a rank shows on a communicator.
#[derive(Debug)]
struct Shelf {
    places: Box<[Tray<Sheet>; PLACES as usize]>,
    progress: Progress,
    /// How many cards are in the list.
    listed: AtomicUsize,
    list: Mutex<Vec<Arc<Apart>>>,
    history: Box<[Past; KEPT]>,
}

/// A card that was looked for.
enum Found<'a> {
    Here(&'a Tray<Sheet>),
    Apart(Arc<Apart>),
}

impl Deref for Found<'_> {
    type Target = Tray<Sheet>;

    #[inline]
    fn deref(&self) -> &Tray<Sheet> {
        match self {
            Found::Here(tray) => tray,
            Found::Apart(it) => &it.tray,
        }
    }
}

impl Shelf {
    fn new() -> Shelf {
        Shelf {
            places: Box::new(std::array::from_fn(|_| Tray::default())),
            progress: Progress::default(),
            listed: AtomicUsize::new(0),
            list: Mutex::default(),
            history: Box::new(std::array::from_fn(|_| Past::default())),
        }
    }

    #[inline]
    fn place(&self, number: u64) -> &Tray<Sheet> {
        &self.places[(number % PLACES) as usize]
    }

    /// Whether the card of a collective has been shown: asked while the asking rank is not done
    /// with it.
    #[inline]
    fn has_shown(&self, number: u64) -> bool {
        let is_here = number & AGAIN == 0 && self.place(number).shown() >= number;
        is_here || self.is_listed(number)
    }

    #[inline]
    fn is_listed(&self, number: u64) -> bool {
        // Relaxed: a hint; the list has its lock.
        self.listed.load(Ordering::Relaxed) > 0 && self.listed_card(number).is_some()
    }

    #[cold]
    fn listed_card(&self, number: u64) -> Option<Arc<Apart>> {
        lock(&self.list).iter().find(|it| it.number == number).cloned()
    }

    /// The card of a collective, which has been shown.
    #[inline]
    fn card(&self, number: u64) -> Found<'_> {
        let place = self.place(number);
        if number & AGAIN == 0 && place.shown() == number {
            return Found::Here(place);
        }
        Found::Apart(self.listed_card(number).expect("it was shown, and the asker is not done"))
    }

    /// Puts a card into the list.
    fn put(&self, it: &Arc<Apart>) {
        let mut list = lock(&self.list);
        list.push(Arc::clone(it));
        self.listed.store(list.len(), Ordering::Relaxed);
    }

    /// Drops cards with which all ranks are done.
    #[cold]
    fn clear(&self, done: u64) {
        let mut list = lock(&self.list);
        list.retain(|it| it.number & AGAIN != 0 || it.number > done);
        self.listed.store(list.len(), Ordering::Relaxed);
    }

    /// A rank of so many is done with a persistent collective's card: all ranks look for those.
    fn part(&self, it: &Arc<Apart>, size: usize) {
        // AcqRel: the last one drops it after all have read it.
        if it.parted.fetch_add(1, Ordering::AcqRel) + 1 == size {
            let mut list = lock(&self.list);
            list.retain(|other| !Arc::ptr_eq(other, it));
            self.listed.store(list.len(), Ordering::Relaxed);
        }
    }

    /// Notes a call that the rank makes.
    #[inline]
    fn note(&self, number: u64, digest: u64, call: &Collective) {
        let past = &self.history[number as usize % KEPT];
        // Pairs with the fence in `past`: who reads a part of this sees that the call before was
        // told.
        fence(Ordering::Release);
        past.number.store(number, Ordering::Relaxed);
        past.digest.store(digest, Ordering::Relaxed);
        past.site.store(call.site.number(), Ordering::Relaxed);
        past.root.store(call.root.unwrap_or(usize::MAX), Ordering::Relaxed);
        past.bytes.store(call.bytes.unwrap_or(usize::MAX), Ordering::Relaxed);
        past.op.store(call.op.number(), Ordering::Relaxed);
        // Published by `last`.
        self.progress.digest.store(digest, Ordering::Relaxed);
        self.progress.last.tell(number);
    }

    /// A call of the rank, if it is still known, and its digest.
    fn past(&self, number: u64) -> Option<(u64, Collective)> {
        let past = &self.history[number as usize % KEPT];
        let given = |it: usize| (it != usize::MAX).then_some(it);
        let it = Collective {
            context: 0,
            number,
            site: Site::of(past.site.load(Ordering::Relaxed)),
            root: given(past.root.load(Ordering::Relaxed)),
            bytes: given(past.bytes.load(Ordering::Relaxed)),
            op: Mark::of(past.op.load(Ordering::Relaxed)),
        };
        let digest = past.digest.load(Ordering::Relaxed);
        let is_it = past.number.load(Ordering::Relaxed) == number;
        // Pairs with the fence in `note`.
        fence(Ordering::Acquire);
        let last = self.progress.last.told();
        // Of the oldest one the place may be written just now.
        let is_whole = last >= number && last + 1 < number + KEPT as u64;
        (is_it && is_whole).then_some((digest, it))
    }
}

/// Where the ranks of a communicator show their cards.
#[derive(Debug)]
pub struct Board {
    ranks: Vec<Shelf>,
    /// The ranks in the world.
    members: Vec<usize>,
}

impl Board {
    /// For these ranks of the world.
    pub fn new(members: &[usize]) -> Board {
        let ranks = members.iter().map(|_| Shelf::new()).collect();
        Board { ranks, members: members.to_vec() }
    }

    /// Whether these ranks have shown their cards: for a rank that is not done with the collective.
    pub fn have_shown(&self, number: u64, awaits: Awaits) -> bool {
        awaits.ranks(self.ranks.len()).all(|it| self.ranks[it].has_shown(number))
    }
}

/// What a rank knows of the collectives that it has started on a communicator.
#[derive(Debug, Default)]
pub struct Begun {
    /// The last one.
    last: u64,
    digest: u64,
    /// It is done with all up to this one, and with these.
    done: u64,
    beyond: Vec<u64>,
    /// What each rank is known to be done with, and the least of them.
    known: Vec<u64>,
    least: u64,
}

impl Begun {
    /// The rank is done with a collective: gives up to where it is now.
    fn end(&mut self, number: u64) -> u64 {
        if number != self.done + 1 {
            self.beyond.push(number);
            return self.done;
        }
        self.done = number;
        while let Some(index) = self.beyond.iter().position(|it| *it == self.done + 1) {
            self.beyond.swap_remove(index);
            self.done += 1;
        }
        self.done
    }
}

fn mixed(digest: u64, call: &Collective, is_stored: bool) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let root = call.root.map_or(0, |it| it as u64 + 1);
    let bytes = call.bytes.map_or(0, |it| it as u64 + 1);
    let what = (call.site.function() as u64) << 1 | u64::from(is_stored);
    let what = what ^ (call.op.number() as u64) << 16 ^ root << 40;
    let mixed = (digest.rotate_left(23) ^ what).wrapping_mul(FACTOR);
    (mixed.rotate_left(29) ^ bytes).wrapping_mul(FACTOR)
}

/// A collective that this rank has started, and that is not complete.
#[derive(Debug)]
pub struct Open {
    comm: Rc<Comm>,
    number: u64,
    /// Whose cards it needs.
    awaits: Awaits,
    lends: bool,
    root: Option<usize>,
    is_fold: bool,
    /// So many of the cards that it needs have been shown.
    shown: usize,
    /// Whether others lend it memory; so its part is claimed.
    is_lent: Option<bool>,
    is_over: bool,
    /// So many others have done their parts, of those that read this rank's memory.
    over: usize,
    looks: u32,
    digest: u64,
    /// The calling rank in the world.
    me: usize,
}

/// What was started.
#[derive(Debug)]
pub enum Begin {
    /// It is complete.
    Complete(Option<Error>),
    /// It is not.
    Open(Open),
}

/// Starts a collective on `comm` for the calling rank.
///
/// # Safety
/// The places are memory of the program as their types say, which stays valid and is left alone
/// until it is complete.
pub unsafe fn start(
    world: &World,
    comm: &Comm,
    site: Site,
    terms: Terms,
    part: Part,
    awaits: Awaits,
) -> Begin {
    let (rank, size) = (comm.rank, comm.size());
    let me = comm.world_rank(rank);
    let board = comm.shared.board();
    let shelf = &board.ranks[rank];
    let Terms { root, op, bytes } = terms;
    let given = comm.next_started();
    let is_again = given & AGAIN != 0;
    let mut begun = comm.begun.borrow_mut();
    let number = if is_again { given } else { begun.last + 1 };
    let call = Collective { context: comm.shared.context, number, site, root, op, bytes };
    let most = if size <= MANY { STORED } else { STORED_BY_MANY };
    let is_stored = match &part {
        Part::Exchange { offer, .. } => offer.bytes(size) <= most,
        Part::Fold { own, .. } => own.bytes() <= most && own.is_contiguous(),
    };
    let is_fold = matches!(part, Part::Fold { .. });
    // How a reduction goes must be the same for all; between two groups each may have its own.
    let is_marked = is_fold && !comm.is_inter() && is_stored;
    let before = if is_again { 0 } else { begun.digest };
    let digest = mixed(before, &call, is_marked);
    // Who reads no cards sees no difference: of those in a list nothing else tells.
    let is_free = !is_again && has_room(world, board, &mut begun, (rank, number));
    if shelf.listed.load(Ordering::Relaxed) > 0 {
        let done = board.ranks.iter().map(|it| it.progress.done.told()).min();
        shelf.clear(done.unwrap_or(0));
    }
    let all = !is_free || (is_fold && !is_stored);
    let awaits = if all { Awaits::All } else { awaits };
    if !is_again {
        (begun.last, begun.digest) = (number, digest);
    }
    let done = begun.done;
    drop(begun);
    let lends = !is_stored;
    let fill = |sheet: &mut Sheet| {
        let rest = &mut *sheet.rest;
        (rest.call, rest.awaits) = (call, awaits);
        if rest.failed.get().is_some() {
            rest.failed = OnceLock::new();
        }
        if !rest.kept.is_empty() {
            rest.kept = Vec::new();
        }
        let part = rest.part.insert(part);
        // First what only this rank reads. The first lines, at which others look all the time, are
        // written in one go then.
        compiler_fence(Ordering::Release);
        // SAFETY: the caller's promise.
        unsafe { sheet.front.take_data(part, is_stored, size) };
        (sheet.front.digest, sheet.front.done) = (digest, done);
        if lends {
            // SAFETY: as above.
            unsafe { sheet.keep(size) };
        }
    };
    if is_free {
        // SAFETY: the rank's own, and `has_room`.
        unsafe { shelf.place(number).show(number, fill) };
    } else {
        let (tray, parted) = (Tray::default(), AtomicUsize::new(0));
        // SAFETY: nobody else knows it.
        unsafe { tray.show(number, fill) };
        shelf.put(&Arc::new(Apart { number, tray, parted }));
    }
    if !is_again {
        // Later than the card: another rank looks there now and then, for which writes wait.
        shelf.note(number, digest, &call);
    }
    let mut open = Open {
        comm: comm.kept(),
        number,
        awaits,
        lends,
        root,
        is_fold,
        shown: awaits.ranks(size).start,
        is_lent: None,
        is_over: false,
        over: 0,
        looks: 0,
        digest,
        me,
    };
    // SAFETY: the caller's promise.
    let ended = unsafe { open.advance(world) };
    if lends {
        // As in `Req::complete`: who sleeps until all have come hears of it. Short data comes too
        // often for a fence.
        fence(Ordering::SeqCst);
    }
    open.wake(world);
    match ended {
        Some(failed) => Begin::Complete(failed),
        None => Begin::Open(open),
    }
}

/// Whether the rank's place for a collective is free; if only others hold it, it waits a moment.
fn has_room(world: &World, board: &Board, begun: &mut Begun, (rank, number): (usize, u64)) -> bool {
    if is_free(number, begun.least) {
        return true;
    }
    is_free(number, begun.done) && world.look_for(|| refresh(board, begun, rank, number)).is_some()
}

/// Asks the ranks what they are done with; compares their last call with this rank's.
#[cold]
fn refresh(board: &Board, begun: &mut Begun, rank: usize, number: u64) -> Option<()> {
    begun.known.resize(board.ranks.len(), 0);
    begun.known[rank] = begun.done;
    for (peer, known) in begun.known.iter_mut().enumerate() {
        if !is_free(number, *known) {
            *known = board.ranks[peer].progress.done.told();
            if !is_free(number, *known) {
                return None;
            }
            compare(board, rank, peer);
        }
    }
    begun.least = begun.known.iter().copied().min().unwrap_or(0);
    Some(())
}

/// Ends the run if the last call of one of the two, as far as it is known of the other, differs.
fn compare(board: &Board, rank: usize, peer: usize) {
    let (own, other) = (&board.ranks[rank], &board.ranks[peer]);
    let number = own.progress.last.told().min(other.progress.last.told());
    if let (Some((one, _)), Some((two, _))) = (own.past(number), other.past(number))
        && one != two
        && let Some(lines) = difference(board, rank, peer)
    {
        differ(&lines);
    }
}

/// Ends the run.
#[cold]
fn differ(lines: &str) -> ! {
    end(1, &format!("phalanx: calls of one collective differ:{lines}"))
}

/// No rank starts any more collectives on the communicator, or this one does not: ends the run if
/// its calls differ from those of the others, as far as they are known. `is_last`: the others have
/// started all of theirs.
pub fn close(comm: &Comm, is_last: bool) {
    let Some(board) = comm.shared.used_board() else { return };
    let (rank, own) = (comm.rank, &board.ranks[comm.rank]);
    let last = own.progress.last.told();
    for (peer, other) in board.ranks.iter().enumerate() {
        compare(board, rank, peer);
        let theirs = other.progress.last.told();
        if is_last
            && theirs < last
            && let Some((_, call)) = own.past(theirs + 1)
        {
            let (one, two) = (board.members[rank], board.members[peer]);
            let text = call.describe();
            differ(&format!("\n  rank {one}: {text}\n  rank {two}: it has not started it"));
        }
    }
}

/// The first calls of two ranks that differ, of those that are known, in words.
fn difference(board: &Board, rank: usize, peer: usize) -> Option<String> {
    let (rank, peer) = (rank.min(peer), rank.max(peer));
    let (own, other) = (&board.ranks[rank], &board.ranks[peer]);
    let last = own.progress.last.told().min(other.progress.last.told());
    let first = last.saturating_sub(KEPT as u64 - 1).max(1);
    (first..=last).find_map(|number| {
        let ((one, first), (two, second)) = (own.past(number)?, other.past(number)?);
        let line = |rank: usize, call: &Collective| {
            format!("\n  rank {}: {}", board.members[rank], call.describe())
        };
        (one != two).then(|| line(rank, &first) + &line(peer, &second))
    })
}

impl Sheet {
    /// Keeps what is lent, if it will be overwritten.
    ///
    /// # Safety
    /// As `take_data`.
    unsafe fn keep(&mut self, size: usize) {
        let Rest { part, kept, .. } = &mut *self.rest;
        let Some(Part::Exchange { offer, is_in_place: true, .. }) = part else { return };
        *kept = vec![0_u8; offer.bytes(size)];
        let mut next = kept.as_mut_ptr() as usize;
        let pieces = (0..size).map(|rank| {
            let from = offer.of(rank).unwrap_or_else(|| bytes_at(next, 0));
            let to = bytes_at(next, from.bytes());
            next += from.bytes();
            // SAFETY: the caller's promise; the vector has room for all pieces.
            unsafe { copy(&from, &to) };
            to
        });
        *offer = Pieces::Each(pieces.collect());
    }
}

impl Open {
    /// The collective's number, whose cards are awaited for it to go on at all.
    pub fn awaited(&self) -> (u64, Awaits) {
        (self.number, if self.lends { Awaits::All } else { self.awaits })
    }

    /// The communicator's part that all share.
    pub fn shared(&self) -> &Shared {
        &self.comm.shared
    }

    fn board(&self) -> &Board {
        self.comm.shared.board()
    }

    fn wake(&self, world: &World) {
        for rank in &self.comm.shared.members {
            if *rank != self.me {
                world.wake(self.me, *rank);
            }
        }
    }

    /// Does what can be done now; `Some` if it is complete: with its error, if there is one.
    ///
    /// # Safety
    /// As `start`, of all ranks' calls; the calling rank's.
    #[inline]
    pub unsafe fn advance(&mut self, world: &World) -> Option<Option<Error>> {
        if !self.is_over {
            let ranks = self.awaits.ranks(self.comm.size());
            while self.shown < ranks.end {
                if !self.board().ranks[self.shown].has_shown(self.number) {
                    return None;
                }
                self.shown += 1;
            }
            // SAFETY: passed on.
            if !unsafe { self.do_own(world) } {
                return None;
            }
            self.is_over = true;
        }
        // SAFETY: passed on.
        if self.lends && !unsafe { self.are_others_over(world) } {
            return None;
        }
        Some(self.end())
    }

    /// Does this rank's part, all cards for which have been shown, or sees that it has been done.
    ///
    /// # Safety
    /// As `advance`.
    #[inline]
    unsafe fn do_own(&mut self, world: &World) -> bool {
        let rank = self.comm.rank;
        let is_lent = match self.is_lent {
            Some(is_lent) => is_lent,
            None => self.check(self.awaits),
        };
        self.is_lent = Some(is_lent);
        let card = self.board().ranks[rank].card(self.number);
        if is_lent {
            if card.claim(self.number) {
                // SAFETY: the caller's promise; it was claimed.
                unsafe { self.work(rank, true) };
                card.tell_over(self.number);
                self.tell_lenders(world);
                return true;
            }
            return card.is_over(self.number);
        }
        // SAFETY: the caller's promise; nobody else does it, for nobody lends.
        unsafe { self.work(rank, false) };
        true
    }

    /// Whether `advance` would do something: for who waits inside of the library.
    pub fn can_advance(&self) -> bool {
        let (board, number, rank) = (self.board(), self.number, self.comm.rank);
        if !self.is_over {
            let own = board.ranks[rank].card(number);
            let may_do = || self.is_lent != Some(true) || own.is_over(number);
            return board.have_shown(number, self.awaits) && may_do();
        }
        let is_over = |at: usize| {
            let shelf = &board.ranks[at];
            shelf.has_shown(number) && {
                let card = shelf.card(number);
                card.is_over(number)
                    || !card.is_claimed(number) && {
                        // SAFETY: it was shown, and this rank is not done.
                        board.have_shown(number, unsafe { card.read(|it| it.rest.awaits) })
                    }
            }
        };
        let mut others = self.others();
        others.start += self.over;
        !self.lends || others.find(|it| *it != rank).is_none_or(is_over)
    }

    /// Those that read, or write, this rank's memory if it lends it.
    fn others(&self) -> Range<usize> {
        let (rank, size) = (self.comm.rank, self.comm.size());
        match self.root {
            Some(root) if root != rank && !self.comm.is_inter() && !self.is_fold => root..root + 1,
            _ => 0..size,
        }
    }

    fn tell_lenders(&self, world: &World) {
        // As in `Req::complete`.
        fence(Ordering::SeqCst);
        self.wake(world);
    }

    /// Compares the calls of those whose cards a rank needs, which have been shown, with its own;
    /// gives whether one lends memory.
    #[inline]
    fn check(&self, awaits: Awaits) -> bool {
        let (board, number) = (self.board(), self.number);
        let mut is_lent = false;
        let mut begun = self.comm.begun.borrow_mut();
        for peer in awaits.ranks(board.ranks.len()) {
            let card = board.ranks[peer].card(number);
            // SAFETY: it was shown, and this rank is not done.
            let (digest, data, done) =
                unsafe { card.read(|it| (it.front.digest, it.front.data, it.front.done)) };
            if digest != self.digest {
                self.differ(peer);
            }
            if let Some(known) = begun.known.get_mut(peer) {
                *known = (*known).max(done);
            }
            is_lent |= data == Data::Lent;
        }
        is_lent
    }

    #[cold]
    fn differ(&self, peer: usize) -> ! {
        let board = self.board();
        let line = |rank: usize| {
            let card = board.ranks[rank].card(self.number);
            // SAFETY: as `check`.
            let text = unsafe { card.read(|it| it.rest.call.describe()) };
            format!("\n  rank {}: {text}", self.comm.world_rank(rank))
        };
        let rank = self.comm.rank;
        let (first, second) = (rank.min(peer), rank.max(peer));
        let lines = difference(board, first, second).filter(|_| self.number & AGAIN == 0);
        let lines = lines.unwrap_or_else(|| line(first) + &line(second));
        differ(&lines)
    }

    /// Whether all have done their parts that read, or write, this rank's memory. What they do not
    /// do for a while, this rank does.
    ///
    /// # Safety
    /// As `advance`.
    unsafe fn are_others_over(&mut self, world: &World) -> bool {
        let (rank, number, others) = (self.comm.rank, self.number, self.others());
        let mut at = others.start + self.over;
        while at < others.end {
            if at != rank {
                let shelf = &self.board().ranks[at];
                if !shelf.has_shown(number) {
                    return false;
                }
                if !shelf.card(number).is_over(number) {
                    // SAFETY: passed on.
                    if !self.is_patient(world) || !unsafe { self.help(at, world) } {
                        return false;
                    }
                }
            }
            self.over += 1;
            at += 1;
        }
        true
    }

    /// Whether it has looked for as long as others may take to come to it by themselves.
    fn is_patient(&mut self, world: &World) -> bool {
        self.looks = self.looks.saturating_add(1);
        self.looks > if world.is_crowded() { LOOKS_CROWDED } else { LOOKS }
    }

    /// Does what another rank, whose card has been shown, has yet to do, if it can be done.
    ///
    /// # Safety
    /// As `advance`.
    #[cold]
    unsafe fn help(&self, other: usize, world: &World) -> bool {
        let card = self.board().ranks[other].card(self.number);
        // SAFETY: it was shown, and this rank is not done.
        let awaits = unsafe { card.read(|it| it.rest.awaits) };
        if !self.board().have_shown(self.number, awaits) || !card.claim(self.number) {
            return false;
        }
        self.check(awaits);
        // SAFETY: the caller's promise; it was claimed.
        unsafe { self.work(other, true) };
        card.tell_over(self.number);
        self.tell_lenders(world);
        true
    }

    /// This rank is done.
    fn end(&mut self) -> Option<Error> {
        let (rank, number, board) = (self.comm.rank, self.number, self.board());
        let own = board.ranks[rank].card(number);
        // SAFETY: the rank's own; its part is over.
        let failed = unsafe { own.read(|it| it.rest.failed.get().cloned()) };
        drop(own);
        if number & AGAIN != 0 {
            for shelf in &board.ranks {
                if let Some(it) = shelf.listed_card(number) {
                    shelf.part(&it, board.ranks.len());
                }
            }
        } else {
            let done = self.comm.begun.borrow_mut().end(number);
            board.ranks[rank].progress.done.tell(done);
        }
        failed
    }
}

/// What a reduction needs to know of a card.
struct Values<'a> {
    op: Operator,
    gives: Option<&'a (Place, Range<usize>, usize)>,
}

impl Open {
    /// Does the part of a rank; `is_lent`: others lend it memory.
    ///
    /// # Safety
    /// As `advance`; all cards for it have been shown, and it is the caller's to do.
    #[inline]
    unsafe fn work(&self, rank: usize, is_lent: bool) {
        let (board, number) = (self.board(), self.number);
        let size = board.ranks.len();
        let card = board.ranks[rank].card(number);
        let run = |sheet: &Sheet| match &sheet.rest.part {
            Some(Part::Exchange { takes, .. }) => takes.each(size, |peer, to| {
                let from = board.ranks[peer].card(number);
                // SAFETY: the caller's promise, and that of the peer's call.
                let failed = unsafe { from.read(|it| it.give(peer, (rank, size), to)) };
                if let Some(error) = failed {
                    let _ = sheet.rest.failed.set(error);
                }
            }),
            Some(Part::Fold { op, gives, .. }) => {
                let gives = gives.as_ref();
                // SAFETY: as above.
                unsafe { self.fold(rank, is_lent, Values { op: *op, gives }) };
            }
            None => {}
        };
        // SAFETY: it was shown, and the calling rank is not done.
        unsafe { card.read(run) };
    }

    /// # Safety
    /// As `work`.
    #[inline]
    unsafe fn fold(&self, rank: usize, is_lent: bool, it: Values<'_>) {
        if !is_lent {
            let Some((target, ranks, start)) = it.gives else { return };
            if ranks.is_empty() {
                return;
            }
            // Between groups a root has no values of its own.
            let element = target.ty.size;
            let at = |rank: usize| {
                let card = self.board().ranks[rank].card(self.number);
                // SAFETY: it was shown, and this rank is not done.
                unsafe { card.read(|it| it.front.address()) + start * element }
            };
            let values = Stored { at, op: it.op, element };
            // SAFETY: the cards hold as many elements each, for all agree; a target is the promise
            // of the rank's call.
            unsafe { values.fold_to(ranks.clone(), target) };
            return;
        }
        // SAFETY: passed on.
        unsafe { self.fold_any(rank, it) };
    }

    /// The same for values that are lent, or lie with gaps.
    ///
    /// # Safety
    /// As `work`.
    #[inline(never)]
    unsafe fn fold_any(&self, rank: usize, it: Values<'_>) {
        let (board, number, size) = (self.board(), self.number, self.comm.size());
        let cards: Vec<Found<'_>> = board.ranks.iter().map(|it| it.card(number)).collect();
        let values = |card: &Found<'_>| {
            // SAFETY: all have been shown, and this rank is not done until this returns; so what is
            // read stays.
            let sheet: &Sheet = unsafe { card.read(|it| &*std::ptr::from_ref(it)) };
            let Some(Part::Fold { own, op, gives }) = &sheet.rest.part else { return None };
            let own = match sheet.front.data {
                Data::Lent => own.clone(),
                _ => Place { address: sheet.front.address(), ..own.clone() },
            };
            Some((own, *op, gives.clone()))
        };
        let all: Vec<_> = cards.iter().filter_map(values).collect();
        if all.len() != size {
            return;
        }
        let owns: Vec<Place> = all.iter().map(|it| it.0.clone()).collect();
        // A user's operator is the working rank's own, if that has a part in it.
        let mine = &all[self.comm.rank];
        let op = if mine.0.count > 0 || mine.2.is_some() { mine.1 } else { it.op };
        let gives: Vec<_> = all.iter().filter_map(|it| it.2.clone()).collect();
        let is_even = |it: &Gives| it.1 == (0..size) && it.2 == 0 && it.0.count == owns[0].count;
        // What goes to where other values lie may be written when nobody reads these any more.
        let is_moved = |own: &Place, gives: &Gives| gives.0.address == own.address;
        let mut moved = all.iter().filter(|it| it.2.as_ref().is_some_and(|to| is_moved(&it.0, to)));
        // SAFETY: the caller's promise, for each of them.
        unsafe {
            if gives.iter().all(is_even) && owns.iter().all(|it| it.count == owns[0].count) {
                let elements = part(owns[0].count, rank, size);
                let targets: Vec<Place> = gives.into_iter().map(|it| it.0).collect();
                fold_part(&owns, &targets, elements, op);
            } else if moved.next().is_none() {
                if let Some(gives) = it.gives {
                    fold_whole(&owns, std::slice::from_ref(gives), op);
                }
            } else if rank == 0 {
                fold_whole(&owns, &gives, op);
            }
        }
    }
}

/// Values of ranks without gaps: where they lie, the operator, and bytes of an element.
struct Stored<A> {
    at: A,
    op: Operator,
    element: usize,
}

impl<A: Fn(usize) -> usize> Stored<A> {
    /// As `fold`, to a place.
    ///
    /// # Safety
    /// As `fold`.
    #[inline]
    unsafe fn fold_to(&self, ranks: Range<usize>, target: &Place) {
        if target.is_contiguous() {
            // SAFETY: passed on.
            return unsafe { self.fold(ranks, target.address, target.count) };
        }
        let length = target.count * self.element;
        let mut room = vec![0_u128; length.div_ceil(16)];
        let at = room.as_mut_ptr() as usize;
        // SAFETY: passed on; the room has as many bytes.
        unsafe {
            self.fold(ranks, at, target.count);
            target.write(std::slice::from_raw_parts(at as *const u8, length));
        }
    }

    /// The values of these ranks, which are some, go to so many elements at an address, as a tree:
    /// as `coll::fold`.
    ///
    /// # Safety
    /// All have as many elements; nobody writes them or uses the target.
    #[inline]
    unsafe fn fold(&self, ranks: Range<usize>, to: usize, count: usize) {
        let depth = ranks.len().next_power_of_two().trailing_zeros() as usize;
        // Two ranks need no room.
        let each = (count * self.element).div_ceil(16);
        let mut rooms = vec![0_u128; if depth > 1 { depth * each } else { 0 }];
        let (first, step) = (rooms.as_mut_ptr() as usize, 16 * each);
        // SAFETY: the caller's promise; the rooms are new.
        unsafe { self.tree(ranks, to, count, (first, step)) };
    }

    /// # Safety
    /// As `fold`; there is a room for each level but the last.
    unsafe fn tree(&self, ranks: Range<usize>, to: usize, count: usize, rooms: (usize, usize)) {
        // SAFETY: the caller's promise, for each part.
        unsafe {
            if ranks.len() == 1 {
                let from = (self.at)(ranks.start) as *const u8;
                std::ptr::copy_nonoverlapping(from, to as *mut u8, count * self.element);
                return;
            }
            let middle = ranks.start + ranks.len().next_power_of_two() / 2;
            self.tree(middle..ranks.end, to, count, rooms);
            if middle - ranks.start == 1 {
                self.combine((self.at)(ranks.start), to, count);
            } else {
                let (room, step) = rooms;
                self.tree(ranks.start..middle, room, count, (room + step, step));
                self.combine(room, to, count);
            }
        }
    }

    /// # Safety
    /// As `fold`.
    #[inline]
    unsafe fn combine(&self, from: usize, to: usize, count: usize) {
        // SAFETY: the caller's promise: as many elements without gaps.
        unsafe {
            match self.op {
                Operator::Known(op, element) => {
                    _ = apply(op, element, from as *const u8, to as *mut u8, count);
                }
                Operator::User(function, ty) => {
                    function.call(from, to, (count, self.element as isize), ty);
                }
            }
        }
    }
}

/// The result of all at these elements goes to each target, in blocks: so a target may be where
/// values lie.
///
/// # Safety
/// As `work`, of these elements of all.
unsafe fn fold_part(owns: &[Place], targets: &[Place], elements: Range<usize>, op: Operator) {
    let ty = &owns[0].ty;
    let count = elements.len();
    let block = (BLOCK / ty.size.max(1)).max(1).min(count.max(1));
    let is_flat = |it: &Place| it.is_contiguous();
    let are_flat = owns.iter().all(is_flat) && targets.iter().all(is_flat);
    let room = Temporary::new(ty, block);
    for start in elements.clone().step_by(block) {
        let length = block.min(elements.end - start);
        // SAFETY: the caller's promise; the room is new.
        unsafe {
            if are_flat {
                let at = |rank: usize| owns[rank].address + start * ty.size;
                let values = Stored { at, op, element: ty.size };
                values.fold(0..owns.len(), room.place.address, length);
                for target in targets {
                    let to = (target.address + start * ty.size) as *mut u8;
                    let from = room.place.address as *const u8;
                    std::ptr::copy_nonoverlapping(from, to, length * ty.size);
                }
                continue;
            }
            let at = |it: &Place| it.moved(start as isize, length);
            let parts: Vec<Place> = owns.iter().map(at).collect();
            let made = room.place.moved(0, length);
            fold(&parts, &made, op);
            targets.iter().for_each(|it| _ = copy(&made, &at(it)));
        }
    }
}

/// Results, each of these ranks from this element on, go to their places.
///
/// # Safety
/// As `work`; of all that is given.
unsafe fn fold_whole(owns: &[Place], gives: &[Gives], op: Operator) {
    // All are made before one is given: a result may go where values lie.
    let mut made: Vec<(Range<usize>, Range<usize>, Temporary)> = Vec::new();
    let of = |it: &Gives| (it.1.clone(), it.2..it.2 + it.0.count);
    for it in gives {
        let (ranks, elements) = of(it);
        let is_made = made.iter().any(|it| it.0 == ranks && it.1 == elements);
        if is_made || ranks.is_empty() {
            continue;
        }
        let room = Temporary::new(&it.0.ty, elements.len());
        let part = |it: &Place| it.moved(elements.start as isize, elements.len());
        let parts: Vec<Place> = owns[ranks.clone()].iter().map(part).collect();
        // SAFETY: the caller's promise; the room is new.
        unsafe { fold(&parts, &room.place, op) };
        made.push((ranks, elements, room));
    }
    for it in gives {
        let (ranks, elements) = of(it);
        if let Some(made) = made.iter().find(|it| it.0 == ranks && it.1 == elements) {
            // SAFETY: as above; nobody reads the values any more.
            unsafe { copy(&made.2.place, &it.0) };
        }
    }
}
