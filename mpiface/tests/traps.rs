//! The traps of running one rank a thread, each as a small program (tests/programs) that is
//! compiled by the wrappers and run by the launcher. Without the compiler, a test says so and
//! passes.

mod common;

use common::{
    CC, CXX, FORT, RUN, compile, differ, directory, fail, has, run, say_skipped, source, succeed,
    text,
};
use std::path::Path;
use std::process::Command;

#[test]
fn globals_statics_and_thread_locals_are_a_ranks_own() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "hello.c", &[]);
    for ranks in [1, 2, 5, 64] {
        let out = succeed(ranks, &program, &["one", "two"]);
        assert_eq!(out.lines().count(), ranks);
        assert!(out.contains(&format!("hello from {} of {ranks}, 3 arguments", ranks - 1)));
    }
}

#[test]
fn a_program_runs_alone_as_a_world_of_one() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "hello.c", &["-DALONE"]);
    let output = Command::new(&program).args(["a b", ""]).output().expect("it can be executed");
    assert_eq!(text(&output.stdout), "hello from 0 of 1, 3 arguments\n");
}

/// Started by itself or by the launcher: constructors, destructors, codes and errors are the same.
#[test]
fn a_program_alone_is_an_ordinary_process() {
    use std::os::unix::process::ExitStatusExt as _;
    if !has("c++") {
        return;
    }
    let program = compile(CXX, "alone.cc", &[]);
    let head = "constructed\nmain: 1 of 2 arguments, 1\n";
    let left = "phalanx: ranks have left without MPI_Finalize:\n  rank 0 has left: ";
    let waits = "rank 0 waits in MPI_Recv at alone.cc:25 (main): ";
    for (how, code, tail, words) in [
        ("end", Some(3), "at exit\ndestroyed\n", ""),
        ("leave", Some(1), "at exit\ndestroyed\n", "exit with code 0 without MPI_Finalize"),
        ("leave", Some(1), "at exit\ndestroyed\n", "last: exit at alone.cc:22 (main)"),
        ("return", Some(4), "at exit\ndestroyed\n", "return from main with code 4"),
        ("return", Some(4), "at exit\ndestroyed\n", "last: MPI_Comm_size at alone.cc:"),
        ("fault", None, "", "phalanx: rank 0: segmentation fault at alone.cc:24 (main)"),
        ("wait", Some(1), "", waits),
    ] {
        let mut launched = Command::new(RUN);
        launched.args(["-n", "1"]).arg(&program);
        let mut by_itself = Command::new("./alone");
        by_itself.current_dir(program.parent().expect("it lies in a directory"));
        for (command, whose) in [(&mut by_itself, "by itself"), (&mut launched, "launched")] {
            let output = command.arg(how).output().expect("it can be executed");
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            let status = (output.status.code(), output.status.signal());
            let expected = (code, code.is_none().then_some(11));
            assert_eq!(status, expected, "{whose}, {how}: {out}{err}");
            // What a process prints into a file is lost where it dies.
            let is_lost = code.is_none() && out.is_empty();
            assert!(is_lost || out == format!("{head}{tail}"), "{whose}, {how}: {out}{err}");
            assert!(err.contains(words), "{whose}, {how}: {words} is not in {err}");
            let is_left = how == "leave" || how == "return";
            assert_eq!(err.contains(left), is_left, "{whose}, {how}: {err}");
        }
    }
}

/// What libraries do at the end is done, whatever is said of the program: the Fortran library
/// closes its units, and a library's constructor may have given a function to `atexit`.
#[test]
fn libraries_end_well_where_a_program_leaves_early() {
    let at = directory("endings");
    let leaves = |program: &Path, file: &str| {
        let mut launched = Command::new(RUN);
        launched.args(["-n", "1"]).arg(program);
        for (mut command, whose) in [(Command::new(program), "by itself"), (launched, "launched")] {
            let _ = std::fs::remove_file(at.join(file));
            let output = command.current_dir(&at).output().expect("it can be executed");
            let err = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{whose}: {err}");
            assert!(err.contains("without MPI_Finalize"), "{whose}: {err}");
            let kept = std::fs::read_to_string(at.join(file)).unwrap_or_default();
            assert_eq!(kept.trim(), "42", "{whose}: {file}");
        }
    };
    if has("cc") {
        let library = at.join("libnotes.so");
        let file = source("notes.c");
        let link = |options: &[&str], to: &Path| {
            let made = Command::new(CC).arg(&file).args(options).arg("-o").arg(to).status();
            assert!(made.expect("it runs").success());
        };
        link(&["-shared", "-DLIBRARY"], &library);
        let (search, found) =
            (format!("-L{}", at.display()), format!("-Wl,-rpath,{}", at.display()));
        let program = at.join("notes");
        link(&[&search, &found, "-Wl,--no-as-needed", "-lnotes"], &program);
        leaves(&program, "notes.txt");
    }
    if has("gfortran") {
        leaves(&compile(FORT, "unit.f90", &[]), "unit.txt");
    }
}

/// By a name that is looked for in PATH, and from another directory: lines are found all the same.
#[test]
fn a_program_alone_is_found_under_any_name() {
    if !has("c++") {
        return;
    }
    let program = compile(CXX, "alone.cc", &["-DPATH"]);
    let output = Command::new("sh")
        .args(["-c", "cd / && PATH=$1:$PATH && exec alone leave", "sh"])
        .arg(program.parent().expect("it lies in a directory"))
        .output()
        .expect("a shell runs");
    let err = text(&output.stderr);
    assert!(err.contains("last: exit at alone.cc:22 (main)"), "{err}");
}

