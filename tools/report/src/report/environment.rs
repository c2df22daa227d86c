//! The environment of a measurement: processor, kernel, governor, affinity, version, commit.

use phalanx::machine::Machine;
use phalanx_bench::bench::run_conditions::cpu;
use phalanx_bench::measure::emulation;
use phalanx_bench::source::list;
use serde_json::{Value, json};
use std::fs;

/// The facts that are known here and now; an unknown one is null.
pub(crate) fn environment(machine: &Machine) -> Value {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let virtual_machine = info
        .lines()
        .find(|line| line.starts_with("flags"))
        .map(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let first = machine.allowed_pus().first().copied().unwrap_or(0);
    let governor = line(&format!("/sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor"));
    json!({
        "cpu": cpu(),
        "architecture": std::env::consts::ARCH,
        "kernel": line("/proc/sys/kernel/osrelease"),
        "governor": governor,
        "virtual_machine": virtual_machine,
        "emulated": emulation::emulator(),
        "affinity": list(machine.allowed_pus()),
        "quota": machine.quota().map(ToString::to_string),
        "load_1_min": line("/proc/loadavg").and_then(|text| first_number(&text)),
        "boost": line("/sys/devices/system/cpu/cpufreq/boost"),
        "version": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("PHALANX_COMMIT"),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        "date": phalanx_bench::measure::conditions::now(),
    })
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_string();
    (!text.is_empty()).then_some(text)
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_known_is_known() {
        let machine = Machine::from_synthetic("core:2 pu:2").unwrap();
        let found = environment(&machine);
        assert_eq!(found["affinity"], "0-3");
        assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
        assert!(found["date"].as_str().is_some_and(|date| date.ends_with('Z')), "{found}");
        assert_eq!(first_number("0.52 0.58 0.59 2/612 4711"), Some(0.52));
    }
}
