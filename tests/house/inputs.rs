//! Checks that each stage's row of inputs (`.ci/stages`) has all files that the stage compiles.

use super::style::{files, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The packages that a stage compiles, where `.ci/run` names none by `-p` and has no array of the
/// stage's name. A stage without packages compiles the library alone.
const PACKAGES: [(&str, &str); 6] = [
    ("soak", "soak"),
    ("shuttle", "shuttle-tests"),
    ("processes", "processes processes-c processes-python"),
    ("tsan", "phalanx hosts"),
    ("mpi", "mpi"),
    ("capi", "capi"),
];

/// A path without `..`, from the root of the repository.
fn plain(path: PathBuf) -> PathBuf {
    let (here, whole) = (std::env::current_dir().unwrap(), path.canonicalize());
    whole.ok().and_then(|it| Some(it.strip_prefix(here).ok()?.to_path_buf())).unwrap_or(path)
}

/// The texts from a beginning to an end.
fn between<'a>(text: &'a str, begin: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
}

/// `a/{b,c}` stands for two.
fn expanded(word: &str) -> Vec<String> {
    let Some((before, rest)) = word.split_once('{') else { return vec![word.to_string()] };
    let (all, after) = rest.split_once('}').expect("a brace is closed");
    all.split(',').map(|one| format!("{before}{one}{after}")).collect()
}

/// The folders of packages by name, and the files of those that a stage compiles.
struct Compiled<'a>(&'a BTreeMap<String, PathBuf>, BTreeSet<PathBuf>);

impl Compiled<'_> {
    /// The sources of the package in a folder, if wanted those of its tests, and those of the
    /// packages that it depends on.
    fn package(&mut self, of: &Path, tests: bool) {
        let folders: BTreeSet<&PathBuf> = self.0.values().collect();
        let is_package = |it: &Path| folders.contains(&it.to_path_buf());
        let is_wanted = |file: &PathBuf| {
            let is_in = |folder: &str| file.starts_with(of.join(folder));
            // The rules of the house have a stage, which reads everything; so have the benches.
            file.ancestors().skip(1).find(|it| is_package(it)) == Some(of)
                && !(is_in("benches") || file.starts_with("tests/house"))
                && (tests || !(is_in("tests") || is_in("examples")))
        };
        let all = |extension| files(Path::new(".").join(of).to_str().unwrap(), extension);
        let sources = ["rs", "c"].into_iter().flat_map(all).filter(is_wanted);
        let manifest = read(of.join("Cargo.toml"));
        let end = manifest.find("[dev-dependencies]").filter(|_| !tests).unwrap_or(manifest.len());
        let paths = between(&manifest[..end], "path = \"", '"').map(|path| plain(of.join(path)));
        let (below, own): (Vec<_>, Vec<_>) = paths.partition(|path| is_package(path));
        own.into_iter().chain(sources).for_each(|file| self.file(file));
        for package in below {
            if self.1.insert(package.join("Cargo.toml")) {
                self.package(&package, false);
            }
        }
    }

    /// A source, with its modules and the files that it names.
    fn file(&mut self, file: PathBuf) {
        if !file.is_file() || !self.1.insert(file.clone()) {
            return;
        }
        let words: &[&str] = match file.extension().and_then(|it| it.to_str()) {
            Some("rs") => &["#[path = \"", "include!(\"", "include_str!(\"", "include_bytes!(\""],
            // Those without a folder may be among the headers that are made.
            Some("c") => &["#include \"../"],
            _ => return,
        };
        let (text, folder) = (read(&file), file.parent().unwrap());
        for word in words {
            // README.md is in `src` for the doctests alone.
            for path in between(&text.replace("doc = include", ""), word, '"') {
                let path = plain(folder.join(&word[word.find('"').unwrap() + 1..]).join(path));
                assert!(path.is_file(), "{}: no {}", file.display(), path.display());
                self.file(path);
            }
        }
        for name in between(&text, "mod ", ';').filter(|name| !name.contains(char::is_whitespace)) {
            for at in [folder.join(name), file.with_extension("").join(name)] {
                self.file(at.with_extension("rs"));
                self.file(at.join("mod.rs"));
            }
        }
    }
}

#[test]
fn stages_know_all_that_they_compile() {
    if !Path::new(".ci/stages").exists() || !Path::new("loom-tests").exists() {
        return eprintln!("SKIPPED: not in the repository");
    }
    let [stages, run] = [".ci/stages", ".ci/run"].map(|file| read(Path::new(file)));
    let manifests = files(".", "toml").into_iter().filter(|it| it.ends_with("Cargo.toml"));
    let named = |it: PathBuf| {
        let name = between(&read(&it), "\nname = \"", '"').next().unwrap().to_string();
        (name, it.parent().unwrap().to_path_buf())
    };
    let packages: BTreeMap<String, PathBuf> = manifests.map(named).collect();
    let manifest = read("Cargo.toml");
    let members = between(&manifest, "members = [", ']').next().unwrap();
    let (mut wrong, mut known) = (Vec::new(), BTreeSet::new());
    let arrays = || [&stages, &run].into_iter().flat_map(|it| it.lines());
    let arrays = || arrays().filter_map(|line| line.trim_end_matches(')').split_once("=("));
    let rows = stages.split_once("case $1 in\n").and_then(|it| it.1.split_once("    *)"));
    for row in rows.expect("rows of inputs").0.lines() {
        let (names, paths) = row.trim().trim_end_matches(" ;;").split_once(") echo ").unwrap();
        let paths: Vec<String> = paths.split(' ').flat_map(expanded).collect();
        for stage in names.split(" | ") {
            let named = PACKAGES.iter().filter(|it| it.0 == stage);
            let mut of: Vec<&str> = named.flat_map(|it| it.1.split(' ')).collect();
            let own = arrays().filter(|(name, _)| name.trim_end_matches('+') == stage);
            of.extend(own.flat_map(|it| it.1.split_whitespace()));
            for line in run.lines().filter(|it| it.starts_with(&format!("stage {stage} "))) {
                of.extend(line.split("-p ").skip(1).filter_map(|it| it.split(' ').next()));
                // The members that no array has.
                if line.contains(" tests_of - ") {
                    let is_member = |it: &PathBuf| members.contains(&format!("{it:?}"));
                    let has =
                        |name| arrays().any(|it| it.1.split_whitespace().any(|it| it == name));
                    let rest = packages.iter().filter(|it| is_member(it.1) && !has(it.0));
                    of.extend(rest.map(|it: (&String, _)| it.0.as_str()));
                }
            }
            known.insert(stage);
            let mut all = Compiled(&packages, BTreeSet::new());
            for name in &of {
                let folder = packages.get(*name).or(packages.get(&format!("phalanx-{name}")));
                all.package(folder.unwrap_or_else(|| panic!("no package {name}")), true);
            }
            if of.is_empty() {
                all.package(Path::new(""), false);
            }
            let is_named = |file: &PathBuf| {
                let common = file.ends_with("Cargo.toml") || file == Path::new("build.rs");
                common || paths.iter().any(|path| file.starts_with(path))
            };
            let lost = all.1.iter().filter(|file| !is_named(file));
            wrong.extend(lost.map(|file| format!("{stage}: {}", file.display())));
        }
    }
    assert!(PACKAGES.iter().all(|it| known.contains(it.0)), "rows only for {known:?}");
    assert!(wrong.is_empty(), "not among the inputs in .ci/stages:\n{}", wrong.join("\n"));
}
