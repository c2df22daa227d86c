//! The traps of running one rank a thread, each as a small program (tests/programs) that is
//! compiled by the wrappers and run by the launcher. Without the compiler, a test says so and
//! passes.

#[path = "traps/builds.rs"]
mod builds;
#[path = "../../../tests/common/cases.rs"]
mod cases;
mod common;
#[path = "traps/ends.rs"]
mod ends;
#[path = "traps/launchers.rs"]
mod launchers;
#[path = "traps/tools.rs"]
mod tools;

use common::*;

programs! {
    unique_symbols_of_cxx_are_a_ranks_own: "unique.cc" [] on [8] says "private\n";
    names_of_the_c_library_in_a_program_are_the_programs:
        "names.c" ["-fno-builtin", "-w"] on [2] says "3 3\n3 3\n";
    threads_of_openmp_know_their_rank: "omp.c" ["-fopenmp"] on [3] says "0 wrong\n";
    point_to_point_and_types: "p2p.c" [] on [1, 2, 3, 4, 8] says "p2p fine\n";
    a_rank_that_rounds_or_flushes_in_its_way_gets_the_same_bits:
        "float_control.c" ["-w", "-frounding-math", "-Wl,--no-as-needed", "-lm"] on [1, 2, 3, 5]
        says "float control fine\n";
    further_functions: "more.c" [] on [1, 2, 5] says "more fine\n";
    attributes_persistent_requests_infos_and_error_handlers:
        "objects.c" [] on [1, 2, 5] says "objects fine\n";
    long_doubles_empty_statuses_and_extents:
        "corners.c" ["-w"] on [1, 2, 3, 5, 8] says "corners fine\n";
    operators_have_one_result_on_every_way:
        "operators.c" ["-w"] on [1, 2, 3, 5, 8] says "operators fine\n";
    collectives_that_are_started_many_times: "again.c" [] on [1, 2, 3, 5, 8] says "again fine\n";
    collectives_that_complete_later_matched_probes_and_order:
        "later.c" [] on [1, 2, 3, 8] says "later fine\n";
    fortran_with_the_module: "module.f90" ["-w"] on [1, 4] says " module fine\n";
}

#[test]
fn collectives_groups_and_grids() {
    std::fs::write(directory("coll").join("coll.table"), cases::cases(1..=8)).unwrap();
    runs("coll.c", &[], &[1, 2, 3, 4, 6, 8], "coll fine\n");
}

#[test]
fn globals_statics_and_thread_locals_are_a_ranks_own() {
    let Some(program) = built(CC, "hello.c", &[]) else { return };
    for ranks in [1, 2, 5, 64] {
        let out = succeed(ranks, &program, &["one", "two"]);
        assert_eq!(out.lines().count(), ranks);
        assert!(out.contains(&format!("hello from {} of {ranks}, 3 arguments", ranks - 1)));
    }
}

#[test]
fn a_program_runs_alone_as_a_world_of_one() {
    let Some(program) = built(CC, "hello.c", &["-DALONE"]) else { return };
    let ended = end(Command::new(&program).args(["a b", ""]));
    assert_eq!(ended.out, "hello from 0 of 1, 3 arguments\n");
}

/// Started by itself or by the launcher: constructors, destructors, codes and errors are the same.
#[test]
fn a_program_alone_is_an_ordinary_process() {
    let Some(program) = built(CXX, "alone.cc", &[]) else { return };
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
            let Ended { code: found, signal, out, err } = end(command.arg(how));
            let expected = (code, code.is_none().then_some(11));
            assert_eq!((found, signal), expected, "{whose}, {how}: {out}{err}");
            // Output into a file is lost where a process dies.
            let is_lost = code.is_none() && out.is_empty();
            assert!(is_lost || out == format!("{head}{tail}"), "{whose}, {how}: {out}{err}");
            assert!(err.contains(words), "{whose}, {how}: {words} is not in {err}");
            let is_left = how == "leave" || how == "return";
            assert_eq!(err.contains(left), is_left, "{whose}, {how}: {err}");
        }
    }
}

