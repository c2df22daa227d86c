// Sets `cfg(loom)`, and makes the mistakes that the models must detect: copies of the sources with
// one passage replaced. Included by the build scripts of both packages of models.

use std::path::PathBuf;
use std::{env, fs};

/// Source, name of the copy, the passage (once in the source), and its replacement.
const MUTANTS: [(&str, &str, &str, &str); 23] = [
    (
        "pieces",
        "weak_shown",
        "shown.store(number + 2, Ordering::Release)",
        "shown.store(number + 2, Ordering::Relaxed)",
    ),
    (
        "pieces",
        "weak_folded",
        "folded.store(number + 1, Ordering::Release)",
        "folded.store(number + 1, Ordering::Relaxed)",
    ),
    (
        "pieces",
        "weak_done",
        "done.store(after, Ordering::Release)",
        "done.store(after, Ordering::Relaxed)",
    ),
    (
        "pieces",
        "weak_shown_load",
        "progress.shown.load(Ordering::Acquire)",
        "progress.shown.load(Ordering::Relaxed)",
    ),
    (
        "pieces",
        "weak_folded_load",
        "progress.folded.load(Ordering::Acquire)",
        "progress.folded.load(Ordering::Relaxed)",
    ),
    (
        "pieces",
        "weak_done_load",
        "progress.done.load(Ordering::Acquire)",
        "progress.done.load(Ordering::Relaxed)",
    ),
    ("pieces", "no_wait_to_give", "place.wait(work, readers, has_read, number)?;", ""),
    (
        "pieces",
        "no_wait_before_the_gate",
        "place.wait(work, Members::All, is_done, place.first.saturating_sub(1))?;",
        "",
    ),
    (
        "gate",
        "weak_gate",
        "word.store(episode, Ordering::Release)",
        "word.store(episode, Ordering::Relaxed)",
    ),
    ("ring", "weak_chunk", "word.store(n, Ordering::Release)", "word.store(n, Ordering::Relaxed)"),
    ("ring", "weak_taken", "0.store(n, Ordering::Release)", "0.store(n, Ordering::Relaxed)"),
    ("ring", "no_room", "<= SLOTS", "<= SLOTS + 1"),
    (
        "bell",
        "no_fence_before_the_look",
        "            fence(Ordering::SeqCst);\n        }\n        self.0.load",
        "        }\n        self.0.load",
    ),
    (
        "bell",
        "no_fence_before_the_sleep",
        "fence(Ordering::SeqCst);\n        if !ready()",
        "if !ready()",
    ),
    (
        "circle",
        "weak_wait",
        "self.state.store(state, Ordering::Release)",
        "self.state.store(state, Ordering::Relaxed)",
    ),
    (
        "circle",
        "weak_wait_load",
        "self.state.load(Ordering::Acquire)",
        "self.state.load(Ordering::Relaxed)",
    ),
    (
        "circle",
        "weak_link",
        "self.next_state.store(state, Ordering::Release)",
        "self.next_state.store(state, Ordering::Relaxed)",
    ),
    ("circle", "no_look", "if ready() {", "if false {"),
    ("circle", "one_wait", "number << 16 |", "1 << 16 |"),
    ("course", "weak_complete", "store(1, Ordering::Release)", "store(1, Ordering::Relaxed)"),
    (
        "course",
        "weak_complete_load",
        "self.complete.load(Ordering::Acquire)",
        "self.complete.load(Ordering::Relaxed)",
    ),
    ("course", "weak_over", "mine, Ordering::AcqRel", "mine, Ordering::Relaxed"),
    (
        "course",
        "weak_over_load",
        "self.over.load(Ordering::Acquire)",
        "self.over.load(Ordering::Relaxed)",
    ),
];

/// A file that is included has no comments of its own module.
fn items(source: &str) -> String {
    source.lines().filter(|line| !line.starts_with("//!")).collect::<Vec<&str>>().join("\n")
}

fn main() {
    println!("cargo:rustc-cfg=loom");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    for (file, name, from, to) in MUTANTS {
        let path = format!("../src/{file}.rs");
        println!("cargo:rerun-if-changed={path}");
        let source = fs::read_to_string(&path).expect("the package's source");
        assert_eq!(source.matches(from).count(), 1, "{path}: `{from}` occurs once");
        let broken = items(&source.replace(from, to));
        fs::write(out.join(format!("{name}.rs")), broken).expect("OUT_DIR can be written");
    }
}