/// PETSc's configure compiles its run tests so.
#[test]
fn a_main_that_is_not_exported_is_found() {
    for (wrapper, compiler) in [(CC, "cc"), (CXX, "c++")] {
        if !has(compiler) {
            return;
        }
        let program = compile(wrapper, "hello.c", &["-DHIDDEN", "-fvisibility=hidden"]);
        let out = succeed(2, &program, &[]);
        assert!(out.contains("hello from 1 of 2, 1 arguments"), "{out}");
    }
}

#[test]
fn unique_symbols_of_cxx_are_a_ranks_own() {
    if !has("c++") {
        return;
    }
    let program = compile(CXX, "unique.cc", &[]);
    assert_eq!(succeed(8, &program, &[]), "private\n");
}

#[test]
fn unique_symbols_in_objects_of_another_compiler_are_patched() {
    if !has("g++") {
        return;
    }
    // Compiled without the wrapper, so with unique symbols.
    let at = directory("prebuilt");
    let headers = Command::new(CXX).arg("-showme:compile").output().expect("it runs");
    let include = text(&headers.stdout).split_whitespace().next().expect("-I..").to_owned();
    let object = at.join("unique.o");
    let status = Command::new("g++")
        .args(["-c", "-fPIC", "-fgnu-unique", &include, "-o"])
        .arg(&object)
        .arg(source("unique.cc"))
        .status();
    assert!(status.expect("it runs").success());
    let program = at.join("unique");
    let status = Command::new(CXX).arg(&object).arg("-o").arg(&program).status();
    assert!(status.expect("it runs").success());
    assert_eq!(succeed(4, &program, &[]), "private\n");
}

#[test]
fn getopt_strtok_and_rand_have_a_state_a_rank() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "state.c", &[]);
    let options = ["--nx=40", "-v", "file", "--verbose", "-n", "abc"];
    assert_eq!(succeed(4, &program, &options), "own state\n");
}

#[test]
fn names_of_the_c_library_in_a_program_are_the_programs() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "names.c", &["-fno-builtin", "-w"]);
    assert_eq!(succeed(2, &program, &[]), "3 3\n3 3\n");
}

#[test]
fn threads_of_openmp_know_their_rank() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "omp.c", &["-fopenmp"]);
    assert_eq!(succeed(3, &program, &[]), "0 wrong\n");
}

#[test]
fn the_programs_own_libraries_are_private() {
    if !has("cc") {
        return;
    }
    let at = directory("library");
    let library = at.join("liblocal.so");
    let status =
        Command::new(CC).arg("-shared").arg(source("library.c")).arg("-o").arg(&library).status();
    assert!(status.expect("it runs").success());
    let program = at.join("uses_library");
    let status = Command::new(CC)
        .arg(source("uses_library.c"))
        .arg(format!("-L{}", at.display()))
        .arg(format!("-Wl,-rpath,{}", at.display()))
        .args(["-llocal", "-o"])
        .arg(&program)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(succeed(4, &program, &[]), "private\n");
}

#[test]
fn fortran_units_are_a_ranks_own() {
    if !has("gfortran") {
        return;
    }
    let program = compile(FORT, "units.f90", &[]);
    let at = directory("units-files");
    let output = Command::new(RUN)
        .args(["-n", "4"])
        .arg(&program)
        .current_dir(&at)
        .output()
        .expect("the launcher runs");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("own units"), "{out}{err}");
}

#[test]
fn point_to_point_and_types() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "p2p.c", &[]);
    for ranks in [1, 2, 3, 4, 8] {
        assert_eq!(succeed(ranks, &program, &[]), "p2p fine\n");
    }
}

#[test]
fn collectives_groups_and_grids() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "coll.c", &[]);
    for ranks in [1, 2, 3, 4, 6, 8] {
        assert_eq!(succeed(ranks, &program, &[]), "coll fine\n");
    }
}

#[test]
fn further_functions() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "more.c", &[]);
    for ranks in [1, 2, 5] {
        assert_eq!(succeed(ranks, &program, &[]), "more fine\n");
    }
}

#[test]
fn attributes_persistent_requests_infos_and_error_handlers() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "objects.c", &[]);
    for ranks in [1, 2, 5] {
        assert_eq!(succeed(ranks, &program, &[]), "objects fine\n");
    }
}

#[test]
fn long_doubles_empty_statuses_and_extents() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "corners.c", &["-w"]);
    for ranks in [1, 2, 3, 5, 8] {
        assert_eq!(succeed(ranks, &program, &[]), "corners fine\n");
    }
}

#[test]
fn operators_have_one_result_on_every_way() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "operators.c", &["-w"]);
    for ranks in [1, 2, 3, 5, 8] {
        assert_eq!(succeed(ranks, &program, &[]), "operators fine\n");
    }
}

