//! `phalanx model`: the machine cost model. It prints published curves beside ours, and the
//! modelled times of an operation's algorithms on a machine.

use super::predict::Predict;
use crate::model::validate::{self, Setup, Validation};
use crate::model::{large_machines, placed, published_nodes, scale, validation_page};
use phalanx::machine::Machine;
use phalanx::placement::{Placement, hierarchy};
use phalanx::schedule::{Algorithm, Operation, Request, Schedule};
use phalanx::tuning::MachineCosts;
use phalanx_bench::byte_size;
use phalanx_bench::failure::Failure;
use phalanx_bench::output::{Format, OutputArgs};
use phalanx_bench::paper::{cells, ids};
use phalanx_bench::prose::{self, say};
use phalanx_bench::source::{SourceArgs, summary};
use phalanx_bench::suggest;
use phalanx_model::{Effect, Effects, Simulation, SimulationError, scaling_page};
use serde_json::{Value, json};

const ABOUT: &str = "\
MODELLED, never measured: every rank has a clock; a message is a cache line that is handed over, at
  the published time of the level where the two cores meet; more than 40 bytes are pulled at the
  core's rate or its share of the narrowest door (L3, node, package). Costs come from the table of
  published machines (--list); a machine that is not in it takes those of the one whose shape is
  nearest, and the output says which. --without EFFECT switches an effect off; without all of them
  it is t_s + t_w m.

VALIDATE: published curves beside ours; as text with what was fitted to them, what was chosen in
  their sight, and what each effect and constant buys. Exit code 1 if a point is not as close as
  promised, unless it stands in the list of known misses; or stands there and is no miss.

WORTH: tables of all cores of six machines: flat against levels, placed against not, our schedules
  against Open MPI's and MPICH's; with -o FILE.md a plot FILE.svg beside it.

PREDICT: microseconds of a collective for 8 bytes to 64 MiB on one of the two published nodes,
  --machine epyc-2x64 or grace: by MPICH, Open MPI, ext_mpi or Phalanx, each by its own schedule, as
  OSU's benchmarks report it (the mean over the ranks). Of MPICH the faster of its blocking and
  persistent calls (--how keeps one); of ext_mpi the best of its authors' radices. --spread deals
  the ranks over the packages. As tsv a line for each size, bytes and us, without a head.

SCALE: seconds that simulating each algorithm on -p ranks takes, on a made-up
  machine of up to 4096 cores.

SCALING: a page: what the library takes by itself beside the best of the catalogue, for 2 to 256
  ranks on six machines, which get more packages where they have fewer cores.

COLUMNS: id ranks bytes ns ns_p10 ns_p90. In ns every hand-off takes its level's median; the
  percentiles are of nine runs in which hand-offs spread as the pairs of their level do. A step
  waits for its slowest hand-off, so ns may lie below ns_p10. validate: curve what ranks
  published_us model_us error within. scale: id op ranks steps messages s_8 s_64k s_schedule.

Example:
  phalanx model all-reduce -p 128 --machine epyc-9654-2s-nps4 -m 8";

const COLUMNS: [&str; 6] = ["id", "ranks", "bytes", "ns", "ns_p10", "ns_p90"];
const SCALE: [&str; 8] = ["id", "op", "ranks", "steps", "messages", "s_8", "s_64k", "s_schedule"];
const POINTS: [&str; 7] = ["curve", "what", "ranks", "published_us", "model_us", "error", "within"];

/// What collectives would take on a machine, and how well the model does on published ones
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(
    after_help = "Example:\n  phalanx model all-reduce -p 128 --machine epyc-9654-2s-nps4\n\nMore \
                  with --help."
)]
pub struct Model {
    /// An operation or an algorithm's id; validate; predict; worth; scale; scaling
    #[arg(
        value_name = "OP|ID|validate|predict|worth|scale|scaling",
        required_unless_present = "list"
    )]
    what: Option<String>,
    /// The published machines
    #[arg(long)]
    list: bool,
    /// Ranks
    #[arg(short, long, value_name = "RANKS", default_value = "64")]
    pub(crate) p: usize,
    /// Bytes of the vector, or of one block where there are p
    #[arg(short, long, value_name = "BYTES", default_value = "8", value_parser = byte_size::parse)]
    m: usize,
    /// A machine of the table, by its id
    #[arg(long, value_name = "ID")]
    machine: Option<String>,
    /// Where the ranks sit: compact, identity, random:SEED, ring, .. as for bench
    #[arg(long, value_name = "P", default_value = "compact")]
    placement: Placement,
    #[command(flatten)]
    predict: Predict,
    /// Effects to leave out
    #[arg(long, value_name = "EFFECT", value_delimiter = ',', value_parser = parse_effect)]
    without: Vec<Effect>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Rank-steps beyond which an algorithm is left out of a ranking.
const MOST_WORK: usize = 1 << 20;

