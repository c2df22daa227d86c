//! Collectives on the library's route: its mailboxes, gates and algorithms.
//!
//! Data is moved as bytes. What lies with gaps is packed before and unpacked after: all ranks see
//! contiguous bytes, whatever datatype each gives.
//!
//! Reductions are in place at the target. Where rounding depends on the order (sums and products of
//! floating-point numbers, of three ranks or more), they combine by one binary tree of ranks
//! ([`Order::Fixed`]): the same bits on every rank and at each length, and those of recursive
//! doubling. What solvers call all the time goes the library's short ways, by its own operators;
//! the rest by a function over memory ([`UserOperator`]).

use super::basic::Element;
use super::coll::{Call, Operator};
use super::comm::Terms;
use super::error::{Class, Outcome, error};
use super::handle::Handle;
use super::ops::{self, Mark, apply};
use super::rank::{Rank, UserFunction};
use super::types::{Place, bytes_at, copy, move_bytes};
use phalanx::op::{self, Operator as LibraryOperator};
use phalanx::raw::{Operation, ReductionCut, ReductionMemory, UserElement, UserOperator};
use phalanx::{Comm, Order};
use std::any::TypeId;
use std::ffi::c_void;
use std::rc::Rc;
use std::slice;

/// Room on the stack for what is packed: 64 bytes.
type Small = [u128; 4];

/// Memory of a place as the library takes it: contiguous, and aligned for its elements.
struct Flat {
    address: usize,
    bytes: usize,
    small: Small,
    large: Vec<u128>,
}

impl Flat {
    /// A place's own memory, if it is as the library takes it.
    fn direct(place: &Place, align: usize) -> Option<Flat> {
        let is_it = place.ty.is_contiguous(place.count) && place.address.is_multiple_of(align);
        is_it.then(|| Flat { address: place.address, ..Flat::room(0, place.bytes()) })
    }

    /// New room; its address is known when it rests (`at`).
    fn room(length: usize, bytes: usize) -> Flat {
        let is_small = length <= size_of::<Small>();
        let large = if is_small { Vec::new() } else { vec![0; length.div_ceil(16)] };
        Flat { address: 0, bytes, small: [0; 4], large }
    }

    /// A copy of so many bytes: room that nothing else is written to before.
    ///
    /// # Safety
    /// They are memory of the program.
    unsafe fn copied(from: *const u8, bytes: usize) -> Flat {
        let mut flat = Flat::room(0, bytes);
        if bytes > size_of::<Small>() {
            let length = bytes.div_ceil(16);
            flat.large.reserve_exact(length);
            // SAFETY: there is room for as many; the end of the last is written before the bytes.
            unsafe {
                flat.large.as_mut_ptr().add(length - 1).write(0);
                std::ptr::copy_nonoverlapping(from, flat.large.as_mut_ptr().cast(), bytes);
                flat.large.set_len(length);
            }
        } else {
            // SAFETY: the caller's promise; there is room.
            unsafe { std::ptr::copy_nonoverlapping(from, flat.small.as_mut_ptr().cast(), bytes) };
        }
        flat
    }

    fn is_direct(&self) -> bool {
        self.address != 0
    }

    fn at(&mut self) -> *mut u8 {
        match self.address {
            0 if self.large.is_empty() => self.small.as_mut_ptr().cast(),
            0 => self.large.as_mut_ptr().cast(),
            address => address as *mut u8,
        }
    }

