//! The parts of Rust, C, C++ and Fortran that are made from the table.

mod c;
mod cpp;
mod fortran;
mod rust;
mod table;
mod text;

use std::fs;
use std::path::Path;

/// Rust's names and functions.
pub(crate) fn rust_files(folder: &Path) -> [(&'static str, String); 2] {
    let items = items(folder);
    [("names.rs", rust::names(&items)), ("functions.rs", rust::shims(&items))]
}

/// The files that are tracked, as readers need them without a build: their paths from `folder` on,
/// and their texts. Each is a file of faces/ with parts put in.
pub(crate) fn tracked_files(folder: &Path) -> Vec<(String, String)> {
    let items = items(folder);
    let mut all = Vec::new();
    for name in ["phalanx.h", "phalanx_functions.h", "phalanx.hpp", "phalanx.F90"] {
        let by_hand = read(&folder.join("faces").join(name));
        let part = |mark: &str| match mark {
            "macros" => c::macros(&items),
            "functions" => c::header(&items),
            mark if mark.starts_with("methods of ") => {
                cpp::methods(&items, &mark["methods of ".len()..], rest_of_class(&by_hand, mark))
            }
            "structs" => fortran::structs(&items),
            "constants" => fortran::constants(&items),
            "interfaces" => fortran::interfaces(&items),
            _ => panic!("faces/{name}: no part {mark}"),
        };
        let line = |line: &str| match line.split_once('@').and_then(|it| it.1.split_once('@')) {
            Some((mark, "" | " */")) => part(mark),
            _ => format!("{line}\n"),
        };
        all.push((format!("include/{name}"), by_hand.lines().map(line).collect()));
    }
    let lines = read(&folder.join("faces/phalanx_lines.h")) + &fortran::macros(&items);
    all.push(("include/phalanx_lines.h".into(), lines));
    all
}

/// The text after the mark in its class.
fn rest_of_class<'a>(text: &'a str, mark: &str) -> &'a str {
    let from = &text[text.find(mark).expect("it was found there")..];
    &from[..from.find("\n};").expect("a class ends")]
}

fn items(folder: &Path) -> Vec<table::Item> {
    table::read(&read(&folder.join("interface.txt")))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
