//! Tools beside a run: core dumps, configure and CMake, gdb, perf, valgrind.

use crate::common::*;

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
    let Ended { err, .. } = end(Command::new("sh")
        .args(["-c", "ulimit -c unlimited && exec \"$@\"", "sh", RUN, "-n", "3"])
        .arg(&program)
        .arg("crash")
        .current_dir(&at)
        .env("PHALANX_MPI_COPIES", &at));
    let files = std::fs::read_dir(&at).expect("it is there").flatten().map(|it| it.path());
    let is_core = |it: &std::path::PathBuf| {
        it.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"))
    };
    let Some(core) = files.into_iter().find(is_core) else {
        say_skipped(&format!("no core dump was written: {err}"));
        return;
    };
    let Ended { out, err, .. } = end(Command::new("timeout")
        .args(["60", "gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "bt"])
        .args(["-ex", "print rank"])
        .arg(RUN)
        .arg(&core));
    assert!(out.contains("leave.c:") && out.contains("= 1"), "{out}{err}");
    let _ = std::fs::remove_file(core);
}

/// The run tests of configure and CMake: a small program is executed by itself; its code counts.
#[test]
fn run_tests_of_configure_give_their_code() {
    let Some(at) = directory_with(&["cc"], "configure") else { return };
    for (body, code) in [("return sizeof(long) == 8 ? 0 : 1;", 0), ("exit(3);", 3)] {
        let head = "#include <mpi.h>\n#include <stdlib.h>\nint main(int c, char **v)";
        let inside = format!("{{ MPI_Init(&c, &v); MPI_Finalize(); {body} }}\n");
        std::fs::write(at.join("conftest.c"), format!("{head} {inside}")).expect("ours");
        link(CC, &at, "-o conftest conftest.c");
        assert_eq!(end(Command::new("./conftest").current_dir(&at)).code, Some(code));
    }
}

#[test]
fn no_main_is_an_error_of_the_link_and_static_is_refused() {
    let Some(at) = directory_with(&["cc"], "nomain") else { return };
    for (options, word) in [(&[][..], "main"), (&["-static"], "-static")] {
        let mut compiler = Command::new(CC);
        compiler.args(options).arg(source("library.c")).args(["-o", "x"]).current_dir(&at);
        let Ended { code, err, .. } = end(&mut compiler);
        assert!(code != Some(0) && err.contains(word), "{err}");
    }
}

#[test]
fn wrappers_show_what_they_call() {
    let show = |option: &str| end(Command::new(CC).arg(option)).out;
    assert!(show("-showme:compile").contains("-fPIC"));
    // For a compiler of a build system's own.
    let link = show("-showme:link");
    assert!(link.contains("-lmpi_abi") && !link.contains("ph_entry"));
    assert!(show("-show").contains("-lmpi_abi"));
    let all = end(Command::new(CC).args(["-show", "a.c"])).out;
    assert!(all.contains("-fPIC") && all.contains("ph_entry") && all.contains("-shared"));
}

/// The answer of gdb to these commands about a command line; nothing, if it may not trace here.
fn gdb(commands: &[&str], line: &[&str]) -> Option<String> {
    if !has("cc") || !has("gdb") {
        return None;
    }
    let ended = end(Command::new("timeout")
        .args(["60", "gdb", "-batch", "-nx"])
        .args(["-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"])
        .args(commands.iter().flat_map(|it| ["-ex", it]))
        .arg("--args")
        .args(line));
    let all = ended.out + &ended.err;
    if all.contains("ptrace") {
        say_skipped("this system forbids ptrace");
        return None;
    }
    assert!(!all.contains(".debug_gdb_scripts"), "{all}");
    Some(all)
}

#[test]
fn gdb_stops_in_every_copy() {
    let Some(program) = built(CC, "hello.c", &["-DGDB"]) else { return };
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
    let Some(program) = built(CC, "hello.c", &["-DGDBALONE"]) else { return };
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
    let Some(at) = directory_with(&["cc", "perf"], "perf") else { return };
    link(CC, &at, "-g -O1 -shared -DLIBRARY -o libhot.so @hot.c");
    let found = "-L$AT -Wl,-rpath,$AT";
    link(CC, &at, &format!("-g -O1 -DWITH_LIBRARY {found} -o with_library @hot.c -lhot"));
    let programs = [compile(CC, "hot.c", &[]), at.join("with_library")];
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
        let Ended { code, err, .. } = end(Command::new("timeout")
            .args(["60", "perf", "record", "-e", "cpu-clock", "-o"])
            .arg(&data)
            .args(*line));
        if code != Some(0) {
            say_skipped(&format!("this system forbids perf: {err}"));
            return;
        }
        let mut perf = Command::new("perf");
        perf.args(["report", "--stdio", "--sort", "dso,sym", "-i"]).arg(&data);
        let out = end(&mut perf).out;
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
    let Ended { err, .. } = end(Command::new("timeout")
        .args(["120", "valgrind", "--fair-sched=yes", "--error-exitcode=0", RUN, "-n", "2"])
        .arg(&program));
    assert!(err.contains("Invalid write") && err.contains("leak.c:"), "{err}");
}

/// Python's interpreter (examples/python), with its modules: one for each rank.
#[test]
fn pythons_interpreter_is_a_ranks_own() {
    if !has("cc") || !has("python3") {
        return;
    }
    let mut config = Command::new("python3-config");
    let flags = config.args(["--includes", "--embed", "--ldflags"]).output();
    let flags = flags.map(|it| text(&it.stdout)).unwrap_or_default();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let Some(library) = flags.iter().find(|it| it.starts_with("-lpython3.")) else {
        say_skipped("python3-config, or Python's shared library, is not installed");
        return;
    };
    let paths = flags.iter().filter_map(|it| it.strip_prefix("-L"));
    let interpreter = directory("python").join("interpreter");
    let Ended { code, err, .. } = end(Command::new(CC)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/python/interpreter.c"))
        .args(&flags)
        .args(paths.map(|it| format!("-Wl,-rpath,{it}")))
        .arg("-o")
        .arg(&interpreter));
    if err.contains("Python.h") || err.contains(&format!("cannot find {library}")) {
        say_skipped("Python's header or shared library is not installed");
        return;
    }
    assert_eq!(code, Some(0), "{err}");
    let script = source("python.py");
    let out = succeed(4, &interpreter, &[script.to_str().expect("UTF-8")]);
    let process = out.split_whitespace().last().expect("a number");
    for rank in 0..4 {
        let line = format!("rank {rank} of 4: 499500, True, {process}");
        assert!(out.lines().any(|it| it == line), "{line}: {out}");
    }
}
