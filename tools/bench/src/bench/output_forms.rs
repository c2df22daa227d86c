//! The table as text, tsv and json.

use super::call_tally::{self, CallTally};
use super::rounds::Drift;
use super::row::{APART, BenchRow, COLUMNS};
use super::run_conditions::RunConditions;
use crate::disturbance::Disturbance;
use crate::failure::Failure;
use crate::measure::aftermath::Aftermath;
use crate::measure::caches::CachesAsked;
use crate::measure::clock::Clock;
use crate::measure::emulation;
use crate::measure::proximity::ProximityLimits;
use crate::measure::stats::CONFIDENCE;
use crate::output::{Format, Sink};
use crate::prose::folded;
use crate::table::cell;
use phalanx::schedule::Operation;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The facts that are said once, before the rows.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) setting: RunConditions,
    /// The raw exchange of two flags, in nanoseconds.
    pub(crate) exchange_ns: Option<f64>,
    pub(crate) clock: Clock,
    pub(crate) limits: ProximityLimits,
    /// Rounds of each row.
    pub(crate) rounds: usize,
    /// The states of the caches.
    pub(crate) caches: CachesAsked,
    /// The machine of the model's rates; none where no model applies.
    pub(crate) model: Option<String>,
    /// The file that a report of the rows is to have with it, in words.
    pub(crate) attach: String,
    /// What the ranks met in a look before the first row.
    pub(crate) disturbed: Disturbance,
}

/// The facts that are said once, after the rows.
#[derive(Debug)]
pub(crate) struct Foot {
    pub(crate) exchange_ns: Option<f64>,
    /// Time that the host took from all cores meanwhile.
    pub(crate) stolen_ms: Option<f64>,
    /// What the processors used meanwhile.
    pub(crate) joules: Option<f64>,
    pub(crate) time: Duration,
    pub(crate) interrupted: bool,
    /// Rows that could not be measured, and why.
    pub(crate) failed: Vec<String>,
    /// What the ranks met meanwhile.
    pub(crate) disturbed: Disturbance,
    /// Not of a given number of samples, of several nodes, or of ranks that share cores.
    pub(crate) aftermath: Option<Aftermath>,
}

/// The columns that the text has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextView {
    /// All of them.
    pub(crate) wide: bool,
    /// The algorithms, which are not all `auto`.
    pub(crate) algorithms: bool,
    /// The places, of which a case may have several.
    pub(crate) places: bool,
    /// The counts of the calls, which are recorded.
    pub(crate) tallies: bool,
    /// The states of the caches, which are not all one.
    pub(crate) caches: bool,
}

/// Takes rows as they come and writes them as soon as the form allows.
pub(crate) struct Report {
    format: Format,
    view: TextView,
    sink: Sink,
    rows: Vec<BenchRow>,
    wrong: u64,
}

impl Report {
    /// An empty table.
    pub(crate) fn new(format: Format, view: TextView, sink: Sink) -> Self {
        Report { format, view, sink, rows: Vec::new(), wrong: 0 }
    }

    /// Wrong elements in all cases.
    pub(crate) fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Begins the table.
    pub(crate) fn head(&mut self, head: &Head) -> Result<(), Failure> {
        match self.format {
            Format::Text => self.sink.write(&text_head(head, self.view)),
            Format::Tsv => {
                let more = if self.view.tallies { &call_tally::COLUMNS[..] } else { &[] };
                self.sink.write(&([&COLUMNS[..], more].concat().join("\t") + "\n"))
            }
            Format::Json => Ok(()),
        }
    }

    /// Adds the rows of one operation; `wrong` elements were found in all.
    pub(crate) fn block(&mut self, rows: Vec<BenchRow>, wrong: u64) -> Result<(), Failure> {
        self.wrong += wrong;
        rows.into_iter().try_for_each(|row| self.row(row))
    }

