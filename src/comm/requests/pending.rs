//! A collective under way, with what it uses, and what its request gives.

use super::open::{Running, Underway};
use super::started_collective::Collective;
use std::marker::PhantomData;
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

/// What the request of a collective gives.
pub(super) trait Yield {
    type Output;

    /// Where the call works in place, if that is in this, which may move.
    #[inline(always)]
    fn place(&mut self) -> Option<*mut u8> {
        None
    }

    /// # Safety
    /// The call is over.
    unsafe fn output(self) -> Self::Output;
}

/// A borrowed slice that a call works on.
pub(super) struct Lent<'env, T>(*mut [T], PhantomData<&'env mut [T]>);

impl<'env, T> Lent<'env, T> {
    pub(super) fn at(&self) -> *mut [T] {
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

/// Values that the call works on here: so few that a rank copies them when it starts.
pub(super) struct FewValues<V>(pub(super) V);

impl<V> Yield for FewValues<V> {
    type Output = V;

    #[inline(always)]
    fn place(&mut self) -> Option<*mut u8> {
        Some((&raw mut self.0).cast())
    }

    unsafe fn output(self) -> V {
        self.0
    }
}

/// Values that other ranks have the address of.
pub(super) struct ManyValues<V>(pub(super) Kept<V>);

impl<V: Copy> Yield for ManyValues<V> {
    type Output = V;

    unsafe fn output(self) -> V {
        // SAFETY: the call, which had them, is over.
        unsafe { self.0.at().as_ptr().read() }
    }
}

impl Yield for () {
    type Output = ();

    unsafe fn output(self) {}
}

/// See the module documentation.
pub(super) struct PendingCollective<'env, K, Y> {
    call: Collective<'env>,
    yields: Y,
    /// The operator.
    _kept: K,
}

impl<'env, K, Y: Yield> PendingCollective<'env, K, Y> {
    /// Of a call that is not started yet.
    pub(super) fn new(call: Collective<'env>, kept: K, yields: Y) -> Self {
        PendingCollective { call, yields, _kept: kept }
    }

    /// The call, which may go on before this moves.
    #[inline(always)]
    pub(super) fn call(&mut self) -> &mut Collective<'env> {
        if let Some(at) = self.yields.place() {
            // SAFETY: the values, as many as the call was made for; they are so few that it is
            // brief.
            unsafe { self.call.place_at(at) };
        }
        &mut self.call
    }

    /// # Safety
    /// The call is over.
    #[inline(always)]
    pub(super) unsafe fn output(self) -> Y::Output {
        // SAFETY: passed on.
        unsafe { self.yields.output() }
    }
}

impl<K, Y: Yield> Underway for PendingCollective<'_, K, Y> {
    fn running(&self) -> &dyn Running {
        &self.call
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        self.call()
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        // No move of all of it.
        let PendingCollective { yields, .. } = *self;
        // SAFETY: the call is over, and there is room for its output (`Underway::give`).
        unsafe { to.cast::<Y::Output>().write(yields.output()) };
    }
}
