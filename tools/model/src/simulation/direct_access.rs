//! Direct access as the library has it: steps in which ranks store to others' memory, and the end
//! of a call.
//!
//! The schedule of such a call says which blocks go from which rank to which. The rank that moves
//! them is said here: in the first step the receivers read, later the senders store (of a gather at
//! once, when they have seen the root's notice). A call ends when the ranks with accessed memory
//! know that all have finished: the root of a scatter or gather, else everybody.

use super::effects::Effect;
use super::messages::{CallSetup, UplinkFlows};
use super::run::Simulation;
use super::step_clocks::{EndCosts, RankClocks};
use phalanx::schedule::{Operation, StepTraffic};

impl CallSetup<'_> {
    /// Whether the senders of a step store to the receivers' memory.
    pub(super) fn stores(&self, s: &Simulation, step: usize) -> bool {
        let at_once = self.schedule.contract().operation == Operation::Gather;
        self.boards && s.effects.has(Effect::DirectAccess) && (step > 0 || at_once)
    }

    /// Whether ranks show addresses in a step that its messages do not bring: of a broadcast, all
    /// but the root.
    pub(super) fn shows_more(&self, s: &Simulation, step: usize) -> bool {
        let is_broadcast = self.schedule.contract().operation == Operation::Broadcast;
        self.boards && s.effects.has(Effect::DirectAccess) && step == 0 && is_broadcast
    }

    /// The rank that alone shows its memory, if not all do.
    fn shows_alone(&self) -> Option<usize> {
        let contract = self.schedule.contract();
        let alone = matches!(contract.operation, Operation::Scatter | Operation::Gather);
        alone.then_some(contract.root)
    }
}

impl RankClocks {
    /// A step of stores, and the number of its messages.
    pub(super) fn store(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        step: usize,
    ) -> usize {
        let p = s.ranks();
        if step == 0
            && let Some(root) = setup.shows_alone()
        {
            self.show(s, setup, ends, root, |_| true);
        }
        let mut peers = StepTraffic::default();
        let mut stores = vec![0u32; p];
        let mut all = 0;
        for (from, own) in stores.iter_mut().enumerate() {
            setup.schedule.peers(step, from, &mut peers);
            all += peers.sends.len();
            *own = peers.sends.len() as u32;
        }
        let mut flows = UplinkFlows::new(s, setup.from_memory, stores).of_stores();
        for from in 0..p {
            setup.schedule.peers(step, from, &mut peers);
            for &(to, blocks) in &peers.sends {
                flows.pass(&setup.message(s, step, (from, to), (0, 1), blocks));
            }
        }
        for from in 0..p {
            let mut longest: f64 = 0.0;
            setup.schedule.peers(step, from, &mut peers);
            for &(to, blocks) in &peers.sends {
                let l = setup.message(s, step, (from, to), (0, 1), blocks);
                self.messages[l.class as usize] += 1;
                let body = l.bytes / flows.rate(&l);
                if ends.occupied {
                    self.now[from] += body;
                } else {
                    longest = longest.max(body);
                }
            }
            self.now[from] += longest;
        }
        all
    }

    /// All but the root show their memory, at the given times.
    pub(super) fn show_more(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        began: &[f64],
    ) {
        let root = setup.schedule.contract().root;
        for from in (0..s.ranks()).filter(|&rank| rank != root) {
            self.show_from(s, setup, ends, (from, began[from]), |_| true);
        }
    }

    /// The end of a call: a rank that has shown memory waits until all have finished.
    pub(super) fn close(&mut self, s: &Simulation, setup: &CallSetup<'_>, ends: &EndCosts) {
        if !setup.boards || !s.effects.has(Effect::DirectAccess) || setup.schedule.steps() == 0 {
            return;
        }
        self.pulled.copy_from_slice(&self.now);
        match setup.shows_alone() {
            Some(root) => (0..s.ranks())
                .filter(|&rank| rank != root)
                .for_each(|rank| self.show(s, setup, ends, rank, |to| to == root)),
            None => {
                let began = self.now.clone();
                for shown in began.into_iter().enumerate() {
                    self.show_from(s, setup, ends, shown, |_| true);
                }
            }
        }
    }

    /// A rank writes a line that some of the others look at.
    fn show(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        from: usize,
        looks: impl Fn(usize) -> bool,
    ) {
        self.show_from(s, setup, ends, (from, self.now[from]), looks);
    }

    /// The same at a time.
    fn show_from(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        (from, at): (usize, f64),
        looks: impl Fn(usize) -> bool,
    ) {
        let p = s.ranks();
        let readers = (0..p).filter(|&to| to != from && looks(to)).count();
        self.seen.forget(from);
        let mut posted = at;
        for (i, to) in (from + 1..p).chain(0..from).filter(|&to| looks(to)).enumerate() {
            let l = setup.message(s, 0, (from, to), (i, readers), 0);
            if i == 0 {
                posted = ends.post(&mut { at }, &l);
                self.now[from] = self.now[from].max(posted);
            }
            self.take(ends, s, &l, posted, (0, readers as u32));
        }
    }
}
