//! Handles: numbers that look like pointers, checked wherever they come in. A freed handle, one of
//! another kind, or any other number is an error, and never followed.
//!
//! | bits | field |
//! |---|---|
//! | 0..4 | kind |
//! | 4..22 | place in the table |
//! | 32..64 | how often the place was used |
//!
//! The object of a place is made once, and kept for ever: whoever comes with an old handle, on any
//! thread, finds the place's present handle beside the object, and never freed memory.

use crate::error::fail;
use crate::names::*;
use phalanx::engine::Lock;
use std::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("handles have 64 bits");

/// A table of objects of one kind.
pub(crate) struct Table<T> {
    kind: u64,
    /// The first chunk is there from the start, so that its places are found without a look for
    /// it. All of it is zeros: no page is there until it is used.
    first: [Place<T>; PLACES as usize],
    /// The others; the first is never looked at.
    chunks: [AtomicPtr<Place<T>>; CHUNKS],
    free: Lock<FreePlaces>,
}

/// The content of a place before it is used first.
pub(crate) trait Unused {
    /// A new one for each place.
    #[allow(clippy::declare_interior_mutable_const)]
    const UNUSED: Self;
}

impl<T> Unused for Lock<Option<T>> {
    const UNUSED: Self = Lock::new(None);
}

struct FreePlaces {
    places: Vec<u32>,
    made: u32,
}

/// Of a size that is a power of two: its address is found by a shift.
#[repr(align(1024))]
struct Place<T> {
    /// The handle; 0 while the place is free, which is none, as it has no kind.
    handle: AtomicU64,
    /// How often it was used. Only the thread that has reserved the place looks.
    uses: AtomicU64,
    object: T,
}

impl<T: Unused> Place<T> {
    #[allow(clippy::declare_interior_mutable_const)] // A new one for each place.
    const FREE: Place<T> =
        Place { handle: AtomicU64::new(0), uses: AtomicU64::new(0), object: T::UNUSED };
}

/// Places of a chunk, and chunks that there can be.
const PLACES: u32 = 128;
const CHUNKS: usize = 2048;

/// Places that a table can have.
const MOST: u32 = PLACES * CHUNKS as u32;

#[cold]
fn too_many() -> phx_err {
    fail(PHX_ERR_OTHER, format!("there are {MOST} objects of this kind already: free some"))
}

/// Where the place of a handle is: its chunk, and which of that. Any number has one.
#[inline(always)]
const fn place_of(handle: u64) -> (usize, usize) {
    let place = (handle >> 4) as usize;
    (place / PLACES as usize % CHUNKS, place % PLACES as usize)
}

impl<T: Unused + Sync> Table<T> {
    pub(crate) const fn new(kind: u64) -> Self {
        const { assert!(size_of::<Place<T>>().is_power_of_two()) };
        let first = [Place::FREE; PLACES as usize];
        let chunks = [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];
        Table { kind, first, chunks, free: Lock::new(FreePlaces { places: Vec::new(), made: 0 }) }
    }

    /// [`find`](Table::find) for the handles of the first chunk, quicker: the object, if the other
    /// is true. For 0 it may be that of a place that is free, which its users have left as they
    /// found it.
    #[inline(always)]
    pub(crate) fn find_first(&self, handle: u64) -> (&T, bool) {
        let place = &self.first[(handle >> 4) as usize % PLACES as usize];
        // Acquire: as there.
        (&place.object, place.handle.load(Acquire) == handle)
    }

    #[inline(always)]
    fn place(&self, handle: u64) -> Option<&Place<T>> {
        let (chunk, at) = place_of(handle);
        if chunk == 0 {
            return Some(&self.first[at]);
        }
        // Acquire: pairs with the store in `reserve`, which comes after the places were made.
        let chunk = self.chunks[chunk].load(Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk has all places of its number, and is kept for ever.
        Some(unsafe { &*chunk.add(at) })
    }

    /// The object of `handle`, if that is one of this table's.
    #[inline(always)]
    pub(crate) fn find(&self, handle: u64) -> Option<&T> {
        let place = self.place(handle)?;
        // All of it is compared, the kind among it.
        // Acquire: pairs with the store in `publish`: the object is whole.
        (place.handle.load(Acquire) == handle && handle != 0).then_some(&place.object)
    }

    /// A free place: its handle, which is nobody's until it is [published](Table::publish), and its
    /// object. An error if there are too many.
    pub(crate) fn reserve(&self) -> Result<(u64, &T), phx_err> {
        let Some((at, place)) = self.free.with(|free| self.take(free)) else {
            return Err(too_many());
        };
        // Not 0, and not so soon again its old value. (The place is this thread's alone, and what
        // its last user did came before by the lock.)
        let uses = place.uses.load(Relaxed) % u64::from(u32::MAX) + 1;
        place.uses.store(uses, Relaxed);
        Ok((uses << 32 | u64::from(at) << 4 | self.kind, &place.object))
    }

    fn take(&self, free: &mut FreePlaces) -> Option<(u32, &Place<T>)> {
        let at = match free.places.pop() {
            Some(at) => at,
            None if free.made == MOST => return None,
            None => {
                free.made += 1;
                free.made - 1
            }
        };
        let (chunk, _) = place_of(u64::from(at) << 4);
        if chunk > 0 && self.chunks[chunk].load(Relaxed).is_null() {
            let places: Box<[Place<T>]> = (0..PLACES).map(|_| Place::FREE).collect();
            // Release: the places are made.
            self.chunks[chunk].store(Box::leak(places).as_mut_ptr(), Release);
        }
        Some((at, self.place(u64::from(at) << 4).expect("made above")))
    }

    /// From now on `handle`, which was reserved, is found.
    pub(crate) fn publish(&self, handle: u64) {
        let place = self.place(handle).expect("reserved");
        // Release: a thread that finds it finds the object as it is now.
        place.handle.store(handle, Release);
    }

    /// From now on `handle` is nobody's. Returns false if it was not one.
    pub(crate) fn retire(&self, handle: u64) -> bool {
        let Some(place) = self.place(handle) else { return false };
        handle != 0 && place.handle.compare_exchange(handle, 0, Relaxed, Relaxed).is_ok()
    }

    /// The place of `handle`, which was retired, may be reserved again.
    pub(crate) fn recycle(&self, handle: u64) {
        self.free.with(|free| free.places.push((handle as u32) >> 4));
    }
}