#[test]
fn a_shim_of_another_version_is_refused() {
    if !has("cc") {
        return;
    }
    let at = directory("stranger");
    let library = at.join("libmpi_abi.so.0");
    std::fs::write(
        at.join("shim.c"),
        "const unsigned long long phalanx_table = 1; void phalanx_bind(void) {}\n\
         int MPI_Init(void) { return 0; }\n",
    )
    .expect("it can be written");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.0", "-o"])
        .arg(&library)
        .arg(at.join("shim.c"))
        .status();
    assert!(made.expect("it runs").success());
    // Linked with ours; found is the other one.
    let program = at.join("hello");
    let made = Command::new(CC)
        .arg(format!("-Wl,-rpath,{}", at.display()))
        .arg(source("hello.c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(made.expect("it runs").success());
    let output = run(2, &program, &[]);
    let err = text(&output.stderr);
    assert!(!output.status.success() && err.contains("of another version of Phalanx"), "{err}");
}

#[test]
fn collectives_that_are_started_many_times() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "again.c", &[]);
    for ranks in [1, 2, 3, 5, 8] {
        assert_eq!(succeed(ranks, &program, &[]), "again fine\n");
    }
}

#[test]
fn the_launcher_ends_a_run_when_its_time_is_up() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "endless.c", &[]);
    let output = Command::new(RUN)
        .args(["-n", "2"])
        .arg(&program)
        .env("MPIEXEC_TIMEOUT", "3")
        .output()
        .expect("the launcher runs");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{err}");
    assert!(err.contains("the time is up") && err.contains("rank 0 runs"), "{err}");
    assert!(err.contains("rank 1 waits in MPI_Recv at endless.c"), "{err}");
}

#[test]
fn collectives_that_complete_later_matched_probes_and_order() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "later.c", &[]);
    for ranks in [1, 2, 3, 8] {
        assert_eq!(succeed(ranks, &program, &[]), "later fine\n");
    }
}

#[test]
fn any_call_moves_what_its_rank_has_started() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "progress.c", &[]);
    for (ranks, seed) in [(1, "1"), (2, "20"), (3, "300"), (4, "4000")] {
        assert_eq!(succeed(ranks, &program, &[seed, "20"]), "progress fine\n");
    }
}

#[test]
fn started_collectives_in_any_mixture() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "started.c", &[]);
    for ranks in [1, 2, 3, 5, 8] {
        assert_eq!(succeed(ranks, &program, &["40"]), "started fine\n");
    }
}

/// Of short broadcasts, no data shows that roots differ: nobody reads a root's card there.
#[test]
fn started_collectives_that_differ_are_named() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "started.c", &[]);
    let at = |call: &str| format!("MPI_{call} at started.c:");
    for (how, call, others) in [
        ("roots", "Ibcast", "Ibcast"),
        ("free", "Ibcast", "Ibcast"),
        ("many", "Ibcast", "Ibcast"),
        ("count", "Iallreduce", "Iallreduce"),
        ("long", "Ireduce", "Igather"),
    ] {
        differ(&program, how, 1, &at(call), &at(others));
    }
    fail(&program, "more", 1, &["rank 0: MPI_Ibcast at started.c:", "it has not started it"]);
    let room = ["rank 0: MPI_Wait at started.c:", "gives 8 bytes in MPI_Igather at started.c:"];
    fail(&program, "room", 15, &room);
}

#[test]
fn fortran_with_the_module() {
    if !has("gfortran") {
        return;
    }
    let program = compile(FORT, "module.f90", &["-w"]);
    for ranks in [1, 4] {
        assert_eq!(succeed(ranks, &program, &[]), " module fine\n");
    }
}

/// The table of the README says which functions are there: as functions.txt.
#[test]
fn the_readme_names_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("part of the package");
    let (readme, list) = (read("README.md"), read("functions.txt"));
    let words: Vec<&str> = readme.split(|it: char| !it.is_alphanumeric() && it != '_').collect();
    for line in list.lines().filter(|it| it.starts_with("+ ")) {
        let name = line.split([' ', '(']).nth(2).expect("a name");
        assert!(words.contains(&name), "{name} is there, and the README does not say so");
    }
}

#[test]
fn exit_of_one_rank_after_the_end_is_its_code_and_runs_atexit() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "leave.c", &["-DAFTER"]);
    let output = run(3, &program, &["after"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(5), "atexit\n".repeat(3)));
}

#[test]
fn leaving_without_finalize_is_said_and_a_programs_own_code_stays() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "leave.c", &[]);
    let back = |rank: usize| {
        format!("rank {rank} has left: return from main with code 0 without MPI_Finalize; last: ")
    };
    let all = [0, 1, 2].map(|rank| back(rank) + "MPI_Comm_size at leave.c:");
    fail(&program, "nobody", 1, &all.each_ref().map(String::as_str));
    fail(&program, "one", 1, &["rank 0 waits in MPI_Finalize at leave.c:", &back(1)]);
    let exits = ["rank 0 has left: exit with code 0", "rank 2 has left: exit with code 7"];
    fail(&program, "given", 7, &exits);
}

#[test]
fn calls_may_come_from_any_thread_of_a_rank_one_after_the_other() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "ends.c", &["-lpthread"]);
    for ranks in [2, 3, 8] {
        assert_eq!(succeed(ranks, &program, &["threads"]), "passed\n");
    }
}

