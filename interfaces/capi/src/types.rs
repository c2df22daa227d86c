//! Element types and operators, which C chooses when the program runs.

use crate::arguments::{apart, input, output, place, text};
use crate::error::{Answer, fail};
use crate::handle::Table;
use crate::names::*;
use num_complex::Complex;
use phalanx::engine::{Lock, MemoryCall, PreparedCall, UserElement, UserOperator};
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element, engine};
use std::any::{TypeId, type_name};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// [`op::MinLoc`] and [`op::MaxLoc`] on pairs that C can make.
#[derive(Clone, Copy)]
pub(crate) struct MinLoc;
#[derive(Clone, Copy)]
pub(crate) struct MaxLoc;

macro_rules! loc {
    ($($L:ident $name:literal $($T:ident)*;)*) => {$($(
        impl Operator<$T> for $L {
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;

            #[inline(always)]
            fn combine(&self, left: $T, right: $T) -> $T {
                let pair = |x: $T| (x.value, x.at);
                let (value, at) = op::$L.combine(pair(left), pair(right));
                $T { value, at }
            }
        }
    )*)*};
}

loc! {
    MinLoc "min-loc" phx_f64_at phx_i64_at;
    MaxLoc "max-loc" phx_f64_at phx_i64_at;
}

/// An element type, once it is known to be one.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) kind: u8,
    /// Bytes of an element.
    pub(crate) size: usize,
}

impl Type {
    pub(crate) fn of(ty: phx_type) -> Result<Type, String> {
        // By kind; 0 for those that have no type of their own.
        const KNOWN: [phx_type; 16] = [
            0, PHX_I8, PHX_I16, PHX_I32, PHX_I64, PHX_U8, PHX_U16, PHX_U32, PHX_U64, PHX_F32,
            PHX_F64, PHX_C32, PHX_C64, PHX_F64_AT, PHX_I64_AT, 0,
        ];
        let it = Type { kind: ty as u8, size: (ty >> 8) as usize };
        let is_known = KNOWN[ty as usize % 16] == ty && ty != 0;
        if is_known || it.is_bytes() && it.size > 0 && it.size < 1 << 48 {
            return Ok(it);
        }
        Err(format!("{ty:#x} is no element type (PHX_F64, PHX_BYTES(n) and others)"))
    }

    /// As C names it.
    pub(crate) fn name(self) -> phx_type {
        (self.size as phx_type) << 8 | phx_type::from(self.kind)
    }

    /// Whether it is some bytes, of any meaning.
    pub(crate) fn is_bytes(self) -> bool {
        u64::from(self.kind) == PHX_KIND_BYTES
    }

    /// How many Rust elements one of C's is.
    pub(crate) fn parts(self) -> usize {
        if self.is_bytes() { self.size } else { 1 }
    }

    /// Bytes of a Rust element.
    pub(crate) fn size_of_part(self) -> usize {
        if self.is_bytes() { 1 } else { self.size }
    }

    /// The alignment of its elements.
    pub(crate) fn align(self) -> usize {
        with_type!(self, T => align_of::<T>())
    }

    /// How many Rust elements `n` elements are.
    #[inline(always)]
    pub(crate) fn count(self, n: usize) -> Result<usize, String> {
        match n.checked_mul(self.size) {
            Some(bytes) if bytes <= isize::MAX as usize => Ok(n * self.parts()),
            _ => Err(format!("{n} elements of {} bytes are more than memory can hold", self.size)),
        }
    }
}

/// A buffer as C hands it over, of `n` elements: not looked at yet.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) at: *mut c_void,
    pub(crate) n: usize,
    pub(crate) ty: Type,
}

impl Elements {
    #[inline(always)]
    pub(crate) fn new(at: *const c_void, n: usize, ty: Type) -> Self {
        Elements { at: at.cast_mut(), n, ty }
    }

    /// The elements, to be read.
    ///
    /// # Safety
    /// As [`input`]; `T` is the type's.
    #[inline(always)]
    pub(crate) unsafe fn input<'a, T>(self, what: &str) -> Result<&'a [T], String> {
        // SAFETY: passed on.
        unsafe { input(what, self.at, self.ty.count(self.n)?) }
    }

