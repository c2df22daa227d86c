//! The cost of starting and ending a team, in time and memory, beside as many threads of the
//! standard library; and of waking a worker that sleeps, beside a wake of the system.
//!
//!     cargo bench --bench start                  64, 256 and 1024 ranks, and the wake
//!     .. -- 64 256                               these numbers of ranks
//!     .. -- wake                                 the wake only
//!
//! Ours and theirs take turns; medians. A raw thread binds itself to a core as a worker does, and
//! ends; a team is built and dropped. Memory is the growth in use (Linux's count of
//! resident pages) and the bytes asked of the allocator.

#[path = "raw/counting.rs"]
mod counting;

use counting::asked_for;
use phalanx::machine::affinity::{current_mask, pin_current_thread};
use phalanx::{Comm, Team, op};
use phalanx_model::median;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

fn milliseconds(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64() * 1e3
}

/// Threads that bind themselves in turn to the cores of the process.
fn raw_threads(ranks: usize, pus: &[usize]) {
    let bound = |rank: usize| {
        let pu = pus[rank % pus.len()];
        move || drop(pin_current_thread(pu))
    };
    let threads: Vec<_> = (1..ranks).map(|rank| std::thread::spawn(bound(rank))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
}

fn team(ranks: usize) -> Team {
    Team::builder().ranks(ranks).build().expect("a team")
}

/// KiB of the process that are in memory.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<f64>().ok());
    pages.unwrap_or(f64::NAN) * 4.0
}

type Call = fn(&mut Comm);

const CALLS: [(&str, Call); 3] = [
    ("run of nothing", |_| ()),
    ("barrier", |comm| comm.barrier()),
    ("all-reduce of 8 B", |comm| comm.all_reduce(&mut [1.0], op::Sum)),
];

fn memory(ranks: usize) {
    let (start, used) = (asked_for(), resident());
    let team = team(ranks);
    let line = |what: &str| {
        let bytes = (asked_for() - start) as f64 / 1024.0;
        println!("  {what:<24} {bytes:>10.0} KiB asked for {:>10.0} KiB in use", resident() - used);
    };
    line("built");
    for (name, call) in CALLS {
        team.run(call).expect("a run");
        line(name);
    }
}

fn start(ranks: usize, rounds: usize, pus: &[usize]) {
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        times[0].push(milliseconds(|| raw_threads(ranks, pus)));
        let start = Instant::now();
        let team = team(ranks);
        times[1].push(start.elapsed().as_secs_f64() * 1e3);
        drop(team);
        times[2].push(start.elapsed().as_secs_f64() * 1e3);
    }
    let [raw, built, ended] = times.map(|times| median(&times));
    println!(
        "{ranks} ranks: threads {raw:.2} ms; team built in {built:.2} ms, built and dropped in \
         {ended:.2} ms: {:.2} x",
        ended / raw
    );
    memory(ranks);
}

/// Sleeps until the word is no longer `old`.
#[cfg(target_os = "linux")]
fn sleep_on(word: &AtomicU32, old: u32) {
    while word.load(Acquire) == old {
        let none = std::ptr::null::<libc::timespec>();
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word outlives the call, which compares it.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, old, none) };
    }
}

#[cfg(target_os = "linux")]
fn wake(word: &AtomicU32, new: u32) {
    word.store(new, Release);
    // SAFETY: wakes by the address of a word that outlives the call.
    unsafe {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1)
    };
}

/// A sleeping thread is woken and answers: microseconds until the waker, which spins, sees it.
#[cfg(target_os = "linux")]
fn raw_wake(rounds: u32, pus: [usize; 2]) -> f64 {
    let (question, answer) = (AtomicU32::new(0), AtomicU32::new(0));
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            drop(pin_current_thread(pus[1]));
            for round in 1..=rounds {
                sleep_on(&question, round - 1);
                answer.store(round, Release);
            }
        });
        scope.spawn(|| {
            drop(pin_current_thread(pus[0]));
            for round in 1..=rounds {
                std::thread::sleep(Duration::from_millis(3));
                let start = Instant::now();
                wake(&question, round);
                while answer.load(Acquire) != round {
                    std::hint::spin_loop();
                }
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        });
    });
    median(&times)
}

/// `run` of nothing on a worker that sleeps.
#[cfg(target_os = "linux")]
fn our_wake(rounds: u32) -> f64 {
    let team = team(2);
    let times: Vec<f64> = (0..rounds)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(3));
            1e3 * milliseconds(|| drop(team.run(|_| ())))
        })
        .collect();
    median(&times)
}

#[cfg(target_os = "linux")]
fn wakes(rounds: u32, pus: &[usize]) {
    let &[first, second, ..] = pus else { return };
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let raw = raw_wake(rounds, [first, second]);
        let ours = our_wake(rounds);
        println!(
            "wake of a thread {raw:.1} us; run of nothing on a worker that sleeps {ours:.1} us"
        );
        ratios.push(ours / raw);
    }
    println!("{:.2} x", median(&ratios));
}

#[cfg(not(target_os = "linux"))]
fn wakes(_: u32, _: &[usize]) {}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_test = arguments.iter().any(|a| a == "--test");
    let pus = current_mask().unwrap_or_else(|_| vec![0]);
    let asked: Vec<usize> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let only_wake = arguments.iter().any(|a| a == "wake");
    let ranks = match (is_test, only_wake, &asked[..]) {
        (true, ..) => vec![8],
        (_, true, _) => vec![],
        (_, _, []) => vec![64, 256, 1024],
        (_, _, asked) => asked.to_vec(),
    };
    ranks.iter().for_each(|&ranks| start(ranks, if is_test { 1 } else { 9 }, &pus));
    if asked.is_empty() {
        wakes(if is_test { 2 } else { 100 }, &pus);
    }
}
