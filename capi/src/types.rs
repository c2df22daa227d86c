//! Element types and operators, which C chooses when the program runs.

use crate::handle::Table;
use num_complex::Complex;
use phalanx::engine::{
    Lock, MemoryCall, Operation, PreparedCall, ReductionCut, ReductionMemory, UserElement,
    UserOperator,
};
use phalanx::op::{self, Operator};
use phalanx::{Comm, engine};
use std::any::{TypeId, type_name};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// An element type: its bytes in the upper bits, its kind in the lower eight.
#[allow(non_camel_case_types)]
pub type phx_type = u64;

/// An operator: one of the library's, or a handle.
#[allow(non_camel_case_types)]
pub type phx_op = u64;

/// `int8_t`
pub const PHX_I8: phx_type = 1 << 8 | 1;
/// `int16_t`
pub const PHX_I16: phx_type = 2 << 8 | 2;
/// `int32_t`
pub const PHX_I32: phx_type = 4 << 8 | 3;
/// `int64_t`
pub const PHX_I64: phx_type = 8 << 8 | 4;
/// `uint8_t`
pub const PHX_U8: phx_type = 1 << 8 | 5;
/// `uint16_t`
pub const PHX_U16: phx_type = 2 << 8 | 6;
/// `uint32_t`
pub const PHX_U32: phx_type = 4 << 8 | 7;
/// `uint64_t`
pub const PHX_U64: phx_type = 8 << 8 | 8;
/// `float`
pub const PHX_F32: phx_type = 4 << 8 | 9;
/// `double`
pub const PHX_F64: phx_type = 8 << 8 | 10;
/// `float complex`
pub const PHX_C32: phx_type = 8 << 8 | 11;
/// `double complex`
pub const PHX_C64: phx_type = 16 << 8 | 12;
/// `phx_f64_at`, for `PHX_MINLOC` and `PHX_MAXLOC`
pub const PHX_F64_AT: phx_type = 16 << 8 | 13;
/// `phx_i64_at`, for `PHX_MINLOC` and `PHX_MAXLOC`
pub const PHX_I64_AT: phx_type = 16 << 8 | 14;

/// The kind of `PHX_BYTES(n)`, elements of `n` bytes each.
pub const PHX_KIND_BYTES: phx_type = 15;

/// Sum.
pub const PHX_SUM: phx_op = 1 << 8;
/// Product.
pub const PHX_PROD: phx_op = 2 << 8;
/// The smaller; of floats -0 beside 0, and NaN (all bits set) beside anything.
pub const PHX_MIN: phx_op = 3 << 8;
/// The larger; of floats 0 beside -0, and NaN (all bits set) beside anything.
pub const PHX_MAX: phx_op = 4 << 8;
/// Bitwise and.
pub const PHX_BAND: phx_op = 5 << 8;
/// Bitwise or.
pub const PHX_BOR: phx_op = 6 << 8;
/// Bitwise exclusive or.
pub const PHX_BXOR: phx_op = 7 << 8;
/// Logical and of "is not 0": 0 or 1.
pub const PHX_AND: phx_op = 8 << 8;
/// Logical or.
pub const PHX_OR: phx_op = 9 << 8;
/// Logical exclusive or.
pub const PHX_XOR: phx_op = 10 << 8;
/// Of pairs the smaller value as that of `PHX_MIN`, and the lowest place that has it.
pub const PHX_MINLOC: phx_op = 11 << 8;
/// Of pairs the larger value as that of `PHX_MAX`, and the lowest place that has it.
pub const PHX_MAXLOC: phx_op = 12 << 8;

/// A value and where it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(non_camel_case_types)]
pub struct phx_f64_at {
    /// The value.
    pub value: f64,
    /// Where it is.
    pub at: i64,
}

/// A value and where it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(non_camel_case_types)]
pub struct phx_i64_at {
    /// The value.
    pub value: i64,
    /// Where it is.
    pub at: i64,
}

/// [`op::MinLoc`] and [`op::MaxLoc`] on pairs that C can make.
#[derive(Clone, Copy)]
pub(crate) struct MinLoc;
#[derive(Clone, Copy)]
pub(crate) struct MaxLoc;

