//! The gain by levels, placement and schedules on larger machines: tables and a plot, modelled.

use super::markdown::wrapped;
use super::{open_mpi, published_nodes};
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Algorithm, Hierarchy, Operation, Request, Schedule};
use phalanx::tuning::{LevelModel, MachineCosts};
use phalanx_bench::byte_size;
use phalanx_bench::failure::Failure;
use phalanx_model::{Simulation, shapes};
use plotters::prelude::*;
use std::collections::HashMap;

/// Machines of the tables, one of each kind.
const MACHINES: [(&str, &str); 6] = [
    ("epyc-7742-2s-nps4", "Rome"),
    ("epyc-7763-2s", "Milan"),
    ("epyc-9654-2s-nps4", "Genoa"),
    ("xeon-8375c-2s", "Ice Lake"),
    ("kunpeng920-6426-2s", "Kunpeng 920"),
    ("graviton3", "Graviton3"),
];

/// Bytes of the all-reduces and broadcasts.
const SIZES: [usize; 6] = [8, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20];
/// Those of them that the tables have; the plot has all.
const SHOWN: [usize; 3] = [8, 16 << 10, 4 << 20];

/// One machine, all its cores, one hardware thread each.
struct Subject {
    name: &'static str,
    p: usize,
    machine: Machine,
    costs: &'static MachineCosts,
    placed: Simulation,
    model: Option<LevelModel>,
}

/// The fastest of several.
struct BestSchedule {
    name: String,
    ns: f64,
    schedule: Option<Schedule>,
}

impl Subject {
    fn new(id: &str, name: &'static str) -> Result<Self, Failure> {
        let costs = MachineCosts::named(id).map_err(Failure::run)?;
        let machine = costs.machine().map_err(Failure::run)?;
        let p = machine.cores().len();
        let ranks = assign(&Placement::Compact, &machine, p).map_err(Failure::run)?;
        let placed = Simulation::new(&machine, &ranks, costs).map_err(Failure::run)?;
        let model = LevelModel::new(&machine, &ranks, costs).map_err(Failure::run)?;
        Ok(Subject { name, p, machine, costs, placed, model })
    }

    fn at(&self, placement: &Placement) -> Result<Simulation, Failure> {
        let ranks = assign(placement, &self.machine, self.p).map_err(Failure::run)?;
        Simulation::new(&self.machine, &ranks, self.costs).map_err(Failure::run)
    }

    fn time(simulation: &Simulation, schedule: &Schedule, bytes: usize) -> Result<f64, Failure> {
        Ok(simulation.run(schedule, bytes as f64).map_err(Failure::run)?.ns)
    }

    fn of(&self, algorithm: Algorithm, operation: Operation) -> Result<Schedule, Failure> {
        algorithm.schedule(&Request::new(operation, self.p)).map_err(Failure::run)
    }

    /// The fastest of an operation's algorithms, hierarchical or not.
    fn best(
        &self,
        operation: Operation,
        bytes: usize,
        levels: bool,
    ) -> Result<BestSchedule, Failure> {
        let mut best = BestSchedule { name: String::from("-"), ns: f64::INFINITY, schedule: None };
        let mut consider = |name: String, schedule: Schedule| -> Result<(), Failure> {
            let ns = Subject::time(&self.placed, &schedule, bytes)?;
            if ns < best.ns {
                best = BestSchedule { name, ns, schedule: Some(schedule) };
            }
            Ok(())
        };
        for algorithm in Algorithm::for_operation(operation) {
            // One step a rank: a long way to a bad result on so many ranks.
            if is_hopeless(algorithm) || algorithm.uses_levels() != levels {
                continue;
            }
            let groups: Vec<Option<Hierarchy>> = match (&self.model, levels) {
                (Some(model), true) => shapes(model.hierarchy()).into_iter().map(Some).collect(),
                (None, true) => vec![],
                _ => vec![None],
            };
            for levels in groups {
                let mut request = Request::new(operation, self.p);
                let mut name = algorithm.id().to_string();
                if let Some(levels) = levels {
                    name += &format!(" ({levels})");
                    request = request.levels(levels);
                }
                if let Ok(schedule) = algorithm.schedule(&request) {
                    consider(name, schedule)?;
                }
            }
        }
        Ok(best)
    }

    /// The algorithm that the library would take at run time, and how long.
    fn chosen(&self, operation: Operation, bytes: usize) -> Result<String, Failure> {
        let decision = self.model.as_ref().and_then(|m| m.choose(operation, bytes, true));
        let Some(decision) = decision else { return Ok("-".to_string()) };
        let request = Request::new(operation, self.p).levels((*decision.levels).clone());
        let schedule = decision.algorithm.schedule(&request).map_err(Failure::run)?;
        let ns = Subject::time(&self.placed, &schedule, bytes)?;
        Ok(format!("{} {}", us(ns), decision.algorithm))
    }

