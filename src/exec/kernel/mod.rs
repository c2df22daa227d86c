//! Kernels: element type and operator, erased, called once per slice.
//!
//! A pair of type and operator has one loop, for any number of inputs and one or two outputs, in
//! place or not. It is compiled twice: for the baseline of the
//! architecture, and on x86-64 for AVX2 (of halves also for AVX-512), chosen when it runs. So a
//! program built for any x86-64 uses the vectors of the machine that it runs
//! on, with the user's operators and closures, which are inlined into both. The
//! results are the same bits: each element is combined by itself, in rank
//! order, and Rust never contracts a multiplication and an addition.
//!
//! Of some pairs partial results are wider than elements ([`Accumulation`]): the loop rounds once,
//! and [`Wide`] has the loops for all other ways in which more than two operands meet.
//!
//! On aarch64 the baseline has NEON. AVX-512 gains up to a tenth at some sizes and
//! loses it at others (docs/measurements.md), so only loops with wider partial results have it, for
//! its conversion of `bf16`.

mod copy;
mod foreign_operator;
mod scratch;
pub(super) mod stream;
mod wide;

pub(crate) use copy::copy;
pub(crate) use foreign_operator::ForeignOperator;
pub(crate) use scratch::Scratch;
pub(super) use wide::OperandTree;

use crate::element::Element;
use crate::op::float_control::FloatControl;
use crate::op::{Accumulation, AsElements, Avx2, Avx512, Baseline, Operator, Vectors};
use crate::op::{is_disturbed, with_vectors};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use wide::Wide;

/// The most inputs that one pass combines ([`Kernel::fold`]).
pub(crate) const MOST_INPUTS: usize = 8;

/// Bytes that are worked on by one loop before the next loop takes them, where two loops make one
/// result: they stay in the innermost cache.
const BLOCK: usize = 4 << 10;

/// `dst[i] = left[i] (+) right[i]` for `n` elements.
type Combine = unsafe fn(op: *const (), dst: *mut u8, left: *const u8, right: *const u8, n: usize);
/// `dst[i] = also[i] = inputs[0][i] (+) .. (+) inputs[k-1][i]` for `n` elements.
type FoldFn = unsafe fn(op: *const (), dst: *mut u8, also: *mut u8, inputs: &[*mut u8], n: usize);

/// What the engine knows of elements: how large they are and how they combine. Two words: calls
/// are moved with it.
#[derive(Clone, Copy)]
pub(crate) struct Kernel<'a> {
    loops: &'a Loops,
    op: *const (),
    _op: PhantomData<&'a ()>,
}

/// That of a type and an operator's type.
pub(crate) struct Loops {
    size: usize,
    align: usize,
    line: u32,
    combine: Combine,
    fold: FoldFn,
    wide: Option<&'static Wide>,
}

impl Loops {
    /// Those of elements that are only moved.
    #[inline(always)]
    pub(crate) const fn none(size: usize, align: usize) -> Self {
        Loops { size, align, line: line(size), combine: no_combine, fold: no_fold, wide: None }
    }

    /// Those of elements that `O` combines, with the partial results of `S`.
    const fn of<T: Element, O: Operator<T>, S: Accumulation<T, O>, const FEW: bool>(
        wide: Option<&'static Wide>,
    ) -> Self {
        Loops {
            size: size_of::<T>(),
            align: align_of::<T>(),
            line: line(size_of::<T>()),
            combine: combine::<T, O, S, FEW>,
            fold: fold::<T, O, S, FEW>,
            wide,
        }
    }
}

impl<'a> Kernel<'a> {
    /// For elements that are only moved.
    #[inline(always)]
    pub(crate) const fn mover<T: Element>() -> Self {
        Kernel::moving(const { &Loops::none(size_of::<T>(), align_of::<T>()) })
    }

    /// For elements that are only moved, of which only size and alignment are known.
    #[inline(always)]
    pub(crate) const fn moving(loops: &'a Loops) -> Self {
        Kernel { loops, op: std::ptr::null(), _op: PhantomData }
    }

    /// For elements that `op` combines.
    #[inline(always)]
    pub(crate) fn combiner<T: Element, O: Operator<T>>(op: &'a O) -> Self {
        let loops = wide::loops::<T, O, _>(O::accumulation());
        Kernel { loops, op: std::ptr::from_ref(op).cast(), _op: PhantomData }
    }

