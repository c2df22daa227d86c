//! The files of the repository.

use super::style::{files, read};
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

/// A folder's `mod.rs` says in a table what its files hold: all of them, and no other.
#[test]
fn tables_of_files_are_true() {
    let mut wrong = Vec::new();
    let mut tables = 0;
    for file in ["src", "interfaces", "tools", "suites"].iter().flat_map(|all| files(all, "rs")) {
        if file.file_name() != Some("mod.rs".as_ref()) {
            continue;
        }
        let folder = file.parent().unwrap();
        let text = read(&file);
        let rows =
            text.lines().filter(|line| line.starts_with("//! | `") || line.starts_with("// | `"));
        let first = |row: &str| row.split('|').nth(1).unwrap_or_default().to_string();
        let cells: Vec<String> = rows.map(first).collect();
        let named: Vec<&str> = cells
            .iter()
            .flat_map(|cell| cell.split('`'))
            .filter(|name| name.ends_with(".rs") && !name.contains('/'))
            .collect();
        if named.len() < 3 {
            continue;
        }
        tables += 1;
        let gone = named.iter().filter(|name| !folder.join(name).exists());
        wrong.extend(gone.map(|name| format!("{}: there is no {name}", file.display())));
        for sibling in std::fs::read_dir(folder).unwrap() {
            let name = sibling.unwrap().file_name().to_string_lossy().into_owned();
            let is_told = named.contains(&name.as_str()) || name == "mod.rs";
            if name.ends_with(".rs") && !name.starts_with("tests") && !is_told {
                wrong.push(format!("{}: {name} is not named", file.display()));
            }
        }
    }
    assert!(tables > 10 || !Path::new("interfaces").exists(), "{tables} tables");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
