//! The card of the library's own started calls: the call, the memory that its rank shows, and a few
//! bytes beside that.
//!
//! ```text
//!  Tray (256 B)
//!  | number 64 | sig | check | a | past | len | brief 16 B |   written by its owner only
//!  | brief, the other 48 B | at 64 |                           (brief: the input of a short call)
//!  | claimed 64 | over 64 |                                   on lines of their own
//! ```

use super::Header;
use super::card_row::CardRow;
use super::card_table::CardTable;
use super::tray::Tray;
use std::mem::{MaybeUninit, offset_of};
use std::panic::Location;

/// Started calls of one communicator that can be under way at a time.
pub(crate) const COLUMNS: usize = if cfg!(loom) { 2 } else { 64 };

/// Bytes that a card has room for.
pub(crate) const BRIEF_ROOM: usize = 64;
/// Their alignment.
pub(crate) const BRIEF_ALIGN: usize = 16;

/// Bytes of a column's copy of a rank's input that does not fit the card, which then has the copy's
/// address.
pub(crate) const COPY_ROOM: usize = 1024;

/// The cards that all ranks show of their started calls.
pub(crate) type NoticeTable = CardTable<NoticeCard, CopyRooms, COLUMNS>;
/// The cards that one rank shows.
pub(crate) type NoticeRow = CardRow<NoticeCard, CopyRooms, COLUMNS>;

/// The part of a card that is compared, and the memory that its rank shows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CardFacts {
    pub(crate) header: Header,
    pub(crate) a: *mut u8,
    /// A digest of all calls that its rank has started so far.
    pub(crate) past: u64,
    pub(crate) len: usize,
}

/// See the module documentation.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct NoticeCard {
    pub(crate) facts: CardFacts,
    /// It begins in the first line: a few bytes come with that.
    brief: [MaybeUninit<u8>; BRIEF_ROOM],
    /// The line of the call.
    pub(crate) at: Option<&'static Location<'static>>,
    /// So the claim lies on lines of its own.
    _unused: u64,
}

const _: () = assert!(
    cfg!(loom)
        || cfg!(shuttle)
        || (Tray::<NoticeCard>::START + offset_of!(NoticeCard, brief) == 48
            && Tray::<NoticeCard>::CLAIM == 128)
);

// SAFETY: the pointers are plain data here, and nothing in a card is tied to a thread.
unsafe impl Send for NoticeCard {}
// SAFETY: as above.
unsafe impl Sync for NoticeCard {}

impl Default for NoticeCard {
    fn default() -> Self {
        let header = Header { sig: std::ptr::null(), check: 0 };
        let facts = CardFacts { header, a: std::ptr::null_mut(), past: 0, len: 0 };
        NoticeCard { facts, brief: [MaybeUninit::uninit(); BRIEF_ROOM], at: None, _unused: 0 }
    }
}

impl NoticeCard {
    /// Where [`BRIEF_ROOM`] bytes are, aligned to [`BRIEF_ALIGN`].
    #[inline(always)]
    pub(crate) fn brief(&self) -> *mut u8 {
        self.brief.as_ptr().cast_mut().cast()
    }

    /// Where [`BRIEF_ROOM`] bytes are, to be written.
    #[inline(always)]
    pub(crate) fn brief_mut(&mut self) -> *mut u8 {
        self.brief.as_mut_ptr().cast()
    }
}

#[repr(C, align(64))]
struct CopyRoom([MaybeUninit<u8>; COPY_ROOM]);

const _: () = assert!(align_of::<CopyRoom>() >= BRIEF_ALIGN);

/// By column: [`COPY_ROOM`] bytes, which take no pages before they are used. Used by address only,
/// as a user's memory that is shown is.
#[derive(Debug)]
pub(crate) struct CopyRooms(*mut CopyRoom);

// SAFETY: whoever shows an address there says which rank may use it, as with any memory that is
// shown.
unsafe impl Send for CopyRooms {}
// SAFETY: as above.
unsafe impl Sync for CopyRooms {}

impl Default for CopyRooms {
    fn default() -> Self {
        let rooms: Box<[MaybeUninit<CopyRoom>]> = Box::new_uninit_slice(COLUMNS);
        CopyRooms(Box::into_raw(rooms).cast())
    }
}

impl CopyRooms {
    /// The room for request `number`. That of the next one is not behind it: a processor that reads
    /// a copy fetches the lines there, while the next one is being written.
    #[inline(always)]
    pub(crate) fn room(&self, number: u64) -> *mut u8 {
        self.0.wrapping_add((number as usize).wrapping_mul(17) % COLUMNS).cast()
    }
}

impl Drop for CopyRooms {
    fn drop(&mut self) {
        let rooms = std::ptr::slice_from_raw_parts_mut(self.0, COLUMNS);
        // SAFETY: made by `Box::into_raw`, of as many (`default`); of any bytes it is one.
        drop(unsafe { Box::from_raw(rooms) });
    }
}
