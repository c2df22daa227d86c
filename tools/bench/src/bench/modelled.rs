//! The model's time for a row, by the rates of a profile.

use super::call_buffers::has_blocks;
use super::predict_call::CallModel;
use super::sample::{Force, SampleCase};
use crate::measure::proximity::Proximity;
use phalanx::Team;
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign, hierarchy};
use phalanx::schedule::{Algorithm, Request};
use phalanx::tuning::{Profile, Tuning};

/// The model of calls of so many ranks.
#[derive(Debug)]
pub struct Modelled<'a> {
    machine: &'a Machine,
    /// With the sizes for so many ranks.
    profile: Profile,
    ranks: usize,
}

impl<'a> Modelled<'a> {
    /// By the rates of a profile; none if it has none.
    pub fn new(machine: &'a Machine, rates: &Profile, ranks: usize) -> Option<Self> {
        let sizes = rates.tuning(ranks).unwrap_or(Tuning::of(machine, ranks));
        let profile = rates.clone().with_tuning(ranks, sizes).ok()?;
        (!rates.levels().is_empty()).then_some(Modelled { machine, profile, ranks })
    }

    /// By the profile that a team follows.
    pub(crate) fn of(team: &'a Team) -> Option<Self> {
        Modelled::new(team.machine(), team.profile().profile.as_deref()?, team.size())
    }

    /// The time of a case at a place.
    pub(crate) fn row(&self, case: &SampleCase, place: Proximity) -> Option<f64> {
        if !case.shape.form.has_algorithms() {
            return None;
        }
        let mut request = Request::new(case.shape.operation, self.ranks).shift(case.shape.shift);
        let algorithm = match &case.force {
            Force::Auto => None,
            Force::Algorithm(own) => Some(*own),
            Force::On(own, dims) => {
                request = request.dims(dims.clone());
                Some(*own)
            }
        };
        self.ns(request, algorithm, case.shape.count * case.ty.size(), place.name())
    }

    /// The time in ns of an algorithm, or of the automatic choice, on a larger buffer of so many
    /// bytes; none where nothing is sent, or nothing is known.
    pub fn ns(
        &self,
        request: Request,
        algorithm: Option<Algorithm>,
        bytes: usize,
        place: &str,
    ) -> Option<f64> {
        let (operation, ranks) = (request.operation, self.ranks);
        let m = bytes as f64 / if has_blocks(operation) { ranks as f64 } else { 1.0 };
        let auto = || self.profile.algorithm(operation, ranks, m as usize);
        let algorithm = algorithm.unwrap_or_else(auto);
        // Groups are those of the machine, where each rank has a core.
        let placed = assign(&Placement::Compact, self.machine, ranks).ok();
        let placed = placed.filter(|_| ranks <= self.machine.allowed_pus().len());
        let grouped = placed.and_then(|placed| {
            algorithm.schedule(&request.clone().levels(hierarchy(self.machine, &placed))).ok()
        });
        let schedule = grouped.or_else(|| algorithm.schedule(&request).ok())?;
        let model = CallModel::new(&self.profile, self.machine, place);
        // Ranks that share cores are at no place; neither is a row of all places.
        let any = || self.profile.levels().first().filter(|_| place == Proximity::Any.name());
        let model = model.or_else(|| CallModel::new(&self.profile, self.machine, &any()?.place));
        model?.time(&schedule, m).filter(|ns| *ns > 0.0 && ranks > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::call_form::CallForm;
    use super::*;
    use crate::bench::call_buffers::BufferShape;
    use crate::bench::element::Type;
    use crate::bench::output_forms;
    use crate::bench::row::BenchRow;
    use crate::bench::sample::{Root, SampleBudget};
    use crate::measure::caches::CacheState;
    use crate::measure::stats::Summary;
    use phalanx::schedule::Operation;
    use phalanx::tuning::LevelRates;
    use std::time::Duration;

    fn case(operation: Operation, count: usize, force: Force) -> SampleCase {
        let shape = BufferShape {
            operation,
            redop: None,
            count,
            sets: 1,
            shift: 1,
            apart: false,
            form: CallForm::Even,
        };
        let effort = SampleBudget {
            samples: None,
            warmup: 0,
            time: Duration::ZERO,
            check: false,
            crowded: false,
            calls: None,
        };
        let caches = CacheState::Warm;
        SampleCase { shape, ty: Type::F64, force, root: Root::Rank(0), caches, effort }
    }

    #[test]
    fn a_profiles_rates_are_what_a_row_costs() {
        let machine = Machine::this().unwrap();
        let &[a, b, ..] = machine.allowed_pus() else {
            return eprintln!("skipped: one processing unit");
        };
        let level = crate::matrix::unit_axis::shared(&machine, a, b);
        let rates = |place: &str, t_s_ns| LevelRates {
            level: level.into(),
            place: place.into(),
            t_s_ns,
            t_s_ci: [t_s_ns; 2],
            t_w_ns_per_byte: 0.5,
            t_w_ci: [0.5; 2],
            samples: 1,
            pieces: Vec::new(),
        };
        let profile = Profile::default().with_level(rates("ccx", 100.0)).unwrap();
        let profile = profile.with_level(rates("far", 300.0)).unwrap();
        let team = Team::builder().ranks(2).profile(profile).build().unwrap();
        let model = Modelled::of(&team).unwrap();
        let gather = case(Operation::AllGather, 250, Force::Algorithm(Algorithm::AG_RING));
        // A block of 1000 bytes.
        assert_eq!(model.row(&gather, Proximity::Ccx), Some(600.0));
        assert_eq!(model.row(&gather, Proximity::Far), Some(800.0));
        assert_eq!(model.row(&gather, Proximity::Smt), None);
        let barrier = case(Operation::Barrier, 0, Force::Auto);
        assert_eq!(model.row(&barrier, Proximity::Ccx), Some(100.0));
    }

    #[test]
    fn without_a_profile_no_row_has_a_time() {
        let team = Team::builder().ranks(2).profile(Profile::default()).build().unwrap();
        assert!(Modelled::of(&team).is_none());
    }

    #[test]
    fn rows_far_from_their_times_are_told() {
        let row = BenchRow {
            place: Proximity::Far,
            drift: Default::default(),
            ..output_forms::tests::row()
        };
        let ns = 1000.0;
        let of = |median: f64| {
            let row = BenchRow { ns: Summary { median, ..row.ns }, ..row.clone() };
            row.modelled(Some(ns)).is_apart()
        };
        assert_eq!(
            [0.6, 0.7, 1.0, 1.5, 1.7].map(|by| of(ns * by)),
            [true, false, false, false, true]
        );
    }
}
