//! `phalanx cost`: steps, start-ups and words, counted and by formula; on a
//! physical network with its congestion; and the ranking of an operation's
//! algorithms.

use crate::failure::Failure;
use crate::output::{Format, OutputArgs};
use crate::paper::call::CallArgs;
use crate::paper::ids;
use crate::prose;
use crate::source::SourceArgs;
use crate::suggest;
use crate::table::{Table, exact};
use phalanx::schedule::{Algorithm, Operation, Request};
use phalanx_model::{
    BadNetwork, ClosedForm, Congestion, Cost, Exactness, Network, Rates, Ratio, StepOn, bound,
    closed_form, rank,
};
use serde_json::{Value, json};

const ABOUT: &str = "\
MODEL: a message of m words costs t_s + t_w m, a step as much as its most loaded rank, a schedule
  the sum of its steps. steps, ts_count and tw_words are counted message by message, in fractions,
  for messages of --words; closed_form is the catalogue's formula for the same. If the two differ,
  the exit code is 1. time = ts_count * --ts + tw_words * --tw.

NETWORKS: with --on, every message is routed (meshes and hypercubes lowest dimension first, rings
  the shorter way, trees over the lowest common switch); dilation is the longest way in channels,
  congestion the most messages on one channel in one direction in a step, and tw_words and time are
  those of the most loaded channel of each step. The rank's node has the rank's number; CS-HC-RGC-*
  on a hypercube lie along the Gray code. --on machine is the tree of this machine's caches and
  nodes, or of the one named by --synthetic, --xml or --sysfs. Mesh and torus take --dims.

RANKING: --all OP sorts the algorithms of an operation by time, cheapest first. Algorithms that
  need more than --ports messages at once per rank are left out. Pipelined chains get their best
  number of segments.

COLUMNS (tsv, json): id ranks steps ts_count tw_words time dilation congestion closed_form.

Example:
  phalanx cost AG-HCUBE AG-HCUBE-DESC AG-RING -p 64 --on tree
  phalanx cost --all all-reduce -p 64 --ts 0.1 --tw 0.001";

const COLUMNS: [&str; 9] = [
    "id",
    "ranks",
    "steps",
    "ts_count",
    "tw_words",
    "time",
    "dilation",
    "congestion",
    "closed_form",
];

/// Up to so many ranks a ranking counts messages instead of using formulas.
const COUNTED: usize = 128;

