//! Published curves beside ours, under a [`Setup`] that can be changed to see the effect of each
//! part.

use super::open_mpi as mpi;
use super::published::{Curve, V1, V2_BRUCK, V2_LINEAR, V2_RING, V3_CORE, V3_SOCKET, V4, V5};
use super::{known_misses, smelt};
use phalanx::machine::Level;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::Schedule;
use phalanx::tuning::{LevelCost, MachineCosts, Transport};
use phalanx_bench::failure::Failure;
use phalanx_model::{Effect, Effects, Simulation};

/// The means with which the curves are simulated.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Open MPI's messages: V1, V2, V3, V5.
    pub(crate) mpi: Transport,
    /// Smelt's: V4.
    pub(crate) smelt: Transport,
    pub(crate) effects: Effects,
    /// All hand-offs times this.
    pub(crate) hand_offs: f64,
    /// Barriers in a loop, as they were measured; else one alone.
    pub(crate) loops: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            mpi: mpi::TRANSPORT,
            smelt: smelt::TRANSPORT,
            effects: Effects::ALL.without(Effect::Spread),
            hand_offs: 1.0,
            loops: true,
        }
    }
}

/// One published number beside ours.
#[derive(Clone, Debug)]
pub(crate) struct PublishedPoint {
    /// V1 to V5.
    pub(crate) curve: &'static str,
    /// The call that was measured.
    pub(crate) what: &'static str,
    pub(crate) ranks: usize,
    pub(crate) published_us: f64,
    pub(crate) model_us: f64,
    /// The error that is promised, as a fraction; None: shown, nothing promised.
    pub(crate) within: Option<f64>,
    /// Why the promise is not kept here.
    pub(crate) missed: Option<&'static str>,
}

impl PublishedPoint {
    /// Ours against the published number, as a fraction.
    pub(crate) fn error(&self) -> f64 {
        self.model_us / self.published_us - 1.0
    }

    /// Whether the words about the point are true: it is within the promise, or stands in the
    /// list of misses and is one.
    pub(crate) fn is_as_stated(&self) -> bool {
        match self.within {
            None => true,
            Some(within) => (self.error().abs() <= within) == self.missed.is_none(),
        }
    }
}

/// A statement about an order or a sign.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) curve: &'static str,
    pub(crate) what: String,
    pub(crate) published: String,
    pub(crate) model: String,
    /// Pairs of numbers, and how many of them are in the published order.
    pub(crate) pairs: (usize, usize),
    pub(crate) missed: Option<&'static str>,
}

impl Claim {
    pub(crate) fn holds(&self) -> bool {
        self.pairs.0 == self.pairs.1
    }

    /// It holds, or stands in the list of misses.
    pub(crate) fn is_as_stated(&self) -> bool {
        self.holds() == self.missed.is_none()
    }
}

/// Everything.
pub(crate) struct Validation {
    pub(crate) points: Vec<PublishedPoint>,
    pub(crate) claims: Vec<Claim>,
}

/// 2 x EPYC 7H12, its hand-offs those of the EPYC 7742.
const ROME: &str = "orfeo-epyc-7h12-2s";

/// Calls of a loop: the first is not counted.
const CALLS: usize = 3;

impl Setup {
    /// All curves.
    pub(crate) fn run(&self) -> Result<Validation, Failure> {
        let mut points = Vec::new();
        type Make = fn(usize) -> Schedule;
        let curves: [(&str, &str, Curve, Option<f64>, Make); 4] = [
            ("V1", "default barrier", V1, Some(0.2), mpi::default_barrier),
            ("V2", "linear barrier", V2_LINEAR, Some(0.3), mpi::linear_barrier),
            ("V2", "double ring", V2_RING, Some(0.3), mpi::double_ring),
            ("V2", "Bruck barrier", V2_BRUCK, None, mpi::bruck),
        ];
        let rome = MachineCosts::named(ROME).map_err(Failure::run)?;
        for (curve, what, data, promise, schedule) in curves {
            for &(ranks, published_us) in data {
                let simulation = self.at(rome, ranks, &Placement::Compact, self.mpi)?;
                let model_us = self.barrier(&simulation, &schedule(ranks))?;
                let within = promise.filter(|_| ranks >= 8);
                let missed = known_misses::point(what, ranks);
                points.push(PublishedPoint {
                    curve,
                    what,
                    ranks,
                    published_us,
                    model_us,
                    within,
                    missed,
                });
            }
        }
        let mut claims = Vec::new();
        self.placements(&mut points, &mut claims)?;
        self.trees(&mut claims)?;
        self.broadcasts(rome, &mut claims)?;
        Ok(Validation { points, claims })
    }

