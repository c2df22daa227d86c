//! How ranks end badly: exits, forks, faults, crashes, ranks that get no room, waits that last.

use crate::common::*;

/// The table "What ends a rank" in the README.
#[test]
fn every_end_of_a_rank_is_an_end() {
    let Some(program) = built(CC, "ends.c", &["-lpthread"]) else { return };
    let cut = "rank 1 has left: the end of its main thread, by pthread_exit or pthread_cancel, \
               with code 0 without MPI_Finalize; last: MPI_Comm_size at ends.c:";
    for how in ["cut", "cancel"] {
        fail(&program, how, 1, &[cut, "rank 0 waits in MPI_Barrier at ends.c:"]);
    }
    assert_eq!(end(launcher(3, &program).arg("cut")).out, "cleaned up main\n");
    fail(&program, "at_once", 3, &["phalanx: rank 1: _exit with code 3 ends all ranks"]);
    fail(&program, "at_once_well", 1, &["phalanx: rank 1: _Exit with code 0 ends all ranks"]);
    fail(&program, "quick", 6, &["phalanx: rank 1: quick_exit with code 6 ends all ranks"]);
    let helper = "rank 1: a thread of its own: exit with code 4 ends all ranks";
    fail(&program, "helper", 4, &[helper]);
    let Ended { code, err, .. } = end(launcher(3, &program).arg("cut_after"));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(succeed(1, &program, &["at_once_after"]), "");
}

/// The child has no ranks; the parent goes on.
#[test]
fn a_child_of_a_fork_cannot_call_mpi() {
    let Some(program) = built(CC, "ends.c", &["-lpthread"]) else { return };
    let Ended { code, err, .. } = end(launcher(3, &program).arg("fork"));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("rank 0: MPI_Send at ends.c:"), "{err}");
    assert!(err.contains("it was called in a child of fork, which has no ranks"), "{err}");
}