/// The cost of algorithms by the model, counted and by formula
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx cost AG-HCUBE -p 64 --on ring\n\nMore with --help.")]
pub(crate) struct CostArgs {
    /// Algorithms' ids, such as AG-RING
    #[arg(value_name = "ID", value_parser = ids::parse, required_unless_present = "all")]
    ids: Vec<Algorithm>,
    /// All algorithms of an operation, the cheapest first
    #[arg(long, value_name = "OP", value_parser = ids::parse_operation)]
    #[arg(hide_possible_values = true, conflicts_with = "ids")]
    all: Option<Operation>,
    #[command(flatten)]
    call: CallArgs,
    /// Start-up time t_s of a message
    #[arg(long, value_name = "T", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = parse_time)]
    ts: f64,
    /// Time t_w per word
    #[arg(long, value_name = "T", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = parse_time)]
    tw: f64,
    /// Messages that a rank has under way at once [default: as many as the algorithm asks for; with
    /// --all: 1]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_ports)]
    ports: Option<usize>,
    /// ring, linear, mesh, torus, hypercube, tree or machine
    #[arg(long, value_name = "NETWORK", value_parser = parse_network)]
    on: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A row before it is written.
struct CostRow {
    algorithm: Algorithm,
    ranks: usize,
    cost: Cost,
    on: Option<Congestion>,
    form: ClosedForm,
    bound: Option<ClosedForm>,
    /// Whether the count (without a network) is the formula's; unknown if it was not counted.
    agrees: Option<bool>,
}

impl CostArgs {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let network = self.network()?;
        if self.all.is_none() && network.is_some() && self.ports.is_some() {
            let what = "--ports with --on: on a network an algorithm has the ports it asks for";
            return Err(Failure::usage(what));
        }
        let rows = match self.all {
            Some(operation) => self.ranking(operation, network.as_ref())?,
            None => {
                let row = |&id: &Algorithm| self.row(id, network.as_ref());
                self.ids.iter().map(row).collect::<Result<_, _>>()?
            }
        };
        let mut sink = self.output.open()?;
        sink.write(&self.written(&rows, network.as_ref()))?;
        let wrong: Vec<&str> =
            rows.iter().filter(|r| r.agrees == Some(false)).map(|r| r.algorithm.id()).collect();
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(Failure::Checks(format!("counted is not the closed form: {}", wrong.join(", "))))
        }
    }

    fn network(&self) -> Result<Option<Network>, Failure> {
        let ranks = self.call.ranks()?;
        let name = match (self.on.as_deref(), self.source.is_named()) {
            (None, false) => return Ok(None),
            (Some("tree") | None, true) => "machine",
            (Some(name), named) if name == "machine" || !named => name,
            (Some(name), _) => {
                return Err(Failure::usage(format!(
                    "a machine is a tree, not a {name}: leave --on away, or the machine"
                )));
            }
        };
        if name != "machine" {
            let named = Network::named(name, ranks, self.call.dims.as_ref());
            return named.map(Some).map_err(Failure::usage);
        }
        let network = Network::machine(&self.source.read()?);
        let nodes = network.nodes();
        if ranks > nodes {
            return Err(Failure::usage(BadNetwork::TooFew { nodes, ranks }));
        }
        Ok(Some(network))
    }

    fn row(&self, algorithm: Algorithm, network: Option<&Network>) -> Result<CostRow, Failure> {
        let (request, schedule) = self.call.schedule(algorithm)?;
        let form = closed_form(algorithm, &request).map_err(Failure::usage)?;
        let counted = Cost::of(&schedule);
        let on = network.map(|n| Congestion::on(n, &schedule)).transpose();
        let on = on.map_err(Failure::usage)?;
        let cost = match (&on, self.ports) {
            (Some(on), _) => on.cost,
            (None, None) => counted,
            (None, Some(ports)) => Cost::with_ports(&schedule, ports),
        };
        Ok(CostRow {
            algorithm,
            ranks: request.ranks,
            cost,
            on,
            form,
            bound: bound(algorithm, &request),
            agrees: Some(form.holds(&counted)),
        })
    }

    fn ranking(&self, op: Operation, network: Option<&Network>) -> Result<Vec<CostRow>, Failure> {
        let request: Request = self.call.request(op)?;
        let rates = Rates { t_s: self.ts, t_w: self.tw, ports: self.ports.unwrap_or(1) };
        let ranked = rank(&request, self.call.words as f64, rates, network);
        if ranked.is_empty() {
            // The reason of the first: no ranks, a root out of range, a mesh of another size.
            let why = Algorithm::for_operation(request.operation)
                .find_map(|a| a.schedule(&request).err())
                .map_or_else(|| "no algorithm fits".to_string(), |e| e.to_string());
            return Err(Failure::usage(why));
        }
        let row = |r: phalanx_model::Ranked| {
            let schedule = r.algorithm.schedule(&r.request).map_err(Failure::usage)?;
            let on = network.map(|n| Congestion::on(n, &schedule)).transpose();
            let agrees = (r.request.ranks <= COUNTED).then(|| r.form.holds(&Cost::of(&schedule)));
            Ok(CostRow {
                algorithm: r.algorithm,
                ranks: r.request.ranks,
                cost: r.cost,
                on: on.map_err(Failure::usage)?,
                form: r.form,
                bound: bound(r.algorithm, &r.request),
                agrees,
            })
        };
        ranked.into_iter().map(row).collect()
    }

    /// The algorithms of a ranking that fit but for their ports.
    fn left_out(&self) -> Option<String> {
        let request = self.call.request(self.all?).ok()?;
        let more =
            |a: &Algorithm| a.schedule(&request).is_ok_and(|s| s.ports() > self.ports.unwrap_or(1));
        let ids: Vec<&str> =
            Algorithm::for_operation(request.operation).filter(more).map(Algorithm::id).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }

    fn words(&self, tw: Ratio) -> String {
        (tw * Ratio::from(i128::from(self.call.words))).to_string()
    }

    fn form(&self, form: &ClosedForm) -> String {
        let sign = if form.kind == Exactness::AtMost { "<= " } else { "" };
        format!("{sign}{} ts + {} tw", form.ts, self.words(form.tw))
    }

    fn cells(&self, row: &CostRow) -> Vec<Value> {
        vec![
            json!(row.algorithm.id()),
            json!(row.ranks),
            json!(row.cost.steps),
            json!(row.cost.ts),
            exact(&self.words(row.cost.tw)),
            time(row.cost.time(self.ts, self.tw, self.call.words as f64)),
            json!(row.on.as_ref().map(|on| on.dilation)),
            json!(row.on.as_ref().map(|on| on.congestion)),
            json!(self.form(&row.form)),
        ]
    }

    fn written(&self, rows: &[CostRow], network: Option<&Network>) -> String {
        let rows_of_cells = rows.iter().map(|row| self.cells(row)).collect();
        let table = Table { columns: &COLUMNS, rows: rows_of_cells };
        match self.output.format {
            Format::Tsv => table.tsv(),
            Format::Json => {
                let rows = rows.iter().zip(table.objects());
                let rows: Vec<Value> = rows.map(|(row, object)| self.object(row, object)).collect();
                let object = json!({
                    "command": "cost",
                    "words": self.call.words,
                    "ts": self.ts,
                    "tw": self.tw,
                    "on": network.map(ToString::to_string),
                    "rows": rows,
                });
                format!("{object:#}\n")
            }
            Format::Text => self.text(rows, table.rows, network),
        }
    }

    fn object(&self, row: &CostRow, mut object: Value) -> Value {
        object["closed_ts"] = json!(row.form.ts);
        object["closed_tw_words"] = exact(&self.words(row.form.tw));
        object["formula"] = json!(row.form.formula);
        object["agrees"] = json!(row.agrees);
        if let Some(bound) = &row.bound {
            object["bound"] = json!(self.form(bound));
            object["bound_formula"] = json!(bound.formula);
        }
        if let Some(on) = &row.on {
            let rows = on.steps.iter().map(|s| self.step(s)).collect();
            object["on_steps"] = Table { columns: &STEP, rows }.objects().into();
            object["crossing_words_up"] = exact(&self.words(on.crossing.up));
            object["crossing_words_down"] = exact(&self.words(on.crossing.down));
        }
        object
    }

    fn step(&self, step: &StepOn) -> Vec<Value> {
        vec![
            json!(step.dilation),
            exact(&step.mean_dilation.to_string()),
            json!(step.congestion),
            exact(&self.words(step.largest)),
            exact(&self.words(step.load)),
            exact(&step.factor.to_string()),
        ]
    }

    fn text(&self, rows: &[CostRow], cells: Vec<Vec<Value>>, network: Option<&Network>) -> String {
        let m = self.call.words;
        let mut out = format!("# m = {m} words, t_s = {}, t_w = {} per word", self.ts, self.tw);
        if let Some(network) = network {
            out += &format!("; on a {network}");
        }
        out += "\n";
        let mut columns = COLUMNS.to_vec();
        columns.push("formula");
        let with_formula = |(mut cells, row): (Vec<Value>, &CostRow)| {
            cells.push(json!(row.form.formula));
            cells
        };
        let mut cells: Vec<Vec<Value>> = cells.into_iter().zip(rows).map(with_formula).collect();
        if network.is_none() {
            // Nothing to be said about ways.
            columns.drain(6..8);
            cells.iter_mut().for_each(|row| drop(row.drain(6..8)));
        }
        out += &Table { columns: &columns, rows: cells }.text();
        for row in rows {
            if let Some(bound) = &row.bound {
                let of = row.algorithm;
                out += &format!("# {of}: {} by {}\n", self.form(bound), bound.formula);
            }
        }
        if let Some(left_out) = self.left_out() {
            out += &format!("# left out, as they need more ports: {left_out}\n");
        }
        let [CostRow { on: Some(on), .. }] = rows else { return out };
        let mut columns = vec!["step"];
        columns.extend(STEP);
        let numbered = |(i, s): (usize, &StepOn)| {
            let mut cells = vec![json!(i + 1)];
            cells.extend(self.step(s));
            cells
        };
        let rows = on.steps.iter().enumerate().map(numbered).collect();
        out += "\n";
        out += &Table { columns: &columns, rows }.text();
        out += &format!(
            "# words between the halves of the network: {} up, {} down\n",
            self.words(on.crossing.up),
            self.words(on.crossing.down)
        );
        out
    }
}

const STEP: [&str; 6] =
    ["dilation", "mean_dilation", "congestion", "largest_words", "load_words", "factor"];

/// A time as a number, whole where it is.
fn time(time: f64) -> Value {
    if time.fract() == 0.0 && time < 9e15 { json!(time as u64) } else { json!(time) }
}

fn parse_time(text: &str) -> Result<f64, String> {
    let time = text.parse::<f64>().ok().filter(|t| t.is_finite() && *t >= 0.0);
    time.ok_or_else(|| format!("'{text}' is no time; accepted are numbers from 0"))
}

fn parse_ports(text: &str) -> Result<usize, String> {
    let ports = text.parse().ok().filter(|&p| p > 0);
    ports
        .ok_or_else(|| format!("'{text}' is no number of ports; accepted are whole numbers from 1"))
}

fn parse_network(text: &str) -> Result<String, String> {
    let name = suggest::plain(text);
    let mut accepted = Network::NAMES.to_vec();
    accepted.push("machine");
    let known = accepted.contains(&name.as_str());
    if known { Ok(name) } else { Err(suggest::unknown("network", text, &accepted)) }
}