    /// The bytes; nobody else uses them meanwhile.
    ///
    /// # Safety
    /// If it is direct: the place is memory of the program that may be written, for as long as the
    /// slice lives.
    unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        let (at, length) = (self.at(), self.bytes);
        if length == 0 {
            return &mut [];
        }
        // SAFETY: the caller's promise, or room of so many bytes.
        unsafe { slice::from_raw_parts_mut(at, length) }
    }

    /// The bytes, to be read.
    ///
    /// # Safety
    /// As `bytes_mut`, but that nobody writes them.
    unsafe fn bytes(&mut self) -> &[u8] {
        let (at, length) = (self.at(), self.bytes);
        if length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise, or room of so many bytes.
        unsafe { slice::from_raw_parts(at, length) }
    }

    /// The data of a place.
    ///
    /// # Safety
    /// The place is memory of the program as its type says.
    unsafe fn of(place: &Place) -> Flat {
        Flat::direct(place, 1).unwrap_or_else(|| {
            let bytes = place.bytes();
            let mut room = Flat::room(bytes, bytes);
            // SAFETY: the caller's promise; the room has as many bytes.
            unsafe { copy(place, &bytes_at(room.at() as usize, bytes)) };
            room
        })
    }

    /// Room for the data of a place, which comes there by `give`.
    fn for_data(place: &Place) -> Flat {
        let bytes = place.bytes();
        Flat::direct(place, 1).unwrap_or_else(|| Flat::room(bytes, bytes))
    }

    /// The data goes to the place, if it is not there yet.
    ///
    /// # Safety
    /// As `of`, and the place may be written.
    unsafe fn give(&mut self, place: &Place) {
        if !self.is_direct() {
            // SAFETY: the caller's promise.
            unsafe { copy(&bytes_at(self.at() as usize, self.bytes), place) };
        }
    }
}

/// The bytes of a place, if they lie as the library takes them: without what a [`Flat`] carries for
/// those that do not.
///
/// # Safety
/// The place is memory of the program that may be read, and written if the slice is, for as long as
/// that lives.
#[inline]
unsafe fn direct<'a>(place: &Place) -> Option<&'a mut [u8]> {
    let is_it = place.address != 0 && place.ty.is_contiguous(place.count);
    // SAFETY: the caller's promise.
    is_it.then(|| unsafe { slice::from_raw_parts_mut(place.address as *mut u8, place.bytes()) })
}

/// What a rank exchanges with itself alone.
///
/// # Safety
/// As `copy`.
unsafe fn alone(from: Option<&Place>, to: Option<&Place>) -> Outcome {
    let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
    same_bytes(from.bytes(), to.bytes())?;
    // SAFETY: the caller's promise.
    unsafe { copy(from, to) };
    Ok(())
}

fn same_bytes(given: usize, expected: usize) -> Outcome {
    if given == expected {
        return Ok(());
    }
    error(Class::Truncate, format!("{given} bytes are given, and {expected} are expected"))
}

/// A complex number.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Complex<T>(T, T);

/// The sum and the product of complex numbers.
#[derive(Clone, Copy, Debug)]
struct ComplexSum;
#[derive(Clone, Copy, Debug)]
struct ComplexProduct;

