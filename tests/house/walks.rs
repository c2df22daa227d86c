//! Checks the three walks of `docs/walks.md`: every function named there stands in the file named
//! there, and the walks are as short as promised. `tools/instructions walk --check` shows by
//! callgrind that no function is missing.

use std::fs;

/// One row of a walk's table: functions, and the file that has them.
struct Row {
    functions: Vec<String>,
    file: String,
}

/// A walk: its title, the files that it may enter, and its rows.
struct Walk {
    title: String,
    most: usize,
    rows: Vec<Row>,
}

fn marked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The walks of a text: after a heading `## title: at most N files` a table with a row a file.
fn walks(text: &str) -> Vec<Walk> {
    let mut found: Vec<Walk> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('#') {
            let limit = line.split_once(": at most ").and_then(|(title, rest)| {
                let most = rest.strip_suffix(" files")?.parse().ok()?;
                Some((title.trim_start_matches(['#', ' ']).to_string(), most))
            });
            inside = limit.is_some();
            if let Some((title, most)) = limit {
                found.push(Walk { title, most, rows: Vec::new() });
            }
        } else if inside && line.starts_with("| `") {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let (files, functions) = (marked(cells[1]), marked(cells[2]));
            assert_eq!(files.len(), 1, "one file a row: {line}");
            let walk = found.last_mut().expect("a walk has a heading");
            walk.rows.push(Row { functions, file: files[0].clone() });
        }
    }
    found
}

/// The faults of a walk.
fn faults(walk: &Walk, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut files: Vec<&str> = walk.rows.iter().map(|row| row.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    if files.len() > walk.most || files.len() != walk.rows.len() {
        let (rows, most) = (walk.rows.len(), walk.most);
        found.push(format!("{}: {} files in {rows} rows, at most {most}", walk.title, files.len()));
    }
    for row in &walk.rows {
        let Some(text) = read(&row.file) else {
            found.push(format!("{}: there is no {}", walk.title, row.file));
            continue;
        };
        if row.functions.is_empty() {
            found.push(format!("{}: no function of {}", walk.title, row.file));
        }
        for function in &row.functions {
            let name = function.rsplit("::").next().unwrap_or(function);
            let begins = format!("fn {name}");
            let is_here = text.match_indices(&begins).any(|(at, _)| {
                // Not the head of a longer name; `[` in a macro that defines several.
                text[at + begins.len()..].starts_with(['(', '<', '['])
            });
            if !is_here {
                found.push(format!("{}: no fn {name} in {}", walk.title, row.file));
            }
        }
    }
    found
}

#[test]
fn the_walks_are_true() {
    let walks = walks(&fs::read_to_string("docs/walks.md").expect("the page is there"));
    let limits: Vec<usize> = walks.iter().map(|walk| walk.most).collect();
    assert_eq!(limits, [15, 18, 25], "three walks, with these limits");
    let read = |file: &str| fs::read_to_string(format!("src/{file}")).ok();
    let faults: Vec<String> = walks.iter().flat_map(|walk| faults(walk, read)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_fault_is_seen() {
    let text = "## a call: at most 1 files\n| `a.rs` | `Comm::f`, `g` |\n| `b.rs` | `h` |\n";
    let read = |file: &str| (file == "a.rs").then(|| "fn f(x) {}\nfn go() {}".to_string());
    let found = faults(&walks(text)[0], read);
    assert_eq!(found.len(), 3, "{found:?}"); // too many files, no `g`, no file b.rs
}
