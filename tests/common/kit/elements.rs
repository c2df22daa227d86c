//! Element types and their operators, and the sequential oracle of a vector.
//!
//! Data repeat after [`PERIOD`] elements, so that the oracle of a long vector is
//! cheap, and every element of it can still be compared.

use super::dice::mix;
use super::one_call::{Buffers, OneCall};
use super::run::RunNotes;
use super::started::StartedCalls;
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element, call};
use std::fmt::Debug;
use std::ops::{Deref, DerefMut, Range};

/// A prime, so that no block of a usual length lies at a multiple of it.
const PERIOD: usize = 4093;

/// The work of a rank's operators and views beside their work: some panic.
pub(crate) type Tick<'a> = &'a dyn Fn();

/// A reduction, with the buffers that it needs.
pub(crate) enum Reduction<'a, T> {
    /// Any collective, which may combine.
    Of(&'a OneCall, (&'a [T], &'a mut [T])),
    AllReduceWhile(&'a mut [T], Tick<'a>),
    Whole(&'a [T], usize, &'a mut Option<T>),
    /// One to four calls in a scope.
    Started(&'a mut StartedCalls<T>),
}

impl<T: Element> Reduction<'_, T> {
    pub(crate) fn call(self, comm: &mut Comm, op: impl Operator<T>) {
        match self {
            Reduction::Of(it, buffers) => it.make(comm, op, buffers),
            Reduction::AllReduceWhile(x, work) => comm.overlap(call::all_reduce(x, op), work).1,
            Reduction::Whole(mine, offset, result) => *result = comm.fixed_reduce(mine, op, offset),
            Reduction::Started(calls) => calls.run(comm, &op),
        }
    }
}

/// An element of random programs.
pub(crate) trait Thing: Element + PartialEq + Debug {
    /// Its operators are numbered from 0.
    const OPERATORS: usize;

    /// The value that stands for `hash`.
    fn make(hash: u64) -> Self;

    /// The result of operator `which` for two.
    fn fold(which: usize, left: Self, right: Self) -> Self;

    /// The identity that the library has of operator `which`.
    fn identity(which: usize) -> Option<Self>;

    /// Whether operator `which` is commutative.
    fn is_commutative(which: usize) -> bool;

    /// Calls the library with operator `which`.
    fn reduce(comm: &mut Comm, which: usize, call: Reduction<'_, Self>, tick: Tick<'_>);
}

/// A type's operators: the library's, and closures over `fold`.
macro_rules! thing {
    ($t:ty, $make:expr, { $($which:literal $kind:ident $op:expr;)* }) => {
        impl Thing for $t {
            const OPERATORS: usize = [$($which),*].len();

            fn make(hash: u64) -> Self {
                let make: fn(u64) -> Self = $make;
                make(hash)
            }

            fn fold(which: usize, left: Self, right: Self) -> Self {
                match which {
                    $($which => thing!(@fold $kind $op, left, right),)*
                    _ => unreachable!("no operator {which}"),
                }
            }

            fn identity(which: usize) -> Option<Self> {
                match which {
                    $($which => thing!(@identity $kind $op),)*
                    _ => unreachable!("no operator {which}"),
                }
            }

            fn is_commutative(which: usize) -> bool {
                match which {
                    $($which => thing!(@commutes $kind),)*
                    _ => unreachable!("no operator {which}"),
                }
            }

            fn reduce(comm: &mut Comm, which: usize, call: Reduction<'_, Self>, tick: Tick<'_>) {
                match which {
                    $($which => thing!(@call $kind $op, comm, call, tick),)*
                    _ => unreachable!("no operator {which}"),
                }
            }
        }
    };
    (@fold library $op:expr, $l:ident, $r:ident) => { Operator::<Self>::combine(&$op, $l, $r) };
    (@fold $closure:ident $f:expr, $l:ident, $r:ident) => {{
        let f: fn(Self, Self) -> Self = $f;
        f($l, $r)
    }};
    (@identity library $op:expr) => { Operator::<Self>::identity(&$op) };
    (@identity $closure:ident $op:expr) => { None };
    (@commutes ordered) => { false };
    (@commutes $other:ident) => { true };
    (@call library $op:expr, $comm:ident, $call:ident, $tick:ident) => {{
        let _ = $tick;
        $call.call($comm, $op)
    }};
    (@call $closure:ident $f:expr, $comm:ident, $call:ident, $tick:ident) => {{
        let f: fn(Self, Self) -> Self = $f;
        $call.call($comm, op::$closure(|l, r| {
            $tick();
            f(l, r)
        }))
    }};
}
pub(crate) use thing;

