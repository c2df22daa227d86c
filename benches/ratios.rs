//! How far from the hardware are we? Ours beside the raw exchange of two flags
//! between the same two cores, in interleaved batches of one run.
//!
//! On a virtual machine the host moves the cores: the same exchange costs 30,
//! 60 or 280 ns from one moment to the next. So every batch stands between two
//! raw exchanges and counts only if they agree; its result is a multiple of
//! them, and is filed under the place that they show (`near` below 130 ns,
//! else `far`).
//!
//! `cargo bench --bench ratios`; with `--test` one round, nothing printed but
//! that it works.

use phalanx::{Comm, Team, op};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

#[repr(align(256))]
#[derive(Default)]
struct Line(AtomicU64);

/// Two flags in lines of their own: the least that two cores can do.
#[derive(Default)]
struct Flags {
    line: [Line; 2],
    both: [Line; 2],
}

impl Flags {
    /// Both store, then both wait for the other's.
    #[inline(always)]
    fn exchange(&self, rank: usize, k: u64) {
        self.line[rank].0.store(k, Release);
        while self.line[1 - rank].0.load(Acquire) < k {}
    }

    /// One stores, the other waits and answers.
    #[inline(always)]
    fn ping_pong(&self, rank: usize, k: u64) {
        if rank == 0 {
            self.both[0].0.store(k, Release);
            while self.both[1].0.load(Acquire) != k {}
        } else {
            while self.both[0].0.load(Acquire) != k {}
            self.both[1].0.store(k, Release);
        }
    }
}

/// The hand-written all-reduce of two threads: each adds its half of both
/// buffers and stores it to both.
#[derive(Default)]
struct Fused {
    flags: Flags,
    at: [Line; 2],
}

impl Fused {
    fn all_reduce(&self, rank: usize, k: u64, buf: &mut [f64]) {
        let n = buf.len();
        self.at[rank].0.store(buf.as_mut_ptr().expose_provenance() as u64, Relaxed);
        self.flags.exchange(rank, 2 * k);
        let other =
            std::ptr::with_exposed_provenance_mut(self.at[1 - rank].0.load(Relaxed) as usize);
        let half = if rank == 0 { 0..n / 2 } else { n / 2..n };
        // SAFETY: both threads run this with live buffers of n elements; the
        // exchanges before and after bound the access, and the halves are
        // disjoint.
        unsafe {
            let x = std::slice::from_raw_parts_mut(buf.as_mut_ptr().add(half.start), half.len());
            let other: *mut f64 = other;
            let y = std::slice::from_raw_parts_mut(other.add(half.start), half.len());
            for (x, y) in x.iter_mut().zip(y) {
                let z = *x + *y;
                *x = z;
                *y = z;
            }
        }
        self.flags.exchange(rank, 2 * k + 1);
    }
}

