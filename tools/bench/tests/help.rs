//! Every help text, in windows of several widths: it fits, and is wrapped once.

mod common;

use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx");

/// The widest that a help becomes.
const MOST: usize = 100;

/// The text that is printed in a window of `columns`.
fn phalanx(args: &[&str], columns: usize) -> String {
    let mut command = Command::new(PROGRAM);
    let command = command.args(args).stdin(Stdio::null()).env("COLUMNS", columns.to_string());
    let out = command.output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn commands() -> Vec<String> {
    let help = phalanx(&["-h"], MOST);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next()).map(String::from);
    names.filter(|name| name != "help").collect()
}

/// Whether the command's program is there: `cargo test --workspace` builds all.
fn is_built(command: &str) -> bool {
    let program = match command {
        "report" | "calibrate" | "peers" => "phalanx-report",
        "soak" => "phalanx-soak",
        _ => return true,
    };
    let there = common::beside(program).is_some();
    if !there {
        eprintln!("SKIPPED: {command}, as {program} is not built");
    }
    there
}

#[test]
fn all_commands_are_listed_and_a_missing_program_is_told() {
    let all = commands();
    for name in ["bench", "report", "calibrate", "peers", "waits", "soak"] {
        assert!(all.iter().any(|it| it == name), "{name} is not in {all:?}");
    }
    // A copy that has nothing beside it.
    let dir = common::scratch("alone");
    std::fs::create_dir_all(&dir).unwrap();
    let alone = dir.join("phalanx");
    make(&format!("cp '{PROGRAM}' '{}'", alone.display()));
    for args in [
        &["soak", "-p", "2"][..],
        &["help", "report"],
        &["check", "--machine"],
        &["bench", "-t", "i32"],
    ] {
        let out = Command::new(&alone).args(args).env("PATH", "").output().unwrap();
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.contains("cargo install --path tools/"), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    }
    // The fault is said without another program.
    let out = Command::new(&alone).args(["bench", "-t", "i32", "-r", "summ"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Has a shell make a file that is executed. A child that another test starts while this process
/// has the file open for writing keeps it open, too: then it cannot be executed ("Text file busy").
fn make(by: &str) {
    assert!(Command::new("sh").args(["-c", by]).status().unwrap().success(), "{by}");
}

/// As cargo does: `phalanx NAME` is whatever program phalanx-NAME is found.
#[cfg(unix)]
#[test]
fn programs_of_others_are_commands() {
    use std::os::unix::fs::PermissionsExt;
    let dir = common::scratch("path");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("phalanx-greet");
    make(&format!("printf '#!/bin/sh\\necho \"$@\"\\nexit 7\\n' > '{}'", file.display()));
    let run = |name: &str| {
        let mut command = Command::new(PROGRAM);
        command.args([name, "-p", "2"]).env("PATH", format!("{}:/bin", dir.display()));
        command.output().unwrap()
    };
    // Not to be executed yet.
    assert_eq!(run("greet").status.code(), Some(2));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let out = run("greet");
    assert_eq!((out.status.code(), &out.stdout[..]), (Some(7), &b"greet -p 2\n"[..]));
    assert_eq!(run("gret").status.code(), Some(2));
    std::fs::remove_dir_all(&dir).unwrap();
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Lines that go on although the next line's first word would have had room: text that was wrapped
/// twice. Examples and lists are lines of their own.
fn broken(help: &str, columns: usize) -> Vec<String> {
    // clap indents empty lines.
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let mut verbatim = false;
    let mut found = Vec::new();
    for pair in lines.windows(2) {
        let [line, next] = [pair[0], pair[1]];
        if line.is_empty() {
            verbatim = false;
        }
        verbatim |= ["Example", "Usage:", "Commands:"].iter().any(|head| line.starts_with(head));
        let is_body = indentation(line) == indentation(next) && !line.trim_start().starts_with('-');
        let is_heading = line.ends_with(':') || next.trim_start().starts_with('-');
        if verbatim || next.is_empty() || !is_body || is_heading || line.is_empty() {
            continue;
        }
        let word = next.split_whitespace().next().unwrap_or("");
        if line.chars().count() + 1 + word.chars().count() <= columns {
            found.push(format!("{line}\n{next}"));
        }
    }
    found
}

#[test]
fn helps_fit_and_are_wrapped_once() {
    let mut commands = commands();
    assert!(commands.len() >= 13, "{commands:?}");
    commands.retain(|command| is_built(command));
    let mut wrapped = 0;
    for columns in [60, 80, MOST, 140] {
        let most = columns.min(MOST);
        for command in commands.iter().map(String::as_str).chain([""]) {
            for flag in ["--help", "-h"] {
                let args: Vec<&str> =
                    [command, flag].into_iter().filter(|a| !a.is_empty()).collect();
                let help = phalanx(&args, columns);
                // A command, in the usage or in an example, is no sentence.
                let is_example = |line: &str| {
                    ["phalanx ", "Usage: "].iter().any(|s| line.trim_start().starts_with(s))
                };
                for line in help.lines().filter(|line| !is_example(line)) {
                    assert!(line.chars().count() <= most, "{args:?} in {columns}: {line}");
                }
                let all = help.lines().all(|line| line.chars().count() <= MOST);
                assert!(all, "{args:?}: an example is longer than {MOST}");
                if flag == "--help" {
                    let found = broken(&help, most);
                    assert!(found.is_empty(), "{args:?} in {columns}: {}", found.join("\n\n"));
                    wrapped += help.lines().count();
                }
            }
        }
    }
    assert!(wrapped > 500, "{wrapped} lines looked at");
}

#[test]
fn text_that_was_wrapped_twice_is_found() {
    let twice = "NUMBERS:\n  units and nodes have the numbers of the system; packages\n  and\n  \
                 the groups of a level count";
    assert_eq!(broken(twice, 60).len(), 1, "{:?}", broken(twice, 60));
    assert!(broken("Example:\n  phalanx a\n  phalanx b", 60).is_empty());
}
