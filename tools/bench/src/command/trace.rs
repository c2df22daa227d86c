//! `phalanx trace`: a schedule message by message, or as a figure.

use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Sink};
use crate::paper::call::{CallArgs, mesh};
use crate::paper::state::State;
use crate::paper::{figure, ids};
use crate::prose;
use crate::table::{Table, exact};
use phalanx::schedule::{Algorithm, Schedule, trace};
use phalanx::topology::Extents;
use phalanx_model::Cost;
use serde_json::{Value, json};

const ABOUT: &str = "\
TEXT draws who holds what after each step, as the textbook's figures do: a row per rank and a
  column per step, a mesh as one grid per step. Held: block numbers; * the whole vector; of a
  reduction the ranks that have contributed, in the order of the operands; of a scan [result]
  (total); of a total exchange origins>destinations; of a shift the origin of the datum.

TSV, JSON have one line a message: step src dst blocks words. Steps count from 1. Blocks: numbers
  joined by commas (all-gather and gather: the origin; scatter and reduce-scatter: the destination;
  a part of a split message: the part; shift: the origin); all-to-all origin>destination; * the
  whole vector; block.part where the all-port algorithms cut blocks. Words: a whole number, or a/b
  in lowest terms. Lines are sorted by step, src, dst.

Example:
  phalanx trace TX-RING -p 6 --format tsv";

/// The messages of an algorithm, step by step, as in the textbook's figures
///
/// The messages of an algorithm, step by step, as in the textbook's figures.
/// Nothing is run.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx trace AG-HCUBE -p 8\n\nMore with --help.")]
pub(crate) struct Trace {
    /// An algorithm's id, such as AG-RING
    #[arg(value_name = "ID", value_parser = ids::parse, required_unless_present = "list")]
    id: Option<Algorithm>,
    /// Every id, with what it needs
    #[arg(long, conflicts_with = "id")]
    list: bool,
    #[command(flatten)]
    call: CallArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Trace {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.id {
            Some(id) => self.trace(id),
            None => self.list(),
        }
    }

    fn trace(&self, algorithm: Algorithm) -> Result<(), Failure> {
        let (request, schedule) = self.call.schedule(algorithm)?;
        let dims = mesh(algorithm, &request);
        if self.output.format == Format::Text && !State::is_drawable(&schedule) {
            return Err(Failure::usage(format!(
                "a figure of {algorithm} on {} ranks is too large to draw; take --format tsv",
                request.ranks
            )));
        }
        let mut sink = self.output.open()?;
        match self.output.format {
            Format::Text => {
                let head = head(algorithm, &schedule, dims.as_ref());
                sink.write(&(head + &figure::draw(&schedule, dims.as_ref())))
            }
            Format::Tsv => lines(&mut sink, &schedule, self.call.words),
            Format::Json => {
                let object = json(algorithm, &schedule, dims.as_ref(), self.call.words);
                sink.write(&format!("{object:#}\n"))
            }
        }
    }

    fn list(&self) -> Result<(), Failure> {
        const COLUMNS: [&str; 5] = ["id", "operations", "needs", "source", "about"];
        let row = |e: &ids::Entry| {
            vec![
                json!(e.id),
                json!(e.operations()),
                json!(e.needs()),
                json!(e.source()),
                json!(e.about()),
            ]
        };
        let table = Table { columns: &COLUMNS, rows: ids::list().iter().map(row).collect() };
        let text = match self.output.format {
            Format::Text => table.text(),
            Format::Tsv => table.tsv(),
            Format::Json => {
                let algorithms = table.objects();
                format!("{:#}\n", json!({ "command": "trace", "algorithms": algorithms }))
            }
        };
        self.output.open()?.write(&text)
    }
}

fn head(algorithm: Algorithm, schedule: &Schedule, dims: Option<&Extents>) -> String {
    let contract = schedule.contract();
    let cost = Cost::of(schedule);
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let p = contract.ranks;
    let mut out = format!("# {algorithm}: {} ({})\n", algorithm.about(), algorithm.source());
    out += &format!("# {} on {p} rank{}", contract.operation, plural(p));
    if let Some(dims) = dims {
        out += &format!(", {dims}");
    }
    if contract.operation.is_rooted() {
        out += &format!(", root {}", contract.root);
    }
    if contract.operation == phalanx::schedule::Operation::Shift {
        out += &format!(", by {}", contract.shift);
    }
    let ports =
        if schedule.ports() > 1 { format!(", {} ports", schedule.ports()) } else { "".into() };
    out += &format!(
        "; {} step{}{ports}, {} t_s + {} t_w m\n\n",
        cost.steps,
        plural(cost.steps),
        cost.ts,
        cost.tw
    );
    out
}

fn lines(sink: &mut Sink, schedule: &Schedule, words: u64) -> Result<(), Failure> {
    let mut text = String::from("step\tsrc\tdst\tblocks\twords\n");
    for m in trace(schedule) {
        text += &format!("{}\t{}\t{}\t{}\t{}\n", m.step, m.src, m.dst, m.label(), m.words(words));
        if text.len() > 1 << 16 {
            sink.write(&text)?;
            text.clear();
        }
    }
    sink.write(&text)
}

fn json(algorithm: Algorithm, schedule: &Schedule, dims: Option<&Extents>, words: u64) -> Value {
    let contract = schedule.contract();
    let messages = trace(schedule).map(|m| {
        json!({
            "step": m.step,
            "src": m.src,
            "dst": m.dst,
            "blocks": m.label(),
            "words": exact(&m.words(words).to_string()),
        })
    });
    json!({
        "command": "trace",
        "id": algorithm.id(),
        "operation": contract.operation.name(),
        "ranks": contract.ranks,
        "dims": dims.map(ToString::to_string),
        "root": contract.operation.is_rooted().then_some(contract.root),
        "shift": (contract.operation == phalanx::schedule::Operation::Shift)
            .then_some(contract.shift),
        "words": words,
        "ports": schedule.ports(),
        "steps": schedule.steps(),
        "messages": messages.collect::<Vec<_>>(),
    })
}
