//! `phalanx bandwidth`: the rate at which a core reads, copies and combines another core's fresh
//! data, and the rate of all cores together.

use super::latency::{begin, carry_out, conditions, head, parse_samples, row};
use crate::bench::run_conditions::available_memory;
use crate::failure::Failure;
use crate::matrix::heat::{self, Grid};
use crate::matrix::saved_run::MatrixRun;
use crate::matrix::unit_axis::{Axis, shared};
use crate::measure::clock::Clock;
use crate::measure::conditions::alone;
use crate::measure::proximity::ProximityLimits;
use crate::measure::steal::Steal;
use crate::output::OutputArgs;
use crate::pair::bandwidth::{Case, Work, measure};
use crate::pair::probe_rounds::Effort;
use crate::pair::team::{parse_pus, team, units};
use crate::progress::Progress;
use crate::prose;
use crate::table::{distinct, of_key, table};
use crate::{byte_size, interrupt};
use phalanx::Team;
use phalanx::machine::{Level, Machine};
use std::path::PathBuf;
use std::time::Duration;

/// Samples of each row, and between two probes.
const SAMPLES: usize = 60;
const ROUND: usize = 6;
/// When a row is given up.
const LIMIT: Duration = Duration::from_millis(600);
/// Up to how many units all pairs are measured, rather than one of each level.
const ALL_PAIRS: usize = 6;

const ABOUT: &str = "\
WHAT: src writes its buffer; then dst reads it (sums it up), copies it into a buffer of its own, or
  combines it with one (adds it, in place), which is timed alone, less what reading the clock costs.
  Small buffers come from src's caches. src = dst: its own buffer. bytes are those of src's buffer,
  and gb_s is bytes / ns_median: of copy and combine twice as much moves.

ROWS: of pairs, up to 6 units all, above that one pair of each level; src = dst:
  one core of each NUMA node; all -> all: all cores at once, each on its own buffer (level local) or
  on its successor's (level ring), bytes and rate of all together; nodeA -> nodeB: the cores of node
  B at once, on buffers of cores of node A, where there are several nodes.

PLACES: as for latency: samples count between two probes that agree, under smt, ccx or far.

COLUMNS (tsv; json: rows[]): src dst ns_min ns_median ns_p10 ns_p90 samples place level op bytes
  gb_s ns_ci_low ns_ci_high outliers drift (see `phalanx latency --help`).

Example:
  phalanx bandwidth copy -b 16K -e 64M --format json -o bandwidth.json";

/// Measure read, copy and combine rates between units, by size
///
/// Measures how fast a core reads, copies and combines what another has just
/// written, by size, and what all cores reach together.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx bandwidth copy -e 4M\n\nMore with --help.")]
pub(crate) struct Bandwidth {
    /// read, copy, combine [default: all]
    #[arg(value_name = "WORK")]
    works: Vec<Work>,
    /// Smallest buffer in bytes
    #[arg(short = 'b', long, allow_negative_numbers = true, value_name = "MIN")]
    #[arg(default_value = "16K", value_parser = byte_size::parse)]
    min: usize,
    /// Largest buffer in bytes
    #[arg(short = 'e', long, allow_negative_numbers = true, value_name = "MAX")]
    #[arg(default_value = "64M", value_parser = byte_size::parse)]
    max: usize,
    /// From one size to the next
    #[arg(short = 'f', long, allow_negative_numbers = true, default_value = "8")]
    #[arg(value_parser = super::bench::parse_factor)]
    factor: usize,
    /// Samples of each row, of its most frequent place [default: 60]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_samples)]
    samples: Option<usize>,
    /// Only these processing units, such as 0-3,8 [default: one of each core]
    #[arg(long, value_name = "LIST", value_parser = parse_pus)]
    pus: Option<std::vec::Vec<usize>>,
    /// Exchanges, in ns, up to which two cores count as smt and as ccx
    #[arg(long, value_name = "SMT,CCX", default_value_t = ProximityLimits::default())]
    places: ProximityLimits,
    /// Also draw the matrix of the largest size (of copy, if it is measured)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Who reads from whom, on a team of some units.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pairing {
    src: String,
    dst: String,
    level: String,
    /// The units, by rank of the team.
    pus: Vec<usize>,
    /// By rank, the rank of the buffer that it reads.
    reads: Vec<Option<usize>>,
}

