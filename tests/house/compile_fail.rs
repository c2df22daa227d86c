//! Programs that the compiler must refuse. Each program in `compile_fail/` marks lines with `//~
//! E0xxx` (or `//~ lifetime`; of several, any) and must have such an error on each of these lines
//! and no other error. With `--cfg fixed` the program must compile, so that it has no second
//! mistake. The compiler's texts change from one version to the next and are not compared; the
//! library's own must be there: `// says: text`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library as this test is linked with it: the newest one beside this program.
fn library() -> (PathBuf, PathBuf) {
    let program = std::env::current_exe().unwrap();
    let deps = program.parent().unwrap().to_path_buf();
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        name.starts_with("libphalanx-") && name.ends_with(".rlib")
    };
    let entries = std::fs::read_dir(&deps).unwrap().map(|entry| entry.unwrap().path());
    let newest = entries.filter(is_library).max_by_key(|p| p.metadata().unwrap().modified().ok());
    (deps, newest.expect("the test is linked with it"))
}

/// Code and line of each error.
type Errors = BTreeSet<(String, usize)>;

fn compile(source: &Path, fixed: bool) -> (Errors, String) {
    let (deps, library) = library();
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let mut command = Command::new(rustc);
    command
        .args(["--edition", "2024", "--crate-type", "bin", "--emit", "metadata"])
        .args(["--error-format", "json", "-A", "warnings", "-o"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail.rmeta"))
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg("--extern")
        .arg(format!("phalanx={}", library.display()))
        .args(if fixed { &["--cfg", "fixed"][..] } else { &[] })
        .arg(source);
    let output = command.output().expect("there is a compiler");
    let stderr = String::from_utf8(output.stderr).unwrap();
    let errors: Errors = stderr.lines().filter_map(error).collect();
    assert!(output.status.success() || !errors.is_empty(), "not compiled at all: {stderr}");
    (errors, stderr)
}

/// An error of the compiler's json: its code, and the line of its primary span. (The messages'
/// form is documented; the parts looked at here are flat enough to do without a reader of json.)
fn error(line: &str) -> Option<(String, usize)> {
    if !line.contains(r#""level":"error""#) {
        return None;
    }
    let after = |text: &str, what: &str| text.split_once(what).map(|(_, rest)| rest.to_string());
    // Errors about regions have no code.
    let code = match after(line, r#""code":{"code":""#) {
        Some(code) => code.split_once('"')?.0.to_string(),
        None if line.contains(r#""message":"lifetime may not live long"#) => "lifetime".to_string(),
        None => "an error without a code".to_string(),
    };
    // Only the part up to the children, whose spans are hints.
    let spans = after(line, r#""spans":["#)?;
    let spans = spans.split(r#""children":"#).next()?.to_string();
    let primary = spans.split(r#"{"file_name""#).find(|s| s.contains(r#""is_primary":true"#))?;
    let start = after(primary, r#""line_start":"#)?;
    Some((code, start.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?))
}

/// By line: the codes of which one must appear.
fn marked(source: &str) -> BTreeMap<usize, BTreeSet<String>> {
    let marks = source.lines().enumerate().filter_map(|(i, line)| {
        let (_, codes) = line.split_once("//~ ")?;
        Some((i + 1, codes.split_whitespace().map(String::from).collect()))
    });
    marks.collect()
}

#[test]
fn what_must_not_compile_does_not() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    sources.sort();
    assert!(sources.len() >= 10, "programs are missing: {sources:?}");
    let mut bad = Vec::new();
    for source in &sources {
        let text = std::fs::read_to_string(source).unwrap();
        let wanted = marked(&text);
        assert!(!wanted.is_empty(), "{}: nothing is marked", source.display());
        let (errors, messages) = compile(source, false);
        let is_wanted = |(code, line): &(String, usize)| {
            wanted.get(line).is_some_and(|codes| codes.contains(code))
        };
        let lines: BTreeSet<&usize> = errors.iter().map(|(_, line)| line).collect();
        if !errors.iter().all(is_wanted) || !lines.into_iter().eq(wanted.keys()) {
            bad.push(format!(
                "{}: wanted {wanted:?}, got {errors:?}\n{messages}",
                source.display()
            ));
        }
        for text in text.lines().filter_map(|line| line.strip_prefix("// says: ")) {
            if !messages.contains(text) {
                bad.push(format!("{}: nothing says '{text}'\n{messages}", source.display()));
            }
        }
        let (errors, messages) = compile(source, true);
        if !errors.is_empty() {
            bad.push(format!("{} is wrong even when fixed:\n{messages}", source.display()));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n\n"));
}
