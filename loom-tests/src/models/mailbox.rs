//! Channels, through [`Endpoint`]s alone. Payload memory is a loom cell of the
//! sender's, reached through the address in the message, so that a missing
//! happens-before is a failure even where the value would be right.

use super::{Cell, read, write};
use crate::harness::{model, reached};
use crate::mailbox::{Channel, Cursor, EagerBuffer, EagerSlot, Endpoint, Header, channel_after};
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;

/// Two channels, as seen from side 0 and side 1.
struct Pair {
    channels: [Channel; 2],
    start: u32,
}

impl Pair {
    /// After `start` messages in each direction.
    fn after(start: u32) -> Arc<Pair> {
        Arc::new(Pair { channels: [0, 1].map(|_| channel_after(start)), start })
    }

    fn end(&self) -> Cursor {
        Cursor { tx: self.start, acked: self.start, rx: self.start }
    }

    /// One thread uses each side.
    fn endpoint<'a>(&'a self, side: usize, end: &'a mut Cursor) -> Endpoint<'a> {
        // SAFETY: the models use each side from one thread, with one record
        // made by `end`.
        unsafe { Endpoint::new(&self.channels[side], &self.channels[1 - side], end) }
    }
}

/// `one` at side 0, on a thread of its own, and `other` at side 1, on this one.
fn both(
    pair: &Arc<Pair>,
    one: impl FnOnce(&mut Endpoint<'_>) + 'static,
    other: impl FnOnce(&mut Endpoint<'_>),
) {
    let there = pair.clone();
    let one = thread::spawn(move || {
        let mut end = there.end();
        one(&mut there.endpoint(0, &mut end));
    });
    let mut end = pair.end();
    other(&mut pair.endpoint(1, &mut end));
    one.join().unwrap();
}

fn header(n: u64) -> Header {
    Header { sig: std::ptr::null(), check: n }
}

fn await_room(endpoint: &mut Endpoint<'_>) {
    while !endpoint.can_post() {
        yield_now();
    }
}

fn post_value(endpoint: &mut Endpoint<'_>, value: u64) -> u32 {
    await_room(endpoint);
    // SAFETY: a body has room for five words.
    endpoint.post(header(value), |body| unsafe { body.cast::<[u64; 2]>().write([value, !value]) })
}

fn take(endpoint: &mut Endpoint<'_>, read: impl FnOnce(Header, *const u8) -> u64) -> u64 {
    while !endpoint.poll() {
        yield_now();
    }
    let value = endpoint.read(read);
    endpoint.consume();
    value
}

fn take_value(endpoint: &mut Endpoint<'_>) -> u64 {
    take(endpoint, |header, body| {
        // SAFETY: `post_value` wrote two words.
        let [value, not] = unsafe { body.cast::<[u64; 2]>().read() };
        assert_eq!((header.check, not), (value, !value), "a torn message");
        value
    })
}

fn post_address(endpoint: &mut Endpoint<'_>, cell: &Cell) -> u32 {
    await_room(endpoint);
    // SAFETY: a body has room for five words.
    endpoint.post(header(0), |body| unsafe { body.cast::<*const Cell>().write(cell) })
}

fn take_address(endpoint: &mut Endpoint<'_>) -> u64 {
    // SAFETY: `post_address` wrote it; the cell outlives the message, or loom
    // reports it.
    take(endpoint, |_, body| read(unsafe { &*body.cast::<*const Cell>().read() }))
}

fn settle(endpoint: &mut Endpoint<'_>, n: u32) {
    while !endpoint.is_acked(n) {
        yield_now();
    }
}

/// A payload in the sender's eager buffer: one of its places is all that it writes.
fn post_eager(endpoint: &mut Endpoint<'_>, eager_buffer: &EagerBuffer, value: u64) -> u32 {
    await_room(endpoint);
    // SAFETY: the models give each eager buffer to one end; a place has room for a word.
    let place = unsafe { endpoint.eager_slot(eager_buffer, |at| at.cast::<u64>().write(value)) };
    // SAFETY: a body has room for an address.
    endpoint.post(header(0), |body| unsafe { body.cast::<*const EagerSlot>().write(place) })
}

fn take_eager(endpoint: &mut Endpoint<'_>) -> u64 {
    // SAFETY: `post_eager` wrote the address, and a word at the place.
    take(endpoint, |_, body| unsafe {
        (*body.cast::<*const EagerSlot>().read()).read(|at| at.cast::<u64>().read())
    })
}

/// More messages than an eager buffer has places.
fn eager(start: u32, messages: u64) {
    let eager_buffer = Arc::new(EagerBuffer::new());
    let there = eager_buffer.clone();
    let send = move |end: &mut Endpoint<'_>| {
        (0..messages).for_each(|i| _ = post_eager(end, &there, i));
    };
    both(&Pair::after(start), send, |end| {
        (0..messages).for_each(|i| assert_eq!(take_eager(end), i, "messages come in order, whole"));
    });
    drop(eager_buffer);
}

model! {
    eager_buffer; name: "mailbox: 6 messages over 4 places of an eager buffer", ranks: 2,
    bound: Some(3), floor: 1_000, catches: &[Word, Ack], body: || eager(u32::MAX - 2, 6)
}

fn stream(start: u32, messages: u64) {
    let pair = Pair::after(start);
    let send = move |end: &mut Endpoint<'_>| (0..messages).for_each(|i| _ = post_value(end, i));
    both(&pair, send, |end| {
        (0..messages).for_each(|i| assert_eq!(take_value(end), i, "messages come in order"));
    });
    assert_eq!(pair.channels[0].untaken(), 0);
}

model! {
    wrap_around_of_slots; name: "mailbox: 5 inline messages over 4 slots", ranks: 2, bound: None,
    floor: 3_000, catches: &[Word, Ack], body: || stream(0, 5)
}

model! {
    wrap_around_of_numbers; name: "mailbox: 6 inline messages across 2^32", ranks: 2,
    bound: Some(3), floor: 1_000, catches: &[Word, Ack],
    // Messages 2^32 - 2, 2^32 - 1, 0, 1, 2 and 3.
    body: || stream(u32::MAX - 2, 6)
}

fn by_address(start: u32) {
    let send = |end: &mut Endpoint<'_>| {
        let cell = Cell::new(7);
        for next in [8, 9] {
            let n = post_address(end, &cell);
            settle(end, n);
            write(&cell, next);
        }
    };
    both(&Pair::after(start), send, |end| {
        assert_eq!(take_address(end), 7);
        assert_eq!(take_address(end), 8);
    });
}

