//! A machine with a start-up time and a word time for each level: near cores exchange faster than
//! far ones.

use super::{BadNetwork, MOST_NODES, Network};
use phalanx::schedule::{Algorithm, Request, Schedule};
use phalanx::tuning::LevelTimes;

/// A network with times for each of its levels.
///
/// Of a tree, level 0 are the channels below the root, level 1 those below
/// them, and so on; of a mesh, torus or hypercube a level is a dimension. The
/// last level given stands for all further ones.
///
/// A step takes the largest start-up of its messages, of the levels on their
/// ways, and the time of its slowest channel for all that goes over it.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx::tuning::LevelTimes;
/// use phalanx_model::{Levels, Network};
/// // Two packages of four cores; a message between them is ten times dearer.
/// let machine = phalanx::machine::Machine::from_synthetic("pack:2 core:4 pu:1").unwrap();
/// let far = LevelTimes { t_s: 500.0, t_w: 10.0 };
/// let near = LevelTimes { t_s: 50.0, t_w: 1.0 };
/// let levels = Levels::new(Network::machine(&machine), [far, near]);
/// let time = |a: Algorithm, m| {
///     let schedule = a.schedule(&Request::new(Operation::AllGather, 8)).unwrap();
///     levels.time(&schedule, m).unwrap()
/// };
/// // The far dimension first, with a single block: 1 far start-up, 2 near ones.
/// assert_eq!(time(Algorithm::AG_HCUBE_DESC, 0.0), 600.0);
/// assert!(time(Algorithm::AG_HCUBE_DESC, 1e3) < time(Algorithm::AG_HCUBE, 1e3));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    network: Network,
    levels: Vec<LevelTimes>,
}

impl Levels {
    /// The network and the times of its levels, the top one of a tree first;
    /// without any, everything costs nothing.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::LevelTimes;
    /// use phalanx_model::{Levels, Network};
    /// let flat = Levels::new(Network::ring(8), [LevelTimes { t_s: 100.0, t_w: 1.0 }]);
    /// assert_eq!(flat.network().nodes(), 8);
    /// ```
    pub fn new(network: Network, levels: impl Into<Vec<LevelTimes>>) -> Self {
        let mut levels = levels.into();
        if levels.is_empty() {
            levels.push(LevelTimes { t_s: 0.0, t_w: 0.0 });
        }
        Levels { network, levels }
    }

    /// The network.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::{Levels, Network};
    /// assert_eq!(Levels::new(Network::tree(4), []).network().name(), "tree");
    /// ```
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The predicted time of a schedule on `m` words, every rank on the node
    /// that [`Network::home`] names.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx::tuning::LevelTimes;
    /// use phalanx_model::{Congestion, Levels, Network};
    /// // The same everywhere: the flat model's time.
    /// let ring = Network::ring(8);
    /// let flat = Levels::new(ring.clone(), [LevelTimes { t_s: 100.0, t_w: 2.0 }]);
    /// let schedule = Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// let cost = Congestion::on(&ring, &schedule).unwrap().cost;
    /// assert_eq!(flat.time(&schedule, 10.0).unwrap(), cost.time(100.0, 2.0, 10.0));
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn time(&self, schedule: &Schedule, m: f64) -> Result<f64, BadNetwork> {
        self.time_by(schedule, m, |level, _| self.levels[level.min(self.levels.len() - 1)])
    }

    /// [`time`](Levels::time), with rates that hang on the length of a message, too: `rates` has
    /// the level of a channel and the words of a message that goes over it.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx::tuning::LevelTimes;
    /// use phalanx_model::{Levels, Network};
    /// let ring = Levels::new(Network::ring(2), []);
    /// // Messages of more than 1000 words have another way to go.
    /// let rates = |_, words| match words {
    ///     w if w > 1000.0 => LevelTimes { t_s: 300.0, t_w: 0.1 },
    ///     _ => LevelTimes { t_s: 100.0, t_w: 0.5 },
    /// };
    /// let schedule = Algorithm::AG_RING.schedule(&Request::new(Operation::AllGather, 2))?;
    /// let time = |m| ring.time_by(&schedule, m, rates).unwrap();
    /// assert_eq!([time(10.0), time(10_000.0)], [105.0, 1300.0]);
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn time_by(
        &self,
        schedule: &Schedule,
        m: f64,
        rates: impl Fn(usize, f64) -> LevelTimes,
    ) -> Result<f64, BadNetwork> {
        let (nodes, ranks) = (self.network.nodes(), schedule.contract().ranks);
        if nodes > MOST_NODES {
            return Err(BadNetwork::TooLarge(nodes));
        }
        if ranks > nodes {
            return Err(BadNetwork::TooFew { nodes, ranks });
        }
        let algorithm = schedule.id().parse::<Algorithm>().ok();
        let home = |rank| algorithm.map_or(rank, |a| self.network.home(a, rank));
        let split = schedule.contract().split.max(1) as f64;
        let mut load = vec![0.0f64; self.network.channels()];
        let mut used = Vec::new();
        let mut time = 0.0;
        for step in 0..schedule.steps() {
            let (mut startup, mut slowest) = (0.0f64, 0.0f64);
            for rank in 0..ranks {
                for send in schedule.step(step, rank).sends {
                    let blocks: usize = send.blocks.iter().map(|r| r.count).sum();
                    let words = blocks as f64 * m / split;
                    self.network.walk(home(rank), home(send.to), |channel, _| {
                        let level = rates(self.network.level(channel), words);
                        startup = startup.max(level.t_s);
                        used.push(channel);
                        load[channel] += words * level.t_w;
                    });
                }
            }
            for channel in used.drain(..) {
                slowest = slowest.max(std::mem::take(&mut load[channel]));
            }
            time += startup + slowest;
        }
        Ok(time)
    }

    /// The algorithms that can serve a request on `m` words with `ports` ports,
    /// with their times, the cheapest first.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx::tuning::LevelTimes;
    /// use phalanx_model::{Levels, Network};
    /// let call = Request::new(Operation::AllGather, 16);
    /// let best = |far_t_w, m| {
    ///     let far = LevelTimes { t_s: 1e3, t_w: far_t_w };
    ///     let near = LevelTimes { t_s: 100.0, t_w: 1.0 };
    ///     Levels::new(Network::tree(16), [far, near]).rank(&call, m, 1)[0].0
    /// };
    /// // Few start-ups, the far ones first; for long blocks the ring, which never congests ...
    /// assert_eq!(best(1.0, 1.0), Algorithm::AG_HCUBE_DESC);
    /// assert_eq!(best(1.0, 1e6), Algorithm::AG_RING);
    /// // ... unless the top is so slow that crossing it in every step decides.
    /// assert_eq!(best(4.0, 1e6), Algorithm::AG_HCUBE_DESC);
    /// ```
    pub fn rank(&self, request: &Request, m: f64, ports: usize) -> Vec<(Algorithm, f64)> {
        let timed = |algorithm: Algorithm| {
            let schedule = algorithm.schedule(request).ok()?;
            if schedule.ports() > ports {
                return None;
            }
            Some((algorithm, self.time(&schedule, m).ok()?))
        };
        let mut all: Vec<(Algorithm, f64)> =
            Algorithm::for_operation(request.operation).filter_map(timed).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }
}