macro_rules! loc {
    ($($T:ident, $value:ty;)*) => {$(
        impl Operator<$T> for MinLoc {
            const NAME: &'static str = "min-loc";
            const COMMUTATIVE: bool = true;

            #[inline(always)]
            fn combine(&self, left: $T, right: $T) -> $T {
                let pair = |x: $T| (x.value, x.at);
                let (value, at) = op::MinLoc.combine(pair(left), pair(right));
                $T { value, at }
            }
        }

        impl Operator<$T> for MaxLoc {
            const NAME: &'static str = "max-loc";
            const COMMUTATIVE: bool = true;

            #[inline(always)]
            fn combine(&self, left: $T, right: $T) -> $T {
                let pair = |x: $T| (x.value, x.at);
                let (value, at) = op::MaxLoc.combine(pair(left), pair(right));
                $T { value, at }
            }
        }
    )*};
}

loc! {
    phx_f64_at, f64;
    phx_i64_at, i64;
}

/// What an element type is, once it is known to be one.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) kind: u8,
    /// Bytes of an element.
    pub(crate) size: usize,
}

impl Type {
    #[inline(always)]
    pub(crate) fn of(ty: phx_type) -> Result<Type, String> {
        // By kind; 0 for those that have no type of their own.
        const KNOWN: [phx_type; 16] = [
            0, PHX_I8, PHX_I16, PHX_I32, PHX_I64, PHX_U8, PHX_U16, PHX_U32, PHX_U64, PHX_F32,
            PHX_F64, PHX_C32, PHX_C64, PHX_F64_AT, PHX_I64_AT, 0,
        ];
        if KNOWN[ty as usize % 16] == ty && ty != 0 {
            return Ok(Type { kind: ty as u8, size: (ty >> 8) as usize });
        }
        Type::of_bytes(ty)
    }

    #[inline(never)]
    fn of_bytes(ty: phx_type) -> Result<Type, String> {
        let (kind, size) = (ty as u8, (ty >> 8) as usize);
        let is_one = u64::from(kind) == PHX_KIND_BYTES && size > 0 && size < 1 << 48;
        if is_one { Ok(Type { kind, size }) } else { Err(unknown_type(ty)) }
    }

    /// Whether it is some bytes, of any meaning.
    #[inline(always)]
    pub(crate) fn is_bytes(self) -> bool {
        self.kind as u64 == PHX_KIND_BYTES
    }

    /// How many Rust elements `n` elements are.
    #[inline(always)]
    pub(crate) fn count(self, n: usize) -> Result<usize, String> {
        // Of the greatest, but for bytes.
        if n <= isize::MAX as usize / 16 && !self.is_bytes() {
            return Ok(n);
        }
        self.count_long(n)
    }

    #[inline(never)]
    fn count_long(self, n: usize) -> Result<usize, String> {
        let bytes = n.checked_mul(self.size).filter(|&bytes| bytes <= isize::MAX as usize);
        match bytes {
            Some(bytes) if self.is_bytes() => Ok(bytes),
            Some(_) => Ok(n),
            None => Err(too_many(n, self.size)),
        }
    }
}

#[cold]
fn unknown_type(ty: phx_type) -> String {
    format!("{ty:#x} is no element type (PHX_F64, PHX_BYTES(n) and others)")
}

#[cold]
fn too_many(n: usize, size: usize) -> String {
    format!("{n} elements of {size} bytes are more than memory can hold")
}

/// Runs `$body` with `$T` as the Rust type of `$ty`.
macro_rules! with_type {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty.kind {
            1 => {
                type $T = i8;
                $body
            }
            2 => {
                type $T = i16;
                $body
            }
            3 => {
                type $T = i32;
                $body
            }
            4 => {
                type $T = i64;
                $body
            }
            5 => {
                type $T = u8;
                $body
            }
            6 => {
                type $T = u16;
                $body
            }
            7 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            9 => {
                type $T = f32;
                $body
            }
            10 => {
                type $T = f64;
                $body
            }
            11 => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            12 => {
                type $T = num_complex::Complex<f64>;
                $body
            }
            13 => {
                type $T = $crate::types::phx_f64_at;
                $body
            }
            14 => {
                type $T = $crate::types::phx_i64_at;
                $body
            }
            _ => {
                type $T = u8;
                $body
            }
        }
    };
}
pub(crate) use with_type;

