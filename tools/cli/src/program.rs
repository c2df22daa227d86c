//! A program of commands: parses the command line, runs the command and returns the exit code.

use crate::failure::{Failure, one_line};
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
pub struct Cli<C: Subcommand> {
    #[command(subcommand)]
    pub command: C,
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

/// Says how a command went.
pub fn end(result: Result<(), Failure>) -> ExitCode {
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
pub fn explain(e: &Error) -> Result<(), Failure> {
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
pub fn condense(message: &str) -> String {
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
