// Included by `port.rs` for the real port and for each of its mutants.

static SIG: Signature = Signature::of::<u64>("model", "");

/// Runs `rank(port)` on `p` threads, this one as rank 0.
pub(super) fn ranks(p: usize, rank: fn(&mut Port)) {
    ranks_with(p, Wait::Auto, None, rank);
}

pub(super) fn ranks_with(p: usize, wait: Wait, deadline: Option<Duration>, rank: fn(&mut Port)) {
    crate::lean::reset();
    let world = Arc::new(TeamState::new(p).unwrap().with_deadline(deadline));
    let run = world.begin(0);
    let shared = Arc::new(CommState::new(world, (0..p).collect(), false).unwrap());
    (0..p).for_each(|r| shared.world().sit(r, Thread::leak()));
    let mut parts = (0..p).map(|r| {
        // SAFETY: the only port of this rank.
        let mut port = unsafe { Port::new(shared.clone(), r, run, wait).unwrap() };
        move || rank(&mut port)
    });
    let mut first = parts.next().unwrap();
    let others: Vec<_> = parts.map(|mut part| thread::spawn(move || part())).collect();
    first();
    others.into_iter().for_each(|t| t.join().unwrap());
}

pub(super) fn enter(port: &mut Port) {
    port.enter(&SIG, Location::caller(), CallParams::of(1));
}

pub(super) fn post(port: &mut Port, peer: usize, value: u64) -> Result<(), Stop> {
    // SAFETY: eight bytes fit.
    port.post_copy(peer, 1, 8, |body| unsafe { body.cast::<u64>().write(value) })
}

pub(super) fn take(port: &mut Port, peer: usize) -> Result<u64, Stop> {
    // SAFETY: a message of this kind was written by `post`.
    port.take_copy(peer, 1, 8, |body| unsafe { body.cast::<u64>().read() })
}

pub(super) fn post_cell(port: &mut Port, peer: usize, cell: &Cell) -> Result<(), Stop> {
    let words = WordBytes { at: std::ptr::from_ref(cell).cast(), count: 1, len: 1 };
    port.post_words(peer, PayloadKind::SLICE, words)
}

pub(super) fn take_cell(port: &mut Port, peer: usize) -> Result<u64, Stop> {
    // SAFETY: `post_cell` put the address there; the cell is there until the
    // message is settled, or loom reports it.
    port.take_words(peer, 1, |_, words| read(unsafe { &*words.at.cast::<Cell>() }))
}

#[track_caller]
pub(super) fn fine<R>(result: Result<R, Stop>) -> R {
    result.unwrap_or_else(|stop| panic!("a sound run is stopped: {stop:?}"))
}

#[track_caller]
pub(super) fn poisoned<R>(result: Result<R, Stop>) {
    match result {
        Err(Stop::Poisoned) => {}
        Err(stop) => panic!("not poisoned: {stop:?}"),
        Ok(_) => panic!("not stopped"),
    }
}

/// The end of a rank's run.
pub(super) fn leave(port: &Port) {
    port.shared().world().leave(port.shared().member(port.rank()), port.run());
}

// Waits that end well.

pub(super) fn exchange(port: &mut Port, rounds: u64) {
    let (me, it) = (port.rank() as u64, 1 - port.rank());
    for round in 0..rounds {
        enter(port);
        fine(post(port, it, round * 2 + me));
        assert_eq!(fine(take(port, it)), round * 2 + 1 - me);
    }
}

pub(super) fn question(port: &mut Port) {
    enter(port);
    if port.rank() == 0 {
        fine(post(port, 1, 5));
        assert_eq!(fine(take(port, 1)), 6);
    } else {
        let question = fine(take(port, 0));
        fine(post(port, 0, question + 1));
    }
}

pub(super) fn settle(port: &mut Port) {
    for round in 1..=2 {
        enter(port);
        if port.rank() == 0 {
            let cell = Cell::new(round);
            fine(post_cell(port, 1, &cell));
            fine(port.wait_all_acked());
            write(&cell, 99);
        } else {
            assert_eq!(fine(take_cell(port, 0)), round);
        }
    }
}