model! {
    address_payload; name: "mailbox: address twice, rewritten, freed", ranks: 2, bound: None,
    floor: 900, catches: &[Word, Ack], body: || by_address(0)
}

model! {
    address_payload_across_wrap; name: "mailbox: address twice, across 2^32", ranks: 2, bound: None,
    floor: 900, catches: &[Word, Ack], body: || by_address(u32::MAX - 1)
}

/// Both sides post an address, then take the other's; the cells alternate and
/// are rewritten as soon as the next message has room.
fn exchange(start: u32, rounds: u64) {
    let side = |side: u64| {
        move |end: &mut Endpoint<'_>| {
            let cells = [Cell::new(0), Cell::new(0)];
            for round in 0..rounds {
                let cell = &cells[round as usize % 2];
                // Message n - 2 is settled, and with it the cell.
                settle(end, start.wrapping_add(round as u32).wrapping_sub(1));
                write(cell, round * 2 + side);
                post_address(end, cell);
                assert_eq!(take_address(end), round * 2 + 1 - side);
            }
            // The cells go now (loom does not look at drops, but at writes).
            settle(end, start.wrapping_add(rounds as u32));
            cells.iter().for_each(|cell| write(cell, 99));
        }
    };
    both(&Pair::after(start), side(0), side(1));
}

model! {
    both_directions; name: "mailbox: addresses both ways x2, settled", ranks: 2, bound: Some(3),
    floor: 1_000, catches: &[Word, Ack], body: || exchange(0, 2)
}

/// The same with inline payloads: nothing to settle. The acknowledgement of
/// message n - 2 came with the answer to it, so the `ack` line is written and
/// never read.
fn exchange_inline(start: u32, rounds: u64) {
    let side = |side: u64| {
        move |end: &mut Endpoint<'_>| {
            for round in 0..rounds {
                post_value(end, round * 2 + side);
                assert_eq!(take_value(end), round * 2 + 1 - side);
            }
        }
    };
    both(&Pair::after(start), side(0), side(1));
}

model! {
    both_directions_inline; name: "mailbox: inline both ways x4, acks piggy-backed", ranks: 2,
    bound: Some(3), floor: 2_000, catches: &[Word], silent: &[Ack],
    body: || exchange_inline(u32::MAX - 1, 4)
}

