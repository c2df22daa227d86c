// Included by `tagged.rs` for the real queue and for each of its mutants.

/// Elements of the models are loom's cells.
unsafe fn copy(to: *mut u8, from: *const u8, _: usize) {
    // SAFETY: the models hand over addresses of cells, which live until loom has checked them.
    unsafe { write(&*to.cast::<Cell>(), read(&*from.cast::<Cell>())) }
}

#[track_caller]
fn label() -> MessageLabel {
    let (at, element) = (Location::caller(), TypeId::of::<u64>());
    MessageLabel { sig: &SIG, at, len: 1, element, owned: false }
}

fn send(queue: &TaggedQueue, source: u32, cell: &Cell) -> Option<Arc<Ticket>> {
    let data = Data::Elements(std::ptr::from_ref(cell).cast(), 8);
    let out = OutgoingMessage { source, tag: 7, label: label(), data };
    // SAFETY: the models wait for the ticket, or withdraw it; an access too early loom finds.
    match unsafe { queue.send(out, copy) }.expect("they fit") {
        SentMessage::Delivered => {
            reached("delivered");
            None
        }
        SentMessage::Kept => panic!("a model's message is kept"),
        SentMessage::Lent(ticket) => {
            reached("lent");
            Some(ticket)
        }
    }
}

/// The source, or the ticket.
fn receive(queue: &TaggedQueue, source: Option<u32>, cell: &Cell) -> Result<u32, Arc<Ticket>> {
    let room = ReceiveRoom { label: label(), at: std::ptr::from_ref(cell).cast_mut().cast() };
    let pattern = MatchPattern { source, tag: Some(7) };
    // SAFETY: as above.
    match unsafe { queue.receive(pattern, room, copy) }.expect("they fit") {
        Received::Message { envelope, .. } => Ok(envelope.source),
        Received::Posted(ticket) => Err(ticket),
    }
}

fn await_done(ticket: &Ticket) -> u32 {
    loop {
        match ticket.envelope() {
            Some(envelope) => return envelope.source,
            None => yield_now(),
        }
    }
}

pub(super) fn second_comer_copies() {
    let queue = Arc::new(TaggedQueue::new(0, 3));
    let (own, there) = (Cell::new(0), queue.clone());
    let sender = thread::spawn(move || {
        let cell = Cell::new(40);
        if let Some(ticket) = send(&there, 1, &cell) {
            await_done(&ticket);
        }
        // Its memory is its own again.
        write(&cell, 0);
    });
    let source = receive(&queue, Some(1), &own).unwrap_or_else(|ticket| await_done(&ticket));
    assert_eq!((source, read(&own)), (1, 40));
    write(&own, 0);
    sender.join().unwrap();
}

pub(super) fn withdrawn_meanwhile() {
    let queue = Arc::new(TaggedQueue::new(0, 3));
    let (own, there) = (Cell::new(0), queue.clone());
    let sender = thread::spawn(move || {
        let cell = Cell::new(40);
        if let Some(ticket) = send(&there, 1, &cell) {
            there.withdraw(&ticket);
            if !ticket.is_done() {
                reached("withdrawn by the sender");
            }
        }
        write(&cell, 0);
    });
    if let Err(ticket) = receive(&queue, None, &own) {
        queue.withdraw(&ticket);
        if !ticket.is_done() {
            reached("withdrawn by the receiver");
        }
    }
    write(&own, 1);
    sender.join().unwrap();
}

pub(super) fn any_source() {
    let queue = Arc::new(TaggedQueue::new(0, 3));
    let cells = [Cell::new(0), Cell::new(0)];
    let senders = [1, 2].map(|source| {
        let there = queue.clone();
        thread::spawn(move || {
            let cell = Cell::new(40 + u64::from(source));
            if let Some(ticket) = send(&there, source, &cell) {
                await_done(&ticket);
            }
            write(&cell, 0);
        })
    });
    let sources = cells.each_ref().map(|cell| {
        let source = receive(&queue, None, cell).unwrap_or_else(|ticket| await_done(&ticket));
        assert_eq!(read(cell), 40 + u64::from(source));
        source
    });
    reached(if sources[0] == 1 { "1 first" } else { "2 first" });
    assert_eq!(sources[0] + sources[1], 3);
    senders.into_iter().for_each(|it| it.join().unwrap());
}

