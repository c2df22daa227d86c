//! The clocks of all ranks: the reads and writes of each in a phase, and the shared paths.

use super::node::{Call, Node};

/// Moves of one phase: ranks read and write each other's lines at the same time.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// A software cost of so many nanoseconds.
    Work(f64),
    /// Waits until the rank `of` has said that it is ready, by a flag in `home`'s memory.
    Wait { of: usize, home: usize },
    /// Reads lines that the other rank has: of its vector, or of a cell that never leaves caches.
    Read { of: usize, lines: f64, cell: bool },
    /// Writes lines that the other rank has.
    Write { of: usize, lines: f64, cell: bool },
    /// Works on lines of its own vector: so often as memory moves each.
    Own { lines: f64, times: f64, missed: f64 },
}

/// One run of a collective: the clocks of its ranks, phase by phase.
#[derive(Debug)]
pub(super) struct PhaseClocks<'a> {
    node: &'a Node,
    cores: Vec<usize>,
    /// The time of each rank, in nanoseconds.
    pub(super) at: Vec<f64>,
    moves: Vec<(usize, Move)>,
    /// The most ranks in one cache.
    most: f64,
    /// The share of the lines that come from memory.
    missed: f64,
}

impl<'a> PhaseClocks<'a> {
    /// All ranks at nought, with `buffers` bytes of each in use.
    pub(super) fn new(call: &Call<'a>, buffers: f64) -> Self {
        let &Call { node, p, spread, .. } = call;
        let cores: Vec<usize> = (0..p).map(|r| node.core(r, spread)).collect();
        let mut sharing = vec![0usize; node.size().div_ceil(node.sharers)];
        cores.iter().for_each(|c| sharing[node.cache(*c)] += 1);
        let most = sharing.iter().copied().max().unwrap_or(1) as f64;
        let missed = missed(buffers * most, node.capacity);
        PhaseClocks { node, cores, at: vec![0.0; p], moves: Vec::new(), most, missed }
    }

    pub(super) fn missed(&self) -> f64 {
        self.missed
    }

    pub(super) fn ranks(&self) -> usize {
        self.at.len()
    }

    pub(super) fn hand_off(&self, a: usize, b: usize) -> f64 {
        self.node.hand_off[self.node.distance(self.cores[a], self.cores[b])]
    }

    pub(super) fn distance(&self, a: usize, b: usize) -> usize {
        self.node.distance(self.cores[a], self.cores[b])
    }

    pub(super) fn work(&mut self, rank: usize, ns: f64) {
        self.moves.push((rank, Move::Work(ns)));
    }

    /// By a flag in the segment of all flags, in rank 0's memory.
    pub(super) fn wait(&mut self, rank: usize, other: usize) {
        self.wait_at(rank, other, 0);
    }

    /// By a flag in the memory of `home`.
    pub(super) fn wait_at(&mut self, rank: usize, of: usize, home: usize) {
        self.moves.push((rank, Move::Wait { of, home }));
    }

    /// `rank` reads the vector of `of`.
    pub(super) fn read(&mut self, rank: usize, of: usize, bytes: f64) {
        self.moves.push((rank, Move::Read { of, lines: lines(bytes), cell: false }));
    }

    /// `rank` writes into the vector of `of`.
    pub(super) fn write(&mut self, rank: usize, of: usize, bytes: f64) {
        self.moves.push((rank, Move::Write { of, lines: lines(bytes), cell: false }));
    }

    /// `rank` reads a cell that `of` has filled.
    pub(super) fn read_cell(&mut self, rank: usize, of: usize, bytes: f64) {
        self.moves.push((rank, Move::Read { of, lines: lines(bytes), cell: true }));
    }

    /// `rank` fills a cell that `of` has read before.
    pub(super) fn write_cell(&mut self, rank: usize, of: usize, bytes: f64) {
        self.moves.push((rank, Move::Write { of, lines: lines(bytes), cell: true }));
    }

    /// `rank` reads its own vector.
    pub(super) fn own_read(&mut self, rank: usize, bytes: f64) {
        self.moves.push((rank, Move::Own { lines: lines(bytes), times: 1.0, missed: self.missed }));
    }

    /// `rank` writes its own vector.
    pub(super) fn own_write(&mut self, rank: usize, bytes: f64) {
        let times = self.node.write_traffic;
        self.moves.push((rank, Move::Own { lines: lines(bytes), times, missed: self.missed }));
    }

    /// `rank` comes back to a block of its own vector that it has just used, to read it or to add
    /// to it: in its cache if it fits there beside as much that streams through.
    pub(super) fn again(&mut self, rank: usize, bytes: f64, adds: bool) {
        let missed = self.missed.min(missed(2.0 * bytes * self.most, self.node.capacity));
        let times = if adds { 2.0 } else { 1.0 };
        self.moves.push((rank, Move::Own { lines: lines(bytes), times, missed }));
    }

    /// One line of many, `missed` of them in memory.
    fn line(&self, distance: usize, in_flight: f64, missed: f64) -> f64 {
        let near = self.node.line(distance, in_flight);
        let far = self.node.core_memory;
        near * (1.0 - missed) + near.max(far) * missed
    }

