//! This library's own calls on such a node: the schedule that it chooses there, or any other of its
//! catalogue, by the same clocks as the published libraries.

use super::by_messages::{self, Transport};
use super::clocks::PhaseClocks;
use super::node::{Call, Node};
use crate::shapes;
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Algorithm, Hierarchy, Mode, Operation, Request};
use phalanx::tuning::{LevelModel, MachineCosts, Profile, Transport as Own, Tuning};

/// Bytes up to which a message is in the line of its flag, or in the line beside it.
const INLINE: f64 = 104.0;
/// Bytes up to which a message is copied; longer ones are read in their sender's memory.
const EAGER: f64 = 1024.0;

/// This library with so many ranks on a published node, one a core, side by side.
///
/// # Examples
/// ```
/// use phalanx_model::published::machines;
/// use phalanx::schedule::Operation;
/// let [epyc, _] = machines();
/// let calls = epyc.own_calls(128).expect("it has 128 cores");
/// let (algorithm, request) = calls.chosen(Operation::AllReduce, 8);
/// let messages = calls.messages(algorithm, &request).expect("a choice has a schedule");
/// assert!((0.5..10.0).contains(&calls.us(&messages, 8.0)));
/// ```
#[derive(Debug)]
pub struct OwnCalls<'a> {
    node: &'a Node,
    ranks: usize,
    levels: Option<LevelModel>,
    rules: Profile,
}

/// The messages of a schedule, step by step.
#[derive(Debug)]
pub struct OwnMessages {
    steps: Vec<Vec<OwnMessage>>,
    /// The parts of the vector.
    split: f64,
    /// By direct access.
    is_direct: bool,
}

/// `blocks` of the vector's parts from one rank to another.
#[derive(Clone, Copy, Debug)]
struct OwnMessage {
    from: usize,
    to: usize,
    blocks: usize,
    adds: bool,
}

impl<'a> OwnCalls<'a> {
    /// None where the machine cannot be described to the library.
    pub(super) fn new(node: &'a Node, shape: &str, ranks: usize) -> Option<Self> {
        let machine = Machine::from_synthetic(shape).ok()?;
        let places = assign(&Placement::Compact, &machine, ranks).ok()?;
        let (costs, _) = MachineCosts::nearest(&machine);
        let levels = LevelModel::new(&machine, &places, costs).ok()?;
        let rules = Profile::default().with_tuning(ranks, Tuning::of(&machine, ranks)).ok()?;
        Some(OwnCalls { node, ranks, levels, rules })
    }

    /// The algorithm that a team takes where nothing is forced, and its request.
    pub fn chosen(&self, operation: Operation, bytes: usize) -> (Algorithm, Request) {
        let request = Request::new(operation, self.ranks);
        let choice = self.levels.as_ref().and_then(|l| l.choose(operation, bytes, true));
        match choice {
            Some(choice) => (choice.algorithm, request.levels(Hierarchy::clone(&choice.levels))),
            None => (self.rules.algorithm(operation, self.ranks, bytes), request),
        }
    }

    /// All algorithms of an operation, those over groups in some shapes of the machine's.
    pub fn catalogue(&self, operation: Operation) -> Vec<(Algorithm, Request)> {
        let request = Request::new(operation, self.ranks);
        let over = |algorithm: Algorithm| match algorithm.uses_levels() {
            true => {
                let groups = self.levels.iter().flat_map(|model| shapes(model.hierarchy()));
                groups.map(|levels| request.clone().levels(levels)).collect()
            }
            false => vec![request.clone()],
        };
        let all = Algorithm::for_operation(operation);
        all.flat_map(|algorithm| over(algorithm).into_iter().map(move |r| (algorithm, r))).collect()
    }

