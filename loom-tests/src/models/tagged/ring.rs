// Included by `tagged.rs` for the real ring and for its mutant.

#[track_caller]
fn label() -> MessageLabel {
    let (at, element) = (Location::caller(), TypeId::of::<u64>());
    MessageLabel { sig: &SIG, at, len: 1, element, owned: false }
}

/// One message more than the ring holds: its sender waits for a slot.
pub(super) fn slots_are_used_again() {
    const MESSAGES: u64 = RING + 1;
    let ring = Arc::new(TaggedRing::new());
    let there = ring.clone();
    let sender = thread::spawn(move || {
        for value in 1..=MESSAGES {
            let from = (&raw const value).cast();
            // SAFETY: this thread alone sends; eight bytes are there.
            while !unsafe { there.send(7, &label(), from, 8, None) } {
                reached("full");
                yield_now();
            }
        }
    });
    for wanted in 1..=MESSAGES {
        // SAFETY: this thread alone takes.
        while unsafe { ring.first() }.is_none() {
            yield_now();
        }
        // SAFETY: as above; there is a message of eight bytes.
        let value = unsafe { ring.take(8, |from| from.cast::<u64>().read_unaligned()) };
        assert_eq!(value, wanted);
    }
    sender.join().unwrap();
}

/// Two messages more than the ring holds, and one back meanwhile, which tells how many were taken
/// before it.
pub(super) fn messages_back_acknowledge() {
    const MESSAGES: u64 = RING + 2;
    let rings = Arc::new([TaggedRing::new(), TaggedRing::new()]);
    let there = rings.clone();
    let sender = thread::spawn(move || {
        let [out, back] = &*there;
        for value in 1..=MESSAGES {
            if value == RING + 1 {
                // SAFETY: this thread alone takes from this ring.
                while unsafe { back.first() }.is_none() {
                    yield_now();
                }
                // SAFETY: as above; there is a message of eight bytes.
                unsafe { back.take(8, |_| ()) };
            }
            let from = (&raw const value).cast();
            // SAFETY: this thread alone sends; eight bytes are there. `back` is the ring back.
            while !unsafe { out.send(7, &label(), from, 8, Some(back)) } {
                reached("full");
                assert_ne!(value, RING + 1, "the message back has said that one was taken");
                yield_now();
            }
        }
    });
    let [inc, reply] = &*rings;
    for wanted in 1..=MESSAGES {
        // SAFETY: this thread alone takes.
        while unsafe { inc.first() }.is_none() {
            yield_now();
        }
        // SAFETY: as above; there is a message of eight bytes.
        let value = unsafe { inc.take(8, |from| from.cast::<u64>().read_unaligned()) };
        assert_eq!(value, wanted);
        if wanted == 1 {
            let from = (&raw const wanted).cast();
            // SAFETY: this thread alone sends there; eight bytes are there.
            assert!(unsafe { reply.send(7, &label(), from, 8, Some(inc)) });
        }
    }
    sender.join().unwrap();
}

/// As before, but the message back may be taken by its own sender, under the lock of the queue that
/// it is in: so the other rank reads a `heard` that it has not written.
pub(super) fn acknowledged_by_the_sender() {
    const MESSAGES: u64 = RING + 2;
    let all = Arc::new(([TaggedRing::new(), TaggedRing::new()], loom::sync::Mutex::new(())));
    /// Takes the message back, if nobody has.
    fn drain((rings, lock): &([TaggedRing; 2], loom::sync::Mutex<()>)) -> bool {
        let _held = lock.lock().unwrap();
        // SAFETY: the lock is held.
        let there = unsafe { rings[1].first() }.is_some();
        if there {
            // SAFETY: as above; there is a message of eight bytes.
            unsafe { rings[1].take(8, |_| ()) };
        }
        there
    }
    let there = all.clone();
    let receiver = thread::spawn(move || {
        let [inc, reply] = &there.0;
        for wanted in 1..=MESSAGES {
            // SAFETY: this thread alone takes from this ring.
            while unsafe { inc.first() }.is_none() {
                yield_now();
            }
            // SAFETY: as above; there is a message of eight bytes.
            let value = unsafe { inc.take(8, |from| from.cast::<u64>().read_unaligned()) };
            assert_eq!(value, wanted);
            if wanted == 1 {
                let from = (&raw const wanted).cast();
                // SAFETY: this thread alone sends there; eight bytes are there.
                assert!(unsafe { reply.send(7, &label(), from, 8, Some(inc)) });
                reached(if drain(&there) { "by its sender" } else { "by its receiver" });
            }
        }
    });
    let [out, back] = &all.0;
    for value in 1..=MESSAGES {
        if value == RING + 1 {
            drain(&all);
        }
        let from = (&raw const value).cast();
        // SAFETY: this thread alone sends; eight bytes are there. `back` is the ring back.
        while !unsafe { out.send(7, &label(), from, 8, Some(back)) } {
            yield_now();
        }
    }
    receiver.join().unwrap();
}