    fn row(&mut self, row: BenchRow) -> Result<(), Failure> {
        let written = match self.format {
            Format::Text => {
                let line = match self.view.wide {
                    true => wide_row(&row),
                    false => short_row(&row, self.view),
                };
                let tally = row.tally.as_ref().map_or_else(String::new, CallTally::text);
                self.sink.write(&(line + &tally))
            }
            Format::Tsv => {
                let tally = self.view.tallies.then(|| row.tally.clone().unwrap_or_default());
                let tally = tally.iter().flat_map(CallTally::cells);
                let cells: Vec<String> =
                    cells(&row).into_iter().chain(tally).map(|it| cell(&it)).collect();
                self.sink.write(&(cells.join("\t") + "\n"))
            }
            Format::Json => Ok(()),
        };
        self.rows.push(row);
        written
    }

    /// Ends the table.
    pub(crate) fn foot(&mut self, head: &Head, foot: &Foot) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let text = text_foot(&self.rows, self.wrong(), self.is_checked(), foot);
                self.sink.write(&(apart(&self.rows, head, foot) + &text))
            }
            Format::Tsv => Ok(()),
            Format::Json => {
                let object = self.json(head, foot);
                self.sink.write(&format!("{object:#}\n"))
            }
        }
    }

    fn is_checked(&self) -> bool {
        self.rows.iter().all(|row| row.wrong.is_some())
    }

    fn json(&self, head: &Head, foot: &Foot) -> Value {
        let s = &head.setting;
        let row = |row: &BenchRow| {
            let names = COLUMNS.iter().map(ToString::to_string);
            let mut object: Map<String, Value> = names.zip(cells(row)).collect();
            object.insert("ns_mean".to_string(), number(Some(row.ns.mean)));
            object.insert("out_of_place".to_string(), json!(row.apart));
            object.insert("exchange_ns".to_string(), number(row.floor_ns));
            object.insert("model_apart".to_string(), json!(row.is_apart()));
            if let Some(tally) = &row.tally {
                object.insert("statistics".to_string(), tally.json());
            }
            Value::Object(object)
        };
        json!({
            "command": "bench",
            "version": env!("CARGO_PKG_VERSION"),
            "machine": {
                "cpu": s.cpu,
                "emulated": emulation::emulator(),
                "source": s.source,
                "cores": s.cores,
                "allowed_pus": s.allowed_pus,
            },
            "ranks": s.ranks,
            "placement": s.placement,
            "pus": s.pus,
            "binding_problems": s.problems,
            "wait": s.wait,
            "oversubscribed": s.crowded,
            "clock_overhead_ns": number(Some(head.clock.overhead_ns)),
            "clock_resolution_ns": number(Some(head.clock.resolution_ns)),
            "place_limits_ns": [head.limits.smt, head.limits.ccx],
            "confidence": CONFIDENCE,
            "caches": head.caches.to_string(),
            "model": head.model,
            "model_error": APART,
            "stolen_ms": foot.stolen_ms,
            "joules": foot.joules,
            "disturbed": foot.disturbed.json(),
            "barrier": foot.aftermath.map(|it| it.json()),
            "exchange_ns_before": number(head.exchange_ns),
            "exchange_ns_after": number(foot.exchange_ns),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "wrong": self.is_checked().then(|| self.wrong()),
            "failed": foot.failed,
            "interrupted": foot.interrupted,
            "seconds": round(foot.time.as_secs_f64(), 3),
        })
    }
}

