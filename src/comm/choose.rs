//! Which algorithm serves a call: by rules, by a model, or as the user says.

use super::perform::Task;
use super::plans::{Chosen, KEPT};
use super::{Choice, Comm};
use crate::engine::Cut;
use crate::fabric::Sig;
use crate::schedule::{self, Algorithm, Hierarchy, Operation};
use crate::topology::Extents;
use crate::tuning::rules::{self, auto};
use crate::tuning::{Decision, LevelModel, Rates, cheapest};
use std::panic::Location;
use std::sync::{Arc, LazyLock};

impl Comm {
    pub(super) fn mesh_choice(&mut self, dims: &Extents, at: &'static Location<'static>) -> Choice {
        if dims.ranks() == self.size() {
            return Choice::Mesh(dims.clone());
        }
        self.no_mesh(&dims.to_string(), at)
    }

    /// Ends the run: there is no such mesh of this many ranks.
    #[cold]
    pub(super) fn no_mesh(&mut self, dims: &str, at: &'static Location<'static>) -> Choice {
        static SIG: Sig = Sig::of::<()>("mesh", "");
        let what = format!("a {dims} mesh does not have the communicator's {} ranks", self.size());
        self.wrong(&SIG, at, 0, what);
        Choice::Auto
    }

    /// The extents that the choice prescribes.
    pub(super) fn dims(&self) -> Option<&Extents> {
        self.choice.dims()
    }

    /// The algorithm for a task of `bytes` bytes.
    #[inline(always)]
    pub(super) fn algorithm(&mut self, task: &Task<'_>, bytes: usize) -> Algorithm {
        match &self.choice {
            &Choice::Model(rates) => self.modelled(rates, task),
            Choice::Auto => self.by_rules(task, bytes),
            Choice::Levels(model) => {
                let model = model.clone();
                self.by_levels(&model, task, bytes)
            }
            Choice::Groups(groups) => {
                let groups = groups.clone();
                self.by_groups(groups, task, bytes)
            }
            other => self.forced(other, task),
        }
    }

    #[inline(always)]
    pub(super) fn by_rules(&self, task: &Task<'_>, bytes: usize) -> Algorithm {
        let call = rules::Call {
            operation: task.operation,
            ranks: self.size(),
            bytes,
            commutative: task.commutative,
            varied: self.is_varied(task),
            idle: task.operation == Operation::Shift && task.shift == 0,
        };
        auto(&self.tuning, &call)
    }

    /// The hierarchical algorithm, where there is one.
    #[cold]
    pub(super) fn by_groups(
        &mut self,
        groups: Arc<Hierarchy>,
        task: &Task<'_>,
        bytes: usize,
    ) -> Algorithm {
        let mut own = Algorithm::for_operation(task.operation).filter(|a| a.uses_levels());
        match own.next() {
            Some(algorithm) => {
                self.plans.levels = Some(groups);
                algorithm
            }
            None => self.by_rules(task, bytes),
        }
    }

    /// The cheapest by what the machine's levels cost; decided once for each power of two of the length.
    pub(super) fn by_levels(
        &mut self,
        model: &LevelModel,
        task: &Task<'_>,
        bytes: usize,
    ) -> Algorithm {
        if self.is_varied(task) {
            return self.by_rules(task, bytes);
        }
        let class = bytes.max(1).ilog2();
        let key = (task.operation, class, task.commutative);
        let known = self.plans.decided.iter().position(|(k, _)| *k == key);
        let at = known.unwrap_or_else(|| {
            let decision = model.choose(task.operation, 1 << class, task.commutative);
            if self.rank() == 0 && explains() {
                explain(model, task.operation, 1 << class, decision.as_ref());
            }
            self.plans.decided.push((key, decision));
            self.plans.decided.len() - 1
        });
        match &self.plans.decided[at].1 {
            Some(decision) => {
                self.plans.levels = Some(decision.levels.clone());
                decision.algorithm
            }
            None => self.by_rules(task, bytes),
        }
    }

    pub(super) fn is_varied(&self, task: &Task<'_>) -> bool {
        matches!(task.cut, Cut::Varied(_) | Cut::Pairs { .. })
    }

    #[cold]
    pub(super) fn forced(&self, choice: &Choice, task: &Task<'_>) -> Algorithm {
        let shape = match choice {
            Choice::Algorithm(algorithm) | Choice::On(algorithm, _) => return *algorithm,
            Choice::Ring => schedule::Shape::Ring,
            Choice::Mesh(extents) => schedule::Shape::Mesh(extents.clone()),
            Choice::Hypercube => schedule::Shape::Hypercube,
            Choice::Tree => schedule::Shape::Tree,
            Choice::Auto | Choice::Model(_) | Choice::Levels(_) | Choice::Groups(_) => {
                unreachable!("handled by the caller")
            }
        };
        Algorithm::for_topology(task.operation, &shape, self.size(), task.commutative)
    }

    /// The cheapest algorithm by the cost model, of those that can serve.
    #[cold]
    pub(super) fn modelled(&mut self, rates: Rates, task: &Task<'_>) -> Algorithm {
        let key = Chosen {
            rates,
            operation: task.operation,
            parameter: task.parameter(),
            words: self.words(task),
            commutative: task.commutative,
            pairs: matches!(task.cut, Cut::Pairs { .. }),
        };
        if let Some((_, algorithm)) = self.plans.chosen.iter().find(|(k, _)| *k == key) {
            return *algorithm;
        }
        let request = self.request(task, Algorithm::BC_ANY);
        let ranked = cheapest(&request, key.words as f64, rates);
        let served = ranked.into_iter().find(|&a| self.schedule(task, a).is_ok());
        let shape = schedule::Shape::Hypercube;
        let algorithm = served.unwrap_or_else(|| {
            Algorithm::for_topology(task.operation, &shape, self.size(), task.commutative)
        });
        if self.plans.chosen.len() == KEPT {
            self.plans.chosen.clear();
        }
        self.plans.chosen.push((key, algorithm));
        algorithm
    }
}

/// Whether choices are to be printed.
fn explains() -> bool {
    static EXPLAINS: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("PHALANX_EXPLAIN").is_some_and(|v| v == "1"));
    *EXPLAINS
}

#[cold]
fn explain(model: &LevelModel, operation: Operation, bytes: usize, decision: Option<&Decision>) {
    let (p, costs) = (model.ranks(), model.costs());
    match decision {
        Some(decision) => eprintln!(
            "phalanx: {operation} of {bytes} to {} bytes on {p} ranks: {decision} (the cheapest by estimates; levels of {costs})",
            2 * bytes - 1
        ),
        None => eprintln!("phalanx: {operation} on {p} ranks: by rules, no hierarchical algorithm"),
    }
}
