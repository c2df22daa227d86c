//! Two ranks with work between the waits: even, 1 : 10, or of one rank alone.

use crate::busy::Busy;
use crate::futex::Futex;
use crate::{burnt, clock};
use phalanx::{Comm, Team, Wait};
use phalanx_model::{Joules, median};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Microseconds of work of rank 0, and of rank 1.
type Work = (u32, u32);

const WORK: [Work; 11] = [
    (0, 0),
    (20, 20),
    (200, 200),
    (50, 5),
    (200, 20),
    (1000, 100),
    (5000, 500),
    (20, 0),
    (200, 0),
    (1000, 0),
    (5000, 0),
];

/// The calling thread's processor time.
fn used() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Works as rank `rank` does, in its own time: to be kept from the core is no work.
fn work(rank: usize, work: Work) {
    let time = Duration::from_micros(if rank == 0 { work.0 } else { work.1 }.into());
    if !time.is_zero() {
        let end = used() + time;
        while used() < end {}
    }
}

/// Steps of threads that end with `meet`.
fn threads(steps: u32, of: Work, meet: &(dyn Fn() + Sync)) -> Duration {
    let part = |rank| {
        for _ in 0..steps {
            work(rank, of);
            meet();
        }
    };
    let started = Instant::now();
    std::thread::scope(|s| {
        s.spawn(|| part(1));
        part(0);
    });
    started.elapsed()
}

/// Steps of ranks that end with `meet`.
fn ranks(steps: u32, of: Work, wait: Wait, meet: fn(&mut Comm)) -> Duration {
    let team = Team::builder().ranks(2).wait(wait).build().expect("a team of two ranks");
    let started = Instant::now();
    let run = team.run(|comm| {
        for _ in 0..steps {
            work(comm.rank(), of);
            meet(comm);
        }
    });
    run.expect("no rank fails");
    started.elapsed()
}

/// A message each way.
fn exchange(comm: &mut Comm) {
    let (peer, mut got) = (1 - comm.rank(), [0_u64]);
    comm.send(&[7_u64], peer);
    comm.recv(&mut got, peer);
}

type Column = (&'static str, fn(u32, Work) -> Duration);

/// What is measured, the two references at the end.
const COLUMNS: [Column; 5] = [
    ("barrier", |steps, of| ranks(steps, of, Wait::Auto, Comm::barrier)),
    ("messages", |steps, of| ranks(steps, of, Wait::Auto, exchange)),
    ("`Park`", |steps, of| ranks(steps, of, Wait::Park, Comm::barrier)),
    ("`std`", |steps, of| {
        let barrier = Barrier::new(2);
        threads(steps, of, &|| _ = barrier.wait())
    }),
    ("futex", |steps, of| {
        let barrier = Futex::new(2);
        threads(steps, of, &|| barrier.wait())
    }),
];

/// Says how the cells come about.
pub(crate) fn head() {
    println!(
        "\nTwo ranks with work, us of rank 0 / rank 1, before each wait; us a step, medians.\n"
    );
    let names = COLUMNS.map(|(name, _)| format!(" {name} |")).concat();
    let last = "barrier, messages / best | cores: barrier, `std` | J a second: so |";
    println!("| work | load |{names} {last}\n|{}", "---|".repeat(10));
}

/// How often to measure what.
pub(crate) struct Turns<'a> {
    pub(crate) turns: usize,
    /// The time of one, about.
    pub(crate) time: Duration,
    /// Of these cells alone.
    pub(crate) works: Option<&'a str>,
}

/// The rows beside `busy` processes.
pub(crate) fn rows(load: &str, busy: usize, other: bool, of: &Turns<'_>) {
    let &Turns { turns, time, works } = of;
    let number = |text: &str| text.parse().expect("microseconds");
    let work = |text: &str| text.split_once('/').map(|(a, b)| (number(a), number(b)));
    let chosen = works.map(|all| all.split(',').filter_map(work).collect());
    for of in chosen.unwrap_or_else(|| WORK.to_vec()) {
        let processes = Busy::new(busy, other, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(30));
        let most = time.as_micros() as u32 / 15;
        let steps = (time.as_micros() as u32 / (of.0.max(of.1) + 5)).clamp(12, most);
        let mut found = COLUMNS.map(|_| Vec::new());
        let (mut cores, mut watts) = (COLUMNS.map(|_| Vec::new()), COLUMNS.map(|_| Vec::new()));
        for _ in 0..turns {
            for (k, (_, measure)) in COLUMNS.into_iter().enumerate() {
                let (before, energy) = (burnt(), Joules::now());
                let took = measure(steps, of).as_secs_f64();
                found[k].push(took * 1e6 / f64::from(steps));
                cores[k].push((burnt() - before).as_secs_f64() / took);
                watts[k].extend(energy.since().map(|joules| joules / took));
            }
        }
        drop(processes);
        let [ours, .., theirs, _] = cores.map(|cores| median(&cores));
        let found = found.map(|us| median(&us));
        let [barrier, messages, .., std, futex] = found;
        let cells = found.map(|us| format!(" {us:.1} |")).concat();
        let best = std.min(futex);
        let (a, b) = (barrier / best, messages / best);
        let [watts, .., theirs_watts, _] = watts.map(|watts| match median(&watts) {
            it if it.is_nan() => "-".to_string(),
            it => format!("{it:.1}"),
        });
        let last = format!("{a:.2}, {b:.2} | {ours:.2}, {theirs:.2} | {watts}, {theirs_watts}");
        println!("| {} / {} | {load} |{cells} {last} |", of.0, of.1);
    }
}