/// The libraries' last actions are done, whatever happens to the program: the Fortran library
/// closes its units, and a library's constructor may have given a function to `atexit`.
#[test]
fn libraries_end_well_where_a_program_leaves_early() {
    let at = directory("endings");
    let leaves = |program: &Path, file: &str| {
        let mut launched = Command::new(RUN);
        launched.args(["-n", "1"]).arg(program);
        for (mut command, whose) in [(Command::new(program), "by itself"), (launched, "launched")] {
            let _ = std::fs::remove_file(at.join(file));
            let Ended { code, err, .. } = end(command.current_dir(&at));
            assert_eq!(code, Some(1), "{whose}: {err}");
            assert!(err.contains("without MPI_Finalize"), "{whose}: {err}");
            let kept = std::fs::read_to_string(at.join(file)).unwrap_or_default();
            assert_eq!(kept.trim(), "42", "{whose}: {file}");
        }
    };
    if has("cc") {
        link(CC, &at, "@notes.c -shared -DLIBRARY -o libnotes.so");
        let place = "-L$AT -Wl,-rpath,$AT -Wl,--no-as-needed";
        link(CC, &at, &format!("@notes.c {place} -lnotes -o notes"));
        leaves(&at.join("notes"), "notes.txt");
    }
    if has("gfortran") {
        leaves(&compile(FORT, "unit.f90", &[]), "unit.txt");
    }
}

