//! Checks that every test, file and model named in `TRUST.md` exists, and checks properties of the
//! sources that no test can show by running.

use super::{sources, style::read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The texts between `mark`s.
fn marked(text: &str, mark: char) -> Vec<&str> {
    text.split(mark).skip(1).step_by(2).collect()
}

fn is_name(word: &str) -> bool {
    word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || "_*0123456789".contains(c))
}

/// The tests that `.ci/quick` and `.ci/tsan` leave out, or run by name.
#[test]
fn the_tests_that_scripts_name_exist() {
    let texts: Vec<String> = ["src", "tests"].into_iter().flat_map(sources).map(read).collect();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let after = |key: &str| key == "fn" || key == "mod";
    let defined: BTreeSet<&str> =
        words.windows(2).filter(|pair| after(pair[0])).map(|pair| pair[1]).collect();
    let (quick, tsan) = (read(".ci/quick"), read(".ci/tsan"));
    let list = |text: &'static str| quick.split(text).nth(1).and_then(|it| it.split(')').next());
    let long = list("\nlong=(").into_iter().flat_map(str::split_whitespace);
    let skipped = tsan.split("--skip ").skip(1).filter_map(|it| it.split_whitespace().next());
    let weak = tsan.lines().filter_map(|line| line.strip_prefix("run \"$program\" "));
    let named = long.chain(skipped).chain(weak);
    let named: Vec<&str> = named.map(|name| name.trim_end_matches(')')).collect();
    assert!(named.len() > 40, "{named:?}");
    let parts =
        |name: &&str| name.split("::").all(|part| defined.iter().any(|it| it.contains(part)));
    let missing: Vec<&&str> = named.iter().filter(|name| !parts(name)).collect();
    assert!(missing.is_empty(), "no test has these names: {missing:?}");
}

#[test]
fn everything_named_exists() {
    let trust = read("TRUST.md");
    let tests: String = ["tests", "src", "interfaces/nodes", "tools"]
        .into_iter()
        .flat_map(sources)
        .map(read)
        .collect();
    let models: String = sources("loom-tests/src").into_iter().map(read).collect();
    let loom_readme = read("loom-tests/README.md");
    let mut missing = Vec::new();
    // A test's name, perhaps only how it begins; also one that a macro makes (`name 2 800;`).
    let is_test = |name: &str, is_filter: bool| {
        let begins = name.strip_suffix('*').or(is_filter.then_some(name));
        let fits = |rest: &str| match begins {
            Some(_) => true,
            None => rest.starts_with(['(', ' ', '<']),
        };
        let stem = begins.unwrap_or(name);
        [format!("fn {stem}"), format!("    {stem}")]
            .iter()
            .any(|text| tests.match_indices(text).any(|(at, m)| fits(&tests[at + m.len()..])))
    };
    let is_program = |name: &str| {
        let folders = ["tests", "tests/it", "tests/alone", "tests/house", "suites/tests/products"];
        folders
            .iter()
            .chain(&["interfaces/nodes/tests", "tools/bench/tests", "tools/soak/tests"])
            .any(|f| {
                [".rs", "/main.rs"].iter().any(|e| Path::new(&format!("{f}/{name}{e}")).exists())
            })
    };
    // Not tests: functions of the system and of the language.
    const OTHERS: [&str; 4] = ["catch_unwind", "pthread_exit", "incompatible_msrv", "is_outvoted"];
    // The properties that are checked, and their checkers.
    let properties = read("tests/it/properties/mod.rs");
    let header = properties.lines().take_while(|line| line.starts_with("//!"));
    let list = header.skip_while(|line| !line.starts_with("//! - "));
    let properties = list.collect::<Vec<_>>().join("\n").replace("`wrap::`", "");
    assert!(marked(&properties, '`').len() > 27, "the list of properties: {properties}");
    for span in [marked(&trust, '`'), marked(&properties, '`')].concat() {
        for word in span.split([' ', ',', ';']).filter(|w| !w.is_empty()) {
            let name = word.rsplit("::").next().unwrap_or(word);
            let path = word.contains('/') && !word.starts_with('-') && !word.contains('*');
            let there = if path {
                Path::new(word).exists() || word == "tools/phalanx"
            } else if is_name(name) && !OTHERS.contains(&name) {
                let example = sources("tests/compile_fail").iter().any(|file| {
                    let file = file.file_stem().unwrap_or_default().to_string_lossy();
                    name.strip_suffix('*').map_or(file == name, |stem| file.starts_with(stem))
                });
                example || is_program(name) || is_test(name, span.starts_with("cargo "))
            } else {
                true
            };
            if !there {
                missing.push(word.to_string());
            }
        }
        let words: Vec<&str> = span.split_whitespace().collect();
        for pair in words.windows(2).filter(|pair| pair[0] == "--test") {
            if !is_program(pair[1]) {
                missing.push(format!("--test {}", pair[1]));
            }
        }
    }
    // Models are named as the README of the models names them.
    for line in trust.lines().filter(|line| line.contains("loom: ")) {
        for model in marked(line, '"') {
            let told = loom_readme.contains(model) || models.contains(model);
            if !told {
                missing.push(format!("model \"{model}\""));
            }
        }
    }
    assert!(missing.is_empty(), "TRUST.md names what is not there: {missing:#?}");
}

