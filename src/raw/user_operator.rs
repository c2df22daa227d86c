//! Operators that are functions of another language.

use super::{Operation, ReductionCut, ReductionMemory};
use crate::Comm;
use crate::exec::ForeignOperator;
use crate::fabric::Signature;
use std::any::TypeId;
use std::ffi::c_void;
use std::fmt;
use std::sync::Mutex;

/// `out[i] = left[i] (+) right[i]` for `n` elements; `out` is `left`, or `right`, or overlaps
/// neither. The last argument is the operator's own.
pub type UserFunction = unsafe extern "C-unwind" fn(
    out: *mut c_void,
    left: *const c_void,
    right: *const c_void,
    n: usize,
    argument: *mut c_void,
);

/// What a user's operator combines.
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

/// An operator that is a function of another language.
pub struct UserOperator {
    combine: UserFunction,
    argument: *mut c_void,
    commutative: bool,
    name: String,
    /// Those of its signatures that it has used.
    known: Mutex<Vec<(Shape, &'static Signature)>>,
}

/// Operation, whether blocks differ, type, and bytes of an element.
type Shape = (Operation, bool, TypeId, usize);

/// All signatures that there are of operators of one's own, by shape and operator: kept for ever,
/// as records name them, and so made once.
static SIGNATURES: Mutex<Vec<(Shape, &'static Signature)>> = Mutex::new(Vec::new());

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
        let known = Mutex::default();
        UserOperator { combine, argument, commutative, name: name.to_string(), known }
    }

    /// All ranks' signatures of one operation, type and function are equal.
    fn signature(&self, key: Shape, element: UserElement) -> &'static Signature {
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((_, sig)) = known.iter().find(|(it, _)| *it == key) {
            return sig;
        }
        let (call, parameter) = match (key.0, key.1) {
            (Operation::Reduce, _) => ("reduce", "to root"),
            (Operation::AllReduce, _) => ("all_reduce", ""),
            (Operation::ReduceScatter, false) => ("reduce_scatter_into", ""),
            (Operation::ReduceScatter, true) => ("reduce_scatter_varied_into", ""),
            (Operation::Scan, _) => ("scan", ""),
            (Operation::ExclusiveScan, _) => ("exclusive_scan", ""),
            (other, _) => unreachable!("{other} combines nothing"),
        };
        // What memory safety depends on is compared with the operator: the size.
        let operator = format!(
            "the operator {} at {:#x} on elements of {} bytes{}",
            self.name,
            self.combine as usize,
            element.size,
            if self.commutative { "" } else { ", in rank order" },
        );
        let mut all = SIGNATURES.lock().unwrap_or_else(|e| e.into_inner());
        let is_it =
            |(it, sig): &&(Shape, &'static Signature)| *it == key && sig.operator == operator;
        let sig = all.iter().find(is_it).map(|(_, sig)| *sig).unwrap_or_else(|| {
            let made: &'static Signature = Box::leak(Box::new(Signature {
                element: element.id,
                element_name: element.name,
                element_size: element.size,
                operator: Box::leak(operator.as_str().into()),
                ..Signature::of::<()>(call, parameter)
            }));
            all.push((key, made));
            made
        });
        known.push((key, sig));
        sig
    }

    /// A reduction by this operator: as [`reduce`](super::reduce).
    ///
    /// # Safety
    /// As there, of elements as `element` says.
    pub unsafe fn reduce(
        &self,
        comm: &mut Comm,
        operation: Operation,
        cut: ReductionCut<'_>,
        root: usize,
        memory: ReductionMemory,
        element: UserElement,
    ) {
        let varied = matches!(cut, ReductionCut::Varied(_));
        let sig = self.signature((operation, varied, (element.id)(), element.size), element);
        let combine = |out: *mut u8, left: *const u8, right: *const u8, n: usize| {
            if n > 0 {
                // SAFETY: by the contract of `new`.
                unsafe { (self.combine)(out.cast(), left.cast(), right.cast(), n, self.argument) }
            }
        };
        let size_and_align = (element.size, element.align);
        let op = ForeignOperator::new(&combine, size_and_align, self.commutative);
        // SAFETY: passed on.
        unsafe { comm.reduction_by_foreign(operation, sig, cut, root, memory, &op) }
    }
}