/// A row's cells in the order of [`COLUMNS`].
fn cells(row: &BenchRow) -> [Value; COLUMNS.len()] {
    [
        json!(row.name()),
        json!(row.algorithm),
        json!(row.ty),
        json!(row.redop),
        json!(row.ranks),
        json!(row.bytes),
        json!(row.count),
        json!(row.iterations),
        number(Some(row.ns.min)),
        number(Some(row.ns.median)),
        number(Some(row.ns.p99)),
        number(Some(row.ns.max)),
        json!(significant(row.algbw)),
        json!(significant(row.busbw)),
        json!(row.wrong),
        number(row.model_ns),
        json!(row.place.name()),
        number(row.floor_ns),
        row.floor_ratio().map_or(Value::Null, |ratio| json!(significant(ratio))),
        number(Some(row.ns.ci[0])),
        number(Some(row.ns.ci[1])),
        json!(row.ns.outliers),
        json!(row.rounds),
        json!(round(row.spread, 1)),
        json!(row.dropped),
        json!(row.drift.to_string()),
        json!(row.calls),
        json!(row.model_by),
        json!(row.caches.name()),
        row.cores.map_or(Value::Null, |cores| json!(round(cores, 2))),
    ]
}

fn number(ns: Option<f64>) -> Value {
    ns.map_or(Value::Null, |ns| json!(round(ns, 1)))
}

fn round(x: f64, digits: i32) -> f64 {
    // By way of the text, so that no digit of rounding is left over.
    let unit = 10f64.powi(digits);
    let rounded = (x * unit).round() / unit;
    format!("{rounded:.*}", digits.max(0) as usize).parse().unwrap_or(rounded)
}

/// `x` to four significant digits.
fn significant(x: f64) -> f64 {
    if x > 0.0 { round(x, 3 - x.log10().floor() as i32) } else { 0.0 }
}

fn text_head(head: &Head, view: TextView) -> String {
    let s = &head.setting;
    let wide = view.wide;
    let mut out = String::new();
    let mut line = |text: String| {
        out += "# ";
        out += &text;
        out.push('\n');
    };
    line(format!("{}, {} cores, {} usable threads", s.cpu, s.cores, s.allowed_pus));
    emulation::warning().into_iter().for_each(&mut line);
    if wide {
        line(format!("topology from {}", s.source));
    }
    line(format!(
        "{} ranks, placement {}, on PUs {}; wait {}",
        s.ranks,
        s.placement,
        s.places(),
        s.wait
    ));
    s.problems.iter().for_each(|problem| line(problem.clone()));
    if s.crowded {
        line(format!(
            "oversubscribed: {} ranks share {} PUs, so times are mostly the system's scheduling",
            s.ranks, s.allowed_pus
        ));
    }
    if let Some(disturbed) = head.disturbed.line() {
        let folded = folded(&format!("# {disturbed}"));
        folded.lines().for_each(|part| line(part.trim_start_matches("# ").to_string()));
    }
    match head.exchange_ns {
        Some(ns) if wide => line(format!(
            "raw exchange of two flags between ranks 0 and 1: {ns:.1} ns ({}; floor: around each \
             row's samples; smt,ccx below {} ns)",
            head.limits.place(ns),
            head.limits
        )),
        Some(ns) => line(format!(
            "floor: the raw exchange of two flags between ranks 0 and 1, now {ns:.1} ns"
        )),
        None => line("no raw exchange: ranks 0 and 1 do not have a core each".to_string()),
    }
    if view.tallies {
        line(
            "recorded, which takes time in each call; below each row the calls of all ranks, with \
             those that warm up and check"
                .to_string(),
        );
    }
    for state in head.caches.states() {
        line(format!("caches {state}: {}", state.meaning()));
    }
    if !wide {
        line("time of one call, the slowest rank's; --wide has all columns".to_string());
        line("model: the time that the profile's rates give (phalanx calibrate)".to_string());
        line(
            "x floor: that time over the raw exchange around the row's samples, floor ns; below"
                .into(),
        );
        line("  1 where no rank waits for an answer, and perhaps where a row has moved".into());
        return out + &short_head(view);
    }
    line(format!(
        "clock: {:.0} ns a reading (taken off), steps of {:.0} ns; {} rounds a row, interleaved by \
         operation",
        head.clock.overhead_ns, head.clock.resolution_ns, head.rounds
    ));
    line(match &head.model {
        Some(source) => format!("model: the textbook's, by {source}"),
        None => "model: none without a profile (phalanx calibrate --save)".to_string(),
    });
    line(
        "times in ns per call, the slowest rank's; +-%: 95 % interval of the median; bandwidths in \
         GB/s of the median"
            .to_string(),
    );
    line("cores: processor time of the ranks over the time, with what is not timed".to_string());
    out + &wide_head()
}

