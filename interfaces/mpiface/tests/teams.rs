//! Ranks inside ordinary programs, without a launcher, in C, C++ and Rust: three ways each. Without
//! the compiler, a test says so and passes.

mod common;

use common::{CC, CXX, directory, has, source, text};
use phalanx_mpi_abi::team::{self, Library, Member, Team};
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Calls a wrapper, which must succeed.
fn link(wrapper: &str, arguments: &[&str], program: &Path) {
    let mut command = Command::new(wrapper);
    command.args(["-g", "-O1"]).args(arguments).arg("-o").arg(program);
    let output = command.output().expect("the wrapper runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The library of part.c.
fn library() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let library = directory("teams").join("libpart.so");
        let part = source("part.c");
        link(CC, &["-shared", part.to_str().expect("UTF-8")], &library);
        library
    })
}

/// The ordinary program of host.c.
fn host() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let at = library().parent().expect("in a directory");
        let (host, source) = (at.join("host"), source("host.c"));
        let (place, source) = (at.to_str().expect("UTF-8"), source.to_str().expect("UTF-8"));
        let (search, found) = (format!("-L{place}"), format!("-Wl,-rpath,{place}"));
        link(CC, &["--plain", source, &search, &found, "-lpart"], &host);
        host
    })
}

/// Runs a program for five minutes at most: thousands of teams take that on a busy machine.
fn execute(program: &Path, arguments: &[&str], ranks: Option<&str>) -> Output {
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).args(arguments).env_remove("PHALANX_RANKS");
    if let Some(ranks) = ranks {
        command.env("PHALANX_RANKS", ranks);
    }
    command.output().expect("the program runs")
}

#[test]
fn c_has_three_ways_and_is_a_world_of_one_without_a_team() {
    if !has("cc") {
        return;
    }
    let output = execute(host(), &[], None);
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
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn the_number_of_ranks_is_the_arguments_else_the_environments_else_the_cores() {
    if !has("cc") {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(text(&execute(host(), &["ranks"], None).stdout), format!("{cores} 5\n"));
    assert_eq!(text(&execute(host(), &["ranks"], Some("7")).stdout), "7 5\n");
    assert_eq!(text(&execute(host(), &["ranks"], Some("none")).stdout), "-1 5\n");
}

/// More teams than there are names of copies: those of ended teams are used again.
#[test]
fn teams_that_ended_leave_nothing() {
    if !has("cc") {
        return;
    }
    let output = execute(host(), &["many", "4000"], None);
    let expected = "many: 1 ranks, calls 1, sum 1\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn a_function_of_an_executable_is_refused_and_an_early_return_is_named() {
    if !has("cc") {
        return;
    }
    let output = execute(host(), &["own"], None);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("is an executable") && err.contains("shared library"), "{err}");
    let output = execute(host(), &["early"], None);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("rank 0 waits in MPI_Barrier at part.c:"), "{err}");
    assert!(
        err.contains("rank 1 has left: return from the team's function; last: MPI_Comm_rank"),
        "{err}"
    );
    // The library has no edge for it: the rank comes back in each call.
    let output = execute(host(), &["silent"], None);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("rank 0 waits in MPI_Recv at part.c:"), "{err}");
    assert!(
        err.contains("rank 1 has left: return from the team's function; last: MPI_Barrier"),
        "{err}"
    );
}

#[test]
fn cxx_has_three_ways_with_callable_objects() {
    if !has("c++") {
        return;
    }
    let expected = "run: 3 3 3\ninvoke: 2 2 2\nstarted: 103, global 100\n";
    let program = common::compile(CXX, "host.cc", &[]);
    let output = Command::new(&program).output().expect("it can be executed");
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    // The same code in a library of an ordinary executable.
    let at = directory("teams-cxx");
    let (library, main) = (at.join("libbody.so"), at.join("main.c"));
    let code = source("host.cc");
    link(CXX, &["-shared", "-DPLAIN", code.to_str().expect("UTF-8")], &library);
    std::fs::write(&main, "int body(void);\nint main(void) { return body(); }\n").expect("ours");
    let program = at.join("main");
    let place = at.to_str().expect("UTF-8");
    let (search, found) = (format!("-L{place}"), format!("-Wl,-rpath,{place}"));
    let main = main.to_str().expect("UTF-8");
    link("cc", &[main, &search, &found, "-lbody"], &program);
    let output = execute(&program, &[], None);
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
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
    if !has("cc") {
        return;
    }
    // SAFETY: the library has no constructors.
    let library = unsafe { Library::open(library()) }.expect("a library");
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