    /// The elements, to be written.
    ///
    /// # Safety
    /// As [`output`]; `T` is the type's.
    #[inline(always)]
    pub(crate) unsafe fn output<'a, T>(self, what: &str) -> Result<&'a mut [T], String> {
        // SAFETY: passed on.
        unsafe { output(what, self.at, self.ty.count(self.n)?) }
    }
}

/// Elements that are read, and others that are written.
///
/// # Safety
/// As [`Elements::input`] and [`Elements::output`].
#[inline(always)]
pub(crate) unsafe fn apart_of<'a, T>(
    from: Elements,
    to: Elements,
) -> Result<(&'a [T], &'a mut [T]), String> {
    // SAFETY: passed on; they do not overlap.
    unsafe {
        let from = from.input::<T>("the input")?;
        let room = to.ty.count(to.n)? * size_of::<T>();
        apart((from.as_ptr().cast(), size_of_val(from)), (to.at, room))?;
        Ok((from, to.output("the output")?))
    }
}

/// Runs `$body` with `$T` as the Rust type of `$ty`.
macro_rules! with_type {
    ($ty:expr, $T:ident => $body:expr) => {
        $crate::types::with_type!(@ $ty, $T, $body, 1 i8, 2 i16, 3 i32, 4 i64, 5 u8, 6 u16, 7 u32,
            8 u64, 9 f32, 10 f64, 11 num_complex::Complex<f32>, 12 num_complex::Complex<f64>,
            13 $crate::names::phx_f64_at, 14 $crate::names::phx_i64_at)
    };
    (@ $ty:expr, $T:ident, $body:expr, $($kind:literal $of:ty),*) => {
        match $ty.kind {
            $($kind => {
                type $T = $of;
                $body
            })*
            _ => {
                type $T = u8;
                $body
            }
        }
    };
}
pub(crate) use with_type;

/// An operator on elements of two types.
pub(crate) trait OnBoth<T: Element, U: Element>: Operator<T> + Operator<U> {}
impl<T: Element, U: Element, O: Operator<T> + Operator<U>> OnBoth<T, U> for O {}

/// The work that is done with the Rust type and operator of a C type and operator, or with an
/// operator of the program's.
pub(crate) trait ByOperator {
    type Output;

    /// By the loops of `U`, as [`engine::reduce`] says.
    fn by<T: Element, U: Element, O: OnBoth<T, U>>(self, op: &'static O) -> Self::Output;
    fn by_user(self, op: &Arc<UserOperator>, element: UserElement) -> Self::Output;
}

/// Combines the ranks' elements.
impl ByOperator for (&MemoryCall<'_>, &mut Comm) {
    type Output = ();

    fn by<T: Element, U: Element, O: OnBoth<T, U>>(self, op: &'static O) {
        // SAFETY: by the contract of `with_operator`.
        unsafe { engine::reduce::<T, U, O>(self.1, self.0, op) }
    }

    fn by_user(self, op: &Arc<UserOperator>, element: UserElement) {
        // SAFETY: as above.
        unsafe { op.reduce(self.1, self.0, element) }
    }
}

/// Makes a call that is started.
impl ByOperator for MemoryCall<'_> {
    type Output = PreparedCall<'static>;

    fn by<T: Element, U: Element, O: OnBoth<T, U>>(self, op: &'static O) -> Self::Output {
        // SAFETY: by the contract of `with_operator`.
        unsafe { PreparedCall::combining::<T, U, O>(self, op) }
    }

    fn by_user(self, op: &Arc<UserOperator>, element: UserElement) -> PreparedCall<'static> {
        // SAFETY: by the contract of `with_operator`.
        unsafe { op.prepared(self, element) }
    }
}

fn user_operator(op: phx_op) -> Result<SharedOperator, String> {
    let slot = USER_OPERATORS.find(op);
    let user = slot.and_then(|slot| slot.with(|slot| slot.clone()));
    user.ok_or_else(|| "no such operator, or a freed one".into())
}

