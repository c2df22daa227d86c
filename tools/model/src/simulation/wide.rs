//! A step of so many messages that they are not kept: everybody with everybody. Who sends in the
//! order of ranks has posted, when rank r takes its letters, what goes to the ranks below r; so a
//! second clock for each sender, that goes along with the receivers, says when each letter was
//! posted. The sums are those of the kept letters, in the same order, to the last bit.

use super::clocks::{Hands, MOST, Pace};
use super::effects::Effect;
use super::letters::{Course, Doors, Letter};
use super::run::Simulation;
use phalanx::schedule::Peers;

/// The number of messages, if every rank sends in the order of ranks; an estimate, if it is more
/// than is simulated.
pub(super) fn count(s: &Simulation, course: &Course<'_>, step: usize) -> Option<usize> {
    let (mut peers, mut all) = (Peers::default(), 0);
    for rank in 0..s.ranks() {
        course.schedule.peers(step, rank, &mut peers);
        if !peers.sends.is_sorted_by(|a, b| a.0 < b.0) {
            return None;
        }
        all += peers.sends.len();
        if all > MOST {
            // All ranks like those so far.
            return Some(all / (rank + 1) * s.ranks());
        }
    }
    Some(all)
}

impl Hands {
    /// Carries out a step, without an end.
    pub(super) fn wide(&mut self, s: &Simulation, course: &Course<'_>, pace: &Pace, step: usize) {
        let p = s.ranks();
        let mut peers = Peers::default();
        let mut posting = self.now.clone();
        let (mut sends, mut takes) = (vec![0u32; p], vec![0u32; p]);
        for (from, all) in sends.iter_mut().enumerate() {
            course.schedule.peers(step, from, &mut peers);
            let n = peers.sends.len();
            *all = n as u32;
            for (i, &(to, blocks)) in peers.sends.iter().enumerate() {
                let l = course.letter(s, step, (from, to), (i, n), blocks);
                let posted = pace.post(&mut self.now[from], &l);
                if pace.turns {
                    self.sent[from] = self.sent[from].max(posted + pace.transfers * l.hand_off);
                }
                takes[to] += u32::from(pace.heavy(&l));
            }
        }
        let mut rates = takes.iter().any(|&n| n > 0).then(|| {
            let mut doors = Doors::new(s, course.from_memory, takes);
            if s.effects.has(Effect::Saturation) {
                for from in 0..p {
                    course.schedule.peers(step, from, &mut peers);
                    for &(to, blocks) in &peers.sends {
                        let l = course.letter(s, step, (from, to), (0, 1), blocks);
                        if pace.heavy(&l) {
                            doors.pass(&l);
                        }
                    }
                }
            }
            Rates::new(s, doors)
        });
        let mut gone = vec![0usize; p];
        for to in 0..p {
            course.schedule.peers(step, to, &mut peers);
            for &(from, blocks) in &peers.recvs {
                let at = (gone[from], sends[from] as usize);
                gone[from] += 1;
                let mut l = course.letter(s, step, (from, to), at, blocks);
                let posted = pace.post(&mut posting[from], &l);
                if let Some(rates) = &mut rates {
                    l.rate = rates.of(s, &l);
                }
                self.take(pace, s, &l, posted, (sends[to], sends[from]));
            }
        }
    }
}

/// The rates between groups of cores, as far as they have been asked for.
struct Rates<'a> {
    doors: Doors<'a>,
    groups: usize,
    /// By the two ends' groups; NaN: not yet. Empty where there would be too many.
    known: Vec<f64>,
}

/// Groups up to which a rate is kept for each pair.
const MOST_GROUPS: usize = 2048;

impl<'a> Rates<'a> {
    fn new(s: &Simulation, doors: Doors<'a>) -> Self {
        let groups = s.layout.doors();
        let pairs = if groups > MOST_GROUPS { 0 } else { groups * groups };
        Rates { doors, groups, known: vec![f64::NAN; pairs] }
    }

    fn of(&mut self, s: &Simulation, l: &Letter) -> f64 {
        let (from, to) = (l.from as usize, l.to as usize);
        let pair = s.layout.group(from) * self.groups + s.layout.group(to);
        // Threads of one core are nearer than their group.
        match self.known.get_mut(pair).filter(|_| !s.layout.same_core(from, to)) {
            Some(known) if !known.is_nan() => *known,
            Some(known) => {
                *known = self.doors.rate(l);
                *known
            }
            None => self.doors.rate(l),
        }
    }
}