    /// The messages of an algorithm; None where it has no schedule for the request.
    pub fn messages(&self, algorithm: Algorithm, request: &Request) -> Option<OwnMessages> {
        let schedule = algorithm.schedule(request).ok()?;
        let steps = (0..schedule.steps()).map(|step| {
            let mut all = Vec::new();
            for to in 0..self.ranks {
                for part in schedule.step(step, to).recvs {
                    let blocks = part.blocks.iter().map(|b| b.count).sum();
                    let (from, adds) = (part.from, !matches!(part.mode, Mode::Store));
                    if from != to {
                        all.push(OwnMessage { from, to, blocks, adds });
                    }
                }
            }
            all
        });
        Some(OwnMessages {
            steps: steps.collect(),
            split: schedule.contract().split.max(1) as f64,
            is_direct: algorithm.is_direct(),
        })
    }

    /// The microseconds of a call of `bytes`: the mean over the ranks.
    pub fn us(&self, messages: &OwnMessages, bytes: f64) -> f64 {
        let call = &Call { node: self.node, p: self.ranks, spread: false, bytes };
        let mut clocks = PhaseClocks::new(call, 2.0 * bytes);
        let part = |m: &OwnMessage| m.blocks as f64 * bytes / messages.split;
        if messages.is_direct {
            self.by_access(&mut clocks, messages, part);
        } else {
            // A rank ends its call when it has heard that the memory that it lends has been read.
            let mut returned = vec![0.0; self.ranks];
            for step in &messages.steps {
                Self::by_messages(&mut clocks, step, part);
                for m in step.iter().filter(|m| part(m) > EAGER) {
                    let heard = clocks.at[m.to] + 2.0 * clocks.hand_off(m.from, m.to);
                    returned[m.from] = heard.max(returned[m.from]);
                }
            }
            clocks.at.iter_mut().zip(returned).for_each(|(at, heard)| *at = at.max(heard));
        }
        clocks.mean_us()
    }

    /// A step of messages: each flag is in its receiver's memory.
    fn by_messages(
        clocks: &mut PhaseClocks<'_>,
        step: &[OwnMessage],
        part: impl Fn(&OwnMessage) -> f64,
    ) {
        let software = Own::PHALANX;
        let copied = Transport {
            message_ns: software.send_ns + software.receive_ns,
            exchange: 1.0,
            hand_offs: 0.0,
            copied: true,
            buffers: 2.0,
            cells: 0.0,
            long: (f64::INFINITY, 0.0),
        };
        for m in step {
            let bytes = part(m);
            if (INLINE..=EAGER).contains(&bytes) {
                by_messages::message(clocks, m.from, m.to, bytes, &copied, false);
                continue;
            }
            clocks.work(m.from, software.send_ns);
            clocks.wait_at(m.to, m.from, m.to);
            clocks.work(m.to, software.receive_ns);
            if bytes > EAGER {
                clocks.read(m.to, m.from, bytes);
            }
            match m.adds {
                true => clocks.again(m.to, bytes, true),
                false => clocks.own_write(m.to, bytes),
            }
        }
        clocks.run();
    }

    /// Direct access: all show their boards, which lie side by side; in the first step the
    /// receivers read, later the senders store; then all wait for all.
    fn by_access(
        &self,
        clocks: &mut PhaseClocks<'_>,
        messages: &OwnMessages,
        part: impl Fn(&OwnMessage) -> f64,
    ) {
        let meet = |clocks: &mut PhaseClocks<'_>| {
            for rank in 0..self.ranks {
                (0..self.ranks).filter(|r| *r != rank).for_each(|other| clocks.wait(rank, other));
            }
        };
        for (at, step) in messages.steps.iter().enumerate() {
            if at == 0 {
                meet(clocks);
            }
            for m in step {
                let bytes = part(m);
                match (at, m.adds) {
                    (0, adds) => {
                        clocks.read(m.to, m.from, bytes);
                        clocks.again(m.to, bytes, adds);
                    }
                    _ => clocks.write(m.from, m.to, bytes),
                }
            }
            clocks.run();
        }
        meet(clocks);
        clocks.run();
    }
}
