//! How scripts begin programs: options of other launchers, PATH, scripts and tools between the
//! launcher and the program, and another MPI's launcher.

use crate::common::*;

/// A line of arguments, with PROGRAM for the program.
fn launch(line: &str, program: &Path) -> Ended {
    let program = program.to_str().expect("UTF-8");
    let words = line.split_whitespace().map(|it| if it == "PROGRAM" { program } else { it });
    end(Command::new("timeout").args(["60", RUN]).args(words))
}

const HELLO: &str = "hello from 1 of 2, 1 arguments";

programs! {
    conversions_for_fortran: "convert.c" [] on [1, 3] says "convert fine\n";
    fortran_with_the_newer_module: "f08.f90" ["-w"] on [1, 2, 5] says " f08 fine\n";
}

#[test]
fn options_that_scripts_pass_are_taken_or_ignored_in_one_line() {
    let Some(program) = built(CC, "hello.c", &["-DOPTIONS"]) else { return };
    let at = directory("hosts");
    let file = at.join("machines");
    std::fs::write(&file, "# this one\nlocalhost slots=4\n127.0.0.1:2\n").expect("ours");
    let hosts = format!("-machinefile {} --oversubscribe -np 2 PROGRAM", file.display());
    for (line, ignored) in [
        ("--oversubscribe --bind-to core --mca btl self,sm -n 2 PROGRAM", "--bind-to core, --mca"),
        ("-genvall -ppn 2 -n 2 -l PROGRAM", "-genvall, -l"),
        ("--allow-run-as-root --map-by socket --report-bindings -np 2 PROGRAM", "--map-by socket"),
        (&hosts, "--oversubscribe"),
        ("-n 2 --bind-to none PROGRAM", ""),
        ("-n 2 -x OMP_NUM_THREADS=1 --timeout 50 -- PROGRAM", ""),
    ] {
        let Ended { code, out, err, .. } = launch(line, &program);
        assert!(code == Some(0) && out.contains(HELLO), "{line}: {out}{err}");
        assert_eq!(err.lines().count(), usize::from(!ignored.is_empty()), "{line}: {err}");
        assert!(err.contains(ignored), "{line}: {err}");
    }
    for (line, words) in [
        ("-host elsewhere.example -n 2 PROGRAM", "elsewhere.example is another host"),
        ("--output-filename x -n 2 PROGRAM", "output goes to the launcher's"),
        ("-n 4 -ppn 2 PROGRAM", "several hosts"),
        ("-genvnone -n 2 PROGRAM", "the launcher's environment"),
        ("-n 2 PROGRAM : -n 2 PROGRAM", "several programs"),
        ("--nonsense -n 2 PROGRAM", "--nonsense is not known (phalanx-mpirun --help lists"),
        ("-n 0 PROGRAM", "-n wants a positive number"),
        ("-n 2", "no program is named (phalanx-mpirun --help"),
        ("-n 2 is-nowhere", "is-nowhere: it is neither here nor in PATH"),
    ] {
        let Ended { code, err, .. } = launch(line, &program);
        assert!(code == Some(2) && err.contains(words), "{line}: {err}");
        assert_eq!(err.lines().count(), 1, "{line}: {err}");
    }
}

/// Low limits, streams that are closed, no /proc: it works, or the error names the cause.
#[test]
fn poor_surroundings_are_named_or_do_no_harm() {
    let Some(program) = built(CC, "hello.c", &["-DPOOR"]) else { return };
    let at = directory("poor");
    let body = "#include <fcntl.h>\n#include <mpi.h>\nint main(int c, char **v) { int open = 0; \
                MPI_Init(&c, &v); for (int i = 0; i < 3; i++) open += fcntl(i, F_GETFD) != -1; \
                MPI_Finalize(); return 10 + open; }\n";
    std::fs::write(at.join("streams.c"), body).expect("ours");
    link(CC, &at, "streams.c -o streams");
    let own = at.join("streams");
    let (hello, own) = (program.to_str().expect("UTF-8"), own.to_str().expect("UTF-8"));
    let hidden = "unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$0\" -n 3 \"$1\"' $RUN $IT";
    let can_hide = "unshare -m mount -t tmpfs none /proc 2> /dev/null";
    let can_hide = Command::new("sh").args(["-c", can_hide]).status().expect("a shell runs");
    for (line, it, code, words) in [
        ("ulimit -f 8 && $RUN -n 3 $IT", hello, 1, "a file at most"),
        ("ulimit -n 8 && $RUN -n 3 $IT", hello, 1, "`ulimit -n`"),
        ("$RUN -n 3 $IT <&- >&- 2>&-", own, 10, ""),
        ("$RUN -n 3 $IT <&-", own, 12, ""),
        (hidden, hello, 0, "hello from 2 of 3"),
    ] {
        if line == hidden && !can_hide.success() {
            eprintln!("SKIPPED: /proc cannot be hidden here");
            continue;
        }
        let mut shell = Command::new("timeout");
        shell.args(["60", "sh", "-c", line]).env("RUN", RUN).env("IT", it);
        let ended = end(&mut shell);
        let said = ended.out + &ended.err;
        assert!(ended.code == Some(code) && said.contains(words), "{line}: {said}");
    }
}

