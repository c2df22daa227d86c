//! Sets `cfg(loom)` for this crate only, so that `cargo test` needs no environment variable; and
//! makes the mutants: copies of a library source with one passage replaced, which the models must
//! detect.

include!("mutants.rs");

/// In place of a word that the other models do not look at.
const MODELLED: &str = "use crate::sync::{AtomicU64, Ordering::Relaxed};";

/// The same, in the dispatch: its mark, and what is in its place.
const MARK: &str =
    "use crate::wait::{Backoff, Mark, Occasion, Pause, Sleeper, Wait, Waker, sleeper_pair};";
const MODELLED_MARK: &str = "use crate::mutants::mark_modelled::Mark;\n\
    use crate::wait::{Backoff, Occasion, Pause, Sleeper, Wait, Waker, sleeper_pair};";

mutants! {
    "../src/team/block_counter.rs" {
        block_counter_counting_apart:
            "let taken = self.next.fetch_add(1, Ordering::Relaxed);"
            => "let taken = self.next.load(Ordering::Relaxed);\n\
                self.next.store(taken + 1, Ordering::Relaxed);";
    }
    "../src/team/dispatch.rs" {
        dispatch_returning_late:
            "ticket.result.with_mut(|place| unsafe { *place = *result });" => "",
            "ticket.done.store(epoch, publish(Site::Done));"
            => "ticket.done.store(epoch, publish(Site::Done));\n\
                ticket.result.with_mut(|place| unsafe { *place = *result });";
        dispatch_without_second_look:
            "if come().is_some() {\n                        break;\n                    }\n" => "",
            "sleeper.sleep();" => "sleeper.sleep();\nif come().is_some() { break; }";
        dispatch_marking_once:
            "loop { seat.sleep_word.swap(ASLEEP, Ordering::AcqRel); if come()"
            => "seat.sleep_word.swap(ASLEEP, Ordering::AcqRel);\nloop { if come()";
        // Not a mistake: the mark is loom's.
        dispatch_with_modelled_mark: MARK => MODELLED_MARK;
        dispatch_looking_at_the_mark_early:
            MARK => MODELLED_MARK,
            // (Looked at twice: a heavy fence may act in between, and the caller go on after it.)
            "ticket.done.store(epoch, publish(Site::Done));"
            => "let is_set = seat.mark.is_set();\n\
                seat.mark.is_set();\n\
                crate::sync::yield_now();\n\
                ticket.done.store(epoch, publish(Site::Done));",
            "if seat.mark.is_set() {" => "if is_set {";
        dispatch_marking_after_the_look:
            MARK => MODELLED_MARK,
            "let is_surely_woken = seat.mark.set();" => "",
            "if !done() { sleep.sleeper.nap(nap.min(longest)); }"
            => "let is_done = done();\nlet is_surely_woken = seat.mark.set();\n\
                if !is_done { sleep.sleeper.nap(nap.min(longest)); }";
        dispatch_with_relaxed_swaps:
            "swap(ASLEEP, Ordering::AcqRel)" => "swap(ASLEEP, Ordering::Relaxed)",
            "swap(AWAKE, Ordering::AcqRel) ==" => "swap(AWAKE, Ordering::Relaxed) ==";
        dispatch_without_swaps:
            "seat.sleep_word.swap(ASLEEP, Ordering::AcqRel);"
            => "seat.sleep_word.store(ASLEEP, Ordering::Release);",
            "if seat.sleep_word.swap(AWAKE, Ordering::AcqRel) == ASLEEP {"
            => "let sleep_word = seat.sleep_word.load(Ordering::Acquire);\n\
                seat.sleep_word.store(AWAKE, Ordering::Release);\n\
                if sleep_word == ASLEEP {";
    }
    "../src/mailbox/gate.rs" {
        gate_of_one_slot:
            "&self.slots[(episode % u64::from(SLOTS)) as usize]"
            => "&self.slots[(episode % u64::from(SLOTS) / u64::from(SLOTS)) as usize]",
            "self.slot(episode).word.load(consume(Site::Gate)) == episode"
            => "self.slot(episode).word.load(consume(Site::Gate)) >= episode";
    }
    "../src/shared/port" {
        port_without_last_look:
            "let left = shared.has_left(peer, *run);" => "",
            "if left {" => "if shared.has_left(peer, *run) {";
        port_with_early_poison: "if poisoned || world.is_poisoned(*run) {" => "if poisoned {";
        port_confirming_early:
            "let seen = if is_long || cfg!(loom) { edges() } else { None };" => "",
            "let before = carried;" => "let seen = edges();\nlet before = carried;";
        port_leaving_unpoisoned:
            "drop(shared.world().poison(self.run, member, None));\n        \
             shared.leave(self.rank);"
            => "shared.leave(self.rank);\n        drop(shared.world().poison(self.run, member, \
                None));";
        port_quiescing_by_poison:
            "left || (acked && finished)\n"
            => "left || acked || finished || shared.world().is_poisoned(self.run)\n";
        port_judging_unseen:
            "self.peers[peer].endpoint().is_acked(latest)" => "latest > 0";
        port_settling_unseen:
            "if !looks.any(|_| self.peers[peer].endpoint().is_acked(n)) {"
            => "if looks.any(|_| false) {";
        port_giving_up_in_silence: "                world.give_up(me, it, *run);\n" => "";
        port_sleeping_without_limit:
            "seat.berth().sleep(awaited, Some(nap.min(longest)), over)"
            => "seat.berth().sleep(awaited, None, over)";
        port_claiming_early: "if !has_finished(peer) {" => "if false && !has_finished(peer) {";
        port_claiming_the_next_unseen:
            "let done = (0..self.size()).map(|rank| done(&self.shared, rank)).min();"
            => "let done = (0..self.size()).map(|rank| done(&self.shared, rank)).max();";
        // Not a mistake: see `lean` in `src/lib.rs`.
        port_lean:
            "let world = shared.world();\n        let (me, it)"
            => "while !ready.ask() {\n crate::sync::yield_now();\n}\nreturn Ok(());\n\
                let world = shared.world();\n        let (me, it)",
            "let peer = &mut self.peers[peer];\n        let n = peer.endpoint().post(header, \
             fill);"
            => "let number = peer;\nlet peer = &mut self.peers[peer];\nlet n = \
                peer.endpoint().post(header, fill);\n\
                crate::lean::posted(self.shared.id(), self.rank, number, n);",
            "fn await_message(&mut self, peer: usize) -> Result<(), Stop> {\n"
            => "fn await_message(&mut self, peer: usize) -> Result<(), Stop> {\n\
                crate::lean::await_post(self.shared.id(), peer, self.rank, \
                self.peers[peer].cursor.rx);\n";
    }
    "../src/wait/events.rs" {
        events_without_fence_after_show:
            "pub(crate) fn shown(&self) { fence(Ordering::SeqCst); }"
            => "pub(crate) fn shown(&self) {}";
        events_without_fence_after_mark:
            "return false; } fence(Ordering::SeqCst); if over.ask()"
            => "return false; } if over.ask()";
        events_without_second_look:
            "if over.ask() { if now != down" => "if up == 1 { if now != down";
        events_without_leader:
            "{ SleepLevel::Top } else {" => "{ SleepLevel::Group(group) } else {";
        events_without_top: "        wake(&self.top, event);\n" => "";
        events_rousing_unfenced:
            "fence(Ordering::SeqCst); for word in std::iter" => "for word in std::iter";
    }
    "../src/wait/berth.rs" {
        berth_calling_unfenced:
            "fence(Ordering::SeqCst); let word = self.0.load(Ordering::Relaxed); let is_meant"
            => "let word = self.0.load(Ordering::Relaxed);\n        let is_meant";
        berth_sleeping_unfenced:
            "self.0.store(word, Ordering::Relaxed); fence(Ordering::SeqCst);"
            => "self.0.store(word, Ordering::Relaxed);";
        berth_calling_another:
            "word == Awaited::Rank(me).word()" => "word == Awaited::Rank(me + 1).word()";
        berth_rousing_unfenced:
            "fence(Ordering::SeqCst); let word = self.0.load(Ordering::Relaxed); if word"
            => "let word = self.0.load(Ordering::Relaxed);\n        if word";
    }
    "../src/wait/mark.rs" {
        // Not a mistake: the mark is loom's.
        mark_modelled:
            "use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};" => MODELLED,
            "pub(crate) const fn new(" => "pub(crate) fn new(";
        mark_unfenced:
            "use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};" => MODELLED,
            "pub(crate) const fn new(" => "pub(crate) fn new(",
            "was_set || heavy_fence()" => "was_set || true";
        mark_set_late:
            "use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};" => MODELLED,
            "pub(crate) const fn new(" => "pub(crate) fn new(",
            "self.0.store(KEPT, Relaxed); was_set || heavy_fence()"
            => "let is_seen = was_set || heavy_fence();\nself.0.store(KEPT, Relaxed);\nis_seen";
    }
    "../src/shared" {
        shared_joining_blindly:
            "let before = present.swap(run_pass(run), Ordering::Relaxed);"
            => "let before = present.load(Ordering::Relaxed);\n\
                present.store(run_pass(run), Ordering::Relaxed);";
        shared_cancelling_unordered:
            "self.cancel.fetch_max(last, Ordering::AcqRel);"
            => "self.cancel.fetch_max(last, Ordering::Relaxed);";
        shared_reopening_unordered:
            "present.swap(run_pass(run), Ordering::Acquire);"
            => "present.swap(run_pass(run), Ordering::Relaxed);";
        shared_answering_unannounced:
            "if carried != before {" => "if patience.is_over(None) {";
        shared_waiting_for_one:
            "self.each_started(|work| work.awaits(&mut add));" => "_ = &mut add;";
        shared_of_separate_worlds:
            "Some((thread.wait()?.0, thread))"
            => "(thread.waits_in() == self.id).then_some((thread.wait()?.0, thread))";
    }
    "../src/shared/tagged_queue.rs" {
        tagged_queue_withdrawing_blindly:
            "while !ticket.is_done() { patience.pause(); }" => "let _ = &mut patience;";
        tagged_queue_completing_early:
            "unsafe { copy(to, from, bytes) };\n                ticket.complete(envelope);"
            => "ticket.complete(envelope);\n                unsafe { copy(to, from, bytes) };";
        tagged_queue_taking_by_sight:
            "if let Some(receive) = self.take_posted(lists, at) { \
             return Ok(Next::Deliver(receive)); }"
            => "let receive = PostedReceive {\n\
                room: ReceiveRoom { label: receive.room.label, at: receive.room.at },\n\
                ticket: receive.ticket.clone(),\n\
                };\n\
                return Ok(Next::Deliver(receive));";
        tagged_queue_taking_early_blindly: "if lists.list.count() > 0 { return Ok(true); }" => "";
        tagged_queue_not_draining:
            "Some(ring) => self.drain(lists, source, ring)," => "Some(_) => {}";
    }
    "../src/shared/message_ring.rs" {
        message_ring_overrunning:
            "let slots = self.slots.len();" => "let slots = self.slots.len() + 1;";
        message_ring_with_a_room_for_two:
            "let is_free = sender.has_room(ROOMS)" => "let is_free = sender.has_room(2 * ROOMS)";
        message_ring_passing_early:
            "fetch(std::ptr::from_ref(self.slot(before + 1)).cast());" => "self.pass(before);";
        message_ring_passing_what_stays:
            "if result.is_some() {" => "if result.is_some() || before < 9 {";
    }
    "../src/mailbox/card_row.rs" {
        card_row_never_full: "number <= done + N as u64" => "number > done";
        card_row_forgetting_early: "it.number <= done" => "it.number <= done + 1";
        card_row_ending_early: "false => self.end_beyond(number)" => "false => number";
    }
    "../src/shared/started_progress.rs" {
        started_unclaimed:
            "if !part.card(number, rank).claim(number) {"
            => "if part.card(number, rank).is_over(number) {";
        started_not_awaited: "if !is_over && !help(part, number, rank)? {" => "if false {";
        started_not_awaiting_help:
            "!do_claimed(part, number, own)? && !part.card(number, own).is_over(number)"
            => "!do_claimed(part, number, own)? && false";
    }
}

fn main() {
    println!("cargo:rustc-cfg=loom");
    make(MUTANTS);
}
