//! `phalanx-region-peers table [TASKS..]`: the programs of `phalanx-regions` on all pools, each
//! pool a process of its own, in turns. `ROWS` (names, or their beginnings), `ROUNDS` (of turns, 5)
//! and `BUSY` (beside so many busy processes) are variables. `run POOL ROW TASKS` is one of these
//! processes: it prints the median nanoseconds of a region, a step or a pass, the ping-pong between
//! two threads just before and after, and the cores that it kept busy: processor time over time.

#[path = "../../../tools/model/src/joules.rs"]
mod joules;
mod pools;
mod rayon_pool;

use phalanx::Team;
use phalanx_regions::components::Graph;
use phalanx_regions::decode::{Decoder, Room, Weights};
use phalanx_regions::nbody::Bodies;
use phalanx_regions::rows::Rows;
use phalanx_regions::split_decode::DecoderPart;
use phalanx_regions::triangular::Triangle;
use phalanx_regions::{Pool, Serial, ThreadsAtBarrier, agents};
use pools::{Chili, Forkunion, OpenMp, Paralight, Spindle};
use rayon_pool::Rayon;
use std::collections::BTreeMap;
use std::hint::{black_box, spin_loop};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

const POOLS: [&str; 10] = [
    "serial",
    "phalanx",
    "forkunion",
    "openmp-gcc",
    "openmp-clang",
    "spindle",
    "rayon",
    "paralight",
    "chili",
    "std-barrier",
];

const ROWS: [&str; 15] = [
    "empty",
    "uneven-200",
    "uneven-1000",
    "bodies-16",
    "bodies-128",
    "bodies-512",
    "decode-512-float",
    "decode-512-byte",
    "decode-1024-float",
    "decode-1024-byte",
    "components",
    "triangle",
    "agents",
    "split-512-float",
    "split-512-byte",
];

