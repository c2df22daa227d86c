//! The requests of a scope: a slot each, from its start until it was waited for.

use crate::error::CallSite;
use crate::exec::Scratch;
use crate::fabric::{Background, CommState, Disagreement, Place};
use crate::sync::Arc;
use std::any::Any;
use std::cell::RefCell;

/// What the requests of a scope work with: one at a time.
pub(crate) struct Desk {
    pub(crate) scratch: Scratch,
    pub(crate) all: Vec<*mut u8>,
}

/// Why a request cannot be completed.
pub(crate) enum Failure {
    /// A peer has started another call.
    Disagrees(Box<Disagreement>),
    /// An operator has panicked.
    Panicked(Box<dyn Any + Send>),
    /// The run is over.
    Over,
}

/// Something that was started: it goes on wherever its rank waits, and owes its peers that it does.
pub(crate) trait Pending {
    /// Goes on as far as it can without waiting; whether it is complete. Not called again once it
    /// is, or has failed.
    fn advance(&mut self, desk: &mut Desk) -> Result<bool, Failure>;

    /// Whether peers may still wait that this rank publishes something for it.
    fn owes(&self) -> bool;

    /// Where the rank can wait until this may go on.
    fn place(&self) -> Place;

    /// The call, for errors.
    fn site(&self) -> CallSite;

    /// Its communicator, this rank there, and the run.
    fn whose(&self) -> (&Arc<CommState>, usize, u64);

    /// Ends the run, whose cause is to follow: the rank touches no memory of others any more.
    fn give_up(&self);

    /// Waits, after that, until nobody touches this rank's.
    fn quiesce(&self);

    /// Hands its result out.
    ///
    /// # Safety
    /// It is complete, and there is room for what its kind of request gives at `to`.
    unsafe fn give(self: Box<Self>, to: *mut u8);
}

enum Slot<'env> {
    Free,
    Open(Box<dyn Pending + 'env>),
    Done(Box<dyn Pending + 'env>),
}

struct Inner<'env> {
    slots: Vec<Slot<'env>>,
    /// Those that are open.
    open: usize,
    desk: Desk,
    failure: Option<Failure>,
    /// Nothing goes on any more.
    is_dead: bool,
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
    pub(crate) fn new() -> Self {
        let desk = Desk { scratch: Scratch::new(), all: Vec::new() };
        let (slots, failure) = (Vec::new(), None);
        Open(RefCell::new(Inner { slots, open: 0, desk, failure, is_dead: false }))
    }

    /// Takes a request in; returns its slot.
    pub(crate) fn add(&self, pending: Box<dyn Pending + 'env>) -> usize {
        let mut inner = self.0.borrow_mut();
        inner.open += 1;
        let free = inner.slots.iter().position(|slot| matches!(slot, Slot::Free));
        let slot = free.unwrap_or(inner.slots.len());
        match free {
            Some(slot) => inner.slots[slot] = Slot::Open(pending),
            None => inner.slots.push(Slot::Open(pending)),
        }
        slot
    }

    /// Goes on with the request of a slot.
    pub(crate) fn advance(&self, slot: usize) -> Progress {
        self.0.borrow_mut().advance(slot)
    }

    /// The first slot whose request is not complete.
    pub(crate) fn first_open(&self) -> Option<usize> {
        self.0.borrow().slots.iter().position(|slot| matches!(slot, Slot::Open(_)))
    }

    /// Where to wait for the request of a slot, and whether peers may wait for it.
    pub(crate) fn place(&self, slot: usize) -> Option<(Place, bool)> {
        match &self.0.borrow().slots[slot] {
            Slot::Open(pending) => Some((pending.place(), pending.owes())),
            Slot::Free | Slot::Done(_) => None,
        }
    }

    /// The call of a slot's request, for errors.
    pub(crate) fn site(&self, slot: usize) -> Option<CallSite> {
        match &self.0.borrow().slots[slot] {
            Slot::Open(pending) => Some(pending.site()),
            Slot::Free | Slot::Done(_) => None,
        }
    }

    /// Why nothing goes on any more, if it does not and nobody has asked before.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.0.borrow_mut().failure.take()
    }

    /// Takes a complete request out.
    pub(crate) fn take(&self, slot: usize) -> Option<Box<dyn Pending + 'env>> {
        let mut inner = self.0.borrow_mut();
        match std::mem::replace(&mut inner.slots[slot], Slot::Free) {
            Slot::Done(pending) => Some(pending),
            other => {
                inner.slots[slot] = other;
                None
            }
        }
    }

    /// Ends the scope although requests are open, if some are: nobody reaches this rank's memory
    /// when this returns.
    #[cold]
    pub(crate) fn abandon(&self) {
        let mut inner = self.0.borrow_mut();
        inner.is_dead = true;
        let open = || {
            inner.slots.iter().filter_map(|slot| match slot {
                Slot::Open(pending) => Some(pending),
                Slot::Free | Slot::Done(_) => None,
            })
        };
        open().for_each(|pending| pending.give_up());
        open().for_each(|pending| pending.quiesce());
    }
}

impl Inner<'_> {
    fn advance(&mut self, slot: usize) -> Progress {
        let Inner { slots, open, desk, failure, is_dead } = self;
        let pending = match &mut slots[slot] {
            Slot::Open(_) if *is_dead => return Progress::Failed,
            Slot::Open(pending) => pending,
            Slot::Free | Slot::Done(_) => return Progress::Done,
        };
        match pending.advance(desk) {
            Ok(false) => Progress::Open,
            Ok(true) => {
                *open -= 1;
                if let Slot::Open(pending) = std::mem::replace(&mut slots[slot], Slot::Free) {
                    slots[slot] = Slot::Done(pending);
                }
                Progress::Done
            }
            Err(why) => {
                *is_dead = true;
                *failure = Some(why);
                // Whatever call is under way ends; the cause follows when it has.
                let (fabric, rank, run) = pending.whose();
                drop(fabric.world().poison(run, fabric.member(rank), None));
                Progress::Failed
            }
        }
    }
}

impl Background for Open<'_> {
    fn carry_on(&self) -> usize {
        // Borrowed: one of its requests is at work, below, and owes what it does.
        let Ok(mut inner) = self.0.try_borrow_mut() else { return 1 };
        if inner.open == 0 {
            return 0;
        }
        (0..inner.slots.len())
            .filter(|&slot| {
                inner.advance(slot) == Progress::Open
                    && matches!(&inner.slots[slot], Slot::Open(pending) if pending.owes())
            })
            .count()
    }
}
