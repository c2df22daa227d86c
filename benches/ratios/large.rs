//! Large messages, beside the best loop written by hand for two threads: the buffers' addresses are
//! known, two flags open and close the call, and each thread does half of the work with AVX2. A
//! call that only moves data is written once for each way to copy (`raw/copies.rs`). Every call
//! comes after its owners have rewritten their input, so that the data really move.

#[path = "../raw/copies.rs"]
mod copies;
#[path = "../raw/operations.rs"]
mod operations;

use crate::raw::{Flags, Raw, Rounds, Row};
use copies::{COPIES, Copy};
use operations::{Buffers, call};
use phalanx::schedule::Operation::{self, *};
use phalanx::{Comm, op};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The addresses of a rank's buffers, for the other.
#[derive(Clone, Copy)]
struct At {
    x: *mut f64,
    wide: *mut f64,
    out: *mut f64,
}

/// One rank's end of the hand-written calls.
struct Hand<'a> {
    raw: Raw<'a>,
    me: At,
    it: At,
}

/// a[i] = b[i] = a[i] + b[i].
#[inline(always)]
fn add_both(a: &mut [f64], b: &mut [f64]) {
    for (x, y) in a.iter_mut().zip(b) {
        let z = *x + *y;
        *x = z;
        *y = z;
    }
}

/// z[i] = x[i] + y[i].
#[inline(always)]
fn add_to(z: &mut [f64], x: &[f64], y: &[f64]) {
    for ((z, x), y) in z.iter_mut().zip(x).zip(y) {
        *z = x + y;
    }
}

/// y[i] = x[i] + y[i].
#[inline(always)]
fn add_onto(x: &[f64], y: &mut [f64]) {
    for (x, y) in x.iter().zip(y) {
        *y += x;
    }
}

macro_rules! wide {
    ($name:ident, $of:ident, ($($arg:ident: $ty:ty),*)) => {
        #[inline(never)]
        fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) {
                    $of($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $of($($arg),*);
        }
    };
}
wide!(add_both_wide, add_both, (a: &mut [f64], b: &mut [f64]));
wide!(add_to_wide, add_to, (z: &mut [f64], x: &[f64], y: &[f64]));
wide!(add_onto_wide, add_onto, (x: &[f64], y: &mut [f64]));

impl Hand<'_> {
    /// Runs `work` between two exchanges of flags.
    fn call(&mut self, work: impl FnOnce(At, At)) {
        self.raw.exchange();
        work(self.me, self.it);
        self.raw.exchange();
    }

    /// The half of `n` elements that this rank works on, in whole lines.
    fn half(&self, n: usize) -> (usize, usize) {
        let middle = ((n / 2 + 7) & !7).min(n);
        if self.raw.rank == 0 { (0, middle) } else { (middle, n - middle) }
    }
}

/// `n` elements from `i` on.
///
/// # Safety
/// They are within a live buffer that nobody writes meanwhile.
unsafe fn part<'a>(at: *mut f64, i: usize, n: usize) -> &'a [f64] {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(at.add(i), n) }
}

/// # Safety
/// The same, and nobody else uses them meanwhile.
unsafe fn part_mut<'a>(at: *mut f64, i: usize, n: usize) -> &'a mut [f64] {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts_mut(at.add(i), n) }
}

/// Those that move data by copies.
const MOVES: [Operation; 5] = [Broadcast, AllGather, AllToAll, Gather, Scatter];

/// The hand-written call on vectors of `n` elements, with copies by `by`; of the operations with
/// blocks, `n` is the length of all blocks.
fn theirs(hand: &mut Hand<'_>, operation: Operation, n: usize, by: Copy) {
    let (from, len) = hand.half(n);
    let (rank, block) = (hand.raw.rank, n / 2);
    // SAFETY: each thread writes its own half of every buffer, or its own
    // block, and reads memory that nobody writes; both keep their buffers until the
    // second exchange.
    let work = |me: At, it: At| unsafe {
        let copy = |from: *mut f64, i: usize, to: *mut f64, j: usize, n: usize| {
            by(to.add(j).cast(), from.add(i).cast(), n * size_of::<f64>());
        };
        let both = if rank == 0 { [me, it] } else { [it, me] };
        match operation {
            AllReduce => add_both_wide(part_mut(me.x, from, len), part_mut(it.x, from, len)),
            Reduce | Scan => {
                let (low, high) = (both[0].x, both[1].x);
                if operation == Scan {
                    add_onto_wide(part(low, from, len), part_mut(high, from, len));
                } else {
                    add_onto_wide(part(high, from, len), part_mut(low, from, len));
                }
            }
            ReduceScatter => add_to_wide(
                part_mut(me.out, 0, block),
                part(both[0].wide, rank * block, block),
                part(both[1].wide, rank * block, block),
            ),
            Broadcast => copy(both[0].x, from, both[1].x, from, len),
            ExclusiveScan => {
                copy(both[0].x, from, both[1].x, from, len);
                part_mut(both[0].x, from, len).fill(0.0);
            }
            AllGather => {
                copy(me.x, 0, me.out, rank * block, block);
                copy(it.x, 0, me.out, (1 - rank) * block, block);
            }
            AllToAll => {
                copy(me.wide, rank * block, me.out, rank * block, block);
                copy(it.wide, rank * block, me.out, (1 - rank) * block, block);
            }
            Gather => copy(me.x, 0, both[0].out, rank * block, block),
            Scatter => copy(both[0].wide, rank * block, me.out, 0, block),
            _ => {
                let (a, b) = (part_mut(me.x, from, len), part_mut(it.x, from, len));
                a.swap_with_slice(b);
            }
        }
    };
    hand.call(work);
}

