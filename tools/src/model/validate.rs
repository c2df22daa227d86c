//! `phalanx model validate`: published curves beside ours.

use super::open_mpi as mpi;
use super::published::{Curve, V1, V2_BRUCK, V2_LINEAR, V2_RING, V3_CORE, V3_SOCKET, V4, V5};
use super::smelt;
use crate::failure::Failure;
use phalanx::machine::Level;
use phalanx::model::{LevelCost, MachineCosts, Simulation, Transport};
use phalanx::placement::{Placement, assign};
use phalanx::schedule::Schedule;

/// One published number beside ours.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// V1 to V5.
    pub(crate) curve: &'static str,
    /// What was measured.
    pub(crate) what: String,
    pub(crate) ranks: usize,
    pub(crate) published_us: f64,
    pub(crate) model_us: f64,
    /// The error that is promised, as a fraction; None: shown, nothing promised.
    pub(crate) within: Option<f64>,
    /// Why the promise is not kept here.
    pub(crate) missed: Option<&'static str>,
}

impl Point {
    /// Ours against the published number, as a fraction.
    pub(crate) fn error(&self) -> f64 {
        self.model_us / self.published_us - 1.0
    }

    /// Whether what is said of the point is true: it is within what is promised, or stands in the list of
    /// misses and is one.
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
    pub(crate) holds: bool,
    pub(crate) missed: Option<&'static str>,
}

impl Claim {
    /// It holds, or stands in the list of misses.
    pub(crate) fn is_as_stated(&self) -> bool {
        self.holds == self.missed.is_none()
    }
}

/// Everything.
pub(crate) struct Validation {
    pub(crate) points: Vec<Point>,
    pub(crate) claims: Vec<Claim>,
}

/// 2 x EPYC 7H12, its hand-offs those of the EPYC 7742.
const ROME: &str = "orfeo-epyc-7h12-2s";

const SHORT_WAIT: &str = "the wait is short: what a rank that has waited takes longer is a fixed 395 ns here, fitted on the ring, \
     a quarter of the whole; among eight ranks nobody waits that long";

const SOCKET_OF_FOUR: &str = "with four ranks on the second socket one round of four crosses when spread and two when packed, so \
     spreading wins here; the published run has packing ahead by 9 %, for a reason that no effect of the model covers";

const ALIKE: &str = "ours has both alike: the ranks beyond the power of two report to, and are released by, ranks whose distance \
     is the same either way; published: packed 37 % dearer";

const CLOSE: &str = "sequential and binary change places: 7 % apart here, 15 % there; how many looks at channels overlap decides it, \
     and that is taken from the number of line-fill buffers";

const COPIES: &str = "linear and chain are as published, the binary tree comes out five times too fast: in its last rounds 64 pairs \
     copy at once, and what that costs through Open MPI's buffers (7.1 ms for seven levels) is not in the two-rank rate that the model has; \
     caches and memory are far from saturated by 64 such streams, so it is the library's copying";

