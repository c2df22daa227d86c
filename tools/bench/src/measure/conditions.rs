//! The conditions of a run as text for the header of its output.

use super::clock::Clock;
use phalanx::machine::Machine;
use std::time::SystemTime;

/// The accuracy of a run in words.
pub fn accuracy(clock: &Clock, stolen_ms: Option<f64>) -> String {
    let stolen = match stolen_ms {
        Some(ms) => format!("{ms:.0} ms"),
        None => "not known here".to_string(),
    };
    format!(
        "clock: {:.0} ns a reading (taken off), steps of {:.0} ns; stolen by the host meanwhile, \
         from all cores: {stolen}",
        clock.overhead_ns, clock.resolution_ns
    )
}

/// The message in place of a matrix of one processing unit.
pub fn alone(machine: &Machine, only: usize) -> String {
    let why = match machine.allowed_pus().len() {
        1 if machine.pu_count() == 1 => "this machine has one processing unit".to_string(),
        1 => format!("this process may use one processing unit of {}", machine.pu_count()),
        _ => "one processing unit was chosen".to_string(),
    };
    format!("{why} (PU {only}): there is no pair to measure between")
}

/// The date and time, in UTC.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
