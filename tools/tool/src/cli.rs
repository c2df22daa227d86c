//! Parses the command line, runs the command and returns the exit code.

use crate::command::Command;
use crate::failure::{Failure, one_line};
use crate::launch::Launch;
use clap::error::{Error, ErrorKind};
use clap::{Parser, Subcommand};
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

/// The same with ranks on several nodes, of which there is `bench`.
pub fn main_on_nodes(launch: &dyn Launch) -> ExitCode {
    end(match Cli::try_parse() {
        Ok(Cli { command: Command::Bench(bench) }) => bench.run_on(launch),
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
        // Without any argument: whoever types the name alone asks what there is.
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

/// clap's message without its paragraphs: what was wrong, what is accepted,
/// the nearest name.
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
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::<Command>::command().debug_assert();
    }

    #[test]
    fn errors_become_one_line() {
        for (args, wanted) in [
            (vec!["phalanx", "bench", "--fromat", "tsv"], "a similar argument exists: '--format'"),
            (vec!["phalanx", "bnch"], "a similar subcommand exists: 'bench'"),
            (
                vec!["phalanx", "bench", "--format", "tvs"],
                "did you mean tsv? accepted are text, tsv, json",
            ),
            (vec!["phalanx", "bench", "all-redcue"], "did you mean all-reduce?"),
        ] {
            let e = Cli::<Command>::try_parse_from(&args).unwrap_err();
            let line = condense(&e.render().to_string());
            assert!(line.contains(wanted), "{line}");
            assert!(!line.contains('\n') && !line.contains("Usage"), "{line}");
        }
    }
}
