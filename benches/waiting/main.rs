//! The time of calls while other processes use the cores, beside barriers that sleep; and the
//! processor time that ranks use while they wait for a late rank.
//!
//!     cargo bench --bench waiting                      everything: 20 minutes
//!     .. -- p=4,8 busy=0,1 group=same op=barrier,shift turns=3 ms=100
//!     .. -- late                                       the processor time only
//!     .. -- uneven busy=1 group=other work=200/20      two ranks with work between the waits
//!     .. -- uneven busy=none quota=0.5 ms=60           .. under a quota, in turns of 300 ms
//!
//! It makes its own load: busy processes of the same scheduler group as this one (Linux's
//! autogroup: one terminal session), or of another one (`setsid`). They end with this process, and
//! after ten minutes in any case. Columns are measured in turns; the numbers are medians,
//! microseconds a call. The last column of a row is its worst ratio: to the better of the two
//! barriers for our barrier and all-reduce of 8 bytes, to the futex barrier for the others.

#[path = "../raw/busy.rs"]
mod busy;
mod futex;
mod quota;
mod uneven;

use busy::Busy;
use futex::Futex;
use phalanx::{Comm, Team, op};
use phalanx_model::median;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};
use uneven::Turns;

type Call = fn(&mut Comm, &mut Data);

/// The memory that the calls work on: a vector, a block for every rank, and room for as many.
struct Data {
    x: Vec<f64>,
    blocks: Vec<f64>,
    all: Vec<f64>,
}

/// Elements of a block of an all-to-all and of a gather.
const BLOCK: usize = 8;

const CALLS: &[(&str, Call)] = &[
    ("barrier", |comm, _| comm.barrier()),
    ("all-reduce 8 B", |comm, d| comm.all_reduce(&mut d.x[..1], op::Max)),
    ("all-reduce 4 KiB", |comm, d| comm.all_reduce(&mut d.x[..512], op::Max)),
    ("all-reduce 64 KiB", |comm, d| comm.all_reduce(&mut d.x, op::Max)),
    ("broadcast 8 B", |comm, d| comm.broadcast(&mut d.x[..1], 0)),
    ("shift 8 B", |comm, d| comm.shift(&mut d.x[..1], 1)),
    ("all-to-all 64 B", |comm, d| comm.all_to_all_into(&d.blocks, &mut d.all)),
    ("gather 64 B", |comm, d| {
        let root = comm.rank() == 0;
        let all = if root { &mut d.all[..] } else { &mut [] };
        comm.gather_into(&d.x[..BLOCK], all, 0);
    }),
    ("ping-pong 8 B", |comm, d| match comm.rank() {
        0 => {
            comm.send(&d.x[..1], 1);
            comm.recv(&mut d.x[..1], 1);
        }
        1 => {
            comm.recv(&mut d.x[..1], 0);
            comm.send(&d.x[..1], 0);
        }
        _ => {}
    }),
];

