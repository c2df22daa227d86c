//! The requests of a scope: a slot each, from its start until it was waited for.

use super::started_message::{PendingReceive, ReceivedData};
use crate::exec::board::started::WorkDesk;
use crate::exec::copy;
use crate::fabric::{
    Background, CommState, Disagreement, EarlyReceive, Envelope, Owed, Place, Port, RankPlace,
    Signature, Thread, ThreadMark, Ticket,
};
use crate::sync::Arc;
use std::any::Any;
use std::cell::{Cell, RefCell};

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
/// `at` is the rank's place in the communicator.
pub(crate) trait Running {
    /// Goes on as far as it can without waiting; whether it is complete. Not called again once it
    /// is, or has failed.
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure>;

    /// What peers may wait for of it, from its start on.
    fn owed(&self) -> Owed {
        Owed::Nothing
    }

    /// Whether peers may still wait that this rank publishes something for it.
    fn owes(&self) -> bool;

    /// Where the rank can wait until this may go on.
    fn place(&self, at: &RankPlace) -> Place;

    /// The rank that is awaited there.
    fn awaited(&self, at: &RankPlace) -> usize;

    /// That rank, if it has left: it never comes.
    fn left(&self, at: &RankPlace) -> Option<usize>;

    /// Makes this the call in progress of its port, for errors.
    fn blame(&self, port: &mut Port);

    /// What was called.
    fn sig(&self) -> &'static Signature;

    /// The rank that has completed it, if that was not known before.
    fn source(&self, _at: &RankPlace) -> Option<usize> {
        None
    }

    /// Of an early receive that is set up: what has come, or the ticket that it is posted with.
    fn settle(&mut self, _: Result<Envelope, Arc<Ticket>>) {}

    /// Waits, after the rank has [given up](RankPlace::give_up), until nobody touches its memory.
    fn quiesce(&self, at: &RankPlace);
}

/// A running call, and what its request gives.
pub(crate) trait Underway {
    fn running(&self) -> &dyn Running;

    fn running_mut(&mut self) -> &mut dyn Running;

    /// As [`Running::advance`].
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        self.running_mut().advance(desk)
    }

    /// Hands its result out.
    ///
    /// # Safety
    /// It is complete, and there is room for what its kind of request gives at `to`.
    unsafe fn give(self: Box<Self>, to: *mut u8);
}

type EarlyEnd = Result<Envelope, Arc<Ticket>>;

/// What is in a slot.
enum SlotRequest<'env> {
    /// Nothing. The next slot that is free; [`NONE`] if this is the last.
    Free(usize),
    Underway(Box<dyn Underway + 'env>),
    /// A receive that began as an early one; what has come, if it is complete.
    Early(ReceivedData, Envelope),
}

/// A slot of a request, or a free one.
struct OpenSlot<'env> {
    request: SlotRequest<'env>,
    /// It is not complete.
    is_open: bool,
    /// It is an [early receive](EarlyReceive): this rank alone knows of it.
    is_early: bool,
    /// What peers may wait for until it is complete.
    owed: Owed,
}

const NONE: usize = usize::MAX;

impl<'env> OpenSlot<'env> {
    /// What is in it, if that is not complete; not of an early receive.
    #[inline(always)]
    fn open(&self) -> Option<&(dyn Underway + 'env)> {
        match &self.request {
            SlotRequest::Underway(request) if self.is_open => Some(&**request),
            _ => None,
        }
    }

    /// An early receive is over: it has this message, or is posted with this ticket at
    /// `place`.
    #[inline(always)]
    fn settle(&mut self, place: &RankPlace, early: &EarlyReceive, state: EarlyEnd) {
        self.is_early = false;
        self.is_open = state.is_err();
        match (&mut self.request, state) {
            (SlotRequest::Early(_, envelope), Ok(came)) => *envelope = came,
            (&mut SlotRequest::Early(data, _), Err(ticket)) => {
                let posted = PendingReceive::of_early(place, early, ticket, data);
                self.request = SlotRequest::Underway(Box::new(posted));
            }
            (SlotRequest::Underway(request), state) => request.running_mut().settle(state),
            (SlotRequest::Free(_), _) => {}
        }
    }
}

