//! Which algorithm carries a call out: by rules, or by the levels of the machine; and its schedule.
//! (Forced ones: `forced.rs`.)

use super::{Choice, Comm};
use crate::exec::Call;
use crate::op::float_control::FloatControl;
use crate::schedule::{Algorithm, Hierarchy, Schedule};
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
        match (&self.choice, self.forcing) {
            (Choice::Levels(model), _) => {
                let model = model.clone();
                self.by_levels(&model, call, bytes)
            }
            (Choice::Auto, _) | (_, None) => self.by_rules(call, bytes),
            (_, Some(code)) => (code.algorithm)(self, call, bytes),
        }
    }

    pub(super) fn by_rules(&self, call: &Call<'_>, bytes: usize) -> Algorithm {
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
            // The same on all ranks.
            let decision = FloatControl::STANDARD.during(|| {
                let all = of_operation(model, 1 << class, call.is_commutative());
                model.best_among(&all).map(|best| best.decided(model))
            });
            self.decisions.by_levels.push((key, decision));
            self.decisions.by_levels.len() - 1
        });
        match &self.decisions.by_levels[at].1 {
            Some((algorithm, levels)) => {
                self.decisions.levels = Some(levels.clone());
                *algorithm
            }
            None => self.by_rules(call, bytes),
        }
    }

    /// The schedule of `algorithm` for the call, or why it cannot serve it.
    pub(super) fn schedule(
        &self,
        call: &Call<'_>,
        algorithm: Algorithm,
    ) -> Result<Schedule, String> {
        if let Some(code) = self.forcing {
            return (code.schedule)(self, call, algorithm);
        }
        // The library chooses algorithms that serve.
        let (builders, operation) = (call.code().builders, call.operation());
        let (at, levels) = ((call.root_rank(), call.distance()), self.levels(algorithm));
        Ok(algorithm.chosen_schedule(builders, operation, self.size(), at, levels.as_deref()))
    }

    /// The groups for a hierarchical algorithm: those of the choice, else the machine's.
    pub(super) fn levels(&self, algorithm: Algorithm) -> Option<Arc<Hierarchy>> {
        if !algorithm.uses_levels() {
            return None;
        }
        match (&self.choice, &self.default_choice) {
            (Choice::Levels(_) | Choice::Groups(_), _) => self.decisions.levels.clone(),
            (_, Choice::Levels(model)) => Some(Arc::new(model.hierarchy().cloned())),
            _ => None,
        }
    }
}
