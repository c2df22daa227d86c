//! Is the README's program an example (and a doctest: `src/lib.rs`), is the page short, and does
//! everything that it links to exist?

use std::path::Path;

const README: &str = include_str!("../README.md");

#[test]
fn the_program_is_an_example() {
    let example = include_str!("../examples/pi.rs");
    let programs: Vec<&str> =
        README.split("```rust\n").skip(1).filter_map(|text| text.split("```").next()).collect();
    assert!(!programs.is_empty());
    for program in programs {
        assert!(example.contains(program), "not in examples/pi.rs:\n{program}");
    }
}

#[test]
fn it_is_short() {
    let lines = README.lines().count();
    assert!(lines <= 120, "{lines} lines: numbers, rationale and reference belong in docs/");
}

/// Links of Markdown to files and folders of the repository.
#[test]
fn its_links_lead_somewhere() {
    let targets = README.split("](").skip(1).filter_map(|text| text.split([')', '#']).next());
    let files: Vec<&str> = targets.filter(|target| !target.contains("://")).collect();
    assert!(files.len() > 5, "{files:?}");
    if !Path::new("mpi").exists() {
        return eprintln!("SKIPPED: not in the repository");
    }
    for file in files {
        assert!(Path::new(file).exists(), "the README links to {file}, which does not exist");
    }
}