/// A reduction that is still to be done, without its type.
pub(crate) struct Reduction<'a> {
    pub(crate) operation: Operation,
    pub(crate) cut: ReductionCut<'a>,
    pub(crate) root: usize,
    pub(crate) memory: ReductionMemory,
}

impl Reduction<'_> {
    /// # Safety
    /// The memory is of elements of `ty`, as [`engine::reduce`] says.
    pub(crate) unsafe fn run(self, comm: &mut Comm, ty: Type, op: phx_op) -> Result<(), String> {
        if op > u64::from(u32::MAX) {
            let user = user_operator(op)?;
            // SAFETY: passed on.
            unsafe {
                user.0.reduce(comm, self.operation, self.cut, self.root, self.memory, element(ty))
            }
            return Ok(());
        }
        with_operator(ty, op, (self, comm))
    }
}

impl ByOperator for (Reduction<'_>, &mut Comm) {
    type Output = ();

    fn by<T: phalanx::Element, O: Operator<T>>(self, op: &'static O) {
        let (Reduction { operation, cut, root, memory }, comm) = self;
        // SAFETY: by the contract of `run`.
        unsafe { engine::reduce(comm, operation, cut, root, memory, op) }
    }
}

impl ByOperator for MemoryCall {
    type Output = PreparedCall;

    fn by<T: phalanx::Element, O: Operator<T>>(self, op: &'static O) -> PreparedCall {
        PreparedCall::combining::<T, O>(self, op)
    }
}

/// A started call that combines elements of `ty`.
///
/// # Safety
/// As [`engine::start`], once it is started.
pub(crate) unsafe fn prepared_combining(
    call: MemoryCall,
    ty: Type,
    op: phx_op,
) -> Result<PreparedCall, String> {
    if op > u64::from(u32::MAX) {
        // SAFETY: passed on.
        return Ok(unsafe { user_operator(op)?.0.prepared(call, element(ty)) });
    }
    with_operator(ty, op, call)
}

fn user_operator(op: phx_op) -> Result<SharedOperator, String> {
    let slot = USER_OPERATORS.find(op);
    let user = slot.and_then(|slot| slot.with(|slot| slot.clone()));
    user.ok_or_else(|| "no such operator, or a freed one".into())
}

/// What is done with the Rust type and operator of a C type and operator.
trait ByOperator {
    type Output;

