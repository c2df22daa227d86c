//! Compares each collective on large messages with the best loop written by hand for two threads:
//! the buffers' addresses are known, two flags open and close the call, and each thread does half
//! of the work with AVX2. A call that only moves data is written once for each way to copy
//! (`raw/copies.rs`), and the best of them counts.
//!
//! Ours and theirs take turns, and every call comes after its owners have rewritten their input, so
//! that the data really move. Every pair of calls stands between two raw exchanges of flags and
//! counts only if they agree (see `ratios.rs`); results are filed under the place that they show.
//!
//! `cargo bench --bench floors [-- NAME..]`; `SECONDS_PER_RUN` and `BYTES` (a
//! list) say how long and how large. With `--test` one round, nothing printed
//! but that it works.

#[path = "raw/copies.rs"]
mod copies;
#[path = "raw/flags.rs"]
mod flags;

use copies::{COPIES, Copy};
use flags::Flags;
use phalanx::{Comm, Team, op};
use phalanx_model::median;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A rank's two buffers. `out` has twice the elements of `x`.
struct Buffers {
    x: Vec<f64>,
    wide: Vec<f64>,
    out: Vec<f64>,
}

/// The addresses of a rank's buffers, for the other.
#[derive(Clone, Copy)]
struct At {
    x: *mut f64,
    wide: *mut f64,
    out: *mut f64,
}