    /// For a few elements that `op` combines, each alone: little is compiled.
    pub(crate) fn of_few<T: Element, O: Operator<T>>(op: &'a O) -> Self {
        let loops = const { &Loops::of::<T, O, AsElements, true>(None) };
        Kernel { loops, op: std::ptr::from_ref(op).cast(), _op: PhantomData }
    }

    /// Bytes of an element.
    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.loops.size
    }

    #[inline(always)]
    pub(crate) fn align(&self) -> usize {
        self.loops.align
    }

    /// The logarithm of the number of elements that fill a cache line exactly;
    /// 0 if no power of two does.
    #[inline(always)]
    pub(crate) fn line(&self) -> u32 {
        self.loops.line
    }

    /// Whether partial results are wider than elements.
    #[inline(always)]
    pub(crate) fn is_wide(&self) -> bool {
        self.loops.wide.is_some()
    }

    /// For partial results, if these are wider than elements.
    #[inline(always)]
    pub(crate) fn partial_results(&self) -> Option<Kernel<'a>> {
        self.loops.wide.map(|wide| Kernel { loops: &wide.loops, ..*self })
    }

    /// Copies `n` elements.
    ///
    /// # Safety
    /// - `src` is valid for reads and `dst` for writes of `n` elements.
    /// - They do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn copy(&self, dst: *mut u8, src: *const u8, n: usize) {
        // SAFETY: by the contract above.
        unsafe { copy(dst, src, n * self.loops.size) }
    }

    /// `dst[i] = value` for `n` elements.
    ///
    /// # Safety
    /// - `value` is valid for reads of an element of the kernel's type, `dst`
    ///   for writes of `n`; they do not overlap.
    pub(crate) unsafe fn fill(&self, dst: *mut u8, value: *const u8, n: usize) {
        let (size, bytes) = (self.size(), n * self.size());
        if bytes == 0 {
            return;
        }
        // SAFETY: by the contract.
        unsafe { copy(dst, value, size) };
        let mut done = size;
        while done < bytes {
            // What is written is the source: not more of it than stays in the innermost cache.
            let more = done.min(BLOCK.max(size) / size * size).min(bytes - done);
            // SAFETY: the first `done` bytes are written, and those behind are within `dst`.
            unsafe { copy(dst.add(done), dst, more) };
            done += more;
        }
    }

    /// `(dst[i], src[i]) = (src[i], value)` for `n` elements.
    ///
    /// # Safety
    /// - As for [`fill`](Kernel::fill), and `src` is valid for reads and writes of `n` elements,
    ///   and overlaps none of the others.
    pub(crate) unsafe fn replace(&self, dst: *mut u8, src: *mut u8, value: *const u8, n: usize) {
        self.in_blocks(n, |at, n| {
            let (dst, from) = (dst.wrapping_add(at), src.wrapping_add(at));
            // SAFETY: by the contract; the first block is filled, and as long as any other.
            unsafe {
                self.copy(dst, from, n);
                match at {
                    0 => self.fill(from, value, n),
                    _ => self.copy(from, src, n),
                }
            }
        });
    }

    /// `(a[i], b[i]) = (b[i], a[i])` for `n` elements.
    ///
    /// # Safety
    /// Both are valid for reads and writes of `n` elements, and do not overlap.
    pub(crate) unsafe fn swap(&self, a: *mut u8, b: *mut u8, n: usize) {
        // Bytes that may not be written are no bytes of a number.
        let [a, b] = [a, b].map(|x| x.cast::<MaybeUninit<u8>>());
        // SAFETY: by the contract.
        unsafe { std::ptr::swap_nonoverlapping(a, b, n * self.size()) }
    }

    /// Calls `work` with the offset in bytes and the number of elements of one block after the
    /// other.
    #[inline(always)]
    fn in_blocks(&self, n: usize, mut work: impl FnMut(usize, usize)) {
        let most = BLOCK.checked_div(self.size()).map_or(n, |some| some.max(1));
        let mut done = 0;
        while done < n {
            let some = most.min(n - done);
            work(done * self.size(), some);
            done += some;
        }
    }

    /// `dst[i] = left[i] (+) right[i]` for `n` elements.
    ///
    /// # Safety
    /// - `left` and `right` are valid for reads of `n` elements of the
    ///   kernel's type, `dst` for writes, aligned for it; `left` and `right` as well, if the kernel
    ///   is a [foreign](ForeignOperator) operator's.
    /// - `dst` is `left`, or `right`, or overlaps neither.
    #[inline(always)]
    pub(crate) unsafe fn combine(&self, dst: *mut u8, left: *const u8, right: *const u8, n: usize) {
        // SAFETY: by the contract above; `op` is the operator that `combine`
        // was made for, borrowed for 'a.
        unsafe { (self.loops.combine)(self.op, dst, left, right, n) }
    }

    /// `a[i] = b[i] = a[i] (+) b[i]` for `n` elements.
    ///
    /// # Safety
    /// - `a` and `b` are valid for reads and writes of `n` elements of the
    ///   kernel's type, and aligned for it.
    /// - They do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn both(&self, a: *mut u8, b: *mut u8, n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.loops.fold)(self.op, a, b, &[a, b], n) }
    }

    /// `dst[i] = inputs[0][i] (+) .. (+) inputs[k-1][i]` for `n` elements, each read once.
    ///
    /// # Safety
    /// - There are two inputs or more, each valid for reads of `n` elements of the kernel's type,
    ///   `dst` for writes, all aligned for it.
    /// - `dst` overlaps none of them.
    #[inline(always)]
    pub(crate) unsafe fn fold(&self, dst: *mut u8, inputs: &[*mut u8], n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.loops.fold)(self.op, dst, dst, inputs, n) }
    }
}