/// An answer says that the question is settled.
fn question_and_answer() {
    let pair = Pair::after(0);
    let asker = thread::spawn({
        let pair = pair.clone();
        move || {
            let cell = Cell::new(0);
            let mut end = pair.end();
            let mut endpoint = pair.endpoint(0, &mut end);
            for i in 1..=3 {
                write(&cell, i);
                let n = post_address(&mut endpoint, &cell);
                assert_eq!(take_value(&mut endpoint), i + 10);
                // Known by the answer, without a look at `ack`.
                drop(endpoint);
                assert!(end.has_acked(n));
                endpoint = pair.endpoint(0, &mut end);
            }
            write(&cell, 9);
        }
    });
    let mut end = pair.end();
    let mut endpoint = pair.endpoint(1, &mut end);
    for _ in 1..=3 {
        let question = take_address(&mut endpoint);
        post_value(&mut endpoint, question + 10);
    }
    asker.join().unwrap();
}

model! {
    an_answer_settles; name: "mailbox: question by address, the answer settles it", ranks: 2,
    bound: None, floor: 27_000, catches: &[Word], silent: &[Ack], body: question_and_answer
}

fn unread() {
    let pair = Pair::after(0);
    let cell = Arc::new(Cell::new(5));
    let there = cell.clone();
    let send = move |end: &mut Endpoint<'_>| {
        post_value(end, 1);
        post_address(end, &there);
    };
    let mut taken = 0;
    both(&pair, send, |end| {
        if end.poll() {
            assert_eq!(take_value(end), 1);
            taken = 1;
        }
        reached(["none taken", "one message taken"][taken as usize]);
    });
    assert_eq!(pair.channels[0].untaken(), 2 - taken);
    // Nothing in a channel needs to be dropped, and nobody looks at the
    // address once both ends are gone.
    drop(pair);
    write(&cell, 6);
}

model! {
    drop_with_unread_data; name: "mailbox: dropped with unread messages", ranks: 2, bound: None,
    floor: 4, reaches: &["one message taken", "none taken"], catches: &[Word], silent: &[Ack],
    body: unread
}

/// Rank 0's memory goes to rank 1 and from there, by the same address, to rank
/// 2; rank 0 has it back when rank 1 has, and that is when rank 2 has read it.
fn chain() {
    let pairs = [Pair::after(0), Pair::after(0)];
    let middle = thread::spawn({
        let pairs = pairs.clone();
        move || {
            let mut ends = [pairs[0].end(), pairs[1].end()];
            let [a, b] = &mut ends;
            let (mut before, mut next) = (pairs[0].endpoint(1, a), pairs[1].endpoint(0, b));
            while !before.poll() {
                yield_now();
            }
            // SAFETY: `post_address` wrote it.
            let cell = before.read(|_, body| unsafe { &*body.cast::<*const Cell>().read() });
            assert_eq!(read(cell), 7);
            let n = post_address(&mut next, cell);
            settle(&mut next, n);
            before.consume();
        }
    });
    let last = thread::spawn({
        let pair = pairs[1].clone();
        move || {
            let mut end = pair.end();
            assert_eq!(take_address(&mut pair.endpoint(1, &mut end)), 7);
        }
    });
    let mut end = pairs[0].end();
    let mut endpoint = pairs[0].endpoint(0, &mut end);
    let cell = Cell::new(7);
    let n = post_address(&mut endpoint, &cell);
    settle(&mut endpoint, n);
    write(&cell, 8);
    middle.join().unwrap();
    last.join().unwrap();
}

model! {
    chain_of_three; name: "mailbox: address passed on, settled back", ranks: 3, bound: None,
    floor: 177_000, catches: &[Word, Ack], body: chain
}

/// Three ranks, each sending to the next one. (With addresses to settle, or
/// two rounds as a barrier has them, three ranks do not end in minutes.)
fn ring() {
    // `channels[r]` is from rank r to the next, `back[r]` the reverse one.
    let make = || Arc::new([0, 1, 2].map(|_| channel_after(0)));
    let (channels, back) = (make(), make());
    let rank = |me: usize| {
        let (channels, back) = (channels.clone(), back.clone());
        move || {
            let from = (me + 2) % 3;
            let (mut next, mut before) = (Cursor::default(), Cursor::default());
            // SAFETY: each rank has one end of each pair of channels.
            let mut next = unsafe { Endpoint::new(&channels[me], &back[me], &mut next) };
            // SAFETY: as above.
            let mut before = unsafe { Endpoint::new(&back[from], &channels[from], &mut before) };
            post_value(&mut next, me as u64);
            assert_eq!(take_value(&mut before), from as u64);
        }
    };
    let others = [1, 2].map(|r| thread::spawn(rank(r)));
    rank(0)();
    others.into_iter().for_each(|t| t.join().unwrap());
}

model! {
    #[ignore = "takes more than a minute"]
    ring_of_three; name: "mailbox: ring shift inline", ranks: 3, bound: None, floor: 382_000,
    catches: &[Word], silent: &[Ack], body: ring
}
