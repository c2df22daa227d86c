//! What the ranks of a run call: a closure, and the places of what it returns.

use crate::Comm;
use std::mem::MaybeUninit;

/// A closure `Fn(&mut Comm) -> R` and the ranks' results, in three words: workers get them with
/// their job. (As a trait object on the caller's stack they were a further line to be fetched by
/// each worker, and to be taken back from them for the next run.)
#[derive(Clone, Copy)]
pub(super) struct RunBody {
    call: unsafe fn(RunBody, usize, &mut Comm),
    closure: *const (),
    results: *mut (),
}

impl RunBody {
    /// Rank r's result becomes `results[r]`.
    pub(super) fn new<R: Send, F: Fn(&mut Comm) -> R + Sync>(
        closure: &F,
        results: &mut [MaybeUninit<R>],
    ) -> Self {
        RunBody {
            call: call::<R, F>,
            closure: std::ptr::from_ref(closure).cast(),
            results: results.as_mut_ptr().cast(),
        }
    }

    /// The same where it is to be known which ranks have returned.
    pub(super) fn marking<R: Send, F: Fn(&mut Comm) -> R + Sync>(
        closure: &F,
        results: &mut [Option<R>],
    ) -> Self {
        RunBody {
            call: call_and_mark::<R, F>,
            closure: std::ptr::from_ref(closure).cast(),
            results: results.as_mut_ptr().cast(),
        }
    }

    /// Calls the closure as rank `rank`.
    ///
    /// # Safety
    /// - The closure and the results that this was made of live, and nobody else uses the results.
    /// - There is a result of `rank`, and this is called once for it.
    #[inline(always)]
    pub(super) unsafe fn call(self, rank: usize, comm: &mut Comm) {
        // SAFETY: passed on.
        unsafe { (self.call)(self, rank, comm) }
    }
}

/// A closure, of which the compiler does not know which one it is: so that it stays a function by
/// itself. Inlined here, a program's loops would stand under names of ours in a profile. (For it,
/// a run has an indirect call or two more.)
#[inline(always)]
pub(super) fn as_given<F: ?Sized>(closure: &F) -> &F {
    std::hint::black_box(closure)
}

/// # Safety
/// As [`RunBody::call`], of [`RunBody::new`]'s.
unsafe fn call<R: Send, F: Fn(&mut Comm) -> R + Sync>(body: RunBody, rank: usize, comm: &mut Comm) {
    // SAFETY: alive by the contract, and `Sync`.
    let closure = unsafe { &*body.closure.cast::<F>() };
    let result = as_given::<dyn Fn(&mut Comm) -> R>(closure)(comm);
    // SAFETY: there is a place of `rank`, which this thread alone writes; `R` is `Send`.
    unsafe { body.results.cast::<R>().add(rank).write(result) };
}

/// # Safety
/// As [`RunBody::call`], of [`RunBody::marking`]'s.
unsafe fn call_and_mark<R: Send, F: Fn(&mut Comm) -> R + Sync>(
    body: RunBody,
    rank: usize,
    comm: &mut Comm,
) {
    // SAFETY: alive by the contract, and `Sync`.
    let closure = unsafe { &*body.closure.cast::<F>() };
    let result = Some(as_given::<dyn Fn(&mut Comm) -> R>(closure)(comm));
    // SAFETY: as in `call`; what is there is `None`, which needs no drop.
    unsafe { body.results.cast::<Option<R>>().add(rank).write(result) };
}
