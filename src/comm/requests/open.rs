//! The requests of a scope: a slot each, from its start until it was waited for.

use crate::exec::board::started::WorkDesk;
use crate::fabric::{Background, CommState, Disagreement, Place, Port, Signature};
use crate::sync::Arc;
use std::any::Any;
use std::cell::RefCell;

/// Why a request cannot be completed.
pub(crate) enum Failure {
    /// A peer has started another call than this rank of the communicator, in the run.
    Disagrees(Box<Disagreement>),
    /// An operator has panicked.
    Panicked(Box<dyn Any + Send>),
    /// The run is over.
    Over,
}

/// A communicator, a rank there, and a run.
pub(crate) type Whose = (Arc<CommState>, usize, u64);

/// A call that was started: it goes on wherever its rank waits, and owes its peers that it does.
pub(crate) trait Running {
    /// Goes on as far as it can without waiting; whether it is complete. Not called again once it
    /// is, or has failed.
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure>;

    /// Whether peers may still wait that this rank publishes something for it.
    fn owes(&self) -> bool;

    /// Where the rank can wait until this may go on.
    fn place(&self) -> Place;

    /// The rank that is awaited there.
    fn awaited(&self) -> usize;

    /// That rank, if it has left: it never comes.
    fn left(&self) -> Option<usize>;

    /// Makes this the call in progress of its port, for errors.
    fn blame(&self, port: &mut Port);

    /// What was called.
    fn sig(&self) -> &'static Signature;

    /// The rank that has completed it, if that was not known before.
    fn source(&self) -> Option<usize> {
        None
    }

    /// Its communicator, this rank there, and the run.
    fn whose(&self) -> Whose;

    /// Ends the run, whose cause is to follow: the rank touches no memory of others any more.
    fn give_up(&self);

    /// Waits, after that, until nobody touches this rank's.
    fn quiesce(&self);
}

/// A running call, and what its request gives.
pub(crate) trait Underway {
    fn running(&self) -> &dyn Running;

    fn running_mut(&mut self) -> &mut dyn Running;

    /// Hands its result out.
    ///
    /// # Safety
    /// It is complete, and there is room for what its kind of request gives at `to`.
    unsafe fn give(self: Box<Self>, to: *mut u8);
}

enum OpenSlot<'env> {
    Free,
    Open(Box<dyn Underway + 'env>),
    Done(Box<dyn Underway + 'env>),
}

struct Inner<'env> {
    slots: Vec<OpenSlot<'env>>,
    /// No slot before this one is free.
    first_free: usize,
    /// Those that are open.
    open: usize,
    desk: WorkDesk,
    /// With the communicator, the rank and the run.
    failure: Option<(Failure, Whose)>,
    /// Nothing goes on any more.
    is_dead: bool,
    /// That, or the run is recorded: nothing goes on but by [`look`](Open::look).
    is_held: bool,
}

/// See the module documentation. What borrows it does so for a moment, but while an operator runs:
/// the calls that this makes find it borrowed, and leave it alone.
pub(crate) struct Open<'env>(RefCell<Inner<'env>>);

/// How far a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Done,
    Open,
    Failed,
}

impl<'env> Open<'env> {
    pub(crate) fn new(desk: WorkDesk, is_recorded: bool) -> Self {
        let (slots, failure) = (Vec::new(), None);
        let (is_dead, is_held) = (false, is_recorded);
        let (first_free, open) = (0, 0);
        Open(RefCell::new(Inner { slots, first_free, open, desk, failure, is_dead, is_held }))
    }

    /// What the requests have worked with.
    pub(crate) fn into_desk(self) -> WorkDesk {
        self.0.into_inner().desk
    }

    /// Takes a request in; returns its slot.
    pub(crate) fn add(&self, pending: Box<dyn Underway + 'env>) -> usize {
        let mut inner = self.0.borrow_mut();
        let Inner { slots, first_free, open, .. } = &mut *inner;
        *open += 1;
        let is_free = |slot: &OpenSlot<'_>| matches!(slot, OpenSlot::Free);
        let free = slots[*first_free..].iter().position(is_free);
        let slot = free.map_or(slots.len(), |free| *first_free + free);
        match slots.get_mut(slot) {
            Some(free) => *free = OpenSlot::Open(pending),
            None => slots.push(OpenSlot::Open(pending)),
        }
        *first_free = slot + 1;
        slot
    }

    /// Goes on with a call that was started just now, and has no slot yet; not where the run is
    /// recorded. If it fails nobody reaches its memory.
    pub(crate) fn look_at_new(&self, running: &mut dyn Running) -> Progress {
        self.0.borrow_mut().look_at_new(running)
    }

    /// Goes on with the request of a slot; not where the run is recorded: then the rank begins to
    /// wait first, so that the record says when.
    pub(crate) fn advance(&self, slot: usize) -> Progress {
        self.0.borrow_mut().advance(slot)
    }

    /// Goes on with the request of a slot.
    pub(crate) fn look(&self, slot: usize) -> Progress {
        self.0.borrow_mut().look(slot)
    }

    /// The first slot whose request is not complete.
    pub(crate) fn first_open(&self) -> Option<usize> {
        let inner = self.0.borrow();
        match inner.open {
            0 => None,
            _ => inner.slots.iter().position(|slot| matches!(slot, OpenSlot::Open(_))),
        }
    }

    /// Where to wait for the request of a slot, and whether peers may wait for it.
    pub(crate) fn place(&self, slot: usize) -> Option<(Place, bool)> {
        match &self.0.borrow().slots[slot] {
            OpenSlot::Open(pending) => Some((pending.running().place(), pending.running().owes())),
            OpenSlot::Free | OpenSlot::Done(_) => None,
        }
    }

