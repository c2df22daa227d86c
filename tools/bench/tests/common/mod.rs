//! Runs the test's program (`PROGRAM`) and returns its output, for calls that must succeed and
//! calls that must fail.
#![allow(dead_code, reason = "no test file uses all of it")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Without a profile of this machine, which would change the choice.
fn phalanx(args: &[&str]) -> Output {
    let mut command = Command::new(crate::PROGRAM);
    command.args(args).stdin(Stdio::null()).env("PHALANX_PROFILE", "").output().unwrap()
}

/// The output of a command that must succeed.
pub(crate) fn text(args: &[&str]) -> String {
    let out = phalanx(args);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {stderr}");
    assert!(stderr.is_empty(), "{args:?}: {stderr}");
    String::from_utf8(out.stdout).unwrap()
}

pub(crate) fn json(args: &[&str]) -> Value {
    serde_json::from_str(&text(&[args, &["--format", "json"]].concat())).unwrap()
}

/// The one line of a command that must fail with exit code 2.
pub(crate) fn complaint(args: &[&str]) -> String {
    let out = phalanx(args);
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(out.stdout.is_empty(), "{args:?}: output in spite of an error");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    stderr
}

pub(crate) fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// Another program of the tool, which `cargo test --workspace` builds beside the test's.
pub(crate) fn beside(name: &str) -> Option<PathBuf> {
    let file = Path::new(crate::PROGRAM).with_file_name(name);
    let file = file.with_extension(std::env::consts::EXE_EXTENSION);
    file.is_file().then_some(file)
}

/// Runs `f` in a thread that may use one unit only; its children inherit that.
#[cfg(target_os = "linux")]
pub(crate) fn on_one_core<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    use phalanx::machine::affinity;
    std::thread::scope(|s| {
        let thread = s.spawn(|| {
            let first = affinity::allowed_pus().unwrap()[0];
            affinity::restore(&[first]).unwrap();
            f()
        });
        thread.join().unwrap()
    })
}