/// See [`Kernel::line`].
const fn line(size: usize) -> u32 {
    const LINE: usize = 64;
    if size.is_power_of_two() && size < LINE { (LINE / size).ilog2() } else { 0 }
}

const NO_OPERATOR: &str = "a schedule that combines was run without an operator";

unsafe fn no_combine(_: *const (), _: *mut u8, _: *const u8, _: *const u8, _: usize) {
    unreachable!("{NO_OPERATOR}")
}

unsafe fn no_fold(_: *const (), _: *mut u8, _: *mut u8, _: &[*mut u8], _: usize) {
    unreachable!("{NO_OPERATOR}")
}

/// A loop over elements.
trait Stride {
    /// Works on the elements from `i` on of `n`, `K` at a time while there are so many. Returns the
    /// first element that is left.
    ///
    /// # Safety
    /// As each says.
    unsafe fn by<const K: usize>(&self, i: usize, n: usize, has: impl Vectors) -> usize;

    /// Elements before the first whole line of the result, if it gains by whole lines.
    #[inline(always)]
    fn head(&self) -> usize {
        0
    }
}

/// Works on `n` elements, of which partial results are those of `S`, with the vectors of the
/// machine.
///
/// # Safety
/// As [`Stride::by`].
#[inline(always)]
unsafe fn in_turns<T: Element, O, S: Accumulation<T, O>>(work: impl Stride, n: usize) {
    if const { S::IS_WIDE }
        && let Some(has) = Avx512::detected()
    {
        // SAFETY: passed on.
        return unsafe { by_size::<S::Wide>(work, n, has, true) };
    }
    // (Processors of x86-64 without AVX2 are so old that their loops are to be small.)
    //
    // SAFETY: passed on.
    unsafe {
        match Avx2::detected() {
            Some(has) => by_size::<S::Wide>(work, n, has, true),
            None => by_size::<S::Wide>(work, n, Baseline, !cfg!(target_arch = "x86_64")),
        }
    }
}

/// # Safety
/// As [`Stride::by`].
#[inline(always)]
unsafe fn by_size<W: Element>(work: impl Stride, n: usize, has: impl Vectors, many: bool) {
    has.run(
        #[inline(always)]
        // SAFETY: passed on.
        move || unsafe {
            // Four vectors of 32 bytes, then one; of large elements each alone. (The compiler makes
            // only the loop of a number that it knows.)
            match const { size_of::<W>().next_power_of_two() } {
                1 => turns::<128, 32>(work, n, has, many),
                2 => turns::<64, 16>(work, n, has, many),
                4 => turns::<32, 8>(work, n, has, many),
                8 => turns::<16, 4>(work, n, has, many),
                16 => turns::<8, 2>(work, n, has, many),
                _ => turns::<1, 1>(work, n, has, many),
            }
        },
    );
}

