//! Where a machine's description comes from.

use crate::failure::Failure;
use phalanx::machine::Machine;
use std::path::PathBuf;

/// Nothing: this machine.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct SourceArgs {
    /// A machine in hwloc's syntax, such as "pack:2 l3:2 core:4 pu:1"
    #[arg(long, value_name = "TEXT")]
    synthetic: Option<String>,
    /// A machine saved by lstopo (hwloc XML v2)
    #[arg(long, value_name = "FILE")]
    xml: Option<PathBuf>,
    /// A saved /sys tree
    #[arg(long, value_name = "DIR")]
    sysfs: Option<PathBuf>,
}

impl SourceArgs {
    /// Whether one was named.
    pub(crate) fn is_named(&self) -> bool {
        self.synthetic.is_some() || self.xml.is_some() || self.sysfs.is_some()
    }

    /// Reads the machine; never another one than was asked for.
    pub(crate) fn read(&self) -> Result<Machine, Failure> {
        let machine = match (&self.synthetic, &self.xml, &self.sysfs) {
            (Some(text), _, _) => Machine::from_synthetic(text),
            (_, Some(path), _) => Machine::from_xml(path),
            (_, _, Some(path)) => Machine::from_sysfs(path),
            _ => Machine::this(),
        };
        machine.map_err(Failure::usage)
    }
}