/// Median nanoseconds of a call, in batches of some 200 us, for a third of a second.
fn timed(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..3).for_each(|_| call());
    let once = start.elapsed().as_secs_f64() / 3.0;
    let calls = (2e-4 / once).clamp(1.0, 2000.0) as u32;
    let (start, mut all) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_millis(350) || all.len() < 5 {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        all.push(start.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    median(&mut all)
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn row(pool: &mut impl Pool, row: &str) -> f64 {
    let number = || row.split('-').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    match row.split('-').next() {
        Some("empty") => timed(|| {
            pool.region(&|task| {
                black_box(task);
            });
        }),
        // Microseconds of the last task; the first has a tenth of that to do.
        Some("uneven") => timed(|| {
            pool.region(&|task| {
                let us = if task == 0 { number() / 10 } else { number() };
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(us as u64) {
                    spin_loop();
                }
            });
        }),
        Some("bodies") => {
            let mut bodies = Bodies::new(number());
            timed(|| bodies.step(pool))
        }
        Some("decode") => {
            let (decoder, mut room) = (decoder(row), Room::default());
            let start = decoder.start();
            timed(|| {
                let mut x = start.clone();
                decoder.step(pool, &mut x, &mut room);
                black_box(x);
            })
        }
        Some("components") => {
            let graph = Graph::chains(12);
            timed(|| drop(black_box(graph.components(pool))))
        }
        Some("triangle") => {
            let triangle = Triangle::new(200, 128, 8);
            let (b, mut x) = (vec![1.0; triangle.len()], vec![0.0; triangle.len()]);
            timed(|| triangle.solve(pool, &b, black_box(&mut x)))
        }
        _ => f64::NAN,
    }
}

fn decoder(row: &str) -> Decoder {
    let weights = if row.ends_with("byte") { Weights::Byte } else { Weights::Float };
    let width = if row.contains("1024") { 1024 } else { 512 };
    Decoder::random(24, width, weights)
}

/// Rows that not all pools have.
fn special(pool: &str, row: &str, tasks: usize) -> f64 {
    const STEPS: usize = 200;
    match (row, pool) {
        ("agents", "serial") => {
            timed(|| drop(black_box(agents::serial(tasks, STEPS)))) / STEPS as f64
        }
        ("agents", "phalanx") => {
            let team = Team::builder().ranks(tasks).build().expect("a team");
            timed(|| drop(black_box(agents::by_exchange(&team, STEPS)))) / STEPS as f64
        }
        ("agents", "std-barrier") => {
            timed(|| drop(black_box(agents::by_channels(tasks, 20 * STEPS)))) / (20 * STEPS) as f64
        }
        ("triangle", "phalanx") => {
            let triangle = Triangle::new(200, 128, 8);
            let (b, mut x) = (vec![1.0; triangle.len()], vec![0.0; triangle.len()]);
            let team = Team::builder().ranks(tasks).build().expect("a team");
            timed(|| {
                let rows = Rows::new(&mut x);
                // SAFETY: the ranks alone use the slice, as long as the system.
                team.run(|comm| unsafe { triangle.solve_as_rank(comm, &b, &rows) }).expect("a run");
            })
        }
        (_, "phalanx") if row.starts_with("split") => {
            let decoder = decoder(row);
            let team = Team::builder().ranks(tasks).build().expect("a team");
            let times = team.run(|comm| {
                let part = DecoderPart::new(&decoder, comm.rank(), comm.size());
                let (start, mut room) = (decoder.start(), Room::default());
                let mut all = Vec::new();
                for _ in 0..15 {
                    let (mut x, start) = (start.clone(), Instant::now());
                    part.step(comm, &mut x, &mut room);
                    black_box(x);
                    all.push(start.elapsed().as_nanos() as f64);
                }
                median(&mut all)
            });
            times.expect("a run")[0]
        }
        (_, "serial") if row.starts_with("split") => {
            crate::row(&mut Serial, &row.replace("split", "decode"))
        }
        _ => f64::NAN,
    }
}

fn run(pool: &str, name: &str, tasks: usize) -> Result<f64, String> {
    if ["agents", "split"].iter().any(|it| name.starts_with(it))
        || (name, pool) == ("triangle", "phalanx")
    {
        return Ok(special(pool, name, tasks));
    }
    Ok(match pool {
        "serial" => row(&mut Serial, name),
        "phalanx" => {
            row(&mut Team::builder().ranks(tasks).build().map_err(|e| e.to_string())?, name)
        }
        "forkunion" => row(&mut Forkunion::new(tasks), name),
        "openmp-gcc" => row(&mut OpenMp::new("gcc", tasks)?, name),
        "openmp-clang" => row(&mut OpenMp::new("clang", tasks)?, name),
        "rayon" => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(tasks).build();
            pool.map_err(|e| e.to_string())?.install(|| row(&mut Rayon(tasks), name))
        }
        "spindle" => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(tasks).build();
            let inside = || spindle::with_lock(tasks, || row(&mut Spindle(tasks), name));
            pool.map_err(|e| e.to_string())?.install(inside)
        }
        "paralight" => row(&mut Paralight::new(tasks), name),
        "chili" => row(&mut Chili::new(tasks), name),
        "std-barrier" => row(&mut ThreadsAtBarrier::new(tasks), name),
        _ => return Err(format!("no pool is called {pool}")),
    })
}

/// Nanoseconds of a ping-pong of two bound threads.
fn ping_pong() -> f64 {
    #[repr(align(128))]
    struct Line(AtomicU64);
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    let Ok(team) = Team::builder().ranks(2).build() else { return f64::NAN };
    let turns = |rank: usize| {
        let (mine, other) = if rank == 0 { (&there, &back) } else { (&back, &there) };
        let mut best = f64::MAX;
        let mut k = 0;
        for _ in 0..20 {
            let start = Instant::now();
            for _ in 0..200 {
                k += 1;
                if rank == 0 {
                    mine.0.store(k, Release);
                }
                while other.0.load(Acquire) != k {
                    spin_loop();
                }
                if rank == 1 {
                    mine.0.store(k, Release);
                }
            }
            best = best.min(start.elapsed().as_nanos() as f64 / 200.0);
        }
        best
    };
    team.run(|comm| turns(comm.rank())).map_or(f64::NAN, |times| times[0])
}

