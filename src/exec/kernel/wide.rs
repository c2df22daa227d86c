//! Loops for pairs of element and operator with partial results wider than elements, so that
//! each result is rounded once, however many operands it has.
//!
//! Where a rank has all operands before it, it folds them in registers, in whatever order the
//! algorithm says. Where partial results go from rank to rank, a call is carried out on vectors of
//! these: it widens its operands first, and rounds its result at the end
//! ([`Kernel::partial_results`]).

use super::{Kernel, Loops, Stride, in_turns};
use crate::element::Element;
use crate::op::float_control::FloatControl;
use crate::op::{Accumulating, Accumulation, AsElements, Operator, Vectors};
use crate::op::{is_disturbed, with_vectors};
use crate::order::by_levels;
use crate::schedule::Doubling;
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// `dst[i] = src[i]` for `n` elements, of which one is wide.
type Convert = unsafe fn(dst: *mut u8, src: *const u8, n: usize);
/// See [`Kernel::by_tree`].
type ByTree = unsafe fn(
    op: *const (),
    dst: *mut u8,
    inputs: &[*mut u8],
    at: usize,
    n: usize,
    tree: OperandTree,
);
/// See [`Kernel::prefixes`].
type Prefixes = unsafe fn(op: *const (), lists: (&[*mut u8], &[*mut u8]), at: usize, n: usize);

/// That of a type and an operator's type.
pub(super) struct Wide {
    /// Those of partial results.
    pub(super) loops: Loops,
    widen: Convert,
    round: Convert,
    by_tree: ByTree,
    prefixes: Prefixes,
}

/// The loops of a pair.
#[inline(always)]
pub(super) fn loops<T: Element, O: Operator<T>, S: Accumulation<T, O>>(_: S) -> &'static Loops {
    PairLoops::<T, O, S>::LOOPS
}

struct PairLoops<T, O, S>(PhantomData<(T, O, S)>);

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> PairLoops<T, O, S> {
    const LOOPS: &'static Loops = match S::IS_WIDE {
        true => &Loops::of::<T, O, S, false>(Some(Self::WIDE)),
        false => &Loops::of::<T, O, S, false>(None),
    };

    // The operator on partial results is in memory the operator on elements.
    const WIDE: &'static Wide = &Wide {
        loops: Loops::of::<S::Wide, Accumulating<T, O, S>, AsElements, false>(None),
        // SAFETY: passed on.
        widen: |dst, src, n| unsafe { convert(dst, src, n, |x| S::widen(*x)) },
        // SAFETY: as above.
        round: |dst, src, n| unsafe { convert(dst, src, n, |x| S::round(*x)) },
        by_tree: by_tree::<T, O, S>,
        prefixes: prefixes::<T, O, S>,
    };
}

/// In which order the ranks' operands are combined: so many pairs of neighbours, the first ones,
/// each to a leaf; then the leaves by the tree of [`by_levels`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperandTree {
    folded: usize,
    leaves: usize,
}

impl OperandTree {
    /// Recursive doubling of `p` operands.
    pub(crate) fn doubling(p: usize) -> Self {
        let leaves = Doubling::of(p).active();
        OperandTree { folded: p - leaves, leaves }
    }

    /// The tree of [`by_levels`] of so many operands, the first ones.
    pub(crate) fn levels(n: usize) -> Self {
        OperandTree { folded: 0, leaves: n }
    }

    /// The tree's result of `operand(rank)`, of one at least, with cells and levels as in
    /// [`by_levels`]; the cells may be those that `operand` reads: no result waits in a cell behind
    /// the operands that are left.
    #[inline(always)]
    pub(crate) fn combine<V: Copy>(
        self,
        waiting: &[Cell<V>],
        operand: impl Fn(usize) -> V,
        join: impl Fn(usize, V, V) -> V,
    ) -> V {
        let OperandTree { folded, leaves } = self;
        by_levels(
            leaves,
            waiting,
            #[inline(always)]
            |level, i| match i < folded {
                true => join(level, operand(2 * i), operand(2 * i + 1)),
                false => operand(i + folded),
            },
            &join,
        )
    }
}