/// Nanoseconds of one call, over a batch.
fn batch(calls: u64, mut call: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for k in 0..calls {
        call(k);
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

struct Row {
    name: &'static str,
    /// Multiples of the raw cost, near and far.
    ratios: [Vec<f64>; 2],
    ns: [Vec<f64>; 2],
}

fn median(v: &mut [f64]) -> f64 {
    v.sort_by(f64::total_cmp);
    if v.is_empty() { f64::NAN } else { v[v.len() / 2] }
}

const SMALL: u64 = 400;

/// One rank's part: rounds of interleaved batches until the time is over.
fn two_ranks(comm: &mut Comm, flags: &Flags, fused: &Fused, time: Duration) -> Vec<Row> {
    let rank = comm.rank();
    let names = [
        "barrier / exchange",
        "all-reduce 8 B / exchange",
        "all-reduce 32 B / exchange",
        "send+reply 8 B / ping-pong",
        "raw ping-pong / exchange",
        "all-reduce 16 KiB / hand-fused",
        "all-reduce 256 KiB / hand-fused",
        "all-reduce 4 MiB / hand-fused",
    ];
    let mut rows: Vec<Row> = names
        .into_iter()
        .map(|name| Row { name, ratios: Default::default(), ns: Default::default() })
        .collect();
    let mut k = 0u64;
    let mut raw = |calls: u64| {
        batch(calls, |_| {
            k += 1;
            flags.exchange(rank, k);
        })
    };
    let mut kp = 0u64;
    let mut ping = |calls: u64| {
        batch(calls, |_| {
            kp += 1;
            flags.ping_pong(rank, kp);
        })
    };
    let mut kf = 0u64;
    let mut big: Vec<Vec<f64>> = [2048, 32768, 524288].map(|n| vec![0.0; n]).into();
    let start = Instant::now();
    let mut round = 0u64;
    loop {
        // Rank 0 decides when it is over.
        let mut go = [u64::from(start.elapsed() < time || round == 0)];
        comm.broadcast(&mut go, 0);
        if go[0] == 0 {
            return rows;
        }
        round += 1;
        let small = |comm: &mut Comm, which: usize| match which {
            0 => batch(SMALL, |_| comm.barrier()),
            1 => batch(SMALL, |_| {
                let mut x = [black_box(1.0f64)];
                comm.all_reduce(&mut x, op::Sum);
                black_box(x);
            }),
            2 => batch(SMALL, |_| {
                let mut x = [black_box(1.0f64); 4];
                comm.all_reduce(&mut x, op::Sum);
                black_box(x);
            }),
            _ => batch(SMALL, |_| {
                let mut x = [black_box(1.0f64)];
                if rank == 0 {
                    comm.send(&x, 1);
                    comm.recv(&mut x, 1);
                } else {
                    comm.recv(&mut x, 0);
                    comm.send(&x, 0);
                }
                black_box(x);
            }),
        };
        #[allow(clippy::needless_range_loop)] // `i` is also what to measure.
        for i in 0..5 {
            comm.barrier();
            raw(50);
            let before = raw(SMALL);
            let pings = if i >= 3 { ping(SMALL) } else { 0.0 };
            let ours = if i < 4 { small(comm, i) } else { pings };
            let after = raw(SMALL);
            keep(&mut rows[i], before, after, ours, if i == 3 { Some(pings) } else { None });
        }
        for (i, buf) in big.iter_mut().enumerate() {
            let calls = [15, 7, 3][i];
            let before = raw(SMALL);
            let (mut hand, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..calls {
                rewrite(buf, round);
                comm.barrier();
                kf += 1;
                let t = Instant::now();
                fused.all_reduce(rank, kf, buf);
                hand.push(t.elapsed().as_nanos() as f64);
                rewrite(buf, round + 1);
                comm.barrier();
                let t = Instant::now();
                comm.all_reduce(buf, op::Sum);
                ours.push(t.elapsed().as_nanos() as f64);
            }
            let after = raw(SMALL);
            keep(&mut rows[5 + i], before, after, median(&mut ours), Some(median(&mut hand)));
        }
    }
}

/// The owner writes its whole buffer before each call, so that the data really
/// have to move.
fn rewrite(buf: &mut [f64], round: u64) {
    for (j, x) in buf.iter_mut().enumerate() {
        *x = round as f64 + j as f64;
    }
    black_box(buf);
}

/// Files a batch if the place did not change during it.
fn keep(row: &mut Row, before: f64, after: f64, ours: f64, base: Option<f64>) {
    if (before / after).max(after / before) < 1.25 {
        let exchange = (before + after) / 2.0;
        let place = usize::from(exchange >= 130.0);
        row.ratios[place].push(ours / base.unwrap_or(exchange));
        row.ns[place].push(ours);
    }
}

/// The same barrier with more ranks than cores, ours and the standard
/// library's, in turns.
fn crowded(ranks: usize, rounds: usize) -> Result<(f64, f64), phalanx::Error> {
    const CALLS: u64 = 50;
    let team = Team::builder().ranks(ranks).build()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let std = std::sync::Barrier::new(ranks);
    for _ in 0..rounds {
        let times = team.run(|comm| {
            comm.barrier();
            let a = batch(CALLS, |_| comm.barrier());
            let b = batch(CALLS, |_| {
                std.wait();
            });
            (a, b)
        })?;
        ours.push(times[0].0);
        theirs.push(times[0].1);
    }
    Ok((median(&mut ours), median(&mut theirs)))
}

fn main() -> Result<(), phalanx::Error> {
    let test = std::env::args().any(|a| a == "--test");
    let seconds = std::env::var("SECONDS_PER_RUN").ok().and_then(|s| s.parse().ok()).unwrap_or(5.0);
    let time = Duration::from_secs_f64(if test { 0.0 } else { seconds });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        println!("ratios: skipped, a raw exchange needs two cores and there is {cores}");
        return Ok(());
    }
    let team = Team::builder().ranks(2).build()?;
    let (flags, fused) = (Flags::default(), Fused::default());
    let mut rows = team.run(|comm| two_ranks(comm, &flags, &fused, time))?.swap_remove(0);
    let crowd = crowded(8, if test { 1 } else { 15 })?;
    if test {
        println!("ratios: works");
        return Ok(());
    }
    println!("{:34} {:>24} {:>24}", "", "near: ratio (ns, n)", "far: ratio (ns, n)");
    for row in &mut rows {
        print!("{:34}", row.name);
        for place in 0..2 {
            let (r, ns) = (median(&mut row.ratios[place]), median(&mut row.ns[place]));
            print!(" {:>24}", format!("{r:.2} ({ns:.0}, {})", row.ns[place].len()));
        }
        println!();
    }
    let (ours, theirs) = crowd;
    println!(
        "barrier, 8 ranks / std::sync::Barrier: {:.2} ({ours:.0} / {theirs:.0} ns)",
        ours / theirs
    );
    Ok(())
}
