//! Checks the style rules of the repository: width of lines, links, words of the glossary, one name
//! for one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS: usize = 100;

/// The folders of Rust sources.
const FOLDERS: [&str; 9] = [
    "src",
    "tools",
    "tests",
    "benches",
    "examples",
    "loom-tests",
    "interfaces",
    "regions",
    "suites",
];

/// For each crate: type names that stand for two things. (No file name does.)
const DOUBLES: [(&str, usize); 12] = [
    ("src", 0),
    ("interfaces/capi/src", 0),
    ("interfaces/nodes/src", 0),
    ("interfaces/processes/src", 0),
    ("interfaces/mpi/src", 0),
    ("interfaces/mpiface/src", 8),
    ("tools/model/src", 0),
    ("tools/bench/src", 0),
    ("tools/cli/src", 0),
    ("tools/report/src", 0),
    ("tools/soak/src", 0),
    ("tools/waits/src", 0),
];

/// File names that may repeat: idioms, and operations, which have a file in `comm` and in
/// `schedule`.
const SHARED_STEMS: [&str; 10] = [
    "mod",
    "tests",
    "error",
    "broadcast",
    "gather",
    "scatter",
    "scan",
    "shift",
    "all_reduce",
    "all_to_all",
];

/// Phrases that readers had to read twice, and names that have given way to terms of the field: not
/// to come back.
const BANNED: [&str; 12] = [
    "by turns",
    "hangs on",
    "has the word",
    "is gone for",
    "looks at everybody",
    "shelf",
    "look_round",
    "keep_in_mind",
    "move_in",
    "go_in",
    "come_out",
    "crew",
];

/// Words that stand for a noun that the writer did not look for.
const VAGUE: [&str; 3] = ["who", "what", "whose"];

/// The lines of comments that may have them, in a hundred.
const VAGUE_LINES: usize = 2;

/// The most lines of a Rust source.
const LINES: usize = 700;

/// All files below `folder` that end in `.extension`, without what is built or installed.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}")) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", "node_modules"].contains(&name.as_str()) && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix("./").unwrap_or(&path).to_path_buf());
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// `file:line` of the lines of `text` that are too long. Rows of tables cannot be broken.
fn too_long(file: &Path, text: &str) -> Vec<String> {
    let is_long = |line: &str| line.chars().count() > COLUMNS && !line.starts_with('|');
    let lines = text.lines().enumerate().filter(|(_, line)| is_long(line));
    lines.map(|(i, _)| format!("{}:{}", file.display(), i + 1)).collect()
}

#[test]
fn markdown_is_wrapped() {
    let wrong: Vec<String> =
        files(".", "md").iter().flat_map(|file| too_long(file, &read(file))).collect();
    assert!(wrong.is_empty(), "more than {COLUMNS} columns: {wrong:#?}");
}

