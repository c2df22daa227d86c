//! A collective under way, and its request's result. Nothing here knows the elements' type but
//! [`Gives`]'s functions, and the kept parts.

use super::running::{Failure, Running};
use super::started_collective::Collective;
use crate::exec::board::started::WorkDesk;
use crate::mailbox::BRIEF_ROOM;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

trait Anything {}

impl<V> Anything for V {}

/// A value of any type that a call uses, until this is dropped.
pub(crate) struct Kept<'env>(Option<NonNull<dyn Anything + 'env>>);

impl<'env> Kept<'env> {
    /// There is none.
    pub(crate) const NOTHING: Self = Kept(None);

    /// With its address, which stays. (Others have it, so it is no `Box`, which would assert unique
    /// access.)
    #[inline(always)]
    pub(crate) fn new<V: 'env>(value: V) -> (Self, NonNull<V>) {
        let at = NonNull::from(Box::leak(Box::new(value)));
        // A value of no size lies anywhere, and most operators are one.
        let is_something = size_of::<V>() > 0 || std::mem::needs_drop::<V>();
        (Kept(is_something.then_some(at as NonNull<dyn Anything + 'env>)), at)
    }
}

impl Drop for Kept<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(at) = self.0 {
            // SAFETY: made by `Box::leak` (`new`), and dropped only here.
            drop(unsafe { Box::from_raw(at.as_ptr()) });
        }
    }
}

/// A borrowed slice that a call works on.
pub(crate) struct Lent<'env, T>(*mut [T], PhantomData<&'env mut [T]>);

impl<'env, T> Lent<'env, T> {
    /// The slice to be given back, and that for the call.
    #[inline(always)]
    pub(crate) fn new(slice: &'env mut [T]) -> (Self, &'env mut [T]) {
        let at = std::ptr::from_mut(slice);
        // SAFETY: the same slice; it is not used before the call is over (`back`).
        (Lent(at, PhantomData), unsafe { &mut *at })
    }

    pub(crate) fn at(&self) -> *mut [T] {
        self.0
    }

    /// The result of the call's request.
    #[inline(always)]
    pub(crate) fn gives(&self) -> Gives<'env> {
        /// # Safety
        /// The slice is borrowed for as long as `to` says, and no call has it.
        unsafe fn make<T>(at: *mut u8, len: usize, to: *mut u8) {
            // SAFETY: by the contract.
            unsafe { to.cast::<&mut [T]>().write(std::slice::from_raw_parts_mut(at.cast(), len)) };
        }
        Gives { at: self.0.cast(), len: self.0.len(), make: make::<T>, _buf: PhantomData }
    }

    /// # Safety
    /// The call is over, and its request gives nothing.
    #[inline(always)]
    pub(crate) unsafe fn back(self) -> &'env mut [T] {
        // SAFETY: borrowed for 'env; the call, which had it, is over.
        unsafe { &mut *self.0 }
    }
}

/// The result of a collective's request when its call is over.
#[derive(Clone, Copy)]
pub(crate) struct Gives<'env> {
    /// Of few values null: they lie beside the call.
    at: *mut u8,
    len: usize,
    /// Makes it of the values there, or of so many elements there, at the last address.
    make: unsafe fn(*mut u8, usize, *mut u8),
    _buf: PhantomData<&'env mut [u8]>,
}

impl<'env> Gives<'env> {
    pub(crate) fn nothing() -> Self {
        Self::values::<()>(Some(NonNull::dangling()))
    }

    /// Hands it out.
    ///
    /// # Safety
    /// The call is over, and there is room for the result at `to`; it does not lie beside the call.
    pub(super) unsafe fn give(&self, to: *mut u8) {
        // SAFETY: passed on.
        unsafe { (self.make)(self.at, self.len, to) };
    }

    /// The values at an address, or beside the call.
    #[inline(always)]
    pub(crate) fn values<V: Copy>(at: Option<NonNull<V>>) -> Self {
        /// # Safety
        /// They are there.
        unsafe fn make<V: Copy>(at: *mut u8, _: usize, to: *mut u8) {
            // SAFETY: by the contract.
            unsafe { to.cast::<V>().write(at.cast::<V>().read()) };
        }
        let at = at.map_or(null_mut(), |at| at.as_ptr().cast());
        Gives { at, len: 0, make: make::<V>, _buf: PhantomData }
    }
}

/// Room for values that are so few that a rank copies them when it starts.
#[repr(align(16))]
struct FewValues(MaybeUninit<[u8; BRIEF_ROOM]>);

/// See the module documentation.
pub(super) struct PendingCollective<'env> {
    pub(super) call: Collective<'env>,
    gives: Gives<'env>,
    few: FewValues,
}

impl<'env> PendingCollective<'env> {
    #[inline(always)]
    pub(super) fn new(call: Collective<'env>, gives: &Gives<'env>) -> Self {
        let &Gives { at, len, make, _buf } = gives;
        let gives = Gives { at, len, make, _buf };
        PendingCollective { call, gives, few: FewValues(MaybeUninit::uninit()) }
    }

    /// As [`Running::advance`].
    #[inline(always)]
    pub(super) fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        if self.gives.at.is_null() {
            // SAFETY: there is room for them; they are so few that the call is brief, and nobody
            // reads them before it is over.
            unsafe { self.call.job.place(self.few.0.as_mut_ptr().cast()) };
        }
        self.call.advance(desk)
    }

    /// Hands out the request's result.
    ///
    /// # Safety
    /// The call is over, and has worked where this is; there is room for its request's result at
    /// `to`.
    #[inline(always)]
    pub(super) unsafe fn give(&mut self, to: *mut u8) {
        let Gives { mut at, len, make, .. } = self.gives;
        if at.is_null() {
            at = self.few.0.as_mut_ptr().cast();
        }
        // SAFETY: passed on.
        unsafe { make(at, len, to) };
    }
}