/// The table "What ends a rank" in the README.
#[test]
fn every_end_of_a_rank_is_an_end() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "ends.c", &["-lpthread"]);
    let cut = "rank 1 has left: the end of its main thread, by pthread_exit or pthread_cancel, \
               with code 0 without MPI_Finalize; last: MPI_Comm_size at ends.c:";
    for how in ["cut", "cancel"] {
        fail(&program, how, 1, &[cut, "rank 0 waits in MPI_Barrier at ends.c:"]);
    }
    assert_eq!(text(&run(3, &program, &["cut"]).stdout), "cleaned up main\n");
    fail(&program, "at_once", 3, &["phalanx: rank 1: _exit with code 3 ends all ranks"]);
    fail(&program, "at_once_well", 1, &["phalanx: rank 1: _Exit with code 0 ends all ranks"]);
    fail(&program, "quick", 6, &["phalanx: rank 1: quick_exit with code 6 ends all ranks"]);
    let helper = "rank 1: a thread of its own: exit with code 4 ends all ranks";
    fail(&program, "helper", 4, &[helper]);
    let output = run(3, &program, &["cut_after"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert_eq!(succeed(1, &program, &["at_once_after"]), "");
}

/// The child has no ranks; the parent goes on.
#[test]
fn a_child_of_a_fork_cannot_call_mpi() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "ends.c", &["-lpthread"]);
    let output = run(3, &program, &["fork"]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("rank 0: MPI_Send at ends.c:"), "{err}");
    assert!(err.contains("it was called in a child of fork, which has no ranks"), "{err}");
}

#[test]
fn faults_end_in_time_and_name_ranks_and_lines() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "leave.c", &[]);
    let late = "rank 0 waits in MPI_Barrier at leave.c:";
    let exit = "rank 1 has left: exit with code 0 without MPI_Finalize; last: exit at leave.c:";
    fail(&program, "exit", 1, &[exit, late]);
    let back = "rank 1 has left: return from main with code 0 without MPI_Finalize; last: ";
    fail(&program, "return", 1, &[&format!("{back}MPI_Comm_size at leave.c:"), late]);
    fail(&program, "abort", 42, &["rank 1: MPI_Abort at leave.c:"]);
    differ(&program, "order", 1, "MPI_Bcast at leave.c:", "MPI_Barrier at leave.c:");
    differ(&program, "root", 1, "MPI_Bcast at leave.c:", "MPI_Bcast at leave.c:");
    fail(&program, "root", 1, &["root 0", "root 1"]);
    differ(&program, "count", 1, "MPI_Allreduce at leave.c:", "MPI_Allreduce at leave.c:");
    fail(&program, "count", 1, &["4 bytes", "8 bytes"]);
    differ(&program, "type", 1, "MPI_Allreduce at leave.c:", "MPI_Allreduce at leave.c:");
    fail(&program, "type", 1, &["operator MPI_SUM of I32", "operator MPI_SUM of F32"]);
    differ(&program, "later", 1, "MPI_Ibcast at leave.c:", "MPI_Ibarrier at leave.c:");
    let never =
        ["rank 0 waits in MPI_Wait at leave.c:", "all ranks to start MPI_Ibarrier at leave.c:"];
    fail(&program, "never", 1, &never);
    fail(&program, "never", 1, &["rank 1 has left: exit with code 0 without MPI_Finalize"]);
    fail(&program, "absent", 1, &["MPI_Comm_spawn at leave.c:", "is not in the subset"]);
    for rank in 0..3 {
        let waits = format!("rank {rank} waits in MPI_Send at leave.c:");
        fail(&program, "circle", 1, &[&waits, &format!("rank {} of the", (rank + 1) % 3)]);
        // These ranks have made no call of the library's: it has nothing to add.
        let output = run(3, &program, &["circle"]);
        let err = text(&output.stderr);
        assert_eq!(err.lines().count(), 4, "{err}");
        assert!(!err.contains("panicked"), "{err}");
    }
    let any = [0, 1, 2].map(|rank| format!("rank {rank} waits in MPI_Recv at leave.c:"));
    fail(&program, "any", 1, &any.each_ref().map(String::as_str));
    let other = "has come, and is not asked for: tag 8, 4 bytes from rank 0, MPI_Send at leave.c:";
    fail(&program, "tag", 1, &["message from rank 0 of the communicator, tag 9", other]);
    let truncated = ["rank 1: MPI_Recv at leave.c:", "from rank 0, sent in MPI_Send at leave.c:"];
    fail(&program, "truncate", 15, &truncated);
}

#[test]
fn faults_of_other_kinds_end_in_time_too() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "faults.c", &[]);
    for (how, odd, call, others) in [
        ("part", 2, "Reduce", "Reduce"),
        ("gather", 1, "Gather", "Gather"),
        ("operator", 1, "Reduce", "Reduce"),
        ("missing", 1, "Finalize", "Allreduce"),
        ("once", 2, "Allreduce", "Bcast"),
    ] {
        let at = |call: &str| format!("MPI_{call} at faults.c:");
        differ(&program, how, odd, &at(call), &at(others));
    }
    // Each rank's length is another.
    let broadcast = "MPI_Bcast at faults.c:";
    fail(&program, "broadcast", 1, &["calls of one collective differ:", broadcast, broadcast]);
    fail(&program, "scatter", 15, &["MPI_Scatter at faults.c:", "16 bytes are given, and 12 are"]);
    let waits = |rank: usize, call: &str| format!("rank {rank} waits in MPI_{call} at faults.c:");
    for (how, calls) in [
        ("cross", ["Barrier", "Barrier", "Barrier"]),
        ("received", ["Finalize", "Recv", "Recv"]),
        ("tag", ["Finalize", "Recv", "Finalize"]),
        ("master", ["Recv", "Recv", "Recv"]),
        ("circle", ["Wait", "Wait", "Wait"]),
        ("ssend", ["Ssend", "Ssend", "Ssend"]),
        ("neighbour", ["Sendrecv", "Sendrecv", "Sendrecv"]),
        ("waitall", ["Waitall", "Waitall", "Waitall"]),
        ("waitany", ["Waitany", "Waitany", "Waitany"]),
        ("probe", ["Probe", "Finalize", "Finalize"]),
    ] {
        let words = [0, 1, 2].map(|rank| waits(rank, calls[rank]));
        fail(&program, how, 1, &words.each_ref().map(String::as_str));
    }
}

