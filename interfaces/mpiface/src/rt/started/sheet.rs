//! The contents of a card: in two lines all that others read of short data, elsewhere the rest.

use super::part::{Part, Pieces};
use crate::rt::awaits::Awaits;
use crate::rt::edges::Edge;
use crate::rt::error::{Class, Error, Site};
use crate::rt::log::Collective;
use crate::rt::operator::Temporary;
use crate::rt::ops::Mark;
use crate::rt::p2p::unequal;
use crate::rt::types::{Place, bytes_at, copy};
use phalanx::engine::Tray;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Deref;
use std::sync::OnceLock;

/// Up to so many bytes lie in the lines of the card that have its number.
const ROOM: usize = 72;

/// The form of a card's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Data {
    /// There is none.
    #[default]
    Nothing,
    /// The same for all.
    Same,
    /// A piece for each, all as long.
    Even,
    /// As many ends of pieces as there are ranks (of 4 bytes each), and the pieces.
    Each,
    /// The number of edges; of each its two numbers and the end of its piece; and the pieces.
    Edges,
    /// It lies where the part says.
    Lent,
}

/// A line of memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct SheetLine(#[expect(dead_code, reason = "used by its address")] [u8; 64]);

/// The contents of a card.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Sheet {
    pub(super) front: Front,
    pub(super) rest: LateRest,
}

/// Made for a place's first card: few of the places of a persistent request's own communicator are
/// used, and programs make very many of them.
#[derive(Debug, Default)]
pub(super) struct LateRest(Option<Box<Rest>>);

impl LateRest {
    pub(super) fn made(&mut self) -> &mut Rest {
        self.0.get_or_insert_default()
    }
}

impl Deref for LateRest {
    type Target = Rest;

    fn deref(&self) -> &Rest {
        self.0.as_ref().expect("made with the card")
    }
}

/// The words that only its rank needs as long as data is short. They lie apart: processors fetch
/// the lines behind those that others read, too, and each write there would wait for them.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) call: Collective,
    pub(super) awaits: Awaits,
    pub(super) part: Option<Part>,
    /// The offer, if its own memory cannot lend it.
    pub(super) kept: Vec<u128>,
    pub(super) failed: OnceLock<Box<Error>>,
}

impl Default for Rest {
    fn default() -> Rest {
        let (site, op) = (Site::default(), Mark::None);
        let call = Collective { context: 0, number: 0, site, root: None, bytes: None, op };
        let (kept, failed) = (Vec::new(), OnceLock::new());
        Rest { call, awaits: Awaits::Nobody, part: None, kept, failed }
    }
}

/// All that others read of short data: with the number, two lines.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Front {
    pub(super) digest: u64,
    /// Up to this number the rank is done.
    pub(super) done: u64,
    length: u32,
    pub(super) data: Data,
    room: [MaybeUninit<u8>; ROOM],
    /// For more than `ROOM` bytes; kept for the place's next card.
    lines: Box<[SheetLine]>,
}

