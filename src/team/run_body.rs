//! The body of a run, which its ranks call: a closure, and the places of its results; and the words
//! for an error among them that nobody looks at.

use crate::{Comm, Error};
use std::fmt;
use std::mem::{MaybeUninit, needs_drop};
use std::panic::Location;
use typeid::ConstTypeId;

/// Room for a small result, beside the flag by which its rank says that it has returned.
pub(super) type SmallResult = [MaybeUninit<u64>; 7];

pub(super) const NOTHING: SmallResult = [MaybeUninit::uninit(); 7];

/// Whether results of a type are small, and need no `Drop` if their run fails.
pub(super) const fn comes_with_flag<R>() -> bool {
    let is_small = size_of::<R>() <= size_of::<SmallResult>();
    is_small && align_of::<R>() <= align_of::<SmallResult>() && !needs_drop::<R>()
}

/// Words of a closure that a job has room for.
const ROOM: usize = 12;

/// Those of them that are in one line with the flag by which the job is found.
const FIRST: usize = 4;

/// A closure `Fn(&mut Comm) -> R` and the place of the ranks' results: workers find them in the
/// line of the flag, and the rest of a large closure in the next. (On the caller's stack what a
/// closure has captured was a further line, to be fetched by each worker, and to be taken back from
/// them for the next run: as long as the two flags.)
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RunBody {
    call: CallBody,
    results: *mut (),
    /// The closure itself, if there is room and it needs no drop: moved here, shared by all ranks.
    /// Else its address.
    closure: [MaybeUninit<u64>; ROOM],
}

impl RunBody {
    /// Rank r's result comes to the place that it has for a small one. The caller, whose closure
    /// it is, stops using it where it is.
    #[inline(always)]
    #[track_caller]
    pub(super) fn small<R: Send, F: Fn(&mut Comm) -> R + Sync>(
        closure: &F,
        busy: IfBusy,
    ) -> PreparedBody {
        debug_assert!(comes_with_flag::<R>());
        Self::prepared(call::<R, F>, std::ptr::null_mut(), closure, busy)
    }

    /// A closure whose results go to places: rank r's becomes `Some` in `results[r]`, so that one
    /// sees which ranks have returned.
    #[inline(always)]
    #[track_caller]
    pub(super) fn marking<R: Send, F: Fn(&mut Comm) -> R + Sync>(
        closure: &F,
        results: &mut [Option<R>],
        busy: IfBusy,
    ) -> PreparedBody {
        Self::prepared(call_and_mark::<R, F>, results.as_mut_ptr().cast(), closure, busy)
    }

    const fn has_room_for<F>() -> bool {
        let is_small = size_of::<F>() <= size_of::<[u64; ROOM]>();
        is_small && align_of::<F>() <= align_of::<u64>() && !needs_drop::<F>()
    }

    #[inline(always)]
    #[track_caller]
    fn prepared<F>(call: CallBody, results: *mut (), closure: &F, busy: IfBusy) -> PreparedBody {
        let mut body = RunBody { call, results, closure: [MaybeUninit::uninit(); ROOM] };
        let (from, to) = (std::ptr::from_ref(closure), body.closure.as_mut_ptr());
        if Self::has_room_for::<F>() {
            // SAFETY: there is room; the closure is not used where it was any more.
            unsafe { to.cast::<F>().copy_from_nonoverlapping(from, 1) };
        } else {
            // SAFETY: there is room for an address.
            unsafe { to.cast::<*const F>().write(from) };
        }
        let is_large = Self::has_room_for::<F>() && size_of::<F>() > size_of::<[u64; FIRST]>();
        PreparedBody { body, is_large, busy, at: Location::caller() }
    }

    /// The closure of a body at `at`.
    ///
    /// # Safety
    /// As [`call`](RunBody::call), of a body of this type.
    #[inline(always)]
    unsafe fn closure<'a, F: Sync>(at: *const RunBody) -> &'a F {
        // SAFETY: it lives, and it is `Sync`. No reference is made to what is around.
        unsafe {
            let closure = (&raw const (*at).closure).cast::<F>();
            if Self::has_room_for::<F>() { &*closure } else { &**closure.cast::<*const F>() }
        }
    }

    /// Calls the closure as rank `rank`, which has `place` for a small result.
    ///
    /// # Safety
    /// - What the body at `at` was made of lives, and nobody else uses the results.
    /// - There is a result of `rank`, and this is called once for it.
    #[inline(always)]
    pub(super) unsafe fn call(
        at: *const RunBody,
        rank: usize,
        comm: &mut Comm,
        place: &mut SmallResult,
    ) {
        // SAFETY: passed on.
        unsafe { ((*at).call)(at, rank, comm, place) }
    }
}