macro_rules! complex {
    ($($type:ty),*) => {$(
        impl LibraryOperator<Complex<$type>> for ComplexSum {
            const NAME: &'static str = "sum";
            const COMMUTATIVE: bool = true;

            fn combine(&self, a: Complex<$type>, b: Complex<$type>) -> Complex<$type> {
                Complex(a.0 + b.0, a.1 + b.1)
            }
        }

        impl LibraryOperator<Complex<$type>> for ComplexProduct {
            const NAME: &'static str = "prod";
            const COMMUTATIVE: bool = true;

            fn combine(&self, a: Complex<$type>, b: Complex<$type>) -> Complex<$type> {
                Complex(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
            }
        }
    )*};
}
complex!(f32, f64);

/// A reduction's result: to all, to one, to each of the ranks up to it, or a part to each.
#[derive(Clone, Copy)]
enum To<'a> {
    All,
    Root(usize),
    Prefix,
    /// As many elements for each; this rank's go there.
    Parts(&'a [usize], *mut u8),
}

/// # Safety
/// `at` has `n` elements, aligned, that nobody else uses, or writes if parts are given; the parts
/// are as they say.
#[inline(always)]
unsafe fn typed<T: phalanx::Element, O: LibraryOperator<T> + Copy>(
    comm: &mut Comm,
    memory: (*mut u8, usize),
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
    memory: (*mut u8, usize),
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
    (at, n): (*mut u8, usize),
    to: To<'_>,
    op: O,
) {
    if let To::Parts(counts, own) = to {
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
        To::All | To::Parts(..) => comm.all_reduce(all, op),
    }
}

const SUM: Handle = 0x21;
const MIN: Handle = 0x22;
const MAX: Handle = 0x23;
const PROD: Handle = 0x24;

/// The operators of the library that reductions take: elements, operator; as what, by which, and
/// whether rounding depends on the order.
macro_rules! built_in {
    ($with:ident) => {
        $with! {
            (F64, SUM) => f64, op::Sum, true;
            (F64, PROD) => f64, op::Prod, true;
            (F64, MIN) => f64, op::Min, false;
            (F64, MAX) => f64, op::Max, false;
            (F32, SUM) => f32, op::Sum, true;
            (F32, PROD) => f32, op::Prod, true;
            (I32, SUM) => i32, op::Sum, false;
            (I32, MIN) => i32, op::Min, false;
            (I32, MAX) => i32, op::Max, false;
            (I64 | U64, SUM) => u64, op::Sum, false;
            (I64, MIN) => i64, op::Min, false;
            (I64, MAX) => i64, op::Max, false;
            (C64, SUM) => Complex<f64>, ComplexSum, true;
            (C64, PROD) => Complex<f64>, ComplexProduct, true;
            (C32, SUM) => Complex<f32>, ComplexSum, true;
            (C32, PROD) => Complex<f32>, ComplexProduct, true;
        }
    };
}

/// Whether the library has this operator for these elements.
#[inline]
pub fn is_built_in(op: Handle, element: Element) -> bool {
    use Element::{C32, C64, F32, F64, I32, I64, U64};
    macro_rules! known {
        ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
            matches!((element, op), $(($element, $op))|*)
        };
    }
    built_in!(known)
}

/// A reduction by the library's operators; says whether there is one.
///
/// # Safety
/// As `typed`, of elements of this kind.
#[inline]
unsafe fn built_in(
    comm: &mut Comm,
    (op, element): (Handle, Element),
    memory: (*mut u8, usize),
    to: To<'_>,
) -> bool {
    use Element::{C32, C64, F32, F64, I32, I64, U64};
    macro_rules! carried_out {
        ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
            match (element, op) {
                // SAFETY: passed on.
                $(($element, $op) => unsafe { typed::<$type, _>(comm, memory, to, $by, $rounds) },)*
                _ => return false,
            }
        };
    }
    built_in!(carried_out);
    true
}

/// A reduction of numbers that the library has an operator for.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
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

impl Plain {
    /// Whether the numbers lie elsewhere than the result, and aligned.
    pub fn is_apart(&self) -> bool {
        !std::ptr::addr_eq(self.from, self.to) && (self.from as usize).is_multiple_of(self.size)
    }
}

/// What an operator over memory is told: its own argument lives as long as the operator.
enum Arithmetic {
    Known(Handle, Element, usize),
    User(UserFunction, Handle, usize),
}

/// `right = left (+) right`, or the like: see `raw::UserFunction`.
unsafe extern "C-unwind" fn combine(
    out: *mut c_void,
    left: *const c_void,
    right: *const c_void,
    n: usize,
    argument: *mut c_void,
) {
    // SAFETY: `Memory::new` has made the operator with such an argument.
    let arithmetic = unsafe { &*argument.cast_const().cast::<Arithmetic>() };
    let (Arithmetic::Known(.., size) | Arithmetic::User(.., size)) = arithmetic;
    let bytes = n * size;
    let mut kept: Vec<u128> = Vec::new();
    // The standard's functions write where the right operand is.
    let target = if std::ptr::addr_eq(out, left) && !std::ptr::addr_eq(out, right) {
        kept.resize(bytes.div_ceil(16), 0);
        kept.as_mut_ptr().cast::<u8>()
    } else {
        out.cast::<u8>()
    };
    // SAFETY: `n` elements each, `out` being one of the operands or overlapping neither.
    unsafe {
        if !std::ptr::addr_eq(target, right) {
            std::ptr::copy_nonoverlapping(right.cast(), target, bytes);
        }
        match arithmetic {
            Arithmetic::Known(op, element, _) => {
                apply(*op, *element, left.cast(), target, n);
            }
            Arithmetic::User(function, ty, _) => {
                function.call(left as usize, target as usize, (n, size.cast_signed()), *ty);
            }
        }
        if !kept.is_empty() {
            std::ptr::copy_nonoverlapping(target, out.cast(), bytes);
        }
    }
}

