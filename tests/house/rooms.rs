//! Checks that no room of `src` imports one above it. The order of the rooms is the list below.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the library, each of which imports only rooms before it.
const ORDER: [&str; 24] = [
    "mix",
    "sync",
    "fork",
    "wait",
    "file",
    "element",
    "order",
    "op",
    "topology",
    "schedule",
    "machine",
    "placement",
    "mailbox",
    "tuning",
    "error",
    "net",
    "dist",
    "fabric",
    "exec",
    "comm",
    "team",
    "raw",
    "guide",
    "lib",
];

/// All Rust sources below `folder`, without modules of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name.starts_with("tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// What a file says to the compiler: no comments, no module of tests at its end.
fn code(text: &str) -> String {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n");
    code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_string()
}

/// The room that a source is of: the first part of its path below `src`.
fn room(path: &Path) -> String {
    let first = path.components().nth(1).expect("a path below src");
    Path::new(&first).file_stem().unwrap().to_str().unwrap().to_string()
}

/// The rooms from which `lib.rs` exports names, by name.
fn exports(lib: &str) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for statement in lib.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let Some((room, list)) = statement.split_once("::") else { continue };
        for name in list.trim_matches(['{', '}']).split(',').map(str::trim) {
            names.push((name.to_string(), room.to_string()));
        }
    }
    names
}

/// The first names of all paths that begin at the crate.
fn imports(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = list.split(';').next().unwrap_or_default();
                let mut depth = 0;
                for part in list.split(',') {
                    let name = part.trim().split([':', ' ', '}']).next().unwrap_or_default();
                    if depth == 0 {
                        found.push(name);
                    }
                    depth += part.matches('{').count() as isize;
                    depth -= part.matches('}').count() as isize;
                }
            }
            None => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                found.push(&rest[..end.unwrap_or(rest.len())]);
            }
        }
    }
    found
}

/// Imports of `code` in room `own` that go up, or to no room at all.
fn breaches(own: &str, code: &str, exports: &[(String, String)]) -> Vec<String> {
    let place = |room: &str| ORDER.iter().position(|r| *r == room);
    let here = place(own);
    let mut found = Vec::new();
    for name in imports(code) {
        let exported = exports.iter().find(|(n, _)| n == name);
        let room = exported.map_or(name, |(_, room)| room);
        match (place(room), here) {
            (Some(there), Some(here)) if there <= here => {}
            _ => found.push(format!("{own} imports {name} of {room}")),
        }
    }
    found
}

#[test]
fn no_room_imports_a_higher_one() {
    let exports = exports(&code(&fs::read_to_string("src/lib.rs").unwrap()));
    let mut found = Vec::new();
    let files = sources(Path::new("src"));
    assert!(files.len() > 100, "{} sources", files.len());
    for path in &files {
        // A module of the models' own package, which takes the system's place.
        let models = "use crate::sleepers::Sleepers;";
        let code = code(&fs::read_to_string(path).unwrap().replace(models, ""));
        let own = room(path);
        assert!(ORDER.contains(&own.as_str()), "{}: a room without a place", path.display());
        for breach in breaches(&own, &code, &exports) {
            found.push(format!("{}: {breach}", path.display()));
        }
        // No way round: `super` stays in the room.
        let depth = path.components().count() - 2;
        let inside = if path.ends_with("mod.rs") { depth.saturating_sub(1) } else { depth };
        let beyond = format!("use {}", "super::".repeat(inside + 1));
        if code.lines().any(|line| line.starts_with(&beyond)) {
            found.push(format!("{}: super of the room", path.display()));
        }
    }
    assert!(found.is_empty(), "imports that go up: {found:#?}");
}

#[test]
fn a_breach_is_seen() {
    let exports = exports("pub use comm::{Choice, Comm};\npub use wait::Wait;");
    let seen = |code| breaches("error", code, &exports).len();
    assert_eq!(seen("use crate::machine::Machine; use crate::Wait;"), 0);
    assert_eq!(seen("payload.is::<crate::team::Quit>()"), 1);
    assert_eq!(seen("use crate::{Comm, op::{self, Sum}, fabric};"), 2);
    assert_eq!(seen("use crate::nowhere::X;"), 1);
}
