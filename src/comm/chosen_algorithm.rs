//! Which algorithm carries a call out: by rules, by the levels of the machine, or
//! forced; and its schedule.

use super::{Choice, Comm};
use crate::exec::{Call, Partition};
use crate::schedule;
use crate::schedule::{Algorithm, Hierarchy, Request, Schedule};
use crate::sync::Arc;
use crate::topology::Extents;
use crate::tuning::rules::auto;
use crate::tuning::{LevelModel, rules};

impl Comm {
    /// The extents that the choice prescribes.
    pub(super) fn dims(&self) -> Option<&Extents> {
        self.choice.dims()
    }

    /// The algorithm for a call of `bytes` bytes.
    #[inline(always)]
    pub(super) fn algorithm(&mut self, call: &Call<'_>, bytes: usize) -> Algorithm {
        match &self.choice {
            Choice::Auto => self.by_rules(call, bytes),
            Choice::Levels(model) => {
                let model = model.clone();
                self.by_levels(&model, call, bytes)
            }
            Choice::Groups(groups) => {
                let groups = groups.clone();
                self.by_groups(groups, call, bytes)
            }
            other => self.forced(other, call),
        }
    }

    #[inline(always)]
    fn by_rules(&self, call: &Call<'_>, bytes: usize) -> Algorithm {
        let case = rules::Case {
            operation: call.operation(),
            ranks: self.size(),
            bytes,
            commutative: call.is_commutative(),
            varied: call.is_varied(),
            idle: call.is_idle(),
        };
        auto(&self.tuning, &case)
    }

    /// The hierarchical algorithm, where there is one.
    #[cold]
    fn by_groups(&mut self, groups: Arc<Hierarchy>, call: &Call<'_>, bytes: usize) -> Algorithm {
        let mut own = Algorithm::for_operation(call.operation()).filter(|a| a.uses_levels());
        match own.next() {
            Some(algorithm) => {
                self.decisions.levels = Some(groups);
                algorithm
            }
            None => self.by_rules(call, bytes),
        }
    }

    /// The cheapest by what the machine's levels cost; decided once for each power of
    /// two of the length.
    fn by_levels(&mut self, model: &LevelModel, call: &Call<'_>, bytes: usize) -> Algorithm {
        if call.is_varied() {
            return self.by_rules(call, bytes);
        }
        let class = bytes.max(1).ilog2();
        let key = (call.operation(), class, call.is_commutative());
        let known = self.decisions.by_levels.iter().position(|(k, _)| *k == key);
        let at = known.unwrap_or_else(|| {
            let of_operation = call.code().candidates;
            let all = of_operation(model, 1 << class, call.is_commutative());
            let decision = model.choose_among(&all);
            self.decisions.by_levels.push((key, decision));
            self.decisions.by_levels.len() - 1
        });
        match &self.decisions.by_levels[at].1 {
            Some(decision) => {
                self.decisions.levels = Some(decision.levels.clone());
                decision.algorithm
            }
            None => self.by_rules(call, bytes),
        }
    }

    #[cold]
    fn forced(&self, choice: &Choice, call: &Call<'_>) -> Algorithm {
        let shape = match choice {
            Choice::Algorithm(algorithm) | Choice::AlgorithmOnMesh(algorithm, _) => {
                return *algorithm;
            }
            Choice::Ring => schedule::Topology::Ring,
            Choice::Mesh(extents) => schedule::Topology::Mesh(extents.clone()),
            Choice::Hypercube => schedule::Topology::Hypercube,
            Choice::Tree => schedule::Topology::Tree,
            Choice::Auto | Choice::Levels(_) | Choice::Groups(_) => {
                unreachable!("handled by the caller")
            }
        };
        Algorithm::for_topology(call.operation(), &shape, self.size(), call.is_commutative())
    }

    /// The schedule of `algorithm` for the call, or why it cannot serve it.
    pub(super) fn schedule(
        &self,
        call: &Call<'_>,
        algorithm: Algorithm,
    ) -> Result<Schedule, String> {
        let builders = self.catalogue.map_or(call.code().builders, |of| of(call.operation()));
        let schedule = algorithm
            .schedule_by(builders, &self.request(call, algorithm))
            .map_err(|unfit| unfit.to_string())?;
        if !call.is_commutative() && !schedule.is_ordered() {
            return Err(format!(
                "{algorithm} does not combine in rank order, which {} needs",
                call.sig().operator
            ));
        }
        if matches!(call.cut(), Partition::Pairs { .. }) && forwards(&schedule, self.rank()) {
            return Err(format!(
                "{algorithm} forwards blocks, whose lengths a rank on the way does not know"
            ));
        }
        Ok(schedule)
    }

    fn request(&self, call: &Call<'_>, algorithm: Algorithm) -> Request {
        let request = Request::new(call.operation(), self.size());
        let mut request = request.root(call.root_rank()).shift(call.distance() as isize);
        if let Some(dims) = self.dims() {
            request = request.dims(dims.clone());
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
        match (&self.choice, &self.default_choice) {
            (Choice::Levels(_) | Choice::Groups(_), _) => self.decisions.levels.clone(),
            (_, Choice::Levels(model)) => Some(Arc::new(model.hierarchy().clone())),
            _ => None,
        }
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