impl Pairing {
    fn new(
        [src, dst]: [impl ToString; 2],
        level: &str,
        pus: Vec<usize>,
        reads: Vec<Option<usize>>,
    ) -> Self {
        let (src, dst, level) = (src.to_string(), dst.to_string(), level.to_string());
        Pairing { src, dst, level, pus, reads }
    }

    fn readers(&self) -> usize {
        self.reads.iter().flatten().count()
    }
}

impl Bandwidth {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.min > self.max {
            let (min, max) = (byte_size::text(self.min), byte_size::text(self.max));
            let what = format!("the smallest size {min} is above the largest {max}; see -b and -e");
            return Err(Failure::Usage(what));
        }
        let machine = Machine::this().map_err(Failure::run)?;
        let pus = units(&machine, self.pus.as_deref(), self.pus.is_none())?;
        self.check_memory(pus.len())?;
        let measure = || self.measure(&machine, &pus);
        let grid = |run: &MatrixRun| self.grid(run, &machine);
        let text = |run: &MatrixRun| self.text(run, &machine);
        carry_out(&self.output, self.svg.as_deref(), measure, grid, text)
    }

    fn works(&self) -> Vec<Work> {
        let is_asked = |work: &Work| self.works.is_empty() || self.works.contains(work);
        Work::NAMES.iter().map(|it| it.1).filter(is_asked).collect()
    }

    /// Two buffers a rank.
    fn check_memory(&self, ranks: usize) -> Result<(), Failure> {
        let need = 2 * ranks as u128 * self.max as u128;
        match available_memory() {
            Some(available) if need > u128::from(available) => Err(Failure::Usage(format!(
                "{} on {ranks} units needs {} MiB of memory, and {} MiB are available; give a \
                 smaller -e",
                byte_size::text(self.max),
                need >> 20,
                available >> 20
            ))),
            _ => Ok(()),
        }
    }

    fn measure(&self, machine: &Machine, pus: &[usize]) -> Result<MatrixRun, Failure> {
        let axis = Axis::new(machine, pus);
        let mut run =
            begin("bandwidth", machine, &axis, ["level", "op"].map(String::from).to_vec());
        if let [only] = axis.pus[..] {
            run.notes.push(format!("{}; only its own buffer", alone(machine, only)));
        }
        let pairings = pairings(machine, &axis.pus);
        let sizes = byte_size::steps(self.min, self.max, self.factor);
        let works = self.works();
        let mut progress = Progress::new(pairings.len() * sizes.len() * works.len());
        let (clock, steal) = (Clock::measure(), Steal::now());
        let effort =
            Effort { samples: self.samples.unwrap_or(SAMPLES), round: ROUND, limit: LIMIT };
        let mut built: Option<(&[usize], Team)> = None;
        for pairing in &pairings {
            if built.as_ref().is_none_or(|(pus, _)| *pus != pairing.pus) {
                built = Some((&pairing.pus, team(&pairing.pus)?));
            }
            let Some((_, team)) = &built else { continue };
            for &bytes in &sizes {
                for &work in &works {
                    if interrupt::asked() {
                        run.conditions = conditions(&clock, steal.ms_since());
                        return Ok(run);
                    }
                    let (src, dst) = (&pairing.src, &pairing.dst);
                    progress.step(&format!(
                        "{src} to {dst}, {} {}",
                        work.name(),
                        byte_size::text(bytes)
                    ));
                    let case = Case { work, bytes, reads: &pairing.reads };
                    let stolen = Steal::now();
                    let found = measure(team, &case, &effort, &self.places, &clock)?;
                    let stolen = stolen.ms_since();
                    let labels = vec![pairing.level.clone(), work.name().to_string()];
                    let moved = Some(bytes * pairing.readers());
                    match row(src.clone(), dst.clone(), labels, &found, moved, stolen) {
                        Some(row) => run.rows.push(row),
                        None => run.notes.push(format!(
                            "{src} to {dst}, {} of {}: no two probes agreed for {:.1} s",
                            work.name(),
                            byte_size::text(bytes),
                            LIMIT.as_secs_f64()
                        )),
                    }
                }
            }
        }
        run.conditions = conditions(&clock, steal.ms_since());
        Ok(run)
    }

    /// The matrix of the largest size.
    fn grid(&self, run: &MatrixRun, machine: &Machine) -> Grid {
        let works = self.works();
        let work = if works.contains(&Work::Copy) { Work::Copy } else { works[0] };
        let title = format!("{} of {}", work.name(), byte_size::text(self.max));
        let mut grid = Grid::new(Axis::new(machine, &run.pus), "GB/s", title);
        for row in run.rows.iter().filter(|row| row.bytes == Some(self.max)) {
            if let (true, Ok(src), Ok(dst), Some(rate)) =
                (run.label(row, "op") == work.name(), row.src.parse(), row.dst.parse(), row.gb_s())
            {
                grid.set(src, dst, rate);
            }
        }
        grid
    }

    fn text(&self, run: &MatrixRun, machine: &Machine) -> String {
        let mut out = head(run, machine);
        out += &heat::text(&self.grid(run, machine));
        out += "\nGB/s, by bytes of a buffer\n";
        let sizes = byte_size::steps(self.min, self.max, self.factor);
        let names: Vec<String> = sizes.iter().map(|&bytes| byte_size::text(bytes)).collect();
        let mut header = vec!["src", "dst", "level", "op"];
        header.extend(names.iter().map(String::as_str));
        header.push("places");
        // The rows of a pairing and a work stand together, one for each size.
        type Cells<'a> = (Vec<String>, Vec<&'a str>);
        let mut lines: Vec<(Vec<&str>, Cells<'_>)> = Vec::new();
        for work in self.works() {
            for row in run.rows.iter().filter(|row| run.label(row, "op") == work.name()) {
                let key = vec![&*row.src, &*row.dst, run.label(row, "level"), work.name()];
                let (rates, places) = of_key(&mut lines, key);
                rates.resize(sizes.len(), String::new());
                // Of all readers together: as many times the size.
                let first = run
                    .rows
                    .iter()
                    .find(|r| (&r.src, &r.dst, &r.labels) == (&row.src, &row.dst, &row.labels));
                let readers = first.and_then(|f| f.bytes).map_or(1, |b| (b / sizes[0]).max(1));
                let column = row.bytes.and_then(|b| sizes.iter().position(|s| s * readers == b));
                if let (Some(column), Some(rate)) = (column, row.gb_s()) {
                    rates[column] = format!("{rate:.1}");
                }
                if !places.contains(&row.place.as_str()) {
                    places.push(&row.place);
                }
            }
        }
        let rows: Vec<Vec<String>> = lines
            .into_iter()
            .map(|(key, (rates, places))| {
                let key = key.into_iter().map(str::to_string);
                key.chain(rates).chain([places.join(", ")]).collect()
            })
            .collect();
        out += &table(&header, 4, &rows);
        out
    }
}