/// Tests in vain end by their limit, if nobody else can go on; not while somebody works.
#[test]
fn ranks_that_only_test_end_by_the_limit() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "faults.c", &["-DTESTS"]);
    let run = |how: &str| {
        let output = Command::new("timeout")
            .args(["60", RUN, "-n", "3"])
            .arg(&program)
            .arg(how)
            .env("PHALANX_MPI_POLLS", "1")
            .output();
        let output = output.expect("the launcher runs");
        (output.status.code(), text(&output.stderr))
    };
    let (code, err) = run("test");
    let words = ["rank 0 waits in MPI_Test at faults.c:", "rank 1 has left: exit with code 0"];
    assert!(code == Some(1) && words.iter().all(|it| err.contains(it)), "{err}");
    let (code, err) = run("iprobe");
    let words = ["rank 0 waits in MPI_Iprobe at faults.c:", "rank 1 waits in MPI_Iprobe at"];
    assert!(code == Some(1) && words.iter().all(|it| err.contains(it)), "{err}");
    let (code, err) = run("later");
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn lines_of_ranks_stay_whole_and_streams_are_a_ranks_own() {
    if !has("cc") || !has("c++") {
        return;
    }
    let whole = |program: &Path, line: &dyn Fn(usize) -> String| {
        for ranks in [1, 4] {
            let out = succeed(ranks, program, &[]);
            assert_eq!(out.lines().count(), 200 * ranks);
            for rank in 0..ranks {
                let line = line(rank);
                assert_eq!(out.lines().filter(|it| **it == line).count(), 200, "{line}: {out}");
            }
        }
    };
    let program = compile(CC, "output.c", &[]);
    whole(&program, &|rank| format!("<rank {rank} of{}line >", ".".repeat(rank)));
    let program = compile(CC, "output.c", &["-D_FORTIFY_SOURCE=2", "-DSAFE"]);
    whole(&program, &|rank| format!("<rank {rank} of{}line >", ".".repeat(rank)));
    let program = compile(CXX, "output.cc", &["-DCXX"]);
    whole(&program, &|rank| {
        let third = format!("{:.*}", rank + 1, 1.0 / 3.0);
        format!("<rank {rank} has {rank}: {third:>0$}>", rank + 8)
    });
}

#[test]
fn an_exception_that_nobody_catches_is_told_with_its_line() {
    use std::os::unix::process::ExitStatusExt as _;
    if !has("c++") {
        return;
    }
    let program = compile(CXX, "throw.cc", &[]);
    let output = Command::new(RUN).args(["-n", "3"]).arg(&program).output().expect("it runs");
    let err = text(&output.stderr);
    assert_eq!(output.status.signal(), Some(6), "{err}");
    for words in ["what():  nobody catches this", "rank 1: abort in a call at throw.cc:9 ("] {
        assert!(err.contains(words), "{err}");
    }
}

#[test]
fn a_stop_of_fortran_names_its_line() {
    if !has("gfortran") {
        return;
    }
    let program = compile(FORT, "stop.f90", &[]);
    let words = ["rank 1 has left: exit with code 3", "last: exit at stop.f90:8 ("];
    fail(&program, "", 1, &words);
    fail(&program, "", 1, &["rank 0 waits in MPI_Barrier at stop.f90:9 ("]);
}

#[test]
fn a_crash_is_the_processes_and_names_its_rank() {
    use std::os::unix::process::ExitStatusExt as _;
    if !has("cc") {
        return;
    }
    let program = compile(CC, "leave.c", &["-DCRASH"]);
    for (how, signal, words) in [
        ("crash", 11, "rank 1: segmentation fault at leave.c:"),
        ("raise", 6, "rank 1: abort in a call at leave.c:"),
    ] {
        // Without `timeout`, which would tell the signal in its own way.
        let output =
            Command::new(RUN).args(["-n", "3"]).arg(&program).arg(how).output().expect("it runs");
        let err = text(&output.stderr);
        assert_eq!(output.status.signal(), Some(signal), "{err}");
        assert!(err.contains(words), "{err}");
    }
}

/// What the program says on the standard error, and the signal by which it ends.
fn crash(ranks: &str, limit: &str, program: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    use std::os::unix::process::ExitStatusExt as _;
    // Without `timeout`, which would tell the signal in its own way.
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -c 0; ulimit -s {limit} && exec \"$@\""), "sh"])
        .args([RUN, "-n", ranks])
        .arg(program)
        .args(arguments)
        .output()
        .expect("a shell runs");
    (output.status.signal(), text(&output.stderr))
}