struct Inner<'env> {
    slots: Vec<OpenSlot<'env>>,
    first_free: usize,
    /// No slot before this one is open.
    first_open: usize,
    desk: Box<WorkDesk>,
    /// With the communicator, the rank and the run.
    failure: Option<(Failure, Whose)>,
}

/// How the requests of a scope go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Whenever anybody looks.
    Free,
    /// By [`look`](Open::look) only: the run is recorded.
    Held,
    /// Not any more.
    Dead,
}

/// See the module documentation. What borrows it does so for a moment, but while an operator runs:
/// the calls that this makes find it borrowed, and leave it alone.
pub(crate) struct Open<'env> {
    inner: RefCell<Inner<'env>>,
    /// Requests that are open.
    open: Cell<usize>,
    pace: Cell<Pace>,
    /// Its thread's, which counts those that peers may wait for.
    mark: &'static ThreadMark,
}

/// How far a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Done,
    Open,
    Failed,
}

impl<'env> Open<'env> {
    #[inline]
    pub(crate) fn new(desk: Box<WorkDesk>, is_recorded: bool, mark: &'static ThreadMark) -> Self {
        let (slots, failure) = (Vec::new(), None);
        let (first_free, first_open) = (NONE, 0);
        let pace = Cell::new(if is_recorded { Pace::Held } else { Pace::Free });
        let inner = RefCell::new(Inner { slots, first_free, first_open, desk, failure });
        Open { inner, open: Cell::new(0), pace, mark }
    }

    /// What the requests have worked with.
    #[inline]
    pub(crate) fn into_desk(self) -> Box<WorkDesk> {
        let mut desk = self.inner.into_inner().desk;
        desk.early.clear();
        desk
    }

    /// What its early receives know it by.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether a request is open.
    #[inline(always)]
    pub(crate) fn has_open(&self) -> bool {
        self.open.get() > 0
    }

    /// Goes on with all that the thread has started, if peers may wait for some of it.
    #[inline(always)]
    pub(crate) fn go_on_with_all(&self) {
        if self.mark.has_started() {
            go_on_here();
        }
    }

    /// Whether the request of a slot is not complete.
    #[inline(always)]
    pub(crate) fn is_open(&self, slot: usize) -> bool {
        self.inner.borrow().slots[slot].is_open
    }

    /// Whether nothing goes on but by [`look`](Open::look), if at all.
    #[inline(always)]
    pub(crate) fn is_held(&self) -> bool {
        self.pace.get() != Pace::Free
    }

    /// Whether nothing goes on any more.
    #[inline(always)]
    pub(crate) fn is_dead(&self) -> bool {
        self.pace.get() == Pace::Dead
    }

    /// How far a request is that does not go on.
    fn stopped(&self) -> Progress {
        if self.is_dead() { Progress::Failed } else { Progress::Open }
    }

    /// Takes a request in, of which peers may wait for `owed`; returns its slot.
    pub(crate) fn add(&self, request: Box<dyn Underway + 'env>, owed: Owed) -> usize {
        self.mark.begin(owed);
        let inner = &mut self.inner.borrow_mut();
        self.add_in(inner, SlotRequest::Underway(request), (false, owed))
    }

    /// The same of one that was set up.
    pub(crate) fn add_again(&self, request: Box<dyn Underway + 'env>) -> usize {
        let owed = request.running().owed();
        self.add(request, owed)
    }

    /// Takes an early receive in, which `early` makes of its slot; returns that.
    ///
    /// # Safety
    /// There is room for what its label names where it says, which nobody else uses until the
    /// request is complete, or [withdrawn](Open::abandon).
    #[inline(always)]
    pub(super) unsafe fn add_early(
        &self,
        data: ReceivedData,
        early: impl FnOnce(usize) -> EarlyReceive,
    ) -> usize {
        let nothing = Envelope { source: 0, tag: 0, len: 0 };
        self.note_early(SlotRequest::Early(data, nothing), early)
    }

