//! Reductions as the library takes them: by its own operators, or by a function over memory.
//!
//! They are in place at the target. Where rounding depends on the order (sums and products of
//! floating-point numbers, of three ranks or more), they combine by one binary tree of ranks
//! ([`Order::Fixed`]): the same bits on every rank and at each length, and those of recursive
//! doubling. The usual reductions of solvers go the library's short ways, by its own operators;
//! the rest by a function over memory ([`UserOperator`]).

use super::basic::Element;
use super::comm::Terms;
use super::flat::Flat;
use super::handle::Handle;
use super::kernel::{Arithmetic, is_built_in};
use super::operator::Operator;
use super::ops;
use super::rank::Rank;
use super::types::Place;
use phalanx::engine::{MemoryCall, Operation, Partition, ReductionMemory};
use phalanx::engine::{UserElement, UserOperator};
use phalanx::op::Operator as LibraryOperator;
use phalanx::{Comm, Order};
use std::any::TypeId;
use std::ffi::c_void;
use std::rc::Rc;
use std::slice;

/// A reduction's result: to all, to one, to each of the ranks up to it, or before it, or a part to
/// each.
#[derive(Clone, Copy, Debug)]
pub enum To<'a> {
    /// To all.
    All,
    /// To this one.
    Root(usize),
    /// To each that of the ranks up to it.
    Prefix,
    /// To each but the first that of the ranks before it.
    Before,
    /// To each its part: so many elements.
    Parts(&'a [usize]),
}

impl To<'_> {
    /// The root, if there is one.
    #[inline(always)]
    pub fn root(self) -> Option<usize> {
        if let To::Root(root) = self { Some(root) } else { None }
    }
}

/// Elements of a reduction: this rank's, how many, and where the result goes: the same place, if it
/// is not a part.
pub(super) type Operand = (*mut u8, usize, *mut u8);

/// # Safety
/// The elements are aligned, and nobody else uses them, or writes them if parts are given; the
/// result's place may be written.
#[inline(always)]
pub(super) unsafe fn typed<T: phalanx::Element, O: LibraryOperator<T> + Copy>(
    comm: &mut Comm,
    memory: Operand,
    to: To<'_>,
    op: O,
    rounds: bool,
) {
    if rounds && comm.size() > 2 && !matches!(to, To::Prefix) {
        // SAFETY: passed on.
        return unsafe { typed_in_order::<T, O>(comm, memory, to, op) };
    }
    // SAFETY: passed on.
    unsafe { typed_as_it_comes::<T, O>(comm, memory, to, op) }
}

/// # Safety
/// As `typed`.
#[inline(never)]
unsafe fn typed_in_order<T: phalanx::Element, O: LibraryOperator<T> + Copy>(
    comm: &mut Comm,
    memory: Operand,
    to: To<'_>,
    op: O,
) {
    // SAFETY: passed on.
    unsafe { typed_as_it_comes::<T, O>(&mut comm.with_order(Order::Fixed), memory, to, op) }
}

/// # Safety
/// As `typed`.
#[inline(always)]
unsafe fn typed_as_it_comes<T: phalanx::Element, O: LibraryOperator<T> + Copy>(
    comm: &mut Comm,
    (at, n, own): Operand,
    to: To<'_>,
    op: O,
) {
    if let To::Parts(counts) = to {
        let me = comm.rank();
        // SAFETY: the caller's promise, where nothing is written.
        let values = unsafe { slice::from_raw_parts(at.cast_const().cast::<T>(), n) };
        // SAFETY: the caller's promise.
        let own = unsafe { slice::from_raw_parts_mut(own.cast::<T>(), counts[me]) };
        return comm.reduce_scatter_varied_into(values, own, counts, op);
    }
    // SAFETY: the caller's promise.
    let all = unsafe { slice::from_raw_parts_mut(at.cast::<T>(), n) };
    match to {
        To::Root(root) => comm.reduce(all, op, root),
        To::Prefix => comm.scan(all, op),
        To::All | To::Before | To::Parts(_) => comm.all_reduce(all, op),
    }
}

/// A reduction of numbers that the library has an operator for.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// This rank's.
    pub from: *const c_void,
    /// Where the result goes; aligned.
    pub to: *mut c_void,
    /// How many.
    pub count: usize,
    /// Bytes of one.
    pub size: usize,
    /// Of which kind.
    pub element: Element,
    /// The operator.
    pub op: Handle,
}

impl Numbers {
    /// Whether the library has such a reduction: not of the ranks before each, as a first rank's
    /// result must not be written; and parts only if the numbers lie elsewhere, and aligned.
    #[inline(always)]
    pub fn have(&self, to: To<'_>) -> bool {
        let Numbers { from, to: at, size, .. } = *self;
        match to {
            To::Before => false,
            To::Parts(_) => !std::ptr::addr_eq(from, at) && (from as usize).is_multiple_of(size),
            _ => true,
        }
    }
}

/// `right = left (+) right`, or the like: see `engine::UserFunction`.
unsafe extern "C-unwind" fn combine(
    out: *mut c_void,
    left: *const c_void,
    right: *const c_void,
    n: usize,
    argument: *mut c_void,
) {
    // SAFETY: `Memory::new` has made the operator with such an argument; the rest is the library's
    // promise.
    unsafe {
        let arithmetic = &*argument.cast_const().cast::<Arithmetic>();
        arithmetic.combine(out.cast(), left.cast(), right.cast(), n);
    }
}

