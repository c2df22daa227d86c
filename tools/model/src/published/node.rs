//! The two kinds of node of the published curves, and the constants of their hardware.

/// The hardware of one node: the shared paths of its cores, and the times of its lines.
///
/// Times are nanoseconds for one line of 64 bytes, sizes are bytes. A `distance` is 0 within a
/// last-level cache, 1 within a package, 2 between packages.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The number of packages.
    pub packages: usize,
    /// The cores of one package.
    pub cores: usize,
    /// The memories of one package (its NUMA nodes).
    pub memories: usize,
    /// The cores that share one last-level cache.
    pub sharers: usize,
    /// A hand-off of one line by distance.
    pub hand_off: [f64; 3],
    /// The lines that a core fetches at once from another core.
    pub reads_in_flight: f64,
    /// The lines that a core claims at once to write them.
    pub writes_in_flight: f64,
    /// How a line's time grows with its hand-off where many are in flight: 1 with it, 0 not at all.
    pub slope: f64,
    /// The short reads of one line that a core has under way at once.
    pub overlap: f64,
    /// The flags that a core looks at while it waits for the first.
    pub flags_in_flight: f64,
    /// A core's own work on one line that it has: load, add, store.
    pub work: f64,
    /// The time in which one cache serves (or takes) a line of another cache.
    pub served: f64,
    /// The time of a line on the links of one package, each way.
    pub link: f64,
    /// The time in which the home of a segment passes on one of its lines.
    pub home: f64,
    /// Memory's transfers for a line that is written: 2 where it is read first.
    pub write_traffic: f64,
    /// The time in which the memory of one package moves a line.
    pub memory: f64,
    /// The time in which one core gets a line from memory.
    pub core_memory: f64,
    /// The room of one cache and the inner caches of its sharers.
    pub capacity: f64,
    /// A further reader of a line that others fetch at the same time.
    pub reader: f64,
}

impl Node {
    /// The core of a rank: side by side, or dealt over the packages in turn.
    ///
    /// # Examples
    /// ```
    /// let [epyc, _] = phalanx_model::published::machines();
    /// assert_eq!((epyc.node.core(1, false), epyc.node.core(1, true)), (1, 64));
    /// ```
    pub fn core(&self, rank: usize, spread: bool) -> usize {
        match spread {
            true => rank % self.packages * self.cores + rank / self.packages,
            false => rank,
        }
    }

    /// All cores.
    ///
    /// # Examples
    /// ```
    /// let [_, grace] = phalanx_model::published::machines();
    /// assert_eq!(grace.node.size(), 288);
    /// ```
    pub fn size(&self) -> usize {
        self.packages * self.cores
    }

    /// One line of many that a core fetches or claims.
    pub(super) fn line(&self, distance: usize, in_flight: f64) -> f64 {
        let near = self.hand_off[1] / in_flight;
        let far = (self.hand_off[distance] / self.hand_off[1]).powf(self.slope);
        (near * far).max(self.work)
    }

    pub(super) fn package(&self, core: usize) -> usize {
        core / self.cores
    }

    pub(super) fn cache(&self, core: usize) -> usize {
        core / self.sharers
    }

    pub(super) fn distance(&self, a: usize, b: usize) -> usize {
        match (self.cache(a) == self.cache(b), self.package(a) == self.package(b)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        }
    }
}

/// A call: how many ranks of a node, where, and how many bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) node: &'a Node,
    pub(super) p: usize,
    pub(super) spread: bool,
    pub(super) bytes: f64,
}
