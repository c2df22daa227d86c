//! The raw exchange of two flags, and the timing and filing of batches.

#[path = "../raw/flags.rs"]
mod flags;
#[path = "../raw/rounds.rs"]
mod rounds;

pub(crate) use flags::Flags;
use phalanx::Comm;
use phalanx::engine::is_beside_load;
use phalanx_model::median;
pub(crate) use rounds::Rounds;
use std::time::{Duration, Instant};

/// One rank's use of the flags: the numbers of its exchanges.
pub(crate) struct Raw<'a> {
    pub(crate) flags: &'a Flags,
    pub(crate) rank: usize,
    pub(crate) exchanges: u64,
}

impl<'a> Raw<'a> {
    pub(crate) fn new(flags: &'a Flags, rank: usize) -> Self {
        Raw { flags, rank, exchanges: 0 }
    }

    #[inline(always)]
    pub(crate) fn exchange(&mut self) {
        self.exchanges += 1;
        self.flags.exchange(self.rank, self.exchanges);
    }

    pub(crate) fn exchanged(&mut self, calls: u64) -> f64 {
        batch(calls, || self.exchange())
    }

    pub(crate) fn pinged(&mut self, calls: u64) -> f64 {
        batch(calls, || {
            self.exchanges += 1;
            self.flags.ping_pong(self.rank, self.exchanges);
        })
    }
}

/// Raw exchanges of one batch.
pub(crate) const EXCHANGES: u64 = 400;

/// Files batches in `rows`, each between two raw exchanges, in rounds until the time is over. `one`
/// returns the times of ours and of the program beside it (none: the exchange) for a row by number.
pub(crate) fn interleaved(
    comm: &mut Comm,
    flags: &Flags,
    time: Duration,
    rows: &mut [Row],
    mut one: impl FnMut(&mut Comm, &mut Raw<'_>, usize) -> (f64, Option<f64>),
) {
    let raw = &mut Raw::new(flags, comm.rank());
    let mut rounds = Rounds::new(time);
    while rounds.next(comm) {
        for (number, row) in rows.iter_mut().enumerate() {
            comm.barrier();
            raw.exchanged(50);
            let before = raw.exchanged(EXCHANGES);
            let (ours, base) = one(comm, raw, number);
            row.keep(before, raw.exchanged(EXCHANGES), ours, base);
        }
    }
}

/// Nanoseconds of one call, over a batch.
pub(crate) fn batch(calls: u64, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// The measurement of one thing.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Multiples of the raw cost; on one core, near, far.
    ratios: [Vec<f64>; 3],
    ns: [Vec<f64>; 3],
    /// Whether the library thought that the process is disturbed.
    disturbed: bool,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Row {
            name: name.into(),
            ratios: Default::default(),
            ns: Default::default(),
            disturbed: false,
        }
    }

    /// Files a batch between two raw exchanges if the place did not change
    /// during it; as a multiple of `base`, or else of the exchanges.
    pub(crate) fn keep(&mut self, before: f64, after: f64, ours: f64, base: Option<f64>) {
        if (before / after).max(after / before) < 1.25 {
            let exchange = (before + after) / 2.0;
            let place = [45.0, 130.0].iter().filter(|&&from| exchange >= from).count();
            self.ratios[place].push(ours / base.unwrap_or(exchange));
            self.ns[place].push(ours);
            self.disturbed |= is_beside_load();
        }
    }

    pub(crate) fn heading() {
        let places = ["one core", "near", "far"].map(|place| format!("{place}: ratio (ns, n)"));
        let [one, near, far] = places;
        println!("{:46} {one:>24} {near:>24} {far:>24}", "");
    }

    pub(crate) fn print(&mut self) {
        print!("{:46}", self.name);
        for place in 0..3 {
            let (r, ns) = (median(&self.ratios[place]), median(&self.ns[place]));
            let what = match self.ns[place].len() {
                0 => "-".to_string(),
                n => format!("{r:.2} ({ns:.0}, {n})"),
            };
            print!(" {what:>24}");
        }
        println!("{}", if self.disturbed { " disturbed" } else { "" });
    }
}
