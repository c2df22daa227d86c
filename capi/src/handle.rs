//! Handles: numbers that look like pointers, checked wherever they come in. A freed handle, one of
//! another kind, or any other number is an error, and never followed.
//!
//! | bits | field |
//! |---|---|
//! | 0..4 | kind |
//! | 4..32 | place in the table |
//! | 32..64 | how often the place was used |
//!
//! The object of a place is made once, and kept for ever: whoever comes with an old handle, on any
//! thread, finds the place's present handle beside the object, and never freed memory.

use std::sync::Mutex;
use std::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("handles have 64 bits");

/// A table of objects of one kind.
pub(crate) struct Table<T> {
    kind: u64,
    chunks: [AtomicPtr<Place<T>>; CHUNKS],
    free: Mutex<Free>,
}

struct Free {
    places: Vec<u32>,
    made: u32,
}

struct Place<T> {
    /// The handle; 0 while the place is free.
    handle: AtomicU64,
    /// How often it was used. Behind the lock of `free`.
    uses: AtomicU64,
    object: T,
}

/// Places of a chunk, and chunks that there can be.
const PLACES: u32 = 64;
const CHUNKS: usize = 4096;

const fn chunk_of(place: u32) -> (usize, usize) {
    ((place / PLACES) as usize, (place % PLACES) as usize)
}

impl<T: Default + Sync> Table<T> {
    pub(crate) const fn new(kind: u64) -> Self {
        let chunks = [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];
        Table { kind, chunks, free: Mutex::new(Free { places: Vec::new(), made: 0 }) }
    }

    #[inline(always)]
    fn place(&self, place: u32) -> Option<&Place<T>> {
        let (chunk, at) = chunk_of(place);
        // Acquire: pairs with the store in `make`, which comes after the places were made.
        let chunk = self.chunks.get(chunk)?.load(Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk has all places of its number, and is kept for ever.
        Some(unsafe { &*chunk.add(at) })
    }

    /// The object of `handle`, if that is one of this table's.
    #[inline(always)]
    pub(crate) fn find(&self, handle: u64) -> Option<&T> {
        if handle & 15 != self.kind {
            return None;
        }
        let place = self.place((handle as u32) >> 4)?;
        // Acquire: pairs with the store in `publish`: the object is whole.
        (place.handle.load(Acquire) == handle).then_some(&place.object)
    }

    /// A free place: its handle, which is nobody's until it is [published](Table::publish), and its
    /// object.
    pub(crate) fn reserve(&self) -> (u64, &T) {
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        let at = free.places.pop().unwrap_or_else(|| {
            free.made += 1;
            free.made - 1
        });
        assert!(at < PLACES * CHUNKS as u32, "too many handles");
        let (chunk, _) = chunk_of(at);
        if self.chunks[chunk].load(Relaxed).is_null() {
            let place = || Place {
                handle: AtomicU64::new(0),
                uses: AtomicU64::new(0),
                object: T::default(),
            };
            let places: Box<[Place<T>]> = (0..PLACES).map(|_| place()).collect();
            // Release: the places are made.
            self.chunks[chunk].store(Box::leak(places).as_mut_ptr(), Release);
        }
        let place = self.place(at).expect("made above");
        // Not 0, and not so soon again what it was.
        let uses = place.uses.load(Relaxed) % u64::from(u32::MAX) + 1;
        place.uses.store(uses, Relaxed);
        (uses << 32 | u64::from(at) << 4 | self.kind, &place.object)
    }

    /// From now on `handle`, which was reserved, is found.
    pub(crate) fn publish(&self, handle: u64) {
        let place = self.place((handle as u32) >> 4).expect("reserved");
        // Release: who finds it finds the object as it is now.
        place.handle.store(handle, Release);
    }

    /// From now on `handle` is nobody's. Returns false if it was not one.
    pub(crate) fn retire(&self, handle: u64) -> bool {
        let Some(place) = self.place((handle as u32) >> 4) else { return false };
        handle & 15 == self.kind
            && place.handle.compare_exchange(handle, 0, Relaxed, Relaxed).is_ok()
    }

    /// The place of `handle`, which was retired, may be reserved again.
    pub(crate) fn recycle(&self, handle: u64) {
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        free.places.push((handle as u32) >> 4);
    }
}
