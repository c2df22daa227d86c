//! The requests of a scope: a slot each, from its start until it was waited for.

use super::pending::{Kept, PendingCollective};
use super::running::{Failure, Running, Underway, Whose};
use super::started_message::{PendingReceive, ReceivedData};
use crate::exec::board::started::WorkDesk;
use crate::exec::copy;
use crate::shared::{
    Background, EarlyReceive, Envelope, OpenCalls, Owed, Place, Port, RankPlace, Signature,
    StartedCall, Stop, TeamState, Thread, ThreadMark, Ticket,
};
use crate::sync::Arc;
use std::cell::{Cell, RefCell};

type EarlyEnd = Result<Envelope, Arc<Ticket>>;

/// The content of a slot.
enum SlotRequest<'env> {
    /// Nothing. The next slot that is free; [`NONE`] if this is the last.
    Free(usize),
    /// A collective, and the parts that it uses: see [`ScopeState::collectives`].
    Collective(#[expect(dead_code, reason = "kept until it is dropped")] Kept<'env>),
    Underway(Box<dyn Underway + 'env>),
    /// A receive that began as an early one; the facts of its message, if it is complete.
    Early(ReceivedData, Envelope),
}

/// A slot of a request, or a free one.
struct OpenSlot<'env> {
    request: SlotRequest<'env>,
    /// It is not complete.
    is_open: bool,
    /// It is an [early receive](EarlyReceive): this rank alone knows of it.
    is_early: bool,
    /// The work that peers may wait for until it is complete.
    owed: Owed,
}

const NONE: usize = usize::MAX;

impl OpenSlot<'_> {
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
            // No collective is an early receive.
            (SlotRequest::Free(_) | SlotRequest::Collective(_), _) => {}
        }
    }
}

/// The state of a scope, which it hands to the next one of the communicator.
pub(crate) struct ScopeState<'env> {
    slots: Vec<OpenSlot<'env>>,
    /// By slot: that of a started collective lies here, and is made where it lies. An allocation
    /// for each, and a copy, would be felt where calls are started by the dozen.
    collectives: Vec<Option<PendingCollective<'env>>>,
    first_free: usize,
    /// No slot before this one is open.
    first_open: usize,
    desk: WorkDesk,
    /// With the communicator, the rank and the run.
    failure: Option<(Failure, Whose)>,
}

impl ScopeState<'static> {
    /// Of a rank at this place.
    pub(crate) fn new(place: RankPlace) -> Box<Self> {
        let (slots, collectives, desk) = (Vec::new(), Vec::new(), WorkDesk::new(place));
        let (first_free, first_open, failure) = (NONE, 0, None);
        Box::new(ScopeState { slots, collectives, first_free, first_open, desk, failure })
    }

    pub(crate) fn place(&self) -> &RankPlace {
        &self.desk.place
    }
}

impl ScopeState<'_> {
    /// This memory for another scope: without the started calls.
    #[inline]
    fn emptied(mut self: Box<Self>) -> Box<ScopeState<'static>> {
        if !self.slots.is_empty() {
            self.slots.clear();
            (self.first_free, self.first_open) = (NONE, 0);
        }
        self.collectives.clear();
        self.desk.early.clear();
        // Of a scope that a swapped communicator has ended, and whose program went on. Looked at
        // first: to drop an empty one costs thirty instructions.
        if self.failure.is_some() {
            self.failure = None;
        }
        // SAFETY: the types differ in a lifetime only, and nothing in it has that.
        unsafe { std::mem::transmute::<Box<ScopeState<'_>>, Box<ScopeState<'static>>>(self) }
    }
}

impl<'env> ScopeState<'env> {
    /// The request in a slot, if it is not complete; not of an early receive.
    #[inline(always)]
    fn open(&self, slot: usize) -> Option<&dyn Running> {
        let at = &self.slots[slot];
        match &at.request {
            _ if !at.is_open => None,
            SlotRequest::Collective(_) => Some(&self.collectives[slot].as_ref()?.call),
            SlotRequest::Underway(request) => Some(request.running()),
            _ => None,
        }
    }

    /// The slot of the next request.
    #[inline(always)]
    fn next_slot(&self) -> usize {
        self.first_free.min(self.slots.len())
    }