    fn cost(&self, rank: usize, a_move: Move) -> f64 {
        let (of, n, in_flight, cell) = match a_move {
            Move::Work(ns) => return ns,
            Move::Wait { .. } => return 0.0,
            Move::Own { lines, missed: m, .. } => {
                return lines * (self.node.work * (1.0 - m) + self.node.core_memory * m);
            }
            Move::Read { of, lines, cell } => (of, lines, self.node.reads_in_flight, cell),
            Move::Write { of, lines, cell } => (of, lines, self.node.writes_in_flight, cell),
        };
        let missed = if cell { 0.0 } else { self.missed };
        let d = self.distance(rank, of);
        let all = n * self.line(d, in_flight, missed);
        match a_move {
            // A short read waits for its line, beside a few others; of a long one many are in
            // flight at once.
            Move::Read { .. } if n > 0.0 => all.max(self.node.hand_off[d] / self.node.overlap),
            _ => all,
        }
    }

    /// Runs the moves of this phase. They began when the last phase ended: a rank that waits
    /// waits for the other's work until then.
    pub(super) fn run(&mut self) {
        let node = self.node;
        let before = self.at.clone();
        let moves = std::mem::take(&mut self.moves);
        let mut busy = vec![0.0; self.ranks()];
        let (mut out, mut into) = (vec![0.0; self.caches()], vec![0.0; self.caches()]);
        let (mut sent, mut got) = (vec![0.0; node.packages], vec![0.0; node.packages]);
        let mut memory = vec![0.0; node.packages];
        let mut homes = vec![0.0; node.packages * node.memories];
        let mut pollers = vec![0u32; self.ranks()];
        let mut flags = vec![0.0; node.packages * node.memories];
        let mut far_flags = vec![0.0; node.packages];
        for &(rank, a_move) in &moves {
            busy[rank] += self.cost(rank, a_move);
            let core = self.cores[rank];
            let package = node.package(core);
            let (of, n, times, missed, cell) = match a_move {
                Move::Read { of, lines, cell } => (of, lines, 1.0, self.missed, cell),
                Move::Write { of, lines, cell } => {
                    (of, lines, node.write_traffic, self.missed, cell)
                }
                Move::Own { lines, times, missed } => (rank, lines, times, missed, false),
                Move::Wait { of, home } => {
                    let at = self.cores[home];
                    pollers[of] += 1;
                    flags[at * node.memories / node.cores] += node.home;
                    let is_far = node.package(at) != package;
                    far_flags[node.package(at)] += node.link * f64::from(is_far);
                    continue;
                }
                Move::Work(_) => continue,
            };
            let (from, home) = (self.cores[of], node.package(self.cores[of]));
            if node.cache(from) != node.cache(core) {
                out[node.cache(from)] += n * node.served;
                into[node.cache(core)] += n * node.served;
            }
            if package != home {
                sent[home] += n * node.link;
                got[package] += n * node.link;
            }
            if cell {
                homes[from * node.memories / node.cores] += n * node.home;
            } else {
                memory[home] += n * times * missed * node.memory;
            }
        }
        let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
        let bound = [&out, &into, &sent, &got, &memory, &homes].into_iter().map(|all| most(all));
        let bound = bound.fold(0.0, f64::max);
        let busiest = most(&busy);
        let stretch = if busiest > 0.0 { (bound / busiest).max(1.0) } else { 1.0 };
        let shared_flags = most(&far_flags).max(most(&flags));
        let mut waits = vec![false; self.ranks()];
        for (rank, a_move) in moves {
            match a_move {
                Move::Wait { of: other, .. } => {
                    // The writer takes its line back from all readers that poll it; they fetch it
                    // in turn.
                    waits[rank] = true;
                    let turns = f64::from(pollers[other] - 1) * node.reader;
                    let flag = before[other] + 2.0 * self.hand_off(rank, other) + turns;
                    let seen = self.at[rank] + self.hand_off(rank, other) / node.flags_in_flight;
                    self.at[rank] = seen.max(flag);
                }
                Move::Work(ns) => self.at[rank] += ns,
                _ => self.at[rank] += self.cost(rank, a_move) * stretch,
            }
        }
        // All flags of a memory in this phase pass through it.
        let waits = waits.into_iter().zip(&mut self.at).filter(|(waits, _)| *waits);
        waits.for_each(|(_, at)| *at += shared_flags);
    }

    fn caches(&self) -> usize {
        self.node.size().div_ceil(self.node.sharers)
    }

    /// The mean of all clocks, in microseconds.
    pub(super) fn mean_us(&self) -> f64 {
        self.at.iter().sum::<f64>() / self.at.len() as f64 / 1000.0
    }
}

/// The share of the lines that a cache of `capacity` does not keep, of `bytes` used in turn.
fn missed(bytes: f64, capacity: f64) -> f64 {
    if bytes > 0.0 { 1.0 / (1.0 + (capacity / bytes).powi(4)) } else { 0.0 }
}

pub(super) fn lines(bytes: f64) -> f64 {
    if bytes > 0.0 { (bytes / 64.0).max(1.0) } else { 0.0 }
}
