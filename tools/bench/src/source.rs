//! The machine that a command describes: this one, or one from a file or a text.

use crate::failure::{Failure, one_line};
pub use phalanx::engine::format_list as list;
use phalanx::machine::{Machine, MachineError};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where the machine comes from; without any of these: this machine.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub struct SourceArgs {
    /// A machine in hwloc's synthetic syntax, such as "pack:2 l3:4 core:8 pu:2"
    #[arg(long, value_name = "STRING", help_heading = "Source [default: this machine]")]
    synthetic: Option<String>,
    /// A machine from a file that hwloc 2 or 3 wrote (lstopo FILE.xml)
    #[arg(long, value_name = "FILE", help_heading = "Source [default: this machine]")]
    xml: Option<PathBuf>,
    /// A machine from a saved tree: a directory with sys/devices/system/cpu in it
    #[arg(long, value_name = "DIR", help_heading = "Source [default: this machine]")]
    sysfs: Option<PathBuf>,
}

impl SourceArgs {
    /// Whether one was named.
    pub fn is_named(&self) -> bool {
        self.synthetic.is_some() || self.xml.is_some() || self.sysfs.is_some()
    }

    /// Reads the machine. The machine asked for is read or is an error: this machine never stands
    /// in for it.
    pub fn read(&self) -> Result<Machine, Failure> {
        match (&self.synthetic, &self.xml, &self.sysfs) {
            (Some(text), _, _) => Machine::from_synthetic(text)
                .map_err(|e| Failure::Usage(format!("{e}, in '{text}'"))),
            (_, Some(file), _) => Machine::from_xml(file).map_err(|e| match e {
                MachineError::Unreadable { .. } => Failure::usage(e),
                other => Failure::Usage(format!("{}: {other}", file.display())),
            }),
            (_, _, Some(dir)) => Machine::from_sysfs(dir).map_err(|e| match e {
                MachineError::Unreadable { .. } => Failure::usage(e),
                other => Failure::Usage(format!("{}: {other}", dir.display())),
            }),
            (None, None, None) => Machine::this().map_err(Failure::run),
        }
    }
}

/// "64 cores, 128 PUs (64 of them allowed), from synthetic pack:2 ..", on one line.
pub fn summary(machine: &Machine) -> String {
    let (all, allowed) = (machine.pu_count(), machine.allowed_pus().len());
    let allowed = match all == allowed {
        true => String::new(),
        false => format!(" ({allowed} of them allowed)"),
    };
    let cores = count(machine.cores().len(), "core");
    let efficient = match machine.cores().iter().filter(|core| core.is_efficiency).count() {
        0 => String::new(),
        some => format!(" ({some} of them for efficiency)"),
    };
    let pus = count(all, "PU");
    one_line(&format!("{cores}{efficient}, {pus}{allowed}, from {}", machine.source()))
}

/// The source of each kind of fact.
pub(crate) fn source(machine: &Machine) -> Value {
    let source = machine.source();
    json!({
        "cores": source.cores,
        "memory": source.memory,
        "kinds": source.kinds,
        "allowed": source.allowed,
    })
}

/// "1 core", "2 cores".
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
