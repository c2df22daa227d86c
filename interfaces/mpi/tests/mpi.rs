//! Tests over MPI: the program starts itself under `mpirun` (or `$MPIRUN`), as several processes
//! with several threads, and runs the battery that also runs on one node, and ways to fail. Each
//! start has a deadline; success is an exit code of 0 *and* a line of each process, failure the
//! expected code and text.
//!
//! `cargo test --test mpi [WORD]` runs those with names that contain it. Without a
//! launcher it skips, and says so.

#[path = "../../nodes/tests/across/battery.rs"]
mod battery;
#[path = "../../nodes/tests/across/calls.rs"]
mod calls;

use phalanx::op;
use phalanx_nodes::NodeComm;
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const CASE: &str = "PHALANX_MPI_CASE";
const THREADS: &str = "PHALANX_MPI_THREADS";

/// The demands on one start.
struct Case {
    name: &'static str,
    /// Of each process.
    threads: &'static [usize],
    run: fn(),
    expect: Expect,
}

enum Expect {
    /// A line of each process.
    Good,
    /// An exit code other than 0, and this in the output.
    Bad(&'static str),
}
use Expect::{Bad, Good};

const CASES: &[Case] = &[
    Case { name: "battery-1-1", threads: &[1, 1], run: whole, expect: Good },
    Case { name: "battery-2-2", threads: &[2, 2], run: whole, expect: Good },
    Case { name: "battery-1-3", threads: &[1, 3], run: whole, expect: Good },
    Case { name: "battery-1-1-1", threads: &[1, 1, 1], run: whole, expect: Good },
    Case { name: "battery-2-1-3", threads: &[2, 1, 3], run: whole, expect: Good },
    Case { name: "battery-4x1", threads: &[1, 1, 1, 1], run: whole, expect: Good },
    Case { name: "battery-1x4", threads: &[4], run: whole, expect: Good },
    Case { name: "pieces", threads: &[2, 1], run: pieces, expect: Good },
    Case { name: "rails", threads: &[2, 2], run: rails, expect: Good },
    Case { name: "rails-1-1-1", threads: &[1, 1, 1], run: rails, expect: Good },
    Case { name: "external", threads: &[2, 1], run: external, expect: Good },
    Case { name: "splits", threads: &[2, 2], run: splits, expect: Good },
    Case {
        name: "panic-0",
        threads: &[2, 2],
        run: || panics(0),
        expect: Bad("rank 0 panicked: bad luck"),
    },
    Case {
        name: "panic-1",
        threads: &[2, 2],
        run: || panics(1),
        expect: Bad("rank 1 panicked: bad luck"),
    },
    Case {
        name: "panic-3",
        threads: &[2, 2],
        run: || panics(3),
        expect: Bad("rank 3 panicked: bad luck"),
    },
    Case { name: "panic-main", threads: &[1, 1], run: panics_outside, expect: Bad("bad luck") },
    Case { name: "exit", threads: &[1, 2], run: exits, expect: Bad("ended inside of a run") },
    Case { name: "killed", threads: &[1, 2], run: killed, expect: Bad("") },
    Case { name: "differ", threads: &[1, 2], run: differ, expect: Bad("between nodes") },
    Case { name: "on-a-node", threads: &[2, 1], run: on_a_node, expect: Bad("root 7 is no rank") },
    Case { name: "returns", threads: &[1, 1], run: returns, expect: Bad("the end of the closure") },
    Case { name: "deadline", threads: &[1, 2], run: late, expect: Bad("the team's deadline") },
    Case {
        name: "deadline-pieces",
        threads: &[2, 1],
        run: late_in_pieces,
        expect: Bad("the team's deadline"),
    },
    Case {
        name: "rails-differ",
        threads: &[2, 2],
        run: rails_differ,
        expect: Bad("between nodes"),
    },
    Case { name: "uneven-rails", threads: &[1, 2], run: uneven_rails, expect: Bad("1 to 2") },
];

fn threads() -> usize {
    let all = std::env::var(THREADS).unwrap_or_default();
    let own = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].iter().find_map(|name| std::env::var(name).ok());
    let own: usize = own.and_then(|own| own.parse().ok()).unwrap_or(0);
    all.split(',').nth(own).and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn builder() -> phalanx_mpi::Builder {
    phalanx_mpi::builder().threads(threads())
}

fn on(builder: phalanx_mpi::Builder, f: impl Fn(&mut NodeComm) + Sync) {
    let cluster = builder.build().unwrap();
    cluster.run(f).unwrap();
    println!("ok node {}", cluster.node());
}

/// The battery; the bits are those of one node.
fn battery_on(builder: phalanx_mpi::Builder) {
    let cluster = builder.build().unwrap();
    let digests = cluster.run(battery::all).unwrap();
    let p = cluster.run(|comm| comm.size()).unwrap()[0];
    assert_eq!(digests[0], phalanx_nodes::run(p, battery::all).unwrap()[0], "on one node");
    println!("ok node {}", cluster.node());
}

fn whole() {
    battery_on(builder());
}

fn pieces() {
    battery_on(builder().piece(2048));
}

fn rails() {
    battery_on(builder().rails(true));
}

fn uneven_rails() {
    battery_on(builder().rails(true));
}

fn external() {
    let comms = builder().external().unwrap();
    std::thread::scope(|s| {
        for mut comm in comms {
            s.spawn(move || {
                let mut x = [1usize];
                comm.all_reduce(&mut x, op::Sum);
                assert_eq!(x[0], comm.size());
                let mut half = comm.split(comm.rank() % 2, 0);
                half.barrier();
            });
        }
    });
    println!("ok node {}", threads());
}

/// Halves that are made again and used at once, beside a message that is received after; more
/// splits than MPI has communicators (MPICH: about 2000); and threads that split different
/// communicators at the same time.
fn splits() {
    on(builder(), |comm| {
        let (rank, node) = (comm.rank(), comm.node());
        for _ in 0..2 {
            if node == 0 {
                comm.send(&[rank], rank + 2);
            }
            let mut half = comm.split(rank % 2, rank);
            // Of the two calls another one is first on each node.
            if rank % 2 == node {
                std::thread::sleep(Duration::from_millis(50));
            }
            let mut root = [rank];
            half.broadcast(&mut root, 0);
            assert_eq!(root, [rank % 2]);
            if node == 1 {
                comm.recv(&mut root, rank - 2);
                assert_eq!(root, [rank - 2]);
            }
        }
        let mut mine = comm.split(comm.rank() % 2, comm.rank());
        for k in 0..1500 {
            let mut again = mine.split(0, k % 3 * mine.rank());
            if k % 100 == 0 {
                again.barrier();
            }
        }
    });
}

fn panics(rank: usize) {
    on(builder(), |comm| {
        let mut x = [1.0; 100];
        comm.all_reduce(&mut x, op::Sum);
        if comm.rank() == rank {
            panic!("bad luck");
        }
        comm.all_reduce(&mut x, op::Sum);
    });
}

fn panics_outside() {
    let cluster = builder().build().unwrap();
    cluster.run(|comm| comm.barrier()).unwrap();
    if cluster.node() == 1 {
        panic!("bad luck");
    }
    cluster.run(|comm| comm.barrier()).unwrap();
}

fn exits() {
    on(builder(), |comm| {
        if comm.rank() == 1 {
            std::process::exit(0);
        }
        comm.barrier();
    });
}

fn killed() {
    on(builder(), |comm| {
        if comm.rank() == 2 {
            let own = std::process::id().to_string();
            let killed = Command::new("kill").args(["-9", &own]).status();
            panic!("still here: {killed:?}");
        }
        comm.barrier();
    });
}

fn differ() {
    on(builder(), |comm| {
        let mut x = [1u8; 8];
        match comm.node() {
            0 => comm.all_reduce(&mut x, op::Sum),
            _ => comm.broadcast(&mut x, 0),
        }
    });
}

/// A call of one node's ranks fails while another of them waits for the network.
fn on_a_node() {
    on(builder(), |comm| {
        let mut of_node = comm.split_by_node();
        match comm.rank() {
            0 => comm.recv(&mut [0u8], 2),
            1 => {
                std::thread::sleep(Duration::from_millis(300));
                of_node.broadcast(&mut [0u8], 7);
            }
            _ => std::thread::sleep(Duration::from_secs(20)),
        }
    });
}

fn returns() {
    on(builder(), |comm| {
        if comm.node() == 0 {
            comm.barrier();
        }
    });
}

fn late() {
    on(builder().deadline(Duration::from_secs(3)), |comm| {
        if comm.node() == 0 {
            std::thread::sleep(Duration::from_secs(60));
        }
        comm.barrier();
    });
}

/// Of a call in many pieces none is done when the deadline passes.
fn late_in_pieces() {
    on(builder().piece(2048).deadline(Duration::from_secs(3)), |comm| {
        let mut x = vec![1.0; 100_000];
        if comm.node() == 1 {
            std::thread::sleep(Duration::from_secs(60));
        }
        comm.all_reduce(&mut x, op::Sum);
    });
}

/// Rails that wait for different calls.
fn rails_differ() {
    on(builder().rails(true).deadline(Duration::from_secs(20)), |comm| {
        let mut x = vec![1u64; 50_000];
        match comm.node() {
            0 => comm.broadcast(&mut x, 0),
            _ => comm.all_reduce(&mut x, op::Sum),
        }
    });
}

/// For `.ci/two-hosts`, which cuts the cable: exchanges for a minute, with a
/// deadline of 3 s.
fn long() {
    on(builder().deadline(Duration::from_secs(3)), |comm| {
        let since = Instant::now();
        let mut x = vec![1.0; 10_000];
        // The same number of times on all ranks: rank 0 says when it is over.
        loop {
            comm.all_reduce(&mut x, op::Max);
            let mut more = [since.elapsed() < Duration::from_secs(60)];
            comm.broadcast(&mut more, 0);
            if !more[0] {
                break;
            }
        }
    });
}

/// How processes are started.
struct Launcher {
    program: String,
    flags: Vec<&'static str>,
    open_mpi: bool,
}

fn launcher() -> Option<Launcher> {
    let program = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_string());
    let said = Command::new(&program).arg("--version").output().ok()?;
    // Open MPI 4 calls itself OpenRTE, MPICH's launcher HYDRA.
    let open_mpi = !String::from_utf8_lossy(&said.stdout).contains("HYDRA");
    let flags = match open_mpi {
        true => vec!["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
        false => vec![],
    };
    Some(Launcher { program, flags, open_mpi })
}

/// The outcome of a start.
struct Outcome {
    code: Option<i32>,
    text: String,
    took: Duration,
}

/// Runs a command, for at most `limit`.
fn bounded(command: &mut Command, limit: Duration) -> Outcome {
    let since = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let read = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = from.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = read(Box::new(child.stdout.take().unwrap()));
    let err = read(Box::new(child.stderr.take().unwrap()));
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().or(Some(-1));
        }
        if since.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let took = since.elapsed();
    Outcome { code, text: out.join().unwrap() + &err.join().unwrap(), took }
}

