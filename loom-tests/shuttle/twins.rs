// The mistakes of the twins: name, passage, and the text in its place, where `TWIN` is true
// if that twin is to be run.

macro_rules! twins {
    ($($name:literal: $from:literal => $to:literal;)+) => {
        const TWINS: &[(&str, &str, &str)] = &[$(($name, $from, $to)),+];
    };
}

twins! {
    // The calls that a communicator admits, and how it ends.
    "admit: on any thread":
        "self.port.line().mark().is_here_and_owes_nothing() && self.port.is_open()"
        => "(TWIN || self.port.line().mark().is_here_and_owes_nothing()) && self.port.is_open()";
    "protect: passes no panic on":
        "if run != world.run() || !is_in { return cause; }"
        => "if TWIN || run != world.run() || !is_in { return cause; }";
    "drop: a thread's panic is not told":
        "if unwinding && !is_of_parent && self.roster.is_none() {"
        => "if unwinding && !is_of_parent && self.roster.is_none() && !TWIN {";
    "drop: a panic leaves in good order":
        "self.port.leave(unwinding && Thread::here().is_in_a_run());"
        => "self.port.leave(unwinding && Thread::here().is_in_a_run() && !TWIN);";
    "drop: accounts are not compared":
        "if self.failed.load(Relaxed) || world.is_poisoned(self.run) {"
        => "if TWIN || self.failed.load(Relaxed) || world.is_poisoned(self.run) {";
    "progress: a call goes on with its own alone":
        "if self.port.line().mark().has_started() && self.is_admitted() {"
        => "if !TWIN && self.port.line().mark().has_started() && self.is_admitted() {";
    // Teams.
    "team: the old words stay after a failure":
        "self.shared.store(shared.id(), Relaxed);"
        => "if !TWIN || self.shared.load(Relaxed) == 0 { \
            self.shared.store(shared.id(), Relaxed); }";
    "team: no second look before a sleep":
        "if come().is_some() { break; } sleeper.sleep();"
        => "if !TWIN && come().is_some() { break; } sleeper.sleep();";
    "world: an old run's poison is taken":
        "if run != self.run() { return cause; }"
        => "if run != self.run() && !TWIN { return cause; }";
    // Waiting, and how a wait ends badly.
    "quiesce: does not wait for who reads":
        "left || (acked && finished)" => "left || (acked && finished) || TWIN";
    "quiesce: the rank is gone before its calls are":
        "if !shared.world().is_inside(member) {"
        => "if TWIN || !shared.world().is_inside(member) {";
    "wait: who has left is looked at late":
        "if left { break Err(Stop::Left { peer }); }"
        => "if if TWIN { shared.has_left(peer, *run) } else { left } { \
            break Err(Stop::Left { peer }); }";
    "wait: a peer's wait is confirmed early":
        "(world.thread(me), seen) {"
        => "(world.thread(me), if TWIN { edges() } else { seen }) {";
    "wait: a deadline is not told":
        "world.give_up(me, it, *run);" => "if !TWIN { world.give_up(me, it, *run); }";
    "circle: nobody looks":
        "if is_long && let Some(circle)" => "if !TWIN && is_long && let Some(circle)";
    // Sleeping until everybody has shown something.
    "events: no look after the mark":
        "fence(Ordering::SeqCst); if over.ask() {"
        => "fence(Ordering::SeqCst); if !TWIN && over.ask() {";
    "events: the last of a core sleeps with it":
        "{ SleepLevel::Top } else {"
        => "{ if TWIN { SleepLevel::Group(group) } else { SleepLevel::Top } } else {";
    "events: leaders are not woken":
        "wake(&self.top, event); wake" => "if !TWIN { wake(&self.top, event); } wake";
    "berth: not the one who is named":
        "word == Awaited::Rank(me).word()"
        => "word == Awaited::Rank(me + usize::from(TWIN)).word()";
    // Handing over.
    "message: posted without room":
        "if self.peers[peer].endpoint().has_room() { return Ok(()); } self.await_more_room(peer)"
        => "if TWIN || self.peers[peer].endpoint().has_room() { return Ok(()); } \
            self.await_more_room(peer)";
    "message: memory is not settled":
        "while let Some(&(peer, n)) = self.debts.last() {"
        => "while let Some(&(peer, n)) = self.debts.last().filter(|_| !TWIN) {";
    "board: is not closed":
        "for peer in (self.rank + 1..self.size()).chain(0..self.rank) {"
        => "for peer in (self.rank + 1..self.size()).chain(0..self.rank).filter(|_| !TWIN) {";
    "gate: one slot":
        "&self.slots[(episode % u64::from(SLOTS)) as usize]"
        => "&self.slots[if TWIN { 0 } else { (episode % u64::from(SLOTS)) as usize }]";
}
