//! One shared result: the sum of two threads' vectors, as a program with Rayon or an OpenMP `for`
//! computes it. It moves three quarters of the bytes of an all-reduce, which leaves the sum with
//! every rank.
//!
//! - `parts`: each rank writes its part of the one result ([`Team::run_chunks`]) from
//!   everybody's vectors ([`Comm::with_peers`](phalanx::Comm::with_peers));
//! - `all-reduce`: a copy for each rank;
//! - `hand`: the loop of `parts`, with known addresses, between two exchanges of flags;
//! - `rayon`: two chunks of the result, by `par_chunks_mut`, on two pinned threads.
//!
//! All run the same loop (AVX2 where there is some), each on vectors that their
//! owners, on their own cores, have just rewritten. They take turns; a turn
//! counts between two raw exchanges that agree (`ratios.rs`), under the place
//! that they show. (OpenMP itself: `tools/phalanx peers`.)
//!
//! `cargo bench --bench shared`; `SECONDS_PER_RUN` (of a size) and `BYTES` (a list). With
//! `--test` one round, nothing printed but that it works.

#[path = "raw/flags.rs"]
mod flags;

use flags::Flags;
use phalanx::{Comm, Team, op};
use phalanx_model::median;
use rayon::prelude::*;
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Nanoseconds of an exchange; `k` counts them.
fn probe(flags: &Flags, rank: usize, k: &mut u64) -> f64 {
    const CALLS: u32 = 200;
    let mut exchange = || {
        *k += 1;
        flags.exchange(rank, *k);
    };
    (0..50).for_each(|_| exchange());
    let start = Instant::now();
    (0..CALLS).for_each(|_| exchange());
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// z[i] = x[i] + y[i].
#[inline(always)]
fn add(z: &mut [f64], x: &[f64], y: &[f64]) {
    for ((z, x), y) in z.iter_mut().zip(x).zip(y) {
        *z = x + y;
    }
}

#[inline(never)]
fn add_wide(z: &mut [f64], x: &[f64], y: &[f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2(z: &mut [f64], x: &[f64], y: &[f64]) {
            add(z, x, y);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(z, x, y) };
        }
    }
    add(z, x, y);
}

/// The owner rewrites its contribution.
fn rewrite(x: &mut [f64], round: usize) {
    x.iter_mut().enumerate().for_each(|(j, x)| *x = (round + j) as f64);
    black_box(x);
}

const WAYS: [&str; 4] = ["hand", "parts", "all-reduce", "rayon"];

/// Nanoseconds of one call of ours, the slower rank's.
fn timed(comm: &mut Comm, call: impl FnOnce(&mut Comm)) -> f64 {
    comm.barrier();
    comm.barrier();
    let start = Instant::now();
    call(comm);
    let mut ns = [start.elapsed().as_nanos() as f64];
    comm.all_reduce(&mut ns, op::Max);
    ns[0]
}

/// A turn of the first three, on one rank: raw exchanges before and after, and the
/// times of each.
fn turn(comm: &mut Comm, part: &mut [f64], flags: &Flags, x: &mut [f64], calls: usize) -> Turn {
    let (rank, n) = (comm.rank(), x.len());
    let range: Range<usize> = if rank == 0 { 0..part.len() } else { n - part.len()..n };
    let address = [x.as_mut_ptr().expose_provenance()];
    let other = comm.with_peers(&address, |all| all[1 - rank][0]);
    let other: *mut f64 = std::ptr::with_exposed_provenance_mut(other);
    let mut k = 0;
    let before = probe(flags, rank, &mut k);
    let mut times = [const { Vec::new() }; 3];
    for call in 0..calls {
        for which in 0..3 {
            let which = (which + call) % 3;
            rewrite(x, call);
            times[which].push(match which {
                0 => timed(comm, |_| {
                    k += 1;
                    flags.exchange(rank, k);
                    // SAFETY: both keep their vectors, and write none of them, until
                    // the second exchange.
                    let theirs =
                        unsafe { std::slice::from_raw_parts(other.add(range.start), range.len()) };
                    add_wide(part, &x[range.clone()], theirs);
                    k += 1;
                    flags.exchange(rank, k);
                }),
                1 => timed(comm, |comm| {
                    comm.with_peers(&*x, |all| {
                        add_wide(part, &all[0][range.clone()], &all[1][range.clone()]);
                    });
                }),
                _ => timed(comm, |comm| comm.all_reduce(x, op::Sum)),
            });
        }
    }
    let after = probe(flags, rank, &mut k);
    Turn { before, after, times }
}