/// Does the work by an operator.
///
/// # Safety
/// The memory of the work has elements of `ty`, as [`engine::reduce`] says.
pub(crate) unsafe fn with_operator<W: ByOperator>(
    ty: Type,
    op: phx_op,
    what: W,
) -> Result<W::Output, String> {
    if op > u64::from(u32::MAX) {
        return out_of_line(|| Ok(what.by_user(&user_operator(op)?.0, element(ty))));
    }
    macro_rules! by {
        ($T:ty; $($name:ident $op:expr),* $(; $U:ty: $($also:ident $by:expr),*)?) => {
            match op {
                $($name => what.by::<$T, $T, _>(&$op),)*
                $($($also => what.by::<$T, $U, _>(&$by),)*)?
                _ => return Err(no_such_operator(op, ty)),
            }
        };
    }
    // (What wraps does the same to the bits of signed and of unsigned numbers: one has the loops.)
    macro_rules! integer {
        ($T:ty, $U:ty) => {
            by!($T; PHX_MIN op::Min, PHX_MAX op::Max;
                $U: PHX_SUM op::Sum, PHX_PROD op::Prod, PHX_BAND op::BitAnd, PHX_BOR op::BitOr,
                PHX_BXOR op::BitXor, PHX_AND op::And, PHX_OR op::Or, PHX_XOR op::Xor)
        };
    }
    macro_rules! float {
        ($T:ty) => {
            by!($T; PHX_SUM op::Sum, PHX_PROD op::Prod, PHX_MIN op::Min, PHX_MAX op::Max)
        };
    }
    Ok(match ty.kind {
        1 => integer!(i8, u8),
        2 => integer!(i16, u16),
        3 => integer!(i32, u32),
        4 => integer!(i64, u64),
        5 => integer!(u8, u8),
        6 => integer!(u16, u16),
        7 => integer!(u32, u32),
        8 => integer!(u64, u64),
        9 => float!(f32),
        10 => float!(f64),
        11 => by!(Complex<f32>; PHX_SUM op::Sum, PHX_PROD op::Prod),
        12 => by!(Complex<f64>; PHX_SUM op::Sum, PHX_PROD op::Prod),
        13 => by!(phx_f64_at; PHX_MINLOC MinLoc, PHX_MAXLOC MaxLoc),
        14 => by!(phx_i64_at; PHX_MINLOC MinLoc, PHX_MAXLOC MaxLoc),
        _ => return Err(no_such_operator(op, ty)),
    })
}

/// (Not inlined: of what is rare, the usual way saves no registers.)
#[inline(never)]
fn out_of_line<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cold]
fn no_such_operator(op: phx_op, ty: Type) -> String {
    let of = with_type!(ty, T => type_name::<T>());
    let of = if ty.is_bytes() { "bytes, which only an operator of one's own combines" } else { of };
    format!("operator {op:#x} is none, or none on elements of type {of}")
}

/// The facts about a type that a user's operator needs.
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

#[allow(clippy::arc_with_non_send_sync)] // `SharedOperator` may be sent.
pub(crate) unsafe fn op_new_at(
    combine: phx_combine_fn,
    argument: *mut c_void,
    commutative: c_int,
    name: *const c_char,
    op: *mut phx_op,
) -> Answer {
    let wrong = |what: &str| fail(PHX_ERR_ARGUMENT, format!("phx_op_new: {what}"));
    let combine = combine.ok_or_else(|| wrong("the function is null"))?;
    place(op).map_err(|what| wrong(&what))?;
    // SAFETY: by the contract.
    let user = unsafe { UserOperator::new(combine, argument, commutative != 0, &text(name)) };
    let (handle, slot) = USER_OPERATORS.reserve()?;
    slot.with(|slot| *slot = Some(SharedOperator(Arc::new(user))));
    USER_OPERATORS.publish(handle);
    // SAFETY: by the contract.
    unsafe { *op = handle };
    Ok(())
}

pub(crate) fn op_free(op: phx_op) -> Answer {
    let slot = USER_OPERATORS.find(op).filter(|_| USER_OPERATORS.retire(op));
    let no = || fail(PHX_ERR_HANDLE, "phx_op_free: no such operator, or a freed one");
    drop(slot.ok_or_else(no)?.with(Option::take));
    USER_OPERATORS.recycle(op);
    Ok(())
}