/// The header of the few columns.
fn short_head(view: TextView) -> String {
    short_cells(
        view,
        [
            "operation",
            "algorithm",
            "place",
            "caches",
            "bytes",
            "median ns",
            "model ns",
            "GB/s",
            "floor ns",
            "x floor",
        ],
    )
}

/// The few columns of a row.
fn short_row(row: &BenchRow, view: TextView) -> String {
    let bytes = match row.op {
        Operation::Barrier => "-".to_string(),
        _ => row.bytes.to_string(),
    };
    let rate = match row.op {
        Operation::Barrier => "-".to_string(),
        _ => significant(row.algbw).to_string(),
    };
    let (floor, ratio) = floor_of(row);
    let (op, place) = (row.name(), row.place.to_string());
    let (median, caches) = (short_ns(row.ns.median), row.caches.name());
    let model = row.model_ns.map_or("-".to_string(), short_ns);
    let cells =
        [&op, row.algorithm, &place, caches, &bytes, &median, &model, &rate, &floor, &ratio];
    let mut line = short_cells(view, cells);
    if let Some(wrong) = row.wrong.filter(|wrong| *wrong > 0) {
        line = format!("{}  {wrong} WRONG\n", line.trim_end());
    }
    if row.drift != Drift::default() {
        let what = if row.drift.disturbed { "disturbed" } else { " moved" };
        line = format!("{} {what}\n", line.trim_end());
    }
    if row.is_apart() {
        line = format!("{}  apart\n", line.trim_end());
    }
    line
}

fn short_cells(view: TextView, cells: [&str; 10]) -> String {
    let [op, algorithm, place, caches, bytes, median, model, rate, floor, ratio] = cells;
    let mut line = format!("{op:<21}");
    if view.algorithms {
        line += &format!(" {algorithm:<15}");
    }
    if view.places {
        line += &format!(" {place:<5}");
    }
    if view.caches {
        line += &format!(" {caches:<6}");
    }
    line += &format!(" {bytes:>10} {median:>9} {model:>8} {rate:>8}");
    // Beside other columns there is no room for it.
    if !(view.algorithms || view.places || view.caches) {
        line += &format!(" {floor:>8}");
    }
    line + &format!(" {ratio:>7}\n")
}

/// The raw exchange beside a row, and the row's time over it.
fn floor_of(row: &BenchRow) -> (String, String) {
    let cell = |it: Option<String>| it.unwrap_or("-".to_string());
    let ratio = row.floor_ratio().map(|it| format!("{it:.2}"));
    (cell(row.floor_ns.map(|it| format!("{it:.0}"))), cell(ratio))
}

/// A time of few letters.
fn short_ns(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}

fn wide_head() -> String {
    format!(
        "{:<22} {:<15} {:<4} {:<5} {:>10} {:>6} {:>10} {:>10} {:>5} {:>10} {:>10} {:>10} {:>10} \
         {:>5} {:>8} {:<5} {:<6} {:>8} {:>7} {:>5} drift\n",
        "op",
        "algorithm",
        "type",
        "redop",
        "bytes",
        "iters",
        "min ns",
        "median ns",
        "+-%",
        "p99 ns",
        "max ns",
        "algbw GB/s",
        "busbw GB/s",
        "wrong",
        "model ns",
        "place",
        "caches",
        "floor ns",
        "x floor",
        "cores"
    )
}

