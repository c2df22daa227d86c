//! Ranks inside ordinary programs, without a launcher, in C, C++ and Rust: three ways each. Without
//! the compiler, a test says so and passes.

mod common;

use common::*;
use phalanx_mpi_abi::team::{self, Library, Member, Team};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// The library of part.c, and the ordinary program of host.c, if there is a compiler.
fn made() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let make = || {
        let at = directory_with(&["cc"], "teams")?;
        link(CC, &at, "-g -O1 -shared @part.c -o libpart.so");
        link(CC, &at, "-g -O1 --plain @host.c -L$AT -Wl,-rpath,$AT -lpart -o host");
        Some(at)
    };
    MADE.get_or_init(make).as_deref()
}

/// Runs a program for five minutes at most: thousands of teams take that on a busy machine.
fn execute(program: &Path, arguments: &[&str], ranks: Option<&str>) -> Ended {
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).args(arguments).env_remove("PHALANX_RANKS");
    if let Some(ranks) = ranks {
        command.env("PHALANX_RANKS", ranks);
    }
    end(&mut command)
}

#[test]
fn c_has_three_ways_and_is_a_world_of_one_without_a_team() {
    let Some(at) = made() else { return };
    let Ended { out, err, .. } = execute(&at.join("host"), &[], None);
    let expected = "\
alone: 1
alone: 1 ranks, calls 1, sum 1
run: 1 ranks, calls 1, sum 1
run: 2 ranks, calls 1 1, sum 2
run: 3 ranks, calls 1 1 1, sum 3
run: 4 ranks, calls 1 1 1 1, sum 4
invoke: 3 ranks, calls 1 1 1, sum 3
invoke: 3 ranks, calls 2 2 2, sum 6
invoke: 3 ranks, calls 3 3 3, sum 9
MPI was there before MPI_Init: 3
started: 3 ranks, 25 49
alone: 1 ranks, calls 2, sum 2
";
    assert_eq!(out, expected, "{err}");
}

#[test]
fn the_number_of_ranks_is_the_arguments_else_the_environments_else_the_cores() {
    let Some(at) = made() else { return };
    let ranks = |variable| execute(&at.join("host"), &["ranks"], variable).out;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(ranks(None), format!("{cores} 5\n"));
    assert_eq!(ranks(Some("7")), "7 5\n");
    assert_eq!(ranks(Some("none")), "-1 5\n");
}

/// More teams than there are names of copies: those of ended teams are used again.
#[test]
fn teams_that_ended_leave_nothing() {
    let Some(at) = made() else { return };
    let Ended { out, err, .. } = execute(&at.join("host"), &["many", "4000"], None);
    assert_eq!(out, "many: 1 ranks, calls 1, sum 1\n", "{err}");
}

#[test]
fn a_function_of_an_executable_is_refused_and_an_early_return_is_named() {
    let Some(at) = made() else { return };
    let left = "rank 1 has left: return from the team's function; last: ";
    let [early, silent] = ["MPI_Comm_rank", "MPI_Barrier"].map(|it| format!("{left}{it}"));
    for (how, words) in [
        ("own", ["is an executable", "shared library"]),
        ("early", ["rank 0 waits in MPI_Barrier at part.c:", &early]),
        // The library has no edge for it: the rank comes back in each call.
        ("silent", ["rank 0 waits in MPI_Recv at part.c:", &silent]),
    ] {
        let Ended { code, err, .. } = execute(&at.join("host"), &[how], None);
        assert_eq!(code, Some(1), "{how}: {err}");
        assert!(words.iter().all(|it| err.contains(it)), "{how}: {err}");
    }
}

#[test]
fn cxx_has_three_ways_with_callable_objects() {
    let Some(at) = directory_with(&["c++"], "teams-cxx") else { return };
    let expected = "run: 3 3 3\ninvoke: 2 2 2\nstarted: 103, global 100\n";
    let Ended { out, err, .. } = end(&mut Command::new(common::compile(CXX, "host.cc", &[])));
    assert_eq!(out, expected, "{err}");
    // The same code in a library of an ordinary executable.
    link(CXX, &at, "-g -O1 -shared -DPLAIN @host.cc -o libbody.so");
    let main = "int body(void);\nint main(void) { return body(); }\n";
    std::fs::write(at.join("main.c"), main).expect("ours");
    link("cc", &at, "-g -O1 main.c -L$AT -Wl,-rpath,$AT -lbody -o main");
    let Ended { out, err, .. } = execute(&at.join("main"), &[], None);
    assert_eq!(out, expected, "{err}");
}

/// struct part of part.h.
#[derive(Clone, Copy)]
#[repr(C)]
struct Part {
    size: c_int,
    calls: [c_int; 64],
    sums: [c_int; 64],
}

/// An address that all ranks share.
#[derive(Clone, Copy)]
struct Shared(*mut Part);

// SAFETY: each rank writes its own places; rank 0 alone writes the size.
unsafe impl Sync for Shared {}

impl Shared {
    /// Calls part_count in the rank's copy.
    fn count(&self, member: &Member<'_>) {
        let count = member.symbol(c"part_count").expect("part.c has it");
        // SAFETY: this is its type.
        let count: extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(count) };
        count(self.0.cast());
    }
}

#[test]
fn rust_has_three_ways() {
    let Some(at) = made() else { return };
    // SAFETY: the library has no constructors.
    let library = unsafe { Library::open(at.join("libpart.so")) }.expect("a library");
    let mut part = Part { size: 0, calls: [0; 64], sums: [0; 64] };
    let shared = Shared(&raw mut part);

    for ranks in [1, 2, 4] {
        team::run(Some(ranks), &library, |member| shared.count(member)).expect("it runs");
        // SAFETY: no rank runs.
        let seen = unsafe { *shared.0 };
        assert_eq!(seen.size as usize, ranks);
        assert_eq!((seen.calls[ranks - 1], seen.sums[0] as usize), (1, ranks));
    }

    let mut team = Team::new(Some(3)).expect("a team");
    for call in 1..4 {
        team.invoke(&library, |member| shared.count(member)).expect("it runs");
        // SAFETY: no rank runs.
        let seen = unsafe { *shared.0 };
        assert_eq!((seen.size, seen.calls[2], seen.sums[1]), (3, call, 3 * call));
    }
    drop(team);

    let serve = |member: &Member<'_>| {
        let serve = member.symbol(c"part_serve").expect("part.c has it");
        // SAFETY: this is its type.
        let serve: extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(serve) };
        serve(std::ptr::null_mut());
    };
    let started = Team::start(Some(3), &library, serve).expect("a team");
    let ask = started.member().symbol(c"part_ask").expect("part.c has it");
    // SAFETY: this is its type.
    let ask: extern "C" fn(c_int, c_int) -> c_int = unsafe { std::mem::transmute(ask) };
    assert_eq!((started.size(), ask(1, 5), ask(2, 7)), (3, 25, 49));
    started.join();
}
