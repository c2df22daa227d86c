// Included by `port.rs` for the real room and for its mutants: two worlds, each
// thread a rank of both.

/// A rank may join its run before or after that is poisoned: either way its next call
/// finds that the communicator is not to be used.
pub(super) fn late_join() {
    let world = Arc::new(TeamState::new(2).unwrap());
    let run = world.begin(0);
    let other = thread::spawn({
        let world = world.clone();
        move || assert!(world.poison(run, 1, Some(Error(1))).is_none())
    });
    world.join(0, run);
    if world.line(0).present() == run_pass(run) {
        reached("open");
    }
    other.join().unwrap();
    assert_ne!(world.line(0).present(), run_pass(run), "a rank that waits for nobody never hears");
}

/// A run begins while somebody cancels all runs: its caller finds that, or a rank's call does.
pub(super) fn cancelled_at_the_start() {
    let world = Arc::new(TeamState::new(1).unwrap());
    let canceller = thread::spawn({
        let world = world.clone();
        move || world.cancel(EVERY_RUN)
    });
    let run = world.begin(0);
    if world.meets_cancel(run) {
        reached("met by the caller");
        return canceller.join().unwrap();
    }
    world.join(0, run);
    // A call, as `Comm::refuse` looks.
    let is_open = || world.line(0).present() == run_pass(run);
    let mut heard = false;
    if !is_open() {
        loop {
            if world.is_cancelled(run) {
                reached("heard in a call");
                heard = true;
                break;
            }
            if is_open() {
                break;
            }
            world.reopen(0, run);
        }
    }
    canceller.join().unwrap();
    if !heard {
        assert!(!is_open(), "a cancel is lost");
        reached("the next call");
    }
}

/// Runs `rank(port in one world, port in the other)` on two threads.
fn in_two_worlds(rank: fn(&mut Port, &mut Port)) {
    let threads = [Thread::leak(), Thread::leak()];
    let ports = || {
        let world = Arc::new(TeamState::new(2).unwrap());
        let run = world.begin(0);
        let shared = Arc::new(CommState::new(world, [0, 1].into(), false).unwrap());
        (0..2).for_each(|r| shared.world().sit(r, threads[r]));
        let port = |r| {
            // SAFETY: the only port of this rank.
            unsafe { Port::new(shared.clone(), r, run, Wait::Auto).unwrap() }
        };
        (0..2).map(port).collect::<Vec<_>>()
    };
    let mut both = ports().into_iter().zip(ports());
    let (mut a, mut b) = both.next().unwrap();
    let (mut c, mut d) = both.next().unwrap();
    let other = thread::spawn(move || rank(&mut c, &mut d));
    rank(&mut a, &mut b);
    other.join().unwrap();
}

fn enter(port: &mut Port) {
    port.enter(&SIG, Location::caller(), CallParams::of(1));
}

fn post(port: &mut Port, value: u64) {
    enter(port);
    let peer = 1 - port.rank();
    // SAFETY: eight bytes fit.
    port.post_copy(peer, 1, 8, |body| unsafe { body.cast::<u64>().write(value) }).unwrap();
}

fn take(port: &mut Port) -> Result<u64, Stop> {
    enter(port);
    let peer = 1 - port.rank();
    // SAFETY: a message of this kind was written by `post`.
    port.take_copy(peer, 1, 8, |body| unsafe { body.cast::<u64>().read() })
}

/// Rank 0 waits in the first world, rank 1 in the second. One of them finds out, or both;
/// who does not hears that the other has left.
pub(super) fn circle() {
    in_two_worlds(|a, b| {
        let (own, other) = if a.rank() == 0 { (a, b) } else { (b, a) };
        match take(own) {
            Err(Stop::Circle(circle)) => {
                assert_eq!(circle.len(), 2);
                reached("circle");
            }
            Err(Stop::Left { .. }) => reached("left"),
            other => panic!("out of nothing: {other:?}"),
        }
        own.quiesce();
        other.shared().world().leave(other.rank(), other.run());
    });
}