/// A part is lent, and its memory written again: at once if it is settled soon, else after a wait.
pub(super) fn lend(port: &mut Port) {
    for round in 1..=2 {
        enter(port);
        if port.rank() == 0 {
            // Leaked: a broken variant, in which it is still read when this rank has gone on, is to
            // be told by its write, not by the freed memory that another thread finds.
            let cell: &Cell = Box::leak(Box::new(Cell::new(round)));
            let at = std::ptr::from_ref(cell).cast();
            fine(port.lend_part(1, GivenPart { at, bytes: 2000, has_gaps: true }));
            if port.has_settled_soon() {
                reached("settled soon");
            } else {
                reached("settled late");
                fine(port.wait_all_acked());
            }
            write(cell, 99);
        } else {
            if port.has_part_soon(0, 2000) {
                reached("came soon");
            } else {
                fine(port.await_part(0));
            }
            let got = fine(port.take_part(0, |part| {
                assert!(part.has_gaps && part.bytes == 2000);
                // SAFETY: lent above; there until it is settled, or loom reports it.
                read(unsafe { &*part.at.cast::<Cell>() })
            }));
            assert_eq!(got, round);
        }
    }
}

/// Dissemination: in round k a rank hears from the one 2^k before it.
pub(super) fn barrier(port: &mut Port) {
    enter(port);
    let (me, p) = (port.rank(), port.size());
    let mut d = 1;
    while d < p {
        fine(port.post_copy((me + d) % p, 0, 1, |_| ()));
        fine(port.take_copy((me + p - d) % p, 0, 1, |_| ()));
        d *= 2;
    }
}

/// The same through the gates.
pub(super) fn meeting(port: &mut Port) {
    enter(port);
    let (me, p) = (port.rank(), port.size());
    port.show_all(0, 1, |_| ());
    (1..p).for_each(|d| fine(port.look((me + d) % p, 0, 1, |_| ())));
}

/// Rank 1 has read what rank 0 gave to it, and does `more`, which never comes; or it was stopped.
fn read_or_stopped(port: &mut Port, result: Result<u64, Stop>, more: fn(&mut Port)) {
    match result {
        Ok(value) => {
            assert_eq!(value, 7);
            reached("read");
            more(port);
        }
        stopped => {
            reached("stopped before reading");
            poisoned(stopped);
        }
    }
    port.quiesce();
}

/// Long payloads, in eager buffers: shown to all, and posted.
pub(super) fn eager(port: &mut Port) {
    const LEN: usize = 16;
    let (me, it) = (port.rank() as u64, 1 - port.rank());
    // SAFETY: there is room for `LEN` words, of which one is looked at.
    let write = |at: *mut u8, value| unsafe { at.cast::<u64>().write(value) };
    // SAFETY: written by `write`.
    let read = |at: *const u8| unsafe { at.cast::<u64>().read() };
    enter(port);
    port.show_all(LEN, 8, |at| write(at, 10 + me));
    assert_eq!(fine(port.look(it, LEN, 8, read)), 11 - me);
    fine(port.post_copy(it, LEN, 8, |at| write(at, 20 + me)));
    assert_eq!(fine(port.take_copy(it, LEN, 8, read)), 21 - me);
}

/// Rank 0 takes part in an episode and leaves. Rank 1 sees the episode, and
/// after that learns that there will be no other.
pub(super) fn last_episode(port: &mut Port) {
    enter(port);
    port.show_all(1, 8, |_| ());
    fine(port.look(1 - port.rank(), 1, 8, |_| ()));
    if port.rank() == 0 {
        leave(port);
        return;
    }
    enter(port);
    port.show_all(1, 8, |_| ());
    match port.look(0, 1, 8, |_| ()) {
        Err(Stop::Left { peer: 0 }) => {}
        other => panic!("rank 0 has left: {other:?}"),
    }
    port.quiesce();
}

