//! The machine as a network: routes, loads, and the cost of a pattern.
//!
//! The network is the machine's [`Tree`](crate::machine::Tree). Between a vertex or core and the
//! vertex above it there are two channels, up and down, of one word per time unit; a message
//! climbs to the innermost vertex above both cores and descends. Where the machine tells distances
//! between NUMA nodes, a message between two nodes is longer by `distance / local distance - 1`.

use crate::machine::Machine;
use crate::sorted::Listed;

use super::pattern::{Pattern, PatternStep};

/// The cost of a step, in the time of one word: `start_up + hop * distance + word * load`, with the
/// longest distance and the largest load of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// Per step.
    pub start_up: f64,
    /// Per channel that the longest message passes.
    pub hop: f64,
    /// Per word on the busiest channel.
    pub word: f64,
}

impl Default for Weights {
    /// Start-up 1, a quarter per hop, 1 per word. Not measured on any machine: it ranks congestion
    /// above distance, as distance alone is free in the cost model.
    fn default() -> Self {
        Weights { start_up: 1.0, hop: 0.25, word: 1.0 }
    }
}

/// A step, evaluated.
#[derive(Clone, Debug, Default)]
pub(super) struct StepLoad {
    /// Channels on the longest route.
    pub(super) dilation: usize,
    /// Channels, summed over the messages with their words.
    pub(super) channels: u64,
    pub(super) words: u64,
    /// The longest distance, NUMA distances included.
    pub(super) longest: f64,
    /// The sum of all distances.
    pub(super) distances: f64,
    /// The most messages on a channel.
    pub(super) congestion: usize,
    /// The most words on a channel.
    pub(super) load: u64,
    /// The most words in one message.
    pub(super) largest: u64,
}

/// How good a placement is; smaller is better, fields in order of importance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    pub(super) cost: f64,
    pub(super) distances: f64,
}

impl Score {
    /// Better by more than rounding.
    pub(super) fn beats(&self, other: &Score) -> bool {
        const ROUNDING: f64 = 1e-9;
        if (self.cost - other.cost).abs() > ROUNDING {
            return self.cost < other.cost;
        }
        self.distances < other.distances - ROUNDING
    }
}

/// Routes and reusable counters.
#[derive(Debug)]
pub(super) struct ChannelLoads<'a> {
    machine: &'a Machine,
    /// The vertex above: vertices first, then cores.
    parent: Vec<usize>,
    depth: Vec<usize>,
    vertices: usize,
    /// Messages and words on the channels, up at `2 * node`, down at `2 * node + 1`.
    counts: Vec<(usize, u64)>,
    touched: Vec<usize>,
}

impl<'a> ChannelLoads<'a> {
    pub(super) fn new(machine: &'a Machine) -> ChannelLoads<'a> {
        let vertices = machine.tree().vertices();
        let mut parent: Vec<usize> = vertices.iter().map(|v| v.parent.unwrap_or(0)).listed();
        let mut depth: Vec<usize> = vertices.iter().map(|v| v.depth).listed();
        for core in 0..machine.cores().len() {
            let above = machine.tree().above(core);
            parent.push(above);
            depth.push(depth[above] + 1);
        }
        let counts = vec![(0, 0); 2 * parent.len()];
        let vertices = vertices.len();
        ChannelLoads { machine, parent, depth, vertices, counts, touched: Vec::new() }
    }

    /// The distance beyond the channels that a message passes, for messages between different
    /// cores.
    fn remoteness(&self, from: usize, to: usize) -> f64 {
        let cores = self.machine.cores();
        let (Some(rows), Some(a), Some(b)) =
            (self.machine.distances(), cores[from].numa, cores[to].numa)
        else {
            return 0.0;
        };
        let (local, remote) = (rows[a][a].max(1) as f64, rows[a][b] as f64);
        if a == b { 0.0 } else { (remote / local - 1.0).clamp(0.0, 100.0) }
    }

    /// Loads the channels with a step. `core_of` gives the core of each rank, `None` for a rank
    /// that is bound to nothing: its messages are left out.
    pub(super) fn load(
        &mut self,
        step: &PatternStep,
        core_of: impl Fn(usize) -> Option<usize>,
    ) -> StepLoad {
        for &channel in &self.touched {
            self.counts[channel] = (0, 0);
        }
        self.touched.clear();
        let mut result = StepLoad::default();
        for &(from, to, words) in &step.messages {
            let (Some(from), Some(to)) = (core_of(from), core_of(to)) else { continue };
            result.words += words;
            result.largest = result.largest.max(words);
            if from == to {
                continue;
            }
            let (mut up, mut down) = (self.vertices + from, self.vertices + to);
            let mut channels = 0;
            while up != down {
                let channel = if self.depth[up] >= self.depth[down] {
                    let channel = 2 * up;
                    up = self.parent[up];
                    channel
                } else {
                    let channel = 2 * down + 1;
                    down = self.parent[down];
                    channel
                };
                channels += 1;
                let count = &mut self.counts[channel];
                if count.0 == 0 {
                    self.touched.push(channel);
                }
                count.0 += 1;
                count.1 += words;
                result.congestion = result.congestion.max(count.0);
                result.load = result.load.max(count.1);
            }
            let distance = channels as f64 + self.remoteness(from, to);
            result.dilation = result.dilation.max(channels);
            result.channels += channels as u64 * words;
            result.longest = result.longest.max(distance);
            result.distances += distance * words as f64;
        }
        result
    }

    /// The messages on the busiest channel above each node of the last step: (node, messages),
    /// where nodes are the tree's vertices, then the cores.
    pub(super) fn busiest(&self) -> impl Iterator<Item = (usize, usize)> {
        self.touched.iter().map(|&channel| (channel / 2, self.counts[channel].0))
    }

    /// The number of vertices of the tree: nodes from here on are cores.
    pub(super) fn vertices(&self) -> usize {
        self.vertices
    }

    /// The score of a placement: rank to core.
    pub(super) fn score(&mut self, pattern: &Pattern, weights: &Weights, cores: &[usize]) -> Score {
        let worst = Score { cost: f64::INFINITY, distances: f64::INFINITY };
        self.score_below(pattern, weights, cores, &worst).unwrap_or(worst)
    }

    /// The score, if it beats `limit`; stops as soon as it cannot.
    pub(super) fn score_below(
        &mut self,
        pattern: &Pattern,
        weights: &Weights,
        cores: &[usize],
        limit: &Score,
    ) -> Option<Score> {
        let mut score = Score { cost: 0.0, distances: 0.0 };
        for step in pattern.steps() {
            let load = self.load(step, |rank| cores.get(rank).copied());
            score.cost += weights.time(&load);
            score.distances += load.distances;
            // Costs only grow; a tie may still be won by the distances.
            if score.cost > limit.cost + 1e-6 {
                return None;
            }
        }
        score.beats(limit).then_some(score)
    }
}

impl Weights {
    pub(super) fn time(&self, load: &StepLoad) -> f64 {
        self.start_up + self.hop * load.longest + self.word * load.load as f64
    }
}
