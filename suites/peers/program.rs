//! Programs of other libraries, to run beside an example: built on the spot from C sources that the
//! example carries, and run as processes. A missing compiler is named and left out.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The others that run an example's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// OpenMP, by gcc
    Openmp,
    /// Open MPI and MPICH, whichever is there
    Mpi,
}

/// A program that is built.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    folder: Folder,
    /// The program that starts several processes of it; without, it has threads of its own.
    starter: Option<&'static str>,
}

/// A folder of its own for a program, which goes with it.
struct Folder(PathBuf);

/// The program in its folder.
const PROGRAM: &str = "program";

/// Why there is none.
#[derive(Debug)]
pub(crate) enum Missing {
    NotFound(&'static str),
    Fails(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::NotFound(what) => write!(f, "no {what} here"),
            Missing::Fails(what) => f.write_str(what),
        }
    }
}

/// As hard to beat as options make it.
const OPTIONS: [&str; 4] = ["-O3", "-march=native", "-ffast-math", "-fopenmp"];

/// Threads bound to cores, spinning where they wait, as ranks are and do.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("OMP_PROC_BIND", "true"),
    ("OMP_PLACES", "cores"),
    ("OMP_WAIT_POLICY", "active"),
    ("OMP_DYNAMIC", "false"),
    // Open MPI refuses to run as root, and more processes than cores, unless told.
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
];

/// The programs of a kind, from the first of `sources` (it includes the others), names and
/// texts.
pub(crate) fn build(kind: Kind, sources: &[(&str, &str)]) -> Vec<Result<Program, Missing>> {
    match kind {
        Kind::Openmp => vec![compile("openmp", "gcc", None, sources)],
        Kind::Mpi => {
            let named = [
                ("openmpi", "mpicc.openmpi", "mpirun.openmpi"),
                ("mpich", "mpicc.mpich", "mpirun.mpich"),
            ];
            let built = named.map(|(name, by, starter)| compile(name, by, Some(starter), sources));
            let built = built.into_iter();
            let there: Vec<_> = built.filter(|b| !matches!(b, Err(Missing::NotFound(_)))).collect();
            // Elsewhere than in Debian only one of them is installed, without a surname.
            if there.is_empty() {
                return vec![compile("mpi", "mpicc", Some("mpirun"), sources)];
            }
            there
        }
    }
}

fn compile(
    name: &'static str,
    compiler: &'static str,
    starter: Option<&'static str>,
    sources: &[(&str, &str)],
) -> Result<Program, Missing> {
    let fails = |e: std::io::Error| Missing::Fails(e.to_string());
    // Beside the example's own program, which is in the build's directory.
    let own = std::env::current_exe().map_err(fails)?;
    let folder = Folder::new(&own).map_err(fails)?;
    for (file, text) in sources {
        std::fs::write(folder.0.join(file), text).map_err(fails)?;
    }
    let mut command = Command::new(compiler);
    command.args(OPTIONS).arg(folder.0.join(sources[0].0));
    let output = command.arg("-o").arg(folder.0.join(PROGRAM)).arg("-lm").output();
    match output {
        Err(e) if e.kind() == ErrorKind::NotFound => Err(Missing::NotFound(compiler)),
        Err(e) => Err(fails(e)),
        Ok(output) if !output.status.success() => {
            let text = String::from_utf8_lossy(&output.stderr);
            let line = text.lines().find(|l| l.contains("error")).unwrap_or("no reason given");
            Err(Missing::Fails(format!("{compiler} fails: {line}")))
        }
        Ok(_) => Ok(Program { name, folder, starter }),
    }
}

impl Program {
    /// Runs it with `ranks` threads or processes; the numbers that it prints.
    pub(crate) fn run(&self, ranks: usize, arguments: &[String]) -> Result<Vec<f64>, String> {
        let file = self.folder.0.join(PROGRAM);
        let mut command = match self.starter {
            None => Command::new(&file),
            Some(starter) => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                let bind = if ranks <= cores { "core" } else { "none" };
                let mut command = Command::new(starter);
                command.args(["--bind-to", bind, "-np", &ranks.to_string()]).arg(&file);
                command
            }
        };
        command.envs(ENVIRONMENT).env("OMP_NUM_THREADS", ranks.to_string());
        let output = command.arg(ranks.to_string()).args(arguments).output();
        let output = output.map_err(|e| format!("{}: {e}", self.starter.unwrap_or(self.name)))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Option<Vec<f64>> =
            text.split_whitespace().map(|word| word.parse().ok()).collect();
        match numbers {
            Some(numbers) if output.status.success() && !numbers.is_empty() => Ok(numbers),
            _ => {
                let text = String::from_utf8_lossy(&output.stderr);
                let why = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("it says nothing");
                Err(format!("{} ends with {}: {why}", self.name, output.status))
            }
        }
    }
}

impl Folder {
    /// A new one beside `own`, a program. Another copy of this module, or process, may be at it.
    fn new(own: &Path) -> std::io::Result<Folder> {
        let mut number = 0;
        loop {
            let folder = own.with_extension(format!("peers-{}-{number}", std::process::id()));
            match std::fs::create_dir(&folder) {
                Ok(()) => return Ok(Folder(folder)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