/// By a name that is looked for in PATH, and from another directory: lines are found all the same.
#[test]
fn a_program_alone_is_found_under_any_name() {
    let Some(program) = built(CXX, "alone.cc", &["-DPATH"]) else { return };
    let Ended { err, .. } = end(Command::new("sh")
        .args(["-c", "cd / && PATH=$1:$PATH && exec alone leave", "sh"])
        .arg(program.parent().expect("it lies in a directory")));
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
fn unique_symbols_in_objects_of_another_compiler_are_patched() {
    let Some(at) = directory_with(&["g++"], "prebuilt") else { return };
    // Compiled without the wrapper, so with unique symbols.
    let headers = must(Command::new(CXX).arg("-showme:compile"));
    let include = headers.split_whitespace().next().expect("-I..");
    link("g++", &at, &format!("-c -fPIC -fgnu-unique {include} -o unique.o @unique.cc"));
    link(CXX, &at, "unique.o -o unique");
    assert_eq!(succeed(4, &at.join("unique"), &[]), "private\n");
}

#[test]
fn getopt_strtok_and_rand_have_a_state_a_rank() {
    let Some(program) = built(CC, "state.c", &[]) else { return };
    let options = ["--nx=40", "-v", "file", "--verbose", "-n", "abc"];
    assert_eq!(succeed(4, &program, &options), "own state\n");
}

#[test]
fn the_programs_own_libraries_are_private() {
    let Some(at) = directory_with(&["cc"], "library") else { return };
    link(CC, &at, "-shared @library.c -o liblocal.so");
    link(CC, &at, "@uses_library.c -L$AT -Wl,-rpath,$AT -llocal -o uses_library");
    assert_eq!(succeed(4, &at.join("uses_library"), &[]), "private\n");
}

#[test]
fn fortran_units_are_a_ranks_own() {
    let Some(program) = built(FORT, "units.f90", &[]) else { return };
    let at = directory("units-files");
    let out = must(launcher(4, &program).current_dir(at));
    assert!(out.contains("own units"), "{out}");
}

#[test]
fn a_shim_of_another_version_is_refused() {
    let Some(at) = directory_with(&["cc"], "stranger") else { return };
    std::fs::write(
        at.join("shim.c"),
        "const unsigned long long phalanx_table = 1; void phalanx_bind(void) {}\n\
         int MPI_Init(void) { return 0; }\n",
    )
    .expect("it can be written");
    let name = "libmpi_abi.so.0";
    link("cc", &at, &format!("-shared -fPIC -Wl,-soname,{name} -o {name} shim.c"));
    // Linked with ours; found is the other one.
    link(CC, &at, "-Wl,-rpath,$AT @hello.c -o hello");
    let Ended { code, err, .. } = end(&mut launcher(2, &at.join("hello")));
    assert!(code != Some(0) && err.contains("of another version of Phalanx"), "{err}");
}

#[test]
fn the_launcher_ends_a_run_when_its_time_is_up() {
    let Some(program) = built(CC, "endless.c", &[]) else { return };
    let Ended { code, err, .. } = end(launcher(2, &program).env("MPIEXEC_TIMEOUT", "3"));
    assert_eq!(code, Some(124), "{err}");
    assert!(err.contains("the time is up") && err.contains("rank 0 runs"), "{err}");
    assert!(err.contains("rank 1 waits in MPI_Recv at endless.c"), "{err}");
}

#[test]
fn any_call_moves_what_its_rank_has_started() {
    let Some(program) = built(CC, "progress.c", &[]) else { return };
    for (ranks, seed) in [(1, "1"), (2, "20"), (3, "300"), (4, "4000")] {
        assert_eq!(succeed(ranks, &program, &[seed, "20"]), "progress fine\n");
    }
}

#[test]
fn started_collectives_in_any_mixture() {
    let Some(program) = built(CC, "started.c", &[]) else { return };
    for p in [1, 2, 3, 5, 8] {
        assert_eq!(succeed(p, &program, &["40"]), "started fine\n");
    }
}

/// Of short broadcasts, no data shows that roots differ: nobody reads a root's card there.
#[test]
fn started_collectives_that_differ_are_named() {
    let Some(program) = built(CC, "started.c", &[]) else { return };
    let at = |call: &str| format!("MPI_{call} at started.c:");
    for (how, call, others) in [
        ("roots", "Ibcast", "Ibcast"),
        ("free", "Ibcast", "Ibcast"),
        ("many", "Ibcast", "Ibcast"),
        ("again", "Gather_init", "Bcast_init"),
        ("count", "Iallreduce", "Iallreduce"),
        ("long", "Ireduce", "Igather"),
    ] {
        differ(&program, how, 1, &at(call), &at(others));
    }
    fail(&program, "more", 1, &["rank 0: MPI_Ibcast at started.c:", "it has not started it"]);
    let room = ["rank 0: MPI_Wait at started.c:", "gives 8 bytes in MPI_Igather at started.c:"];
    fail(&program, "room", 15, &room);
}

/// The README says how many functions are there: as functions.txt.
#[test]
fn the_readme_counts_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("part of the package");
    let readme = read("README.md").split_whitespace().collect::<Vec<&str>>().join(" ");
    let list = read("functions.txt");
    let there: Vec<&str> = list.lines().filter(|it| it.starts_with("+ ")).collect();
    let is_wide = |word: &str| ["COUNT", "DISPL", "WIDE"].contains(&word);
    let has_large = |line: &&&str| line.split(|c: char| !c.is_alphanumeric()).any(is_wide);
    let large = there.iter().filter(has_large).count();
    for text in [format!("the {} functions", there.len()), format!(" {large} of them have MPI-4's")]
    {
        assert!(readme.contains(&text), "not in the README: {text}");
    }
}

#[test]
fn exit_of_one_rank_after_the_end_is_its_code_and_runs_atexit() {
    let Some(program) = built(CC, "leave.c", &["-DAFTER"]) else { return };
    let Ended { code, out, .. } = end(launcher(3, &program).arg("after"));
    assert_eq!((code, out), (Some(5), "atexit\n".repeat(3)));
}

#[test]
fn leaving_without_finalize_is_said_and_a_programs_own_code_stays() {
    let Some(program) = built(CC, "leave.c", &[]) else { return };
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
    let Some(program) = built(CC, "ends.c", &["-lpthread"]) else { return };
    [2, 3, 8].iter().for_each(|&p| assert_eq!(succeed(p, &program, &["threads"]), "passed\n"));
}