// With the number: two lines, and data from the 32nd byte on, so that it is aligned for each
// element.
const _: () = assert!(offset_of!(Front, room) == 24 && Tray::<Sheet>::CLAIM == 128);
// Programs have very many at once.
const _: () = assert!(size_of::<Rest>() <= 256 && size_of::<Tray<Sheet>>() <= 144);

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
    /// The address of the stored data.
    #[inline]
    pub(super) fn address(&self) -> usize {
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
        let lines = length.next_power_of_two().div_ceil(size_of::<SheetLine>());
        self.lines = vec![SheetLine([0; 64]); lines].into();
    }

    /// The piece for a rank of so many, as address and length of the stored data; of edges, that
    /// along the edge of this number, if there is one.
    #[inline]
    fn piece(&self, (rank, number): Edge, size: usize) -> Option<(usize, usize)> {
        let (at, length) = (self.address(), self.length as usize);
        Some(match self.data {
            Data::Edges => return self.piece_along((rank, number)),
            Data::Even => (at + length / size * rank, length / size),
            Data::Each => {
                // SAFETY: `store_pieces` has written as many ends, aligned as lines are.
                let end = |index: usize| unsafe { (at as *const u32).add(index).read() as usize };
                let start = if rank == 0 { 4 * size } else { end(rank - 1) };
                (at + start, end(rank) - start)
            }
            _ => (at, length),
        })
    }

    fn piece_along(&self, (rank, number): Edge) -> Option<(usize, usize)> {
        let at = self.address();
        // SAFETY: `store_pieces` has written the count and as many heads, aligned as lines are.
        let heads = unsafe {
            let count = (at as *const u32).read() as usize;
            std::slice::from_raw_parts((at as *const u32).add(1).cast::<[u32; 3]>(), count)
        };
        let is_it = |it: &[u32; 3]| (it[0] as usize, it[1] as usize) == (rank, number);
        let index = heads.iter().position(is_it)?;
        let end = |index: usize| heads[index][2] as usize;
        let start = if index == 0 { head_bytes(heads.len()) } else { end(index - 1) };
        Some((at + start, end(index) - start))
    }

    /// Stores the offer to so many ranks.
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
                Pieces::Edges(all) => {
                    let mut next = head_bytes(all.len());
                    let at = self.store(Data::Edges, length + next);
                    (at as *mut u32).write(all.len() as u32);
                    let heads = (at as *mut u32).add(1).cast::<[u32; 3]>();
                    for (index, ((rank, number), place)) in all.iter().enumerate() {
                        place.read((at + next) as *mut u8);
                        next += place.bytes();
                        heads.add(index).write([*rank as u32, *number as u32, next as u32]);
                    }
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
    pub(super) unsafe fn take_data(&mut self, part: &Part, is_stored: bool, size: usize) {
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

/// Bytes before the pieces of so many edges.
fn head_bytes(edges: usize) -> usize {
    4 + 12 * edges
}

impl Sheet {
    /// The piece of an exchange for a rank of so many goes there, along an edge, if there are some:
    /// the error, if it is not as long (`may_be_less`: if it is longer).
    ///
    /// # Safety
    /// As `copy`; the card's rank `peer` lends its memory still, if it does.
    #[inline]
    pub(super) unsafe fn give(
        &self,
        (peer, number): Edge,
        (rank, size): (usize, usize),
        (to, may_be_less): (&Place, bool),
    ) -> Option<Error> {
        let room = to.bytes();
        let fits = |given: usize| given == room || (may_be_less && given < room);
        let given = match self.front.data {
            Data::Nothing => return None,
            Data::Lent => {
                let Some(Part::Exchange { offer, .. }) = &self.rest.part else { return None };
                let Some(from) = offer.of(rank, number) else { return self.no_edge(peer, offer) };
                if fits(from.bytes()) {
                    // SAFETY: the caller's promise.
                    unsafe { copy(&from, to) };
                    return None;
                }
                from.bytes()
            }
            _ => {
                let Some((at, length)) = self.front.piece((rank, number), size) else {
                    return Some(self.without_edge(peer));
                };
                if fits(length) {
                    // SAFETY: so many bytes are stored there; the rest is the caller's promise.
                    unsafe { to.write(std::slice::from_raw_parts(at as *const u8, length)) };
                    return None;
                }
                length
            }
        };
        Some(self.unequal(peer, given, room))
    }

    #[cold]
    fn no_edge(&self, peer: usize, offer: &Pieces) -> Option<Error> {
        matches!(offer, Pieces::Edges(_)).then(|| self.without_edge(peer))
    }

    #[cold]
    fn without_edge(&self, peer: usize) -> Error {
        let Collective { site, context, .. } = self.rest.call;
        let before = format!("rank {peer} of the communicator has no edge to this one in ");
        Error::naming(Class::Truncate, before, site, "").on(context)
    }

    #[cold]
    fn unequal(&self, peer: usize, given: usize, expected: usize) -> Error {
        let Collective { site, context, .. } = self.rest.call;
        let rank = format!("{peer} of the communicator");
        unequal((rank, site), given, expected).on(context)
    }
}

impl Sheet {
    /// Keeps the lent data, if it will be overwritten.
    ///
    /// # Safety
    /// As `take_data`.
    pub(super) unsafe fn keep(&mut self, size: usize) {
        let Rest { part, kept, .. } = self.rest.made();
        let offer = match part {
            Some(Part::Exchange { offer, is_in_place: true, .. }) => offer,
            // A part of the result goes where the values of other parts lie.
            Some(Part::Fold { own, gives: Some((to, ..)), .. })
                if to.address == own.address && to.count != own.count =>
            {
                let Temporary { room, place } = Temporary::new(&own.ty, own.count);
                // SAFETY: the caller's promise; the room is new.
                unsafe { copy(own, &place) };
                (*own, *kept) = (place, room);
                return;
            }
            _ => return,
        };
        *kept = vec![0; offer.bytes(size).div_ceil(16)];
        let mut next = kept.as_mut_ptr() as usize;
        let pieces = (0..size).map(|rank| {
            let from = offer.of(rank, 0).unwrap_or_else(|| bytes_at(next, 0));
            let to = bytes_at(next, from.bytes());
            next += from.bytes();
            // SAFETY: the caller's promise; the vector has room for all pieces.
            unsafe { copy(&from, &to) };
            to
        });
        *offer = Pieces::Each(pieces.collect());
    }
}