/// Rank 0 asks in one world, and is answered in the other; `ROUNDS` times.
pub(super) fn question<const ROUNDS: u64>() {
    in_two_worlds(|a, b| {
        for round in 0..ROUNDS {
            if a.rank() == 0 {
                post(b, round);
                assert_eq!(take(a).expect("a sound run is stopped"), round + 10);
            } else {
                let got = take(b).expect("a sound run is stopped");
                post(a, got + 10);
            }
        }
    });
}

/// A started call of rank 0: it answers rank 1, and is over, once the asker has asked.
struct Answer<'a> {
    world: &'a TeamState,
    asker: usize,
    asked: &'a AtomicU64,
    answered: &'a AtomicU64,
    looks: std::cell::Cell<u32>,
}

impl Background for Answer<'_> {
    fn carry_on(&self) -> OpenCalls {
        self.looks.set(self.looks.get() + 1);
        // A third rank asks some time, at no cost of executions.
        if self.asker == 2 && self.looks.get() == 3 {
            self.asked.store(1, Ordering::Relaxed);
        }
        // Release and Acquire, here and below: all that was written before is seen.
        if self.asked.load(Ordering::Acquire) == 1 {
            self.answered.store(1, Ordering::Release);
            return OpenCalls::default();
        }
        OpenCalls { open: 1, owing: 1, passed: 0 }
    }

    fn awaits(&self, add: &mut dyn FnMut(&TeamState, usize)) {
        if self.asked.load(Ordering::Acquire) == 0 {
            add(self.world, self.asker);
        }
    }

    fn publish(&self) {}
}

/// Rank 0 waits for rank 1's last word, which comes when its started call has answered. `asker`:
/// the rank that asks for that; if none does, it is a deadlock.
pub(super) fn beside_a_started_call(asker: Option<usize>) {
    let world = Arc::new(TeamState::new(3).unwrap());
    let run = world.begin(0);
    let shared = Arc::new(CommState::new(world, [0, 1].into(), false).unwrap());
    let threads = [Thread::leak(), Thread::leak()];
    (0..2).for_each(|r| shared.world().sit(r, threads[r]));
    let mut ports = (0..2).map(|r| {
        // SAFETY: the only port of this rank.
        unsafe { Port::new(shared.clone(), r, run, Wait::Auto).unwrap() }
    });
    let (mut port, mut other) = (ports.next().unwrap(), ports.next().unwrap());
    drop(ports);
    let words = Arc::new([(); 3].map(|()| AtomicU64::new(0)));
    let wait = |port: &Port, word: &AtomicU64| {
        let place = RankCards::place(&port.rank_place(), 1 - port.rank());
        place.wait(None, &mut || word.load(Ordering::Acquire) == 1)
    };
    let end = move |port: &mut Port, result| match result {
        Ok(()) => assert!(asker.is_some(), "out of nothing"),
        Err(Stop::Circle(circle)) => {
            assert!(asker.is_none(), "a sound run is stopped");
            assert_eq!(circle.len(), 2);
            reached("circle");
            port.quiesce();
        }
        Err(Stop::Poisoned) if asker.is_none() => {
            reached("told");
            port.quiesce();
        }
        other => panic!("out of nothing: {other:?}"),
    };
    let there = thread::spawn({
        let words = words.clone();
        move || {
            if asker == Some(1) {
                words[0].store(1, Ordering::Release);
                other.tell();
            }
            let result = wait(&other, &words[1]);
            if result.is_ok() {
                words[2].store(1, Ordering::Release);
                other.tell();
            }
            end(&mut other, result);
        }
    });
    let (asked, answered, asker) = (&words[0], &words[1], asker.unwrap_or(1));
    let (world, looks) = (shared.world(), std::cell::Cell::new(0));
    let call = Answer { world, asker, asked, answered, looks };
    let result = threads[0].beside(&call, || wait(&port, &words[2]));
    end(&mut port, result);
    there.join().unwrap();
}
