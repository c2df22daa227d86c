//! The MPIs of this machine: compiler, launcher and version of each.

use super::programs::{compile, find};
use super::raw::OUR_MPI;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The two libraries that the others come from, and our own (the repository's `mpiface`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    OpenMpi,
    Mpich,
    Phalanx,
}

impl Family {
    /// Those whose compilers are looked for on the search path.
    pub(crate) const PEERS: [Family; 2] = [Family::OpenMpi, Family::Mpich];

    /// Its name, as rows begin.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::OpenMpi => "openmpi",
            Family::Mpich => "mpich",
            Family::Phalanx => OUR_MPI,
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Family::OpenMpi => "Open MPI (openmpi-bin, libopenmpi-dev)",
            Family::Mpich => "MPICH (mpich, libmpich-dev)",
            Family::Phalanx => "interfaces/mpiface/install",
        }
    }
}

/// One MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    pub(crate) family: Family,
    /// Such as `5.0.11`.
    pub(crate) version: String,
    /// What its rows' names begin with: the family, and for one that `--mpi` names
    /// the major version.
    pub(crate) name: String,
    pub(crate) launcher: PathBuf,
    compiler: PathBuf,
}

impl Installation {
    /// The one of this family that the search path has.
    pub(crate) fn of_path(family: Family) -> Result<Self, String> {
        let own = ["mpicc", "mpirun"].map(|tool| format!("{tool}.{}", family.name()));
        let plain = ["mpicc", "mpirun"].map(str::to_string);
        for [compiler, launcher] in [&own, &plain] {
            let (Some(compiler), Some(launcher)) = (find(compiler), find(launcher)) else {
                continue;
            };
            let it = Self::of(compiler, launcher)?;
            if it.family == family {
                return Ok(Installation { name: family.name().to_string(), ..it });
            }
        }
        let [compiler, launcher] = own;
        Err(format!("no {compiler} and {launcher} found; needs {}", family.hint()))
    }

    /// The one in this directory: its `bin/mpicc` and `bin/mpirun`.
    pub(crate) fn in_directory(dir: &Path) -> Result<Self, String> {
        let tool = |name| tool(dir, name, "is an MPI installed there?");
        Self::of(tool("mpicc")?, tool("mpirun")?)
    }

    /// Our own, as `interfaces/mpiface/install` has put it into this directory.
    pub(crate) fn of_ours(dir: &Path) -> Result<Self, String> {
        let tool = |name| tool(dir, name, "was it interfaces/mpiface/install's PREFIX?");
        let (compiler, launcher) = (tool("phalanx-mpicc")?, tool("phalanx-mpirun")?);
        let (family, version) = (Family::Phalanx, env!("CARGO_PKG_VERSION").to_string());
        Ok(Installation { family, version, name: family.name().to_string(), launcher, compiler })
    }

    fn of(compiler: PathBuf, launcher: PathBuf) -> Result<Self, String> {
        let out = Command::new(&launcher).arg("--version").output();
        let out = out.map_err(|e| format!("'{}' cannot be run: {e}", launcher.display()))?;
        let text = String::from_utf8_lossy(&out.stdout);
        let (family, version) = identify(&text).ok_or_else(|| {
            let first = text.lines().next().unwrap_or("nothing");
            format!(
                "'{} --version' says '{first}', which is neither Open MPI nor MPICH",
                launcher.display()
            )
        })?;
        let major = version.split('.').next().unwrap_or_default();
        let name = format!("{}{major}", family.name());
        Ok(Installation { family, version: version.to_string(), name, launcher, compiler })
    }

    /// Builds the program that calls it in `dir`, which has the sources.
    pub(crate) fn build(&self, dir: &Path) -> Result<PathBuf, String> {
        compile(dir, &self.compiler, "mpi.c", &[], &self.name, self.family.hint())
    }

    /// The major version; 0 if it is not said.
    pub(crate) fn major(&self) -> usize {
        self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
    }
}

/// A program of a directory's `bin`.
fn tool(dir: &Path, name: &str, question: &str) -> Result<PathBuf, String> {
    let path = dir.join("bin").join(name);
    let there = path.is_file();
    there
        .then_some(path)
        .ok_or_else(|| format!("'{}' has no bin/{name}: {question}", dir.display()))
}

/// Family and version, as a launcher prints them of itself.
fn identify(text: &str) -> Option<(Family, &str)> {
    let after = |word: &str| {
        let rest = &text[text.find(word)? + word.len()..];
        rest.split_whitespace().next()
    };
    // Open MPI 4: `mpirun (Open MPI) 4.1.4`, Debian's: `mpirun.openmpi (OpenRTE) 4.1.4`.
    for word in ["(Open MPI)", "(OpenRTE)"] {
        if let Some(version) = after(word) {
            return Some((Family::OpenMpi, version));
        }
    }
    text.contains("HYDRA").then(|| Some((Family::Mpich, after("Version:")?)))?
}

#[cfg(test)]
impl Installation {
    /// One without tools.
    pub(crate) fn for_test(family: Family, name: &str, version: &str) -> Self {
        let tool = || PathBuf::from("no-such-tool");
        let (name, version) = (name.to_string(), version.to_string());
        Installation { family, version, name, launcher: tool(), compiler: tool() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_who_they_are() {
        for (text, family, version) in [
            ("mpirun (Open MPI) 5.0.11\n\nReport bugs to ..", Family::OpenMpi, "5.0.11"),
            ("mpirun.openmpi (OpenRTE) 4.1.4\n", Family::OpenMpi, "4.1.4"),
            ("HYDRA build details:\n    Version:      5.0.2\n", Family::Mpich, "5.0.2"),
        ] {
            assert_eq!(identify(text), Some((family, version)));
        }
        assert_eq!(identify("Intel(R) MPI Library for Linux* OS, Version 2021.9"), None);
        assert_eq!(identify("HYDRA of no version"), None);
    }

    #[test]
    fn a_directory_without_an_mpi_is_refused() {
        let why = Installation::in_directory(Path::new("no-such-directory")).unwrap_err();
        assert!(why.contains("no bin/mpicc"), "{why}");
        let why = Installation::of_ours(Path::new("no-such-directory")).unwrap_err();
        assert!(why.contains("no bin/phalanx-mpicc"), "{why}");
    }
}
