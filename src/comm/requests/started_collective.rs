//! A started collective.

use super::open::{Failure, Underway, Whose, WorkDesk};
use super::persistent::Persistent;
use crate::element::Element;
use crate::exec::board::started::Job;
use crate::fabric::{CallParams, LaneCall, Place, Port, Signature, StartedCall, Stop};
use crate::sync::catch_unwind;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;

/// A value on the heap that others have the address of (a `Box` would assert unique access).
pub(super) struct Kept<V>(NonNull<V>);

impl<V> Kept<V> {
    pub(super) fn new(value: V) -> Self {
        Kept(NonNull::from(Box::leak(Box::new(value))))
    }

    pub(super) fn at(&self) -> NonNull<V> {
        self.0
    }
}

impl<V> Drop for Kept<V> {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` (`new`), and dropped only here.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// What a request gives back.
pub(super) trait Yield {
    type Output;

    /// # Safety
    /// The call is over.
    unsafe fn output(self) -> Self::Output;
}

/// A borrowed slice that a call works on.
pub(super) struct Lent<'env, T>(*mut [T], PhantomData<&'env mut [T]>);

impl<'env, T> Lent<'env, T> {
    pub(super) fn into_raw(self) -> *mut [T] {
        self.0
    }

    /// The slice to be given back, and that for the call.
    pub(super) fn new(slice: &'env mut [T]) -> (Self, &'env mut [T]) {
        let at = std::ptr::from_mut(slice);
        // SAFETY: the same slice; what is kept is not used before the call is over (`output`).
        (Lent(at, PhantomData), unsafe { &mut *at })
    }
}

impl<'env, T> Yield for Lent<'env, T> {
    type Output = &'env mut [T];

    unsafe fn output(self) -> &'env mut [T] {
        // SAFETY: borrowed for 'env; the call, which had it, is over.
        unsafe { &mut *self.0 }
    }
}

/// KeptValues that are kept with the call.
pub(super) struct KeptValues<V>(pub(super) *const V);

impl<V: Copy> Yield for KeptValues<V> {
    type Output = V;

    unsafe fn output(self) -> V {
        // SAFETY: kept until the call is dropped (`Collective::kept`), which has just ended.
        unsafe { self.0.read() }
    }
}

impl Yield for () {
    type Output = ();

    unsafe fn output(self) {}
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not all have started.
    Begun,
    /// This rank has done its work.
    Finished,
    Done,
}

/// See the module documentation.
pub(super) struct Collective<'env, K, Y> {
    lane: LaneCall,
    job: Job<'env>,
    stage: Stage,
    yields: Y,
    /// The operator, and values.
    _kept: K,
}

impl<'env, K, Y> Collective<'env, K, Y> {
    /// One that is still to be [started](Collective::start).
    pub(super) fn new(port: &Port, job: Job<'env>, kept: K, yields: Y) -> Self {
        Collective { lane: LaneCall::new(port), job, stage: Stage::Done, yields, _kept: kept }
    }

    /// Starts the call `begun`; it is not under way.
    ///
    /// # Safety
    /// - The port is that of `new`.
    /// - The memory stays the call's until it is over, or was [quiesced](Underway::quiesce).
    pub(super) unsafe fn start(&mut self, port: &mut Port, begun: StartedCall) -> Result<(), Stop> {
        if let Err(stop) = port.claim_lane() {
            port.log_call(begun);
            return Err(stop);
        }
        let Collective { lane, job, stage, .. } = self;
        // SAFETY: there is as much room as the job may need.
        let mut fill = |room: *mut u8| unsafe { job.copy_input(room) };
        let (at, fill): (_, Option<&mut dyn FnMut(*mut u8)>) = match job.is_brief() {
            true => (std::ptr::null_mut(), Some(&mut fill)),
            false => (job.shown(), None),
        };
        // SAFETY: it was claimed just now. For the memory: by the contract.
        unsafe { port.start(lane, begun, job.len(), at, fill) };
        *stage = Stage::Begun;
        Ok(())
    }
}

impl<K, Y: Yield> Underway for Collective<'_, K, Y> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let Collective { lane, job, stage, .. } = self;
        if *stage == Stage::Begun {
            if !lane.have_all_begun().map_err(Failure::Disagrees)? {
                return Ok(false);
            }
            if lane.has_left() {
                return Err(Failure::Over);
            }
            // SAFETY: they have, and agree; this rank has neither finished nor left, so everybody
            // keeps what it shows, and this rank's peers touch nothing but their parts of it.
            let work = || unsafe {
                lane.addresses(job.is_brief(), &mut desk.all);
                job.work(&desk.all, &mut desk.scratch);
            };
            catch_unwind(AssertUnwindSafe(|| lane.in_user_code(work)))
                .map_err(Failure::Panicked)?;
            lane.finish();
            *stage = if job.is_brief() { Stage::Done } else { Stage::Finished };
        }
        if *stage == Stage::Finished && lane.have_all_finished() {
            // SAFETY: they have.
            unsafe { job.end() };
            *stage = Stage::Done;
        }
        Ok(*stage == Stage::Done)
    }

    fn owes(&self) -> bool {
        self.stage == Stage::Begun && !self.job.is_brief()
    }

    fn place(&self) -> Place {
        self.lane.place()
    }

    fn awaited(&self) -> usize {
        self.lane.awaited()
    }

    fn left(&self) -> Option<usize> {
        self.lane.left()
    }

    fn blame(&self, port: &mut Port) {
        self.lane.blame(port);
    }

    fn sig(&self) -> &'static Signature {
        self.lane.sig()
    }

    fn whose(&self) -> Whose {
        (self.lane.fabric().clone(), self.lane.rank(), self.lane.run())
    }

    fn give_up(&self) {
        self.lane.give_up();
    }

    fn quiesce(&self) {
        if !self.job.is_brief() {
            self.lane.quiesce();
        }
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        let Collective { yields, _kept, .. } = *self;
        // SAFETY: the call is over, and there is room for its output (`Underway::give`).
        unsafe { to.cast::<Y::Output>().write(yields.output()) };
    }
}

/// A collective that can be started again and again.
pub(super) struct Repeated<'env, K, T> {
    pub(super) call: Collective<'env, K, ()>,
    pub(super) buf: *mut [T],
    pub(super) sig: &'static Signature,
    pub(super) params: CallParams,
}

/// A [`Repeated`] of any kind.
pub(super) trait Again<'env>: Underway + 'env {
    /// Its fingerprint.
    fn params(&self) -> (&'static Signature, CallParams);

    /// Starts it as the call `begun`.
    ///
    /// # Safety
    /// As [`Collective::start`].
    unsafe fn start(&mut self, port: &mut Port, begun: StartedCall) -> Result<(), Stop>;
}

impl<'env, K: 'env, T: Element> Again<'env> for Repeated<'env, K, T> {
    fn params(&self) -> (&'static Signature, CallParams) {
        (self.sig, self.params)
    }

    unsafe fn start(&mut self, port: &mut Port, begun: StartedCall) -> Result<(), Stop> {
        // SAFETY: passed on.
        unsafe { self.call.start(port, begun) }
    }
}

impl<'env, K: 'env, T: Element> Underway for Repeated<'env, K, T> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        self.call.advance(desk)
    }

    fn owes(&self) -> bool {
        self.call.owes()
    }

    fn place(&self) -> Place {
        self.call.place()
    }

    fn awaited(&self) -> usize {
        self.call.awaited()
    }

    fn left(&self) -> Option<usize> {
        self.call.left()
    }

    fn blame(&self, port: &mut Port) {
        self.call.blame(port);
    }

    fn sig(&self) -> &'static Signature {
        self.sig
    }

    fn whose(&self) -> Whose {
        self.call.whose()
    }

    fn give_up(&self) {
        self.call.give_up();
    }

    fn quiesce(&self) {
        self.call.quiesce();
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        let buf = self.buf;
        // SAFETY: a request for this gives a `Persistent` of the scope that it was made in
        // (`Requests::start`); lifetimes make no difference to what is written.
        unsafe { to.cast::<Persistent<'_, 'env, T>>().write(Persistent::of(self, buf)) };
    }
}