/// The words that each rank wrote before a barrier the others may read after it, and
/// those that they read before the next they must not read after it.
pub(super) fn barriers(port: &mut Port, barrier: fn(&mut Port)) {
    written_before(port, barrier);
    barrier(port);
    write(&CELLS[port.rank()], 2);
}

loom::lazy_static! {
    static ref CELLS: [Cell; 4] = [0; 4].map(Cell::new);
}

fn written_before(port: &mut Port, barrier: fn(&mut Port)) {
    write(&CELLS[port.rank()], 1);
    barrier(port);
    CELLS[..port.size()].iter().for_each(|cell| assert_eq!(read(cell), 1));
}

pub(super) fn barrier_once(port: &mut Port) {
    written_before(port, barrier);
}

/// Everyone sends to the next rank and hears from the one before.
pub(super) fn ring(port: &mut Port) {
    enter(port);
    let (me, p) = (port.rank(), port.size());
    fine(post(port, (me + 1) % p, me as u64));
    let before = (me + p - 1) % p;
    assert_eq!(fine(take(port, before)), before as u64);
}

// Waits that end badly.

const TAKEN: u64 = 8;

/// Rank 0 fails while rank 1 may be taking its block. It knows whether rank 1 has.
pub(super) fn fail_with_message(port: &mut Port) {
    enter(port);
    if port.rank() == 0 {
        // Not on the stack: a mutant's error is seen at the memory, not at code that
        // comes after it.
        loom::lazy_static! {
            static ref CELL: Cell = Cell::new(7);
        }
        let cell: &Cell = &CELL;
        // SAFETY: a static cell.
        unsafe { port.give_block(1, (std::ptr::from_ref(cell).cast(), 1), 8, true) };
        port.quiesce();
        let is_taken = read(cell) == TAKEN;
        assert_eq!(port.has_taken_block(1), is_taken, "a block is lost, or in two places");
        write(cell, 99);
    } else {
        let taken = port.look_at_block(0, 1, 8).map(|(block, _)| {
            // SAFETY: the cell, which rank 0 keeps until this rank is done with the message.
            let cell = unsafe { &*block.at.cast::<Cell>() };
            let value = read(cell);
            write(cell, TAKEN);
            port.consume(0);
            value
        });
        read_or_stopped(port, taken, |port| poisoned(take_cell(port, 0)));
    }
}

/// The same where both have given away their memory.
pub(super) fn fail_with_messages(port: &mut Port) {
    enter(port);
    let cell = Cell::new(7);
    if port.rank() == 0 {
        fine(post_cell(port, 1, &cell));
    } else {
        match post_cell(port, 0, &cell).and_then(|()| take_cell(port, 0)) {
            Ok(value) => assert_eq!(value, 7),
            stopped => poisoned(stopped),
        }
    }
    port.quiesce();
    write(&cell, 99);
}

/// Rank 0 fails while rank 1 may be reading its memory by a notice.
pub(super) fn fail_with_notice(port: &mut Port) {
    enter(port);
    if port.rank() == 0 {
        let cell = Cell::new(7);
        let at = std::ptr::from_ref(&cell).cast_mut().cast();
        port.show(at, at, 1);
        port.quiesce();
        write(&cell, 99);
    } else {
        // SAFETY: shown by rank 0; there until this rank finishes.
        let seen = port.notice(0, Some(1)).map(|it| read(unsafe { &*it.a.cast::<Cell>() }));
        read_or_stopped(port, seen, |port| {
            port.finish();
            poisoned(port.close_alone());
        });
    }
}

/// Rank 1 fails while it reads rank 0's memory, and so never finishes: only its
/// having left lets rank 0 go on.
pub(super) fn reader_fails(port: &mut Port) {
    enter(port);
    if port.rank() == 0 {
        let cell = Cell::new(7);
        let at = std::ptr::from_ref(&cell).cast_mut().cast();
        port.show(at, at, 1);
        match port.close_alone() {
            // Which of the two it is, is not looked at here, so that a
            // missing edge is seen at the memory.
            Err(Stop::Poisoned | Stop::Left { peer: 1 }) => {}
            other => panic!("rank 1 has failed: {other:?}"),
        }
        port.quiesce();
        write(&cell, 99);
    } else {
        let notice = fine(port.notice(0, Some(1)));
        // SAFETY: shown by rank 0; there until this rank leaves.
        assert_eq!(read(unsafe { &*notice.a.cast::<Cell>() }), 7);
        port.quiesce();
    }
}