#[test]
fn faults_end_in_time_and_name_ranks_and_lines() {
    let Some(program) = built(CC, "leave.c", &[]) else { return };
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
        let err = end(launcher(3, &program).arg("circle")).err;
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
    let Some(program) = built(CC, "faults.c", &[]) else { return };
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
    fail(&program, "broadcast", 1, &["calls of one collective differ:", "MPI_Bcast at faults.c:"]);
    fail(&program, "scatter", 15, &["MPI_Scatter at faults.c:", "16 bytes are given, and 12 are"]);
    let waits = |rank: usize, call: &str| format!("rank {rank} waits in MPI_{call} at faults.c:");
    // These are told as soon as two cannot go on, wherever the third is.
    let all = &[0, 1, 2][..];
    for (how, sure, calls) in [
        ("cross", &all[1..2], ["Barrier", "Barrier", "Barrier"]),
        ("received", &all[..1], ["Finalize", "Recv", "Recv"]),
        ("tag", &all[..2], ["Finalize", "Recv", "Finalize"]),
        ("master", all, ["Recv", "Recv", "Recv"]),
        ("circle", all, ["Wait", "Wait", "Wait"]),
        ("ssend", all, ["Ssend", "Ssend", "Ssend"]),
        ("neighbour", all, ["Sendrecv", "Sendrecv", "Sendrecv"]),
        ("waitall", all, ["Waitall", "Waitall", "Waitall"]),
        ("waitany", all, ["Waitany", "Waitany", "Waitany"]),
        ("probe", all, ["Probe", "Finalize", "Finalize"]),
    ] {
        let words: Vec<_> = sure.iter().map(|&rank| waits(rank, calls[rank])).collect();
        fail(&program, how, 1, &words.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Tests in vain end by their limit, if nobody else can go on; not while somebody works.
#[test]
fn ranks_that_only_test_end_by_the_limit() {
    let Some(program) = built(CC, "faults.c", &["-DTESTS"]) else { return };
    let run = |how: &str| {
        let ended = end(launcher(3, &program).arg(how).env("PHALANX_MPI_POLLS", "1"));
        (ended.code, ended.err)
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
    let Some(program) = built(CXX, "throw.cc", &[]) else { return };
    let Ended { signal, err, .. } = end(Command::new(RUN).args(["-n", "3"]).arg(&program));
    assert_eq!(signal, Some(6), "{err}");
    for words in ["what():  nobody catches this", "rank 1: abort in a call at throw.cc:9 ("] {
        assert!(err.contains(words), "{err}");
    }
}

#[test]
fn a_stop_of_fortran_names_its_line() {
    let Some(program) = built(FORT, "stop.f90", &[]) else { return };
    let words = ["rank 1 has left: exit with code 3", "last: exit at stop.f90:8 ("];
    fail(&program, "", 1, &words);
    fail(&program, "", 1, &["rank 0 waits in MPI_Barrier at stop.f90:9 ("]);
}

#[test]
fn a_crash_is_the_processes_and_names_its_rank() {
    let Some(program) = built(CC, "leave.c", &["-DCRASH"]) else { return };
    for (how, signal, words) in [
        ("crash", 11, "rank 1: segmentation fault at leave.c:"),
        ("raise", 6, "rank 1: abort in a call at leave.c:"),
    ] {
        // Without `timeout`, which would tell the signal in its own way.
        let mut command = Command::new(RUN);
        let Ended { signal: by, err, .. } = end(command.args(["-n", "3"]).arg(&program).arg(how));
        assert_eq!(by, Some(signal), "{err}");
        assert!(err.contains(words), "{err}");
    }
}

/// The program's text on the standard error, and the signal by which it ends.
fn crash(ranks: &str, limit: &str, program: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    // Without `timeout`, which would tell the signal in its own way.
    let ended = end(Command::new("sh")
        .args(["-c", &format!("ulimit -c 0; ulimit -s {limit} && exec \"$@\""), "sh"])
        .args([RUN, "-n", ranks])
        .arg(program)
        .args(arguments));
    (ended.signal, ended.err)
}

/// SPMD programs fault on all ranks at once: each is named, and the process dies by the first.
#[test]
fn faults_on_several_ranks_at_once_are_named() {
    let Some(program) = built(CC, "crash.c", &["-lpthread"]) else { return };
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

/// `ulimit -s` bounds a program's stack where its ranks are processes.
#[test]
fn a_stack_overflow_names_the_option_and_the_limit_counts() {
    let Some(program) = built(CC, "crash.c", &["-lpthread"]) else { return };
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
    let Some(program) = built(CC, "hello.c", &["-DLIMIT"]) else { return };
    // With one arena, a rank's memory fits between the stacks and the limit.
    let Ended { code, err, .. } = end(Command::new("sh")
        .args(["-c", "ulimit -v 2700000 && exec \"$@\"", "sh", "timeout", "60", RUN])
        .args(["-n", "4", "--stack", "1024"])
        .arg(&program)
        .env("MALLOC_ARENA_MAX", "1"));
    let words = "phalanx: a thread for rank 2: ";
    assert!(code == Some(1) && err.contains(words) && err.contains("ulimit -v"), "{code:?} {err}");
}

/// The launcher begins again with room for them, and the program sees its own environment.
#[test]
fn thread_locals_of_the_initial_exec_model_have_room() {
    let Some(program) = built(CC, "tls.c", &[]) else { return };
    let run = |ranks: usize, tunables: &str| {
        let mut launcher = launcher(ranks, &program);
        match tunables {
            "none" => launcher.env_remove("GLIBC_TUNABLES"),
            tunables => launcher.env("GLIBC_TUNABLES", tunables),
        };
        end(&mut launcher)
    };
    for (ranks, tunables) in [
        (1, "none"),
        (8, "none"),
        (64, "none"),
        (8, "glibc.malloc.tcache_count=3"),
        (8, "glibc.rtld.optional_static_tls=100000"),
        (8, "glibc.rtld.optional_static_tls=100"),
        // More than a rank's stack, of which it is set aside.
        (2, "glibc.rtld.optional_static_tls=100000000"),
    ] {
        let Ended { out, err, .. } = run(ranks, tunables);
        assert_eq!(out, format!("private, tunables {tunables}\n"), "{ranks}: {err}");
    }
}

#[test]
fn a_rank_that_waits_for_long_says_so_once() {
    let Some(program) = built(CC, "stall.c", &[]) else { return };
    let run = |how: &str, option: &[&str], variable: &str| {
        let mut launcher = Command::new("timeout");
        launcher.args(["60", RUN, "-n", "3"]).args(option).arg(&program).arg(how);
        let Ended { code, err, .. } = end(launcher.env("PHALANX_STALL_WARNING", variable));
        assert_eq!(code, Some(0), "{how}: {err}");
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
    let wrong = end(Command::new(RUN).args(["--stall-warning", "x"]));
    assert!(wrong.err.contains("--stall-warning wants a number of seconds"));
}
