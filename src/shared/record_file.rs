//! The file of a [`Recorder`](super::recorder::Recorder): sections, one a run, each appended by one
//! write. The format is described in `docs/timeline.md`; all numbers are little-endian.

use super::core_use::CoreUse;
use crate::sorted::SortedMap;
use crate::sync::diagnostic::Mutex;
use std::fs::File;
use std::io::{self, Write};

/// How a section begins.
const MAGIC: &[u8; 8] = b"PHLXWAIT";

/// Raised whenever an old reader would take a file for something else.
const VERSION: u32 = 2;

/// An event as it is in the file.
pub(super) struct FileEvent {
    /// Nanoseconds since the section's beginning.
    pub(super) begin: u64,
    pub(super) end: Option<u64>,
    pub(super) bytes: u64,
    pub(super) comm: u64,
    pub(super) call: u64,
    pub(super) name: String,
    pub(super) detail: String,
    pub(super) at: String,
    pub(super) algorithm: String,
    pub(super) peer: u32,
    pub(super) kind: u8,
    pub(super) transport: u8,
}

/// The events of a rank.
pub(super) struct FileRank {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) lost: u64,
    /// At its beginning, and at its end.
    pub(super) cores: [Option<CoreUse>; 2],
    pub(super) events: Vec<FileEvent>,
}

/// A run.
pub(super) struct Section<'a> {
    pub(super) team: u64,
    pub(super) run: u64,
    /// Nanoseconds from the beginning of 1970 to the section's.
    pub(super) unix: u64,
    /// Likewise to the process's first run, and the process's number.
    pub(super) process: (u64, u32),
    /// When the caller started the ranks, and the line of its call.
    pub(super) dispatched: Option<u64>,
    pub(super) at: &'a str,
    pub(super) program: &'a str,
    /// How the run ended; empty if well.
    pub(super) outcome: &'a str,
    pub(super) ranks: Vec<FileRank>,
}

/// Each text once; events have its number.
#[derive(Default)]
struct Texts {
    numbers: SortedMap<String, u32>,
    bytes: Vec<u8>,
}

impl Texts {
    #[inline(never)]
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(text.to_string(), number);
        put(&mut self.bytes, &(text.len() as u32).to_le_bytes());
        put(&mut self.bytes, text.as_bytes());
        number
    }
}

/// Not inlined, as it is called for each number.
#[inline(never)]
fn put(all: &mut Vec<u8>, bytes: &[u8]) {
    all.extend_from_slice(bytes);
}

fn put_all(all: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| put(all, &number.to_le_bytes()));
}

fn put_short(all: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| put(all, &number.to_le_bytes()));
}

fn bytes(section: &Section<'_>) -> Vec<u8> {
    let mut texts = Texts::default();
    texts.number("");
    let outcome = texts.number(section.outcome);
    let program = texts.number(section.program);
    let at = texts.number(section.at);
    let mut ranks = Vec::new();
    for rank in &section.ranks {
        put_all(&mut ranks, &[rank.began, rank.ended, rank.lost, rank.events.len() as u64]);
        for core in rank.cores {
            let numbers = core.map(|it| [it.pu as u64, it.lost, it.given]);
            put_all(&mut ranks, &numbers.unwrap_or([u64::MAX; 3]));
        }
        for event in &rank.events {
            let end = event.end.unwrap_or(u64::MAX);
            put_all(&mut ranks, &[event.begin, end, event.bytes, event.comm, event.call]);
            let words = [&event.name, &event.at, &event.algorithm].map(|text| texts.number(text));
            put_short(&mut ranks, &words);
            put_short(&mut ranks, &[event.peer]);
            put(&mut ranks, &[event.kind, event.transport, 0, 0]);
            put_short(&mut ranks, &[texts.number(&event.detail)]);
        }
    }
    let mut body = Vec::with_capacity(ranks.len() + texts.bytes.len() + 64);
    let (process, number) = section.process;
    let dispatched = section.dispatched.unwrap_or(u64::MAX);
    put_all(&mut body, &[section.team, section.run, section.unix, process, dispatched]);
    put_short(&mut body, &[number, at]);
    let numbers = [section.ranks.len() as u32, texts.numbers.len() as u32, outcome, program];
    put_short(&mut body, &numbers);
    put(&mut body, &texts.bytes);
    put(&mut body, &ranks);
    let mut all = Vec::with_capacity(body.len() + 24);
    put(&mut all, MAGIC);
    put_short(&mut all, &[VERSION, 0]);
    put_all(&mut all, &[body.len() as u64]);
    put(&mut all, &body);
    all
}

/// Appends `section`.
pub(super) fn append(file: &File, section: &Section<'_>) -> io::Result<()> {
    // Teams of one process may have one file.
    static WRITES: Mutex<()> = Mutex::new(());
    let bytes = bytes(section);
    let _inside = crate::fork::inside();
    let _turn = WRITES.lock().unwrap_or_else(|e| e.into_inner());
    let mut file = file;
    file.write_all(&bytes)
}
