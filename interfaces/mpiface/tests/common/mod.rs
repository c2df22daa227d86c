//! Compiles the small programs of tests/programs, and runs them on ranks.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const RUN: &str = env!("CARGO_BIN_EXE_phalanx-mpirun");
pub(crate) const CC: &str = env!("CARGO_BIN_EXE_phalanx-mpicc");
pub(crate) const CXX: &str = env!("CARGO_BIN_EXE_phalanx-mpicxx");
pub(crate) const FORT: &str = env!("CARGO_BIN_EXE_phalanx-mpifort");

/// To the standard error itself: the harness keeps what a test that passes prints otherwise.
pub(crate) fn say_skipped(what: &str) {
    let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {what}");
}

pub(crate) fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        say_skipped(&format!("{tool} is not installed"));
    }
    found
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory of this test's own.
pub(crate) fn directory(name: &str) -> PathBuf {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&at).expect("the target directory can be written");
    at
}

/// Compiles a program, if there is the compiler that the wrapper calls: else says so.
pub(crate) fn built(wrapper: &str, file: &str, options: &[&str]) -> Option<PathBuf> {
    let compiler = match wrapper {
        CC => "cc",
        CXX => "c++",
        _ => "gfortran",
    };
    has(compiler).then(|| compile(wrapper, file, options))
}

/// Compiles a program; gives its path.
pub(crate) fn compile(wrapper: &str, file: &str, options: &[&str]) -> PathBuf {
    let stem = file.split('.').next().expect("a name");
    let program = directory(&format!("{stem}{}", options.join(""))).join(stem);
    // Another test may run the same program now: it is replaced as a whole.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let new = program.with_extension(format!("{}-{number}", std::process::id()));
    let output = Command::new(wrapper)
        .args(["-g", "-O1"])
        .arg(source(file))
        .args(options)
        .arg("-o")
        .arg(&new)
        .output()
        .expect("the wrapper runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::rename(&new, &program).expect("both are in one directory");
    program
}

/// Runs a program on ranks, for a minute at most.
pub(crate) fn run(ranks: usize, program: &Path, arguments: &[&str]) -> Output {
    Command::new("timeout")
        .args(["60", RUN, "-n", &ranks.to_string()])
        .arg(program)
        .args(arguments)
        .output()
        .expect("the launcher runs")
}

/// Runs a program that must end well; gives its output.
pub(crate) fn succeed(ranks: usize, program: &Path, arguments: &[&str]) -> String {
    let output = run(ranks, program, arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{ranks} ranks: {:?}\n{out}{err}", output.status);
    out
}

/// Compiles a program in C, and runs it on these numbers of ranks: its output must be these words.
/// Without the compiler, says so.
pub(crate) fn runs(file: &str, options: &[&str], ranks: &[usize], words: &str) {
    let Some(program) = built(CC, file, options) else { return };
    for ranks in ranks {
        assert_eq!(succeed(*ranks, &program, &[]), words);
    }
}

/// Runs a program that must fail with this code and these words.
pub(crate) fn fail(program: &Path, how: &str, code: i32, words: &[&str]) {
    let output = run(3, program, &[how]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{how}: {err}");
    for word in words {
        assert!(err.contains(word), "{how}: {word:?} is not in: {err}");
    }
}

/// Runs a program in which the call of the rank `odd` differs from the others': the text names it,
/// and another rank with the call that the others make. Which rank that is depends on time.
pub(crate) fn differ(program: &Path, how: &str, odd: usize, call: &str, others: &str) {
    let output = run(3, program, &[how]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{how}: {err}");
    assert!(err.contains("calls of one collective differ:"), "{how}: {err}");
    let is_named = |rank: usize, call: &str| err.contains(&format!("rank {rank}: {call}"));
    assert!(is_named(odd, call), "{how}: rank {odd} with {call:?} is not in: {err}");
    let is_other = (0..3).any(|rank| rank != odd && is_named(rank, others));
    assert!(is_other, "{how}: no other rank with {others:?} is in: {err}");
}

/// Runs a program on three ranks that the launcher must refuse with this code and these words.
pub(crate) fn fail_to_run(program: &Path, code: i32, words: &[&str]) {
    let output = run(3, program, &[]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}: {err}", program.display());
    for word in words {
        assert!(err.contains(word), "{}: {word:?} is not in: {err}", program.display());
    }
}
