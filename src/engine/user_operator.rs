//! Operators that are functions of another language.

use super::{Lock, MemoryCall, PreparedCall};
use crate::Comm;
use crate::comm::call::kinds::{CallWay, names_on_memory};
use crate::comm::call::memory_call::ElementUse;
use crate::exec::{ForeignOperator, Kernel};
use crate::shared::Signature;
use std::any::TypeId;
use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// `out[i] = left[i] (+) right[i]` for `n` elements; `out` is `left`, or `right`, or overlaps
/// neither. The last argument is the operator's own.
///
/// # Examples
/// See [`UserOperator`].
pub type UserFunction = unsafe extern "C-unwind" fn(
    out: *mut c_void,
    left: *const c_void,
    right: *const c_void,
    n: usize,
    argument: *mut c_void,
);

/// The type of the elements that a user's operator combines.
///
/// # Examples
/// See [`UserOperator`].
#[derive(Clone, Copy)]
pub struct UserElement {
    /// The type, exactly.
    pub id: fn() -> TypeId,
    /// The type, for people.
    pub name: fn() -> &'static str,
    /// Bytes of an element.
    pub size: usize,
    /// Its alignment: that of the buffers.
    pub align: usize,
}

impl fmt::Debug for UserElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserElement")
            .field("name", &(self.name)())
            .field("size", &self.size)
            .finish()
    }
}

/// An operator that is a function of another language, on elements of any size.
///
/// **Cost** a call of the function for each slice that is combined, not for each element.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall, MemoryCall, Operation, Partition, ReductionMemory};
/// use phalanx::engine::{UserElement, UserOperator};
/// use std::ffi::c_void;
/// use std::sync::Arc;
///
/// /// The larger one.
/// unsafe extern "C-unwind" fn larger(
///     out: *mut c_void, left: *const c_void, right: *const c_void, n: usize, _: *mut c_void,
/// ) {
///     let (out, left, right) = (out.cast::<u64>(), left.cast::<u64>(), right.cast::<u64>());
///     for i in 0..n {
///         // SAFETY: there are so many.
///         unsafe { *out.add(i) = (*left.add(i)).max(*right.add(i)) }
///     }
/// }
///
/// let element = UserElement {
///     id: std::any::TypeId::of::<u64>,
///     name: std::any::type_name::<u64>,
///     size: size_of::<u64>(),
///     align: align_of::<u64>(),
/// };
/// let at = ForeignCall::kept("lib_start", "heat.c", 20).location();
/// let out = phalanx::run(3, |comm| {
///     // SAFETY: it combines such elements, on any thread, and has no argument.
///     let op = unsafe { UserOperator::new(larger, std::ptr::null_mut(), true, "larger") };
///     let (op, mut x) = (Arc::new(op), [comm.rank() as u64]);
///     let here = x.as_mut_ptr().cast::<u8>();
///     let memory = ReductionMemory { input: here, output: here };
///     let (operation, cut) = (Operation::AllReduce, Partition::Vector(1));
///     let call = MemoryCall { operation, cut, parameter: 0, memory };
///     // SAFETY: one element, which nobody else uses.
///     unsafe { op.reduce(comm, &call, element) };
///     // The same, started.
///     // SAFETY: as above, until the scope has ended.
///     let call = unsafe { op.prepared(call, element) };
///     comm.requests(|scope| {
///         let open = scope.start(engine::made_at(call, at));
///         scope.wait(open);
///     });
///     x
/// })?;
/// assert_eq!(out, [[2]; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct UserOperator {
    combine: UserFunction,
    argument: *mut c_void,
    commutative: bool,
    name: String,
    /// Those of its signatures that it has used.
    known: Lock<Vec<(Shape, &'static Signature)>>,
}

/// The name of the call and its parameter's, the type, and bytes of an element.
type Shape = ((&'static str, &'static str), TypeId, usize);

/// All signatures that there are of operators of one's own, by shape and operator: kept for ever,
/// as records name them, and so made once.
static SIGNATURES: Lock<Vec<(Shape, &'static Signature)>> = Lock::new(Vec::new());

impl fmt::Debug for UserOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserOperator").field("name", &self.name).finish_non_exhaustive()
    }
}

impl UserOperator {
    /// The operator `combine`, under a name for errors.
    ///
    /// # Safety
    /// `combine` is such a function, wherever it is called, for as long as the operator is used: on
    /// the elements that it is used for, with this argument, on any thread.
    pub unsafe fn new(
        combine: UserFunction,
        argument: *mut c_void,
        commutative: bool,
        name: &str,
    ) -> Self {
        let known = Lock::default();
        UserOperator { combine, argument, commutative, name: name.to_string(), known }
    }

