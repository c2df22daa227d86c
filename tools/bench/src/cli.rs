//! Parses the command line, runs the command and returns the exit code.

use crate::bench::element::{Sample, Type};
use crate::bench::sample::Measure;
use crate::command::Command;
use crate::failure::{Failure, one_line};
use crate::launch::Launch;
use crate::programs;
use clap::error::{Error, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Zero-copy collectives between the cores of one machine: measured, checked.
///
/// Every command takes --format text|tsv|json (text is for eyes, the other two
/// are stable) and -o FILE. Exit codes: 0 done and every check passed, 1 a
/// check or the run failed, 2 wrong arguments, 130 ended by Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "phalanx", version, max_term_width = 100)]
#[command(after_help = "Example:\n  phalanx bench all-reduce -p 2")]
struct Cli<C: Subcommand> {
    #[command(subcommand)]
    command: C,
}

/// A set of commands.
pub trait Run: Subcommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// If it fails.
    fn run(self) -> Result<(), Failure>;
}

/// Parses the arguments, runs the command and says how it went.
pub fn main<C: Run>() -> ExitCode {
    end(match Cli::<C>::try_parse() {
        Ok(cli) => cli.command.run(),
        Err(e) => explain(&e),
    })
}

/// The program `phalanx`, which knows the commands of all programs.
pub fn main_of_phalanx() -> ExitCode {
    let mut command = command();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let own: Vec<String> =
        Cli::<Command>::command().get_subcommands().map(|it| it.get_name().to_string()).collect();
    if let Some((program, args)) = programs::asked_for(&args, &own) {
        return end(Err(program.carry_out(args)));
    }
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|found| {
        Cli::<Command>::from_arg_matches(&found).map_err(|e| e.format(&mut command))
    });
    end(match parsed {
        Ok(cli) => cli.command.run(),
        Err(e) => explain(&e),
    })
}

/// The arguments that `phalanx` reads: its commands, and those of the other programs by name, for
/// the help and for whoever mistypes one.
fn command() -> clap::Command {
    let others = programs::ALL.into_iter().flat_map(|program| program.commands);
    let of = |&(name, about): &(&'static str, &'static str)| clap::Command::new(name).about(about);
    Cli::<Command>::command().subcommands(others.map(of))
}

/// The program of `phalanx bench` on elements of one type.
pub fn main_of_type<T: Sample>() -> ExitCode {
    end(match Cli::try_parse() {
        Ok(Cli { command: Command::Bench(bench) }) if bench.ty() == T::TYPE => {
            bench.run_by(Measure::of::<T>())
        }
        Ok(_) => Err(Failure::usage(format!(
            "this program has bench --type {} only; phalanx has all commands and finds this one",
            T::TYPE
        ))),
        Err(e) => explain(&e),
    })
}

/// The same with ranks on several nodes, of which there is `bench`.
pub fn main_on_nodes(launch: &dyn Launch, measure: fn(Type) -> Measure) -> ExitCode {
    end(match Cli::try_parse() {
        Ok(Cli { command: Command::Bench(bench) }) => bench.run_on(launch, measure),
        Ok(_) => Err(Failure::usage(
            "on several nodes there is bench; for all other commands take the tool of one node",
        )),
        Err(e) => explain(&e),
    })
}

fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(line) = failure.line() {
                // Nothing can be done where the standard error is closed.
                let _: Result<_, _> = writeln!(std::io::stderr(), "phalanx: {line}");
            }
            ExitCode::from(failure.code())
        }
    }
}

/// Prints the help that was asked for, or makes one line of an error.
fn explain(e: &Error) -> Result<(), Failure> {
    match e.kind() {
        // Without any argument: whoever types the name alone asks for the list.
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = e.render();
            let stdout = std::io::stdout();
            let mut stdout = stdout.lock();
            if std::io::IsTerminal::is_terminal(&stdout) {
                write!(stdout, "{}", text.ansi())?;
            } else {
                write!(stdout, "{text}")?;
            }
            stdout.flush()?;
            Ok(())
        }
        _ => Err(Failure::Usage(condense(&e.render().to_string()))),
    }
}

/// clap's message without its paragraphs: the fault, the accepted values, the nearest name.
fn condense(message: &str) -> String {
    let said = message.split("\n\n").take_while(|part| !part.trim_start().starts_with("Usage:"));
    let parts: Vec<String> = said
        .filter(|part| !part.trim_start().starts_with("For more information"))
        .map(one_line)
        .map(|part| {
            let part = part.strip_prefix("error: ").unwrap_or(&part).to_string();
            part.strip_prefix("tip: ").unwrap_or(&part).to_string()
        })
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn errors_become_one_line() {
        for (args, wanted) in [
            (vec!["phalanx", "bench", "--fromat", "tsv"], "a similar argument exists: '--format'"),
            (vec!["phalanx", "peer"], "a similar subcommand exists: 'peers'"),
            (vec!["phalanx", "bnch"], "a similar subcommand exists: 'bench'"),
            (
                vec!["phalanx", "bench", "--format", "tvs"],
                "did you mean tsv? accepted are text, tsv, json",
            ),
            (vec!["phalanx", "bench", "all-redcue"], "did you mean all-reduce?"),
        ] {
            let e = command().try_get_matches_from(&args).unwrap_err();
            let line = condense(&e.render().to_string());
            assert!(line.contains(wanted), "{line}");
            assert!(!line.contains('\n') && !line.contains("Usage"), "{line}");
        }
    }
}
