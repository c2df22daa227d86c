//! Sets `cfg(loom)`, and makes the weakened words that the models must detect: copies of the source
//! with one ordering replaced.

use std::path::PathBuf;
use std::{env, fs};

/// A file that is included has no comments of its own module.
fn items(source: &str) -> String {
    source.lines().filter(|line| !line.starts_with("//!")).collect::<Vec<&str>>().join("\n")
}

fn main() {
    const HISTORY: &str = "../src/rt/history.rs";
    const SOURCE: &str = "../src/rt/word.rs";
    const LOCK: &str = "../src/rt/target_lock.rs";
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rustc-cfg=loom");
    let source = fs::read_to_string(SOURCE).expect("the package's source");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    for (name, ordering) in [("weak_store.rs", "Release"), ("weak_load.rs", "Acquire")] {
        let whole = format!("Ordering::{ordering}");
        assert_eq!(source.matches(&whole).count(), 1, "{SOURCE}: {whole} occurs once");
        let weak = source.replace(&whole, "Ordering::Relaxed");
        fs::write(out.join(name), items(&weak)).expect("OUT_DIR can be written");
    }
    // Histories without one of the fences, and one that trusts a place for one call too long.
    println!("cargo:rerun-if-changed={HISTORY}");
    let history = fs::read_to_string(HISTORY).expect("the package's source");
    for (name, from, to) in [
        ("history_weak_store.rs", "fence(Ordering::Release);", ""),
        ("history_weak_load.rs", "fence(Ordering::Acquire);", ""),
        ("history_kept_too_long.rs", "last.told() + 1 <", "last.told() <"),
    ] {
        assert_eq!(history.matches(from).count(), 1, "{HISTORY}: {from} occurs once");
        let broken = items(&history.replace(from, to));
        fs::write(out.join(name), broken).expect("OUT_DIR can be written");
    }
    // A lock that forgets its waiting ranks, and one that two ranks may have alone.
    println!("cargo:rerun-if-changed={LOCK}");
    let lock = fs::read_to_string(LOCK).expect("the package's source");
    for (name, from, to) in [
        ("lock_forgets.rs", "state.waiting.push(rank);", ""),
        (
            "lock_of_two.rs",
            "self.alone.is_none() && (self.shared == 0 || !is_exclusive)",
            "is_exclusive || true",
        ),
    ] {
        assert_eq!(lock.matches(from).count(), 1, "{LOCK}: {from} occurs once");
        let broken = items(&lock.replace(from, to));
        fs::write(out.join(name), broken).expect("OUT_DIR can be written");
    }
}
