//! The destination and the form of a command's output.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For eyes.
    Text,
    /// A line of column names, then a line for each row.
    Tsv,
    /// One object.
    Json,
}

named! { Format "format": Text "text" Tsv "tsv" Json "json" }

/// The options that every command has.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// text (for eyes), tsv or json (both stable)
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// Write to this file instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputArgs {
    /// The file that was named.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.output.as_deref()
    }

    /// Opens the output.
    pub fn open(&self) -> Result<Sink, Failure> {
        let to: Box<dyn Write> = match &self.output {
            None => Box::new(io::stdout()),
            Some(path) => Box::new(File::create(path).map_err(|e| {
                Failure::Usage(format!(
                    "the output file '{}' cannot be written: {e}",
                    path.display()
                ))
            })?),
        };
        Ok(Sink { to })
    }
}

/// Whether a file can be written, without taking its content away: to be known before minutes are
/// spent. `what`, a noun, comes before its name.
pub fn writable(what: &str, file: &Path) -> Result<(), Failure> {
    let new = !file.exists();
    let opened = fs::OpenOptions::new().append(true).create(true).open(file);
    opened.map_err(|e| unwritable(what, file, &e))?;
    if new {
        // An empty file says nothing to anybody.
        let _: Result<(), _> = fs::remove_file(file);
    }
    Ok(())
}

/// The failure to write a file.
pub fn unwritable(what: &str, file: &Path, e: &io::Error) -> Failure {
    Failure::Usage(format!("the {what} '{}' cannot be written: {e}", file.display()))
}

/// An open output. Every block of text is written at once.
pub struct Sink {
    to: Box<dyn Write>,
}

impl Sink {
    /// Writes `text` and makes it visible.
    pub fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.to.write_all(text.as_bytes())?;
        self.to.flush()?;
        Ok(())
    }
}
