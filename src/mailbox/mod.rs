//! Channels carry messages between two ranks; gates exchange small payloads, all with all; boards
//! show a rank's memory to all others, and so do the cards of started calls. `README.md` beside
//! this file has the protocols, words, transitions and orderings. Nothing here knows of ranks,
//! waiting or collectives; every function returns at once.

mod board;
mod card_row;
mod card_table;
mod channel;
mod channel_table;
mod eager_buffer;
#[cfg(not(loom))]
mod fresh_memory;
mod gate;
#[cfg(not(loom))]
mod huge_pages;
mod memory;
mod notice_card;
mod pages;
mod tray;

pub(crate) use board::{Board, Notice};
pub use card_row::{CardRow, FoundCard};
pub use card_table::CardTable;
pub(crate) use channel::{
    Channel, Cursor, Endpoint, FIRST, Header, INLINE, LONG, SLOTS, offset, pack,
};
#[cfg(loom)]
pub(crate) use channel::{Slot, channel_after, channels};
pub(crate) use channel_table::ChannelTable;
pub(crate) use eager_buffer::{EAGER, EagerBuffer, EagerSlot};
pub(crate) use gate::Gate;
#[cfg(not(loom))]
pub use huge_pages::HugePages;
pub(crate) use memory::{RefusedMemory, collect};
pub(crate) use notice_card::{
    BRIEF_ALIGN, BRIEF_ROOM, COLUMNS, COPY_ROOM, CardFacts, NoticeCard, NoticeRow, NoticeTable,
};
#[cfg(all(test, not(loom)))]
pub(crate) use pages::page;
pub use tray::Tray;
#[cfg(not(loom))]
pub(crate) use {fresh_memory::FreshMemory, memory::check_room, pages::is_space_limited};

/// The largest number of ranks in a team. Mailboxes for all pairs take 1152
/// bytes each of address space (1152 MiB at this size), of memory only where
/// they are used; all of it where ranks are bound to cores of several NUMA
/// nodes, since each rank then puts its own into its node's memory.
pub const MAX_RANKS: usize = 1024;