fn wide_row(row: &BenchRow) -> String {
    let ns = short_ns;
    let (floor, ratio) = floor_of(row);
    format!(
        "{:<22} {:<15} {:<4} {:<5} {:>10} {:>6} {:>10} {:>10} {:>5.1} {:>10} {:>10} {:>10.3} \
         {:>10.3} {:>5} {:>8} {:<5} {:<6} {:>8} {:>7} {:>5} {}\n",
        row.name(),
        row.algorithm,
        row.ty,
        row.redop,
        row.bytes,
        row.iterations,
        ns(row.ns.min),
        ns(row.ns.median),
        50.0 * (row.ns.ci[1] - row.ns.ci[0]) / row.ns.median,
        ns(row.ns.p99),
        ns(row.ns.max),
        row.algbw,
        row.busbw,
        row.wrong.map_or("-".to_string(), |wrong| wrong.to_string()),
        row.model_ns.map_or("-".to_string(), |ns| format!("{ns:.0}")),
        row.place,
        row.caches,
        floor,
        ratio,
        row.cores.map_or("-".to_string(), |cores| format!("{cores:.2}")),
        row.drift
    )
}

/// The rows that the model is far from, and the file for a report of them.
fn apart(rows: &[BenchRow], head: &Head, foot: &Foot) -> String {
    match rows.iter().filter(|row| row.is_apart()).count() {
        0 => String::new(),
        apart if foot.disturbed.line().is_some() => format!(
            "# {apart} of {} rows (apart): beyond a factor of {APART} of the model; on a machine\n\
             #   without other programs they may not be\n",
            rows.len()
        ),
        apart => format!(
            "# {apart} of {} rows (apart): beyond a factor of {APART} of the model; \
             a report\n\
             #   is welcome, and nothing is sent by itself; attach\n\
             #   {}\n",
            rows.len(),
            head.attach
        ),
    }
}