/// An operator over memory, for the library.
pub struct Memory {
    operator: UserOperator,
    _arithmetic: Box<Arithmetic>,
    element: UserElement,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// Elements of a datatype of MPI.
struct Elements;

impl Memory {
    /// Of elements of `size` bytes that are aligned as they say.
    fn new(op: Operator, commutes: bool, size: usize, align: usize) -> Memory {
        let (name, arithmetic) = match op {
            Operator::Known(op, element) => (ops::name(op), Arithmetic::Known(op, element, size)),
            Operator::User(function, ty) => {
                ("a user's operator", Arithmetic::User(function, ty, size))
            }
        };
        let arithmetic = Box::new(arithmetic);
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

/// What a rank's operators over memory are known by: operator, datatype.
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
    size: usize,
    align: usize,
}

impl<'a> Reduction<'a> {
    /// The library cannot take elements with gaps and a user's operator: then the values are given
    /// back.
    ///
    /// # Errors
    /// The values.
    #[inline]
    pub fn new(
        rank: &'a Rank,
        own: Place,
        op: Operator,
        key: MemoryKey,
    ) -> Result<Reduction<'a>, Place> {
        let ty = &own.ty;
        let is_known = matches!(op, Operator::Known(..));
        let size = ty.extent.max(0).cast_unsigned();
        if size == 0 || (!is_known && !ty.is_contiguous(2)) {
            return Err(own);
        }
        let align = ty.align();
        Ok(Reduction { own, op, rank, key, size, align })
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
    unsafe fn start(&self, target: Option<&Place>) -> Flat {
        let bytes = self.own.count * self.size;
        let target = target.filter(|it| it.address.is_multiple_of(self.align) && it.address != 0);
        let from = self.own.address as *const u8;
        let Some(target) = target else {
            // SAFETY: the caller's promise.
            return unsafe { Flat::copied(from, bytes) };
        };
        // SAFETY: the caller's promise; they may overlap.
        unsafe { std::ptr::copy(from, target.address as *mut u8, bytes) };
        Flat { address: target.address, ..Flat::room(0, bytes) }
    }

    fn terms(&self, root: Option<usize>) -> Terms {
        Terms { root, op: self.op.mark(), bytes: Some(self.own.bytes()) }
    }

    /// # Safety
    /// `at` has this reduction's elements, aligned, that nobody else uses.
    unsafe fn run(&self, comm: &mut Comm, at: *mut u8, to: To<'_>) {
        let n = self.own.count;
        if let Operator::Known(op, element) = self.op
            // SAFETY: passed on.
            && unsafe { built_in(comm, (op, element), (at, n), to) }
        {
            return;
        }
        let (operation, cut, root, output) = match to {
            To::Prefix => (Operation::Scan, ReductionCut::Vector(n), 0, at),
            To::All => (Operation::AllReduce, ReductionCut::Vector(n), 0, at),
            To::Root(root) => (Operation::Reduce, ReductionCut::Vector(n), root, at),
            To::Parts(counts, own) => {
                (Operation::ReduceScatter, ReductionCut::Varied(counts), 0, own)
            }
        };
        // SAFETY: passed on.
        unsafe { self.by_memory(comm, operation, cut, root, (at, output)) };
    }

    /// # Safety
    /// As `run`.
    unsafe fn by_memory(
        &self,
        comm: &mut Comm,
        operation: Operation,
        cut: ReductionCut<'_>,
        root: usize,
        (input, output): (*mut u8, *mut u8),
    ) {
        let memory = ReductionMemory { input: input.cast_const(), output };
        let kept = self.memory();
        let Memory { operator, element, .. } = &*kept;
        // SAFETY: passed on.
        unsafe { operator.reduce(comm, operation, cut, root, memory, *element) };
    }
}

impl Call<'_> {
    /// Whether the library has a communicator for this one.
    #[inline]
    pub fn is_routed(&self) -> bool {
        self.comm.size() > 1 && !self.comm.is_inter()
    }

