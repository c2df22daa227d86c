//! Makes the library that the models use: its own sources, with `cfg(shuttle)`, in which
//! - copies and slices of raw memory go by the checker, which looks at the order;
//! - a few passages exist twice: as they are, and wrong. Which of the two is run is chosen
//!   when the model runs, so that one build has all twins.

use std::path::Path;

include!("../passages.rs");
include!("twins.rs");

/// Ways to memory, and the checker's.
const WAYS: [(&str, &str); 7] = [
    ("std::ptr::copy_nonoverlapping(", "::checker::raw::copy_nonoverlapping("),
    ("std::ptr::swap_nonoverlapping(", "::checker::raw::swap_nonoverlapping("),
    ("std::slice::from_raw_parts(", "::checker::raw::from_raw_parts("),
    ("std::slice::from_raw_parts_mut(", "::checker::raw::from_raw_parts_mut("),
    (
        "use std::slice::{from_raw_parts, from_raw_parts_mut};",
        "use ::checker::raw::{from_raw_parts, from_raw_parts_mut};",
    ),
    ("use std::slice::from_raw_parts;", "use ::checker::raw::from_raw_parts;"),
    ("use std::ptr::copy_nonoverlapping;", "use ::checker::raw::copy_nonoverlapping;"),
];

/// What is the system's, and so not the same everywhere.
const ALWAYS: [(&str, &str, &str); 9] = [
    ("reports, thousands of them", "say(&report);", "let _ = report;"),
    ("the machine", "live::this()", "crate::machine::of_models()"),
    (
        "whether ranks outnumber them",
        "RUNNING.load(Ordering::Relaxed) + more > CORES.load(Ordering::Relaxed)",
        "{ let _ = more; ::checker::is_crowded() }",
    ),
    (
        "which ranks share a core",
        "let core = self.of(rank); cores.iter()",
        "let core = self.of(rank).or_else(|| ::checker::core_of(rank)); cores.iter()",
    ),
    (
        "whether to sleep",
        "match occasion { Occasion::Together => ANY.until.is_on(clock::now), \
         Occasion::Pair => SAME.until.is_on(clock::now), }",
        "{ let _ = occasion; ::checker::is_sleepy() }",
    ),
    (
        "how long yields take",
        "let from = clock::ticks(); crate::sync::yield_now();",
        "crate::sync::yield_now(); return; let from = clock::ticks();",
    ),
    ("since when", "pub(super) fn begin() { clock::now(); }", "pub(super) fn begin() {}"),
    (
        "what threads have left, of this execution only",
        "let idle = IDLE.lock().unwrap_or_else(|e| e.into_inner()).pop();",
        "let idle = ::checker::kept();",
    ),
    (
        "the same",
        "IDLE.lock().unwrap_or_else(|e| e.into_inner()).push(self.0);",
        "::checker::keep(self.0);",
    ),
];

/// The same for all executions.
const MACHINE: &str = "
    pub(crate) fn of_models() -> Result<Machine, MachineError> {
        static MACHINE: std::sync::LazyLock<Machine> =
            std::sync::LazyLock::new(|| Machine::from_synthetic(\"core:2 pu:1\").expect(\"well \
                       formed\"));
        Ok(MACHINE.clone())
    }
";

fn main() {
    println!("cargo:rustc-cfg=shuttle");
    println!("cargo:rustc-cfg=plain_copies");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=twins.rs");
    println!("cargo:rerun-if-changed=../passages.rs");
    println!("cargo:rerun-if-changed=../../src");
    let mut files = Vec::new();
    read(Path::new("../../src"), "", &mut files);
    let machine = files.iter_mut().find(|(name, _)| name == "machine/mod.rs");
    machine.expect("a module of that name").1.push_str(MACHINE);
    for (name, from, to) in ALWAYS {
        replace(&mut files, name, from, to);
    }
    for (name, from, to) in TWINS {
        let to = to.replace("TWIN", &format!("::checker::is_twin(\"{name}\")"));
        replace(&mut files, name, from, &to);
    }
    for (_, text) in files.iter_mut().filter(|(name, _)| name.ends_with(".rs")) {
        for (from, to) in WAYS {
            for place in places(text, from).into_iter().rev() {
                text.replace_range(place, to);
            }
        }
    }
    let out = Path::new(&std::env::var("OUT_DIR").expect("cargo sets it")).join("library");
    // Of sources that are no more, too.
    std::fs::remove_dir_all(&out).unwrap_or_default();
    for (name, text) in files {
        // `include!` takes no inner documentation and no inner attributes.
        let inner = |line: &&str| !(line.starts_with("//!") || line.starts_with("#!["));
        let text = match name.as_str() {
            "lib.rs" => text.lines().filter(inner).collect::<Vec<_>>().join("\n"),
            _ => text,
        };
        let to = out.join(name);
        std::fs::create_dir_all(to.parent().expect("in a folder")).expect("writable");
        std::fs::write(to, text).expect("writable");
    }
}

/// Names, from the sources' root on, and texts.
fn read(folder: &Path, name: &str, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the library's sources are there") {
        let path = entry.expect("readable").path();
        let name = format!("{name}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), files);
        } else {
            files.push((name, std::fs::read_to_string(&path).expect("readable text")));
        }
    }
}
