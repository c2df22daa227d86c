//! The peer of plain threads: `std::thread::scope`, `std::sync::Barrier`, and words that they
//! share.

use super::spmd::{Shown, Spmd};
use phalanx::Element;
use std::marker::PhantomData;
use std::sync::Barrier;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Numbers that a sum can have.
const WIDTH: usize = 16;

/// The memory that one thread shows to the others. The barrier orders all accesses.
#[derive(Default)]
#[repr(align(128))]
struct Desk {
    at: AtomicPtr<()>,
    len: AtomicUsize,
    /// Twice, for sums in turn: a fast thread may write its next operands while a slow one still
    /// reads.
    operands: [[AtomicU64; WIDTH]; 2],
}

struct Shared {
    barrier: Barrier,
    desks: Vec<Desk>,
}

/// A thread's hold on the others.
pub(crate) struct Thread<'a> {
    shared: &'a Shared,
    rank: usize,
    turn: usize,
}

/// Runs `f` on `size` threads, of which the caller is one; returns the results of all.
pub(crate) fn run<R: Send>(size: usize, f: impl Fn(&mut Thread<'_>) -> R + Sync) -> Vec<R> {
    let shared = &Shared {
        barrier: Barrier::new(size),
        desks: (0..size).map(|_| Desk::default()).collect(),
    };
    let f = &f;
    std::thread::scope(|s| {
        let others: Vec<_> = (1..size)
            .map(|rank| s.spawn(move || f(&mut Thread { shared, rank, turn: 0 })))
            .collect();
        let mine = f(&mut Thread { shared, rank: 0, turn: 0 });
        let others = others.into_iter().map(|t| t.join().expect("a kernel does not panic"));
        std::iter::once(mine).chain(others).collect()
    })
}

struct View<'a, T> {
    desks: &'a [Desk],
    _slices: PhantomData<&'a [T]>,
}

impl<T: Element> Shown<T> for View<'_, T> {
    fn of(&self, rank: usize) -> &[T] {
        let desk = &self.desks[rank];
        // SAFETY: the owner showed a slice of T (all threads run the same kernel) before the first
        // barrier of `with_peers`, and keeps it until the second, which is after this view.
        unsafe { std::slice::from_raw_parts(desk.at.load(Relaxed).cast(), desk.len.load(Relaxed)) }
    }
}

impl Spmd for Thread<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.desks.len()
    }

    fn barrier(&mut self) {
        self.shared.barrier.wait();
    }

    fn sum<const N: usize>(&mut self, x: [f64; N]) -> [f64; N] {
        const { assert!(N <= WIDTH) };
        self.turn = 1 - self.turn;
        let Shared { barrier, desks } = self.shared;
        for (word, x) in desks[self.rank].operands[self.turn].iter().zip(x) {
            word.store(x.to_bits(), Relaxed);
        }
        barrier.wait();
        let of = |desk: &Desk, i: usize| f64::from_bits(desk.operands[self.turn][i].load(Relaxed));
        std::array::from_fn(|i| desks.iter().map(|desk| of(desk, i)).sum())
    }

    fn with_peers<T: Element, R>(&mut self, mine: &[T], f: impl FnOnce(&dyn Shown<T>) -> R) -> R {
        let Shared { barrier, desks } = self.shared;
        let desk = &desks[self.rank];
        desk.at.store(mine.as_ptr().cast_mut().cast(), Relaxed);
        desk.len.store(mine.len(), Relaxed);
        barrier.wait();
        let result = f(&View { desks, _slices: PhantomData });
        barrier.wait();
        result
    }
}