/// Links of Markdown to files and folders of the repository.
/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &Path) -> Vec<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    let anchor = |title: &str| {
        let kept: String = title.trim().to_lowercase().chars().filter(is_kept).collect();
        kept.replace(' ', "-")
    };
    let text = read(page);
    let titles = text.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files(".", "md") {
        let folder = file.parent().unwrap_or(Path::new("."));
        for link in read(&file).split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            if link.contains("://") || link.contains("crate::") {
                continue;
            }
            count += 1;
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = if target.is_empty() { file.clone() } else { folder.join(target) };
            let has_anchor = || anchor.is_empty() || anchors(&page).iter().any(|it| it == anchor);
            // The guide's own links are for rustdoc: of a reader of the file they are dead.
            let is_of_guide = target.contains("src/guide");
            if !page.exists() || !has_anchor() || is_of_guide {
                wrong.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(count > 20, "{count} links");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_rust_lines_are_long() {
    let sources = FOLDERS.iter().flat_map(|folder| files(folder, "rs"));
    let long: Vec<String> = sources.flat_map(|file| too_long(&file, &read(&file))).collect();
    assert!(long.is_empty(), "more than {COLUMNS} columns: {long:#?}");
}

#[test]
fn no_file_is_long() {
    let mut long = Vec::new();
    for folder in FOLDERS {
        for file in files(folder, "rs") {
            let lines = read(&file).lines().count();
            if lines > LINES {
                long.push(format!("{}: {lines} lines", file.display()));
            }
        }
    }
    assert!(long.is_empty(), "more than {LINES} lines: {long:#?}");
}

/// A public item that is not documented is a door for those that know of it.
#[test]
fn no_door_is_hidden() {
    for folder in ["src", "interfaces"] {
        for file in files(folder, "rs") {
            let hidden = read(&file).lines().position(|line| line.trim() == "#[doc(hidden)]");
            assert_eq!(hidden, None, "a hidden item in {}", file.display());
        }
    }
}

/// The glossary's terms and their definitions.
fn terms(glossary: &str) -> Vec<(String, String)> {
    let items = glossary.split("\n- **").skip(1);
    let items = items.map(|item| item.split("\n\n").next().unwrap_or(item).replace("\n  ", " "));
    items
        .map(|item| {
            let (term, meaning) = item.split_once("**: ").unwrap_or_else(|| panic!("{item}"));
            (term.to_string(), meaning.trim().to_string())
        })
        .collect()
}

#[test]
fn terms_of_the_glossary_are_used() {
    let glossary = read("GLOSSARY.md");
    let terms = terms(&glossary);
    assert!((30..=90).contains(&terms.len()), "{} terms", terms.len());
    let items = glossary.lines().filter(|line| line.starts_with("- **")).count();
    let has_more = glossary.lines().any(|line| line.starts_with("  "));
    assert!(items == terms.len() && !has_more, "one term a line");
    let documents = files(".", "md").into_iter().filter(|f| f != Path::new("GLOSSARY.md"));
    let text: String = ["src", "tools"]
        .into_iter()
        .flat_map(|folder| files(folder, "rs"))
        .chain(documents)
        .map(|file| read(file).to_lowercase())
        .collect();
    for (name, meaning) in &terms {
        for word in name.split(", ") {
            assert!(text.contains(&word.to_lowercase()), "nothing else speaks of {word}");
        }
        let is_sentence = meaning.ends_with('.') && !meaning.contains(". ");
        assert!(is_sentence, "{name}: not one sentence: {meaning}");
    }
    let mut names: Vec<_> = terms.iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), terms.len(), "a term stands twice");
}