/// `MANY` at a time, if `many` are to be, then `FEW`, then one.
///
/// # Safety
/// As [`Stride::by`].
#[inline(always)]
unsafe fn turns<const MANY: usize, const FEW: usize>(
    work: impl Stride,
    n: usize,
    has: impl Vectors,
    many: bool,
) {
    // SAFETY: passed on.
    unsafe {
        let i = work.by::<FEW>(0, n.min(work.head()), has);
        let i = if many { work.by::<MANY>(i, n, has) } else { i };
        let i = work.by::<FEW>(i, n, has);
        work.by::<1>(i, n, has);
    }
}

/// See [`Kernel::fold`] and [`Kernel::both`]. So many elements are all read before the first is
/// written, so that the compiler makes vectors of them although an output may be an input, and stay
/// in registers while the inputs are gone through.
struct Fold<'a, T, O, S> {
    op: &'a O,
    dst: *mut u8,
    also: *mut u8,
    inputs: &'a [*mut u8],
    accumulation: PhantomData<(T, S)>,
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Stride for Fold<'_, T, O, S> {
    /// # Safety
    /// As [`Kernel::fold`] and [`Kernel::both`], but an output may be an input, and inputs need no
    /// alignment.
    #[inline(always)]
    unsafe fn by<const K: usize>(&self, mut i: usize, n: usize, has: impl Vectors) -> usize {
        let &Fold { op, dst, also, inputs, .. } = self;
        let &[first, second, ref others @ ..] = inputs else { return i };
        let at = |x: *mut u8, i: usize| x.cast::<T>().wrapping_add(i).cast::<[T; K]>();
        while n - i >= K {
            // SAFETY: all places are below `n`, by the contract valid.
            unsafe {
                let mut some = S::widen_all(at(first, i).read_unaligned(), has);
                let (mut next, mut others) = (second, others.iter());
                loop {
                    let x = S::widen_all(at(next, i).read_unaligned(), has);
                    some.iter_mut().zip(x).for_each(|(some, x)| *some = S::combine(op, *some, x));
                    let Some(&input) = others.next() else { break };
                    next = input;
                }
                let some = S::round_all(some, has);
                at(dst, i).write(some);
                if !std::ptr::eq(also, dst) {
                    at(also, i).write(some);
                }
            }
            i += K;
        }
        i
    }

    #[inline(always)]
    fn head(&self) -> usize {
        if const { S::IS_WIDE } { self.dst.align_offset(64) / size_of::<T>().max(1) } else { 0 }
    }
}

/// Combines `n` large elements, each alone. (Nothing is an array here, or a value of an iterator:
/// each would be a copy where nothing is optimised, and an element may have half of a stack.)
///
/// # Safety
/// As [`Fold`].
#[inline(always)]
unsafe fn fold_each<T: Element, O: Operator<T>>(
    op: &O,
    dst: *mut u8,
    also: *mut u8,
    inputs: &[*mut u8],
    n: usize,
) {
    let [first, others @ ..] = inputs else { return };
    for i in 0..n {
        let at = |x: *mut u8| x.cast::<T>().wrapping_add(i);
        // SAFETY: all places are below `n`, by the contract valid.
        unsafe {
            let mut one = at(*first).read_unaligned();
            for other in others {
                one = op.combine(one, at(*other).read_unaligned());
            }
            at(dst).write(one);
            if !std::ptr::eq(also, dst) {
                at(also).write(one);
            }
        }
    }
}

/// # Safety
/// As [`Kernel::combine`]; `op` points to an `O`.
unsafe fn combine<T: Element, O: Operator<T>, S: Accumulation<T, O>, const FEW: bool>(
    op: *const (),
    dst: *mut u8,
    left: *const u8,
    right: *const u8,
    n: usize,
) {
    if n == 1 && !is_disturbed::<T, O>() {
        // No loop, and none to be chosen.
        //
        // SAFETY: by the contract.
        let op = unsafe { &*op.cast::<O>() };
        // SAFETY: valid by the contract; both are read before `dst` is written.
        unsafe {
            let left = left.cast::<T>().read_unaligned();
            dst.cast::<T>().write(op.combine(left, right.cast::<T>().read_unaligned()));
        }
        return;
    }
    // SAFETY: passed on: two inputs, of which `dst` may be one.
    unsafe { fold::<T, O, S, FEW>(op, dst, dst, &[left.cast_mut(), right.cast_mut()], n) }
}