    /// All ranks' signatures of one operation, type and function are equal.
    fn signature(
        &self,
        names: (&'static str, &'static str),
        element: UserElement,
    ) -> &'static Signature {
        let key = (names, (element.id)(), element.size);
        let find = |known: &mut Vec<(Shape, &'static Signature)>| {
            known.iter().find(|(it, _)| *it == key).map(|(_, sig)| *sig)
        };
        self.known.with(find).unwrap_or_else(|| {
            let sig = self.find_or_make(key, element);
            // Another rank may have put it there meanwhile: it is the same one, and found first.
            self.known.with(|known| known.push((key, sig)));
            sig
        })
    }

    #[cold]
    fn find_or_make(&self, key: Shape, element: UserElement) -> &'static Signature {
        let (call, parameter) = key.0;
        // What memory safety depends on is compared with the operator: the size.
        let operator = format!(
            "the operator {} at {:#x} on elements of {} bytes{}",
            self.name,
            self.combine as usize,
            element.size,
            if self.commutative { "" } else { ", in rank order" },
        );
        SIGNATURES.with(|all| {
            let is_it =
                |(it, sig): &&(Shape, &'static Signature)| *it == key && sig.operator == operator;
            all.iter().find(is_it).map(|(_, sig)| *sig).unwrap_or_else(|| {
                let made: &'static Signature = Box::leak(Box::new(Signature {
                    element: element.id,
                    element_name: element.name,
                    element_size: element.size,
                    operator: Box::leak(operator.as_str().into()),
                    ..Signature::of::<()>(call, parameter)
                }));
                all.push((key, made));
                made
            })
        })
    }

    /// A reduction by this operator: as [`reduce`](super::reduce).
    ///
    /// # Safety
    /// What [`reduce`](super::reduce) asks, of elements as `element` says.
    pub unsafe fn reduce(&self, comm: &mut Comm, call: &MemoryCall<'_>, element: UserElement) {
        let names = names_on_memory::<{ CallWay::WAITS }>(call.operation, call.cut);
        let sig = self.signature(names, element);
        // SAFETY: passed on.
        let combine = |out: *mut u8, left: *const u8, right: *const u8, n: usize| unsafe {
            self.combine(out, left, right, n);
        };
        let op = ForeignOperator::new(&combine, (element.size, element.align));
        let by = self.used(&op);
        // SAFETY: passed on.
        unsafe { comm.carry_out_on_memory(call, sig, by) }
    }

    /// A call to be started, which combines by this operator.
    ///
    /// # Safety
    /// As [`PreparedCall::combining`], of elements as `element` says.
    #[track_caller]
    pub unsafe fn prepared(
        self: &Arc<Self>,
        call: MemoryCall<'_>,
        element: UserElement,
    ) -> PreparedCall<'static> {
        let names = names_on_memory::<{ CallWay::STARTED }>(call.operation, call.cut);
        let (sig, user) = (self.signature(names, element), self.clone());
        let (call, mut keep) = call.kept();
        // SAFETY: passed on.
        let combine = move |out: *mut u8, left: *const u8, right: *const u8, n: usize| unsafe {
            user.combine(out, left, right, n);
        };
        // SAFETY: the call's, both.
        let op = unsafe {
            let combine = keep.keep(combine);
            keep.keep(ForeignOperator::new(combine, (element.size, element.align)))
        };
        PreparedCall { call, sig, at: Location::caller(), by: self.used(op), keep, around: None }
    }

    /// The use of elements by `op`, which is this operator's.
    fn used<'a>(&self, op: &'a ForeignOperator<'a>) -> ElementUse<'a> {
        let kernel = Kernel::foreign(op);
        let identity = std::ptr::null();
        ElementUse { kernel, commutative: self.commutative, built_in: false, identity }
    }

    /// Combines two elements.
    ///
    /// # Safety
    /// As [`new`](UserOperator::new), of elements `T`.
    ///
    /// # Examples
    /// ```
    /// use phalanx::engine::UserOperator;
    /// use std::ffi::c_void;
    ///
    /// unsafe extern "C-unwind" fn add(
    ///     out: *mut c_void, left: *const c_void, right: *const c_void, _: usize, _: *mut c_void,
    /// ) {
    ///     // SAFETY: one element.
    ///     unsafe { *out.cast::<u64>() = *left.cast::<u64>() + *right.cast::<u64>() }
    /// }
    ///
    /// // SAFETY: it combines such elements, on any thread, and has no argument.
    /// let op = unsafe { UserOperator::new(add, std::ptr::null_mut(), true, "add") };
    /// // SAFETY: as above.
    /// assert_eq!(unsafe { op.combine_one(2_u64, 3) }, 5);
    /// ```
    pub unsafe fn combine_one<T: crate::Element>(&self, mut left: T, right: T) -> T {
        let at = (&raw mut left).cast::<u8>();
        // SAFETY: one element each, and the output is the left one; passed on.
        unsafe { self.combine(at, at, (&raw const right).cast(), 1) };
        left
    }

    /// # Safety
    /// By the contract of [`new`](UserOperator::new).
    unsafe fn combine(&self, out: *mut u8, left: *const u8, right: *const u8, n: usize) {
        if n > 0 {
            // SAFETY: passed on.
            unsafe { (self.combine)(out.cast(), left.cast(), right.cast(), n, self.argument) }
        }
    }
}