type CallBody = unsafe fn(*const RunBody, usize, &mut Comm, &mut SmallResult);

/// A body that is to be put where the ranks find it.
pub(super) struct PreparedBody {
    body: RunBody,
    /// Whether its closure needs the second line.
    is_large: bool,
    pub(super) busy: IfBusy,
    /// The line that has called for the run.
    pub(super) at: &'static Location<'static>,
}

/// What a run does while its team runs for another thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IfBusy {
    Refuse,
    Wait,
}

impl PreparedBody {
    /// # Safety
    /// `to` is valid for writes.
    #[inline(always)]
    pub(super) unsafe fn put(&self, to: *mut RunBody) {
        let body = &self.body;
        // SAFETY: by the contract.
        unsafe {
            if self.is_large {
                *to = *body;
            } else {
                (*to).call = body.call;
                (*to).results = body.results;
                let first = (&raw mut (*to).closure).cast::<MaybeUninit<u64>>();
                for at in 0..FIRST {
                    // Word by word: a wide load of words that were written just now waits for them.
                    first.add(at).write_volatile(body.closure.as_ptr().add(at).read_volatile());
                }
            }
        }
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
/// As [`RunBody::call`], of [`RunBody::small`]'s.
unsafe fn call<R: Send, F: Fn(&mut Comm) -> R + Sync>(
    at: *const RunBody,
    _rank: usize,
    comm: &mut Comm,
    place: &mut SmallResult,
) {
    // SAFETY: by the contract, of this type.
    let closure = unsafe { RunBody::closure::<F>(at) };
    let result = as_given::<dyn Fn(&mut Comm) -> R>(closure)(comm);
    // SAFETY: it has room for such a result (`small`), which is `Send`.
    unsafe { std::ptr::from_mut(place).cast::<R>().write(result) };
}

/// # Safety
/// As [`RunBody::call`], of [`RunBody::marking`]'s.
unsafe fn call_and_mark<R: Send, F: Fn(&mut Comm) -> R + Sync>(
    at: *const RunBody,
    rank: usize,
    comm: &mut Comm,
    _place: &mut SmallResult,
) {
    // SAFETY: by the contract, of this type.
    let closure = unsafe { RunBody::closure::<F>(at) };
    let result = Some(as_given::<dyn Fn(&mut Comm) -> R>(closure)(comm));
    // SAFETY: there is a place of `rank`, which this thread alone writes; `R` is `Send`; what is
    // there is `None`, which needs no drop.
    unsafe { (*at).results.cast::<Option<R>>().add(rank).write(result) };
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
    let id = ConstTypeId::of::<R>();
    let Some((_, look)) = KNOWN.as_flattened().iter().find(|(of, _)| *of == id) else {
        let name = std::any::type_name::<R>();
        return Some(format!("a {}", name.strip_prefix("core::result::").unwrap_or(name)));
    };
    // SAFETY: the value is of that type.
    let error = unsafe { look(std::ptr::from_ref(value).cast()) };
    error.map(|error| format!("Err({error:?})"))
}

/// The error in a `Result` of one type.
///
/// # Safety
/// It points to a value of that type, whatever the lifetimes in it, which stays for `'a`.
type Look<'a> = unsafe fn(*const ()) -> Option<&'a dyn fmt::Debug>;

/// The usual types of results. (No trait tells whether a type has `Debug`, so they are listed.)
const KNOWN: [[(ConstTypeId, Look<'_>); 11]; 9] = [
    with_error::<String>(),
    with_error::<&'static str>(),
    with_error::<Box<dyn std::error::Error + Send + Sync>>(),
    with_error::<Error>(),
    with_error::<std::io::Error>(),
    with_error::<fmt::Error>(),
    with_error::<std::num::ParseIntError>(),
    with_error::<std::num::ParseFloatError>(),
    with_error::<std::num::TryFromIntError>(),
];

const fn with_error<'a, E: fmt::Debug + 'static>() -> [(ConstTypeId, Look<'a>); 11] {
    macro_rules! results {
        ($($good:ty),*) => {
            [$((ConstTypeId::of::<Result<$good, E>>(), error_of::<$good, E> as Look<'a>)),*]
        };
    }
    results!((), bool, i32, i64, u32, u64, usize, f32, f64, String, Vec<f64>)
}

/// # Safety
/// As [`Look`].
unsafe fn error_of<'a, T: 'static, E: fmt::Debug + 'static>(
    value: *const (),
) -> Option<&'a dyn fmt::Debug> {
    // SAFETY: by the contract it is this type but for lifetimes, and it is looked at here only: for
    // a shorter time than any of them.
    let value = unsafe { &*value.cast::<Result<T, E>>() };
    value.as_ref().err().map(|error| error as &dyn fmt::Debug)
}