/// In PATH, here, and in the directory of `--wdir`.
#[test]
fn the_program_is_looked_for() {
    let Some(program) = built(CC, "hello.c", &["-DLOOKED"]) else { return };
    let at = program.parent().expect("it lies in a directory");
    let path = format!("{}:{}", at.display(), std::env::var("PATH").unwrap_or_default());
    let mut in_path = Command::new(RUN);
    in_path.args(["-n", "2", "hello"]).env("PATH", path).current_dir("/");
    let mut here = Command::new(RUN);
    here.args(["-n", "2", "hello"]).current_dir(at);
    let mut there = Command::new(RUN);
    there.args(["-n", "2", "--wdir"]).arg(at).arg("./hello").current_dir("/");
    for mut command in [in_path, here, there] {
        let Ended { out, err, .. } = end(&mut command);
        assert!(out.contains(HELLO) && err.is_empty(), "{command:?}: {out}{err}");
    }
}

/// A script, or a tool, is begun once; the program that it begins has the ranks.
#[test]
fn scripts_and_tools_between_the_launcher_and_the_program() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(program) = built(CC, "hello.c", &["-DSCRIPT"]) else { return };
    let name = program.to_str().expect("UTF-8");
    let script = directory("script").join("run.sh");
    let lines = "#!/bin/sh\necho once $#\nFROM=script \"$@\" && exec \"$@\" more\n";
    std::fs::write(&script, lines).expect("ours");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let line = format!("--stack 65 -n 3 {} {name}", script.display());
    let Ended { code, out, err, .. } = launch(&line, &program);
    assert_eq!(code, Some(0), "{out}{err}");
    for line in ["once 1", "hello from 2 of 3, 1 arguments", "hello from 2 of 3, 2 arguments"] {
        assert_eq!(out.lines().filter(|it| *it == line).count(), 1, "{line}: {out}{err}");
    }
    let said = "run.sh is no program of MPI: it is begun once, and each program of MPI that it \
                begins has 3 ranks";
    assert!(err.contains(said) && err.lines().count() == 1, "{err}");
    let Ended { out, err, .. } = launch("-n 2 env A=B PROGRAM", &program);
    assert!(out.contains(HELLO), "{err}");
    assert_eq!(launch("-n 2 false", &program).code, Some(1));
}

/// Each would be a world of one: the first says it.
#[test]
fn another_launchers_process_is_no_rank() {
    let Some(program) = built(CC, "hello.c", &["-DOTHERS"]) else { return };
    let begun = |size: &str, rank: &str, variables: [&str; 2], alone: bool| {
        let mut command = Command::new(&program);
        command.envs([(variables[0], size), (variables[1], rank)]);
        if alone {
            command.env("PHALANX_RANKS", "1");
        }
        end(&mut command)
    };
    for variables in [
        ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
        ["PMI_SIZE", "PMI_RANK"],
        ["SLURM_STEP_NUM_TASKS", "SLURM_PROCID"],
    ] {
        let Ended { code, err, .. } = begun("3", "0", variables, false);
        assert_eq!(code, Some(1), "{variables:?}: {err}");
        assert!(err.contains("begun this program 3 times") && err.contains("phalanx-mpirun -n 3"));
        let Ended { code, out, err, .. } = begun("3", "2", variables, false);
        assert_eq!((code, out.as_str(), err.as_str()), (Some(1), "", ""));
        for (size, alone) in [("1", false), ("3", true)] {
            let Ended { code, err, .. } = begun(size, "0", variables, alone);
            assert_eq!(code, Some(0), "{variables:?}: {err}");
        }
    }
}