    /// The same of one that is set up, and begins again.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn add_early_again(
        &self,
        request: Box<dyn Underway + 'env>,
        early: EarlyReceive,
    ) -> usize {
        let early = |slot| EarlyReceive { slot, ..early };
        self.note_early(SlotRequest::Underway(request), early)
    }

    #[inline(always)]
    fn note_early(
        &self,
        request: SlotRequest<'env>,
        early: impl FnOnce(usize) -> EarlyReceive,
    ) -> usize {
        let mut inner = self.inner.borrow_mut();
        let slot = self.add_in(&mut inner, request, (true, Owed::Nothing));
        let all = &mut inner.desk.early;
        *all.add(None) = early(slot);
        if all.is_full() {
            self.publish_in(&mut inner);
        }
        slot
    }

    #[inline(always)]
    fn add_in(
        &self,
        inner: &mut Inner<'env>,
        request: SlotRequest<'env>,
        (is_early, owed): (bool, Owed),
    ) -> usize {
        let Inner { slots, first_free, first_open, .. } = inner;
        self.open.set(self.open.get() + 1);
        let new = OpenSlot { request, is_open: true, is_early, owed };
        let slot = match slots.get_mut(*first_free) {
            Some(free) => {
                let next = if let SlotRequest::Free(next) = free.request { next } else { NONE };
                *free = new;
                std::mem::replace(first_free, next)
            }
            None => {
                if slots.is_empty() {
                    slots.reserve(8);
                }
                slots.push(new);
                slots.len() - 1
            }
        };
        *first_open = slot.min(*first_open);
        slot
    }

    /// Goes on with a call that was started just now, and has no slot yet; not where the run is
    /// recorded. If it fails nobody reaches its memory.
    pub(crate) fn look_at_new(&self, running: &mut dyn Running) -> Progress {
        if self.is_held() {
            return self.stopped();
        }
        let mut inner = self.inner.borrow_mut();
        match running.advance(&mut inner.desk) {
            Ok(false) => Progress::Open,
            Ok(true) => Progress::Done,
            Err(why) => self.fail_in(&mut inner, why),
        }
    }

    /// Goes on with the request of a slot; not where the run is recorded: then the rank begins to
    /// wait first, so that the record says when.
    #[inline]
    pub(crate) fn advance(&self, slot: usize) -> Progress {
        let mut inner = self.inner.borrow_mut();
        if self.is_held() && inner.slots[slot].is_open {
            return self.stopped();
        }
        self.go_on(&mut inner, slot)
    }

    /// Goes on with the request of a slot.
    pub(crate) fn look(&self, slot: usize) -> Progress {
        self.look_in(&mut self.inner.borrow_mut(), slot)
    }

    fn look_in(&self, inner: &mut Inner<'env>, slot: usize) -> Progress {
        if self.is_dead() && inner.slots[slot].is_open {
            return Progress::Failed;
        }
        self.go_on(inner, slot)
    }

    #[inline(always)]
    fn go_on(&self, inner: &mut Inner<'env>, slot: usize) -> Progress {
        let Inner { slots, desk, .. } = inner;
        let at = &mut slots[slot];
        if !at.is_open {
            return Progress::Done;
        }
        if at.is_early {
            return self.look_early(inner, slot);
        }
        let SlotRequest::Underway(request) = &mut at.request else { return Progress::Done };
        match request.advance(desk) {
            Ok(false) => Progress::Open,
            Ok(true) => {
                self.open.set(self.open.get() - 1);
                at.is_open = false;
                self.mark.end(at.owed);
                Progress::Done
            }
            Err(why) => self.fail_in(inner, why),
        }
    }

    /// Looks for the message of an early receive.
    #[inline]
    fn look_early(&self, inner: &mut Inner<'env>, slot: usize) -> Progress {
        let Inner { slots, desk, .. } = &mut *inner;
        let WorkDesk { early, place, .. } = &mut **desk;
        let Some(own) = early.iter().find(|it| it.slot == slot) else { return Progress::Open };
        let source = own.source;
        let taken = |early: &EarlyReceive, came| {
            slots[early.slot].settle(place, early, Ok(came));
            self.open.set(self.open.get() - 1);
        };
        // SAFETY: the rooms are the requests' (`add_early`), which are not complete.
        match unsafe { place.look(early, source, taken) } {
            Ok(false) if slots[slot].is_open => Progress::Open,
            Ok(false) => Progress::Done,
            Ok(true) => {
                self.publish_in(inner);
                self.look_in(inner, slot)
            }
            Err((at, why)) => {
                let why = PendingReceive::unfit(early.at(at), *why);
                self.fail_in(inner, why)
            }
        }
    }

    /// Posts all early receives, so that other ranks find them.
    #[cold]
    #[inline(never)]
    fn publish_in(&self, inner: &mut Inner<'env>) {
        if self.is_dead() {
            return;
        }
        let Inner { slots, desk, .. } = &mut *inner;
        let WorkDesk { early, place, .. } = &mut **desk;
        let mut failed = None;
        for early in early.iter() {
            if !slots[early.slot].is_early {
                continue;
            }
            // SAFETY: as in `look_early`; `copy` copies any elements. The request is withdrawn
            // before the memory goes in any other way (`abandon`).
            match unsafe { place.post(early, copy) } {
                Ok(state) => {
                    self.open.set(self.open.get() - usize::from(state.is_ok()));
                    slots[early.slot].settle(place, early, state);
                }
                Err(why) => {
                    failed = Some(PendingReceive::unfit(early, *why));
                    break;
                }
            }
        }
        match failed {
            None => early.clear(),
            Some(why) => _ = self.fail_in(inner, why),
        }
    }

    /// The same, if there are some.
    #[inline]
    fn publish_all(&self, inner: &mut Inner<'env>) {
        if inner.desk.early.count() > 0 {
            self.publish_in(inner);
        }
    }

    /// A call that has no slot cannot be completed.
    pub(crate) fn fail(&self, why: Failure) {
        self.fail_in(&mut self.inner.borrow_mut(), why);
    }

    #[cold]
    fn fail_in(&self, inner: &mut Inner<'env>, why: Failure) -> Progress {
        self.pace.set(Pace::Dead);
        let (fabric, rank, run) = inner.desk.place.whose();
        // Whatever call is under way ends; the cause follows when it has.
        drop(fabric.world().poison(run, fabric.member(rank), None));
        inner.failure = Some((why, (fabric.clone(), rank, run)));
        Progress::Failed
    }

    /// The first slot whose request is not complete.
    pub(crate) fn first_open(&self) -> Option<usize> {
        if !self.has_open() {
            return None;
        }
        let mut inner = self.inner.borrow_mut();
        let from = inner.first_open;
        let slot = from + inner.slots[from..].iter().position(|slot| slot.is_open)?;
        inner.first_open = slot;
        Some(slot)
    }

    /// What `get` finds of the request of a slot, if that is not complete. An early receive is
    /// posted before.
    fn of_open<R>(
        &self,
        slot: usize,
        get: impl FnOnce(&dyn Running, &RankPlace) -> R,
    ) -> Option<R> {
        let inner = &mut *self.inner.borrow_mut();
        self.publish_all(inner);
        inner.slots[slot].open().map(|request| get(request.running(), &inner.desk.place))
    }

    /// Where to wait for the request of a slot, and whether peers may wait for it.
    pub(crate) fn place(&self, slot: usize) -> Option<(Place, bool)> {
        self.of_open(slot, |running, at| (running.place(at), running.owes()))
    }

    /// The rank that the request of a slot waits for.
    pub(crate) fn awaited(&self, slot: usize) -> Option<usize> {
        self.of_open(slot, |running, at| running.awaited(at))
    }

    /// The rank that the request of a slot waits for, if that has left.
    pub(crate) fn left(&self, slot: usize) -> Option<usize> {
        let inner = self.inner.borrow();
        let WorkDesk { early, place, .. } = &*inner.desk;
        match early.iter().find(|it| it.slot == slot) {
            Some(early) => place.left(early.source),
            None => inner.slots[slot].open()?.running().left(place),
        }
    }

    /// Makes the request of a slot the call in progress of its port, for errors.
    pub(crate) fn blame(&self, slot: usize, port: &mut Port) {
        self.of_open(slot, |running, _| running.blame(port));
    }

    /// What was called, of an open request.
    pub(crate) fn sig(&self, slot: usize) -> Option<&'static Signature> {
        self.of_open(slot, |running, _| running.sig())
    }

    /// The rank that has completed the request of a slot, if that was not known before.
    pub(crate) fn source(&self, slot: usize) -> Option<usize> {
        let inner = &*self.inner.borrow();
        let slot = &inner.slots[slot];
        match &slot.request {
            SlotRequest::Underway(request) if !slot.is_open => {
                request.running().source(&inner.desk.place)
            }
            _ => None,
        }
    }

    /// Why nothing goes on any more, if it does not and nobody has asked before.
    pub(crate) fn take_failure(&self) -> Option<(Failure, Whose)> {
        self.inner.borrow_mut().failure.take()
    }

    /// Takes a request out, and hands its result out; whether it was complete.
    ///
    /// # Safety
    /// As [`Underway::give`].
    #[inline(always)]
    pub(super) unsafe fn give(&self, slot: usize, to: *mut u8) -> bool {
        let mut inner = self.inner.borrow_mut();
        let Inner { slots, first_free, .. } = &mut *inner;
        let at = &mut slots[slot];
        if at.is_open {
            return false;
        }
        let free = SlotRequest::Free(*first_free);
        match &at.request {
            &SlotRequest::Early(data, envelope) => {
                (*first_free, at.request) = (slot, free);
                // SAFETY: passed on.
                unsafe { data.give(envelope, to) };
            }
            SlotRequest::Underway(_) => {
                let request = std::mem::replace(&mut at.request, free);
                *first_free = slot;
                drop(inner);
                if let SlotRequest::Underway(request) = request {
                    // SAFETY: passed on.
                    unsafe { request.give(to) };
                }
            }
            SlotRequest::Free(_) => return false,
        }
        true
    }

    /// Whether one of its requests is at work, further out.
    pub(crate) fn is_at_work(&self) -> bool {
        self.inner.try_borrow_mut().is_err()
    }

    /// Ends the scope although requests are open, if some are: nobody reaches this rank's memory
    /// when this returns.
    #[cold]
    pub(crate) fn abandon(&self) {
        self.pace.set(Pace::Dead);
        for slot in &mut self.inner.borrow_mut().slots {
            // Once: a scope may be given up twice.
            let owed = std::mem::replace(&mut slot.owed, Owed::Nothing);
            self.mark.end(if slot.is_open { owed } else { Owed::Nothing });
        }
        let inner = self.inner.borrow();
        let place = &inner.desk.place;
        let open = || inner.slots.iter().filter_map(OpenSlot::open);
        // Of early receives no other rank knows: nobody touches their memory.
        if inner.desk.early.count() > 0 || open().next().is_some() {
            place.give_up();
        }
        open().for_each(|request| request.running().quiesce(place));
    }
}

#[cold]
#[inline(never)]
fn go_on_here() {
    Thread::here().go_on();
}

impl Background for Open<'_> {
    fn carry_on(&self) -> usize {
        // Borrowed: one of its requests is at work, below, and owes what it does.
        let Ok(mut inner) = self.inner.try_borrow_mut() else { return 1 };
        let (mut owing, mut slot) = (0, inner.first_open);
        // Of so many that are still to be met.
        let mut open = self.open.get();
        while open > 0 {
            let OpenSlot { is_open, is_early, .. } = inner.slots[slot];
            open -= usize::from(is_open);
            if is_open && !is_early {
                let is_open = self.look_in(&mut inner, slot) == Progress::Open;
                let request = inner.slots[slot].open();
                owing += usize::from(is_open && request.is_some_and(|it| it.running().owes()));
            }
            slot += 1;
        }
        owing
    }

    fn publish(&self) {
        // Borrowed: one of its requests is at work, and what that calls is none of these receives'.
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            self.publish_all(&mut inner);
        }
    }
}