    /// The messages of the algorithm that Open MPI (tuned) or MPICH (posix off) would take, over
    /// our mailboxes: the worth of the schedule alone.
    fn peer(&self, operation: Operation, bytes: usize, mpich: bool) -> Result<Schedule, Failure> {
        let pow2 = self.p.is_power_of_two();
        let algorithm = match operation {
            Operation::AllReduce if mpich && bytes > 8 || bytes >= 256 << 10 => match pow2 {
                true => Algorithm::AR_SPLIT_HCUBE,
                false => Algorithm::AR_SPLIT_ANY,
            },
            Operation::AllReduce => Algorithm::AR_ANY,
            Operation::Broadcast if bytes <= 12 << 10 || !mpich => Algorithm::BC_ANY,
            Operation::Broadcast if bytes <= 512 << 10 && pow2 => Algorithm::BC_SPLIT_HCUBE,
            _ => Algorithm::BC_SPLIT_RING,
        };
        match operation {
            Operation::Barrier if mpich => Ok(open_mpi::bruck(self.p)),
            Operation::Barrier => Ok(open_mpi::default_barrier(self.p)),
            _ => self.of(algorithm, operation),
        }
    }
}

fn is_hopeless(algorithm: Algorithm) -> bool {
    let id = algorithm.id();
    ["NAIVE", "CHAIN", "RING", "LINEAR", "PIPE", "AP-"].iter().any(|part| id.contains(part))
}

fn us(ns: f64) -> String {
    match ns / 1e3 {
        us if us < 10.0 => format!("{us:.2}"),
        us if us < 100.0 => format!("{us:.1}"),
        us => format!("{us:.0}"),
    }
}

/// The page in docs/, and the plot beside it.
pub(crate) fn page() -> Result<(String, String), Failure> {
    let subjects = MACHINES.iter().map(|&(id, name)| Subject::new(id, name));
    let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    let mut out = String::from(
        "# The worth of levels and placement\n\n\
         **Modelled, not measured** (`phalanx model worth -o docs/modelled.md`): all cores of \
         published machines, one rank a core, their published hand-off times. \
         [validation.md](validation.md) says how good the model is. Times are in microseconds. \
         Rates that were not published are derived from hand-offs, so sizes from 16 KiB on are \
         rougher than the rest. **They are too good**: published runs on a node like Rome take \
         1.3 to 8 times what stands here, and the model that holds against them (V6 to V8 there) \
         has its own table of this library's choice.\n\n\
         ![All-reduce on six machines, modelled](modelled.svg)\n",
    );
    out += &barrier(&subjects)?;
    let mut random = HashMap::new();
    for subject in &subjects {
        random.insert(subject.name, subject.at(&Placement::Random(1))?);
    }
    let mut curves = Vec::new();
    for (operation, title) in
        [(Operation::AllReduce, "All-reduce"), (Operation::Broadcast, "Broadcast")]
    {
        out += &format!(
            "\n## {title}\n\n| machine | bytes | best flat | best with levels | chosen by the \
             library | best, ranks at random places | best schedule of Open MPI and MPICH / best \
             |\n|---|---|---|---|---|---|---|\n"
        );
        for subject in &subjects {
            for bytes in SIZES {
                let flat = subject.best(operation, bytes, false)?;
                let levels = subject.best(operation, bytes, true)?;
                let open =
                    Subject::time(&subject.placed, &subject.peer(operation, bytes, false)?, bytes)?;
                let mpich =
                    Subject::time(&subject.placed, &subject.peer(operation, bytes, true)?, bytes)?;
                let best = if levels.ns < flat.ns { &levels } else { &flat };
                let ours = best.ns;
                let with = match levels.ns.is_finite() {
                    true => {
                        let id = levels.name.split(' ').next().unwrap_or("");
                        format!("{} {id}", us(levels.ns))
                    }
                    false => "-".to_string(),
                };
                let strewn = match &best.schedule {
                    Some(schedule) => Subject::time(&random[&subject.name], schedule, bytes)?,
                    None => f64::NAN,
                };
                if operation == Operation::AllReduce {
                    curves.push((subject.name, bytes, ours, open, mpich));
                }
                if !SHOWN.contains(&bytes) {
                    continue;
                }
                let chosen = subject.chosen(operation, bytes)?;
                out += &format!(
                    "| {} | {} | {} {} | {with} | {chosen} | {} | {:.2} |\n",
                    subject.name,
                    byte_size::text(bytes),
                    us(flat.ns),
                    flat.name,
                    us(strewn),
                    open.min(mpich) / ours
                );
            }
        }
    }
    out += &published_nodes::standings();
    out += FOUND;
    Ok((wrapped(&out), plot(&curves)?))
}

