//! `phalanx place`: a core for each rank, and the cost of this placement.

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::place::outcome::PlacementOutcome;
use crate::place::topology::Topology;
use crate::prose;
use crate::source::SourceArgs;
use crate::suggest;
use phalanx::placement::{Placement, UnknownPlacement};
use phalanx::topology::Extents;
use std::path::PathBuf;

/// The most ranks that are placed: as many as the largest machine has processing units.
const MAX_RANKS: usize = 65_536;

const ABOUT: &str = "\
TOPOLOGIES: who exchanges with whom: ring, linear, mesh, torus, hypercube, tree (binomial, from rank
  0), all-to-all. --dims gives the extents of a mesh or torus, the last one the fastest (rank = row
  * COLUMNS + column); without it the mesh nearest to a square is taken.

POLICIES: auto = the best that is found for this topology, on cores of the fastest kind; compact =
  the machine's logical order; scatter = as far apart as possible; identity = the order of the
  system's numbers; random:SEED; list:PU,PU,.. = rank r on the r-th of these. The name of another
  topology (ring, mesh:2x4, torus:2x2x2, hypercube, ..) = placed for that one, judged on this one.

COST: the machine is a tree: core, shared caches, NUMA node, package; each link is one channel up
  and one down. dilation = channels on a message's way; congestion = messages on the busiest channel
  in one step; a step takes 1 + dilation/4 + words on the busiest channel, where a remote memory's
  distance adds to the dilation; time_words is the sum over the steps, in the time of one word. Not
  measured: a measure to compare placements by. For each level: messages on the busiest channel out
  of one of its groups.

JSON: source, topology, dims, policy, ranks[{rank, pu, core, node}], cost {dilation,
  average_dilation, congestion, node_load (most ranks on one core), expansion (cores per rank),
  time_words, steps[{step, messages, dilation, average_dilation, congestion, congestion_factor,
  by_level {LEVEL: messages}, time_words}]}, beside {identity {..}, compact {..},
  random {seed, ..}} with the same numbers. pu and node are the system's numbers, core is the
  logical number of `phalanx machine`.
TSV: a line for each rank: rank pu core node.

Example:
  phalanx place -p 64 --topology hypercube --synthetic \"pack:2 l3:4 core:8 pu:1\" --svg place.svg";

/// Place ranks on cores, and say what that is worth
///
/// Places ranks on a machine's cores so that neighbours in a topology are
/// neighbours there: dilation, congestion and cost of every step, beside those
/// of other placements.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(
    after_help = "Example:\n  phalanx place -p 8 --topology ring --synthetic \"pack:2 core:4 \
                  pu:1\"\n\nMore with --help."
)]
pub(crate) struct Place {
    /// Number of ranks, 1 to 65536
    #[arg(short = 'p', long, allow_negative_numbers = true, value_parser = parse_ranks)]
    ranks: usize,
    /// ring, linear, mesh, torus, hypercube, tree or all-to-all
    #[arg(long)]
    topology: Topology,
    /// Extents of the mesh or torus [default: nearest to a square]
    #[arg(long, value_name = "AxB..", value_parser = parse_dims)]
    dims: Option<Extents>,
    /// auto, compact, scatter, identity, random:SEED, list:PU,PU,..
    #[arg(long, default_value = "auto", value_parser = parse_policy)]
    policy: Placement,
    /// Also draw the machine with the ranks and their exchanges
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Place {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let shape = self.topology.shape(self.ranks, self.dims.as_ref())?;
        let machine = self.source.read()?;
        let outcome = PlacementOutcome::new(&machine, shape, &self.policy, self.ranks)?;
        let mut sink = self.output.open()?;
        if let Some(file) = &self.svg {
            std::fs::write(file, outcome.svg()).map_err(|e| {
                Failure::Usage(format!("the drawing '{}' cannot be written: {e}", file.display()))
            })?;
        }
        sink.write(&outcome.show(self.output.format))
    }
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => Ok(ranks),
        Ok(ranks) => Err(format!("{ranks} ranks cannot be placed; accepted are 1 to {MAX_RANKS}")),
        Err(_) => Err(format!("no number of ranks; accepted are 1 to {MAX_RANKS}")),
    }
}

fn parse_dims(text: &str) -> Result<Extents, String> {
    text.parse().map_err(|e: phalanx::topology::BadExtents| e.to_string())
}

fn parse_policy(text: &str) -> Result<Placement, String> {
    const ACCEPTED: [&str; 6] =
        ["auto", "compact", "scatter", "identity", "random:SEED", "list:PU,PU,.."];
    let policy = text.parse().map_err(|_: UnknownPlacement| {
        let name = suggest::plain(text.split(':').next().unwrap_or(text));
        let known = ["auto", "compact", "scatter", "identity", "random", "list"];
        let nearest = suggest::nearest(&name, &known);
        let index = known.iter().position(|known| nearest == Some(*known));
        let said = index.map_or(String::new(), |i| format!("did you mean {}? ", ACCEPTED[i]));
        format!("{said}accepted are {}", ACCEPTED.join(", "))
    })?;
    match policy {
        Placement::Unpinned => Err(format!(
            "ranks that are not bound are nowhere; accepted are {}",
            ACCEPTED.join(", ")
        )),
        policy => Ok(policy),
    }
}