/// An operator over memory, for the library.
pub struct Memory {
    operator: UserOperator,
    _arithmetic: Box<Arithmetic>,
    element: UserElement,
}

opaque!(Memory);

/// Elements of a datatype of MPI.
struct Elements;

impl Memory {
    /// Of elements of `size` bytes that are aligned as they say.
    fn new(op: Operator, commutes: bool, size: usize, align: usize) -> Memory {
        let name = match op {
            Operator::Known(op, _) => ops::name(op),
            Operator::User(..) => "a user's operator",
        };
        let arithmetic = Box::new(Arithmetic { op, size });
        let argument = std::ptr::from_ref(&*arithmetic).cast_mut().cast();
        // SAFETY: `combine` is such a function with this argument, which is kept beside it.
        let operator = unsafe { UserOperator::new(combine, argument, commutes, name) };
        let element = UserElement {
            id: TypeId::of::<Elements>,
            name: || "elements of a datatype of MPI",
            size,
            align,
        };
        Memory { operator, _arithmetic: arithmetic, element }
    }
}

/// The key of a rank's operators over memory: operator, datatype.
pub type MemoryKey = (Handle, Handle);

/// A reduction: its operands, and the operator.
#[derive(Debug)]
pub struct Reduction<'a> {
    /// This rank's values.
    pub own: Place,
    /// The operator.
    pub op: Operator,
    rank: &'a Rank,
    key: MemoryKey,
    /// Bytes from one element to the next, and their alignment.
    pub(super) size: usize,
    align: usize,
}

impl<'a> Reduction<'a> {
    /// None if the library cannot take it: elements with gaps, and a user's operator.
    pub fn new(rank: &'a Rank, own: Place, op: Operator, key: MemoryKey) -> Option<Reduction<'a>> {
        let ty = &own.ty;
        let is_known = matches!(op, Operator::Known(..));
        let size = ty.extent.max(0).cast_unsigned();
        if size == 0 || (!is_known && !ty.is_contiguous(2)) {
            return None;
        }
        let align = ty.align();
        Some(Reduction { own, op, rank, key, size, align })
    }

    /// The operator over memory: made once, and kept by the rank.
    fn memory(&self) -> Rc<Memory> {
        let make = || {
            let is_known = matches!(self.op, Operator::Known(..));
            let commutes =
                is_known || self.rank.ops.borrow().get(self.key.0).is_some_and(|it| it.1);
            Rc::new(Memory::new(self.op, commutes, self.size, self.align))
        };
        Rc::clone(self.rank.memory.borrow_mut().entry(self.key).or_insert_with(make))
    }

    /// The values, where they may be written: at the target if it is given and aligned.
    ///
    /// # Safety
    /// Both places are memory of the program, of as many elements; the target may be written.
    pub(super) unsafe fn start(&self, target: Option<&Place>) -> Flat {
        let bytes = self.own.count * self.size;
        let target = target.filter(|it| it.address.is_multiple_of(self.align) && it.address != 0);
        let from = self.own.address as *const u8;
        let Some(target) = target else {
            // SAFETY: the caller's promise.
            return unsafe { Flat::copied(from, bytes) };
        };
        // SAFETY: the caller's promise; they may overlap.
        unsafe { std::ptr::copy(from, target.address as *mut u8, bytes) };
        Flat::over(target.address, bytes)
    }

    pub(super) fn terms(&self, root: Option<usize>) -> Terms {
        Terms { root, op: self.op.mark(), bytes: Some(self.own.bytes()) }
    }

    /// The same as numbers that the library has an operator for, if they are, at this place; a part
    /// of the result goes to the other one.
    pub(super) fn numbers(&self, (at, part): (*mut u8, *mut u8), to: To<'_>) -> Option<Numbers> {
        let Operator::Known(op, element) = self.op else { return None };
        let (count, size) = (self.own.count, self.size);
        let it = Numbers { from: at.cast(), to: part.cast(), count, size, element, op };
        Some(it).filter(|it| is_built_in(op, element) && it.have(to))
    }

    /// By an operator over memory.
    ///
    /// # Safety
    /// `at` has this reduction's elements, aligned, that nobody else uses; a part of the result has
    /// room at `part`, which else is the same.
    pub(super) unsafe fn run(&self, comm: &mut Comm, (at, part): (*mut u8, *mut u8), to: To<'_>) {
        let vector = Partition::Vector(self.own.count);
        let (operation, cut) = match to {
            To::All => (Operation::AllReduce, vector),
            To::Root(_) => (Operation::Reduce, vector),
            To::Prefix => (Operation::Scan, vector),
            To::Before => (Operation::ExclusiveScan, vector),
            To::Parts(counts) => (Operation::ReduceScatter, Partition::Varied(counts)),
        };
        let memory = ReductionMemory { input: at.cast_const(), output: part };
        let kept = self.memory();
        let Memory { operator, element, .. } = &*kept;
        let call = MemoryCall { operation, cut, parameter: to.root().unwrap_or(0), memory };
        // SAFETY: passed on.
        unsafe { operator.reduce(comm, &call, *element) };
    }
}
