//! What a rank does in a wait that lasts: it looks for a circle of waits, which ends the team; any
//! other one is told, once, on the standard error.

use crate::circle::{ALONE, DRAINS, circle, rank_of, state_of};
use crate::error::{Error, ErrorKind};
use crate::layout::{MAX_RANKS, STALL};
use crate::stall::{LongWait, VARIABLE, is_alone, say};
use crate::sync::{AtomicU64, Ordering};
use crate::team::{Begun, Team};

impl Team {
    fn place_of(&self, member: usize) -> u64 {
        (self.area * MAX_RANKS + member) as u64
    }

    fn own_place(&self) -> u64 {
        self.place_of(self.me)
    }

    /// The rank says that it waits, if it has not yet; `drains`: it takes messages meanwhile.
    pub(crate) fn say_that_it_waits(&self, call: &Begun, wait: &mut LongWait, drains: bool) {
        if wait.state != 0 {
            return;
        }
        let (shared, place, peer) = (&*self.shared, self.own_place(), self.members[wait.member]);
        let (seat, alone) = (shared.seat(shared.rank), is_alone());
        seat.set_wait(call.head.site() as u32, peer);
        let number = shared.waits.fetch_add(1, Ordering::Relaxed) + 1;
        let flags = if drains { DRAINS } else { 0 } | if alone { ALONE } else { 0 };
        wait.state = state_of(number, shared.rank, flags);
        if let Some(waiting) = shared.waiting(place) {
            waiting.begin(wait.state, (call.head.site() as u64) << 32 | peer as u64);
        }
        seat.set_alone(alone.then_some(place));
    }

    /// It waits no more.
    pub(crate) fn end_long_wait(&self, wait: &LongWait) {
        if wait.state == 0 {
            return;
        }
        let seat = self.shared.seat(self.shared.rank);
        seat.set_alone(None);
        seat.end_wait();
        if let Some(waiting) = self.shared.waiting(self.own_place()) {
            waiting.end();
        }
    }

    /// That no rank of a circle can go on, if this rank's wait is in one; `ready` ends its wait.
    pub(crate) fn find_circle(
        &self,
        wait: &LongWait,
        ready: &mut dyn FnMut() -> bool,
    ) -> Option<Error> {
        let (shared, peer) = (&*self.shared, self.members[wait.member]);
        let state_at = |place| shared.waiting(place).map_or(0, |it| it.state());
        let (mine, there) = ((self.own_place(), wait.state), self.place_of(wait.member));
        let mut other = (there, state_at(there));
        if wait.state & other.1 & DRAINS != 0 {
            // It takes what this rank sends.
            return None;
        }
        if other.1 == 0 {
            // Its only thread may wait in another communicator.
            let place = shared.seat(peer).alone()?;
            other = (place, state_at(place));
            if other.1 & ALONE == 0 {
                return None;
            }
        }
        let is_confirmed =
            rank_of(other.1) == peer && shared.waiting(mine.0)?.confirm(other, ready);
        let all = circle(mine, shared.layout.ranks, |at| shared.waiting(at));
        let all = all.filter(|_| is_confirmed)?;
        let told = |(place, state): (u64, u64)| {
            let what = shared.waiting(place).map_or(0, |it| it.what());
            // (Of a segment that is spoilt the rank may be none.)
            let rank = rank_of(state).min(shared.layout.ranks - 1);
            let call = shared.site(rank, (what >> 32) as usize).brief();
            format!("{} waits for rank {} in {call}", shared.told(rank), what as u32)
        };
        let mut all: Vec<_> = all.into_iter().collect();
        // All that find it begin with the same rank.
        let first = (0..all.len()).min_by_key(|i| rank_of(all[*i].1)).unwrap_or(0);
        all.rotate_left(first);
        let all: Vec<String> = all.into_iter().map(told).collect();
        let text = format!("ranks wait for each other in a circle: {}", all.join("; "));
        Some(Error::new(ErrorKind::Deadlock, text))
    }

    /// Says, once in a team, that a wait has lasted as long as a stall.
    pub(crate) fn tell_of_stall(&self, wait: &LongWait) {
        let shared = &*self.shared;
        let Some(after) = shared.stall.filter(|after| wait.patience.spent() >= *after) else {
            return;
        };
        let at = shared.layout.area(0) + STALL;
        // SAFETY: inside of the mapping, aligned; an atomic.
        let said: &AtomicU64 = unsafe { &*shared.mapping.at(at, 8).cast() };
        if said.load(Ordering::Relaxed) != 0 || said.fetch_add(1, Ordering::Relaxed) != 0 {
            return;
        }
        let peer = self.members[wait.member];
        let mut text =
            format!("rank {} has waited {after:?} for rank {peer}, and waits on:", shared.rank);
        for (member, rank) in self.members.iter().enumerate() {
            text += &format!("\n  {}: {}", shared.told(*rank), self.whereabouts(member));
        }
        say(&format!(
            "{text}\n  This is said once in a team, after the seconds of {VARIABLE} (0 is never). \
             The team's timeout ends such a wait with an error."
        ));
    }
}
