//! `phalanx calibrate` from outside: profiles, one core, error messages. No test asserts a speed.

#[path = "../../bench/tests/common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
use common::{beside, keys, on_one_core};
use common::{complaint, scratch, text};
use serde_json::Value;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx-report");

/// On one core there are no levels and nothing streams; two ranks share it.
#[cfg(target_os = "linux")]
#[test]
fn a_profile_is_written_and_read() {
    let path = scratch("profile.json");
    let name = path.to_str().unwrap();
    let eyes = on_one_core(|| text(&["calibrate", "-o", name]));
    assert!(eyes.contains("no t_s, t_w: ") && eyes.contains("2 ranks: "), "{eyes}");
    let profile = phalanx::tuning::Profile::read(&path).unwrap();
    assert_eq!(profile.ranks(), [2]);
    let machine = phalanx::machine::Machine::this().unwrap();
    assert!(profile.describes(&machine).is_ok());
    let object: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let wanted = [
        "phalanx_profile",
        "created",
        "machine",
        "levels",
        "copies",
        "payloads",
        "tunings",
        "evidence",
    ];
    assert_eq!(keys(&object), wanted);
    assert_eq!(object["payloads"]["copied_bytes"], phalanx::tuning::Payloads::OWN.copied);
    let evidence = &object["evidence"];
    let wanted = [
        "written_by",
        "emulated",
        "clock_overhead_ns",
        "clock_resolution_ns",
        "stolen_ms",
        "levels",
        "copies",
        "switches",
        "stream",
    ];
    assert_eq!(keys(evidence), wanted);
    assert!(eyes.contains("# clock: "), "{eyes}");
    let operations = evidence["switches"][0]["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 10);
    assert!(operations.iter().all(|o| o["points"].as_array().unwrap().len() == 7), "{evidence:#}");

    // A program of that machine follows it.
    let measured = |args: &[&str]| {
        let Some(program) = beside("phalanx") else {
            eprintln!("SKIPPED: whether `phalanx bench` follows the profile, as it is not built");
            return None;
        };
        let mut command = Command::new(program);
        Some(command.arg("bench").args(args).env("PHALANX_PROFILE", &path).output().unwrap())
    };
    if let Some(out) = measured(&["all-gather", "-p", "2", "-e", "64", "-n", "2"]) {
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    // One of another machine is named by a program that refuses it; a damaged one is an error.
    let foreign =
        std::fs::read_to_string(&path).unwrap().replace("\"cpu\": \"", "\"cpu\": \"Another ");
    std::fs::write(&path, foreign).unwrap();
    if let Some(out) = measured(&["barrier", "-p", "2", "-n", "2"]) {
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert!(stderr.contains("another machine") && stderr.contains("profile.json"), "{stderr}");
    }
    std::fs::write(&path, "{").unwrap();
    if let Some(out) = measured(&["barrier", "-p", "2"]) {
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert!(stderr.contains("damaged") && stderr.contains("profile.json"), "{stderr}");
        assert_eq!(out.status.code(), Some(2));
    }
    std::fs::remove_file(&path).unwrap();
}

/// A path that is there and no file is never replaced by a profile.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let path = scratch("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let line = complaint(&["calibrate", "-o", path.to_str().unwrap()]);
    assert!(line.contains("cannot be written"), "{line}");
    assert!(std::fs::metadata(&path).unwrap().file_type().is_socket());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn wrong_arguments() {
    for (args, wanted) in [
        (&["calibrate", "-o", "/no/such/dir/profile.json"][..], "cannot be written"),
        (&["calibrate", "-o", env!("CARGO_TARGET_TMPDIR")], "cannot be written: Is a directory"),
        (&["calibrate", "-o", "x.json", "--save"], "--save"),
        (&["calibrate", "--format", "jsno"], "did you mean json?"),
    ] {
        let line = complaint(args);
        assert!(line.contains(wanted), "{args:?}: {line}");
    }
}

#[test]
fn help_has_an_example() {
    for help in ["-h", "--help"] {
        let out = text(&["calibrate", help]);
        assert!(out.contains("Example:\n  phalanx calibrate"), "{out}");
    }
}
