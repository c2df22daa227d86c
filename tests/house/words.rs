//! Checks that all Markdown together stays short enough to be read, and that Rust grows no more.

use std::path::{Path, PathBuf};

use super::style::{files, read};

/// The words of all Markdown, tables and code counted (as `wc -w` has them).
const WORDS: usize = 60_000;

/// Lines of Rust in a folder, docs and tests counted. They may only fall, or a change says what the
/// new ones buy; the goals were 44, 22, 28 and 138 thousand. (Risen last by the second round of
/// what strangers broke: one floating-point control in every reduction, phases of grids, unread
/// messages in errors, records of regions; teams of processes and Python; then by states that are
/// left, each with its test: cores that are lost and found, masks, marks, counts of waits.)
const LINES: [(&str, usize); 4] =
    [("src", 70_636), ("interfaces/mpiface", 27_111), ("tools", 32_800), (".", 196_416)];

#[test]
fn no_more_lines_of_rust() {
    if !Path::new("interfaces").exists() || !Path::new("loom-tests").exists() {
        return eprintln!("SKIPPED: not in the repository");
    }
    for (folder, most) in LINES {
        let lines: usize = files(folder, "rs").iter().map(|file| read(file).lines().count()).sum();
        assert!(lines <= most, "{folder}: {lines} lines of Rust, at most {most}");
    }
}

#[test]
fn all_prose_can_be_read() {
    if !Path::new("interfaces").exists() || !Path::new("loom-tests").exists() {
        return eprintln!("SKIPPED: not in the repository");
    }
    let pages = files(".", "md").into_iter();
    let words = |page: &PathBuf| read(page).split_whitespace().count();
    let mut pages: Vec<(usize, PathBuf)> = pages.map(|page| (words(&page), page)).collect();
    pages.sort();
    for (page, most) in [("DESIGN.md", 4_000), ("TRUST.md", 4_000)] {
        let have = words(&PathBuf::from(page));
        assert!(have <= most, "{page} has {have} words, at most {most}");
    }
    let all: usize = pages.iter().map(|(words, _)| words).sum();
    let longest: Vec<_> = pages.iter().rev().take(10).collect();
    assert!(all <= WORDS, "{all} words of Markdown, at most {WORDS}: {longest:#?}");
}
