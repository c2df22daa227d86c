//! The cost of the library's own choice beside the best algorithm of the catalogue, on a published
//! machine of any size. **Modelled, never measured.**

use super::{Effect, Simulation, SimulationError, shapes};
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Algorithm, Hierarchy, Operation, Request};
use phalanx::tuning::{LevelModel, MachineCosts, Profile, Tuning};
use std::error::Error;

/// Bytes of the vector, or of a block where there is one for each rank.
pub const SCALING_SIZES: [usize; 5] = [8, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

/// The way of small calls of few ranks, which is no algorithm of the catalogue: every rank shows
/// its bytes to all, in one step.
pub const GATES: &str = "gates";

/// Ranks and bytes up to which that is the way, where all ranks are equally near.
const GATED: (usize, usize) = (4, 1024);

/// Machines of the page, one of each kind: id and name.
pub(super) const MACHINES: [(&str, &str); 6] = [
    ("epyc-7742-2s-nps4", "Rome"),
    ("epyc-7763-2s", "Milan"),
    ("epyc-9654-2s-nps4", "Genoa"),
    ("xeon-8375c-2s", "Ice Lake"),
    ("kunpeng920-6426-2s", "Kunpeng 920"),
    ("graviton3", "Graviton3"),
];

/// Whether the simulation can tell what an algorithm costs beside others. The messages of one step
/// share a link, those of different steps do not: a star that sends step by step and a chain look
/// as if links were free. And a core's messages on several ports pull at once, as no core does.
fn is_comparable(algorithm: Algorithm) -> bool {
    let id = algorithm.id();
    !["NAIVE", "CHAIN", "PIPE", "-AP-"].iter().any(|part| id.contains(part))
}

/// An operation's default beside the best of the catalogue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScalingRow {
    /// The machine's id.
    pub machine: &'static str,
    /// Ranks, one a core.
    pub ranks: usize,
    /// The operation.
    pub operation: Operation,
    /// Bytes of the vector, or of a block.
    pub bytes: usize,
    /// What a team takes that nothing is forced in and nothing calibrated for: an algorithm's id,
    /// or [`GATES`].
    pub chosen: &'static str,
    /// Its nanoseconds.
    pub ns: f64,
    /// The cheapest of the catalogue whose links the simulation sees shared: an id, or as above.
    pub best: &'static str,
    /// Its nanoseconds.
    pub best_ns: f64,
}

impl ScalingRow {
    /// How many times as long as the best the default takes: at least 1.
    pub fn ratio(&self) -> f64 {
        if self.best_ns > 0.0 { self.ns / self.best_ns } else { 1.0 }
    }
}

/// The machine with that many cores: as it is published where they suffice, else with more of its
/// packages (one package: with more cores), which nobody has built.
fn with_cores(costs: &MachineCosts, ranks: usize) -> Result<Machine, Box<dyn Error>> {
    let machine = costs.machine()?;
    let cores = machine.cores().len();
    if ranks <= cores {
        return Ok(machine);
    }
    let packages = costs.synthetic.split_once(' ').and_then(|(first, rest)| {
        let packages: usize = first.strip_prefix("pack:")?.parse().ok()?;
        Some((packages, rest))
    });
    let Some((packages, rest)) = packages else {
        return Err(format!("{}: its description begins with no packages", costs.id).into());
    };
    let shape = match packages {
        1 => format!("pack:1 {}", rest.replace(&format!("core:{cores}"), &format!("core:{ranks}"))),
        _ => format!("pack:{} {rest}", (ranks * packages).div_ceil(cores)),
    };
    Ok(Machine::from_synthetic(&shape)?)
}

/// Ranks on a machine, one a core.
struct Subject {
    machine: &'static str,
    ranks: usize,
    simulation: Simulation,
    levels: Option<LevelModel>,
    /// The sizes that a team of as many ranks has there.
    rules: Profile,
}

impl Subject {
    fn new(id: &str, ranks: usize) -> Result<Self, Box<dyn Error>> {
        let costs = MachineCosts::named(id)?;
        let machine = with_cores(costs, ranks)?;
        let places = assign(&Placement::Compact, &machine, ranks)?;
        let simulation = Simulation::new(&machine, &places, costs)?;
        let levels = LevelModel::new(&machine, &places, costs)?;
        let rules = Profile::default().with_tuning(ranks, Tuning::of(&machine, ranks))?;
        Ok(Subject { machine: &costs.id, ranks, simulation, levels, rules })
    }