impl Kernel<'_> {
    #[inline(always)]
    fn wide(&self) -> &'static Wide {
        self.loops.wide.expect("elements with wider partial results")
    }

    /// `dst[i] = src[i]` for `n` elements, which become partial results.
    ///
    /// # Safety
    /// - [`is_wide`](Kernel::is_wide).
    /// - `src` is valid for reads of `n` elements, `dst` for writes of `n` partial results; both
    ///   are aligned, and do not overlap.
    pub(crate) unsafe fn widen(&self, dst: *mut u8, src: *const u8, n: usize) {
        // SAFETY: by the contract.
        unsafe { (self.wide().widen)(dst, src, n) }
    }

    /// `dst[i] = src[i]` for `n` partial results, which become elements.
    ///
    /// # Safety
    /// As [`widen`](Kernel::widen), with elements at `dst` and partial results at `src`.
    pub(crate) unsafe fn round(&self, dst: *mut u8, src: *const u8, n: usize) {
        // SAFETY: by the contract.
        unsafe { (self.wide().round)(dst, src, n) }
    }

    /// `dst[i]` is the tree's result of `inputs[..][i]`, for `n` elements, rounded once; input
    /// `j` begins `at` bytes after `inputs[j]`. A single operand is the result.
    ///
    /// # Safety
    /// - [`is_wide`](Kernel::is_wide).
    /// - All operands of the tree are inputs, valid for reads of `n` elements of the kernel's type
    ///   from `at` on, in any alignment; `dst` is valid for writes, and aligned.
    /// - `dst` is an input, `at` bytes on, or overlaps none.
    pub(crate) unsafe fn by_tree(
        &self,
        dst: *mut u8,
        inputs: &[*mut u8],
        at: usize,
        n: usize,
        tree: OperandTree,
    ) {
        if tree.leaves == 1 {
            let only = inputs[0].wrapping_add(at);
            if !std::ptr::eq(dst, only) {
                // SAFETY: by the contract.
                unsafe { self.copy(dst, only, n) };
            }
            return;
        }
        if tree == OperandTree::levels(2) {
            // None waits.
            let both = [inputs[0].wrapping_add(at), inputs[1].wrapping_add(at)];
            // SAFETY: by the contract.
            return unsafe { (self.loops.fold)(self.op, dst, dst, &both, n) };
        }
        // SAFETY: by the contract.
        unsafe { (self.wide().by_tree)(self.op, dst, inputs, at, n, tree) }
    }

    /// The results of the first one, two .. of the vectors `from`, combined from the left: the last
    /// ones of them, as many as there are vectors in `to`, go there, each rounded once. That of one
    /// vector is its elements. There are `n` elements, `at` bytes behind the addresses.
    ///
    /// # Safety
    /// - [`is_wide`](Kernel::is_wide).
    /// - There are no more vectors in `to`. They are valid, `from` for reads, in
    ///   any alignment, and `to` for writes, aligned.
    /// - Where a result goes, there is its last operand, or the one behind that, or none.
    pub(crate) unsafe fn prefixes(&self, lists: (&[*mut u8], &[*mut u8]), at: usize, n: usize) {
        // SAFETY: by the contract.
        unsafe { (self.wide().prefixes)(self.op, lists, at, n) }
    }
}

/// # Safety
/// As [`Kernel::widen`], of `X` and `Y`.
#[inline(always)]
unsafe fn convert<X, Y>(dst: *mut u8, src: *const u8, n: usize, to: impl Fn(&X) -> Y) {
    // SAFETY: by the contract.
    let all = unsafe { from_raw_parts_mut(dst.cast::<MaybeUninit<Y>>(), n) };
    // SAFETY: by the contract.
    let from = unsafe { from_raw_parts(src.cast::<X>(), n) };
    FloatControl::STANDARD.during(|| {
        with_vectors(
            #[inline(always)]
            move || {
                for (y, x) in all.iter_mut().zip(from) {
                    y.write(to(x));
                }
            },
        );
    });
}

struct FoldByTree<'a, T, O, S> {
    op: &'a O,
    dst: *mut T,
    inputs: &'a [*mut u8],
    at: usize,
    tree: OperandTree,
    accumulation: PhantomData<S>,
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Stride for FoldByTree<'_, T, O, S> {
    /// # Safety
    /// As [`Kernel::by_tree`].
    #[inline(always)]
    unsafe fn by<const K: usize>(&self, mut i: usize, n: usize, has: impl Vectors) -> usize {
        let &FoldByTree { op, dst, inputs, at, tree, .. } = self;
        while n - i >= K {
            // What is read just after it was written is not to be in two lines.
            let waiting = [const { Cell::new(MaybeUninit::uninit()) }; usize::BITS as usize];
            let waiting = CachePadded::new(waiting);
            let all = tree.combine(
                &waiting[..],
                #[inline(always)]
                |j: usize| {
                    let from = inputs[j].wrapping_add(at).cast::<T>().wrapping_add(i);
                    // SAFETY: all places are below `n`, by the contract valid.
                    let x = unsafe { from.cast::<[T; K]>().read_unaligned() };
                    MaybeUninit::new(S::widen_all(x, has))
                },
                #[inline(always)]
                |_, left: MaybeUninit<[S::Wide; K]>, right: MaybeUninit<[S::Wide; K]>| {
                    // SAFETY: operands, or results of this.
                    let (mut left, right) = unsafe { (left.assume_init(), right.assume_init()) };
                    left.iter_mut().zip(right).for_each(|(x, y)| *x = S::combine(op, *x, y));
                    MaybeUninit::new(left)
                },
            );
            // SAFETY: as above.
            let all = unsafe { all.assume_init() };
            // SAFETY: as above.
            unsafe { dst.add(i).cast::<[T; K]>().write(S::round_all(all, has)) };
            i += K;
        }
        i
    }
}

