//! Loops for pairs of element and operator whose partial results are wider than elements, so that
//! each result is rounded once, however many operands it has.
//!
//! Where a rank has all operands before it, it folds them in registers, in whatever order the
//! algorithm says. Where partial results go from rank to rank, a call is carried out on vectors of
//! these: it widens its operands first, and rounds its result at the end
//! ([`Kernel::partial_results`]).

use super::{BLOCK, Kernel, Loops, Stride, fold, in_turns, pair, with_vectors};
use crate::element::Element;
use crate::op::{Accumulating, Accumulation, AsElements, Operator, Vectors};
use crate::schedule::Doubling;
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
type Prefixes = unsafe fn(op: *const (), all: &[*mut u8], at: usize, n: usize, is_exclusive: bool);

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
        true => &Loops::of::<T, O, S>(both::<T, O, S>, Some(Self::WIDE)),
        false => &Loops::of::<T, O, S>(pair::<T, O, false>, None),
    };

    const WIDE: &'static Wide = &Wide {
        loops: OfPartials::<T, O, S>::LOOPS,
        widen: widen::<T, O, S>,
        round: round::<T, O, S>,
        by_tree: by_tree::<T, O, S>,
        prefixes: prefixes::<T, O, S>,
    };
}

/// That of the partial results, which are elements of a pair of their own: the operator on them is
/// in memory what the operator on elements is.
struct OfPartials<T, O, S>(PhantomData<(T, O, S)>);

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> OfPartials<T, O, S> {
    const LOOPS: Loops = Loops::of::<S::Wide, Accumulating<T, O, S>, AsElements>(
        pair::<S::Wide, Accumulating<T, O, S>, false>,
        None,
    );
}

/// In which order the operands of a reduction are combined.
#[derive(Clone, Copy)]
pub(crate) enum OperandTree {
    /// As by recursive doubling.
    Doubling(Doubling),
    /// As [`by_levels`](crate::order::by_levels) of so many operands, the first ones.
    Levels(usize),
}

impl OperandTree {
    /// Operands of it.
    fn operands(self, all: usize) -> usize {
        match self {
            OperandTree::Doubling(_) => all,
            OperandTree::Levels(n) => n,
        }
    }

    /// What the tree makes of `leaf(operand)`, of at least one. `join` has the number of partial
    /// results on the left that are kept meanwhile: what is kept under that number is kept until
    /// the next join of this number or a smaller one.
    #[inline(always)]
    pub(crate) fn walk<V: Copy>(
        self,
        mut leaf: impl FnMut(usize) -> V,
        mut join: impl FnMut(usize, V, V) -> V,
    ) -> V {
        // Neighbours are joined, then neighbours of these, as far as they go; the rest at the end.
        const DEPTH: usize = usize::BITS as usize + 1;
        let mut kept = [const { MaybeUninit::<V>::uninit() }; DEPTH];
        let mut depth = 0;
        let groups = match self {
            OperandTree::Doubling(doubling) => doubling.active(),
            OperandTree::Levels(n) => n,
        };
        for id in 0..groups {
            let mut value = match self {
                OperandTree::Levels(_) => leaf(id),
                OperandTree::Doubling(doubling) => match doubling.folded(id) {
                    (None, rank) => leaf(rank),
                    (Some(neighbour), rank) => {
                        let (left, right) = (leaf(neighbour), leaf(rank));
                        join(depth, left, right)
                    }
                },
            };
            let joins = if id + 1 == groups { depth as u32 } else { (id + 1).trailing_zeros() };
            for _ in 0..joins {
                depth -= 1;
                // SAFETY: the places below the depth are written.
                value = join(depth, unsafe { kept[depth].assume_init() }, value);
            }
            kept[depth].write(value);
            depth += 1;
        }
        // SAFETY: there is an operand, and all have been joined.
        unsafe { kept[0].assume_init() }
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

    /// `dst[i]` is what the tree makes of `inputs[..][i]`, for `n` elements, rounded once; input
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
        if tree.operands(inputs.len()) == 1 {
            let only = inputs[0].wrapping_add(at);
            if !std::ptr::eq(dst, only) {
                // SAFETY: by the contract.
                unsafe { self.copy(dst, only, n) };
            }
            return;
        }
        // SAFETY: by the contract.
        unsafe { (self.wide().by_tree)(self.op, dst, inputs, at, n, tree) }
    }

    /// Makes of `n` elements of each vector those of the vectors before it, and of its own unless
    /// that is exclusive; those of the first stay. Vector `j` begins `at` bytes after `all[j]`.
    ///
    /// # Safety
    /// - [`is_wide`](Kernel::is_wide).
    /// - There is a vector. Each is valid for reads and writes of `n` elements of the kernel's type
    ///   from `at` on, and aligned. They do not overlap.
    pub(crate) unsafe fn prefixes(&self, all: &[*mut u8], at: usize, n: usize, is_exclusive: bool) {
        // SAFETY: by the contract.
        unsafe { (self.wide().prefixes)(self.op, all, at, n, is_exclusive) }
    }
}

