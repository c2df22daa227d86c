//! How a program was begun: by another launcher, with processes as ranks, or by a script that
//! this launcher has begun.
//!
//! A program of which the ranks are threads is a world of its own in each process. Where another
//! launcher begins three of them there would be three worlds of one rank: that is said once, and
//! they end. A script or a tool (`time`, `env`) that phalanx-mpirun begins is begun once; a
//! program that it begins in turn finds the launcher's line in the environment, and is run by that.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// For programs that a script begins: the launcher and its options, with SEPARATOR between them.
const LINE: &str = "PHALANX_MPI_LINE";
const SEPARATOR: u8 = 0x1f;

/// Where other launchers tell a process the number of ranks, and which it is.
const OTHERS: [(&str, &str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's launcher"),
    ("PMI_SIZE", "PMI_RANK", "MPICH's or Intel MPI's launcher"),
    ("PALS_SIZE", "PALS_RANKID", "PALS"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"),
];

/// Ends the process if another launcher has begun it as one of several, and the user has not said
/// that it is alone (PHALANX_RANKS=1).
pub(crate) fn end_if_one_of_several() {
    if env::var("PHALANX_RANKS").is_ok_and(|it| it.trim() == "1") {
        return;
    }
    for (size, rank, whose) in OTHERS {
        let number = |name: &str| env::var(name).ok().and_then(|it| it.parse::<usize>().ok());
        let (Some(size), Some(rank)) = (number(size).filter(|it| *it > 1), number(rank)) else {
            continue;
        };
        if rank == 0 {
            eprintln!(
                "phalanx: {whose} has begun this program {size} times, and each would be a world \
                 of one rank: its ranks are threads, which phalanx-mpirun -n {size} begins (or \
                 compile it with the other MPI; PHALANX_RANKS=1 says that one rank is meant)"
            );
        }
        std::process::exit(1);
    }
}

/// The launcher's line, if a script that it has begun has begun this process.
fn line() -> Option<Vec<OsString>> {
    let text = env::var_os(LINE)?;
    let parts = text.as_bytes().split(|it| *it == SEPARATOR);
    Some(parts.map(|it| OsString::from_vec(it.to_vec())).collect())
}

/// Begins the program again by the launcher, if a script that this has begun has begun it: does
/// not come back then.
pub(crate) fn begin_again() {
    let (Some(line), Ok(program)) = (line(), env::current_exe()) else { return };
    let Some((launcher, options)) = line.split_first() else { return };
    let mut again = Command::new(launcher);
    again.args(options).arg("--").arg(program).args(env::args_os().skip(1)).env_remove(LINE);
    eprintln!("phalanx: {}: {}", launcher.to_string_lossy(), again.exec());
    std::process::exit(1);
}

/// Ends the process, an ordinary one with a world of one rank, if the script that has begun it was
/// to have more.
pub(crate) fn end_if_ranks_are_lost() {
    let Some(line) = line() else { return };
    let ranks = line.iter().skip_while(|it| *it != "-n").nth(1);
    if ranks.is_none_or(|it| it != "1") {
        eprintln!(
            "phalanx: phalanx-mpirun has begun this program by a script or another program, and \
             cannot make ranks of it: link it with phalanx-mpicc"
        );
        std::process::exit(1);
    }
}

/// The environment is the program's own from now on. While there is one thread.
pub(crate) fn forget() {
    // SAFETY: no other thread runs that might read the environment.
    unsafe { env::remove_var(LINE) };
}

/// Begins a program that uses no MPI, or a script, once, in this process's place: comes back with
/// the reason if it cannot be begun.
pub(crate) fn begin_once(
    program: &Path,
    arguments: &[CString],
    ranks: usize,
    options: &[String],
) -> String {
    let launcher = env::current_exe().unwrap_or_else(|_| "phalanx-mpirun".into());
    let mut line = launcher.into_os_string().into_vec();
    for part in options {
        line.push(SEPARATOR);
        line.extend_from_slice(part.as_bytes());
    }
    let at = program.display();
    if ranks > 1 {
        eprintln!(
            "phalanx-mpirun: {at} is no program of MPI: it is begun once, and each program of MPI \
             that it begins has {ranks} ranks"
        );
    }
    let mut once = Command::new(program);
    let arguments = arguments.iter().skip(1).map(|it| OsStr::from_bytes(it.as_bytes()));
    once.args(arguments).env(LINE, OsString::from_vec(line));
    format!("{at}: {}", once.exec())
}
