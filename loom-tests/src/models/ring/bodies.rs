// Included by `ring.rs` for the real ring and for its mutants. A message is a number; a longer one
// has it in its room, or beside its slot.

type Ring = MessageRing<Sent, u64, u64>;

/// Where the number is.
#[derive(Clone, Copy, Default)]
enum Sent {
    #[default]
    Nothing,
    InSlot(u64),
    InRoom,
    BesideSlot,
}

/// By one thread alone.
fn send(ring: &Ring, number: u64, is_long: bool) -> bool {
    if !is_long {
        // SAFETY: one thread alone sends.
        return unsafe { ring.push(|it| *it = Sent::InSlot(number)) };
    }
    // SAFETY: as above; a message too early loom finds.
    unsafe {
        ring.push_long(false, |it, to| match to {
            LongRoom::Room(room) => {
                reached("in a room");
                *it = Sent::InRoom;
                room.write(number);
            }
            LongRoom::Own(own) => {
                reached("beside a slot");
                *it = Sent::BesideSlot;
                own.write(number);
            }
        })
    }
}

fn number(it: &Sent, memory: MessageMemory<'_, u64, u64>) -> u64 {
    // SAFETY: written there.
    unsafe {
        match *it {
            Sent::Nothing => 0,
            Sent::InSlot(number) => number,
            Sent::InRoom => memory.room(|it| it.read()),
            Sent::BesideSlot => memory.own(|it| it.read()),
        }
    }
}

fn take(ring: &Ring) -> Option<u64> {
    // SAFETY: one thread at a time takes, by the model.
    unsafe { ring.take(number) }
}

/// Three messages over two slots and one room: in their order, and each whole, whoever takes them.
/// The sender takes, too, when the ring is full; a lock says which may.
fn in_order(is_long: bool) {
    type Queue = loom::sync::Mutex<Vec<u64>>;
    let shared = Arc::new((Ring::new::<2>(), Queue::default()));
    let there = shared.clone();
    let sender = thread::spawn(move || {
        let (ring, queue) = &*there;
        for number in 1..=3 {
            if !send(ring, number, is_long) {
                reached("full");
                let mut queue = queue.lock().unwrap();
                queue.extend(std::iter::from_fn(|| take(ring)));
                queue.push(number);
            }
        }
    });
    let (ring, queue) = &*shared;
    for _ in 0..2 {
        if ring.has_news() {
            let mut queue = queue.lock().unwrap();
            queue.extend(take(ring));
        }
    }
    sender.join().unwrap();
    let mut queue = queue.lock().unwrap();
    queue.extend(std::iter::from_fn(|| take(ring)));
    assert_eq!(*queue, [1, 2, 3], "messages in another order");
}

pub(super) fn short_messages() {
    in_order(false);
}

pub(super) fn long_messages() {
    in_order(true);
}

/// One message more than there are slots: its sender waits for one.
pub(super) fn slots_are_used_again() {
    let ring = Arc::new(Ring::new::<2>());
    let there = ring.clone();
    let sender = thread::spawn(move || {
        for number in 1..=3 {
            while !send(&there, number, false) {
                reached("full");
                yield_now();
            }
        }
    });
    for wanted in 1..=3 {
        let taken = loop {
            match take(&ring) {
                Some(taken) => break taken,
                None => yield_now(),
            }
        };
        assert_eq!(taken, wanted, "messages in another order");
    }
    sender.join().unwrap();
}

/// Of three messages over two slots the first, once it is there, is looked at and stays; then all
/// that were sent are taken.
pub(super) fn a_message_that_stays() {
    let ring = Arc::new(Ring::new::<2>());
    let there = ring.clone();
    let sender = thread::spawn(move || (1..=3).take_while(|it| send(&there, *it, false)).count());
    if ring.awaited().has_come() {
        reached("looked at");
        let look = |it: &Sent, memory: MessageMemory<'_, u64, u64>| {
            assert_eq!(number(it, memory), 1);
            None::<()>
        };
        // SAFETY: one thread alone takes.
        assert_eq!(unsafe { ring.take_if(look) }, Some(None));
    }
    let sent = sender.join().unwrap() as u64;
    let taken = std::iter::from_fn(|| take(&ring));
    assert!(taken.eq(1..=sent) && sent == 2, "a message that stays is passed");
}