struct Turn {
    before: f64,
    after: f64,
    times: [Vec<f64>; 3],
}

/// The same for Rayon, called from one of its threads.
fn rayon_turn(
    pool: &rayon::ThreadPool,
    sum: &mut [f64],
    x: [&mut [f64]; 2],
    calls: usize,
) -> Vec<f64> {
    let half = sum.len() / 2;
    let x = x.map(std::sync::Mutex::new);
    let call = |call: usize| {
        pool.broadcast(|ctx| rewrite(&mut x[ctx.index()].lock().expect("no panics"), call));
        let x = [&x[0], &x[1]].map(|x| x.lock().expect("no panics"));
        let start = Instant::now();
        sum.par_chunks_mut(half).enumerate().for_each(|(part, z)| {
            let range = part * half..part * half + z.len();
            add_wide(z, &x[0][range.clone()], &x[1][range]);
        });
        start.elapsed().as_nanos() as f64
    };
    // `x` is locked by the caller while both threads read through the guards.
    pool.install(|| (0..calls).map(call).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let test = std::env::args().any(|a| a == "--test");
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("shared: skipped, it needs two cores");
        return Ok(());
    }
    let seconds = std::env::var("SECONDS_PER_RUN").ok().and_then(|s| s.parse().ok());
    let time = Duration::from_secs_f64(if test { 0.0 } else { seconds.unwrap_or(5.0) });
    let asked = std::env::var("BYTES").unwrap_or_default();
    let mut sizes: Vec<usize> = asked.split(',').filter_map(|s| s.parse().ok()).collect();
    if sizes.is_empty() {
        let usual = vec![16 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20];
        sizes = if test { vec![16 << 10] } else { usual };
    }
    let team = Team::builder().ranks(2).pin_caller(true).build()?;
    team.run(|_| ())?;
    let pus: Vec<Option<usize>> = team.bindings().iter().map(|b| b.pu).collect();
    let pin = move |i: usize| {
        if let Some(id) = pus[i] {
            core_affinity::set_for_current(core_affinity::CoreId { id });
        }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(pin).build()?;
    if !test {
        println!("median us; ours over hand, and over rayon (n turns)");
    }
    for bytes in sizes {
        let n = bytes / 16 * 2;
        let calls = ((4 << 20) / bytes.max(64 << 10)).max(1);
        let mut sum = vec![0.0; n];
        let mut ours = [vec![0.0; n], vec![0.0; n]];
        let mut theirs = [vec![0.0; n], vec![0.0; n]];
        let mut places: [[Vec<f64>; 4]; 3] = Default::default();
        let start = Instant::now();
        let mut last = None;
        loop {
            let flags = Flags::default();
            let (low, high) = sum.split_at_mut(n / 2);
            let [a, b] = &mut ours;
            let mut items = [(low, &mut a[..]), (high, &mut b[..])];
            let turns =
                team.run_with(&mut items, |comm, (part, x)| turn(comm, part, &flags, x, calls))?;
            let Some(turn) = turns.into_iter().next() else { continue };
            // Rayon's turn stands between the exchange before it and the next one.
            let stays = |a: f64, b: f64| (a / b).max(b / a) < 1.3;
            let place = |a: f64| usize::from(a >= 45.0) + usize::from(a >= 130.0);
            if let Some((after, mut rayons)) = last.take()
                && stays(after, turn.before)
            {
                places[place(after)][3].append(&mut rayons);
            }
            if stays(turn.before, turn.after) {
                let to = &mut places[place(turn.after)];
                to.iter_mut().zip(turn.times).for_each(|(to, mut times)| to.append(&mut times));
            }
            let [a, b] = &mut theirs;
            last = Some((turn.after, rayon_turn(&pool, &mut sum, [a, b], calls)));
            if start.elapsed() >= time {
                break;
            }
        }
        if test {
            continue;
        }
        for (name, times) in ["one core", "near", "far"].iter().zip(&mut places) {
            let turns = times[0].len().min(times[3].len());
            if turns == 0 {
                continue;
            }
            let us = times.each_mut().map(|v| median(v) / 1e3);
            let all: Vec<_> = WAYS.iter().zip(us).map(|(w, us)| format!("{w} {us:.2}")).collect();
            println!(
                "{bytes:>9} {name:9} {}; parts {:.2} {:.2}, all-reduce {:.2} {:.2} ({turns})",
                all.join(", "),
                us[1] / us[0],
                us[1] / us[3],
                us[2] / us[0],
                us[2] / us[3],
            );
        }
    }
    if test {
        println!("shared: works");
    }
    Ok(())
}
