//! Boards, without ports.

use super::{Cell, read, write};
use crate::harness::{model, reached};
use crate::mailbox::{Board, Header, Notice};
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;

fn notice(cell: &Cell, call: u64) -> Notice {
    let header = Header { sig: std::ptr::null(), check: call };
    Notice {
        header,
        a: std::ptr::from_ref(cell).cast_mut().cast(),
        b: std::ptr::null_mut(),
        len: 1,
    }
}

/// The cell that `board`'s owner shows in call `call`.
fn shown(board: &Board, call: u64) -> &Cell {
    while board.look() != call {
        yield_now();
    }
    // SAFETY: this rank is in `call` and finishes it later.
    let notice = unsafe { board.notice() };
    assert_eq!(notice.header.check, call, "a notice of another call");
    // SAFETY: `notice` put the address there; it is valid until the reader
    // has finished, or loom reports it.
    unsafe { &*notice.a.cast_const().cast() }
}

fn await_finished(board: &Board, call: u64) {
    while !board.has_finished(call) {
        yield_now();
    }
}

/// Runs `rank(r, boards)` on `p` threads, this one as rank 0.
fn ranks(p: usize, rank: fn(usize, &[Board])) {
    let boards: Arc<Vec<Board>> = Arc::new((0..p).map(|_| Board::new()).collect());
    let others: Vec<_> = (1..p)
        .map(|r| {
            let boards = boards.clone();
            thread::spawn(move || rank(r, &boards))
        })
        .collect();
    rank(0, &boards);
    others.into_iter().for_each(|t| t.join().unwrap());
}

/// Every rank shows a cell in every call, reads all others', and rewrites its
/// own (and its notice) once they have finished.
fn all_show(me: usize, boards: &[Board], calls: u64) {
    let cell = Cell::new(0);
    for call in 1..=calls {
        write(&cell, call * 10 + me as u64);
        // SAFETY: this rank's board; all have finished the call before.
        unsafe { boards[me].show(call, notice(&cell, call)) };
        for (peer, board) in boards.iter().enumerate().filter(|&(q, _)| q != me) {
            assert_eq!(read(shown(board, call)), call * 10 + peer as u64);
        }
        boards[me].finish(call);
        for (_, board) in boards.iter().enumerate().filter(|&(q, _)| q != me) {
            await_finished(board, call);
        }
    }
    write(&cell, 99);
}

/// Rank 0 shows a cell, rank 1 *writes* to it (as the fused paths do), rank 0
/// then reads it.
fn root_shows(me: usize, boards: &[Board], calls: u64) {
    let cell = Cell::new(0);
    for call in 1..=calls {
        if me == 0 {
            write(&cell, call);
            // SAFETY: rank 0's board; all have finished the call before.
            unsafe { boards[0].show(call, notice(&cell, call)) };
            await_finished(&boards[1], call);
            assert_eq!(read(&cell), call * 100);
        } else {
            let cell = shown(&boards[0], call);
            assert_eq!(read(cell), call);
            write(cell, call * 100);
            boards[me].finish(call);
        }
    }
}

model! {
    two_ranks_two_calls; name: "board: both show, read, finish, close; 2 calls", ranks: 2,
    bound: Some(3), floor: 1_000, catches: &[Entered, Finished],
    body: || ranks(2, |me, boards| all_show(me, boards, 2))
}

model! {
    two_ranks_root_twice; name: "board: the peer writes what the root shows; 2 calls", ranks: 2,
    bound: None, floor: 1_000, catches: &[Entered, Finished],
    body: || ranks(2, |me, boards| root_shows(me, boards, 2))
}

/// Three ranks that wait for each other do not end in reasonable time. Here
/// only the root waits; a peer uses the notice if it has come, and finishes.
fn root_shows_to_two(me: usize, boards: &[Board]) {
    if me == 0 {
        let cell = Cell::new(7);
        // SAFETY: rank 0's board, for the first time.
        unsafe { boards[0].show(1, notice(&cell, 1)) };
        boards[1..].iter().for_each(|board| await_finished(board, 1));
        write(&cell, 8);
    } else {
        if boards[0].look() == 1 {
            reached(["", "rank 1 reads", "rank 2 reads"][me]);
            assert_eq!(read(shown(&boards[0], 1)), 7);
        }
        boards[me].finish(1);
    }
}

model! {
    three_ranks_root; name: "board: 2 peers read what the root shows", ranks: 3, bound: None,
    floor: 14_000, reaches: &["rank 1 reads", "rank 2 reads"], catches: &[Entered, Finished],
    body: || ranks(3, root_shows_to_two)
}
