//! The quality of a placement: dilation and congestion, step by step.

use crate::sorted::SortedMap;

use super::assignment::Assignment;
use super::network::{ChannelLoads, Weights};
use super::pattern::Pattern;
use crate::machine::{Level, Machine};

/// What one step of a pattern costs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepReport {
    /// The step's name.
    pub name: String,
    /// Messages in the step.
    pub messages: usize,
    /// Channels on the longest route; 0 between threads of one core.
    pub dilation: usize,
    /// Channels on an average route, weighted by words.
    pub average_dilation: f64,
    /// The most messages on one channel.
    pub congestion: usize,
    /// The most words on one channel, divided by the words of the largest message.
    pub congestion_factor: f64,
    /// The most messages on one channel above a group of each level, for the levels that
    /// are passed, outermost first.
    pub by_level: Vec<(Level, usize)>,
    /// The step's share of the cost.
    pub cost: f64,
}

/// What a placement costs for a pattern.
///
/// ```
/// use phalanx::machine::Machine;
/// use phalanx::placement::{Pattern, Placement, PlacementReport, assign};
///
/// let machine = Machine::from_synthetic("pack:2 [numa] l3:4 core:8 pu:1")?;
/// let ring = Pattern::ring(64)?;
/// let placed = PlacementReport::new(&machine, &ring, &assign(&Placement::Ring, &machine, 64)?);
/// assert!(placed.steps.iter().all(|step| step.congestion == 1));
///
/// let random = assign(&Placement::Random(1), &machine, 64)?;
/// let random = PlacementReport::new(&machine, &ring, &random);
/// assert!(random.cost > placed.cost);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlacementReport {
    /// The steps, in the pattern's order.
    pub steps: Vec<StepReport>,
    /// The largest dilation of a step.
    pub dilation: usize,
    /// Channels on an average route, weighted by words.
    pub average_dilation: f64,
    /// The largest congestion of a step.
    pub congestion: usize,
    /// The most ranks on one core.
    pub node_load: usize,
    /// Cores of the machine per rank.
    pub expansion: f64,
    /// The predicted time, in the time of one word.
    pub cost: f64,
}

impl PlacementReport {
    /// Evaluates a placement with the default [`Weights`]. Messages of ranks that are bound to
    /// nothing are left out.
    #[must_use]
    pub fn new(machine: &Machine, pattern: &Pattern, assignment: &Assignment) -> PlacementReport {
        PlacementReport::with_weights(machine, pattern, assignment, &Weights::default())
    }

    /// Evaluates a placement.
    #[must_use]
    pub fn with_weights(
        machine: &Machine,
        pattern: &Pattern,
        assignment: &Assignment,
        weights: &Weights,
    ) -> PlacementReport {
        let core_of = |rank: usize| machine.core_of(assignment.pu(rank)?);
        let mut network = ChannelLoads::new(machine);
        let (mut channels, mut words) = (0, 0);
        let mut steps = Vec::with_capacity(pattern.steps().len());
        for step in pattern.steps() {
            let load = network.load(step, core_of);
            let mut by_level: SortedMap<(usize, Level), usize> = SortedMap::new();
            for (node, messages) in network.busiest() {
                let vertex = machine.tree().vertices().get(node);
                let key = vertex.map_or((usize::MAX, Level::Core), |vertex| {
                    (vertex.depth, vertex.levels.first().copied().unwrap_or(Level::Group))
                });
                debug_assert_eq!(vertex.is_none(), node >= network.vertices());
                let most = by_level.or_default(key);
                *most = messages.max(*most);
            }
            channels += load.channels;
            words += load.words;
            steps.push(StepReport {
                name: step.name.clone(),
                messages: step.messages.len(),
                dilation: load.dilation,
                average_dilation: load.channels as f64 / load.words.max(1) as f64,
                congestion: load.congestion,
                congestion_factor: load.load as f64 / load.largest.max(1) as f64,
                by_level: by_level
                    .into_pairs()
                    .into_iter()
                    .map(|((_, level), most)| (level, most))
                    .collect(),
                cost: weights.time(&load),
            });
        }
        PlacementReport {
            dilation: steps.iter().map(|step| step.dilation).max().unwrap_or(0),
            average_dilation: channels as f64 / words.max(1) as f64,
            congestion: steps.iter().map(|step| step.congestion).max().unwrap_or(0),
            node_load: assignment.most_on_one_core(),
            expansion: machine.cores().len() as f64 / assignment.ranks().max(1) as f64,
            cost: steps.iter().map(|step| step.cost).sum(),
            steps,
        }
    }
}
