//! Parses the command line, runs the command and returns the exit code.

use crate::bench::element::Sample;
use crate::bench::sample::Measure;
use crate::command::Command;
use crate::failure::Failure;
use crate::programs;
use clap::{CommandFactory, FromArgMatches, Parser};
use phalanx_cli::Run;
use phalanx_cli::program::{Cli, end, explain};
use std::ffi::OsString;
use std::process::ExitCode;

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

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_cli::program::condense;

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
