//! The model's time for a row: by the rates of the profile that the team follows, else by the
//! published costs of the most similar machine.

use super::call_buffers::has_blocks;
use super::predict_call::CallModel;
use super::sample::{Force, SampleCase};
use crate::measure::proximity::Proximity;
use phalanx::Team;
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Algorithm, Hierarchy, Request, Schedule};
use phalanx::tuning::{LevelModel, MachineCosts, Profile, Tuning};
use phalanx_model::{Effect, Effects, Simulation};

/// The model that times are made from.
#[derive(Debug)]
enum Rates {
    /// A calibrated profile's.
    Profile,
    /// A published machine's, one rank a core, and what the library chooses there.
    Published(Box<(Simulation, Option<LevelModel>)>),
}

/// The model of a team's calls.
#[derive(Debug)]
pub(crate) struct Modelled<'a> {
    machine: &'a Machine,
    /// With the sizes for so many ranks.
    profile: Profile,
    rates: Rates,
    ranks: usize,
    /// From where the rates are, in words.
    pub(crate) source: String,
}

impl<'a> Modelled<'a> {
    /// Of a team; none where no model applies: more ranks than cores without a profile.
    pub(crate) fn new(team: &'a Team) -> Option<Self> {
        let (machine, ranks) = (team.machine(), team.size());
        let report = team.profile();
        let given = report.profile.as_deref().cloned().unwrap_or_default();
        let sizes = given.tuning(ranks).unwrap_or(Tuning::of(machine, ranks));
        let profile = given.with_tuning(ranks, sizes).ok()?;
        let (rates, source) = match profile.levels() {
            [] => published(machine, ranks)?,
            _ => (Rates::Profile, report.to_string()),
        };
        Some(Modelled { machine, profile, rates, ranks, source })
    }

    /// The name of the source in a column.
    pub(crate) fn by(&self) -> &'static str {
        match self.rates {
            Rates::Profile => "profile",
            Rates::Published(_) => "published",
        }
    }

    /// The time of a case at a place, in ns; none where nothing is sent, or nothing is known.
    pub(crate) fn ns(&self, case: &SampleCase, place: Proximity) -> Option<f64> {
        if !case.shape.form.goes_between_nodes() {
            return None;
        }
        let operation = case.shape.operation;
        let bytes = (case.shape.count * case.ty.size()) as f64;
        let m = if has_blocks(operation) { bytes / self.ranks as f64 } else { bytes };
        let schedule = self.schedule(case, m)?;
        let ns = match &self.rates {
            Rates::Profile => {
                let model = CallModel::new(&self.profile, self.machine, place.name());
                // Ranks that share cores are at no place; neither is a row of all places.
                let any = || self.profile.levels().first().map(|rates| rates.place.clone());
                let model = match (model, place) {
                    (None, Proximity::Any) => CallModel::new(&self.profile, self.machine, &any()?),
                    (model, _) => model,
                };
                model?.time(&schedule, m)?
            }
            Rates::Published(machine) => machine.0.run(&schedule, m).ok()?.ns,
        };
        (ns > 0.0 && self.ranks > 1).then_some(ns)
    }

    fn schedule(&self, case: &SampleCase, m: f64) -> Option<Schedule> {
        let operation = case.shape.operation;
        let request = Request::new(operation, self.ranks).shift(case.shape.shift);
        let algorithm = |a: Algorithm| a.schedule(&request).ok();
        match &case.force {
            Force::Auto => {
                let levels = match &self.rates {
                    Rates::Published(machine) => machine.1.as_ref(),
                    Rates::Profile => None,
                };
                match levels.and_then(|levels| levels.choose(operation, m as usize, true)) {
                    Some(own) => {
                        let levels = Hierarchy::clone(&own.levels);
                        own.algorithm.schedule(&request.clone().levels(levels)).ok()
                    }
                    None => algorithm(self.profile.algorithm(operation, self.ranks, m as usize)),
                }
            }
            Force::Algorithm(own) => algorithm(*own),
            Force::On(own, dims) => own.schedule(&request.clone().dims(dims.clone())).ok(),
        }
    }
}

fn published(machine: &Machine, ranks: usize) -> Option<(Rates, String)> {
    let (costs, same) = MachineCosts::nearest(machine);
    let placed = assign(&Placement::Compact, machine, ranks).ok()?;
    if ranks > machine.cores().len() {
        return None;
    }
    let simulation = Simulation::new(machine, &placed, costs).ok()?;
    let simulation = simulation.with_effects(Effects::ALL.without(Effect::Spread));
    let levels = LevelModel::new(machine, &placed, costs).ok()?;
    let similar = if same { "" } else { ", the most similar published machine" };
    let source =
        format!("the published costs of {}{similar}: nothing was calibrated here", costs.name);
    Some((Rates::Published(Box::new((simulation, levels))), source))
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
        assert_eq!(model.by(), "profile");
        let gather = case(Operation::AllGather, 250, Force::Algorithm(Algorithm::AG_RING));
        // A block of 1000 bytes.
        assert_eq!(model.ns(&gather, Proximity::Ccx), Some(600.0));
        assert_eq!(model.ns(&gather, Proximity::Far), Some(800.0));
        assert_eq!(model.ns(&gather, Proximity::Smt), None);
        let barrier = case(Operation::Barrier, 0, Force::Auto);
        assert_eq!(model.ns(&barrier, Proximity::Ccx), Some(100.0));
    }

    /// A saved machine of 128 cores: what the library chooses there has a time.
    #[test]
    fn a_saved_machine_has_its_times_and_rows_far_from_them_are_told() {
        let machine = Machine::from_synthetic("pack:2 group:4 [numa] l3:4 core:4 pu:1").unwrap();
        let (rates, source) = published(&machine, 128).unwrap();
        let profile = Profile::default().with_tuning(128, Tuning::of(&machine, 128)).unwrap();
        let model = Modelled { machine: &machine, profile, rates, ranks: 128, source };
        assert!(model.source.contains("eth-cscs"), "{}", model.source);
        let reduced = case(Operation::AllReduce, 1, Force::Auto);
        let ns = model.ns(&reduced, Proximity::Far).unwrap();
        assert!((500.0..20_000.0).contains(&ns), "{ns}");
        let drift = Default::default();
        let row = BenchRow { place: Proximity::Far, drift, ..output_forms::tests::row() };
        let of = |median: f64| {
            let row = BenchRow { ns: Summary { median, ..row.ns }, ..row.clone() };
            row.modelled(Some(ns), model.by()).is_apart()
        };
        assert_eq!(
            [0.6, 0.7, 1.0, 1.5, 1.7].map(|by| of(ns * by)),
            [true, false, false, false, true]
        );
    }

    #[test]
    fn without_a_profile_published_costs_stand_in_and_are_named() {
        let team = Team::builder().ranks(2).profile(Profile::default()).build().unwrap();
        if team.machine().cores().len() < 2 {
            return eprintln!("skipped: one core");
        }
        let model = Modelled::new(&team).unwrap();
        assert_eq!(model.by(), "published");
        assert!(model.source.contains("nothing was calibrated"), "{}", model.source);
        let ring = case(Operation::AllReduce, 4, Force::Algorithm(Algorithm::AR_ANY));
        assert!(model.ns(&ring, Proximity::Ccx).is_some_and(|ns| ns > 0.0));
    }
}