/// Messages that are bytes, which loom does not see: the ring's slots are watched.
unsafe fn bytes(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the queue's contract.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

/// A queue with a ring of its rank 1.
fn with_ring() -> Arc<TaggedQueue> {
    let queue = Arc::new(TaggedQueue::new(0, 2));
    queue.make_ring(1);
    queue
}

fn await_polled(queue: &TaggedQueue, ticket: &Ticket) {
    while !ticket.is_done() {
        queue.poll(Some(1));
        yield_now();
    }
}

pub(super) fn short_and_long_messages() {
    let queue = with_ring();
    let there = queue.clone();
    let sender = thread::spawn(move || {
        let ring = there.ring(1).unwrap();
        for value in [1_u64, 2] {
            let memory = ((&raw const value).cast(), 8);
            // The second one goes through the lock.
            // SAFETY: eight bytes are there.
            if value == 1 && unsafe { ring.send(7, &label(), memory.0, memory.1) } {
                reached("by the ring");
                continue;
            }
            reached("by the lock");
            let data = Data::Elements(memory.0, memory.1);
            let out = OutgoingMessage { source: 1, tag: 7, label: label(), data };
            // SAFETY: as above; it waits for the ticket.
            if let SentMessage::Lent(ticket) = unsafe { there.send(out, bytes) }.expect("it fits") {
                await_done(&ticket);
            }
        }
    });
    for wanted in [1_u64, 2] {
        let mut value = 0_u64;
        let room = ReceiveRoom { label: label(), at: (&raw mut value).cast() };
        let pattern = MatchPattern { source: Some(1), tag: None };
        // SAFETY: it waits for the ticket.
        match unsafe { queue.receive(pattern, room, bytes) }.expect("it fits") {
            Received::Message { .. } => reached("found"),
            Received::Posted(ticket) => {
                reached("posted");
                await_polled(&queue, &ticket);
            }
        }
        assert_eq!(value, wanted, "overtaken");
    }
    sender.join().unwrap();
}

/// Three early receives and as many messages, the second of which comes by the lock: whichever way
/// each is taken, they are taken in their order.
pub(super) fn early_receives() {
    let queue = with_ring();
    let there = queue.clone();
    let sender = thread::spawn(move || {
        let ring = there.ring(1).unwrap();
        let values = [1_u64, 2, 3];
        let memory = |value: &u64| (std::ptr::from_ref(value).cast::<u8>(), 8);
        let mut lent = None;
        for (i, (from, len)) in values.iter().map(memory).enumerate() {
            // SAFETY: eight bytes are there.
            if i != 1 && unsafe { ring.send(7, &label(), from, len) } {
                continue;
            }
            let data = Data::Elements(from, len);
            let out = OutgoingMessage { source: 1, tag: 7, label: label(), data };
            // SAFETY: as above; it waits for the ticket.
            if let SentMessage::Lent(ticket) = unsafe { there.send(out, bytes) }.expect("it fits") {
                lent = Some(ticket);
            }
        }
        if let Some(ticket) = lent {
            await_done(&ticket);
        }
    });
    let mut values = [0_u64; 3];
    let mut early = EarlyReceives::default();
    for (slot, value) in values.iter_mut().enumerate() {
        let at = std::ptr::from_mut(value).cast();
        let room = crate::shared::ReceiveRoom { label: label(), at };
        *early.add(Some(1)) = EarlyReceive { room, source: 1, tag: Some(7), slot };
    }
    let mut tickets = Vec::new();
    while early.count() > 0 {
        // SAFETY: nobody else uses the values.
        match unsafe { queue.take_early(1, &mut early, |_, _| reached("early")) } {
            Ok(false) => yield_now(),
            Ok(true) => {
                for it in early.iter() {
                    let room = ReceiveRoom { label: it.room.label, at: it.room.at };
                    // SAFETY: it waits for the ticket.
                    match unsafe { queue.receive(it.pattern(), room, bytes) }.expect("it fits") {
                        Received::Message { .. } => reached("posted early"),
                        Received::Posted(ticket) => tickets.push(ticket),
                    }
                }
                early.clear();
            }
            Err(_) => panic!("it fits"),
        }
    }
    if tickets.is_empty() {
        reached("none left");
    }
    tickets.iter().for_each(|ticket| await_polled(&queue, ticket));
    assert_eq!(values, [1, 2, 3], "overtaken");
    sender.join().unwrap();
}
