//! Compiles the small programs of tests/programs, and runs them on ranks.

#![allow(dead_code, unused_imports, unused_macros, reason = "each file of tests uses a part")]

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::Command;
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

/// The same, if there are these tools: else says so.
pub(crate) fn directory_with(tools: &[&str], name: &str) -> Option<PathBuf> {
    tools.iter().all(|it| has(it)).then(|| directory(name))
}

/// How a command has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn end(command: &mut Command) -> Ended {
    let output = command.output().expect("it can be executed");
    let (code, signal) = (output.status.code(), output.status.signal());
    Ended { code, signal, out: text(&output.stdout), err: text(&output.stderr) }
}

/// A command that must end well; gives its output.
pub(crate) fn must(command: &mut Command) -> String {
    let ended = end(command);
    assert_eq!(ended.code, Some(0), "{command:?}: {ended:?}");
    ended.out + &ended.err
}

/// Calls a compiler in a directory with words, of which `@NAME` is a source of tests/programs, and
/// `$AT` the directory.
pub(crate) fn link(compiler: &str, at: &Path, line: &str) {
    let place = at.to_str().expect("UTF-8");
    let words = line.split_whitespace().map(|word| match word.strip_prefix('@') {
        Some(name) => source(name).display().to_string(),
        None => word.replace("$AT", place),
    });
    must(Command::new(compiler).args(words).current_dir(at));
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
    let mut compiler = Command::new(wrapper);
    must(compiler.args(["-g", "-O1"]).arg(source(file)).args(options).arg("-o").arg(&new));
    std::fs::rename(&new, &program).expect("both are in one directory");
    program
}

/// The launcher of a program on ranks, for a minute at most.
pub(crate) fn launcher(ranks: usize, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", RUN, "-n", &ranks.to_string()]).arg(program);
    command
}

/// Runs a program that must end well; gives its output.
pub(crate) fn succeed(ranks: usize, program: &Path, arguments: &[&str]) -> String {
    let ended = end(launcher(ranks, program).args(arguments));
    assert_eq!(ended.code, Some(0), "{ranks} ranks: {ended:?}");
    ended.out
}

/// Compiles a program by its language's wrapper, and runs it on these numbers of ranks: its output
/// must be these words. Without the compiler, says so.
pub(crate) fn runs(file: &str, options: &[&str], ranks: &[usize], words: &str) {
    let wrapper = match file.split_once('.') {
        Some((_, "c")) => CC,
        Some((_, "cc")) => CXX,
        _ => FORT,
    };
    let Some(program) = built(wrapper, file, options) else { return };
    ranks.iter().for_each(|&ranks| assert_eq!(succeed(ranks, &program, &[]), words));
}

/// Tests that each run a program: as `runs`.
macro_rules! programs {
    ($($(#[$doc:meta])* $test:ident: $file:literal $options:tt on $ranks:tt says $words:literal;)*)
    => {$(
        $(#[$doc])*
        #[test]
        fn $test() {
            $crate::common::runs($file, &$options, &$ranks, $words);
        }
    )*};
}
pub(crate) use programs;

/// Runs a program on three ranks, which must fail with this code and these words.
pub(crate) fn fail(program: &Path, how: &str, code: i32, words: &[&str]) {
    fail_with(launcher(3, program).arg(how), code, words);
}

/// Runs a command that must fail with this code and these words.
pub(crate) fn fail_with(command: &mut Command, code: i32, words: &[&str]) {
    let Ended { code: found, err, .. } = end(command);
    assert_eq!(found, Some(code), "{command:?}: {err}");
    for word in words {
        assert!(err.contains(word), "{command:?}: {word:?} is not in: {err}");
    }
}

/// Runs a program in which the call of the rank `odd` differs from the others': the text names it,
/// and another rank with the call that the others make. Which rank that is depends on time.
pub(crate) fn differ(program: &Path, how: &str, odd: usize, call: &str, others: &str) {
    let Ended { code, err, .. } = end(launcher(3, program).arg(how));
    assert_eq!(code, Some(1), "{how}: {err}");
    assert!(err.contains("calls of one collective differ:"), "{how}: {err}");
    let is_named = |rank: usize, call: &str| err.contains(&format!("rank {rank}: {call}"));
    assert!(is_named(odd, call), "{how}: rank {odd} with {call:?} is not in: {err}");
    let is_other = (0..3).any(|rank| rank != odd && is_named(rank, others));
    assert!(is_other, "{how}: no other rank with {others:?} is in: {err}");
}