    /// Makes a call of the library as this one.
    #[inline(always)]
    pub fn library<R>(&self, terms: Terms, run: impl FnOnce(&mut Comm) -> R) -> R {
        self.comm.call_library(self.world, self.site, terms, run)
    }

    /// The root's bytes for all.
    ///
    /// # Safety
    /// The memory, an address and so many bytes, is the program's, and may be written but at the
    /// root.
    pub unsafe fn broadcast_solid(&self, (at, bytes): (usize, usize), root: usize) {
        let terms = Terms { root: Some(root), bytes: Some(bytes), op: Mark::None };
        // SAFETY: the caller's promise.
        let data = unsafe { slice::from_raw_parts_mut(at as *mut u8, bytes) };
        self.library(terms, |comm| comm.broadcast(data, root));
    }

    /// Every rank's bytes, in their order, at the root: `all` is given there.
    ///
    /// # Safety
    /// The memory is the program's, so many bytes for each rank at the root, and does not overlap.
    pub unsafe fn gather_solid(&self, own: (usize, usize), all: Option<usize>, root: usize) {
        let terms = Terms { root: Some(root), bytes: Some(own.1), op: Mark::None };
        let length = own.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let own = slice::from_raw_parts(own.0 as *const u8, own.1);
            let all =
                all.map_or(&mut [][..], |at| slice::from_raw_parts_mut(at as *mut u8, length));
            self.library(terms, |comm| comm.gather_into(own, all, root));
        }
    }

