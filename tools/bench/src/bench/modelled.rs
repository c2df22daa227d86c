//! The model's time for a row, by the rates of the profile that the team follows.

use super::call_buffers::has_blocks;
use super::predict_call::CallModel;
use super::sample::{Force, SampleCase};
use crate::measure::proximity::Proximity;
use phalanx::Team;
use phalanx::machine::Machine;
use phalanx::schedule::{Algorithm, Request, Schedule};
use phalanx::tuning::{Profile, Tuning};

/// The model of a team's calls.
#[derive(Debug)]
pub(crate) struct Modelled<'a> {
    machine: &'a Machine,
    /// With the sizes for so many ranks.
    profile: Profile,
    ranks: usize,
    /// From where the rates are, in words.
    pub(crate) source: String,
}

impl<'a> Modelled<'a> {
    /// Of a team; none without a profile that has rates.
    pub(crate) fn new(team: &'a Team) -> Option<Self> {
        let (machine, ranks) = (team.machine(), team.size());
        let report = team.profile();
        let given = report.profile.as_deref().filter(|own| !own.levels().is_empty())?.clone();
        let sizes = given.tuning(ranks).unwrap_or(Tuning::of(machine, ranks));
        let profile = given.with_tuning(ranks, sizes).ok()?;
        Some(Modelled { machine, profile, ranks, source: report.to_string() })
    }

    /// The time of a case at a place, in ns; none where nothing is sent, or nothing is known.
    pub(crate) fn ns(&self, case: &SampleCase, place: Proximity) -> Option<f64> {
        if !case.shape.form.has_algorithms() {
            return None;
        }
        let operation = case.shape.operation;
        let bytes = (case.shape.count * case.ty.size()) as f64;
        let m = if has_blocks(operation) { bytes / self.ranks as f64 } else { bytes };
        let schedule = self.schedule(case, m)?;
        let model = CallModel::new(&self.profile, self.machine, place.name());
        // Ranks that share cores are at no place; neither is a row of all places.
        let any = || self.profile.levels().first().map(|rates| rates.place.clone());
        let model = match (model, place) {
            (None, Proximity::Any) => CallModel::new(&self.profile, self.machine, &any()?),
            (model, _) => model,
        };
        let ns = model?.time(&schedule, m)?;
        (ns > 0.0 && self.ranks > 1).then_some(ns)
    }

    fn schedule(&self, case: &SampleCase, m: f64) -> Option<Schedule> {
        let operation = case.shape.operation;
        let request = Request::new(operation, self.ranks).shift(case.shape.shift);
        let algorithm = |a: Algorithm| a.schedule(&request).ok();
        match &case.force {
            Force::Auto => algorithm(self.profile.algorithm(operation, self.ranks, m as usize)),
            Force::Algorithm(own) => algorithm(*own),
            Force::On(own, dims) => own.schedule(&request.clone().dims(dims.clone())).ok(),
        }
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
        let model = Modelled::new(&team).unwrap();
        let gather = case(Operation::AllGather, 250, Force::Algorithm(Algorithm::AG_RING));
        // A block of 1000 bytes.
        assert_eq!(model.ns(&gather, Proximity::Ccx), Some(600.0));
        assert_eq!(model.ns(&gather, Proximity::Far), Some(800.0));
        assert_eq!(model.ns(&gather, Proximity::Smt), None);
        let barrier = case(Operation::Barrier, 0, Force::Auto);
        assert_eq!(model.ns(&barrier, Proximity::Ccx), Some(100.0));
    }

    #[test]
    fn without_a_profile_no_row_has_a_time() {
        let team = Team::builder().ranks(2).profile(Profile::default()).build().unwrap();
        assert!(Modelled::new(&team).is_none());
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
