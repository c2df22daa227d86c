//! Sets `cfg(loom)`, and makes the mistakes that the models must detect.

include!("../../../loom-tests/mutants.rs");

mutants! {
    "../src/rt/word.rs" {
        weak_store: "Ordering::Release" => RELAXED;
        weak_load: "Ordering::Acquire" => RELAXED;
    }
    // Histories without one of the fences, and one that trusts a place for one call too long.
    "../src/rt/history.rs" {
        history_weak_store: "fence(Ordering::Release);" => "";
        history_weak_load: "fence(Ordering::Acquire);" => "";
        history_kept_too_long: "last.told() + 1 <" => "last.told() <";
    }
    // A lock that forgets its waiting ranks, and one that two ranks may have alone.
    "../src/rt/target_lock.rs" {
        lock_forgets: "state.waiting.push(rank);" => "";
        lock_of_two:
            "self.alone.is_none() && (self.shared == 0 || !is_exclusive)" => "is_exclusive || true";
    }
}

fn main() {
    println!("cargo:rustc-cfg=loom");
    make(MUTANTS);
}
