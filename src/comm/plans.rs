//! Schedules bound to the lengths of a call, and kept.

use super::perform::Task;
use super::recent::Recent;
use super::{Choice, Comm};
use crate::engine::{Cut, Kernel, Plan, bind_while};
use crate::fabric::Stop;
use crate::schedule::{Algorithm, Hierarchy, Operation, Request, Schedule};
use crate::topology::Extents;
use crate::tuning::{Decision, Rates, best_segments};
use std::sync::Arc;

/// Plans kept per communicator. A program has few shapes of calls; what does
/// not fit is bound anew (microseconds).
pub(super) const KEPT: usize = 64;

/// What a plan depends on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    algorithm: Algorithm,
    operation: Operation,
    parameter: usize,
    vector: bool,
    len: usize,
    size: usize,
    /// Not for the plan's sake: whether the algorithm may serve is checked when
    /// it is bound.
    commutative: bool,
    dims: Option<Extents>,
    segments: Option<usize>,
    levels: Option<Arc<Hierarchy>>,
}

/// Bound schedules, the latest used first looked at.
#[derive(Default)]
pub(super) struct Plans {
    pub(super) kept: Vec<(Key, Plan)>,
    pub(super) latest: usize,
    /// The plan of a call with varied lengths, which is not kept.
    pub(super) odd: Option<Plan>,
    /// Calls that went by a plan in `kept`.
    pub(super) recent: Recent,
    /// What the cost model chose.
    pub(super) chosen: Vec<(Chosen, Algorithm)>,
    /// What the model of the levels chose, by operation, power of two of the bytes, kind of operator.
    pub(super) decided: Vec<((Operation, u32, bool), Option<Decision>)>,
    /// The groups for the call in progress, if its algorithm is hierarchical.
    pub(super) levels: Option<Arc<Hierarchy>>,
}

/// A plan that is still to be made.
pub(super) struct Unbound {
    schedule: Schedule,
    /// None for one that is not kept.
    key: Option<Key>,
}

/// What the cost model's choice depends on.
#[derive(Clone, PartialEq)]
pub(super) struct Chosen {
    pub(super) rates: Rates,
    pub(super) operation: Operation,
    pub(super) parameter: usize,
    pub(super) words: usize,
    pub(super) commutative: bool,
    pub(super) pairs: bool,
}

impl Comm {
    /// The schedule of `algorithm` for the task, or why it cannot serve it.
    pub(super) fn schedule(
        &self,
        task: &Task<'_>,
        algorithm: Algorithm,
    ) -> Result<Schedule, String> {
        let schedule = algorithm
            .schedule(&self.request(task, algorithm))
            .map_err(|unfit| unfit.to_string())?;
        if !task.commutative && !schedule.is_ordered() {
            return Err(format!(
                "{algorithm} does not combine in rank order, which {} needs",
                task.sig.operator
            ));
        }
        if matches!(task.cut, Cut::Pairs { .. }) && forwards(&schedule, self.rank()) {
            return Err(format!(
                "{algorithm} forwards blocks, whose lengths a rank on the way does not know"
            ));
        }
        Ok(schedule)
    }

    pub(super) fn request(&self, task: &Task<'_>, algorithm: Algorithm) -> Request {
        let mut request =
            Request::new(task.operation, self.size()).root(task.root).shift(task.shift as isize);
        if let Some(dims) = self.dims() {
            request = request.dims(dims.clone());
        }
        if let Some(segments) = self.segments(task, algorithm) {
            request = request.segments(segments);
        }
        if let Some(levels) = self.levels(algorithm) {
            request = request.levels(Hierarchy::clone(&levels));
        }
        request
    }

    /// The groups for a hierarchical algorithm: those of the choice, else the machine's.
    pub(super) fn levels(&self, algorithm: Algorithm) -> Option<Arc<Hierarchy>> {
        if !algorithm.uses_levels() {
            return None;
        }
        match (&self.choice, &self.usual) {
            (Choice::Levels(_) | Choice::Groups(_), _) => self.plans.levels.clone(),
            (_, Choice::Levels(model)) => Some(Arc::new(model.hierarchy().clone())),
            _ => None,
        }
    }

    /// The segments of a pipelined chain that the cost model has chosen.
    pub(super) fn segments(&self, task: &Task<'_>, algorithm: Algorithm) -> Option<usize> {
        let Choice::Model(rates) = self.choice else { return None };
        let is_chain = matches!(algorithm, Algorithm::BC_CHAIN | Algorithm::RED_CHAIN);
        is_chain.then(|| best_segments(self.size(), self.words(task) as f64, rates.t_s, rates.t_w))
    }

    /// The m of the cost model: elements of the vector, or of a block.
    pub(super) fn words(&self, task: &Task<'_>) -> usize {
        match task.cut {
            Cut::Vector(n) | Cut::Equal(n) => n,
            Cut::Varied(_) => task.len.div_ceil(self.size()),
            Cut::Pairs { send, .. } => send.iter().sum::<usize>().div_ceil(self.size()),
        }
    }