/// Not inlined: one element is combined without a frame.
///
/// # Safety
/// As [`Fold`]; `op` points to an `O`.
#[inline(never)]
unsafe fn fold<T: Element, O: Operator<T>, S: Accumulation<T, O>, const FEW: bool>(
    op: *const (),
    dst: *mut u8,
    also: *mut u8,
    inputs: &[*mut u8],
    n: usize,
) {
    if is_disturbed::<T, O>() {
        // SAFETY: passed on.
        let again = || unsafe { fold::<T, O, S, FEW>(op, dst, also, inputs, n) };
        return FloatControl::STANDARD.lend(again);
    }
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    if const { FEW || size_of::<T>() > 16 && !S::IS_WIDE } {
        return with_vectors(
            #[inline(always)]
            // SAFETY: passed on.
            || unsafe { fold_each(op, dst, also, inputs, n) },
        );
    }
    let fold = Fold::<T, O, S> { op, dst, also, inputs, accumulation: PhantomData };
    // SAFETY: passed on.
    unsafe { in_turns::<T, O, S>(fold, n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;

    /// Every loop gives, for every element, the bits that the operator gives for
    /// it alone, whatever instructions it was compiled to and wherever in a
    /// vector the element is. (`cargo test --release` tests the vectors.)
    fn check<T: Element, O: Operator<T>>(op: &O, value: impl Fn(usize) -> T, bits: fn(T) -> u128) {
        let kernel = Kernel::combiner::<T, O>(op);
        for n in [0, 1, 2, 3, 7, 8, 31, 33, 64, 100] {
            let vector = |j: usize| (0..n).map(|i| value(i * 7 + j * 13)).collect::<Vec<T>>();
            let same = |got: &[T], wanted: &dyn Fn(usize) -> T, what: &str| {
                for (i, &x) in got.iter().enumerate() {
                    assert_eq!(bits(x), bits(wanted(i)), "{} {what}, {i} of {n}", O::NAME);
                }
            };
            let (x, y) = (vector(0), vector(1));
            let one = |i: usize| op.combine(x[i], y[i]);
            let at = |v: &[T]| v.as_ptr().cast::<u8>();
            let (mut a, mut b, mut z) = (x.clone(), y.clone(), x.clone());
            // SAFETY: vectors of n elements of type T, which do not overlap but
            // where the kernel allows it.
            unsafe {
                kernel.combine(z.as_mut_ptr().cast(), at(&x), at(&y), n);
                same(&z, &one, "apart");
                let p = a.as_mut_ptr().cast();
                kernel.combine(p, p, at(&y), n);
                same(&a, &one, "onto left");
                let p = b.as_mut_ptr().cast();
                kernel.combine(p, at(&x), p, n);
                same(&b, &one, "onto right");
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.both(a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), n);
                same(&a, &one, "both");
                same(&b, &one, "both");
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.swap(a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), n);
                same(&a, &|i| y[i], "swap");
                same(&b, &|i| x[i], "swap");
                let five = value(5);
                kernel.fill(b.as_mut_ptr().cast(), (&raw const five).cast(), n);
                same(&b, &|_| value(5), "fill");
                let (mut a, mut b) = (x.clone(), y.clone());
                let (to, from) = (a.as_mut_ptr().cast(), b.as_mut_ptr().cast());
                kernel.replace(to, from, (&raw const five).cast(), n);
                same(&a, &|i| y[i], "taken");
                same(&b, &|_| value(5), "replaced");
                for k in 2..=MOST_INPUTS {
                    let mut all: Vec<Vec<T>> = (0..k).map(vector).collect();
                    let inputs: Vec<*mut u8> =
                        all.iter_mut().map(|v| v.as_mut_ptr().cast()).collect();
                    kernel.fold(z.as_mut_ptr().cast(), &inputs, n);
                    let fold =
                        |i: usize| all[1..].iter().fold(all[0][i], |sum, v| op.combine(sum, v[i]));
                    same(&z, &fold, "fold");
                }
            }
        }
    }

    #[test]
    fn loops_are_element_by_element() {
        let odd = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, -1.0];
        let float = |i: usize| odd.get(i % 11).copied().unwrap_or(i as f64 / 3.0 - 9.0);
        // Which NaN an addition of two gives is left open.
        let bits = |x: f64| u128::from(if x.is_nan() { 1 } else { x.to_bits() });
        check(&op::Sum, float, bits);
        check(&op::Prod, float, bits);
        check(&op::Min, float, |x| x.to_bits().into());
        check(&op::Max, float, |x| x.to_bits().into());
        let single = |i: usize| float(i) as f32;
        let bits = |x: f32| u128::from(if x.is_nan() { 1 } else { x.to_bits() });
        check(&op::Sum, single, bits);
        check(&op::Min, single, |x| x.to_bits().into());
        check(&op::ordered(|a: f32, b: f32| a * 0.5 + b), single, bits);
        let word = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        check(&op::Sum, word, u128::from);
        check(&op::Prod, word, u128::from);
        check(&op::Max, |i| word(i) as i8, |x| x as u8 as u128);
        check(&op::Xor, |i| word(i) as u16 % 3, u128::from);
        check(&op::And, |i| !word(i).is_multiple_of(3), u128::from);
        check(&op::Sum, |i| word(i) as u128, |x| x);
        check(
            &op::MinLoc,
            |i| (float(i) as f32, i),
            |(x, i)| u128::from(x.to_bits()) << 64 | i as u128,
        );
        let compose = |f: (u64, u64), g: (u64, u64)| {
            (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
        };
        let pair = |(a, b): (u64, u64)| u128::from(a) << 64 | u128::from(b);
        check(&op::ordered(compose), |i| (word(i), word(i + 1)), pair);
    }

    /// All halves and a few others, by whatever instructions the processor has; the order puts
    /// numbers that a conversion leaves to others beside those that it does not.
    #[cfg(feature = "half")]
    fn check_halves<T: Element, O: Operator<T>>(op: &O, of: fn(u16) -> T, bits: fn(T) -> u16) {
        fn by<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
            (op, _): (&O, S),
            (x, skip): ([&[T]; 2], usize),
            has: impl Vectors,
        ) -> Vec<T> {
            let mut z = [&vec![x[0][0]; skip], x[0]].concat();
            let inputs = &x.map(|x| x.as_ptr().cast_mut().cast());
            let dst = z[skip..].as_mut_ptr().cast();
            let also = dst;
            let fold = Fold::<T, O, S> { op, dst, also, inputs, accumulation: PhantomData };
            // SAFETY: vectors of so many elements, which do not overlap.
            unsafe { by_size::<S::Wide>(fold, x[0].len(), has, true) };
            z.split_off(skip)
        }
        let all: Vec<T> = (0..=u16::MAX).map(|i| of(i.wrapping_mul(40_503))).collect();
        // 0, subnormal and normal numbers, infinity, NaN.
        for x in [0, 1, 0x7f, 0x80, 0x3ff, 0x400, 0x3bff, 0x3f81, 0x7bff, 0x7c00, 0x7f80, 0x7fff] {
            for x in [of(x), of(x | 1 << 15)] {
                let wanted: Vec<u16> = all.iter().map(|&y| bits(op.combine(x, y))).collect();
                let same = vec![x; all.len()];
                // Whole lines, and results that begin anywhere in one.
                for (n, skip) in [(1, 1), (7, 8), (24, 7), (33, 31), (100, 24), (all.len(), 0)] {
                    let check = |got: Vec<T>| {
                        let is_right = got.into_iter().map(bits).eq(wanted[..n].iter().copied());
                        assert!(is_right, "{} {n} {skip}", bits(x));
                    };
                    let both = ([&same[..n], &all[..n]], skip);
                    check(by((op, O::accumulation()), both, Baseline));
                    Avx2::detected().inspect(|has| check(by((op, O::accumulation()), both, *has)));
                    Avx512::detected()
                        .inspect(|has| check(by((op, O::accumulation()), both, *has)));
                }
            }
        }
    }

    #[test]
    #[cfg(feature = "half")]
    fn halves_are_rounded_alike_by_all_instructions() {
        use half::{bf16, f16};
        check_halves(&op::Sum, bf16::from_bits, bf16::to_bits);
        check_halves(&op::Prod, bf16::from_bits, bf16::to_bits);
        check_halves(&op::Sum, f16::from_bits, f16::to_bits);
        check_halves(&op::Prod, f16::from_bits, f16::to_bits);
    }
}
