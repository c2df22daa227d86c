//! The files of the repository.

use std::path::Path;
use std::process::Command;

/// A clone carries every file for good: downloads, what is built and other large files stay
/// outside. (Text has no NUL, and is UTF-8; pictures of docs/ are neither.)
#[test]
fn tracked_files_are_small_and_text() {
    const MOST: u64 = 1 << 20;
    if !Path::new(".git").exists() {
        return eprintln!("SKIPPED: not in the repository");
    }
    let git = Command::new("git").args(["ls-files", "-z"]).output();
    let Ok(out) = git else { return eprintln!("SKIPPED: no git") };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let names = String::from_utf8(out.stdout).unwrap();
    let names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    assert!(names.contains(&"tests/house/files.rs") || names.contains(&"Cargo.toml"), "{names:?}");
    // A file that is deleted but not yet committed has no length.
    let bytes = |name: &&str| std::fs::metadata(name).map_or(0, |file| file.len());
    let large: Vec<&&str> = names.iter().filter(|name| bytes(name) > MOST).collect();
    assert!(large.is_empty(), "above 1 MiB: {large:?}");
    let is_text = |name: &str| {
        let bytes = std::fs::read(name).unwrap_or_default();
        !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok()
    };
    let pictures = names.iter().filter(|name| name.starts_with("docs/") && name.ends_with(".png"));
    let binary: Vec<&&str> = names.iter().filter(|name| !is_text(name)).collect();
    assert_eq!(binary, pictures.collect::<Vec<_>>(), "no text");
}