/// The models of the sources and the table of `loom-tests/README.md`: as many of each protocol,
/// with as many ranks, and as many with a bound.
#[test]
fn every_model_is_in_the_table() {
    let mut models: BTreeMap<String, (usize, BTreeSet<String>, usize)> = BTreeMap::new();
    for file in sources("loom-tests/src/models") {
        let text = read(&file);
        for model in text.split("name: \"").skip(1) {
            let field = |name: &str| {
                let rest = model.split(&format!("{name}: ")).nth(1)?;
                rest.split([',', '\n']).next().map(str::trim).map(str::to_string)
            };
            let (Some(ranks), Some(bound)) = (field("ranks"), field("bound")) else { continue };
            let protocol =
                model.split_once(':').expect("a model's name begins with its protocol").0;
            let (all, of, bounded) = models.entry(protocol.to_string()).or_default();
            *all += 1;
            of.insert(ranks);
            *bounded += usize::from(bound != "None");
        }
    }
    let row = |(protocol, (all, ranks, bounded)): (String, (usize, BTreeSet<String>, usize))| {
        let ranks: Vec<String> = ranks.into_iter().collect();
        format!("| {protocol} | {all} | {} | {bounded} |", ranks.join(", "))
    };
    let table = read("loom-tests/README.md");
    let missing: Vec<String> =
        models.into_iter().map(row).filter(|row| !table.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "loom-tests/README.md: its table has not {missing:#?}");
}

