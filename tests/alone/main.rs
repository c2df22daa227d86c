//! Tests that need a process of their own, or change the one that they run in:
//!
//! - `errors`: the standard error of a program that ends with one
//! - `host`, `masks`, `vanishing`: the affinity mask and the cores that a process has
//! - `profile`: the process looks for a profile once
//! - `roomy`: the process pretends to run on a large machine
//! - `sandbox`: system calls are refused
//! - `start`: bytes that the allocator of the process is asked for
//! - `tracing`: the subscriber is the process'
//! - `waiting`: how ranks sleep is read when the process starts
//!
//! Tests of the last four are ignored here, and run by the test `alone` of their module in a
//! process of their own.

#[path = "../common/mod.rs"]
mod common;

mod errors;
mod host;
mod masks;
mod profile;
mod roomy;
mod sandbox;
mod start;
mod tracing;
mod vanishing;
mod waiting;

/// Runs an ignored test of a module, or all of them (`""`), in a process of their own, with a
/// variable in its environment; `tests` of them must pass.
fn in_a_process(module: &str, test: &str, variable: Option<(&str, &str)>, tests: usize) {
    let mut child = common::again(module, test);
    child.arg("--ignored").envs(variable);
    let run = child.output().expect("this program can be run again");
    let (said, errors) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let passed = said.contains(&format!("{tests} passed"));
    assert!(run.status.success() && passed, "{said}\n{errors}");
}