/// Processor seconds of this process so far, by the system's ticks; 0 where nobody says.
fn used() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Nanoseconds and cores by pool, and whether the two cores were far from each other; of rounds in
/// which they were as near after as before.
/// (Threads of OpenMP are not bound: the first would stay so, and the ping-pong after it with it.)
fn turns(row: &str, tasks: usize, rounds: usize) -> BTreeMap<(usize, bool), [Vec<f64>; 2]> {
    let own = std::env::current_exe().expect("a path");
    let mut times = BTreeMap::<_, [Vec<f64>; 2]>::new();
    for _ in 0..rounds {
        for (at, pool) in POOLS.iter().enumerate() {
            let out = Command::new(&own)
                .args(["run", pool, row, &tasks.to_string()])
                .env("OMP_WAIT_POLICY", "active")
                .output();
            let Ok(out) = out else { continue };
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            let numbers: Vec<f64> =
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            if let [ns, before, after, cores] = numbers[..]
                && ns.is_finite()
                && (tasks > 2 || (before - after).abs() < 0.2 * after)
            {
                let is_far = tasks == 2 && after > 260.0;
                let [all_ns, all_cores] = times.entry((at, is_far)).or_default();
                all_ns.push(ns);
                all_cores.push(cores);
            }
        }
    }
    times
}

fn told(ns: f64) -> String {
    match ns {
        ns if ns < 1e4 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

fn table(tasks: usize) {
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let wanted = std::env::var("ROWS").unwrap_or_default();
    let busy = std::env::var("BUSY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let beside = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
    let mut beside: Vec<_> = (0..busy).filter_map(|n: usize| beside(n).ok()).collect();
    let energy = joules::Joules::now();
    println!("\nTime, and cores kept busy.\n");
    println!("| {tasks} tasks, {busy} busy | {} |", POOLS.join(" | "));
    println!("|---|{}", "---|".repeat(POOLS.len()));
    let is_wanted =
        |row: &&&str| wanted.is_empty() || wanted.split(',').any(|it| row.starts_with(it));
    for row in ROWS.iter().filter(is_wanted) {
        let mut times = turns(row, tasks, rounds);
        for (is_far, place) in [(false, ""), (true, ", far")] {
            let cell = |at| {
                let Some([ns, cores]) = times.get_mut(&(at, is_far)) else { return String::new() };
                format!("{}, {:.1}", told(median(ns)), median(cores))
            };
            let cells: Vec<_> = (0..POOLS.len()).map(cell).collect();
            println!("| {row}{place} | {} |", cells.join(" | "));
        }
    }
    if let Some(joules) = energy.since() {
        println!("\nAll processors: {joules:.0} J.");
    }
    for process in &mut beside {
        let _ = process.kill().and_then(|()| process.wait());
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", pool, row, tasks] => {
            let before = ping_pong();
            let (since, already) = (Instant::now(), used());
            let found = run(pool, row, tasks.parse().unwrap_or(2));
            let cores = (used() - already) / since.elapsed().as_secs_f64();
            match found {
                Ok(ns) => println!("{ns} {before} {} {cores:.2}", ping_pong()),
                Err(why) => eprintln!("{pool}: {why}"),
            }
        }
        ["table", ref tasks @ ..] => {
            let tasks: Vec<usize> = tasks.iter().filter_map(|n| n.parse().ok()).collect();
            let tasks = if tasks.is_empty() { vec![2] } else { tasks };
            tasks.into_iter().for_each(table);
        }
        _ => eprintln!("phalanx-region-peers table [TASKS..] | run POOL ROW TASKS"),
    }
}
