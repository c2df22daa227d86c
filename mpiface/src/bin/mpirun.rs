//! `phalanx-mpirun -n N ./prog arguments`: runs a program that phalanx-mpicc linked, one rank a
//! thread of this process.
//!
//! It has no function `main`, as gdb's `break main` means the program's: build.rs has the linker
//! give the start of the process `__wrap_main` instead.

#![no_main]

use phalanx_mpi_abi::cores;
use phalanx_mpi_abi::launch::{Job, run};
use phalanx_mpi_abi::stack;
use std::env;
use std::ffi::{CString, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "\
phalanx-mpirun [options] PROGRAM [arguments]
  -n N, -np N       ranks (else PHALANX_RANKS, else one a core)
  --stack MIB       stack of each rank (the limit of `ulimit -s`, at least 64;
                    1024 if that is unlimited)
  --stall-warning SECONDS
                    a rank that has waited so long says so, once (else
                    PHALANX_STALL_WARNING, else 30; 0: never)
  --no-pin          let the system choose the cores
The program is linked by phalanx-mpicc, -mpicxx or -mpifort.";

fn fail(text: &str) -> ! {
    eprintln!("phalanx-mpirun: {text}\n{USAGE}");
    std::process::exit(2)
}

fn number(option: &str, value: Option<OsString>) -> usize {
    let value = value.and_then(|it| it.into_string().ok()).and_then(|it| it.parse().ok());
    match value {
        Some(number) if number > 0 => number,
        _ => fail(&format!("{option} wants a positive number")),
    }
}

fn seconds(value: Option<OsString>) -> Duration {
    let value = value.and_then(|it| it.into_string().ok()).and_then(|it| it.parse().ok());
    let seconds = value.map(Duration::try_from_secs_f64);
    match seconds {
        Some(Ok(seconds)) => seconds,
        _ => fail("--stall-warning wants a number of seconds (0: never)"),
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_main(_: c_int, _: *const *const c_char) -> c_int {
    let (mut ranks, mut stack, mut is_pinned) = (None, stack::usual(), true);
    let mut stall_warning = None;
    let mut arguments = env::args_os().skip(1);
    let program = loop {
        let Some(argument) = arguments.next() else { fail("no program is named") };
        match argument.to_str() {
            Some("-n" | "-np") => ranks = Some(number("-n", arguments.next())),
            Some("--stack") => {
                let mebibytes = number("--stack", arguments.next());
                stack = mebibytes.checked_mul(1 << 20).unwrap_or_else(|| fail("so large a stack"));
            }
            Some("--stall-warning") => stall_warning = Some(seconds(arguments.next())),
            Some("--no-pin") => is_pinned = false,
            Some("-h" | "--help") => {
                println!("{USAGE}");
                return 0;
            }
            Some(other) if other.starts_with('-') => fail(&format!("{other} is not known")),
            _ => break argument,
        }
    };
    let ranks = cores::ranks(ranks).unwrap_or_else(|text| fail(&text));
    let all = std::iter::once(program.clone()).chain(arguments);
    let arguments = all.map(|it| CString::new(it.into_vec()).expect("the system's have no zeros"));
    let job = Job {
        ranks,
        program: PathBuf::from(program),
        arguments: arguments.collect(),
        stack,
        stall_warning,
        is_pinned,
    };
    match run(&job) {
        Ok(code) => code,
        Err(text) => {
            eprintln!("phalanx-mpirun: {text}");
            1
        }
    }
}