pub(crate) fn run() -> Result<Validation, Failure> {
    let mut points = Vec::new();
    let rome = |p: usize| {
        at(MachineCosts::named(ROME).map_err(Failure::run)?, p, &Placement::Compact, mpi::TRANSPORT)
    };
    let mut curve = |name,
                     what: &str,
                     data: Curve,
                     promise: Option<f64>,
                     misses: &[(usize, &'static str)],
                     schedule: fn(usize) -> Schedule|
     -> Result<(), Failure> {
        for &(ranks, published_us) in data {
            let model_us = rome(ranks)?.run(&schedule(ranks), 0.0).map_err(Failure::run)?.ns / 1e3;
            points.push(Point {
                curve: name,
                what: what.to_string(),
                ranks,
                published_us,
                model_us,
                within: promise.filter(|_| ranks >= 8),
                missed: misses.iter().find(|m| m.0 == ranks).map(|m| m.1),
            });
        }
        Ok(())
    };
    curve("V1", "default barrier", V1, Some(0.2), &[], mpi::default_barrier)?;
    let short: &[(usize, &str)] = &[(8, SHORT_WAIT)];
    curve("V2", "linear barrier", V2_LINEAR, Some(0.3), short, mpi::linear_barrier)?;
    curve("V2", "double ring", V2_RING, Some(0.3), &[], mpi::double_ring)?;
    curve("V2", "Bruck barrier", V2_BRUCK, None, &[], mpi::bruck)?;
    let thin = thin();
    let mut claims = Vec::new();
    for (&(ranks, core), &(_, socket)) in V3_CORE.iter().zip(V3_SOCKET) {
        let time = |placement: Placement| -> Result<f64, Failure> {
            let simulation = at(&thin, ranks, &placement, mpi::TRANSPORT)?;
            Ok(simulation.run(&mpi::default_barrier(ranks), 0.0).map_err(Failure::run)?.ns / 1e3)
        };
        let (ours_core, ours_socket) = (time(Placement::Compact)?, time(Placement::Scatter)?);
        for (what, published_us, model_us) in
            [("by core", core, ours_core), ("by socket", socket, ours_socket)]
        {
            let what = format!("default barrier, {what}");
            points.push(Point {
                curve: "V3",
                what,
                ranks,
                published_us,
                model_us,
                within: None,
                missed: None,
            });
        }
        claims.push(sign(ranks, core / socket, ours_core / ours_socket));
    }
    claims.extend(trees()?);
    claims.extend(broadcasts()?);
    Ok(Validation { points, claims })
}

fn sign(ranks: usize, published: f64, ours: f64) -> Claim {
    let missed = match ranks {
        16 => Some(SOCKET_OF_FOUR),
        20 => Some(ALIKE),
        _ => None,
    };
    Claim {
        curve: "V3",
        what: format!("{ranks} ranks: packed / spread"),
        published: format!("{published:.2}"),
        model: format!("{ours:.2}"),
        holds: (published < 1.0) == (ours < 1.0) && (ours - 1.0).abs() > 0.02,
        missed,
    }
}

fn trees() -> Result<Vec<Claim>, Failure> {
    let costs = MachineCosts::named("smelt-ivybridge-2x10").map_err(Failure::run)?;
    let simulation = at(costs, 20, &Placement::Compact, smelt::TRANSPORT)?;
    type Make = fn(&'static str) -> Schedule;
    let kinds: [(&str, Make); 3] =
        [("barrier", smelt::barrier), ("reduction", smelt::up), ("broadcast", smelt::down)];
    let mut claims = Vec::new();
    for (k, (kind, schedule)) in kinds.into_iter().enumerate() {
        let mut ours = Vec::new();
        for &(tree, _) in V4 {
            let ns = simulation.run(&schedule(tree), 8.0).map_err(Failure::run)?.ns;
            ours.push((tree, ns * smelt::GHZ / 1e3));
        }
        let published: Vec<(&str, f64)> = V4.iter().map(|&(tree, all)| (tree, all[k])).collect();
        claims.push(order(
            "V4",
            format!("{kind}, 20 threads, kilocycles"),
            published,
            ours,
            (kind == "reduction").then_some(CLOSE),
        ));
    }
    Ok(claims)
}

fn broadcasts() -> Result<Vec<Claim>, Failure> {
    let p = 128;
    let costs = MachineCosts::named(ROME).map_err(Failure::run)?;
    let simulation = at(costs, p, &Placement::Compact, mpi::TRANSPORT)?;
    let schedules = [
        (
            "linear",
            mpi::broadcast("linear", p, &|r| if r == 0 { (1..p).collect() } else { vec![] }),
        ),
        ("binary", mpi::broadcast("binary", p, &|r| vec![2 * r + 1, 2 * r + 2])),
        ("chain", mpi::broadcast("chain", p, &mpi::chain(p))),
    ];
    let mut claims = Vec::new();
    for (k, (size, bytes)) in [("2 B", 2.0), ("1 MiB", 1048576.0)].into_iter().enumerate() {
        let mut ours = Vec::new();
        for (name, schedule) in &schedules {
            // OSU's benchmark gives the mean over ranks, not the last one's time.
            let ranks = simulation.run(schedule, bytes).map_err(Failure::run)?.ranks;
            ours.push((*name, ranks.iter().sum::<f64>() / ranks.len() as f64 / 1e3));
        }
        let published = V5.iter().map(|&(name, all)| (name, all[k])).collect();
        claims.push(order(
            "V5",
            format!("broadcast of {size}, 128 ranks, us"),
            published,
            ours,
            (bytes > 2.0).then_some(COPIES),
        ));
    }
    Ok(claims)
}

/// The dearest first.
fn order(
    curve: &'static str,
    what: String,
    mut published: Vec<(&str, f64)>,
    mut ours: Vec<(&str, f64)>,
    missed: Option<&'static str>,
) -> Claim {
    let text = |list: &mut Vec<(&str, f64)>| {
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        let item = |(name, x): &(&str, f64)| format!("{name} {x:.2}");
        list.iter().map(item).collect::<Vec<_>>().join(" > ")
    };
    let (published_text, model) = (text(&mut published), text(&mut ours));
    let names = |list: &[(&str, f64)]| list.iter().map(|x| x.0.to_string()).collect::<Vec<_>>();
    let holds = names(&published) == names(&ours);
    Claim { curve, what, published: published_text, model, holds, missed }
}

/// ORFEO THIN nodes, 2 x 12 cores: hand-offs of a Cascade Lake machine, 47 and 134 ns (the nodes'
/// own were not published; their 2-byte latencies, 190 and 425 ns, are those of such hand-offs).
fn thin() -> MachineCosts {
    let level = |level, ns: f64| LevelCost {
        level,
        hand_off: [ns; 3],
        rate: None,
        source: "nviennot/core-to-core-latency, Xeon 8275CL".into(),
    };
    let mut costs =
        MachineCosts::named("orfeo-thin-2x12").cloned().unwrap_or_else(|e| panic!("{e}"));
    costs.levels = vec![level(Level::L3, 47.0), level(Level::Machine, 134.0)].into();
    costs
}

fn at(
    costs: &MachineCosts,
    p: usize,
    placement: &Placement,
    transport: Transport,
) -> Result<Simulation, Failure> {
    let machine = costs.machine().map_err(Failure::run)?;
    let ranks = assign(placement, &machine, p).map_err(Failure::run)?;
    Ok(Simulation::new(&machine, &ranks, costs).map_err(Failure::run)?.with_transport(transport))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_as_good_as_stated() {
        let validation = run().unwrap();
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
        assert_eq!(validation.points.iter().filter(|p| p.missed.is_some()).count(), 1);
    }
}
