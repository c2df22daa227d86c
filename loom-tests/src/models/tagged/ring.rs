// Included by `tagged.rs` for the real ring and for its mutant.

#[track_caller]
fn label() -> MessageLabel {
    let (at, element) = (Location::caller(), TypeId::of::<u64>());
    MessageLabel { sig: &SIG, at, len: 1, element, owned: false }
}

/// One message more than the ring holds: its sender waits for a slot.
pub(super) fn slots_are_used_again() {
    const MESSAGES: u64 = RING as u64 + 1;
    let ring = Arc::new(TaggedRing::new());
    let there = ring.clone();
    let sender = thread::spawn(move || {
        for value in 1..=MESSAGES {
            let from = (&raw const value).cast();
            // SAFETY: this thread alone sends; eight bytes are there.
            while !unsafe { there.send(7, &label(), from, 8) } {
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