    /// The rank that the request of a slot waits for.
    pub(crate) fn awaited(&self, slot: usize) -> Option<usize> {
        match &self.0.borrow().slots[slot] {
            OpenSlot::Open(pending) => Some(pending.running().awaited()),
            OpenSlot::Free | OpenSlot::Done(_) => None,
        }
    }

    /// The rank that the request of a slot waits for, if that has left.
    pub(crate) fn left(&self, slot: usize) -> Option<usize> {
        match &self.0.borrow().slots[slot] {
            OpenSlot::Open(pending) => pending.running().left(),
            OpenSlot::Free | OpenSlot::Done(_) => None,
        }
    }

    /// Makes the request of a slot the call in progress of its port, for errors.
    pub(crate) fn blame(&self, slot: usize, port: &mut Port) {
        if let OpenSlot::Open(pending) = &self.0.borrow().slots[slot] {
            pending.running().blame(port);
        }
    }

    /// What was called, of an open request.
    pub(crate) fn sig(&self, slot: usize) -> Option<&'static Signature> {
        match &self.0.borrow().slots[slot] {
            OpenSlot::Open(pending) => Some(pending.running().sig()),
            OpenSlot::Free | OpenSlot::Done(_) => None,
        }
    }

    /// The rank that has completed the request of a slot, if that was not known before.
    pub(crate) fn source(&self, slot: usize) -> Option<usize> {
        match &self.0.borrow().slots[slot] {
            OpenSlot::Done(pending) => pending.running().source(),
            OpenSlot::Free | OpenSlot::Open(_) => None,
        }
    }

    /// Why nothing goes on any more, if it does not and nobody has asked before.
    pub(crate) fn take_failure(&self) -> Option<(Failure, Whose)> {
        self.0.borrow_mut().failure.take()
    }

    /// Takes a complete request out.
    pub(crate) fn take(&self, slot: usize) -> Option<Box<dyn Underway + 'env>> {
        let mut inner = self.0.borrow_mut();
        match std::mem::replace(&mut inner.slots[slot], OpenSlot::Free) {
            OpenSlot::Done(pending) => {
                inner.first_free = inner.first_free.min(slot);
                Some(pending)
            }
            other => {
                inner.slots[slot] = other;
                None
            }
        }
    }

    /// Whether one of its requests is at work, further out.
    pub(crate) fn is_at_work(&self) -> bool {
        self.0.try_borrow_mut().is_err()
    }

    /// Ends the scope although requests are open, if some are: nobody reaches this rank's memory
    /// when this returns.
    #[cold]
    pub(crate) fn abandon(&self) {
        let mut inner = self.0.borrow_mut();
        (inner.is_dead, inner.is_held) = (true, true);
        let open = || {
            inner.slots.iter().filter_map(|slot| match slot {
                OpenSlot::Open(pending) => Some(pending),
                OpenSlot::Free | OpenSlot::Done(_) => None,
            })
        };
        open().for_each(|pending| pending.running().give_up());
        open().for_each(|pending| pending.running().quiesce());
    }
}

impl Inner<'_> {
    #[inline]
    fn is_open(&self, slot: usize) -> bool {
        matches!(self.slots[slot], OpenSlot::Open(_))
    }

    fn advance(&mut self, slot: usize) -> Progress {
        if self.is_held && self.is_open(slot) {
            return if self.is_dead { Progress::Failed } else { Progress::Open };
        }
        self.go_on(slot)
    }

    fn look(&mut self, slot: usize) -> Progress {
        if self.is_dead && self.is_open(slot) {
            return Progress::Failed;
        }
        self.go_on(slot)
    }

    #[inline(always)]
    fn go_on(&mut self, slot: usize) -> Progress {
        let Inner { slots, open, desk, .. } = self;
        let pending = match &mut slots[slot] {
            OpenSlot::Open(pending) => pending,
            OpenSlot::Free | OpenSlot::Done(_) => return Progress::Done,
        };
        match pending.running_mut().advance(desk) {
            Ok(false) => Progress::Open,
            Ok(true) => {
                *open -= 1;
                if let OpenSlot::Open(pending) = std::mem::replace(&mut slots[slot], OpenSlot::Free)
                {
                    slots[slot] = OpenSlot::Done(pending);
                }
                Progress::Done
            }
            Err(why) => {
                let whose = pending.running().whose();
                self.fail(why, whose)
            }
        }
    }

    fn look_at_new(&mut self, running: &mut dyn Running) -> Progress {
        if self.is_held {
            return if self.is_dead { Progress::Failed } else { Progress::Open };
        }
        match running.advance(&mut self.desk) {
            Ok(false) => Progress::Open,
            Ok(true) => Progress::Done,
            Err(why) => self.fail(why, running.whose()),
        }
    }

    #[cold]
    fn fail(&mut self, why: Failure, (fabric, rank, run): Whose) -> Progress {
        (self.is_dead, self.is_held) = (true, true);
        // Whatever call is under way ends; the cause follows when it has.
        drop(fabric.world().poison(run, fabric.member(rank), None));
        self.failure = Some((why, (fabric, rank, run)));
        Progress::Failed
    }
}

impl Background for Open<'_> {
    fn carry_on(&self) -> usize {
        // Borrowed: one of its requests is at work, below, and owes what it does.
        let Ok(mut inner) = self.0.try_borrow_mut() else { return 1 };
        if inner.open == 0 {
            return 0;
        }
        let owes = |slot: &OpenSlot<'_>| match slot {
            OpenSlot::Open(pending) => pending.running().owes(),
            OpenSlot::Free | OpenSlot::Done(_) => false,
        };
        (0..inner.slots.len())
            .filter(|&slot| inner.look(slot) == Progress::Open && owes(&inner.slots[slot]))
            .count()
    }
}
