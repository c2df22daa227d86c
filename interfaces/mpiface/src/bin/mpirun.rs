//! `phalanx-mpirun -n N ./prog arguments`: runs a program that phalanx-mpicc linked, one rank a
//! thread of this process.
//!
//! It has no function `main`, as gdb's `break main` means the program's: build.rs has the linker
//! give the start of the process `__wrap_main` instead.

#![no_main]

use phalanx_mpi_abi::cores;
use phalanx_mpi_abi::launch::{Job, run};
use phalanx_mpi_abi::load::search::take_preloads;
use phalanx_mpi_abi::options::{Asks, Options, find};
use std::env;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt as _;

const USAGE: &str = "\
phalanx-mpirun [options] PROGRAM [arguments]
  -n N, -np N       ranks (else PHALANX_RANKS, else one a core)
  --cpus-per-rank N cores of each rank, for its threads (else OMP_NUM_THREADS,
                    else the cores divided by the ranks)
  --no-pin          let the system choose the cores
  --stack MIB       stack of each rank (the limit of `ulimit -s`, at least 64;
                    1024 if that is unlimited)
  --stall-warning SECONDS
                    a rank that has waited so long says so, once (else
                    PHALANX_STALL_WARNING, else 30; 0: never)
  --timeout SECONDS ends a run that takes longer (else MPIEXEC_TIMEOUT)
  --wdir DIRECTORY  where the program runs
  -x NAME=VALUE     a variable of its environment
The program is linked by phalanx-mpicc, -mpicxx or -mpifort, or by a plain
compiler with libmpi_abi.so; it is looked for in PATH. Of other launchers'
options, those that change nothing here are ignored; the rest is refused.";

fn fail(text: &str) -> ! {
    eprintln!("phalanx-mpirun: {text}");
    std::process::exit(2)
}

fn fail_by_option(text: &str) -> ! {
    fail(&format!("{text} (phalanx-mpirun --help lists the options)"))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_main(_: c_int, _: *const *const c_char) -> c_int {
    take_preloads();
    let options =
        Options::read(env::args_os().skip(1)).unwrap_or_else(|text| fail_by_option(&text));
    match options.asks {
        Some(Asks::Help) => println!("{USAGE}"),
        Some(Asks::Version) => println!("phalanx-mpirun {}", env!("CARGO_PKG_VERSION")),
        None => return launch(options),
    }
    0
}

fn launch(options: Options) -> c_int {
    let Some(name) = options.program.first() else { fail_by_option("no program is named") };
    if !options.ignored.is_empty() {
        let all = options.ignored.join(", ");
        eprintln!("phalanx-mpirun: ignored, as ranks are threads of one process: {all}");
    }
    for (name, value) in &options.variables {
        // SAFETY: no other thread runs that might read the environment.
        unsafe { env::set_var(name, value) };
    }
    if let Some(seconds) = options.time {
        // SAFETY: as above.
        unsafe { env::set_var("MPIEXEC_TIMEOUT", seconds.to_string()) };
    }
    if let Some(Err(error)) = options.directory.as_ref().map(env::set_current_dir) {
        fail(&format!("--wdir {}: {error}", options.directory.unwrap_or_default().display()));
    }
    let ranks = cores::ranks(options.ranks).unwrap_or_else(|text| fail(&text));
    let program = find(name).unwrap_or_else(|text| fail(&text));
    let all = options.program.iter().cloned();
    let arguments = all.map(|it| CString::new(it.into_vec()).expect("the system's have no zeros"));
    let job = Job {
        ranks,
        program,
        arguments: arguments.collect(),
        stack: options.stack,
        stall_warning: options.stall_warning,
        is_pinned: options.is_pinned,
        cpus_per_rank: options.cpus_per_rank,
    };
    match run(&job) {
        Ok(code) => code,
        Err(text) => {
            eprintln!("phalanx-mpirun: {text}");
            1
        }
    }
}