const FOUND: &str = "\n## Results\n\n\
- A hierarchical barrier three times as fast as recursive doubling, at 128 ranks on the \
two-socket EPYCs, is not possible by the model: a single message over the link takes more than a \
third of doubling's time. Doubling over ranks that sit side by side *is* hierarchical, bit by \
bit, and crosses each boundary once. Levels win a quarter on Genoa, whose caches are 3 a node. \
Placement makes the larger difference: doubling over random places takes 1.8 to 2.6 times as \
long.\n\
- Trees over levels win where messages go one way (broadcast), and for vectors of 16 KiB to 4 \
MiB, which cross the slow links once per group (1.3 to 3.2 times the better of the two peers' \
schedules); at 64 MiB memory bounds all alike on the EPYCs.\n\
- The library's estimates mostly choose the algorithm that the simulation finds best, or one near \
it. Where V6 to V8 speak against the simulation (cores store faster than they read), they follow \
the curves: `AR-FUSED` and `BC-FUSED` of long vectors.\n\
- A central counter costs a transfer per rank: 3.7 to 6.3 times the best.\n";

fn barrier(subjects: &[Subject]) -> Result<String, Failure> {
    let mut out = String::from(
        "\n## Barrier\n\n| machine | ranks | doubling, identity | doubling, scattered | doubling, \
         random | dissemination | best with levels | | central counter | Open MPI's messages | \
         doubling, random / best |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for subject in subjects {
        let of = |algorithm| subject.of(algorithm, Operation::Barrier);
        let doubling = of(Algorithm::BAR_AR)?;
        let over = |placement: Placement| Subject::time(&subject.at(&placement)?, &doubling, 0);
        let (identity, scattered) = (over(Placement::Identity)?, over(Placement::Scatter)?);
        let random = over(Placement::Random(1))?;
        let dissemination = Subject::time(&subject.placed, &of(Algorithm::BAR_ANY)?, 0)?;
        let levels = subject.best(Operation::Barrier, 0, true)?;
        let flat = subject.best(Operation::Barrier, 0, false)?;
        let mpi = subject.placed.clone().with_transport(open_mpi::TRANSPORT);
        let mpi = Subject::time(&mpi, &subject.peer(Operation::Barrier, 0, false)?, 0)?;
        let (time, name) = match levels.ns.is_finite() {
            true => (us(levels.ns), levels.name.split(' ').next().unwrap_or("")),
            false => ("-".to_string(), "one level"),
        };
        out += &format!(
            "| {} | {} | {} | {} | {} | {} | {time} | {name} | {} | {} | {:.2} x |\n",
            subject.name,
            subject.p,
            us(identity),
            us(scattered),
            us(random),
            us(dissemination),
            us(subject.placed.counter_barrier()),
            us(mpi),
            random / levels.ns.min(flat.ns)
        );
    }
    Ok(out)
}

/// Six panels, bytes against microseconds.
fn plot(curves: &[(&'static str, usize, f64, f64, f64)]) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (900, 560)).into_drawing_area();
        root.fill(&WHITE).map_err(Failure::run)?;
        let titled = root
            .titled("All-reduce, all cores: modelled, not measured", ("sans-serif", 18))
            .map_err(Failure::run)?;
        for (panel, (_, name)) in titled.split_evenly((2, 3)).iter().zip(MACHINES) {
            let own: Vec<_> = curves.iter().filter(|c| c.0 == name).collect();
            let times = own.iter().flat_map(|c| [c.2, c.3, c.4]).map(|ns| ns / 1e3);
            let (low, high) = times.fold((f64::INFINITY, 0.0f64), |(l, h), t| (l.min(t), h.max(t)));
            let mut chart = ChartBuilder::on(panel)
                .caption(name, ("sans-serif", 14))
                .margin(6)
                .x_label_area_size(28)
                .y_label_area_size(48)
                .build_cartesian_2d((8.0f64..1e8).log_scale(), (low / 1.5..high * 1.5).log_scale())
                .map_err(Failure::run)?;
            chart
                .configure_mesh()
                .disable_mesh()
                .x_desc("bytes")
                .y_desc("us")
                .x_labels(4)
                .y_labels(5)
                .x_label_formatter(&|x| byte_size::text(*x as usize))
                .y_label_formatter(&|y| format!("{y:.0}"))
                .draw()
                .map_err(Failure::run)?;
            type Pick = fn(&&(&'static str, usize, f64, f64, f64)) -> f64;
            let lines: [(&str, RGBColor, Pick); 3] = [
                ("best of ours", RGBColor(0, 90, 181), |c| c.2),
                ("Open MPI's schedule", RGBColor(220, 50, 32), |c| c.3),
                ("MPICH's schedule", RGBColor(120, 120, 120), |c| c.4),
            ];
            for (label, colour, pick) in lines {
                let points = own.iter().map(|c| (c.1 as f64, pick(c) / 1e3));
                chart
                    .draw_series(LineSeries::new(points, colour.stroke_width(2)))
                    .map_err(Failure::run)?
                    .label(label)
                    .legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
                    });
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .label_font(("sans-serif", 10))
                .background_style(WHITE.mix(0.8))
                .draw()
                .map_err(Failure::run)?;
        }
        root.present().map_err(Failure::run)?;
    }
    Ok(svg)
}