fn text_foot(rows: &[BenchRow], wrong: u64, checked: bool, foot: &Foot) -> String {
    let mut out = String::new();
    let moved = rows.iter().filter(|row| row.drift != Drift::default()).count();
    let rows = rows.len();
    if moved > 0 {
        out += &format!(
            "# {moved} of {rows} rows (moved): cores, floor or host changed meanwhile (drift, in \
             --wide, says what)\n"
        );
    }
    if let Some(line) = foot.disturbed.line() {
        out += &(folded(&format!("# {line}")) + "\n");
    }
    if let Some(ms) = foot.stolen_ms {
        out += &format!("# stolen by the host meanwhile, from all cores: {ms:.0} ms\n");
    }
    if let Some(joules) = foot.joules {
        out += &format!("# energy of all processors meanwhile: {joules:.1} J\n");
    }
    if let Some(ns) = foot.exchange_ns {
        out += &format!("# raw exchange of two flags, again: {ns:.1} ns\n");
    }
    if let Some(aftermath) = foot.aftermath {
        out += &(folded(&format!("# {aftermath}")) + "\n");
    }
    let plural = if rows == 1 { "" } else { "s" };
    let wrong = if checked { format!("{wrong} wrong") } else { "not checked".to_string() };
    let how = if foot.interrupted { ", interrupted" } else { "" };
    let failed = match foot.failed.len() {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    out +=
        &format!("# {rows} row{plural}, {wrong}{failed}, {:.1} s{how}\n", foot.time.as_secs_f64());
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::call_form::CallForm;
    use crate::measure::caches::CacheState;
    use crate::measure::proximity::Proximity;
    use crate::measure::stats::Summary;

    pub(in crate::bench) fn row() -> BenchRow {
        BenchRow {
            op: Operation::AllReduce,
            algorithm: "auto",
            ty: "f64",
            redop: "sum",
            ranks: 2,
            bytes: 8,
            count: 1,
            iterations: 100,
            calls: 32,
            ns: Summary {
                n: 100,
                min: 50.0,
                median: 61.25,
                p99: 99.96,
                max: 12345.6,
                mean: 70.0,
                ci: [60.0, 62.5],
                outliers: 1,
            },
            algbw: 0.130_612_2,
            busbw: 0.130_612_2,
            wrong: Some(0),
            model_ns: None,
            model_by: "none",
            place: Proximity::Ccx,
            floor_ns: Some(58.4),
            rounds: 5,
            spread: 3.12,
            dropped: 12,
            drift: Drift { steal: true, ..Drift::default() },
            root: None,
            apart: false,
            form: CallForm::Even,
            caches: CacheState::Warm,
            tally: None,
            cores: Some(1.984),
        }
    }

    #[test]
    fn tsv_has_a_cell_for_each_column() {
        let cells: Vec<String> = cells(&row()).iter().map(cell).collect();
        assert_eq!(
            cells.join("|"),
            "all-reduce|auto|f64|sum|2|8|1|100|50.0|61.3|100.0|12345.6|0.1306|0.1306|0||\
             ccx|58.4|1.049|60.0|62.5|1|5|3.1|12|steal|32|none|warm|1.98"
        );
    }

    #[test]
    fn bandwidths_have_four_digits() {
        assert_eq!(json!(significant(35.636_41)).to_string(), "35.64");
        assert_eq!(json!(significant(0.000_012_345_6)).to_string(), "0.00001235");
        assert_eq!(json!(significant(12345.6)).to_string(), "12350.0");
        assert_eq!(significant(0.0), 0.0);
    }

    #[test]
    fn text_is_aligned() {
        let line = wide_row(&row());
        let other = wide_row(&BenchRow { bytes: 4 << 20, floor_ns: None, ..row() });
        assert_eq!(line.len(), other.len());
        let column = |text: &str, name: &str| text.find(name).map(|at| at + name.len());
        assert_eq!(column(&wide_head(), "median ns"), column(&line, " 61.2"));
        assert!(line.contains(" 61.2 ") && line.contains(" 12346 "), "{line}");
        assert!(other.trim_end().ends_with(" -  1.98 steal"), "{other}");
    }

    #[test]
    fn the_short_text_has_few_columns_with_their_units() {
        let view = TextView::default();
        let quiet = || BenchRow { drift: Drift::default(), ..row() };
        let words = |text: String| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let head = "operation bytes median ns model ns GB/s floor ns x floor";
        assert_eq!(words(short_head(view)).join(" "), head);
        let line = short_row(&quiet(), view);
        assert_eq!(words(line.clone()), ["all-reduce", "8", "61.2", "-", "0.1306", "58", "1.05"]);
        assert_eq!(line.len(), short_head(view).len());
        let barrier = BenchRow { op: Operation::Barrier, floor_ns: None, ..quiet() };
        assert_eq!(words(short_row(&barrier, view)), ["barrier", "-", "61.2", "-", "-", "-", "-"]);
        let all = TextView { algorithms: true, places: true, caches: true, ..view };
        let four = ["all-reduce", "auto", "ccx", "warm"];
        assert_eq!(words(short_row(&quiet(), all))[..4], four);
        assert_eq!(short_row(&quiet(), all).len(), short_head(all).len());
        let wrong = short_row(&BenchRow { wrong: Some(3), ..quiet() }, view);
        assert!(wrong.ends_with("1.05  3 WRONG\n"), "{wrong}");
        let moved = short_row(&row(), view);
        assert!(moved.ends_with("1.05  moved\n"), "{moved}");
        let drift = Drift { disturbed: true, ..Drift::default() };
        let disturbed = short_row(&BenchRow { drift, ..row() }, view);
        assert!(disturbed.ends_with("1.05 disturbed\n"), "{disturbed}");
        let apart = BenchRow { model_ns: Some(30.0), ..quiet() };
        assert!(short_row(&apart, view).ends_with("1.05  apart\n"));
        let near = BenchRow { model_ns: Some(40.0), ..quiet() };
        assert!(!near.is_apart() && !BenchRow { model_ns: Some(30.0), ..row() }.is_apart());
    }
}
