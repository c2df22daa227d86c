//! `phalanx soak` checks what it says it checks: a run that leaves nothing behind passes, and one that loses
//! two hundred bytes in every script does not.
//!
//! Programs of their own: the count is the process's, and other tests allocate, too.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

/// Three teams and a part of a fourth. The time is a bound for a machine that does other things.
fn soak(more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(["soak", "-p", "2", "--seed", "5", "--runs", "125", "--seconds", "100000"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn nothing_is_left_behind() {
    let output = soak(&["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &table["rows"][0];
    assert_eq!((&row["ranks"], &row["runs"]), (&2.into(), &125.into()));
    assert!(row["faults"].as_u64() > Some(0) && row["failed_runs"].as_u64() > Some(0), "{row}");
    let [first, last] = ["heap_first", "heap_last"].map(|name| row[name].as_i64().unwrap());
    assert!(last <= first + 4096, "{row}");
}

#[test]
fn a_small_leak_is_found() {
    let output = soak(&["--leak", "200"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the heap has grown from") && text.contains("seed 5"), "{text}");
}