    fn request(&self, operation: Operation) -> Request {
        Request::new(operation, self.ranks).shift(1)
    }

    /// None if the algorithm cannot serve, or has too many messages to be simulated.
    fn time(
        &self,
        algorithm: Algorithm,
        request: &Request,
        bytes: usize,
    ) -> Result<Option<f64>, SimulationError> {
        let Ok(schedule) = algorithm.schedule(request) else { return Ok(None) };
        match self.simulation.run(&schedule, bytes as f64) {
            Ok(outcome) => Ok(Some(outcome.ns)),
            Err(SimulationError::Messages { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn chosen(&self, operation: Operation, bytes: usize) -> (Algorithm, Request) {
        let request = self.request(operation);
        let model = self.levels.as_ref();
        match model.and_then(|model| model.choose(operation, bytes.max(1), true)) {
            Some(choice) => (choice.algorithm, request.levels(Hierarchy::clone(&choice.levels))),
            None => (self.rules.algorithm(operation, self.ranks, bytes), request),
        }
    }

    /// What the catalogue has for an operation, over the machine's groups.
    fn catalogue(&self, operation: Operation) -> Vec<(Algorithm, Request)> {
        let request = self.request(operation);
        let requests = |algorithm: Algorithm| match algorithm.uses_levels() {
            true => {
                let groups = self.levels.iter().flat_map(|model| shapes(model.hierarchy()));
                groups.map(|levels| request.clone().levels(levels)).collect()
            }
            false => vec![request.clone()],
        };
        Algorithm::for_operation(operation)
            .filter(|&algorithm| is_comparable(algorithm))
            .flat_map(|algorithm| requests(algorithm).into_iter().map(move |r| (algorithm, r)))
            .collect()
    }

    /// The time at the gates, where that is the way of a call.
    fn at_gates(&self, operation: Operation, bytes: usize) -> Result<Option<f64>, Box<dyn Error>> {
        let all = match operation {
            Operation::AllToAll | Operation::AllToAllInPlace => bytes * self.ranks,
            // Between two ranks a message.
            Operation::Scan | Operation::ExclusiveScan if self.ranks > 2 => bytes,
            Operation::AllGather | Operation::AllReduce | Operation::Barrier => bytes,
            _ => return Ok(None),
        };
        let (ranks, most) = GATED;
        if self.levels.is_some() || self.ranks > ranks || all > most {
            return Ok(None);
        }
        // Each reads what all show; nobody waits at the end, since what is shown is a copy.
        let schedule = Algorithm::AG_FUSED.schedule(&self.request(Operation::AllGather))?;
        let simulation = self.simulation.without(Effect::DirectAccess);
        let read = if all > bytes { bytes } else { all };
        Ok(Some(simulation.run(&schedule, read as f64)?.ns))
    }

    fn row(&self, operation: Operation, bytes: usize) -> Result<ScalingRow, Box<dyn Error>> {
        let (chosen, request) = self.chosen(operation, bytes);
        let (chosen, ns) = match self.at_gates(operation, bytes)? {
            Some(ns) => (GATES, ns),
            None => {
                let Some(ns) = self.time(chosen, &request, bytes)? else {
                    return Err(format!("{chosen} on {} ranks: no time", self.ranks).into());
                };
                (chosen.id(), ns)
            }
        };
        let (mut best, mut best_ns) = (chosen, ns);
        for (algorithm, request) in self.catalogue(operation) {
            if let Some(ns) = self.time(algorithm, &request, bytes)?
                && ns < best_ns
            {
                (best, best_ns) = (algorithm.id(), ns);
            }
        }
        let (machine, ranks) = (self.machine, self.ranks);
        Ok(ScalingRow { machine, ranks, operation, bytes, chosen, ns, best, best_ns })
    }
}

/// The defaults of all operations on `ranks` cores of a published machine, by
/// [`SCALING_SIZES`], each beside the best of the catalogue. A machine of fewer cores gets more of
/// its packages.
///
/// # Errors
/// No such machine.
pub fn scaling(id: &str, ranks: usize) -> Result<Vec<ScalingRow>, Box<dyn Error>> {
    let subject = Subject::new(id, ranks)?;
    let mut all = Vec::new();
    for operation in Operation::ALL {
        let sizes = if operation == Operation::Barrier { &[0][..] } else { &SCALING_SIZES };
        for &bytes in sizes {
            all.push(subject.row(operation, bytes)?);
        }
    }
    Ok(all)
}
