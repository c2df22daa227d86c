//! What the ranks of a run call: a closure, and the places of what it returns; and the words for
//! an error that it returned where nobody looks at what it returns.

use crate::{Comm, Error};
use std::fmt;
use std::mem::MaybeUninit;
use typeid::ConstTypeId;

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

    /// Rank r's result becomes `Some` in `results[r]`, so that one sees which ranks have returned.
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

/// Whether what a closure returns is a `Result`: by its name, which is for texts.
pub(super) fn is_result<R>() -> bool {
    std::any::type_name::<R>().starts_with("core::result::Result<")
}

/// What `value` is in words, if it is a `Result` with an error in it; or if it is a `Result` of
/// types not looked into here, of which the name is all there is to say.
#[cold]
pub(super) fn error_in_words<R>(value: &R) -> Option<String> {
    if !is_result::<R>() {
        return None;
    }
    // SAFETY: the value is of that type.
    let known = unsafe { look_into(ConstTypeId::of::<R>(), std::ptr::from_ref(value).cast()) };
    known.unwrap_or_else(|| {
        let name = std::any::type_name::<R>();
        Some(format!("a {}", name.strip_prefix("core::result::").unwrap_or(name)))
    })
}

/// The words of an error in a `Result` of usual types, or none of one without; none if `id` is of
/// another type. (No trait tells whether a type has `Debug`, so the types are listed.)
///
/// # Safety
/// `value` is of the type of `id`, whatever the lifetimes in that.
unsafe fn look_into(id: ConstTypeId, value: *const ()) -> Option<Option<String>> {
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    macro_rules! first {
        ($($error:ty),*) => {
            // SAFETY: passed on.
            unsafe { None$(.or_else(|| of_error::<$error>(id, value)))* }
        };
    }
    first!(
        String,
        &'static str,
        Boxed,
        Error,
        std::io::Error,
        fmt::Error,
        std::num::ParseIntError,
        std::num::ParseFloatError,
        std::num::TryFromIntError
    )
}

/// The error in words, if `value` is an error of type `E` or a `Result` with one.
///
/// # Safety
/// As [`look_into`].
unsafe fn of_error<E: fmt::Debug + 'static>(
    id: ConstTypeId,
    value: *const (),
) -> Option<Option<String>> {
    macro_rules! first {
        ($($good:ty),*) => {
            // SAFETY: passed on.
            unsafe { None$(.or_else(|| of_both::<$good, E>(id, value)))* }
        };
    }
    first!((), bool, i32, i64, u32, u64, usize, f32, f64, String, Vec<f64>)
}

/// # Safety
/// As [`look_into`].
unsafe fn of_both<T: 'static, E: fmt::Debug + 'static>(
    id: ConstTypeId,
    value: *const (),
) -> Option<Option<String>> {
    if id != ConstTypeId::of::<Result<T, E>>() {
        return None;
    }
    // SAFETY: by the contract it is this type but for lifetimes, and it is looked at here only: for
    // a shorter time than any of them.
    let value = unsafe { &*value.cast::<Result<T, E>>() };
    Some(value.as_ref().err().map(|error| format!("Err({error:?})")))
}