    /// That slot has a request. The caller writes it: as an argument it would go by memory.
    #[inline(always)]
    fn take_slot(&mut self, slot: usize, is_early: bool, owed: Owed) -> &mut SlotRequest<'env> {
        let ScopeState { slots, first_free, first_open, .. } = self;
        if slot == slots.len() {
            let free =
                || OpenSlot { request: SlotRequest::Free(NONE), is_open: false, is_early, owed };
            slots.resize_with(slot + 1, free);
        }
        let taken = &mut slots[slot];
        *first_free = if let SlotRequest::Free(next) = taken.request { next } else { NONE };
        (taken.is_open, taken.is_early, taken.owed) = (true, is_early, owed);
        *first_open = slot.min(*first_open);
        &mut taken.request
    }
}

/// How the requests of a scope go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Whenever anybody looks.
    Free,
    /// By [`look`](ScopeSlots::look) only: the run is recorded.
    Held,
    /// Not any more.
    Dead,
}

/// See the module documentation. Each borrow of it lasts for a moment, but while an operator runs:
/// the calls that this makes find it borrowed, and leave it alone.
pub(crate) struct ScopeSlots<'env> {
    inner: RefCell<Box<ScopeState<'env>>>,
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

impl<'env> ScopeSlots<'env> {
    #[inline]
    pub(crate) fn new(
        inner: Box<ScopeState<'static>>,
        is_recorded: bool,
        mark: &'static ThreadMark,
    ) -> Self {
        let pace = Cell::new(if is_recorded { Pace::Held } else { Pace::Free });
        ScopeSlots { inner: RefCell::new(inner), open: Cell::new(0), pace, mark }
    }