/// The mask is divided by the ranks, or as it is said, and OpenMP sees a rank's share.
#[test]
fn ranks_have_shares_of_the_processors() {
    let Some(program) = built(CC, "cpus.c", &["-fopenmp"]) else { return };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let run = |line: &str, threads: Option<&str>| {
        let mut command = Command::new(RUN);
        command.args(line.split_whitespace()).arg(&program).env_remove("OMP_NUM_THREADS");
        if let Some(threads) = threads {
            command.env("OMP_NUM_THREADS", threads);
        }
        must(&mut command)
    };
    let line =
        |share: usize, threads: usize| format!("rank 0: {share} of {share}, {threads} threads");
    for (options, threads, expected) in [
        ("-n 1", None, line(cores, cores)),
        ("-n 1", Some("1"), line(1, 1)),
        ("-n 1 --cpus-per-rank 1", None, line(1, 1)),
        ("-n 1 --map-by socket:PE=1", Some("2"), line(1, 2)),
        ("-n 2", None, line((cores / 2).max(1), (cores / 2).max(1))),
        ("-n 2", Some("2"), line(cores.min(2), 2)),
        ("-n 2 --cpus-per-rank 64", None, line(cores.min(64), cores.min(64))),
        ("-n 2 --no-pin", None, line(cores, cores)),
    ] {
        let out = run(options, threads);
        assert!(out.lines().any(|it| it == expected), "{options} {threads:?}: {expected}: {out}");
    }
}

/// Heaps are open nearly whole, unless the user has set the allocator.
#[test]
fn heaps_of_ranks_are_open_ahead() {
    let Some(program) = built(CC, "heap.c", &[]) else { return };
    for (variable, value, is_ahead) in [
        ("PHALANX_NOTHING", "", true),
        ("MALLOC_TOP_PAD_", "131072", false),
        ("GLIBC_TUNABLES", "glibc.malloc.top_pad=131072", false),
    ] {
        let out = must(launcher(3, &program).env(variable, value));
        assert_eq!(out.lines().count(), 3, "{variable}: {out}");
        for line in out.lines() {
            let open = line.strip_suffix(" MiB").and_then(|it| it.split(": ").nth(1));
            let open: usize = open.expect("a number").parse().expect("a number");
            assert_eq!(open >= 59, is_ahead, "{variable}: {line}");
        }
    }
}

#[test]
fn what_a_rank_loads_is_its_own() {
    let Some(at) = directory_with(&["cc"], "plugins") else { return };
    for (name, text) in [
        ("other.c", "static int n; int of_other(int add) { return n += add; }\n"),
        ("lacking.c", "int nowhere(void); int lacks(void) { return nowhere(); }\n"),
    ] {
        std::fs::write(at.join(name), text).expect("ours");
    }
    link(CC, &at, "-g -w -shared -fPIC other.c -o libother.so");
    link("cc", &at, "-g -w -shared -fPIC lacking.c -nostartfiles -o lacking.so");
    let found = "-L. -lother -Wl,-rpath,$ORIGIN";
    link(CC, &at, &format!("-g -w -shared -fPIC @plugin.c {found} -o plugin.so"));
    let plugin = at.join("plugin.so");
    let arguments = [plugin.to_str().expect("UTF-8"), "./lacking.so"];
    let [include, flags] =
        ["-showme:incdirs", "-showme:link"].map(|it| must(Command::new(CC).arg(it)));
    link("cc", &at, &format!("-g -rdynamic -I {include} @plugin_host.c {flags} -o plain"));
    let copies = directory("plugin-copies");
    for program in [compile(CC, "plugin_host.c", &["-DHOST"]), at.join("plain")] {
        // In memory, and with copies as files, of which each has a name of its own.
        for (ranks, as_files) in [(1, false), (3, false), (3, true)] {
            let mut command = launcher(ranks, &program);
            command.args(arguments).current_dir(&at);
            if as_files {
                command.env("PHALANX_MPI_COPIES", &copies);
            }
            let Ended { out, err, .. } = end(&mut command);
            assert_eq!(out, "plugins fine\n", "{}: {err}", program.display());
        }
    }
    let _ = std::fs::remove_dir_all(copies);
}

/// A profiler counts each rank's calls: linked before the library, or preloaded.
#[test]
fn profilers_are_a_ranks_own() {
    let Some(at) = directory_with(&["cc"], "profiler") else { return };
    let body = "#include <mpi.h>\nint main(int c, char **v) { int n, r = 0; MPI_Init(&c, &v); \
                MPI_Comm_rank(MPI_COMM_WORLD, &r); for (int i = 0; i < 3; i++) \
                MPI_Allreduce(&r, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); MPI_Finalize(); }\n";
    std::fs::write(at.join("main.c"), body).expect("ours");
    link(CC, &at, "-shared @profile.c -o libprofile.so");
    link(CC, &at, "main.c -L. -lprofile -Wl,-rpath,$ORIGIN -o linked");
    link(CC, &at, "main.c -o bare");
    for (program, preloaded) in [("linked", None), ("bare", Some("./libprofile.so"))] {
        let mut command = launcher(3, &at.join(program));
        if let Some(library) = preloaded {
            command.env("LD_PRELOAD", library);
        }
        let Ended { out, err, .. } = end(command.current_dir(&at));
        for rank in 0..3 {
            let line = format!("rank {rank}: profiled 3");
            assert!(out.lines().any(|it| it == line), "{program}: {out}{err}");
        }
    }
}
