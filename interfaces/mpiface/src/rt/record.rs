//! The record of a run, if PHALANX_RECORD names a file: each rank's calls that reach other ranks,
//! and its waits. The library keeps it, and writes its format (`docs/timeline.md`); here is
//! the text of a call. (`api/recorded.rs` gives it at each call; the library's own waits, in which
//! every wait of this package ends, are waits of the latest call.)
//!
//! Nothing of this is asked for where no record is wanted: ranks are bound to another table then.

use super::error::before_end;
use super::handle::Handle;
use super::mutex::lock;
use super::site::{debug_information, line, place_in_file};
use super::thread_time::thread_time;
use crate::load::image::origin;
use phalanx::engine::{CallEvent, InterfaceRecord};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// A run's record, which its ranks share.
#[derive(Debug)]
pub struct Record {
    /// Where events go.
    pub calls: InterfaceRecord,
    program: OnceLock<String>,
    runs: AtomicU64,
    starters: Mutex<HashMap<(u64, u64), RankStarter>>,
}

/// The last rank to come to a collective that was started.
#[derive(Debug, Default)]
struct RankStarter {
    last: usize,
    /// Ranks that have waited for it.
    waited: usize,
}

/// Records whose runs have not ended: a process may end by an error of one rank.
static UNDER_WAY: Mutex<Vec<Weak<Record>>> = Mutex::new(Vec::new());

impl Record {
    /// Of the ranks of `comm`'s team, if that is recorded.
    pub fn of(comm: &phalanx::Comm) -> Option<Arc<Record>> {
        let calls = InterfaceRecord::of(comm)?;
        let (runs, starters) = (AtomicU64::new(0), Mutex::default());
        Some(Arc::new(Record { calls, program: OnceLock::new(), runs, starters }))
    }

    /// The program's name is this, and not the process's.
    pub fn name(&self, program: &Path) {
        let _ = self.program.set(program.display().to_string());
    }

    /// A run of all ranks begins, after `end`: if the process ends, it is written.
    pub fn begin(self: &Arc<Record>) {
        // A counter: nothing is published by it.
        self.runs.fetch_add(1, Ordering::Relaxed);
        before_end(save_all);
        lock(&UNDER_WAY).push(Arc::downgrade(self));
    }

    /// The run has ended (none: well), and none of its ranks calls any more: it is written.
    pub fn end(self: &Arc<Record>, outcome: &str) {
        lock(&UNDER_WAY).retain(|it| !std::ptr::eq(it.as_ptr(), Arc::as_ptr(self)));
        self.save(outcome);
    }

    fn save(&self, outcome: &str) {
        let mut lines = SourceLines::default();
        // One closure for all ranks: each line is looked up once.
        let lines = Mutex::new(&mut lines);
        let places = |addresses: &[usize]| lock(&lines).of(addresses);
        let own = || std::env::args_os().next().unwrap_or_default().display().to_string();
        let program = self.program.get_or_init(own);
        self.calls.save((program, self.runs.load(Ordering::Relaxed)), outcome, &places);
    }

    /// A rank comes to the collective of this number that is started on a communicator.
    pub fn starts(&self, collective: (u64, u64), rank: usize) {
        lock(&self.starters).entry(collective).or_default().last = rank;
    }

    /// One of so many ranks has waited for it: gives the last rank to come.
    pub fn started(&self, collective: (u64, u64), ranks: usize) -> Option<usize> {
        let mut starters = lock(&self.starters);
        let starter = starters.get_mut(&collective)?;
        let last = starter.last;
        starter.waited += 1;
        if starter.waited >= ranks {
            starters.remove(&collective);
        }
        Some(last)
    }
}

/// The process ends by an error, in these words: the record so far is written. Its ranks run
/// on meanwhile.
#[cold]
pub fn save_all(outcome: &str) {
    let under_way = std::mem::take(&mut *lock(&UNDER_WAY));
    for record in under_way.iter().filter_map(Weak::upgrade) {
        record.save(outcome);
    }
}