/// Of one case; `splits` takes a minute with Open MPI 5 on two cores, half a second with
/// MPICH.
const LIMIT: Duration = Duration::from_secs(150);

impl Launcher {
    fn start(&self, case: &str, threads: &[usize], programs: &[&str]) -> Outcome {
        let mut command = Command::new(&self.program);
        command.args(&self.flags);
        let list: Vec<String> = threads.iter().map(usize::to_string).collect();
        command.env(CASE, case).env(THREADS, list.join(",")).env("PHALANX_PROFILE", "");
        match programs {
            [one] => {
                command.args(["-n", &threads.len().to_string(), one]);
            }
            [a, b] => {
                command.args(["-n", "1", a, ":", "-n", "1", b]);
            }
            _ => unreachable!("one program, or two"),
        }
        bounded(&mut command, LIMIT)
    }
}

/// The fault, if there is one.
fn judge(case: &Case, outcome: &Outcome) -> Result<(), String> {
    let lines = outcome.text.lines().filter(|line| line.contains("ok node")).count();
    match (outcome.code, &case.expect) {
        (None, _) => Err("hangs".to_string()),
        (Some(0), Good) if lines == case.threads.len() => Ok(()),
        (Some(code), Good) => Err(format!("code {code}, {lines} processes ended well")),
        (Some(0), Bad(_)) => Err("code 0".to_string()),
        (Some(_), Bad(text)) if outcome.text.contains(text) => Ok(()),
        (Some(code), Bad(text)) => Err(format!("code {code}, but {text:?} is not said")),
    }
}

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        if name == "long" {
            long();
            return ExitCode::SUCCESS;
        }
        let case = CASES.iter().find(|case| case.name == name).expect("a case");
        (case.run)();
        return ExitCode::SUCCESS;
    }
    let Some(launcher) = launcher() else {
        println!(
            "SKIPPED: no mpirun here (apt-get install openmpi-bin libopenmpi-dev, or set MPIRUN)"
        );
        return ExitCode::SUCCESS;
    };
    let filter = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or_default();
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let mut bad = 0;
    let mut say = |name: &str, result: Result<(), String>, outcome: &Outcome| {
        let seconds = outcome.took.as_secs_f64();
        match result {
            Ok(()) => println!("test {name} ... ok ({seconds:.1} s, code {:?})", outcome.code),
            Err(what) => {
                bad += 1;
                println!("test {name} ... FAILED: {what} ({seconds:.1} s)\n{}", outcome.text);
            }
        }
    };
    println!("launcher: {} (Open MPI: {})", launcher.program, launcher.open_mpi);
    for case in CASES.iter().filter(|case| case.name.contains(&filter)) {
        let outcome = launcher.start(case.name, case.threads, &[own]);
        say(case.name, judge(case, &outcome), &outcome);
    }
    if "builds".contains(&filter) {
        // Another build: the same, with a byte behind it.
        let other = format!("{own}.other");
        let mut bytes = std::fs::read(own).unwrap();
        bytes.push(0);
        std::fs::write(&other, bytes).unwrap();
        std::fs::set_permissions(&other, std::fs::metadata(own).unwrap().permissions()).unwrap();
        let outcome = launcher.start("battery-1-1", &[1, 1], &[own, &other]);
        let told = outcome.text.contains("different programs") && outcome.code != Some(0);
        let result = if told { Ok(()) } else { Err("not refused".to_string()) };
        say("builds", result, &outcome);
        std::fs::remove_file(&other).unwrap();
    }
    for (name, size, told) in [
        ("no-launcher", None, "ok node 0"),
        ("wrong-launcher", Some("2"), "the launcher of another MPI"),
    ] {
        if !name.contains(&filter) {
            continue;
        }
        let mut command = Command::new(own);
        command.env(CASE, "battery-1x4").env(THREADS, "2").env("PHALANX_PROFILE", "");
        if let Some(size) = size {
            command.env("PMI_SIZE", size).env_remove("OMPI_COMM_WORLD_SIZE");
        }
        let outcome = bounded(&mut command, LIMIT);
        let good = outcome.text.contains(told) && (outcome.code == Some(0)) == size.is_none();
        let result = if good { Ok(()) } else { Err("not as expected".to_string()) };
        say(name, result, &outcome);
    }
    println!("{bad} failed");
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
