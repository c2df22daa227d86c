//! Programs with known waits: the common part of their tests.
#![allow(dead_code, reason = "no test file uses all of it")]

use phalanx::{Comm, Team};
use phalanx_waits::record::{self, Run};
use phalanx_waits::summary::{self, By, Summary};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A file that is removed in the end.
pub(crate) struct TestFile(pub(crate) PathBuf);

impl TestFile {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{name}-{}.phx", std::process::id()));
        let _ = std::fs::remove_file(&path);
        TestFile(path)
    }

    pub(crate) fn runs(&self) -> Vec<Run> {
        let bytes = std::fs::read(&self.0).unwrap();
        let sections = record::sections(&bytes).unwrap().whole;
        sections.into_iter().map(|at| record::run(&bytes[at]).unwrap()).collect()
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs `f` on `ranks` ranks; returns the run as recorded, and the ranks' results.
pub(crate) fn recorded<R: Send>(
    name: &str,
    ranks: usize,
    f: impl Fn(&mut Comm) -> R + Sync,
) -> (Run, Summary, Vec<R>) {
    let file = TestFile::new(name);
    let team = Team::builder().ranks(ranks).record(&file.0).build().unwrap();
    let results = team.run(f).unwrap();
    let run = file.runs().remove(0);
    let summary = summary::read(&run);
    (run, summary, results)
}

/// Sleeps; returns how long.
pub(crate) fn sleep(ms: u64) -> Duration {
    let since = Instant::now();
    std::thread::sleep(Duration::from_millis(ms));
    since.elapsed()
}

/// How long `waiter` waited because of `rank`: for its work before the call at `at`, and for its
/// way out of the call before that, which on a busy machine takes a while.
pub(crate) fn waited(summary: &Summary, waiter: usize, rank: usize, at: &str) -> u64 {
    let rows = summary.culprits.iter();
    let rows = rows.filter(|row| row.rank == rank && (row.by != By::Work || row.at == at));
    rows.flat_map(|row| &row.waiting).filter(|it| it.0 == waiter).map(|it| it.1).sum()
}

/// Calls `f` until it does not panic, eight times at most: on a busy machine a rank may lose its
/// core between its look at the clock and its call. A fault of a record is there each time.
pub(crate) fn in_one_of_eight(f: impl Fn()) {
    for _ in 0..7 {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(&f)).is_ok() {
            return;
        }
    }
    f();
}

/// Within a tenth.
pub(crate) fn is_near(got: u64, wanted: Duration) -> bool {
    let wanted = wanted.as_nanos() as f64;
    (got as f64 - wanted).abs() <= wanted / 10.0
}

/// A record that no program has written, by the format of `docs/timeline.md`.
#[derive(Clone)]
pub(crate) struct Section {
    pub(crate) version: u32,
    pub(crate) unix: u64,
    pub(crate) process: (u64, u32),
    pub(crate) dispatched: u64,
    pub(crate) at: &'static str,
    /// Of each rank its beginning and end, and for both the unit and the lost cores.
    pub(crate) ranks: Vec<([u64; 2], [[u64; 2]; 2])>,
}

impl Section {
    /// Of ranks that begin and end at these nanoseconds, each on a core of its own.
    pub(crate) fn of(process: u64, at: &'static str, ranks: &[[u64; 2]]) -> Section {
        let own = |(rank, it): (usize, &[u64; 2])| (*it, [[rank as u64, 0]; 2]);
        let ranks = ranks.iter().enumerate().map(own).collect();
        Section { version: 2, unix: process, process: (process, 7), dispatched: 0, at, ranks }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let long = |body: &mut Vec<u8>, numbers: &[u64]| {
            numbers.iter().for_each(|it| body.extend(it.to_le_bytes()));
        };
        let short = |body: &mut Vec<u8>, numbers: &[u32]| {
            numbers.iter().for_each(|it| body.extend(it.to_le_bytes()));
        };
        long(&mut body, &[1, 1, self.unix, self.process.0, self.dispatched]);
        short(&mut body, &[self.process.1, 1]);
        short(&mut body, &[self.ranks.len() as u32, 2, 0, 0]);
        for text in ["", self.at] {
            short(&mut body, &[text.len() as u32]);
            body.extend(text.as_bytes());
        }
        for ([began, ended], cores) in &self.ranks {
            long(&mut body, &[*began, *ended, 0, 0]);
            for [pu, lost] in cores {
                long(&mut body, &[*pu, *lost, 0]);
            }
        }
        let mut all = b"PHLXWAIT".to_vec();
        short(&mut all, &[self.version, 0]);
        long(&mut all, &[body.len() as u64]);
        all.extend(body);
        all
    }
}
