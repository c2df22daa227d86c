//! Every help text, in windows of several widths: it fits, and is wrapped once.

use std::process::{Command, Stdio};

/// The widest that a help becomes.
const MOST: usize = 100;

/// What is printed in a window of `columns`.
fn phalanx(args: &[&str], columns: usize) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
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
    let commands = commands();
    assert!(commands.len() >= 14, "{commands:?}");
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
    assert!(wrapped > 1000, "{wrapped} lines looked at");
}

#[test]
fn text_that_was_wrapped_twice_is_found() {
    let twice = "NUMBERS:\n  units and nodes have the numbers of the system; packages\n  and\n  \
                 the groups of a level count";
    assert_eq!(broken(twice, 60).len(), 1, "{:?}", broken(twice, 60));
    assert!(broken("Example:\n  phalanx a\n  phalanx b", 60).is_empty());
}