/// # Safety
/// As [`Kernel::both`]; `op` points to an `O`.
unsafe fn both<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
    op: *const (),
    a: *mut u8,
    b: *mut u8,
    n: usize,
) {
    let size = size_of::<T>();
    let most = BLOCK.checked_div(size).map_or(n, |some| some.max(1));
    for done in (0..n).step_by(most.max(1)) {
        let (a, b) = (a.wrapping_add(done * size), b.wrapping_add(done * size));
        let n = most.min(n - done);
        // SAFETY: by the contract.
        unsafe {
            fold::<T, O, S>(op, a, &[a, b], 0, n);
            super::copy(b, a, n * size);
        }
    }
}

/// # Safety
/// As [`Kernel::widen`].
unsafe fn widen<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
) {
    // SAFETY: by the contract.
    let to = unsafe { from_raw_parts_mut(dst.cast::<MaybeUninit<S::Wide>>(), n) };
    // SAFETY: by the contract.
    let from = unsafe { from_raw_parts(src.cast::<T>(), n) };
    with_vectors(
        #[inline(always)]
        move || {
            for (to, from) in to.iter_mut().zip(from) {
                to.write(S::widen(*from));
            }
        },
    );
}

/// # Safety
/// As [`Kernel::round`].
unsafe fn round<T: Element, O: Operator<T>, S: Accumulation<T, O>>(
    dst: *mut u8,
    src: *const u8,
    n: usize,
) {
    // SAFETY: by the contract.
    let to = unsafe { from_raw_parts_mut(dst.cast::<MaybeUninit<T>>(), n) };
    // SAFETY: by the contract.
    let from = unsafe { from_raw_parts(src.cast::<S::Wide>(), n) };
    with_vectors(
        #[inline(always)]
        move || {
            for (to, from) in to.iter_mut().zip(from) {
                to.write(S::round(*from));
            }
        },
    );
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
            let all = tree.walk(
                #[inline(always)]
                |j: usize| {
                    let from = inputs[j].wrapping_add(at).cast::<T>().wrapping_add(i);
                    // SAFETY: all places are below `n`, by the contract valid.
                    S::widen_all(unsafe { from.cast::<[T; K]>().read_unaligned() }, has)
                },
                #[inline(always)]
                |_, mut left: [S::Wide; K], right: [S::Wide; K]| {
                    left.iter_mut().zip(right).for_each(|(x, y)| *x = S::combine(op, *x, y));
                    left
                },
            );
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
    // SAFETY: by the contract.
    let (op, dst) = (unsafe { &*op.cast::<O>() }, dst.cast::<T>());
    let fold = FoldByTree::<T, O, S> { op, dst, inputs, at, tree, accumulation: PhantomData };
    // SAFETY: passed on.
    unsafe { in_turns::<S::Wide>(fold, n) }
}

struct Prefix<'a, T, O, S> {
    op: &'a O,
    all: &'a [*mut u8],
    at: usize,
    is_exclusive: bool,
    accumulation: PhantomData<(T, S)>,
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Stride for Prefix<'_, T, O, S> {
    /// # Safety
    /// As [`Kernel::prefixes`].
    #[inline(always)]
    unsafe fn by<const K: usize>(&self, mut i: usize, n: usize, has: impl Vectors) -> usize {
        let &Prefix { op, all, at, is_exclusive, .. } = self;
        let &[first, ref others @ ..] = all else { return n };
        while n - i >= K {
            let of = |x: *mut u8| x.wrapping_add(at).cast::<T>().wrapping_add(i).cast::<[T; K]>();
            // SAFETY: all places are below `n`, by the contract valid.
            let mut before = unsafe { of(first).read() };
            let mut sum = S::widen_all(before, has);
            for &x in others {
                // SAFETY: as above.
                let own = unsafe { of(x).read() };
                let wide = S::widen_all(own, has);
                sum.iter_mut().zip(wide).for_each(|(sum, x)| *sum = S::combine(op, *sum, x));
                let with_own = S::round_all(sum, has);
                // SAFETY: as above.
                unsafe { of(x).write(if is_exclusive { before } else { with_own }) };
                before = with_own;
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
    all: &[*mut u8],
    at: usize,
    n: usize,
    is_exclusive: bool,
) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    let prefix = Prefix::<T, O, S> { op, all, at, is_exclusive, accumulation: PhantomData };
    // SAFETY: passed on.
    unsafe { in_turns::<S::Wide>(prefix, n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::by_tree;
    use std::cell::RefCell;

    /// The tree in words.
    fn walked(tree: OperandTree) -> String {
        let words = RefCell::new(vec![]);
        let note = |word: String| {
            words.borrow_mut().push(word);
            words.borrow().len() - 1
        };
        let word = |at: usize| words.borrow()[at].clone();
        let (leaf, join) = (
            |rank: usize| note(rank.to_string()),
            |_, a, b| note(format!("({} {})", word(a), word(b))),
        );
        word(tree.walk(leaf, join))
    }

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
    fn trees_are_those_of_the_messages_and_of_the_fixed_order() {
        for p in 1..=33 {
            let doubling = OperandTree::Doubling(Doubling::of(p));
            assert_eq!(walked(doubling), by_messages(p), "p = {p}");
            let (leaf, join) = (&mut |r: usize| r.to_string(), &mut |a, b| format!("({a} {b})"));
            assert_eq!(walked(OperandTree::Levels(p)), by_tree(0, p, leaf, join), "p = {p}");
        }
    }
}
