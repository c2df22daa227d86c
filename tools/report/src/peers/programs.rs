//! The peers' programs: our own sources, which call other libraries, compiled with the compilers of
//! this machine. Nothing is installed.

use super::process::{PeerProcess, ProcessLimits};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const FILES: [(&str, &str); 4] = [
    ("harness.h", include_str!("../../peers/harness.h")),
    ("mpi.c", include_str!("../../peers/mpi.c")),
    ("openmp.c", include_str!("../../peers/openmp.c")),
    ("floor.c", include_str!("../../peers/floor.c")),
];

const FLAGS: [&str; 4] = ["-O3", "-march=native", "-std=gnu11", "-Wall"];

/// A program to build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    source: &'static str,
    /// Compilers that will do, the first that is there first.
    compilers: &'static [&'static str],
    flags: &'static [&'static str],
    /// What a person can do who misses it.
    pub(crate) hint: &'static str,
}

pub(crate) const FLOOR: Program = Program {
    name: "floor",
    source: "floor.c",
    compilers: &["gcc", "clang", "cc"],
    flags: &["-lpthread"],
    hint: "a C compiler",
};
pub(crate) const OPENMP_GCC: Program = Program {
    name: "openmp-gcc",
    source: "openmp.c",
    compilers: &["gcc"],
    flags: &["-fopenmp"],
    hint: "gcc with libgomp",
};
pub(crate) const OPENMP_CLANG: Program = Program {
    name: "openmp-clang",
    source: "openmp.c",
    compilers: &["clang"],
    flags: &["-fopenmp=libomp"],
    hint: "clang with libomp-dev",
};
/// The file of the search path that `name` stands for.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Makes the directory `dir`, with the sources. It must not be there yet: what
/// lies in it is going to be run.
pub(crate) fn unpack(dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)?;
    FILES.iter().try_for_each(|(name, text)| fs::write(dir.join(name), text))
}

impl Program {
    /// Builds it in `dir`, which has the sources. An error names the missing tool.
    pub(crate) fn build(&self, dir: &Path) -> Result<PathBuf, String> {
        let compiler = self.compilers.iter().find_map(|name| find(name));
        let Some(compiler) = compiler else {
            let names = self.compilers.join(" or ");
            return Err(format!("no {names} found; needs {}", self.hint));
        };
        compile(dir, &compiler, self.source, self.flags, self.name, self.hint)
    }
}

/// Compiles one of the sources in `dir`, which has them, to `out` there.
pub(crate) fn compile(
    dir: &Path,
    compiler: &Path,
    source: &str,
    flags: &[&str],
    out: &str,
    hint: &str,
) -> Result<PathBuf, String> {
    let out = dir.join(out);
    let mut command = Command::new(compiler);
    command.args(FLAGS).arg("-o").arg(&out).arg(dir.join(source)).args(flags);
    let name = compiler.display();
    match PeerProcess::run(command, ProcessLimits::of(Duration::from_secs(60))) {
        Ok(done) if done.success => Ok(out),
        Ok(done) => {
            let error = done.stderr.lines().find(|line| line.contains("error"));
            let error = error.or(done.stderr.lines().next()).unwrap_or("no reason given");
            Err(format!("{name} cannot build it: {error}; needs {hint}"))
        }
        Err(e) => Err(format!("{name} cannot be run: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_named() {
        let program = Program {
            name: "nothing",
            source: "floor.c",
            compilers: &["no-such-compiler", "nor-this-one"],
            flags: &[],
            hint: "a miracle",
        };
        let why = program.build(Path::new(".")).unwrap_err();
        assert_eq!(why, "no no-such-compiler or nor-this-one found; needs a miracle");
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_built_says_why() {
        let Some(_) = find("cc") else {
            eprintln!("skipped: no cc");
            return;
        };
        let dir = std::env::temp_dir().join(format!("phalanx-programs-{}", std::process::id()));
        unpack(&dir).unwrap();
        fs::write(dir.join("broken.c"), "int main(void) { return no_such_name; }\n").unwrap();
        let program = Program { source: "broken.c", compilers: &["cc"], ..FLOOR };
        let why = program.build(&dir).unwrap_err();
        fs::remove_dir_all(&dir).unwrap();
        assert!(why.contains("no_such_name") && why.ends_with("; needs a C compiler"), "{why}");
    }
}
