//! A step with too many messages to store, such as one between all pairs. Ranks send in rank order:
//! when rank r takes its messages, a sender has posted its messages to all ranks below r. A second
//! clock for each sender advances with the receivers and yields the time at which each message was
//! posted. The sums equal those of the stored messages, in the same order, to the last bit.

use super::effects::Effect;
use super::messages::{CallSetup, Message, UplinkFlows};
use super::run::Simulation;
use super::step_clocks::{EndCosts, MOST, RankClocks};
use phalanx::schedule::StepTraffic;

/// The number of messages, if every rank sends in the order of ranks; an estimate, if it is more
/// than is simulated.
pub(super) fn count(s: &Simulation, setup: &CallSetup<'_>, step: usize) -> Option<usize> {
    let (mut peers, mut all) = (StepTraffic::default(), 0);
    for rank in 0..s.ranks() {
        setup.schedule.peers(step, rank, &mut peers);
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

impl RankClocks {
    /// Carries out a step, without an end.
    pub(super) fn wide(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        step: usize,
    ) {
        let p = s.ranks();
        let mut peers = StepTraffic::default();
        let mut posting = self.now.clone();
        let (mut sends, mut takes) = (vec![0u32; p], vec![0u32; p]);
        for (from, all) in sends.iter_mut().enumerate() {
            setup.schedule.peers(step, from, &mut peers);
            let n = peers.sends.len();
            *all = n as u32;
            for (i, &(to, blocks)) in peers.sends.iter().enumerate() {
                let l = setup.message(s, step, (from, to), (i, n), blocks);
                let posted = ends.post(&mut self.now[from], &l);
                if ends.turns {
                    self.sent[from] = self.sent[from].max(posted + ends.transfers * l.hand_off);
                }
                takes[to] += u32::from(ends.heavy(&l));
            }
        }
        let mut rates = takes.iter().any(|&n| n > 0).then(|| {
            let mut flows = UplinkFlows::new(s, setup.from_memory, takes);
            if s.effects.has(Effect::Saturation) {
                for from in 0..p {
                    setup.schedule.peers(step, from, &mut peers);
                    for &(to, blocks) in &peers.sends {
                        let l = setup.message(s, step, (from, to), (0, 1), blocks);
                        if ends.heavy(&l) {
                            flows.pass(&l);
                        }
                    }
                }
            }
            StreamRates::new(s, flows)
        });
        let mut gone = vec![0usize; p];
        for to in 0..p {
            setup.schedule.peers(step, to, &mut peers);
            for &(from, blocks) in &peers.recvs {
                let at = (gone[from], sends[from] as usize);
                gone[from] += 1;
                let mut l = setup.message(s, step, (from, to), at, blocks);
                let posted = ends.post(&mut posting[from], &l);
                if let Some(rates) = &mut rates {
                    l.rate = rates.of(s, &l);
                }
                self.take(ends, s, &l, posted, (sends[to], sends[from]));
            }
        }
    }
}

/// The rates between groups of cores, as far as they have been asked for.
struct StreamRates<'a> {
    flows: UplinkFlows<'a>,
    groups: usize,
    /// By the two ends' groups; NaN: not yet. Empty where there would be too many.
    known: Vec<f64>,
}

/// Groups up to which a rate is kept for each pair.
const MOST_GROUPS: usize = 2048;

impl<'a> StreamRates<'a> {
    fn new(s: &Simulation, flows: UplinkFlows<'a>) -> Self {
        let groups = s.layout.uplinks();
        let pairs = if groups > MOST_GROUPS { 0 } else { groups * groups };
        StreamRates { flows, groups, known: vec![f64::NAN; pairs] }
    }

    fn of(&mut self, s: &Simulation, l: &Message) -> f64 {
        let (from, to) = (l.from as usize, l.to as usize);
        let pair = s.layout.group(from) * self.groups + s.layout.group(to);
        // Threads of one core are nearer than their group.
        match self.known.get_mut(pair).filter(|_| !s.layout.same_core(from, to)) {
            Some(known) if !known.is_nan() => *known,
            Some(known) => {
                *known = self.flows.rate(l);
                *known
            }
            None => self.flows.rate(l),
        }
    }
}