/// # Safety
/// As [`Kernel::by_tree`]; `op` points to an `O`.
unsafe fn by_tree<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
    op: *const (),
    dst: *mut u8,
    inputs: &[*mut u8],
    at: usize,
    n: usize,
    tree: OperandTree,
) {
    if is_disturbed::<T, O>() {
        // SAFETY: passed on.
        let again = || unsafe { by_tree::<T, O, S>(op, dst, inputs, at, n, tree) };
        return FloatControl::STANDARD.lend(again);
    }
    // SAFETY: by the contract.
    let (op, dst) = (unsafe { &*op.cast::<O>() }, dst.cast::<T>());
    let fold = FoldByTree::<T, O, S> { op, dst, inputs, at, tree, accumulation: PhantomData };
    // SAFETY: passed on.
    unsafe { in_turns::<T, O, S>(fold, n) }
}

struct Prefix<'a, T, O, S> {
    op: &'a O,
    from: &'a [*mut u8],
    to: &'a [*mut u8],
    at: usize,
    accumulation: PhantomData<(T, S)>,
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Stride for Prefix<'_, T, O, S> {
    /// # Safety
    /// As [`Kernel::prefixes`].
    #[inline(always)]
    unsafe fn by<const K: usize>(&self, mut i: usize, n: usize, has: impl Vectors) -> usize {
        let &Prefix { op, from, to, at, .. } = self;
        let &[first, ref others @ ..] = from else { return n };
        let skipped = from.len() - to.len();
        while n - i >= K {
            let of = |x: *mut u8| x.wrapping_add(at).cast::<T>().wrapping_add(i).cast::<[T; K]>();
            // SAFETY: all places are below `n`, by the contract valid.
            let mut result = unsafe { of(first).read_unaligned() };
            let mut sum = S::widen_all(result, has);
            for (r, &x) in others.iter().enumerate() {
                // SAFETY: as above. Read before it is written: a result may go there.
                unsafe {
                    let x = S::widen_all(of(x).read_unaligned(), has);
                    if r >= skipped {
                        of(to[r - skipped]).write(result);
                    }
                    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum = S::combine(op, *sum, x));
                }
                if r + 1 >= skipped {
                    result = S::round_all(sum, has);
                }
            }
            if let Some(&last) = to.last() {
                // SAFETY: as above.
                unsafe { of(last).write(result) };
            }
            i += K;
        }
        i
    }
}

/// # Safety
/// As [`Kernel::prefixes`]; `op` points to an `O`.
unsafe fn prefixes<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
    op: *const (),
    (from, to): (&[*mut u8], &[*mut u8]),
    at: usize,
    n: usize,
) {
    if is_disturbed::<T, O>() {
        // SAFETY: passed on.
        let again = || unsafe { prefixes::<T, O, S>(op, (from, to), at, n) };
        return FloatControl::STANDARD.lend(again);
    }
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    let prefix = Prefix::<T, O, S> { op, from, to, at, accumulation: PhantomData };
    // SAFETY: passed on.
    unsafe { in_turns::<T, O, S>(prefix, n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// The order in which recursive doubling combines, message by message.
    fn by_messages(p: usize) -> String {
        let doubling = Doubling::of(p);
        let mut at: Vec<String> = (0..p).map(|r| r.to_string()).collect();
        for step in 0..doubling.steps() {
            let before = at.clone();
            for (rank, own) in at.iter_mut().enumerate() {
                match doubling.step(step, rank).recv {
                    None => {}
                    Some((from, true)) => own.clone_from(&before[from]),
                    Some((from, false)) => {
                        let (low, high) = (from.min(rank), from.max(rank));
                        *own = format!("({} {})", before[low], before[high]);
                    }
                }
            }
        }
        assert!(at.iter().all(|x| *x == at[0]), "{at:?}");
        at.swap_remove(0)
    }

    #[test]
    fn both_ways_combine_in_one_order() {
        for p in 1..=33 {
            let values: Vec<_> = (0..p).map(|r| Cell::new(&*r.to_string().leak())).collect();
            let join = |_, a, b| &*format!("({a} {b})").leak();
            let once = OperandTree::doubling(p).combine(&values, |r| values[r].get(), join);
            assert_eq!(once, by_messages(p), "p = {p}");
        }
    }
}