/// The table of paths: its models and twins exist, each model and each twin has its place, and a
/// path without a checker gives its reason.
#[test]
fn every_path_has_its_checker() {
    let quoted =
        |text: &str| -> Vec<String> { marked(text, '"').into_iter().map(str::to_string).collect() };
    // A model's name is the first string behind its mark.
    let names = |folder: &str, mark: &str| -> Vec<String> {
        let text: String = sources(folder).into_iter().map(read).collect();
        text.split(mark).skip(1).filter_map(|rest| quoted(rest).first().cloned()).collect()
    };
    let loom = names("loom-tests/src/models", " name: ");
    let shuttle = names("loom-tests/shuttle/tests", "    model(");
    let twins = read("loom-tests/shuttle/twins.rs");
    let bodies: String = sources("loom-tests/shuttle/tests").into_iter().map(read).collect();
    let sync = read("src/sync.rs");
    let readme = read("loom-tests/shuttle/README.md");
    let section = readme.split("## Paths, and what checks them").nth(1).expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let (mut named, mut wrong) = (Vec::new(), Vec::new());
    for line in section.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [path, checker, models, marks] = cells[..] else {
            wrong.push(format!("not four cells: {line}"));
            continue;
        };
        let known = match checker {
            "loom" => &loom,
            "shuttle" => &shuttle,
            _ if checker == "none" && marks.len() > 20 => continue,
            _ => {
                wrong.push(format!("{path}: neither a checker nor a reason"));
                continue;
            }
        };
        let models = quoted(models);
        wrong.extend(models.iter().filter(|m| !known.contains(m)).map(|m| format!("model {m}")));
        named.extend(models);
        let marks = quoted(marks);
        if marks.is_empty() {
            wrong.push(format!("{path}: no twin"));
        }
        for mark in &marks {
            let there = match mark.strip_suffix(": both sides") {
                Some(sites) => sites.split(", ").all(|site| sync.contains(&format!("    {site},"))),
                None => twins.contains(&format!("\"{mark}\"")),
            };
            if !there {
                wrong.push(format!("twin {mark}"));
            }
        }
    }
    wrong.extend(shuttle.iter().filter(|m| !named.contains(m)).map(|m| format!("no row: {m}")));
    // A twin's name is the first string of its entry.
    for entry in twins.split("\n    \"").skip(1) {
        let name = entry.split('"').next().expect("a name");
        if !bodies.contains(&format!("Twin(\"{name}\")")) {
            wrong.push(format!("no model looks for: {name}"));
        }
    }
    assert!(wrong.is_empty(), "the table of paths: {wrong:#?}");
}

/// Code that goes round `src/sync.rs` escapes the models.
#[test]
fn one_door() {
    const ROUND: [&str; 7] = [
        "std::sync::atomic",
        "std::cell::UnsafeCell",
        "std::hint::spin_loop",
        "std::thread::",
        "thread_local! {",
        "std::sync::mpsc",
        "Instant::now",
    ];
    // Not in any model, with the reason: the machine's facts, and a
    // test of stores that no checker knows.
    const MAY: [&str; 3] = ["src/sync.rs", "src/machine/", "src/exec/kernel/stream.rs"];
    for file in sources("src") {
        let name = file.to_string_lossy().into_owned();
        if MAY.iter().any(|may| name.starts_with(may)) {
            continue;
        }
        let text = read(&file);
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let by_door = text.contains("crate::sync::");
        for line in text.lines().map(|line| line.split("//").next().unwrap_or("")) {
            let round = ROUND.iter().find(|word| line.contains(*word));
            let fine = round.is_none_or(|word| {
                by_door && (word.starts_with("thread_local") || word.starts_with("Instant"))
            });
            assert!(fine, "{name}: {line}");
        }
    }
}

/// Streaming stores are ordered by no `Release` store. All of them are in one function, which ends
/// the assembly that has them with a fence.
#[test]
fn streaming_stores_end_with_a_fence() {
    const STREAMING: [&str; 5] =
        ["movnt", "_stream_", "_mm_stream", "maskmov", "nontemporal_store"];
    let home = Path::new("src/exec/kernel/stream.rs");
    for file in sources("src") {
        let text = read(&file);
        let code =
            text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>();
        if file != home {
            let found = STREAMING.iter().find(|word| code.iter().any(|line| line.contains(*word)));
            assert_eq!(found, None, "{}: a streaming store", file.display());
            continue;
        }
        let code = code.join("\n");
        let blocks: Vec<&str> = code.split("asm!(").skip(1).collect();
        assert!(!blocks.is_empty(), "where have the streaming stores gone?");
        for block in blocks {
            // The instructions are the strings before the operands.
            let (last_store, fence) = (block.rfind("\"movnt"), block.find("\"sfence\""));
            assert!(last_store.is_some() && last_store < fence, "no fence behind the stores");
            let after = &block[fence.unwrap_or(0) + "\"sfence\"".len()..];
            let jumps = after.split("options(").next().unwrap_or("").contains('"');
            assert!(!jumps, "an instruction behind the fence");
            assert!(!block.contains("nomem") && !block.contains("readonly"), "memory is written");
        }
    }
}