/// SPMD programs fault on all ranks at once: each is named, and the process dies by the first.
#[test]
fn faults_on_several_ranks_at_once_are_named() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "crash.c", &["-lpthread"]);
    for (how, signal, what) in [
        ("segv", 11, "segmentation fault at crash.c:"),
        ("fpe", 8, "arithmetic fault at crash.c:"),
        ("ill", 4, "illegal instruction at crash.c:"),
        ("abort", 6, "abort in a call at crash.c:"),
        ("free", 6, "abort in a call at crash.c:"),
        ("bus", 7, "bus error at crash.c:"),
    ] {
        for (who, ranks) in [("all", &[0, 1, 2, 3][..]), ("odd", &[1, 3]), ("one", &[1])] {
            let (by, err) = crash("4", "8192", &program, &[how, who]);
            assert_eq!(by, Some(signal), "{how} {who}: {err}");
            // On a busy machine one may come when the process ends already.
            let told = ranks.iter().filter(|it| err.contains(&format!("rank {it}: {what}")));
            assert!(told.count() >= 1, "{how} {who}: {err}");
            let lines = err.lines().filter(|it| it.contains(what)).count();
            assert!(lines <= ranks.len(), "{how} {who}: {err}");
        }
    }
    let (by, err) = crash("4", "8192", &program, &["mixed", "all"]);
    assert!(matches!(by, Some(8 | 11)) && err.contains(" fault at crash.c:"), "{by:?} {err}");
    // A thread that a rank has made has no number.
    for (how, signal, words) in [
        ("helper segv", 11, "phalanx: a thread of a rank: segmentation fault at crash.c:"),
        ("helper abort", 6, "phalanx: a thread of a rank: abort in a call at crash.c:"),
    ] {
        for who in ["all", "one"] {
            let (by, err) = crash("4", "8192", &program, &[how, who]);
            assert!(by == Some(signal) && err.contains(words), "{how} {who}: {by:?} {err}");
        }
    }
    // Not more lines than a screen has.
    let (_, err) = crash("40", "8192", &program, &["segv", "all"]);
    assert!(err.lines().count() <= 9 && err.contains("segmentation fault at"), "{err}");
}

/// `ulimit -s` is what a program's stack may have where its ranks are processes.
#[test]
fn a_stack_overflow_names_the_option_and_the_limit_counts() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "crash.c", &["-lpthread"]);
    for (how, who) in [("deep", "all"), ("deep", "one"), ("large", "all"), ("large", "one")] {
        let (by, err) = crash("2", "8192", &program, &[how, who]);
        let words = ["rank 1: stack overflow at crash.c:", "`phalanx-mpirun --stack MIB`"];
        let words = if who == "one" { &words[..] } else { &[" stack overflow at crash.c:"] };
        assert_eq!(by, Some(11), "{how}: {err}");
        assert!(words.iter().all(|it| err.contains(it)), "{how}: {err}");
        assert!(err.contains("the rank's stack has 64 MiB"), "{how}: {err}");
    }
    for limit in ["unlimited", "200000"] {
        let (by, err) = crash("2", limit, &program, &["large", "all"]);
        let is_refused = err.contains("ulimit");
        assert!(by.is_none() && (err.is_empty() || is_refused), "{limit}: {by:?} {err}");
        if is_refused {
            say_skipped(&format!("the hard limit is lower than {limit}: {err}"));
        }
    }
}

/// The ranks that run already do not wait for the one that has no thread.
#[test]
fn a_rank_that_gets_no_thread_ends_the_run_with_the_reason() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "hello.c", &["-DLIMIT"]);
    // With one arena, what a rank allocates fits between the stacks and the limit.
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 2700000 && exec \"$@\"", "sh", "timeout", "60", RUN])
        .args(["-n", "4", "--stack", "1024"])
        .arg(&program)
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .expect("a shell runs");
    let (code, err) = (output.status.code(), text(&output.stderr));
    let words = "phalanx: a thread for rank 2: ";
    assert!(code == Some(1) && err.contains(words) && err.contains("ulimit -v"), "{code:?} {err}");
}

/// The launcher begins again with room for them, and the program sees its own environment.
#[test]
fn thread_locals_of_the_initial_exec_model_have_room() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "tls.c", &[]);
    let run = |ranks: &str, tunables: &str| {
        let mut launcher = Command::new("timeout");
        launcher.args(["60", RUN, "-n", ranks]).arg(&program);
        match tunables {
            "none" => launcher.env_remove("GLIBC_TUNABLES"),
            tunables => launcher.env("GLIBC_TUNABLES", tunables),
        };
        let output = launcher.output().expect("it runs");
        (text(&output.stdout), text(&output.stderr))
    };
    for (ranks, tunables) in [
        ("1", "none"),
        ("8", "none"),
        ("64", "none"),
        ("8", "glibc.malloc.tcache_count=3"),
        ("8", "glibc.rtld.optional_static_tls=100000"),
        ("8", "glibc.rtld.optional_static_tls=100"),
        // More than a rank's stack, of which it is set aside.
        ("2", "glibc.rtld.optional_static_tls=100000000"),
    ] {
        let (out, err) = run(ranks, tunables);
        assert_eq!(out, format!("private, tunables {tunables}\n"), "{ranks}: {err}");
    }
}