/// Microseconds of `barrier` on so many threads.
fn threads(ranks: usize, time: Duration, barrier: impl Fn() + Sync) -> f64 {
    let over = AtomicBool::new(false);
    let meet = || {
        barrier();
        let goes_on = !over.load(Acquire);
        barrier();
        goes_on
    };
    let started = Instant::now();
    let mut calls = 0_u32;
    std::thread::scope(|s| {
        (1..ranks).for_each(|_| drop(s.spawn(|| while meet() {})));
        loop {
            over.store(started.elapsed() >= time, Release);
            calls += 2;
            if !meet() {
                break;
            }
        }
    });
    started.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

/// Microseconds of `call`.
fn ours(ranks: usize, time: Duration, call: Call) -> f64 {
    let found = phalanx::run(ranks, |comm| {
        let p = comm.size();
        let x = vec![0.0; 8192];
        let mut data = Data { x, blocks: vec![0.0; p * BLOCK], all: vec![0.0; p * BLOCK] };
        let started = Instant::now();
        let mut calls = 0_u32;
        loop {
            (0..16).for_each(|_| call(comm, &mut data));
            calls += 16;
            // Not counted: at most a sixteenth of the time of the shortest calls.
            let mut over = [u64::from(comm.rank() == 0 && started.elapsed() >= time)];
            comm.all_reduce(&mut over, op::Max);
            if over[0] != 0 {
                return started.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
            }
        }
    });
    found.map_or(f64::NAN, |found| found[0])
}

/// The time of a clock so far.
fn clock(id: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to `time`.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of this process so far.
fn burnt() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Per cent of a core that each of `ranks - 1` ranks burns in a barrier for which one is `late`.
fn burns(ranks: usize, late: Duration, times: u32) -> f64 {
    let Ok(team) = Team::builder().ranks(ranks).pin_caller(true).build() else { return f64::NAN };
    let run = |times| {
        let body = |comm: &mut Comm| {
            for _ in 0..times {
                if comm.rank() == 1 {
                    std::thread::sleep(late);
                }
                comm.barrier();
            }
        };
        drop(team.run(body));
    };
    run(1);
    let (before, started) = (burnt(), Instant::now());
    run(times);
    let part = (burnt() - before).as_secs_f64() / started.elapsed().as_secs_f64();
    100.0 * part / (ranks - 1) as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_test = arguments.iter().any(|a| a == "--test");
    let text = |key: &str| arguments.iter().find_map(|a| a.strip_prefix(key)?.strip_prefix('='));
    let list = |key: &str, usual: &str| -> Vec<usize> {
        let list = text(key).unwrap_or(usual).split(',').filter(|&n| n != "none");
        list.map(|n| n.parse().expect("numbers, separated by commas")).collect()
    };
    let usual = |always, in_test| if is_test { in_test } else { always };
    let ranks = list("p", usual("2,4,8,16", "2,4"));
    let busy = list("busy", usual("0,1,2,8", "0,1"));
    let turns = list("turns", usual("5", "1"))[0];
    let time = Duration::from_millis(list("ms", usual("150", "2"))[0] as u64);
    let groups = text("group").unwrap_or(usual("same,other", "same"));
    let turn = Duration::from_millis(list("ms", usual("60", "2"))[0] as u64);
    let of = Turns { turns, time: turn, works: text("work") };
    if arguments.iter().any(|a| a == "uneven") {
        let quotas = text("quota").unwrap_or(usual("1,0.5", "1"));
        return uneven(groups, &list("busy", usual("0,1,2", "0,1")), quotas, &of);
    }
    if let Some(quota) = text("under-quota") {
        return uneven::rows(&format!("quota {quota}"), 0, false, &of);
    }
    let chosen = |name: &str| {
        text("op").is_none_or(|ops| ops.split(',').any(|op| name.starts_with(op.trim())))
    };
    let calls: Vec<_> = CALLS.iter().filter(|(name, _)| chosen(name)).collect();
    if !arguments.iter().any(|a| a == "late") {
        for group in groups.split(',') {
            println!(
                "\nBusy processes in {group} scheduler group; us a call, median of {turns}.\n"
            );
            let names: Vec<_> = calls.iter().map(|(name, _)| format!(" {name} |")).collect();
            println!("| p | busy |{} `std` | futex | worst |", names.concat());
            println!("|{}", "---|".repeat(calls.len() + 5));
            for &p in &ranks {
                for &n in &busy {
                    row(p, n, group == "other", turns, time, &calls);
                }
            }
        }
    }
    if text("p").is_none() || arguments.iter().any(|a| a == "late") {
        println!("\nPer cent of a core that each waiting rank burns while one is late.\n");
        println!("| p | busy | 1 ms | 10 ms | 100 ms |\n|---|---|---|---|---|");
        for &p in &ranks {
            for &n in &busy {
                let _busy = Busy::new(n, false, Duration::ZERO);
                let times = |usual| if is_test { 1 } else { usual };
                let late = [(1, times(100)), (10, times(20)), (100, times(5))];
                let late = late.map(|(ms, n)| burns(p, Duration::from_millis(ms), n));
                println!("| {p} | {n} | {:.1} | {:.1} | {:.1} |", late[0], late[1], late[2]);
            }
        }
    }
}

/// The table of uneven work: beside load, and under quotas of so many cores.
fn uneven(groups: &str, busy: &[usize], quotas: &str, of: &Turns<'_>) {
    uneven::head();
    for (k, group) in groups.split(',').enumerate() {
        for &n in busy.iter().filter(|&&n| n > 0 || k == 0) {
            let load = if n == 0 { "none".into() } else { format!("{n} {group}") };
            uneven::rows(&load, n, group == "other", of);
        }
    }
    for cores in quotas.split(',').filter_map(|cores| cores.parse().ok()) {
        // Of several periods, which have 100 ms: a process that is stopped goes on in the next.
        let ms = format!("ms={}", 5 * of.time.as_millis());
        let turns = format!("turns={}", of.turns);
        let mut arguments = vec![format!("under-quota={cores}"), turns, ms];
        arguments.extend(of.works.map(|works| format!("work={works}")));
        quota::run(cores, &arguments);
    }
}

fn row(p: usize, n: usize, other: bool, turns: usize, time: Duration, calls: &[&(&str, Call)]) {
    let busy = Busy::new(n, other, Duration::ZERO);
    std::thread::sleep(time.min(Duration::from_millis(50)));
    let mut found = vec![Vec::new(); calls.len() + 2];
    for _ in 0..turns {
        for (cell, (_, call)) in found.iter_mut().zip(calls) {
            cell.push(ours(p, time, *call));
        }
        let (std, futex) = (Barrier::new(p), Futex::new(p));
        found[calls.len()].push(threads(p, time, || _ = std.wait()));
        found[calls.len() + 1].push(threads(p, time, || futex.wait()));
    }
    drop(busy);
    let found: Vec<f64> = found.iter().map(|us| median(us)).collect();
    let [ours @ .., std, futex] = &found[..] else { return };
    let ratio = |(us, (name, _)): (&f64, &&(&str, Call))| {
        let floor =
            if matches!(*name, "barrier" | "all-reduce 8 B") { futex.min(*std) } else { *futex };
        us / floor
    };
    let worst = ours.iter().zip(calls).map(ratio).fold(0.0, f64::max);
    let cells: String = found.iter().map(|us| format!(" {us:.1} |")).collect();
    println!("| {p} | {n} |{cells} {worst:.2} |");
}
