// The mistakes that the models must detect. Included by the build scripts of both packages of
// models.

include!("../../../loom-tests/mutants.rs");

mutants! {
    "../src/pieces.rs" {
        weak_shown:
            "shown.store(number + 2, Ordering::Release)"
            => "shown.store(number + 2, Ordering::Relaxed)";
        weak_folded:
            "folded.store(number + 1, Ordering::Release)"
            => "folded.store(number + 1, Ordering::Relaxed)";
        weak_done:
            "done.store(after, Ordering::Release)" => "done.store(after, Ordering::Relaxed)";
        weak_shown_load:
            "progress.shown.load(Ordering::Acquire)" => "progress.shown.load(Ordering::Relaxed)";
        weak_folded_load:
            "progress.folded.load(Ordering::Acquire)" => "progress.folded.load(Ordering::Relaxed)";
        weak_done_load:
            "progress.done.load(Ordering::Acquire)" => "progress.done.load(Ordering::Relaxed)";
        no_wait_to_give: "place.wait(work, readers, has_read, number)?;" => "";
        no_wait_before_the_gate:
            "place.wait(work, Members::All, is_done, place.first.saturating_sub(1))?;" => "";
    }
    "../src/gate.rs" {
        weak_gate:
            "word.store(episode, Ordering::Release)" => "word.store(episode, Ordering::Relaxed)";
    }
    "../src/ring.rs" {
        weak_chunk: "word.store(n, Ordering::Release)" => "word.store(n, Ordering::Relaxed)";
        weak_taken: "0.store(n, Ordering::Release)" => "0.store(n, Ordering::Relaxed)";
        no_room: "<= SLOTS" => "<= SLOTS + 1";
    }
    "../src/bell.rs" {
        no_fence_before_the_look: "fence(Ordering::SeqCst); } self.0.load" => "} self.0.load";
        no_fence_before_the_sleep: "fence(Ordering::SeqCst); if !ready()" => "if !ready()";
    }
    "../src/circle.rs" {
        weak_wait:
            "self.state.store(state, Ordering::Release)"
            => "self.state.store(state, Ordering::Relaxed)";
        weak_wait_load:
            "self.state.load(Ordering::Acquire)" => "self.state.load(Ordering::Relaxed)";
        weak_link:
            "self.next_state.store(state, Ordering::Release)"
            => "self.next_state.store(state, Ordering::Relaxed)";
        no_look: "if ready() {" => "if false {";
        one_wait: "number << 16 |" => "1 << 16 |";
    }
    "../src/course.rs" {
        weak_complete: "store(1, Ordering::Release)" => "store(1, Ordering::Relaxed)";
        weak_complete_load:
            "self.complete.load(Ordering::Acquire)" => "self.complete.load(Ordering::Relaxed)";
        weak_over: "mine, Ordering::AcqRel" => "mine, Ordering::Relaxed";
        weak_over_load: "self.over.load(Ordering::Acquire)" => "self.over.load(Ordering::Relaxed)";
    }
}