/// Stands for memory that its owner has freed.
const FREED: u64 = 0xdead_dead_dead_dead;

fn alive(x: u64) -> u64 {
    if x == FREED {
        RunNotes::mishap("an operator was given memory that its owner has freed".to_string());
    }
    x
}

thing!(u64, |h| h, {
    0 library op::Sum;
    1 commutative |l, r| alive(l).wrapping_add(alive(r));
    // Affine maps, packed: first the left one, then the right one.
    2 ordered |l, r| {
        let ((l, r), low) = ((alive(l), alive(r)), |x| x as u32);
        let ((a, b), (c, d)) = ((low(l), low(l >> 32)), (low(r), low(r >> 32)));
        let (e, f) = (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d));
        u64::from(e) | u64::from(f) << 32
    };
});

/// A vector that is overwritten before it is freed, so that a later reader is noticed.
pub(crate) struct Canary<T: Thing>(pub(crate) Vec<T>);

impl<T: Thing> Drop for Canary<T> {
    fn drop(&mut self) {
        self.0.fill(T::make(FREED));
        std::hint::black_box(&mut self.0);
    }
}

impl<T: Thing> Deref for Canary<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Thing> DerefMut for Canary<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

fn repeated<T: Thing>(from: usize, n: usize, value: impl Fn(usize) -> T) -> Vec<T> {
    let mut all = Vec::with_capacity(n);
    all.extend((from..from + n.min(PERIOD)).map(value));
    while all.len() < n {
        let more = (n - all.len()).min(PERIOD);
        all.extend_from_within(..more);
    }
    all
}

pub(crate) fn value<T: Thing>(salt: u64, rank: usize, i: usize) -> T {
    T::make(mix(salt ^ mix((rank as u64) << 32 | (i % PERIOD) as u64)))
}

/// Elements `from..from + n` of the contribution of rank `rank`.
pub(crate) fn input<T: Thing>(salt: u64, rank: usize, from: usize, n: usize) -> Vec<T> {
    repeated(from, n, |i| value(salt, rank, i))
}

/// The same, combined over `ranks` (not none) by operator `which`, in rank
/// order.
pub(crate) fn folded<T: Thing>(
    salt: u64,
    mut ranks: Range<usize>,
    which: usize,
    from: usize,
    n: usize,
) -> Vec<T> {
    let first = ranks.next().expect("somebody contributes");
    repeated(from, n, |i| {
        let fold = |sum, rank| T::fold(which, sum, value(salt, rank, i));
        ranks.clone().fold(value(salt, first, i), fold)
    })
}

/// A call's arguments, and its result by operator `which`.
pub(crate) fn buffers<T: Thing>(it: &OneCall, salt: u64, which: usize) -> Buffers<T> {
    let vector = |rank, of: Range<usize>| input(salt, rank, of.start, of.len());
    let sum = |upto: usize, of: Range<usize>| match (upto, T::identity(which)) {
        (0, Some(identity)) => vec![identity; of.len()],
        (0, None) => vector(0, of),
        _ => folded(salt, 0..upto, which, of.start, of.len()),
    };
    it.buffers_of(T::make(0), &vector, &sum)
}
