//! Checks that what is tracked of C's interface is made from capi's interface.txt, and that the
//! package has as few lines by hand as was promised.

#[allow(dead_code)] // Rust's part is made by the package's build.
#[path = "../../interfaces/capi/build/mod.rs"]
mod faces;

use super::style::read;
use std::path::Path;
use std::process::Command;

/// The most lines of capi that are written by hand: in all languages, the table and what makes
/// the rest of it among them; without tests, examples, README.md and Cargo.toml. It may only fall,
/// unless C gets what it did not have (the last: a stack overflow that is named, 170 lines).
const BY_HAND: usize = 6141;

#[test]
fn what_users_of_c_get_is_made_from_the_table() {
    let folder = Path::new("interfaces/capi");
    let made = faces::tracked_files(folder);
    assert_eq!(made.len(), 5);
    for (name, text) in made {
        let is_made = read(folder.join(&name)) == text;
        assert!(is_made, "{name} is not made from interface.txt: run interfaces/capi/generate");
    }
}

#[test]
fn no_more_lines_of_c_are_by_hand() {
    let tracked = Command::new("git").args(["ls-files", "interfaces/capi"]).output().ok();
    let Some(tracked) = tracked.filter(|it| it.status.success() && !it.stdout.is_empty()) else {
        return eprintln!("SKIPPED: not in the repository");
    };
    let others = ["tests/", "examples/", "include/", "README", "Cargo"];
    let tracked = String::from_utf8(tracked.stdout).expect("names of files");
    let by_hand = tracked
        .lines()
        .filter(|it| !others.iter().any(|other| it["interfaces/capi/".len()..].starts_with(other)));
    let lines: usize = by_hand.map(|it| read(it).lines().count()).sum();
    assert!(lines <= BY_HAND, "{lines} lines of capi are by hand, {BY_HAND} on record");
    assert!(lines + 20 > BY_HAND, "{lines} lines of capi are by hand: lower the record");
}