/// The cause of a poisoning is there for whoever sees the poison: by the lock,
/// not by the word.
pub(super) fn cause_of_poison() {
    let world = Arc::new(TeamState::new(2).unwrap());
    let run = world.begin(0);
    let other = thread::spawn({
        let world = world.clone();
        move || assert!(world.poison(run, 1, Some(Error(1))).is_none())
    });
    if world.is_poisoned(run) {
        reached("poisoned");
        assert_eq!(world.take_cause(1), Some((Error(1), None)));
    }
    other.join().unwrap();
    assert!(world.is_poisoned(run));
}

/// Rank 0 sends a last message and leaves; `how` it leaves. Rank 1 gets the
/// message, and after that learns that there will be none.
pub(super) fn last_message(port: &mut Port, how: fn(&mut Port)) {
    enter(port);
    if port.rank() == 0 {
        fine(post(port, 1, 5));
        how(port);
    } else {
        assert_eq!(fine(take(port, 0)), 5);
        match take(port, 0) {
            Err(Stop::Left { peer: 0 }) => {}
            other => panic!("rank 0 has left: {other:?}"),
        }
        port.quiesce();
    }
}

/// Rank 0 unwinds: it drops the communicator, and only then is the panic known
/// to the run. Rank 1, which waits for it, must hear of the panic.
pub(super) fn unwind(port: &mut Port, as_a_panic: bool) {
    enter(port);
    if port.rank() == 0 {
        port.leave(as_a_panic);
        assert!(port.shared().world().poison(port.run(), 0, Some(Error(1))).is_none());
        leave(port);
    } else {
        poisoned(take(port, 0));
        port.quiesce();
    }
}

/// Rank 0 gives its memory away and waits for an answer, both no longer than
/// the deadline, which may pass at any of the two or at none.
pub(super) fn deadline_or_message(port: &mut Port) {
    enter(port);
    let world = port.shared().clone();
    let (world, run) = (world.world(), port.run());
    // A deadline has passed: the cause is there for whoever is told.
    let told = || assert!(world.is_poisoned(run), "given up, and nobody is told");
    if port.rank() == 0 {
        // Not on the stack: a mutant's error is seen at the memory, not at code that
        // comes after it.
        loom::lazy_static! {
            static ref CELL: Cell = Cell::new(0);
        }
        let cell: &Cell = &CELL;
        write(cell, 7);
        let result = post_cell(port, 1, cell).and_then(|()| take(port, 1));
        match result {
            Ok(value) => {
                reached("in time");
                assert_eq!(value, 8);
            }
            stopped => {
                reached("too late");
                poisoned(stopped);
                told();
            }
        }
        port.quiesce();
        write(cell, 99);
    } else {
        match take_cell(port, 0).and_then(|value| post(port, 0, value + 1)) {
            Ok(()) => reached("answered"),
            stopped => {
                poisoned(stopped);
                told();
                port.quiesce();
            }
        }
        leave(port);
    }
}

/// Everyone waits for the next rank, nobody sends.
pub(super) fn circle(port: &mut Port) {
    enter(port);
    let p = port.size();
    match take(port, (port.rank() + 1) % p) {
        Err(Stop::Circle(circle)) => {
            assert_eq!(circle.len(), p);
            reached("circle");
        }
        Err(Stop::Poisoned) => reached("told"),
        other => panic!("out of nothing: {other:?}"),
    }
    port.quiesce();
}

