// The mistakes that the models must detect. Included by the build scripts of both packages of
// models.

include!("../../../loom-tests/mutants.rs");

mutants! {
    "../src/pieces.rs" {
        weak_shown: "shown.store(number + 2, Ordering::Release)" => RELAXED;
        weak_folded: "folded.store(number + 1, Ordering::Release)" => RELAXED;
        weak_done: "done.store(after, Ordering::Release)" => RELAXED;
        weak_shown_load: "progress.shown.load(Ordering::Acquire)" => RELAXED;
        weak_folded_load: "progress.folded.load(Ordering::Acquire)" => RELAXED;
        weak_done_load: "progress.done.load(Ordering::Acquire)" => RELAXED;
        no_wait_to_give: "place.wait(work, readers, has_read, number)?;" => "";
        no_wait_before_the_gate:
            "place.wait(work, Members::All, is_done, place.first.saturating_sub(1))?;" => "";
    }
    "../src/gate.rs" {
        weak_gate: "word.store(episode, Ordering::Release)" => RELAXED;
    }
    "../src/ring.rs" {
        weak_chunk: "word.store(n, Ordering::Release)" => RELAXED;
        weak_taken: "0.store(n, Ordering::Release)" => RELAXED;
        no_room: "<= SLOTS" => "<= SLOTS + 1";
    }
    "../src/bell.rs" {
        no_fence_before_the_look: "fence(Ordering::SeqCst); } self.0.load" => "} self.0.load";
        no_fence_before_the_sleep: "fence(Ordering::SeqCst); if !ready()" => "if !ready()";
    }
    "../src/circle.rs" {
        weak_wait: "self.state.store(state, Ordering::Release)" => RELAXED;
        weak_wait_load: "self.state.load(Ordering::Acquire)" => RELAXED;
        weak_link: "self.next_state.store(state, Ordering::Release)" => RELAXED;
        no_look: "if ready() {" => "if false {";
        one_wait: "number << 16 |" => "1 << 16 |";
    }
    "../src/course.rs" {
        weak_complete: "store(1, Ordering::Release)" => RELAXED;
        weak_complete_load: "self.complete.load(Ordering::Acquire)" => RELAXED;
        weak_over: "mine, Ordering::AcqRel" => RELAXED;
        weak_over_load: "self.over.load(Ordering::Acquire)" => RELAXED;
    }
}