/// Why the time of so many rows is not between their percentiles; nothing if it always is.
fn foot(outside: usize) -> String {
    if outside == 0 {
        return String::new();
    }
    let said = format!(
        "# In {outside} of these ns is not between ns_p10 and ns_p90: in ns every hand-off takes \
         its level's median; in the percentiles hand-offs spread, and a step waits for its slowest."
    );
    prose::folded(&said) + "\n"
}

/// Steps of all ranks, and the messages of the paths on which everybody meets everybody.
fn work(schedule: &Schedule, algorithm: Algorithm) -> usize {
    let p = schedule.contract().ranks;
    let everybody = matches!(algorithm.id(), id if id.contains("FUSED"));
    schedule.steps() * p * if everybody { p } else { 1 }
}

fn parse_effect(text: &str) -> Result<Effect, String> {
    let all: Vec<String> = Effect::ALL.iter().map(Effect::to_string).collect();
    let known: Vec<&str> = all.iter().map(String::as_str).collect();
    let found = Effect::ALL.into_iter().find(|e| e.to_string() == suggest::plain(text));
    found.ok_or_else(|| suggest::unknown("effect", text, &known))
}

impl Model {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.what.as_deref() {
            _ if self.list => self.machines(),
            Some("validate") => self.validate(),
            Some("predict") => self.predict(),
            Some("worth") => self.worth(),
            Some("scale") => self.scale(),
            Some("scaling") => self.scaling(),
            Some(name) => match ids::parse(name) {
                Ok(algorithm) => self.ranking(algorithm.operations()[0], Some(algorithm)),
                Err(_) => self.ranking(ids::parse_operation(name).map_err(Failure::usage)?, None),
            },
            None => Err(Failure::usage("an operation or validate is needed")),
        }
    }

    fn machines(&self) -> Result<(), Failure> {
        let columns = ["id", "name", "shape", "hand_off_ns"];
        let rows: Vec<Vec<Value>> = MachineCosts::all()
            .iter()
            .map(|m| {
                let level =
                    |l: &phalanx::tuning::LevelCost| format!("{} {}", l.level.key(), l.hand_off[1]);
                let levels: Vec<String> = m.levels.iter().map(level).collect();
                vec![json!(m.id), json!(m.name), json!(m.synthetic), json!(levels.join(", "))]
            })
            .collect();
        self.write(&columns, rows, [""; 2], json!({}))
    }

    fn ranking(&self, operation: Operation, only: Option<Algorithm>) -> Result<(), Failure> {
        let (machine, costs, note) = self.costs()?;
        let ranks = placed(&self.placement, &machine, self.p)?;
        let without = |set: Effects, e: &Effect| set.without(*e);
        let base = Simulation::new(&machine, &ranks, &costs).map_err(Failure::usage)?;
        let effects = self.without.iter().fold(Effects::ALL.without(Effect::Spread), without);
        let simulation = base.with_effects(effects);
        let spreads = !self.without.contains(&Effect::Spread);
        let request = Request::new(operation, self.p);
        let mut all = Vec::new();
        let groups = hierarchy(&machine, &ranks);
        let mut left_out = 0;
        for algorithm in Algorithm::for_operation(operation) {
            if only.is_some_and(|only| only != algorithm) {
                continue;
            }
            let request = request.clone().levels(groups.clone());
            let Ok(schedule) = algorithm.schedule(&request) else { continue };
            if only.is_none() && work(&schedule, algorithm) > MOST_WORK {
                left_out += 1;
                continue;
            }
            let m = self.m as f64;
            let ns = match simulation.run(&schedule, m) {
                Ok(outcome) => outcome.ns,
                Err(SimulationError::Messages { .. }) if only.is_none() => {
                    left_out += 1;
                    continue;
                }
                Err(e) => {
                    return Err(Failure::usage(format!("{algorithm}, {} ranks: {e}", self.p)));
                }
            };
            let spread = match spreads && self.p <= 256 {
                true => Some(simulation.spread(&schedule, m, 9).map_err(Failure::run)?),
                false => None,
            };
            all.push((algorithm, ns, spread));
        }
        if left_out > 0 {
            say(&format!(
                "{left_out} algorithms of very many messages left out; name one to simulate it"
            ));
        }
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let tenth = |ns: f64| json!((ns * 10.0).round() / 10.0);
        let rows = all
            .iter()
            .map(|(algorithm, ns, spread)| {
                let at = |i: usize| spread.map_or(Value::Null, |s| tenth(s[i]));
                vec![json!(algorithm.id()), json!(self.p), json!(self.m), tenth(*ns), at(0), at(2)]
            })
            .collect();
        let head =
            format!("# modelled, not measured: {operation} on {note}, ranks {}\n", self.placement);
        let outside = all.iter().filter(|(_, ns, spread)| {
            spread.is_some_and(|[p10, _, p90]| !(p10..=p90).contains(ns))
        });
        let foot = foot(outside.count());
        let placement = self.placement.to_string();
        let more = json!({ "modelled": true, "machine": costs.id, "placement": placement });
        self.write(&COLUMNS, rows, [&head, &foot], more)
    }

    /// The machine, its costs, and their words.
    fn costs(&self) -> Result<(Machine, MachineCosts, String), Failure> {
        if let Some(id) = &self.machine {
            let costs = MachineCosts::named(id).map_err(Failure::usage)?;
            let machine = match self.source.is_named() {
                true => self.source.read()?,
                false => costs.machine().map_err(Failure::run)?,
            };
            return Ok((machine, costs.clone(), costs.name.to_string()));
        }
        let machine = self.source.read()?;
        let (costs, same) = MachineCosts::nearest(&machine);
        let like = if same {
            "with the costs of"
        } else {
            "with the costs of the most similar in the table,"
        };
        let note = format!("{}, {like} {}", summary(&machine), costs.name);
        Ok((machine, costs.clone(), note))
    }

    fn predict(&self) -> Result<(), Failure> {
        let rows = self.predict.rows(self.machine.as_deref(), self.p)?;
        if matches!(self.output.format, Format::Tsv) {
            let line = |(bytes, us): &(u64, f64)| format!("{bytes}\t{us}\n");
            return self.output.open()?.write(&rows.iter().map(line).collect::<String>());
        }
        let rows = rows.into_iter().map(|(bytes, us)| vec![json!(bytes), json!(us)]).collect();
        let head = "# modelled, not measured; phalanx model validate has the model's errors\n";
        self.write(&["bytes", "us"], rows, [head, ""], json!({ "modelled": true }))
    }

    fn worth(&self) -> Result<(), Failure> {
        let (page, plot) = large_machines::page()?;
        if let Some(path) = self.output.path() {
            let svg = path.with_extension("svg");
            let wrong = |e| Failure::Usage(format!("{} cannot be written: {e}", svg.display()));
            std::fs::write(&svg, plot).map_err(wrong)?;
        }
        self.output.open()?.write(&page)
    }

    fn scale(&self) -> Result<(), Failure> {
        let rows = scale::rows(self.p)?;
        if matches!(self.output.format, Format::Text) {
            return self.output.open()?.write(&scale::page(self.p, &rows));
        }
        let row = |r: &scale::ScaleRow| {
            let [small, large] = r.seconds;
            let (id, op) = (r.algorithm.id(), r.operation.to_string());
            vec![
                json!(id),
                json!(op),
                json!(self.p),
                json!(r.steps),
                json!(r.messages),
                json!(small),
                json!(large),
                json!(r.schedule),
            ]
        };
        self.write(&SCALE, rows.iter().map(row).collect(), [""; 2], json!({}))
    }

    fn scaling(&self) -> Result<(), Failure> {
        self.output.open()?.write(&scaling_page().map_err(Failure::run)?)
    }

    fn validate(&self) -> Result<(), Failure> {
        let validation = Setup::default().run()?;
        let collectives = published_nodes::points();
        let rows: Vec<Vec<Value>> = validation
            .points
            .iter()
            .map(|p| {
                let round = |x: f64| json!((x * 100.0).round() / 100.0);
                vec![
                    json!(p.curve),
                    json!(p.what),
                    json!(p.ranks),
                    round(p.published_us),
                    round(p.model_us),
                    round(p.error()),
                    p.within.map_or(Value::Null, |w| json!(w)),
                ]
            })
            .chain(collectives.iter().map(published_nodes::row))
            .collect();
        match self.output.format {
            Format::Text => self.output.open()?.write(&validation_page::of(&validation)?)?,
            _ => self.write(&POINTS, rows, [""; 2], json!({ "claims": claims(&validation) }))?,
        }
        let wrong = validation.points.iter().filter(|p| !p.is_as_stated()).count()
            + validation.claims.iter().filter(|c| !c.is_as_stated()).count()
            + published_nodes::wrong(&collectives);
        match wrong {
            0 => Ok(()),
            n => Err(Failure::Checks(format!("{n} points or claims are not as stated"))),
        }
    }

    /// Writes the rows; as text between a head and a foot.
    fn write(
        &self,
        columns: &[&str],
        rows: Vec<Vec<Value>>,
        [head, foot]: [&str; 2],
        mut more: Value,
    ) -> Result<(), Failure> {
        let text = match self.output.format {
            Format::Text => head.to_string() + &cells::text(columns, &rows) + foot,
            Format::Tsv => {
                let head = columns.join("\t") + "\n";
                rows.iter().fold(head, |out, row| out + &cells::tsv(row))
            }
            Format::Json => {
                let rows = rows.into_iter().map(|row| cells::object(columns, row)).collect();
                more["rows"] = Value::Array(rows);
                format!("{more:#}\n")
            }
        };
        self.output.open()?.write(&text)
    }
}

fn claims(validation: &Validation) -> Value {
    let claim = |c: &validate::Claim| {
        json!({
            "curve": c.curve, "what": c.what, "published": c.published, "model": c.model,
            "holds": c.holds(), "missed": c.missed,
        })
    };
    Value::Array(validation.claims.iter().map(claim).collect())
}
