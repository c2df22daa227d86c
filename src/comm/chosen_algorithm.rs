//! Which algorithm carries a call out: by rules, by the cost model, by the levels of the machine,
//! or forced; and its schedule.

use super::decisions::{KEPT, Modelled, explain, explains};
use super::{Choice, Comm};
use crate::exec::{Call, Partition};
use crate::schedule;
use crate::schedule::{Algorithm, Hierarchy, Request, Schedule};
use crate::sync::Arc;
use crate::topology::Extents;
use crate::tuning::rules::auto;
use crate::tuning::{LevelModel, Rates, best_segments, cheapest_by, rules};

impl Comm {
    /// The extents that the choice prescribes.
    pub(super) fn dims(&self) -> Option<&Extents> {
        self.choice.dims()
    }

    /// The algorithm for a call of `bytes` bytes.
    #[inline(always)]
    pub(super) fn algorithm(&mut self, call: &Call<'_>, bytes: usize) -> Algorithm {
        match &self.choice {
            &Choice::Model(rates) => self.modelled(rates, call),
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
            let decision = model.choose(call.operation(), 1 << class, call.is_commutative());
            if self.rank() == 0 && explains() {
                explain(model, call.operation(), 1 << class, decision.as_ref());
            }
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
            Choice::Auto | Choice::Model(_) | Choice::Levels(_) | Choice::Groups(_) => {
                unreachable!("handled by the caller")
            }
        };
        Algorithm::for_topology(call.operation(), &shape, self.size(), call.is_commutative())
    }

    /// The cheapest algorithm by the cost model, of those that can serve.
    #[cold]
    fn modelled(&mut self, rates: Rates, call: &Call<'_>) -> Algorithm {
        let key = Modelled {
            rates,
            operation: call.operation(),
            parameter: call.parameter(),
            words: self.words(call),
            commutative: call.is_commutative(),
            pairs: matches!(call.cut(), Partition::Pairs { .. }),
        };
        if let Some((_, algorithm)) = self.decisions.modelled.iter().find(|(k, _)| *k == key) {
            return *algorithm;
        }
        let request = self.request(call, Algorithm::BC_ANY);
        let builders = call.code().builders;
        let ranked = cheapest_by(builders, &request, key.words as f64, rates);
        let served = ranked.into_iter().find(|&a| self.schedule(call, a).is_ok());
        let shape = schedule::Topology::Hypercube;
        let (operation, commutative) = (call.operation(), call.is_commutative());
        let algorithm = served.unwrap_or_else(|| {
            Algorithm::for_topology(operation, &shape, self.size(), commutative)
        });
        if self.decisions.modelled.len() == KEPT {
            self.decisions.modelled.clear();
        }
        self.decisions.modelled.push((key, algorithm));
        algorithm
    }

    /// The schedule of `algorithm` for the call, or why it cannot serve it.
    pub(super) fn schedule(
        &self,
        call: &Call<'_>,
        algorithm: Algorithm,
    ) -> Result<Schedule, String> {
        let schedule = algorithm
            .schedule_by(call.code().builders, &self.request(call, algorithm))
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
        if let Some(segments) = self.segments(call, algorithm) {
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
        match (&self.choice, &self.default_choice) {
            (Choice::Levels(_) | Choice::Groups(_), _) => self.decisions.levels.clone(),
            (_, Choice::Levels(model)) => Some(Arc::new(model.hierarchy().clone())),
            _ => None,
        }
    }

    /// The segments of a pipelined chain that the cost model has chosen.
    pub(super) fn segments(&self, call: &Call<'_>, algorithm: Algorithm) -> Option<usize> {
        let Choice::Model(rates) = self.choice else { return None };
        let is_chain = matches!(algorithm, Algorithm::BC_CHAIN | Algorithm::RED_CHAIN);
        is_chain.then(|| best_segments(self.size(), self.words(call) as f64, rates.t_s, rates.t_w))
    }

    /// The m of the cost model: elements of the vector, or of a block.
    fn words(&self, call: &Call<'_>) -> usize {
        match call.cut() {
            Partition::Vector(n) | Partition::Equal(n) => n,
            Partition::Varied(_) => call.len().div_ceil(self.size()),
            Partition::Pairs { send, .. } => send.iter().sum::<usize>().div_ceil(self.size()),
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