/// What is measured on these units (in the machine's order).
fn pairings(machine: &Machine, pus: &[usize]) -> Vec<Pairing> {
    let mut pairings = Vec::new();
    let node = |pu: usize| machine.group_of(pu, Level::Numa);
    // A core's own buffers, for one core of each node.
    let mut seen = Vec::new();
    for &pu in pus {
        if !seen.contains(&node(pu)) {
            seen.push(node(pu));
            pairings.push(Pairing::new([pu; 2], "core", vec![pu], vec![Some(0)]));
        }
    }
    // Of many units, the first pair of each level.
    let mut levels = Vec::new();
    for (i, &src) in pus.iter().enumerate() {
        for (j, &dst) in pus.iter().enumerate() {
            let level = shared(machine, src, dst);
            let wanted = pus.len() <= ALL_PAIRS || (i < j && !levels.contains(&level));
            if i != j && wanted {
                levels.push(level);
                let (pus, reads) = (vec![src, dst], vec![None, Some(0)]);
                pairings.push(Pairing::new([src, dst], level, pus, reads));
            }
        }
    }
    let n = pus.len();
    if n < 2 {
        return pairings;
    }
    let all = |level, reads| Pairing::new(["all"; 2], level, pus.to_vec(), reads);
    pairings.push(all("local", (0..n).map(Some).collect()));
    pairings.push(all("ring", (0..n).map(|rank| Some((rank + 1) % n)).collect()));
    let nodes = distinct(pus.iter().filter_map(|&pu| node(pu)));
    if nodes.len() < 2 {
        return pairings;
    }
    for &owner in &nodes {
        for &reader in &nodes {
            pairings.push(between(machine, pus, owner, reader));
        }
    }
    pairings
}