#[test]
fn a_rank_that_waits_for_long_says_so_once() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "stall.c", &[]);
    let run = |how: &str, option: &[&str], variable: &str| {
        let mut launcher = Command::new("timeout");
        launcher.args(["60", RUN, "-n", "3"]).args(option).arg(&program).arg(how);
        let output = launcher.env("PHALANX_STALL_WARNING", variable).output().expect("it runs");
        let err = text(&output.stderr);
        assert!(output.status.success(), "{how}: {err}");
        err
    };
    let once = "  This is said once in a run, after the seconds of PHALANX_STALL_WARNING or \
                `phalanx-mpirun --stall-warning` (0 is never). MPIEXEC_TIMEOUT=SECONDS ends a run.";
    for (how, waits) in [
        ("barrier", "waits in MPI_Barrier at stall.c:"),
        ("started", "waits in MPI_Wait at stall.c:"),
        ("recv", "waits in MPI_Recv at stall.c:"),
        ("any", "waits in MPI_Recv at stall.c:"),
        ("test", "waits in MPI_Finalize at stall.c:"),
    ] {
        let err = run(how, &["--stall-warning", "0.3"], "");
        assert_eq!(err.matches(once).count(), 1, "{how}: {err}");
        assert_eq!(err.matches("phalanx: rank ").count(), 1, "{how}: {err}");
        assert!(err.contains(" 300ms") && err.contains(waits), "{how}: {err}");
        let late = "rank 1 runs; its latest collective: MPI_Barrier at stall.c:";
        assert!(err.contains(late), "{how}: {err}");
    }
    assert!(run("barrier", &[], "0.3").contains(once));
    for (option, variable) in [(&["--stall-warning", "0"][..], "0.3"), (&[], "0"), (&[], "")] {
        assert_eq!(run("barrier", option, variable), "");
    }
    let wrong = Command::new(RUN).args(["--stall-warning", "x"]).output().expect("it runs");
    assert!(text(&wrong.stderr).contains("--stall-warning wants a number of seconds"));
}

/// With the copies kept as files, a core dump names the function and the line in the copy, and its
/// variables.
#[test]
fn a_core_dump_names_the_line_in_the_copy() {
    if !has("cc") || !has("gdb") {
        return;
    }
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.contains(['|', '/']) {
        say_skipped(&format!("core dumps of this system go elsewhere: {pattern}"));
        return;
    }
    let program = compile(CC, "leave.c", &["-DCORE"]);
    let at = directory("core");
    for entry in std::fs::read_dir(&at).expect("it is there").flatten() {
        let _ = std::fs::remove_file(entry.path());
    }
    let output = Command::new("sh")
        .args(["-c", "ulimit -c unlimited && exec \"$@\"", "sh", RUN, "-n", "3"])
        .arg(&program)
        .arg("crash")
        .current_dir(&at)
        .env("PHALANX_MPI_COPIES", &at)
        .output()
        .expect("a shell runs");
    let err = text(&output.stderr);
    let files = std::fs::read_dir(&at).expect("it is there").flatten().map(|it| it.path());
    let is_core = |it: &std::path::PathBuf| {
        it.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"))
    };
    let Some(core) = files.into_iter().find(is_core) else {
        say_skipped(&format!("no core dump was written: {err}"));
        return;
    };
    let output = Command::new("timeout")
        .args(["60", "gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "bt"])
        .args(["-ex", "print rank"])
        .arg(RUN)
        .arg(&core)
        .output()
        .expect("gdb runs");
    let out = text(&output.stdout);
    assert!(out.contains("leave.c:") && out.contains("= 1"), "{out}{}", text(&output.stderr));
    let _ = std::fs::remove_file(core);
}

/// The run tests of configure and CMake: a small program is executed by itself; its code counts.
#[test]
fn run_tests_of_configure_give_their_code() {
    if !has("cc") {
        return;
    }
    let at = directory("configure");
    for (body, code) in [("return sizeof(long) == 8 ? 0 : 1;", 0), ("exit(3);", 3)] {
        let source = at.join("conftest.c");
        let head = "#include <mpi.h>\n#include <stdlib.h>\nint main(int c, char **v)";
        let inside = format!("{{ MPI_Init(&c, &v); MPI_Finalize(); {body} }}\n");
        std::fs::write(&source, format!("{head} {inside}")).expect("ours");
        let status =
            Command::new(CC).args(["-o", "conftest", "conftest.c"]).current_dir(&at).status();
        assert!(status.expect("it runs").success());
        let status = Command::new("./conftest").current_dir(&at).status().expect("it runs");
        assert_eq!(status.code(), Some(code));
    }
}

#[test]
fn no_main_is_an_error_of_the_link_and_static_is_refused() {
    if !has("cc") {
        return;
    }
    let at = directory("nomain");
    let link = |options: &[&str]| {
        let output = Command::new(CC)
            .args(options)
            .arg(source("library.c"))
            .arg("-o")
            .arg(at.join("x"))
            .output();
        output.expect("the wrapper runs")
    };
    let output = link(&[]);
    assert!(!output.status.success() && text(&output.stderr).contains("main"));
    let output = link(&["-static"]);
    assert!(!output.status.success() && text(&output.stderr).contains("-static"));
}

#[test]
fn an_executable_that_was_linked_otherwise_is_refused() {
    let output = run(2, Path::new("/bin/true"), &[]);
    let err = text(&output.stderr);
    assert!(!output.status.success() && err.contains("phalanx-mpicc"), "{err}");
}

#[test]
fn wrappers_show_what_they_call() {
    let show = |option: &str| {
        let output = Command::new(CC).arg(option).output().expect("the wrapper runs");
        text(&output.stdout)
    };
    assert!(show("-showme:compile").contains("-fPIC"));
    assert!(show("-showme:link").contains("-lmpi_abi"));
    let all = show("-show");
    assert!(all.contains("-fPIC") && all.contains("ph_entry") && all.contains("-shared"));
}

/// What gdb says to these commands about a command line; nothing, if it may not trace here.
fn gdb(commands: &[&str], line: &[&str]) -> Option<String> {
    if !has("cc") || !has("gdb") {
        return None;
    }
    let output = Command::new("timeout")
        .args(["60", "gdb", "-batch", "-nx"])
        .args(["-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"])
        .args(commands.iter().flat_map(|it| ["-ex", it]))
        .arg("--args")
        .args(line)
        .output()
        .expect("gdb runs");
    let all = text(&output.stdout) + &text(&output.stderr);
    if all.contains("ptrace") {
        say_skipped("this system forbids ptrace");
        return None;
    }
    assert!(!all.contains(".debug_gdb_scripts"), "{all}");
    Some(all)
}

#[test]
fn gdb_stops_in_every_copy() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "hello.c", &["-DGDB"]);
    let line = [RUN, "-n", "2", program.to_str().expect("UTF-8")];
    let prints = ["print global", "continue", "print global", "kill"];
    let Some(out) = gdb(&[&["break hello.c:24", "run"], &prints[..]].concat(), &line) else {
        return;
    };
    assert!(out.contains("= 7") && out.contains("= 8"), "{out}");
    // The launcher has no function of that name: the first stop is a rank's.
    let out = gdb(&["break main", "run", "backtrace", "kill"], &line).expect("as before");
    assert!(out.contains("#0  main (argc=1, argv=") && out.contains("hello.c:11"), "{out}");
}

