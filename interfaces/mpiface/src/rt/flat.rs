//! Memory of a place as the library takes it: contiguous, and aligned for its elements.

use super::types::{Place, bytes_at, copy};
use std::slice;

/// Room on the stack for packed data: 64 bytes.
type Small = [u128; 4];

/// Memory of a place as the library takes it: contiguous, and aligned for its elements.
pub(super) struct Flat {
    address: usize,
    pub(super) bytes: usize,
    small: Small,
    large: Vec<u128>,
}

impl Flat {
    /// A place's own memory, if it is as the library takes it.
    pub(super) fn direct(place: &Place, align: usize) -> Option<Flat> {
        let is_it = place.ty.is_contiguous(place.count) && place.address.is_multiple_of(align);
        is_it.then(|| Flat::over(place.address, place.bytes()))
    }

    /// Memory at an address.
    pub(super) fn over(address: usize, bytes: usize) -> Flat {
        Flat { address, ..Flat::room(0, bytes) }
    }

    /// New room; its address is known when it rests (`at`).
    pub(super) fn room(length: usize, bytes: usize) -> Flat {
        let is_small = length <= size_of::<Small>();
        let large = if is_small { Vec::new() } else { vec![0; length.div_ceil(16)] };
        Flat { address: 0, bytes, small: [0; 4], large }
    }

    /// A copy of so many bytes: room that nothing else is written to before.
    ///
    /// # Safety
    /// They are memory of the program.
    pub(super) unsafe fn copied(from: *const u8, bytes: usize) -> Flat {
        let mut flat = Flat::room(0, bytes);
        if bytes > size_of::<Small>() {
            let length = bytes.div_ceil(16);
            flat.large.reserve_exact(length);
            // SAFETY: there is room for as many; the end of the last is written before the bytes.
            unsafe {
                flat.large.as_mut_ptr().add(length - 1).write(0);
                std::ptr::copy_nonoverlapping(from, flat.large.as_mut_ptr().cast(), bytes);
                flat.large.set_len(length);
            }
        } else {
            // SAFETY: the caller's promise; there is room.
            unsafe { std::ptr::copy_nonoverlapping(from, flat.small.as_mut_ptr().cast(), bytes) };
        }
        flat
    }

    pub(super) fn is_direct(&self) -> bool {
        self.address != 0
    }

    pub(super) fn at(&mut self) -> *mut u8 {
        match self.address {
            0 if self.large.is_empty() => self.small.as_mut_ptr().cast(),
            0 => self.large.as_mut_ptr().cast(),
            address => address as *mut u8,
        }
    }

    /// The bytes; nobody else uses them meanwhile.
    ///
    /// # Safety
    /// If it is direct: the place is memory of the program that may be written, for as long as the
    /// slice lives.
    pub(super) unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        let (at, length) = (self.at(), self.bytes);
        if length == 0 {
            return &mut [];
        }
        // SAFETY: the caller's promise, or room of so many bytes.
        unsafe { slice::from_raw_parts_mut(at, length) }
    }

    /// The bytes, to be read.
    ///
    /// # Safety
    /// As `bytes_mut`, but that nobody writes them.
    pub(super) unsafe fn bytes(&mut self) -> &[u8] {
        let (at, length) = (self.at(), self.bytes);
        if length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise, or room of so many bytes.
        unsafe { slice::from_raw_parts(at, length) }
    }

    /// The data of a place.
    ///
    /// # Safety
    /// The place is memory of the program as its type says.
    pub(super) unsafe fn of(place: &Place) -> Flat {
        Flat::direct(place, 1).unwrap_or_else(|| {
            let bytes = place.bytes();
            let mut room = Flat::room(bytes, bytes);
            // SAFETY: the caller's promise; the room has as many bytes.
            unsafe { copy(place, &bytes_at(room.at() as usize, bytes)) };
            room
        })
    }

    /// Room for the data of a place, which comes there by `give`.
    pub(super) fn for_data(place: &Place) -> Flat {
        let bytes = place.bytes();
        Flat::direct(place, 1).unwrap_or_else(|| Flat::room(bytes, bytes))
    }

    /// The data goes to the place, if it is not there yet.
    ///
    /// # Safety
    /// As `of`, and the place may be written.
    pub(super) unsafe fn give(&mut self, place: &Place) {
        if !self.is_direct() {
            // SAFETY: the caller's promise.
            unsafe { copy(&bytes_at(self.at() as usize, self.bytes), place) };
        }
    }
}