    /// The state that it hands to the next scope.
    #[inline]
    pub(crate) fn into_inner(self) -> Box<ScopeState<'static>> {
        self.inner.into_inner().emptied()
    }

    /// The place by which its early receives know it.
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

    /// Whether nothing goes on but by [`look`](ScopeSlots::look), if at all.
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

    /// Takes a collective in, which is shown as `begun` where it is to stay, and takes the parts
    /// `kept` with it; no slot if it is over. A brief one is looked at, if no other is open: a look
    /// at a notice that is not there yet takes its line from the peer that is about to write it,
    /// and of several calls that are started together the first says whether to look.
    ///
    /// # Safety
    /// As [`Collective::show`](super::started_collective::Collective::show).
    #[inline(always)]
    pub(super) unsafe fn add_collective(
        &self,
        make: impl FnOnce() -> PendingCollective<'env>,
        kept: &mut Kept<'env>,
        (port, begun): (&mut Port, StartedCall),
    ) -> Result<Option<usize>, Stop> {
        let is_first = !self.has_open() && !self.is_held();
        let mut inner = self.inner.borrow_mut();
        let slot = inner.next_slot();
        let collectives = &mut inner.collectives;
        if collectives.len() <= slot {
            collectives.resize_with(slot + 1, || None);
        }
        let call = &mut collectives[slot].insert(make()).call;
        // SAFETY: passed on.
        unsafe { call.show(port, begun) };
        let (owed, is_direct) = (call.owed(), call.job.is_direct);
        let looked = match is_first && is_direct {
            // SAFETY: shown just now. (Few values stay where the call was made.)
            true => unsafe { call.take(port.rank_cards(), true) },
            false => Ok(false),
        };
        port.tell();
        match looked {
            Ok(false) => {}
            Ok(true) => return Ok(None),
            Err(why) => {
                self.fail_in(&mut inner, why);
                return Err(Stop::Poisoned);
            }
        }
        let taken = inner.take_slot(slot, false, owed);
        *taken = SlotRequest::Collective(std::mem::replace(kept, Kept::NOTHING));
        self.open.set(self.open.get() + 1);
        self.mark.begin(owed);
        // A brief one that was not looked at above has code of the user's, or many ranks.
        let is_to_look = is_first && owed == Owed::Look && !is_direct;
        match if is_to_look { self.go_on(&mut inner, slot) } else { self.stopped() } {
            Progress::Failed => Err(Stop::Poisoned),
            Progress::Open | Progress::Done => Ok(Some(slot)),
        }
    }

    /// Takes in once more a request that was set up; returns its slot.
    pub(crate) fn add_again(&self, request: Box<dyn Underway + 'env>) -> usize {
        let owed = request.running().owed();
        self.add(request, owed)
    }

    /// Takes an early receive in, which `early` makes of its slot; returns that.
    ///
    /// # Safety
    /// There is room for the message of its label in the place that it names, which nobody else
    /// uses until the request is complete, or [withdrawn](ScopeSlots::abandon).
    #[inline(always)]
    pub(super) unsafe fn add_early(
        &self,
        data: ReceivedData,
        early: impl FnOnce(usize) -> EarlyReceive,
    ) -> usize {
        let nothing = Envelope { source: 0, tag: 0, len: 0 };
        self.note_early(SlotRequest::Early(data, nothing), early)
    }

    /// Takes in once more an early receive that was set up; returns its slot.
    ///
    /// # Safety
    /// As of [`add_early`](ScopeSlots::add_early).
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
        inner: &mut ScopeState<'env>,
        request: SlotRequest<'env>,
        (is_early, owed): (bool, Owed),
    ) -> usize {
        let slot = inner.next_slot();
        self.open.set(self.open.get() + 1);
        *inner.take_slot(slot, is_early, owed) = request;
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

    fn look_in(&self, inner: &mut ScopeState<'env>, slot: usize) -> Progress {
        if self.is_dead() && inner.slots[slot].is_open {
            return Progress::Failed;
        }
        self.go_on(inner, slot)
    }

    #[inline(always)]
    fn go_on(&self, inner: &mut ScopeState<'env>, slot: usize) -> Progress {
        let ScopeState { slots, collectives, desk, .. } = inner;
        let at = &mut slots[slot];
        if !at.is_open {
            return Progress::Done;
        }
        if at.is_early {
            return self.look_early(inner, slot);
        }
        let advanced = match &mut at.request {
            SlotRequest::Collective(_) => match &mut collectives[slot] {
                Some(collective) => collective.advance(desk),
                None => return Progress::Done,
            },
            SlotRequest::Underway(request) => request.advance(desk),
            SlotRequest::Free(_) | SlotRequest::Early(..) => return Progress::Done,
        };
        match advanced {
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
    fn look_early(&self, inner: &mut ScopeState<'env>, slot: usize) -> Progress {
        let ScopeState { slots, desk, .. } = &mut *inner;
        let WorkDesk { early, place, .. } = desk;
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
    fn publish_in(&self, inner: &mut ScopeState<'env>) {
        if self.is_dead() {
            return;
        }
        let ScopeState { slots, desk, .. } = &mut *inner;
        let WorkDesk { early, place, .. } = desk;
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

    /// Publishes the early receives, if there are some.
    #[inline]
    fn publish_all(&self, inner: &mut ScopeState<'env>) {
        if inner.desk.early.count() > 0 {
            self.publish_in(inner);
        }
    }

    #[cold]
    fn fail_in(&self, inner: &mut ScopeState<'env>, why: Failure) -> Progress {
        self.pace.set(Pace::Dead);
        let (shared, rank, run) = inner.desk.place.whose();
        // Whatever call is under way ends; the cause follows when it has.
        drop(shared.world().poison(run, shared.member(rank), None));
        inner.failure = Some((why, (shared.clone(), rank, run)));
        Progress::Failed
    }

    /// The first slot with a request that is not complete.
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

    /// The part of a slot's request that `get` finds, if it is not complete. An early receive is
    /// posted before.
    fn of_open<R>(
        &self,
        slot: usize,
        get: impl FnOnce(&dyn Running, &RankPlace) -> R,
    ) -> Option<R> {
        let inner = &mut *self.inner.borrow_mut();
        self.publish_all(inner);
        inner.open(slot).map(|request| get(request, &inner.desk.place))
    }

    /// Where to wait for the request of a slot.
    pub(crate) fn place(&self, slot: usize) -> Option<Place> {
        self.of_open(slot, |running, at| running.place(at))
    }

    /// The rank that the request of a slot waits for.
    pub(crate) fn awaited(&self, slot: usize) -> Option<usize> {
        self.of_open(slot, |running, at| running.awaited(at))
    }

    /// The rank that the request of a slot waits for, if that has left.
    pub(crate) fn left(&self, slot: usize) -> Option<usize> {
        let inner = self.inner.borrow();
        let WorkDesk { early, place, .. } = &inner.desk;
        match early.iter().find(|it| it.slot == slot) {
            Some(early) => place.left(early.source),
            None => inner.open(slot)?.left(place),
        }
    }

    /// Makes the request of a slot the call in progress of its port, for errors.
    pub(crate) fn blame(&self, slot: usize, port: &mut Port) {
        self.of_open(slot, |running, _| running.blame(port));
    }

    /// The called operation of an open request.
    pub(crate) fn sig(&self, slot: usize) -> Option<&'static Signature> {
        self.of_open(slot, |running, at| running.sig(at))
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

    /// Goes on with a request, as [`advance`](ScopeSlots::advance) does. If it is complete takes it
    /// out, and hands its result out; whether it is.
    ///
    /// # Safety
    /// As [`Underway::give`].
    #[inline(always)]
    pub(super) unsafe fn complete(&self, slot: usize, to: *mut u8) -> bool {
        let mut inner = self.inner.borrow_mut();
        let is_held = self.is_held() && inner.slots[slot].is_open;
        if is_held || self.go_on(&mut inner, slot) != Progress::Done {
            return false;
        }
        let ScopeState { slots, collectives, first_free, .. } = &mut **inner;
        let at = &mut slots[slot];
        let free = *first_free;
        match &mut at.request {
            SlotRequest::Collective(_) => {
                let Some(collective) = &mut collectives[slot] else { return false };
                // SAFETY: passed on.
                unsafe { collective.give(to) };
                let kept = std::mem::replace(&mut at.request, SlotRequest::Free(free));
                *first_free = slot;
                // An operator is the program's: its own `drop` may go on here.
                drop(inner);
                drop(kept);
            }
            &mut SlotRequest::Early(data, envelope) => {
                (*first_free, at.request) = (slot, SlotRequest::Free(free));
                // SAFETY: passed on.
                unsafe { data.give(envelope, to) };
            }
            SlotRequest::Underway(_) => {
                let request = std::mem::replace(&mut at.request, SlotRequest::Free(free));
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
        let open = || (0..inner.slots.len()).filter_map(|slot| inner.open(slot));
        // Of early receives no other rank knows: nobody touches their memory.
        if inner.desk.early.count() > 0 || open().next().is_some() {
            place.give_up();
        }
        open().for_each(|request| request.quiesce(place));
    }
}

#[cold]
#[inline(never)]
fn go_on_here() {
    Thread::here().go_on();
}

impl Background for ScopeSlots<'_> {
    fn carry_on(&self) -> OpenCalls {
        // Borrowed: one of its requests is at work, below, and none goes on before that ends.
        let Ok(mut inner) = self.inner.try_borrow_mut() else { return OpenCalls::default() };
        let (mut owing, mut passed, mut slot) = (0, 0, inner.first_open);
        // Of so many that are still to be met.
        let mut open = self.open.get();
        while open > 0 {
            let OpenSlot { is_open, is_early, .. } = inner.slots[slot];
            open -= usize::from(is_open);
            if is_open && !is_early {
                let is_open = self.look_in(&mut inner, slot) == Progress::Open;
                if let Some(request) = inner.open(slot).filter(|_| is_open) {
                    owing += usize::from(request.owes());
                    passed += request.passed();
                }
            }
            slot += 1;
        }
        OpenCalls { open: self.open.get(), owing, passed }
    }

    fn awaits(&self, add: &mut dyn FnMut(&TeamState, usize)) {
        let Ok(inner) = self.inner.try_borrow() else { return };
        let (hold, rank, run) = inner.desk.place.whose();
        // Nobody waits until a message is complete: the rank that comes second copies it.
        let slots = inner.slots.iter().enumerate().filter(|(_, it)| it.owed != Owed::Nothing);
        for request in slots.filter_map(|(slot, _)| inner.open(slot)) {
            let peer = request.awaited(&inner.desk.place);
            if peer != rank && !hold.has_left(peer, run) {
                add(hold.world(), hold.member(peer));
            }
        }
    }

    fn publish(&self) {
        // Borrowed: one of its requests is at work, and the calls of that are none of these
        // receives.
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            self.publish_all(&mut inner);
        }
    }
}