    /// V3: the same barrier, ranks side by side or spread over the sockets.
    fn placements(
        &self,
        points: &mut Vec<PublishedPoint>,
        claims: &mut Vec<Claim>,
    ) -> Result<(), Failure> {
        let thin = thin();
        for (&(ranks, core), &(_, socket)) in V3_CORE.iter().zip(V3_SOCKET) {
            let mut ours = [0.0; 2];
            for (i, (what, published_us, placement)) in [
                ("default barrier, by core", core, Placement::Compact),
                ("default barrier, by socket", socket, Placement::Scatter),
            ]
            .into_iter()
            .enumerate()
            {
                let simulation = self.at(&thin, ranks, &placement, self.mpi)?;
                let model_us = self.barrier(&simulation, &mpi::default_barrier(ranks))?;
                ours[i] = model_us;
                let (within, missed) = (None, None);
                let curve = "V3";
                points.push(PublishedPoint {
                    curve,
                    what,
                    ranks,
                    published_us,
                    model_us,
                    within,
                    missed,
                });
            }
            let (published, model) = (core / socket, ours[0] / ours[1]);
            // Nearer to 1 than 2 % is no sign.
            let right = (published < 1.0) == (model < 1.0) && (model - 1.0).abs() > 0.02;
            claims.push(Claim {
                curve: "V3",
                what: format!("{ranks} ranks: packed / spread"),
                published: format!("{published:.2}"),
                model: format!("{model:.2}"),
                pairs: (1, usize::from(right)),
                missed: known_misses::sign(ranks),
            });
        }
        Ok(())
    }