    /// Makes `plans.latest` the plan for the task, if there is one; else returns what is to
    /// be [bound](Comm::bind) when the call is on record.
    #[inline(always)]
    pub(super) fn prepare(
        &mut self,
        task: &Task<'_>,
        algorithm: Algorithm,
        kernel: &Kernel<'_>,
    ) -> Result<Option<Unbound>, String> {
        let (vector, len) = match task.cut {
            Cut::Vector(n) => (true, n),
            Cut::Equal(n) => (false, n),
            Cut::Varied(_) | Cut::Pairs { .. } => return self.unbound(None, task, algorithm),
        };
        self.plans.odd = None;
        let dims = self.dims().cloned();
        let segments = self.segments(task, algorithm);
        let levels = self.levels(algorithm);
        let fits = |key: &Key| {
            key.algorithm == algorithm
                && key.len == len
                && key.parameter == task.parameter()
                && key.size == kernel.size()
                && key.operation == task.operation
                && key.vector == vector
                && key.commutative == task.commutative
                && key.dims == dims
                && key.segments == segments
                && key.levels == levels
        };
        let plans = &mut self.plans;
        if plans.kept.get(plans.latest).is_some_and(|(key, _)| fits(key)) {
            return Ok(None);
        }
        if let Some(i) = plans.kept.iter().position(|(key, _)| fits(key)) {
            plans.latest = i;
            return Ok(None);
        }
        let key = Key {
            algorithm,
            operation: task.operation,
            parameter: task.parameter(),
            vector,
            len,
            size: kernel.size(),
            commutative: task.commutative,
            dims,
            segments,
            levels,
        };
        self.unbound(Some(key), task, algorithm)
    }

    #[cold]
    fn unbound(
        &mut self,
        key: Option<Key>,
        task: &Task<'_>,
        algorithm: Algorithm,
    ) -> Result<Option<Unbound>, String> {
        let schedule = self.schedule(task, algorithm)?;
        Ok(Some(Unbound { schedule, key }))
    }

    /// Makes the plan of the call in progress, which is on record: of many blocks
    /// that takes a while.
    #[cold]
    pub(super) fn bind(
        &mut self,
        Unbound { schedule, key }: Unbound,
        task: &Task<'_>,
        kernel: &Kernel<'_>,
    ) -> Result<(), Stop> {
        let (rank, size) = (self.rank(), kernel.size());
        let plan =
            self.port.preparing(|go_on| bind_while(&schedule, rank, task.cut, size, go_on))?;
        let plans = &mut self.plans;
        match key {
            None => plans.odd = Some(plan),
            Some(key) if plans.kept.len() < KEPT => {
                plans.kept.push((key, plan));
                plans.latest = plans.kept.len() - 1;
            }
            Some(key) => {
                plans.recent = Recent::default();
                plans.latest = (plans.latest + 1) % KEPT;
                plans.kept[plans.latest] = (key, plan);
            }
        }
        Ok(())
    }
}

/// Whether `rank` sends blocks of an all-to-all that are not its own.
fn forwards(schedule: &Schedule, rank: usize) -> bool {
    let p = schedule.contract().ranks;
    (0..schedule.steps()).any(|k| {
        let step = schedule.step(k, rank);
        step.sends.iter().flat_map(|s| &s.blocks).any(|run| run.range().any(|b| b / p != rank))
    })
}

#[cfg(test)]
mod tests {
    use crate::comm::Comm;
    use crate::{Doing, Error, Team, op};
    use std::time::Duration;

    /// As a call does whose plan takes for ever.
    fn prepare_for_ever(comm: &mut Comm) {
        let prepared = comm.port.preparing(|go_on| {
            while go_on() {
                std::thread::yield_now();
            }
            None::<()>
        });
        comm.stop(prepared.unwrap_err());
    }

    #[test]
    fn a_long_preparation_hears_of_a_deadline_and_is_in_the_report() {
        let limit = Duration::from_millis(100);
        for p in [1, 3] {
            let team = Team::builder().ranks(p).deadline(limit).build().unwrap();
            let error = team
                .run(|comm| {
                    comm.all_reduce(&mut [1], op::Sum);
                    prepare_for_ever(comm);
                })
                .unwrap_err();
            let text = error.to_string();
            let Error::Deadline { rank, peer, ranks, .. } = error else { panic!("{text}") };
            assert_eq!(rank, peer, "{text}");
            assert_eq!(ranks[rank].doing, Doing::Prepares);
            assert!(text.contains("has prepared the plan of a call for 100ms"), "{text}");
            assert!(text.contains("prepares the plan of its latest call; latest calls"), "{text}");
        }
        // A rank that waits for one that prepares.
        let team = Team::builder().ranks(2).deadline(limit).build().unwrap();
        let error = team
            .run(|comm| match comm.rank() {
                0 => comm.barrier(),
                _ => {
                    std::thread::sleep(limit / 2);
                    prepare_for_ever(comm);
                }
            })
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Deadline { rank: 0, peer: 1, .. }), "{text}");
        assert!(text.contains("rank 1 prepares the plan of its latest call"), "{text}");
    }

    #[test]
    fn a_long_preparation_hears_that_the_run_is_over() {
        let team = Team::builder().ranks(2).build().unwrap();
        let error = team
            .run(|comm| match comm.rank() {
                0 => prepare_for_ever(comm),
                _ => panic!("over"),
            })
            .unwrap_err();
        assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
        team.run(|comm| comm.barrier()).unwrap();
    }
}
