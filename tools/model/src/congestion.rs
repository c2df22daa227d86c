//! The cost of a schedule on a physical network: the length of the messages' routes (dilation) and
//! the number of messages on one channel (congestion).

use super::{BadNetwork, Cost, MOST_NODES, Network, Ratio, ratio};
use phalanx::schedule::{Algorithm, Load, Schedule};

/// One step on a network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepOn {
    /// The most channels that a message takes.
    pub dilation: usize,
    /// The channels that a word takes on average.
    pub mean_dilation: Ratio,
    /// The most messages on one channel, in one direction.
    pub congestion: usize,
    /// The words of the most loaded channel or port, in units of m: the step
    /// costs t_s + t_w m times this.
    pub load: Ratio,
    /// The words of the largest message, in units of m.
    pub largest: Ratio,
    /// `load / largest`: by how much congestion slows the step down.
    pub factor: Ratio,
}

/// The words that cross from one half of the nodes to the other, per direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Crossing {
    /// From the lower half of the node numbers to the upper one.
    pub up: Ratio,
    /// From the upper half to the lower one.
    pub down: Ratio,
}

impl Crossing {
    /// The larger of the two.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Congestion, Network};
    /// let chain = Algorithm::SCAN_CHAIN.schedule(&Request::new(Operation::Scan, 8))?;
    /// let crossing = Congestion::on(&Network::linear(8), &chain).unwrap().crossing;
    /// assert_eq!((crossing.up.to_string(), crossing.down.to_string()), ("1".into(), "0".into()));
    /// assert_eq!(crossing.most(), crossing.up);
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn most(self) -> Ratio {
        self.up.max(self.down)
    }
}

/// A schedule on a network.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx_model::{Congestion, Network, Ratio};
/// // Fig. 4.12: the hypercube's all-gather on a ring of 8.
/// let cube = Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
/// let ring = Congestion::on(&Network::ring(8), &cube).unwrap();
/// let worst: Vec<usize> = ring.steps.iter().map(|s| s.congestion).collect();
/// assert_eq!(worst, [1, 2, 4]);
/// assert_eq!((ring.dilation, ring.congestion), (4, 4));
/// assert_eq!((ring.cost.ts, ring.cost.tw), (3, Ratio::from(1 + 2 * 2 + 4 * 4)));
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Congestion {
    /// Step by step.
    pub steps: Vec<StepOn>,
    /// The largest dilation of a step.
    pub dilation: usize,
    /// The largest congestion of a step.
    pub congestion: usize,
    /// Start-ups and words, with every step as slow as its worst channel.
    pub cost: Cost,
    /// The words of all steps between the halves of the network. On a tree
    /// those are the words over the top.
    pub crossing: Crossing,
}

impl Congestion {
    /// Every rank on the node that [`Network::home`] names.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Congestion, Network};
    /// let shift = Request::new(Operation::Shift, 8).shift(5);
    /// let gray = Algorithm::CS_HC_RGC_F.schedule(&shift)?;
    /// let cube = Congestion::on(&Network::hypercube(3), &gray).unwrap();
    /// assert_eq!((cube.dilation, cube.congestion), (1, 1));
    /// assert!(Congestion::on(&Network::hypercube(2), &gray).is_err());
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn on(network: &Network, schedule: &Schedule) -> Result<Congestion, BadNetwork> {
        let (nodes, ranks) = (network.nodes(), schedule.contract().ranks);
        if ranks > nodes {
            return Err(BadNetwork::TooFew { nodes, ranks });
        }
        match schedule.id().parse::<Algorithm>() {
            Ok(algorithm) => {
                Congestion::placed(network, schedule, |rank| network.home(algorithm, rank))
            }
            Err(_) => Congestion::placed(network, schedule, |rank| rank),
        }
    }