/// Starts a call that shows `cell`, and `value` beside its notice.
fn start(port: &mut Port, cell: &Cell, value: u64) -> StartedProgress {
    let begun = port.begin(&SIG, Location::caller(), CallParams::of(1));
    fine(port.claim_column());
    let at = std::ptr::from_ref(cell).cast_mut().cast();
    let fill = |beside: *mut u8, _: *mut u8| {
        // SAFETY: eight bytes fit the room.
        unsafe { beside.cast::<u64>().write(value) };
        at
    };
    // SAFETY: the column was claimed just now; the cell is there until all have finished, or loom
    // reports it.
    unsafe { port.start(begun, 0, fill) };
    port.tell();
    port.started_progress()
}

/// The input that a rank takes: each the peer's cell, or copy, or rank 1 the copy of rank 0, which
/// needs nobody.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    Cells,
    Copies,
    OneWay,
}

/// This rank's part of call `n`.
struct Take<'a> {
    own: RankCards<'a>,
    port: &'a Port,
    n: u64,
    way: Way,
}

impl StartedPart for Take<'_> {
    type Card = NoticeCard;
    type Obstacle = ();

    fn needs(&self, index: usize) -> Option<usize> {
        if self.way == Way::OneWay && self.own.rank() == 0 { None } else { self.own.other(index) }
    }

    fn lends_to(&self, index: usize) -> Option<usize> {
        if self.way == Way::Cells { self.own.other(index) } else { None }
    }

    fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, ()> {
        Ok(self.own.meets(number, rank).expect("one call").then_some(self.way == Way::Cells))
    }

    fn has_shown(&self, _: u64, _: usize) -> bool {
        true
    }

    fn card(&self, number: u64, rank: usize) -> FoundCard<'_, NoticeCard> {
        self.own.card(number, rank)
    }

    unsafe fn work(&mut self, number: u64, rank: usize, _: bool) -> Result<(), ()> {
        let (n, peer, mut all) = (self.n, 1 - rank, [std::ptr::null_mut(); 2]);
        if self.needs(0).is_none() {
            return Ok(());
        }
        // SAFETY: the peer has begun, and this rank ends the call below. The peer's cell is there
        // until then.
        unsafe {
            self.own.addresses(number, self.way != Way::Cells, (peer, 1), &mut all);
            match self.way {
                Way::Cells => assert_eq!(read(&*all[peer].cast::<Cell>()), n * 10),
                _ => assert_eq!(all[peer].cast::<u64>().read(), n * 10 + peer as u64),
            }
        }
        Ok(())
    }

    fn tell(&mut self, number: u64, _: usize, _: bool) {
        self.own.end(number);
        self.port.tell();
    }
}

/// Completes call `n`; where memory is shown, waits until the peer has taken the content of this
/// rank's.
fn complete(port: &Port, mut call: StartedProgress, n: u64, way: Way) {
    let mut part = Take { own: port.rank_cards(), port, n, way };
    while !call.advance(&mut part, port.rank()).expect("it agrees") {
        crate::sync::yield_now();
    }
}

/// Started calls, the second before the first is complete, and so on.
pub(super) fn started(port: &mut Port, calls: u64, way: Way) {
    let cells = [Cell::new(0), Cell::new(0)];
    let me = port.rank();
    let mut open = None;
    for n in 1..=calls {
        let cell = &cells[n as usize % 2];
        if way == Way::Cells {
            write(cell, n * 10);
        }
        let call = start(port, cell, n * 10 + me as u64);
        if let Some((call, n)) = open.replace((call, n)) {
            complete(port, call, n, way);
        }
    }
    let (call, n) = open.expect("the last");
    complete(port, call, n, way);
    if way == Way::Cells {
        cells.iter().for_each(|cell| write(cell, 0));
    }
}

/// Four started calls, of which the third claims a column when the second is complete, too: it may
/// find that the column of the fourth is free.
pub(super) fn started_in_pairs(port: &mut Port) {
    let (cell, me) = (Cell::new(0), port.rank());
    for n in [1, 3] {
        let first = start(port, &cell, n * 10 + me as u64);
        let second = start(port, &cell, (n + 1) * 10 + me as u64);
        complete(port, first, n, Way::Copies);
        complete(port, second, n + 1, Way::Copies);
    }
}
