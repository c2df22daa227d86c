//! Commands that are in programs of their own, so that nobody waits for one that he does not use:
//! `phalanx NAME` finds them as `cargo NAME` does, beside itself and then on the PATH.

use crate::bench::element::Type;
use crate::failure::Failure;
use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

/// A program with some of the commands.
#[derive(Clone, Debug)]
pub struct Program {
    name: Cow<'static, str>,
    /// Where its package is in the repository; none if it is not one of ours.
    package: Option<&'static str>,
    /// Its commands, each with a line about it.
    pub(crate) commands: &'static [(&'static str, &'static str)],
}

/// Runs commands of the others, and asks the machine's peers.
const REPORT: Program = Program {
    name: Cow::Borrowed("phalanx-report"),
    package: Some("tools/report"),
    commands: &[
        (
            "report",
            "One page: this machine, its collectives beside the model, every algorithm step by \
             step",
        ),
        ("calibrate", "Fit t_s and t_w, find the sizes for the automatic choice, write a profile"),
        ("peers", "Compare with Open MPI, MPICH, OpenMP and the bare hardware"),
    ],
};

/// Also has `check --machine`.
pub(crate) const SOAK: Program = Program {
    name: Cow::Borrowed("phalanx-soak"),
    package: Some("tools/soak"),
    commands: &[("soak", "Call everything at random for a while, and check all of it")],
};

/// Those with commands that have names of their own.
pub(crate) const ALL: [Program; 2] = [REPORT, SOAK];

/// That of `bench` on elements of this type.
pub(crate) fn of_type(ty: Type) -> Program {
    Program {
        name: Cow::Owned(format!("phalanx-bench-{ty}")),
        package: Some("tools/bench-types"),
        commands: &[],
    }
}

/// The program that these arguments are for, and its arguments; none if they are for `phalanx`
/// itself, which has the commands `own`.
pub(crate) fn asked_for(args: &[OsString], own: &[String]) -> Option<(Program, Vec<OsString>)> {
    let text = |i: usize| args.get(i).and_then(|arg| arg.to_str()).unwrap_or("");
    let of_ours = |name: &str| {
        ALL.into_iter().find(|program| program.commands.iter().any(|(it, _)| *it == name))
    };
    if text(0) == "help"
        && let Some(program) = of_ours(text(1))
    {
        return Some((program, vec![args[1].clone(), "--help".into()]));
    }
    if let Some(program) = of_ours(text(0)) {
        return Some((program, args.to_vec()));
    }
    let before_operands = || args.iter().take_while(|arg| *arg != "--");
    if text(0) == "check" && before_operands().any(|arg| arg == "--machine") {
        return Some((SOAK, args.to_vec()));
    }
    // Somebody else's.
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let name = text(0);
    if !is_name(name) || name == "help" || own.iter().any(|it| it == name) {
        return None;
    }
    let program =
        Program { name: Cow::Owned(format!("phalanx-{name}")), package: None, commands: &[] };
    find(&program.name).is_some().then(|| (program, args.to_vec()))
}

impl Program {
    /// Becomes the program, with these arguments; returns why it could not.
    pub fn carry_out(&self, args: impl IntoIterator<Item = OsString>) -> Failure {
        let Some(file) = find(&self.name) else { return self.is_missing() };
        let mut command = Command::new(&file);
        command.args(args);
        Failure::Run(format!("'{}' cannot be run: {}", file.display(), become_it(command)))
    }

    fn is_missing(&self) -> Failure {
        let name = &self.name;
        let package = self.package.unwrap_or("its package");
        Failure::Run(format!(
            "this is in the program {name}, which is neither beside phalanx nor on the PATH; in \
             phalanx's repository `tools/phalanx` with the same arguments builds and runs it, and \
             `cargo install --path {package}` installs it"
        ))
    }
}

/// The program of this name beside the one that runs, else on the PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(|own| own.parent()).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::split_paths(&path).filter(|dir| dir.as_os_str() != OsStr::new(""));
    let files: Vec<PathBuf> = beside.into_iter().chain(path).map(|dir| dir.join(&file)).collect();
    files.into_iter().find(|file| is_program(file))
}

/// The program `phalanx`, which has all commands that measure: for programs that run them.
///
/// # Errors
/// If it is not there.
pub fn phalanx() -> Result<PathBuf, Failure> {
    find("phalanx").ok_or_else(|| {
        Failure::Run(
            "the program phalanx, whose commands this one runs, is neither beside it nor on the \
             PATH; `cargo install --path tools/bench` installs it"
                .to_string(),
        )
    })
}

#[cfg(unix)]
fn is_program(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &std::path::Path) -> bool {
    file.is_file()
}

/// Signals and the exit code are then the program's own.
#[cfg(unix)]
fn become_it(mut command: Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(e) => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(args: &str) -> Option<(String, String)> {
        let args: Vec<OsString> = args.split_whitespace().map(OsString::from).collect();
        let own = ["bench", "check"].map(String::from);
        let (program, args) = asked_for(&args, &own)?;
        let args: Vec<String> = args.iter().map(|arg| arg.to_str().unwrap().to_string()).collect();
        Some((program.name.into_owned(), args.join(" ")))
    }

    #[test]
    fn commands_are_found_in_their_programs() {
        let found = |program: &str, args: &str| Some((program.to_string(), args.to_string()));
        assert_eq!(asked("soak -p 2"), found("phalanx-soak", "soak -p 2"));
        assert_eq!(asked("help peers"), found("phalanx-report", "peers --help"));
        let check = "check --format json --machine";
        assert_eq!(asked(check), found("phalanx-soak", check));
        let none =
            ["", "bench soak", "check AG-RING", "check -- --machine", "--help", "help bench"];
        assert!(none.into_iter().all(|args| asked(args).is_none()));
        // Neither ours nor anybody's, and no way out of the directories that are searched.
        let none = ["no-such-command", "../phalanx", "/bin/sh", "help", "-h", "."];
        assert!(none.into_iter().all(|args| asked(args).is_none()));
    }

    #[test]
    fn a_missing_program_says_how_it_is_built() {
        let failure = of_type(Type::I32).is_missing().line().unwrap();
        for words in ["phalanx-bench-i32", "cargo install --path tools/bench-types"] {
            assert!(failure.contains(words), "{failure}");
        }
    }
}