/// The owner rewrites its input.
fn rewrite(operation: Operation, b: &mut Buffers, n: usize, round: u64) {
    let wide = [ReduceScatter, AllToAll, Scatter].contains(&operation);
    let buf = if wide { &mut b.wide[..n] } else { &mut b.x[..n] };
    buf.iter_mut().enumerate().for_each(|(j, x)| *x = (round + j as u64) as f64);
    black_box(buf);
}

const SIZES: [usize; 5] = [16 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20];

/// An operation and a size: a row, and a call by hand, for each way to copy.
struct Case {
    operation: Operation,
    bytes: usize,
    rows: Vec<(Row, Copy)>,
}

impl Case {
    fn new(operation: Operation, bytes: usize) -> Self {
        let all = if MOVES.contains(&operation) { COPIES.len() } else { 1 };
        let there = COPIES.iter().take(all).filter(|copy| (copy.is_there)());
        let row = |name| Row::new(format!("{operation} {bytes} B / by hand{name}"));
        let rows = there.map(|copy| {
            let name = if all > 1 { format!(", {}", copy.name) } else { String::new() };
            (row(name), copy.copy)
        });
        Case { operation, bytes, rows: rows.collect() }
    }
}

/// One rank's part: rounds over all cases until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, time: Duration) -> Vec<Row> {
    let rank = comm.rank();
    let sizes = if time.is_zero() { &[16, 16 << 10][..] } else { &SIZES };
    let measured = Operation::ALL.into_iter().filter(|it| ![Barrier, AllToAllInPlace].contains(it));
    let cases = measured.flat_map(|it| sizes.iter().map(move |&n| (it, n)));
    let mut cases: Vec<Case> = cases.map(|(it, n)| Case::new(it, n)).collect();
    let most = sizes.iter().max().copied().unwrap_or(0) / 8;
    let fresh = || vec![rank as f64; most];
    let mut b = Buffers { x: fresh(), wide: fresh(), out: fresh() };
    let me = At { x: b.x.as_mut_ptr(), wide: b.wide.as_mut_ptr(), out: b.out.as_mut_ptr() };
    let addresses = [me.x, me.wide, me.out].map(|p| p.expose_provenance());
    let it = comm.with_peers(&addresses, |all| {
        let p = |i: usize| std::ptr::with_exposed_provenance_mut(all[1 - rank][i]);
        At { x: p(0), wide: p(1), out: p(2) }
    });
    let mut hand = Hand { raw: Raw::new(flags, rank), me, it };
    let mut rounds = Rounds::new(time);
    while rounds.next(comm) {
        for Case { operation, bytes, rows } in &mut cases {
            let (n, contenders) = (*bytes / 8, 1 + rows.len());
            let pairs = ((8 << 20) / (*bytes).max(256 << 10)).max(1);
            hand.raw.exchanged(50);
            let before = hand.raw.exchanged(200);
            let mut turns = Vec::new();
            for pair in 0..pairs {
                let mut times = vec![0.0; contenders];
                for turn in 0..contenders {
                    // Each is first in turn.
                    let which = (turn + pair + rounds.begun as usize) % contenders;
                    rewrite(*operation, &mut b, n, hand.raw.exchanges);
                    comm.barrier();
                    comm.barrier();
                    let start = Instant::now();
                    match which {
                        0 => call(comm, *operation, &mut b, n),
                        _ => theirs(&mut hand, *operation, n, rows[which - 1].1),
                    }
                    // The slower rank's time.
                    let ns = [start.elapsed().as_nanos() as f64];
                    [times[which]] = comm.all_reduce_values(ns, op::Max);
                }
                turns.push(times);
            }
            hand.raw.exchanged(50);
            let after = hand.raw.exchanged(200);
            for times in turns {
                for ((row, _), &by_hand) in rows.iter_mut().zip(&times[1..]) {
                    row.keep(before, after, times[0], Some(by_hand));
                }
            }
        }
    }
    cases.into_iter().flat_map(|case| case.rows).map(|(row, _)| row).collect()
}