    /// V4.
    fn trees(&self, claims: &mut Vec<Claim>) -> Result<(), Failure> {
        let costs = MachineCosts::named("smelt-ivybridge-2x10").map_err(Failure::run)?;
        let simulation = self.at(costs, 20, &Placement::Compact, self.smelt)?;
        type Make = fn(&'static str) -> Schedule;
        let kinds: [(&str, Make); 3] =
            [("barrier", smelt::barrier), ("reduction", smelt::up), ("broadcast", smelt::down)];
        for (k, (kind, schedule)) in kinds.into_iter().enumerate() {
            let mut both = Vec::new();
            for &(tree, published) in V4 {
                let ns = simulation.run(&schedule(tree), 8.0).map_err(Failure::run)?.ns;
                both.push((tree, published[k], ns * smelt::GHZ / 1e3));
            }
            let what = format!("{kind}, 20 threads, kilocycles");
            claims.push(order("V4", what, &both, known_misses::order(kind)));
        }
        Ok(())
    }

    /// V5.
    fn broadcasts(&self, rome: &MachineCosts, claims: &mut Vec<Claim>) -> Result<(), Failure> {
        for &(p, bytes, published) in V5 {
            let simulation = self.at(rome, p, &Placement::Compact, self.mpi)?;
            let mut both = Vec::new();
            for (name, us) in published {
                let schedule = match name {
                    "linear" => mpi::broadcast("linear", p, &|r| match r {
                        0 => (1..p).collect(),
                        _ => vec![],
                    }),
                    "binary" => mpi::broadcast("binary", p, &|r| vec![2 * r + 1, 2 * r + 2]),
                    _ => mpi::broadcast("chain", p, &mpi::chain(p)),
                };
                // OSU's benchmark gives the mean over ranks, not the last one's time.
                let ranks = simulation.run(&schedule, bytes as f64).map_err(Failure::run)?.ranks;
                both.push((name, us, ranks.iter().sum::<f64>() / ranks.len() as f64 / 1e3));
            }
            let size = phalanx_bench::byte_size::text(bytes);
            let what = format!("broadcast of {size} bytes, {p} ranks, us");
            claims.push(order("V5", what, &both, known_misses::order(&size)));
        }
        Ok(())
    }

    fn barrier(&self, simulation: &Simulation, schedule: &Schedule) -> Result<f64, Failure> {
        let ns = match self.loops {
            true => simulation.back_to_back(schedule, 0.0, CALLS),
            false => simulation.run(schedule, 0.0).map(|outcome| outcome.ns),
        };
        Ok(ns.map_err(Failure::run)? / 1e3)
    }

    fn at(
        &self,
        costs: &MachineCosts,
        p: usize,
        placement: &Placement,
        transport: Transport,
    ) -> Result<Simulation, Failure> {
        let machine = costs.machine().map_err(Failure::run)?;
        let ranks = assign(placement, &machine, p).map_err(Failure::run)?;
        let mut costs = costs.clone();
        for level in costs.levels.to_mut() {
            level.hand_off = level.hand_off.map(|ns| ns * self.hand_offs);
        }
        let simulation = Simulation::new(&machine, &ranks, &costs).map_err(Failure::run)?;
        Ok(simulation.with_transport(transport).with_effects(self.effects))
    }
}

/// What, published, ours: the dearest first.
fn order(
    curve: &'static str,
    what: String,
    both: &[(&str, f64, f64)],
    missed: Option<&'static str>,
) -> Claim {
    let text = |pick: fn(&(&str, f64, f64)) -> f64| {
        let mut list: Vec<(&str, f64)> = both.iter().map(|x| (x.0, pick(x))).collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        let item = |(name, x): &(&str, f64)| format!("{name} {x:.2}");
        list.iter().map(item).collect::<Vec<_>>().join(" > ")
    };
    let pairs = || both.iter().enumerate().flat_map(|(i, a)| both[..i].iter().map(move |b| (a, b)));
    let right = pairs().filter(|(a, b)| (a.1 < b.1) == (a.2 < b.2)).count();
    let pairs = (pairs().count(), right);
    Claim { curve, what, published: text(|x| x.1), model: text(|x| x.2), pairs, missed }
}

/// The 2-byte latencies of ORFEO's THIN nodes, within a socket and across, one way.
const THIN: [f64; 2] = [200.0, 430.0];

/// ORFEO THIN nodes, 2 x 12 cores. Hand-offs were not published; here they are two transfers
/// of the published latencies, less Open MPI's software, as on the 7H12.
fn thin() -> MachineCosts {
    let software = mpi::TRANSPORT.one_way(0.0);
    let level = |level, latency: f64| LevelCost {
        level,
        hand_off: [(latency - software) / mpi::TRANSPORT.transfers; 3],
        rate: None,
        source: "mzampar/High_Performance_Computing_2023, latency_data_single_node.csv".into(),
    };
    let mut costs =
        MachineCosts::named("orfeo-thin-2x12").cloned().unwrap_or_else(|e| panic!("{e}"));
    costs.levels = vec![level(Level::L3, THIN[0]), level(Level::Machine, THIN[1])].into();
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_as_good_as_stated() {
        let validation = Setup::default().run().unwrap();
        for point in &validation.points {
            let error = 100.0 * point.error();
            assert!(
                point.is_as_stated(),
                "{} {} {}: {error:+.0} %",
                point.curve,
                point.what,
                point.ranks
            );
        }
        for claim in &validation.claims {
            assert!(claim.is_as_stated(), "{} {}: {}", claim.curve, claim.what, claim.model);
        }
        let promised = validation.points.iter().filter(|p| p.within.is_some());
        assert_eq!(promised.count(), 22);
        assert_eq!(validation.points.iter().filter(|p| p.missed.is_some()).count(), 2);
        assert_eq!(validation.claims.iter().filter(|c| c.missed.is_some()).count(), 3);
    }

    /// A constant that is called fitted gives the points that it was fitted to.
    #[test]
    fn the_fits_fit() {
        let validation = Setup::default().run().unwrap();
        let ring = validation.points.iter().find(|p| p.what == "double ring" && p.ranks == 2);
        assert!(ring.unwrap().error().abs() < 0.01);
        let rome = MachineCosts::named(ROME).unwrap();
        let two = Setup::default().at(rome, 2, &Placement::Compact, mpi::TRANSPORT).unwrap();
        let to_one = mpi::broadcast("one", 2, &|r| if r == 0 { vec![1] } else { vec![] });
        let ranks = two.run(&to_one, 1048576.0).unwrap().ranks;
        assert!(((ranks[0] + ranks[1]) / 2e3 / 90.8 - 1.0).abs() < 0.02, "{ranks:?}");
    }
}