/// All cores of node `reader` read buffers of node `owner`.
fn between(machine: &Machine, pus: &[usize], owner: usize, reader: usize) -> Pairing {
    let of = |node: usize| {
        let own = move |pu: &usize| machine.group_of(*pu, Level::Numa) == Some(node);
        pus.iter().copied().filter(own)
    };
    let mut team: Vec<usize> = of(reader).collect();
    let readers = team.len();
    if owner != reader {
        team.extend(of(owner));
    }
    let (first, owners) =
        if owner == reader { (0, readers) } else { (readers, team.len() - readers) };
    let reads = (0..team.len()).map(|rank| (rank < readers).then(|| first + rank % owners));
    let name = |node: usize| format!("node{}", machine.numa_nodes()[node].os_id);
    let (reads, level) = (reads.collect(), if owner == reader { "numa" } else { "machine" });
    Pairing::new([owner, reader].map(name), level, team, reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_has_all_pairs() {
        let machine = Machine::from_synthetic("l3:1 core:2 pu:1").unwrap();
        let all = pairings(&machine, &[0, 1]);
        let names: Vec<String> =
            all.iter().map(|p| format!("{} {} {}", p.src, p.dst, p.level)).collect();
        assert_eq!(names, ["0 0 core", "0 1 l3", "1 0 l3", "all all local", "all all ring"]);
        assert_eq!(all[4].reads, [Some(1), Some(0)]);
        assert_eq!(pairings(&machine, &[1]).len(), 1);
    }

    #[test]
    fn nodes_are_read_from_every_node() {
        let machine = Machine::from_synthetic("pack:2 [numa] l3:2 core:4 pu:1").unwrap();
        let pus: Vec<usize> = (0..16).collect();
        let all = pairings(&machine, &pus);
        let names: Vec<String> =
            all.iter().map(|p| format!("{}-{} {}", p.src, p.dst, p.level)).collect();
        assert_eq!(
            names,
            [
                "0-0 core",
                "8-8 core",
                "0-1 l3",
                "0-4 numa",
                "0-8 machine",
                "all-all local",
                "all-all ring",
                "node0-node0 numa",
                "node0-node1 machine",
                "node1-node0 machine",
                "node1-node1 numa",
            ]
        );
        // The readers are on node 1, and read from those of node 0.
        let cross = &all[8];
        assert_eq!((cross.pus[0], cross.pus[8], cross.readers()), (8, 0, 8));
        assert_eq!(cross.reads[..3], [Some(8), Some(9), Some(10)]);
        assert_eq!(all[7].reads, (0..8).map(Some).collect::<Vec<_>>());
        // A node with fewer owners than readers.
        let uneven = between(&machine, &[0, 8, 9, 10], 0, 1);
        assert_eq!(uneven.reads, [Some(3), Some(3), Some(3), None]);
    }
}
