//! The cost of a process over a thread: all-reduces of a team of processes and of a team of
//! threads, in turns, from 16 bytes to 32 MiB.
//!
//! ```text
//! cargo bench -p phalanx-processes --bench beside_threads -- \
//!     [-p RANKS] [-t f32|bf16] [-n TURNS] [--cpus 0,1,..] [--least BYTES] [--most BYTES]
//! ```
//!
//! Each rank writes its vector before each call, which is in the time: else no byte would change
//! its core in the calls that combine in place. A turn makes as many calls as take about 2 ms; its
//! time is that of the slowest rank. Lower quartiles of the turns, since other programs disturb
//! some, in microseconds a call. `symmetric` has its vectors in the team's memory. With `--test`
//! one turn of small vectors.

use half::bf16;
use phalanx::machine::affinity::pin_current_thread;
use phalanx::placement::Placement;
use phalanx_processes::{Plain, Team, op};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A turn lasts so long.
const TURN: Duration = Duration::from_millis(2);

#[derive(Clone, Debug)]
struct Arguments {
    ranks: usize,
    element: String,
    turns: usize,
    cpus: Vec<usize>,
    least: usize,
    most: usize,
    /// Of a process that this one has started: its rank, and the team's name.
    rank: usize,
    name: String,
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        ranks: 2,
        element: "f32".to_string(),
        turns: 31,
        cpus: Vec::new(),
        least: 16,
        most: 32 << 20,
        rank: 0,
        name: format!("bench {}", std::process::id()),
    };
    let mut all = std::env::args().skip(1);
    while let Some(argument) = all.next() {
        if argument == "--bench" {
            continue;
        }
        if argument == "--test" {
            (found.turns, found.most) = (1, 1 << 16);
            continue;
        }
        let Some(value) = all.next() else { usage(&argument) };
        let number = |text: &str| text.parse().unwrap_or_else(|_| usage(&argument));
        match argument.as_str() {
            "-p" => found.ranks = number(&value),
            "-t" => found.element = value,
            "-n" => found.turns = number(&value),
            "--cpus" => found.cpus = value.split(',').map(number).collect(),
            "--least" => found.least = number(&value),
            "--most" => found.most = number(&value),
            "--rank" => found.rank = number(&value),
            "--name" => found.name = value,
            _ => usage(&argument),
        }
    }
    found
}

fn usage(argument: &str) -> ! {
    eprintln!(
        "beside_threads: {argument}: see the head of interfaces/processes/benches/beside_threads.rs"
    );
    std::process::exit(2)
}

/// Another rank: with the arguments of this one, and those that tell it apart.
fn start(arguments: &Arguments, rank: usize) -> Child {
    let program = std::env::current_exe().expect("a program has a path");
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.args(["--rank", &rank.to_string(), "--name", &arguments.name]);
    command.spawn().expect("a process")
}

/// Microseconds a call, of so many calls.
fn time(calls: usize, mut call: impl FnMut()) -> f64 {
    let since = Instant::now();
    (0..calls).for_each(|_| call());
    since.elapsed().as_secs_f64() * 1e6 / calls as f64
}

fn quartile(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 4]
}

/// A turn of the processes: the slowest rank's time. After some calls all are awake.
fn turn(team: &mut Team, calls: usize, mut call: impl FnMut(&mut Team)) -> f64 {
    team.barrier().expect("all ranks");
    (0..10).for_each(|_| call(team));
    let mut took = [time(calls, || call(team))];
    team.all_reduce(&mut took, op::Max).expect("all ranks");
    took[0]
}

fn bench<T: Plain>(arguments: &Arguments)
where
    op::Sum: op::Operator<T>,
{
    if let Some(cpu) = arguments.cpus.get(arguments.rank) {
        pin_current_thread(*cpu).expect("a processing unit of the mask");
    }
    let Arguments { ranks, turns, rank, name, .. } = arguments;
    let builder = Team::builder().memory(arguments.most);
    let mut team = builder.join(name, *rank, *ranks).expect("a team");
    if *rank == 0 {
        println!("# {ranks} ranks, {}, {turns} turns; us a call", arguments.element);
        println!("bytes\tprocesses\tsymmetric\tthreads\tratio");
    }
    let threads = || {
        let mut builder = phalanx::Team::builder().ranks(*ranks);
        if !arguments.cpus.is_empty() {
            builder = builder.placement(Placement::List(arguments.cpus.clone()));
        }
        builder.build().expect("a team of threads")
    };
    let threads = (*rank == 0).then(threads);
    let mut bytes = arguments.least;
    while bytes <= arguments.most {
        let n = bytes / size_of::<T>();
        let mut x = vec![zero::<T>(); n];
        let shared = team.symmetric::<T>(n).expect("memory");
        // As many as take a turn's time: all ranks find the same.
        let mut calls = 3;
        loop {
            let once = turn(&mut team, calls, |team| team.all_reduce(&mut x, op::Sum).expect("a"));
            if calls > 10_000 || once * calls as f64 > TURN.as_secs_f64() * 5e5 {
                break;
            }
            calls *= 2;
        }
        let (mut of_processes, mut of_symmetric, mut of_threads) = (vec![], vec![], vec![]);
        for _ in 0..*turns {
            of_processes.push(turn(&mut team, calls, |team| {
                x.fill(zero());
                team.all_reduce(&mut x, op::Sum).expect("a call");
            }));
            of_symmetric.push(turn(&mut team, calls, |team| {
                // SAFETY: this rank's own, which no other uses before the call.
                unsafe { shared.as_mut_ptr().write_bytes(0, n) };
                team.all_reduce_symmetric(&shared, op::Sum).expect("a call");
            }));
            if let Some(threads) = &threads {
                let took = threads.run(|comm| {
                    let mut x = vec![zero::<T>(); n];
                    (0..10).for_each(|_| comm.all_reduce(&mut x, op::Sum));
                    time(calls, || {
                        x.fill(zero());
                        comm.all_reduce(&mut x, op::Sum);
                    })
                });
                let took = took.expect("all ranks");
                of_threads.push(took.into_iter().fold(0.0, f64::max));
            }
        }
        if *rank == 0 {
            let [a, b, c] = [of_processes, of_symmetric, of_threads].map(quartile);
            println!("{bytes}\t{a:.2}\t{b:.2}\t{c:.2}\t{:.2}", a / c);
        }
        team.free(shared).expect("all ranks");
        bytes *= 2;
    }
}

fn zero<T: Plain>() -> T {
    // SAFETY: every bit pattern is a value.
    unsafe { std::mem::zeroed() }
}

fn main() {
    let arguments = arguments();
    let others: Vec<Child> = match arguments.rank {
        0 => (1..arguments.ranks).map(|rank| start(&arguments, rank)).collect(),
        _ => Vec::new(),
    };
    match arguments.element.as_str() {
        "f32" => bench::<f32>(&arguments),
        "bf16" => bench::<bf16>(&arguments),
        other => usage(other),
    }
    for mut other in others {
        other.wait().expect("a rank's process");
    }
}