/// One rank's end of the hand-written calls.
struct Hand<'a> {
    flags: &'a Flags,
    rank: usize,
    k: u64,
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
        self.k += 2;
        self.flags.exchange(self.rank, self.k - 1);
        work(self.me, self.it);
        self.flags.exchange(self.rank, self.k);
    }

    /// The half of `n` elements that this rank works on, in whole lines.
    fn half(&self, n: usize) -> (usize, usize) {
        let middle = ((n / 2 + 7) & !7).min(n);
        if self.rank == 0 { (0, middle) } else { (middle, n - middle) }
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

const OPERATIONS: [&str; 11] = [
    "all-reduce",
    "reduce",
    "reduce-scatter",
    "scan",
    "exclusive-scan",
    "broadcast",
    "all-gather",
    "all-to-all",
    "gather",
    "scatter",
    "shift",
];

/// Those that move data by copies.
const MOVES: [&str; 5] = ["broadcast", "all-gather", "all-to-all", "gather", "scatter"];

/// The hand-written call on vectors of `n` elements, with copies by `by`; of the operations with
/// blocks, `n` is the length of all blocks.
fn theirs(hand: &mut Hand<'_>, operation: &str, n: usize, by: Copy) {
    let (from, len) = hand.half(n);
    let (rank, block) = (hand.rank, n / 2);
    // SAFETY: each thread writes its own half of every buffer, or its own
    // block, and reads memory that nobody writes; both keep their buffers until the
    // second exchange.
    let work = |me: At, it: At| unsafe {
        let copy = |from: *mut f64, i: usize, to: *mut f64, j: usize, n: usize| {
            by(to.add(j).cast(), from.add(i).cast(), n * size_of::<f64>());
        };
        let both = if rank == 0 { [me, it] } else { [it, me] };
        match operation {
            "all-reduce" => add_both_wide(part_mut(me.x, from, len), part_mut(it.x, from, len)),
            "reduce" | "scan" => {
                let (low, high) = (both[0].x, both[1].x);
                if operation == "scan" {
                    add_onto_wide(part(low, from, len), part_mut(high, from, len));
                } else {
                    add_onto_wide(part(high, from, len), part_mut(low, from, len));
                }
            }
            "reduce-scatter" => add_to_wide(
                part_mut(me.out, 0, block),
                part(both[0].wide, rank * block, block),
                part(both[1].wide, rank * block, block),
            ),
            "broadcast" => copy(both[0].x, from, both[1].x, from, len),
            "exclusive-scan" => {
                copy(both[0].x, from, both[1].x, from, len);
                part_mut(both[0].x, from, len).fill(0.0);
            }
            "all-gather" => {
                copy(me.x, 0, me.out, rank * block, block);
                copy(it.x, 0, me.out, (1 - rank) * block, block);
            }
            "all-to-all" => {
                copy(me.wide, rank * block, me.out, rank * block, block);
                copy(it.wide, rank * block, me.out, (1 - rank) * block, block);
            }
            "gather" => copy(me.x, 0, both[0].out, rank * block, block),
            "scatter" => copy(both[0].wide, rank * block, me.out, 0, block),
            _ => {
                let (a, b) = (part_mut(me.x, from, len), part_mut(it.x, from, len));
                a.swap_with_slice(b);
            }
        }
    };
    hand.call(work);
}

fn ours(comm: &mut Comm, operation: &str, b: &mut Buffers, n: usize) {
    let block = n / 2;
    let rank = comm.rank();
    match operation {
        "all-reduce" => comm.all_reduce(&mut b.x[..n], op::Sum),
        "reduce" => comm.reduce(&mut b.x[..n], op::Sum, 0),
        "scan" => comm.scan(&mut b.x[..n], op::Sum),
        "exclusive-scan" => comm.exclusive_scan(&mut b.x[..n], op::Sum),
        "reduce-scatter" => {
            comm.reduce_scatter_into(&b.wide[..2 * block], &mut b.out[..block], op::Sum);
        }
        "broadcast" => comm.broadcast(&mut b.x[..n], 0),
        "all-gather" => comm.all_gather_into(&b.x[..block], &mut b.out[..2 * block]),
        "all-to-all" => comm.all_to_all_into(&b.wide[..2 * block], &mut b.out[..2 * block]),
        "gather" => {
            let len = if rank == 0 { 2 * block } else { 0 };
            comm.gather_into(&b.x[..block], &mut b.out[..len], 0);
        }
        "scatter" => {
            let len = if rank == 0 { 2 * block } else { 0 };
            comm.scatter_into(&b.wide[..len], &mut b.out[..block], 0);
        }
        _ => comm.shift(&mut b.x[..n], 1),
    }
}

/// The owner rewrites its input.
fn rewrite(operation: &str, b: &mut Buffers, n: usize, round: u64) {
    let wide = ["reduce-scatter", "all-to-all", "scatter"].contains(&operation);
    let buf = if wide { &mut b.wide[..n] } else { &mut b.x[..n] };
    buf.iter_mut().enumerate().for_each(|(j, x)| *x = (round + j as u64) as f64);
    black_box(buf);
}

/// Nanoseconds of one turn of all contenders: ours, then theirs by each way to copy.
type Turn = Vec<f64>;

struct Row {
    operation: &'static str,
    bytes: usize,
    /// By place.
    samples: [Vec<Turn>; 2],
}

impl Row {
    /// Ways to copy that are compared.
    fn copies(&self) -> Vec<(&'static str, Copy)> {
        let all = if MOVES.contains(&self.operation) { COPIES.len() } else { 1 };
        let there = COPIES.iter().take(all).filter(|copy| (copy.is_there)());
        there.map(|copy| (copy.name, copy.copy)).collect()
    }
}

const SIZES: [usize; 5] = [16 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20];

/// One rank's part: rounds over all rows until the time is over.
fn rounds(comm: &mut Comm, flags: &Flags, rows: &mut [Row], time: Duration, sizes: &[usize]) {
    let rank = comm.rank();
    let most = sizes.iter().max().copied().unwrap_or(0) / 8;
    let fresh = || vec![rank as f64; most];
    let mut b = Buffers { x: fresh(), wide: fresh(), out: fresh() };
    let at = |b: &mut Buffers| At {
        x: b.x.as_mut_ptr(),
        wide: b.wide.as_mut_ptr(),
        out: b.out.as_mut_ptr(),
    };
    let me = at(&mut b);
    let addresses = [me.x, me.wide, me.out].map(|p| p.expose_provenance());
    let it = comm.with_peers(&addresses, |all| {
        let p = |i: usize| std::ptr::with_exposed_provenance_mut(all[1 - rank][i]);
        At { x: p(0), wide: p(1), out: p(2) }
    });
    let mut hand = Hand { flags, rank, k: 0, me, it };
    let started = Instant::now();
    for round in 0.. {
        // Rank 0 decides when it is over.
        let over = started.elapsed() >= time && hand.k > 0;
        let mut go = [u64::from(!over)];
        comm.broadcast(&mut go, 0);
        if go[0] == 0 {
            return;
        }
        for row in rows.iter_mut() {
            let n = row.bytes / 8;
            let pairs = ((8 << 20) / row.bytes.max(256 << 10)).max(1);
            let before = exchange(&mut hand);
            let mut found = Vec::new();
            let copies = row.copies();
            let contenders = 1 + copies.len();
            for pair in 0..pairs {
                let mut times = vec![0.0; contenders];
                for turn in 0..contenders {
                    // Each is first in turn.
                    let which = (turn + pair + round) % contenders;
                    rewrite(row.operation, &mut b, n, hand.k);
                    comm.barrier();
                    comm.barrier();
                    let start = Instant::now();
                    match which {
                        0 => ours(comm, row.operation, &mut b, n),
                        _ => theirs(&mut hand, row.operation, n, copies[which - 1].1),
                    }
                    // The slower rank's time.
                    let mut ns = [start.elapsed().as_nanos() as f64];
                    comm.all_reduce(&mut ns, op::Max);
                    times[which] = ns[0];
                }
                found.push(times);
            }
            let after = exchange(&mut hand);
            // The ranks may judge differently; rank 0's samples are shown.
            if (before / after).max(after / before) < 1.3 {
                row.samples[usize::from(before + after >= 260.0)].extend(found);
            }
        }
    }
}

/// Nanoseconds of a raw exchange.
fn exchange(hand: &mut Hand<'_>) -> f64 {
    const CALLS: u64 = 200;
    let mut start = Instant::now();
    for i in 0..CALLS + 50 {
        if i == 50 {
            start = Instant::now();
        }
        hand.k += 1;
        hand.flags.exchange(hand.rank, hand.k);
    }
    start.elapsed().as_nanos() as f64 / CALLS as f64
}

fn main() -> Result<(), phalanx::Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let test = arguments.iter().any(|a| a == "--test");
    let wanted: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("floors: skipped, they need two cores");
        return Ok(());
    }
    let seconds = std::env::var("SECONDS_PER_RUN").ok().and_then(|s| s.parse().ok());
    let time = Duration::from_secs_f64(if test { 0.0 } else { seconds.unwrap_or(20.0) });
    let asked = std::env::var("BYTES").unwrap_or_default();
    let mut sizes: Vec<usize> = asked.split(',').filter_map(|s| s.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if test { vec![16, 16 << 10] } else { SIZES.to_vec() };
    }
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let rows = || -> Vec<Row> {
        let operations = OPERATIONS.into_iter().filter(is_wanted);
        let row = |operation, bytes| Row { operation, bytes, samples: Default::default() };
        operations.flat_map(|o| sizes.iter().map(move |&bytes| row(o, bytes))).collect()
    };
    let team = Team::builder().ranks(2).pin_caller(true).build()?;
    let flags = Flags::default();
    let all = team.run(|comm| {
        let mut rows = rows();
        rounds(comm, &flags, &mut rows, time, &sizes);
        rows
    })?;
    if test {
        println!("floors: works");
        return Ok(());
    }
    println!(
        "rate of ours over the best hand-written one's (us of ours; of theirs by each copy; n)"
    );
    for row in &all[0] {
        for (place, turns) in ["near", "far"].iter().zip(&row.samples) {
            if !turns.is_empty() {
                println!("{}", line(row, place, turns));
            }
        }
    }
    Ok(())
}

fn line(row: &Row, place: &str, turns: &[Turn]) -> String {
    let of = |i: usize| median(&turns.iter().map(|turn| turn[i]).collect::<Vec<_>>());
    let copies = row.copies();
    let times: Vec<f64> = (1..=copies.len()).map(of).collect();
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let each: Vec<String> = match copies.len() {
        1 => vec![format!("{:.2}", times[0] / 1e3)],
        _ => {
            let named = copies.iter().zip(&times);
            named.map(|((name, _), ns)| format!("{name} {:.2}", ns / 1e3)).collect()
        }
    };
    let (ours, n) = (of(0), turns.len());
    let Row { operation, bytes, .. } = row;
    let (rate, ours, each) = (best / ours, ours / 1e3, each.join(", "));
    format!("{operation:14} {bytes:>9} {place:4} {rate:.2} ({ours:.2}; {each}; {n})")
}
