//! Where libraries are, and which of them are a rank's own; another MPI's; profilers.

use super::elf::Elf;
use super::source::parse;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::{env, process};

/// The soname of the shim.
pub(super) const SHIM: &str = "libmpi_abi.so.0";

/// Profilers that are to come before each rank's program: the launcher takes them out of
/// LD_PRELOAD.
pub(super) const PRELOADS: &str = "PHALANX_MPI_PRELOAD";

pub(super) fn preloads() -> Vec<PathBuf> {
    let list = env::var_os(PRELOADS).unwrap_or_default();
    env::split_paths(&list).filter(|it| !it.as_os_str().is_empty()).collect()
}

/// Libraries of LD_PRELOAD that use MPI would be this process's: it begins again without them, and
/// each rank has a copy instead, which comes before all but the program itself. Comes back if there
/// are none.
pub fn take_preloads() {
    const VARIABLE: &str = "LD_PRELOAD";
    let list = env::var(VARIABLE).unwrap_or_default();
    let uses_mpi = |it: &&str| {
        let elf = parse(Path::new(it)).map(|it| it.0);
        elf.and_then(|it| it.needed().map_err(|error| error.to_string()))
            .is_ok_and(|needed| needed.iter().any(|name| name == SHIM))
    };
    let all = || list.split([':', ' ']).filter(|it| !it.is_empty());
    let (mut ours, mut others) = (preloads(), Vec::new());
    for one in all() {
        match uses_mpi(&one) {
            true => ours.push(PathBuf::from(one)),
            false => others.push(one),
        }
    }
    let (Ok(ours), Ok(program)) = (env::join_paths(&ours), env::current_exe()) else { return };
    if others.len() == all().count() {
        return;
    }
    let mut again = process::Command::new(program);
    again.args(env::args_os().skip(1)).env(PRELOADS, ours).env(VARIABLE, others.join(":"));
    // It does not come back if it succeeds.
    drop(again.exec());
}

/// Another MPI's library, and that MPI's name.
pub(super) fn other_mpi(name: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 11] = [
        ("libmpi.so.12", "MPICH or Intel MPI"),
        ("libmpi.so", "Open MPI"),
        ("libmpi_cxx.so", "Open MPI"),
        ("libmpi_mpifh.so", "Open MPI"),
        ("libmpi_usempi", "Open MPI"),
        ("libopen-rte.so", "Open MPI"),
        ("libopen-pal.so", "Open MPI"),
        ("libmpich", "MPICH"),
        ("libmpicxx.so", "MPICH or Intel MPI"),
        ("libmpifort.so", "MPICH or Intel MPI"),
        ("libmpi_gnu", "Cray MPICH"),
    ];
    KNOWN.iter().find(|it| name.starts_with(it.0)).map(|it| it.1)
}

/// The names of a file's libraries: none of another MPI, which has processes as ranks.
pub(super) fn needed(elf: &Elf, path: &Path) -> Result<Vec<String>, String> {
    let names = elf.needed().map_err(|error| format!("{}: {error}", path.display()))?;
    for name in &names {
        if let Some(whose) = other_mpi(name) {
            return Err(format!(
                "{} is linked with {name}, of {whose}, whose launcher runs it: compile and link it \
                 with phalanx-mpicc",
                path.display()
            ));
        }
    }
    Ok(names)
}

/// Libraries of the system that hold a rank's state.
pub(super) fn is_listed(name: &str) -> bool {
    name == SHIM
        || name.starts_with("libgfortran.so.")
        || name.starts_with("libpython3.")
        || env::var("PHALANX_MPI_PRIVATE").is_ok_and(|list| list.split(':').any(|it| it == name))
}

pub(super) const SYSTEM: [&str; 4] = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];

pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|it| path.starts_with(it))
}

/// Where the dynamic linker would find a library: the search path of the file that needs it, then
/// LD_LIBRARY_PATH, the package's own directory, and the system's.
pub(super) fn find(name: &str, needs_it: &Path, elf: &Elf) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let origin = needs_it.parent().unwrap_or(Path::new("."));
    let mut places = Vec::new();
    for place in elf.search_path().unwrap_or_default() {
        let origin = origin.to_string_lossy();
        places.push(PathBuf::from(place.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
    }
    if let Some(list) = env::var_os("LD_LIBRARY_PATH") {
        places.extend(env::split_paths(&list));
    }
    places.push(crate::home::libraries());
    for place in SYSTEM {
        places.push(PathBuf::from(format!("{place}/{}-linux-gnu", env::consts::ARCH)));
        places.push(PathBuf::from(place));
    }
    places.push(PathBuf::from("/usr/local/lib"));
    places.into_iter().map(|it| it.join(name)).find(|it| it.is_file())
}