    /// A part of the root's bytes for each: `all` is given there.
    ///
    /// # Safety
    /// As `gather_solid`.
    pub unsafe fn scatter_solid(&self, all: Option<usize>, own: (usize, usize), root: usize) {
        let terms = Terms { root: Some(root), bytes: Some(own.1), op: Mark::None };
        let length = own.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let own = slice::from_raw_parts_mut(own.0 as *mut u8, own.1);
            let all = all.map_or(&[][..], |at| slice::from_raw_parts(at as *const u8, length));
            self.library(terms, |comm| comm.scatter_into(all, own, root));
        }
    }

    /// Every rank's bytes, in their order, for all.
    ///
    /// # Safety
    /// As `gather_solid`, for all ranks.
    pub unsafe fn all_gather_solid(&self, own: (usize, usize), all: usize) {
        let terms = Terms { bytes: Some(own.1), ..Terms::default() };
        let length = own.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let own = slice::from_raw_parts(own.0 as *const u8, own.1);
            let all = slice::from_raw_parts_mut(all as *mut u8, length);
            self.library(terms, |comm| comm.all_gather_into(own, all));
        }
    }

    /// Each rank gives each a part: `from` is the first one's.
    ///
    /// # Safety
    /// As `all_gather_solid`, of both.
    pub unsafe fn all_to_all_solid(&self, from: (usize, usize), to: usize) {
        let terms = Terms { bytes: Some(from.1), ..Terms::default() };
        let length = from.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let from = slice::from_raw_parts(from.0 as *const u8, length);
            let to = slice::from_raw_parts_mut(to as *mut u8, length);
            self.library(terms, |comm| comm.all_to_all_into(from, to));
        }
    }

    /// The same of numbers, without what `reduce_scatter` asks and makes for the rest: they are
    /// read where they lie.
    ///
    /// # Safety
    /// The memory is the program's: as many numbers, aligned, and the target, which may be written,
    /// has this rank's part, and lies elsewhere.
    pub unsafe fn reduce_scatter_plain(&self, it: Plain, counts: &[usize]) {
        let Plain { from, to, count, size, element, op } = it;
        let op = (op, element);
        let terms = Terms { root: None, op: Mark::Known(op.0, op.1), bytes: Some(count * size) };
        let parts = To::Parts(counts, to.cast());
        // SAFETY: the caller's promise.
        unsafe { self.plain(terms, op, (from.cast_mut().cast(), count), parts) };
    }

    /// Combines the numbers of the ranks up to this one.
    ///
    /// # Safety
    /// As `reduce_plain`.
    pub unsafe fn scan_plain(&self, it: Plain) {
        // SAFETY: passed on.
        unsafe { self.numbers_in_place(it, None, To::Prefix) };
    }

    /// Combines all ranks' numbers for all, or for the root: without what `reduce` asks and makes
    /// for the rest.
    ///
    /// # Safety
    /// The memory is the program's: as many numbers, and the target may be written.
    #[inline(always)]
    pub unsafe fn reduce_plain(&self, it: Plain, root: Option<usize>) {
        // SAFETY: passed on.
        unsafe { self.numbers_in_place(it, root, root.map_or(To::All, To::Root)) };
    }

    /// # Safety
    /// As `reduce_plain`.
    #[inline(always)]
    unsafe fn numbers_in_place(&self, it: Plain, root: Option<usize>, target: To<'_>) {
        let Plain { from, to, count, size, element, op } = it;
        let bytes = count * size;
        if !std::ptr::addr_eq(from, to) {
            // SAFETY: the caller's promise; they may overlap.
            unsafe { move_bytes(from as usize, to as usize, bytes) };
        }
        let terms = Terms { root, op: Mark::Known(op, element), bytes: Some(bytes) };
        // SAFETY: the caller's promise.
        unsafe { self.plain(terms, (op, element), (to.cast(), count), target) };
    }

    /// A reduction by one of the library's operators: `is_built_in` was asked. Which it is is asked
    /// first, so that the rest is compiled for it.
    ///
    /// # Safety
    /// As `typed`, of elements of this kind.
    #[inline(always)]
    unsafe fn plain(
        &self,
        terms: Terms,
        (op, element): (Handle, Element),
        memory: (*mut u8, usize),
        to: To<'_>,
    ) {
        use Element::{C32, C64, F32, F64, I32, I64, U64};
        macro_rules! carried_out {
            ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
                match (element, op) {
                    $(($element, $op) => {
                        // SAFETY: passed on.
                        unsafe { self.plain_typed::<$type, _>(terms, memory, to, $by, $rounds) }
                    })*
                    _ => {}
                }
            };
        }
        built_in!(carried_out);
    }

    /// # Safety
    /// As `typed`.
    #[inline(never)]
    unsafe fn plain_typed<T: phalanx::Element, O: LibraryOperator<T> + Copy>(
        &self,
        terms: Terms,
        memory: (*mut u8, usize),
        to: To<'_>,
        op: O,
        rounds: bool,
    ) {
        // SAFETY: passed on.
        self.library(terms, |comm| unsafe { typed::<T, O>(comm, memory, to, op, rounds) });
    }

    /// All have come.
    #[inline]
    pub fn barrier(&self) {
        if self.is_routed() {
            self.library(Terms::default(), Comm::barrier);
        }
    }

    /// The root's data for all.
    ///
    /// # Safety
    /// `place` is memory of the program as its type says; but at the root it may be written.
    pub unsafe fn broadcast(&self, place: &Place, root: usize) {
        if !self.is_routed() {
            return;
        }
        // SAFETY: the caller's promise.
        if let Some(bytes) = unsafe { direct(place) } {
            let terms = Terms { root: Some(root), bytes: Some(bytes.len()), op: Mark::None };
            self.library(terms, |comm| comm.broadcast(bytes, root));
            return;
        }
        let is_root = self.comm.rank == root;
        let mut flat = match is_root {
            // SAFETY: the caller's promise.
            true => unsafe { Flat::of(place) },
            false => Flat::for_data(place),
        };
        let terms = Terms { root: Some(root), bytes: Some(flat.bytes), op: Mark::None };
        // SAFETY: as above.
        unsafe {
            let bytes = flat.bytes_mut();
            self.library(terms, |comm| comm.broadcast(bytes, root));
            if !is_root {
                flat.give(place);
            }
        }
    }

    /// Every rank's data, in their order, at the root: `all` is given there.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `all` may be written, and overlaps
    /// `own` only if that is its part of this rank.
    pub unsafe fn gather(&self, own: &Place, all: Option<&Place>, root: usize) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(Some(own), all) };
        }
        let Some(place) = all else {
            // SAFETY: the caller's promise.
            if let Some(own) = unsafe { direct(own) } {
                let terms = Terms { root: Some(root), bytes: Some(own.len()), op: Mark::None };
                self.library(terms, |comm| comm.gather_into(own, &mut [], root));
                return Ok(());
            }
            // SAFETY: the caller's promise.
            let mut own = unsafe { Flat::of(own) };
            let terms = Terms { root: Some(root), bytes: Some(own.bytes), op: Mark::None };
            // SAFETY: as above.
            let own = unsafe { own.bytes() };
            self.library(terms, |comm| comm.gather_into(own, &mut [], root));
            return Ok(());
        };
        same_bytes(own.bytes() * self.comm.size(), place.bytes())?;
        let is_inside =
            (place.address..place.address + place.bytes().max(1)).contains(&own.address);
        let terms = Terms { root: Some(root), bytes: Some(own.bytes()), op: Mark::None };
        if !is_inside
            // SAFETY: the caller's promise; they do not overlap.
            && let (Some(own), Some(all)) = unsafe { (direct(own), direct(place)) }
        {
            self.library(terms, |comm| comm.gather_into(own, all, root));
            return Ok(());
        }
        // SAFETY: as above; what lies in place is copied first.
        unsafe {
            let kept;
            let mut own = Flat::of(own);
            let own = if is_inside && own.is_direct() {
                kept = own.bytes().to_vec();
                &kept[..]
            } else {
                own.bytes()
            };
            let mut all = Flat::for_data(place);
            let bytes = all.bytes_mut();
            self.library(terms, |comm| comm.gather_into(own, bytes, root));
            all.give(place);
        }
        Ok(())
    }

    /// Every rank's data, in their order, for all; `own` is none if it lies in its place already.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `all` may be written, and does not
    /// overlap `own`.
    pub unsafe fn all_gather(&self, own: Option<&Place>, place: &Place) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(own, Some(place)) };
        }
        let block = place.bytes() / self.comm.size();
        own.map_or(Ok(()), |own| same_bytes(own.bytes(), block))?;
        let terms = Terms { bytes: Some(block), ..Terms::default() };
        if let Some(own) = own
            // SAFETY: the caller's promise.
            && let (Some(own), Some(all)) = unsafe { (direct(own), direct(place)) }
        {
            self.library(terms, |comm| comm.all_gather_into(own, all));
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            match own {
                Some(own) => {
                    let mut own = Flat::of(own);
                    let mut all = Flat::for_data(place);
                    let (own, bytes) = (own.bytes(), all.bytes_mut());
                    self.library(terms, |comm| comm.all_gather_into(own, bytes));
                    all.give(place);
                }
                None => {
                    let mut all = Flat::of(place);
                    let bytes = all.bytes_mut();
                    self.library(terms, |comm| comm.all_gather_in_place(bytes));
                    all.give(place);
                }
            }
        }
        Ok(())
    }

    /// A part of the root's data for each; `own` is none if the root's stays where it is.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `own` may be written, and does not
    /// overlap `all`.
    pub unsafe fn scatter(&self, all: Option<&Place>, own: Option<&Place>, root: usize) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(all, own) };
        }
        let block = all.map(|it| it.bytes() / self.comm.size());
        let bytes = own.map(Place::bytes).or(block).unwrap_or(0);
        block.map_or(Ok(()), |it| same_bytes(it, bytes))?;
        let terms = Terms { root: Some(root), bytes: Some(bytes), op: Mark::None };
        if let Some(own) = own
            // SAFETY: the caller's promise.
            && let Some(own) = unsafe { direct(own) }
        {
            // SAFETY: as above.
            let from = all.map_or(Some(&mut [][..]), |it| unsafe { direct(it) });
            if let Some(from) = from {
                self.library(terms, |comm| comm.scatter_into(from, own, root));
                return Ok(());
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            let mut all = all.map(|it| Flat::of(it));
            let all = all.as_mut().map_or(&[][..], |it| it.bytes());
            let mut mine = own.map_or_else(|| Flat::room(bytes, bytes), Flat::for_data);
            let to = mine.bytes_mut();
            self.library(terms, |comm| comm.scatter_into(all, to, root));
            own.into_iter().for_each(|own| mine.give(own));
        }
        Ok(())
    }

    /// Each rank gives each a part; `from` is none if it lies where the others' will go.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `to` may be written, and does not
    /// overlap `from`.
    pub unsafe fn all_to_all(&self, from: Option<&Place>, to: &Place) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(from, Some(to)) };
        }
        from.map_or(Ok(()), |from| same_bytes(from.bytes(), to.bytes()))?;
        let terms = Terms { bytes: Some(to.bytes() / self.comm.size()), ..Terms::default() };
        if let Some(from) = from
            // SAFETY: the caller's promise.
            && let (Some(from), Some(to)) = unsafe { (direct(from), direct(to)) }
        {
            self.library(terms, |comm| comm.all_to_all_into(from, to));
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            match from {
                Some(from) => {
                    let (mut from, mut flat) = (Flat::of(from), Flat::for_data(to));
                    let (send, recv) = (from.bytes(), flat.bytes_mut());
                    self.library(terms, |comm| comm.all_to_all_into(send, recv));
                    flat.give(to);
                }
                None => {
                    let mut flat = Flat::of(to);
                    let bytes = flat.bytes_mut();
                    self.library(terms, |comm| comm.all_to_all_in_place(bytes));
                    flat.give(to);
                }
            }
        }
        Ok(())
    }

    /// Combines all ranks' values; the result goes to `target` where it is given: at every rank, or
    /// at the root.
    ///
    /// # Safety
    /// The places are memory of the program as their types say, as many elements each; the target
    /// may be written.
    pub unsafe fn reduce(&self, it: &Reduction<'_>, target: Option<&Place>, root: Option<usize>) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut flat = it.start(target);
            let at = flat.at();
            let to = root.map_or(To::All, To::Root);
            self.library(it.terms(root), |comm| it.run(comm, at, to));
            if let Some(target) = target.filter(|_| !flat.is_direct()) {
                std::ptr::copy_nonoverlapping(at, target.address as *mut u8, flat.bytes);
            }
        }
    }

    /// Combines all ranks' values, and gives each rank its part: so many elements.
    ///
    /// # Safety
    /// As `reduce`; the target has this rank's part.
    pub unsafe fn reduce_scatter(&self, it: &Reduction<'_>, counts: &[usize], target: &Place) {
        let bytes = counts[self.comm.rank] * it.size;
        // SAFETY: the caller's promise; the values are copied, so the target may lie among them.
        unsafe {
            let (mut all, mut part) = (it.start(None), Flat::room(bytes, bytes));
            let (at, own) = (all.at(), part.at());
            self.library(it.terms(None), |comm| it.run(comm, at, To::Parts(counts, own)));
            std::ptr::copy_nonoverlapping(own, target.address as *mut u8, bytes);
        }
    }

    /// Combines the values of the ranks up to this one, or before it; then rank 0 gets nothing.
    ///
    /// # Safety
    /// As `reduce`.
    pub unsafe fn scan(&self, it: &Reduction<'_>, target: &Place, is_exclusive: bool) {
        let (operation, cut) = (Operation::ExclusiveScan, ReductionCut::Vector(it.own.count));
        // SAFETY: the caller's promise.
        unsafe {
            let mut flat = it.start(None);
            let at = flat.at();
            self.library(it.terms(None), |comm| match is_exclusive {
                true => it.by_memory(comm, operation, cut, 0, (at, at)),
                false => it.run(comm, at, To::Prefix),
            });
            if !is_exclusive || self.comm.rank > 0 {
                std::ptr::copy_nonoverlapping(at, target.address as *mut u8, flat.bytes);
            }
        }
    }
}
