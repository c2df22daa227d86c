//! Collectives that are started now and complete later.
//!
//! Each rank shows a card, in a tray of the library's table (`phalanx::engine::CardTable`): which
//! call it is in, and its data. As soon as the cards that a rank needs are shown, it copies and
//! combines for itself; ranks do so at the same time.
//!
//! | data of a card | | a rank's request is complete when |
//! |---|---|---|
//! | up to `STORED` bytes | lie in the card | it has done its own part |
//! | more | are lent: others read them where they are | all parts that touch its memory are done |
//!
//! So with short data nobody waits for readers, and the root of a broadcast waits for nobody. A
//! part for a rank with partners that lend memory is claimed before: by the rank itself, or,
//! if it is busy elsewhere, by a lender that waits. So no call of the others is needed after their
//! start, and a rank may start several and await them in any order.
//!
//! Ranks' numbers of collectives are their order on the communicator; those of a persistent request
//! have an order of their own, and so a communicator of their own (`Comm::apart`). A card
//! that finds no free place (its rank has started many that others have not) lies in a list of the
//! rank, under a lock.
//!
//! Calls must agree: each card has a digest of its call and of all before on the communicator, so
//! the reader of a card has compared all. A rank that reads no cards compares when it looks for a
//! free place, and at the end of the communicator. The calls themselves, for the text, are in a
//! history of the latest ones (`past_calls.rs`).
//!
//! The files, each of which uses those before it:
//!
//! | file | |
//! |---|---|
//! | `part.rs` | a rank's part, and the ranks of the cards it needs |
//! | `sheet.rs` | the contents of a card |
//! | `past_calls.rs` | the latest calls of a rank |
//! | `board.rs` | the cards of all ranks, and a rank's knowledge of them |
//! | `fold.rs` | reductions over values of all ranks |
//! | `open.rs` | a collective that a rank has started |

mod board;
mod fold;
mod open;
mod part;
mod past_calls;
mod sheet;

pub use board::{BegunCalls, Board};
pub use open::Open;
pub use part::{Gives, Part, Pieces, Takes};

use super::awaits::Awaits;
use super::comm::{Comm, Terms};
use super::error::{Error, Site};
use super::log::Collective;
use super::world::World;
use board::SheetRow;
use open::OpenCall;
use phalanx::engine::Tray;
use sheet::Sheet;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence, fence};

/// Up to so many bytes lie in a card.
const STORED: usize = 2 << 10;
/// The same in a communicator of many ranks: they have as many places each.
const STORED_BY_MANY: usize = 1 << 10;
const MANY: usize = 64;

/// The collective that was started.
#[derive(Debug)]
pub enum Begin {
    /// It is complete.
    Complete(Option<Box<Error>>),
    /// It is not.
    Open(Open),
}

/// Starts a collective on `comm` for the calling rank: with the cards it needs, and the users of
/// its memory if it lends that.
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
    (awaits, users): (Awaits, Awaits),
) -> Begin {
    let (rank, size) = (comm.rank, comm.size());
    let me = comm.world_rank(rank);
    let board = comm.shared.board();
    let row = board.cards.make(rank);
    let Terms { root, op, bytes } = terms;
    let mut begun = comm.begun.borrow_mut();
    let number = begun.last + 1;
    let call = Collective { context: comm.context(), number, site, root, op, bytes };
    let most = if size <= MANY { STORED } else { STORED_BY_MANY };
    let is_stored = match &part {
        Part::Exchange { offer, .. } => offer.bytes(size) <= most,
        Part::Fold { own, .. } => own.bytes() <= most && own.is_contiguous(),
    };
    let is_fold = matches!(part, Part::Fold { .. });
    // How a reduction goes must be the same for all; between two groups each may have its own.
    let is_marked = is_fold && !comm.is_inter() && is_stored;
    let digest = mixed(begun.digest, &call, is_marked);
    // A rank that reads no cards sees no difference: of those in a list nothing else tells.
    let own_done = row.done();
    let is_free = has_room(world, board, &mut begun, (rank, number, own_done));
    if row.has_list() {
        let done = (0..size).map(|it| board.done(it)).min();
        row.forget(done.unwrap_or(0));
    }
    let all = !is_free || (is_fold && !is_stored);
    let awaits = if all { Awaits::All } else { awaits };
    (begun.last, begun.digest) = (number, digest);
    drop(begun);
    let lends = !is_stored;
    let fill = |sheet: &mut Sheet| {
        let rest = sheet.rest.made();
        (rest.call, rest.awaits) = (call, awaits);
        if rest.failed.get().is_some() {
            rest.failed = OnceLock::new();
        }
        if !rest.kept.is_empty() {
            rest.kept = Vec::new();
        }
        let part = rest.part.insert(part);
        // First the words that only this rank reads. The first lines, which others watch, are
        // written in one go then.
        compiler_fence(Ordering::Release);
        // SAFETY: the caller's promise.
        unsafe { sheet.front.take_data(part, is_stored, size) };
        (sheet.front.digest, sheet.front.done) = (digest, own_done);
        if lends {
            // SAFETY: as above.
            unsafe { sheet.keep(size) };
        }
    };
    if is_free {
        // SAFETY: the rank's own, and `has_room`.
        unsafe { row.tray(number).show(number, fill) };
    } else {
        let tray = Tray::default();
        // SAFETY: nobody else knows it.
        unsafe { tray.show(number, fill) };
        row.put(number, tray);
    }
    // Later than the card: another rank looks there now and then, for which writes wait.
    row.beside().note(number, digest, &call);
    let comm = comm.kept();
    let looks = Cell::new(0);
    let users = if lends { users } else { Awaits::Nobody };
    let call = OpenCall { comm, awaits, users, looks, digest, me };
    let mut open = Open::new(number, call);
    // SAFETY: the caller's promise.
    let ended = unsafe { open.advance(world) };
    if lends {
        // Pairs with the fence in the library's `Berth::sleep`, as in `Req::complete`. It orders
        // the card, shown before, with the looks at the others' words in `wake`: either a rank that
        // waits for all cards, and says so before it looks once more, sees this card, or `wake`
        // sees its word. Without it such a rank may nap to the end, as it may of short data, which
        // comes too often for a fence.
        fence(Ordering::SeqCst);
    }
    open.wake(world);
    match ended {
        Some(failed) => Begin::Complete(failed),
        None => Begin::Open(open),
    }
}

/// Whether the rank's place for a collective is free; if only others hold it, it waits a moment. If
/// that was in vain, the next calls, of which there may be very many, look once, until it is free.
fn has_room(
    world: &World,
    board: &Board,
    begun: &mut BegunCalls,
    (rank, number, own_done): (usize, u64, u64),
) -> bool {
    if SheetRow::is_free(number, begun.least) {
        return true;
    }
    if !SheetRow::is_free(number, own_done) {
        return false;
    }
    let is_vain = begun.is_vain;
    let mut look = || board.refresh(begun, rank, number);
    let is_free = if is_vain { look() } else { world.look_for(look) }.is_some();
    begun.is_vain = !is_free;
    is_free
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

/// No rank starts any more collectives on the communicator, or this one does not: ends the run if
/// its calls differ from those of the others, as far as they are known. `is_last`: the others have
/// started all of theirs.
pub fn close(comm: &Comm, is_last: bool) {
    if let Some(board) = comm.shared.used_board() {
        board.close(comm.rank, is_last);
    }
}