/// A request, as far as its wait has to know it.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// The communicator.
    pub comm: u64,
    /// The rank of the world that it awaits.
    pub peer: Option<usize>,
    /// The communicator's handle, if it may come from any rank of it.
    pub any_of: Option<Handle>,
    /// Whether it is a receive, which says its bytes.
    pub is_receive: bool,
    /// Its number and the number of ranks, if it is a collective.
    pub collective: Option<(u64, usize)>,
}

/// A rank's notes for its record.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Collectives so far, by communicator.
    numbers: HashMap<u64, u64>,
    /// Started requests.
    pub requests: HashMap<Handle, Noted>,
    /// Lines that have tested or probed since the latest other call.
    pub polls: Vec<Poll>,
}

/// Tests or probes of one line between which the program works no longer than this, on the average
/// (that it sleeps is no work), are a row: the rank waits by them.
const ROW: Duration = Duration::from_micros(10);
/// As if there had been so many before: another thread may have had the core and its caches.
const GRACE: u32 = 8;

/// A line that tests or probes in a loop: one event, which lasts as long as a row of them.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    /// The address after the call.
    pub address: usize,
    /// The event.
    pub event: CallEvent,
    /// When it began, in the record's time.
    pub since: u64,
    /// The thread's time when the latest test of the row ended.
    last: Duration,
    /// The time that the program has worked between the tests of the row.
    worked: Duration,
    /// Tests after the first.
    more: u32,
    /// Whether the program has done something else meanwhile: the rest is work.
    pub is_over: bool,
}

impl Poll {
    /// A first test, which begins now.
    pub fn new(address: usize, event: CallEvent, since: u64) -> Poll {
        let (last, worked) = (thread_time(), Duration::ZERO);
        Poll { address, event, since, last, worked, more: 0, is_over: false }
    }

    /// Another test begins.
    pub fn again(&mut self) {
        self.more = self.more.saturating_add(1);
        self.worked += thread_time().saturating_sub(self.last);
        self.is_over |= self.worked / (self.more.saturating_add(GRACE)) > ROW;
    }

    /// Whether there was more than one test.
    pub fn is_loop(&self) -> bool {
        self.more > 0
    }

    /// The test ends.
    pub fn end(&mut self) {
        self.last = thread_time();
    }
}

impl Recorded {
    /// The number of the next collective on a communicator.
    pub fn next(&mut self, comm: u64) -> u64 {
        let number = self.numbers.entry(comm).or_default();
        *number += 1;
        *number
    }
}

/// The lines of addresses, each of which is looked up once, in whichever copy it lies.
#[derive(Default)]
struct SourceLines(HashMap<(usize, usize), String>);

impl SourceLines {
    fn of(&mut self, addresses: &[usize]) -> Vec<String> {
        let origins: Vec<_> = addresses.iter().map(|it| origin(it.wrapping_sub(1))).collect();
        // By file: the file, how to find it, and the lines that are not known of it.
        let mut unknown: HashMap<usize, (String, Vec<(usize, usize)>)> = HashMap::new();
        for (address, it) in addresses.iter().zip(&origins) {
            let Some((file, path, offset)) = it else { continue };
            if !self.0.contains_key(&(*file, *offset)) {
                let entry = unknown.entry(*file).or_insert_with(|| (path.clone(), Vec::new()));
                entry.1.push((*offset, *address));
            }
        }
        for (file, (path, offsets)) in unknown {
            let information = debug_information(&path);
            for (offset, address) in offsets {
                let line = information.as_ref().and_then(|it| Some(line(it, offset)?.0));
                self.0.insert((file, offset), line.unwrap_or_else(|| place_in_file(address)));
            }
        }
        let line = |it: &Option<(usize, String, usize)>| {
            it.as_ref().and_then(|(file, _, offset)| self.0.get(&(*file, *offset)).cloned())
        };
        origins.iter().map(|it| line(it).unwrap_or_default()).collect()
    }
}