    /// Every rank on the node that `node` names; several may share one.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx::topology::gray;
    /// use phalanx_model::{Congestion, Network, Ratio};
    /// // A ring in a hypercube: neighbours stay neighbours along the Gray code.
    /// let ring = Algorithm::AG_RING.schedule(&Request::new(Operation::AllGather, 16))?;
    /// let cube = Network::hypercube(4);
    /// assert_eq!(Congestion::placed(&cube, &ring, gray).unwrap().dilation, 1);
    /// assert_eq!(Congestion::placed(&cube, &ring, |rank| rank).unwrap().dilation, 4);
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn placed(
        network: &Network,
        schedule: &Schedule,
        node: impl Fn(usize) -> usize,
    ) -> Result<Congestion, BadNetwork> {
        let contract = schedule.contract();
        let nodes = network.nodes();
        if nodes > MOST_NODES {
            return Err(BadNetwork::TooLarge(nodes));
        }
        let at: Vec<usize> = (0..contract.ranks).map(node).collect();
        if let Some(rank) = at.iter().position(|&node| node >= nodes) {
            return Err(BadNetwork::Node { rank, node: at[rank], nodes });
        }
        let mut tally = Tally {
            network,
            ports: schedule.ports(),
            split: contract.split.max(1),
            on: vec![(0, 0); network.channels()],
            used: Vec::new(),
            up: 0,
            down: 0,
        };
        let mut all = Congestion {
            steps: Vec::with_capacity(schedule.steps()),
            dilation: 0,
            congestion: 0,
            cost: Cost { steps: schedule.steps(), ts: 0, tw: Ratio::default() },
            crossing: Crossing { up: Ratio::default(), down: Ratio::default() },
        };
        let mut loads = 0;
        for step in 0..schedule.steps() {
            let (here, load, startups) = tally.step(schedule, step, &at);
            all.dilation = all.dilation.max(here.dilation);
            all.congestion = all.congestion.max(here.congestion);
            all.cost.ts += startups;
            loads += load;
            all.steps.push(here);
        }
        all.cost.tw = ratio(loads, tally.split * tally.ports);
        all.crossing =
            Crossing { up: ratio(tally.up, tally.split), down: ratio(tally.down, tally.split) };
        Ok(all)
    }
}

/// The words on the channels.
struct Tally<'a> {
    network: &'a Network,
    ports: usize,
    split: usize,
    /// Messages and blocks on every channel in the step.
    on: Vec<(usize, usize)>,
    /// The channels in use in the step.
    used: Vec<usize>,
    up: usize,
    down: usize,
}

impl Tally<'_> {
    /// The step, its load in blocks times ports, and its start-ups.
    fn step(&mut self, schedule: &Schedule, step: usize, at: &[usize]) -> (StepOn, usize, usize) {
        let half = self.network.nodes().div_ceil(2);
        let (mut dilation, mut walked, mut sent) = (0, 0, 0);
        let mut largest = 0;
        let Load { startups, blocks: mut load } = schedule.load(step, self.ports);
        for (rank, &from) in at.iter().enumerate() {
            let part = schedule.step(step, rank);
            for send in &part.sends {
                let Some(&to) = at.get(send.to) else { continue };
                let blocks = send.blocks.iter().map(|run| run.count).sum::<usize>();
                let mut hops = 0;
                let (on, used) = (&mut self.on, &mut self.used);
                self.network.walk(from, to, |channel, _| {
                    hops += 1;
                    if on[channel].0 == 0 {
                        used.push(channel);
                    }
                    on[channel].0 += 1;
                    on[channel].1 += blocks;
                });
                match (from < half, to < half) {
                    (true, false) => self.up += blocks,
                    (false, true) => self.down += blocks,
                    _ => {}
                }
                dilation = dilation.max(hops);
                walked += hops * blocks;
                sent += blocks;
                largest = largest.max(blocks);
            }
        }
        let mut congestion = 0;
        for channel in self.used.drain(..) {
            let (messages, blocks) = std::mem::take(&mut self.on[channel]);
            congestion = congestion.max(messages);
            load = load.max(blocks * self.ports);
        }
        let here = StepOn {
            dilation,
            mean_dilation: ratio(walked, sent),
            congestion,
            load: ratio(load, self.split * self.ports),
            largest: ratio(largest, self.split),
            factor: ratio(load, largest * self.ports),
        };
        (here, load, startups)
    }
}