    fn by<T: phalanx::Element, O: Operator<T>>(self, op: &'static O) -> Self::Output;
}

/// Does `what` by one of the library's operators.
fn with_operator<W: ByOperator>(ty: Type, op: phx_op, what: W) -> Result<W::Output, String> {
    macro_rules! by {
        ($T:ty: $($name:ident $op:expr),*) => {
            match op {
                $($name => what.by::<$T, _>(&$op),)*
                _ => return Err(no_such_operator(op, ty)),
            }
        };
    }
    macro_rules! integer {
        ($T:ty) => {
            by!($T: PHX_SUM op::Sum, PHX_PROD op::Prod, PHX_MIN op::Min, PHX_MAX op::Max,
                PHX_BAND op::BitAnd, PHX_BOR op::BitOr, PHX_BXOR op::BitXor,
                PHX_AND op::And, PHX_OR op::Or, PHX_XOR op::Xor)
        };
    }
    macro_rules! float {
        ($T:ty) => {
            by!($T: PHX_SUM op::Sum, PHX_PROD op::Prod, PHX_MIN op::Min, PHX_MAX op::Max)
        };
    }
    Ok(match ty.kind {
        1 => integer!(i8),
        2 => integer!(i16),
        3 => integer!(i32),
        4 => integer!(i64),
        5 => integer!(u8),
        6 => integer!(u16),
        7 => integer!(u32),
        8 => integer!(u64),
        9 => float!(f32),
        10 => float!(f64),
        11 => by!(Complex<f32>: PHX_SUM op::Sum, PHX_PROD op::Prod),
        12 => by!(Complex<f64>: PHX_SUM op::Sum, PHX_PROD op::Prod),
        13 => by!(phx_f64_at: PHX_MINLOC MinLoc, PHX_MAXLOC MaxLoc),
        14 => by!(phx_i64_at: PHX_MINLOC MinLoc, PHX_MAXLOC MaxLoc),
        _ => return Err(no_such_operator(op, ty)),
    })
}

#[cold]
fn no_such_operator(op: phx_op, ty: Type) -> String {
    let of = with_type!(ty, T => type_name::<T>());
    let of = if ty.is_bytes() { "bytes, which only an operator of one's own combines" } else { of };
    format!("operator {op:#x} is none, or none on elements of type {of}")
}

/// What a user's operator needs to know of a type.
fn element(ty: Type) -> UserElement {
    if ty.is_bytes() {
        struct Bytes;
        let id = || TypeId::of::<Bytes>();
        return UserElement { id, name: || "blocks of bytes", size: ty.size, align: 1 };
    }
    with_type!(ty, T => UserElement {
        id: TypeId::of::<T>,
        name: type_name::<T>,
        size: size_of::<T>(),
        align: align_of::<T>(),
    })
}

/// None once it is freed, and before.
type OperatorSlot = Lock<Option<SharedOperator>>;

#[derive(Clone)]
struct SharedOperator(Arc<UserOperator>);
// SAFETY: the function and its argument may be used on any thread (`phx_op_new_at`).
unsafe impl Send for SharedOperator {}

static USER_OPERATORS: Table<OperatorSlot> = Table::new(3);

/// A function that combines elements: see [`phx_op_new_at`].
#[allow(non_camel_case_types)]
pub type phx_combine_fn = Option<
    unsafe extern "C-unwind" fn(
        out: *mut c_void,
        left: *const c_void,
        right: *const c_void,
        n: usize,
        argument: *mut c_void,
    ),
>;

/// Makes an operator of a function: `combine(out, left, right, n, argument)` stores
/// `left[i] (+) right[i]` in `out[i]` for `n` elements, where `out` may be `left` or `right`. It
/// must be associative. It is called by all ranks at the same time, each on elements of its own.
/// Ranks that reduce together must have the same function; one that is not `commutative` is
/// applied in rank order. Nothing may be thrown out of it.
///
/// # Safety
/// `combine` is such a function as long as the operator is used; `name` is null or a string; `op`
/// is null or valid.
#[allow(clippy::arc_with_non_send_sync)] // `SharedOperator` may be sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_op_new_at(
    combine: phx_combine_fn,
    argument: *mut c_void,
    commutative: c_int,
    name: *const c_char,
    op: *mut phx_op,
) -> crate::error::phx_err {
    use crate::error::{PHX_ERR_ARGUMENT, PHX_OK, fail};
    let Some(combine) = combine else {
        return fail(PHX_ERR_ARGUMENT, "phx_op_new: the function is null");
    };
    if op.is_null() {
        return fail(PHX_ERR_ARGUMENT, "phx_op_new: the place of the result is null");
    }
    // SAFETY: by the contract.
    let name = unsafe { crate::call::text(name) };
    // SAFETY: by the contract.
    let user = unsafe { UserOperator::new(combine, argument, commutative != 0, &name) };
    let (handle, slot) = match USER_OPERATORS.reserve() {
        Ok(place) => place,
        Err(code) => return code,
    };
    slot.with(|slot| *slot = Some(SharedOperator(Arc::new(user))));
    USER_OPERATORS.publish(handle);
    // SAFETY: by the contract.
    unsafe { *op = handle };
    PHX_OK
}

/// Frees an operator of one's own.
#[unsafe(no_mangle)]
pub extern "C" fn phx_op_free(op: phx_op) -> crate::error::phx_err {
    use crate::error::{PHX_ERR_HANDLE, PHX_OK, fail};
    let Some(slot) = USER_OPERATORS.find(op).filter(|_| USER_OPERATORS.retire(op)) else {
        return fail(PHX_ERR_HANDLE, "phx_op_free: no such operator, or a freed one");
    };
    drop(slot.with(Option::take));
    USER_OPERATORS.recycle(op);
    PHX_OK
}