#[test]
fn banned_phrases_stay_away() {
    let mut wrong = Vec::new();
    for file in files(".", "md") {
        // A phrase may be broken by the end of a line.
        let text = read(&file).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let found = BANNED.iter().filter(|phrase| text.contains(*phrase));
        wrong.extend(found.map(|phrase| format!("{}: {phrase}", file.display())));
    }
    // Of Rust, comments and texts; this file has the list.
    for folder in FOLDERS {
        let sources = files(folder, "rs").into_iter();
        for file in sources.filter(|file| file != Path::new("tests/house/style.rs")) {
            let words =
                |line: &str| line.trim_start().trim_start_matches(['/', '!']).to_lowercase();
            let lines: Vec<String> = read(&file).lines().map(words).collect();
            let text = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            let found = BANNED.iter().filter(|it| it.contains(' ') && text.contains(*it));
            wrong.extend(found.map(|phrase| format!("{}: {phrase}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The lines of comments of a source, and those of them with a vague word.
fn vague(source: &str) -> (usize, usize) {
    let comments = source.lines().map(str::trim_start).filter(|line| line.starts_with("//"));
    let is_vague = |line: &str| {
        let line = line.to_lowercase();
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| VAGUE.contains(&word))
    };
    comments.fold((0, 0), |(all, found), line| (all + 1, found + usize::from(is_vague(line))))
}

#[test]
fn no_more_comments_are_vague() {
    for folder in FOLDERS {
        let counts = files(folder, "rs").into_iter().map(|file| vague(&read(file)));
        let (all, found) = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        assert!(
            found <= all * VAGUE_LINES / 100,
            "{folder}: {found} of {all} lines of comments have one of {VAGUE:?}: \
             name the rank, the call or the value instead"
        );
    }
    assert_eq!(vague("/// Who waits.\n// whoever\nlet what = 1; // no comment's line"), (2, 1));
}

/// A name as its words: `LookRound` and `look_round` are `_look_round_`.
fn words(name: &str) -> String {
    let mut words = String::from("_");
    let mut before = '_';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push('_');
        }
        words.extend(c.to_lowercase());
        before = c;
    }
    words.push('_');
    words
}

#[test]
fn names_in_code_avoid_banned_words_too() {
    let banned: Vec<String> =
        BANNED.iter().map(|phrase| words(&phrase.replace(' ', "_"))).collect();
    let is_banned = |name: &str| banned.iter().any(|it| words(name).contains(it.as_str()));
    let mut wrong = Vec::new();
    for folder in FOLDERS {
        for file in files(folder, "rs") {
            let path = file.display().to_string();
            if file.file_stem().is_some_and(|stem| is_banned(&stem.to_string_lossy())) {
                wrong.push(path.clone());
            }
            let text = read(&file);
            let names: BTreeSet<&str> = super::imports::tokens(&text).into_iter().collect();
            let names = names.into_iter().filter(|name| is_banned(name));
            wrong.extend(names.map(|name| format!("{path}: {name}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(is_banned("LookRound") && is_banned("Shelf") && is_banned("go_in"));
    assert!(!is_banned("cargo_input") && !is_banned("bookshelf"));
}

/// Names of types that a source defines, but for associated ones, which are indented.
fn types(source: &str) -> Vec<&str> {
    let is_keyword = |word: &str| ["struct", "enum", "trait", "union", "type"].contains(&word);
    let mut found = Vec::new();
    for line in source.lines().filter(|line| !line.starts_with(' ')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().take(4).position(|word| is_keyword(word));
        if let Some(name) = at.and_then(|at| words.get(at + 1)) {
            found.push(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A page of rustdoc shows each comment alone, without the one above it in the source.
#[test]
fn docs_of_the_library_can_be_read_alone() {
    let mut found: Vec<String> = Vec::new();
    for file in files("src", "rs") {
        let text = read(&file);
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (at, line) in lines.iter().enumerate() {
            let begins = at == 0 || !lines[at - 1].starts_with("///");
            let refers = ["/// The same, ", "/// The same; ", "/// The same ", "/// As there"]
                .iter()
                .any(|it| line.starts_with(it));
            if begins && refers {
                found.push(format!("{}:{}", file.display(), at + 1));
            }
        }
    }
    assert!(found.is_empty(), "comments that need the one above: {found:#?}");
}

#[test]
fn no_more_names_stand_for_two_things() {
    for (folder, known_types) in DOUBLES {
        let mut stems: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in files(folder, "rs") {
            let path = file.display().to_string();
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            for name in types(&read(&file)) {
                names.entry(name.to_string()).or_default().push(path.clone());
            }
            // A command, or a chapter of MPI, has the name of the module that does its work.
            let is_face = ["/command/", "/rt/api/"].iter().any(|it| path.contains(it));
            if !SHARED_STEMS.contains(&stem.as_str()) && !is_face {
                stems.entry(stem).or_default().push(path);
            }
        }
        for (kind, mut found, known) in [("file", stems, 0), ("type", names, known_types)] {
            found.retain(|_, places| places.len() > 1);
            let count = found.len();
            assert_eq!(count, known, "{folder}: {kind} names, and the number known: {found:#?}");
        }
    }
}