#[test]
fn gdb_stops_in_a_program_that_is_started_by_itself() {
    if !has("cc") {
        return;
    }
    let program = compile(CC, "hello.c", &["-DGDBALONE"]);
    let line = [program.to_str().expect("UTF-8")];
    let asks = ["break main", "break hello.c:24", "run", "backtrace", "continue", "print global"];
    let more = ["info threads", "info sharedlibrary", "kill"];
    let Some(out) = gdb(&[&asks[..], &more[..]].concat(), &line) else {
        return;
    };
    for words in ["#0  main (argc=1, argv=", "hello.c:24", "= 7", "\"rank 0\"", "libmpi_abi"] {
        assert!(out.contains(words), "{words} is not in {out}");
    }
    assert!(!out.contains("Error") && !out.contains("No source file"), "{out}");
}

/// A profile names the program's functions, once for all ranks.
#[test]
fn perf_names_the_programs_functions() {
    if !has("cc") || !has("perf") {
        return;
    }
    let at = directory("perf");
    let library = at.join("libhot.so");
    let made = Command::new(CC)
        .args(["-g", "-O1", "-shared", "-DLIBRARY", "-o"])
        .args([&library, &source("hot.c")])
        .status();
    assert!(made.expect("it runs").success());
    let place = at.to_str().expect("UTF-8");
    let (search, found) = (format!("-L{place}"), format!("-Wl,-rpath,{place}"));
    let programs = [compile(CC, "hot.c", &[]), at.join("with_library")];
    let made = Command::new(CC)
        .args(["-g", "-O1", "-DWITH_LIBRARY", &search, &found, "-o"])
        .args([&programs[1], &source("hot.c")])
        .arg("-lhot")
        .status();
    assert!(made.expect("it runs").success());
    let [program, other] = programs.each_ref().map(|it| it.to_str().expect("UTF-8"));
    let lines = [
        (&[RUN, "-n", "2", program][..], " hot "),
        (&[RUN, "-n", "1", program], " hot "),
        (&[program], " hot "),
        (&[RUN, "-n", "2", other], " libhot.so "),
        (&[other], " libhot.so "),
    ];
    for (number, (line, file)) in lines.iter().enumerate() {
        let data = at.join(format!("{number}.data"));
        let output = Command::new("timeout")
            .args(["60", "perf", "record", "-e", "cpu-clock", "-o"])
            .arg(&data)
            .args(*line)
            .output()
            .expect("perf runs");
        let err = text(&output.stderr);
        if !output.status.success() {
            say_skipped(&format!("this system forbids perf: {err}"));
            return;
        }
        let output = Command::new("perf")
            .args(["report", "--stdio", "--sort", "dso,sym", "-i"])
            .arg(&data)
            .output()
            .expect("perf runs");
        let out = text(&output.stdout);
        let mut rows = out.lines().filter(|it| it.contains("warm_function"));
        let (first, second) = (rows.next().unwrap_or(""), rows.next());
        assert!(first.contains(file) && second.is_none(), "{line:?}: {out}{err}");
        let share = first.trim_start().split('%').next().and_then(|it| it.parse().ok());
        assert!(share.is_some_and(|it: f64| it > 50.0), "{line:?}: {out}{err}");
    }
}

#[test]
fn valgrind_names_the_line_in_a_copy() {
    if !has("cc") || !has("valgrind") {
        return;
    }
    let program = compile(CC, "leak.c", &[]);
    let output = Command::new("timeout")
        .args(["120", "valgrind", "--error-exitcode=0", RUN, "-n", "2"])
        .arg(&program)
        .output()
        .expect("valgrind runs");
    let err = text(&output.stderr);
    assert!(err.contains("Invalid write") && err.contains("leak.c:"), "{err}");
}
