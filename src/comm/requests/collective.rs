//! A started collective.

use super::open::{Desk, Failure, Pending};
use crate::error::CallSite;
use crate::exec::board::started::Job;
use crate::fabric::{CommState, LaneCall, Place};
use crate::sync::{Arc, catch_unwind};
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

/// Values that are kept with the call.
pub(super) struct Values<V>(pub(super) *const V);

impl<V: Copy> Yield for Values<V> {
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
    pub(super) fn new(lane: LaneCall, job: Job<'env>, kept: K, yields: Y) -> Self {
        Collective { lane, job, stage: Stage::Begun, yields, _kept: kept }
    }
}

impl<K, Y: Yield> Pending for Collective<'_, K, Y> {
    fn advance(&mut self, desk: &mut Desk) -> Result<bool, Failure> {
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

    fn site(&self) -> CallSite {
        self.lane.site()
    }

    fn whose(&self) -> (&Arc<CommState>, usize, u64) {
        (self.lane.fabric(), self.lane.rank(), self.lane.run())
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
        // SAFETY: the call is over, and there is room for its output (`Pending::give`).
        unsafe { to.cast::<Y::Output>().write(yields.output()) };
    }
}
