//! Collectives as data: for each rank the steps of an algorithm, as pure
//! functions of the operation, the topology, the number of ranks and the root.
//!
//! A schedule speaks of *blocks* (see [`Contract`]), never of memory and never
//! of threads. The room `exec` walks a rank's steps over the mailboxes; `trace` and `check` walk
//! the same steps on paper.

mod all_port;
mod all_reduce;
mod all_to_all;
mod broadcast;
mod catalogue;
mod check;
mod contract;
mod doubling;
mod explicit;
mod explicit_schedule;
mod forced_topology;
mod fused;
mod gather;
mod grid;
mod hierarchical;
mod hierarchy;
mod line_tree;
mod operation;
mod port_load;
mod request;
mod rule_parts;
mod scan;
mod scan_blocks;
mod scatter;
mod shift;
mod split_levels;
mod step;
mod step_traffic;
mod table;
mod trace;

#[cfg(test)]
mod tests;

pub(crate) use catalogue::Builders;
pub use catalogue::{Algorithm, UnknownAlgorithm};
pub use check::{CheckReport, Violation, cases, check};
pub use contract::Contract;
pub use explicit::Round;
pub use forced_topology::Topology;
pub use hierarchy::{BadHierarchy, Exchange, Hierarchy};
pub use operation::{Operation, Share, UnknownOperation};
pub use port_load::Load;
pub use request::{MOST_RANKS, MOST_SEGMENTS, Request, Unfit};
pub use scan_blocks::{OFFSET, RESULT, TOTAL};
pub use step::{BlockRange, Incoming, Mode, Outgoing, Step};
pub use step_traffic::StepTraffic;
pub use trace::{Message, Words, trace};

pub(crate) use doubling::{Doubling, disseminate, rounds};
pub(crate) use line_tree::TreeKind;
pub(crate) use step::{Chain, Reversed, Rule, blocks};

use std::fmt;

/// The steps of one algorithm for one call: who sends which blocks to whom.
pub struct Schedule {
    id: &'static str,
    contract: Contract,
    ordered: bool,
    ports: usize,
    rule: Box<dyn Rule>,
}

impl Schedule {
    pub(crate) fn new(
        id: &'static str,
        contract: Contract,
        ordered: bool,
        rule: Box<dyn Rule>,
    ) -> Self {
        Schedule { id, contract, ordered, ports: 1, rule }
    }

    /// Declares that a rank may have `ports` messages under way in each
    /// direction in one step.
    pub(crate) fn with_ports(mut self, ports: usize) -> Self {
        self.ports = ports;
        self
    }

    /// The algorithm's id in the catalogue, such as `AG-RING`.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// What the block numbers mean.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Whether operands are combined in rank order, which an operator that is
    /// not commutative needs.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// How many messages a rank may send, and receive, in one step.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.rule.steps()
    }

    /// What `rank` does in step `step`, counted from 0.
    pub fn step(&self, step: usize, rank: usize) -> Step {
        self.rule.step(step, rank)
    }

    /// Puts the rank's messages of a step into `out`, without the numbers of their blocks: quicker
    /// than [`step`](Schedule::step), for counts over many messages.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, StepTraffic, Request};
    /// let schedule = Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// let mut peers = StepTraffic::default();
    /// // The last step exchanges four blocks over dimension 2.
    /// schedule.peers(2, 1, &mut peers);
    /// assert_eq!((&peers.sends[..], &peers.recvs[..]), (&[(5, 4)][..], &[(5, 4)][..]));
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        out.clear();
        self.rule.peers(step, rank, out);
    }

    /// Whether every rank is known to have the same [`peers`](Schedule::peers) as in the step
    /// before. (A `false` promises nothing.)
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// let ring = Algorithm::AG_RING.schedule(&Request::new(Operation::AllGather, 8))?;
    /// assert!(!ring.repeats(0) && ring.repeats(1));
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn repeats(&self, step: usize) -> bool {
        self.rule.repeats(step)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("id", &self.id)
            .field("contract", &self.contract)
            .field("steps", &self.steps())
            .finish_non_exhaustive()
    }
}
