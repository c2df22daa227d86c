//! The seat: what the process of a rank says of itself.
//!
//! All of it is written by its own process, and read for errors, and to watch the process; nothing
//! else depends on it.

use crate::mapping::read_proc;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use phalanx::machine::affinity;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Processing units of which a seat can say that its process may use them: as many as Linux has.
const UNITS: usize = 8192;

/// Bytes of the text of a cause.
const TEXT: usize = 1024;

/// See the module documentation.
#[repr(C)]
pub(crate) struct Seat {
    is_filled: AtomicU32,
    pid: AtomicU32,
    /// When the process started, in the system's ticks: another one of this number has another.
    start: AtomicU64,
    /// The namespace of its number; 0 if `/proc` does not show it.
    space: AtomicU64,
    /// The name of its program.
    program: [AtomicU64; 2],
    units: [AtomicU64; UNITS / 64],
    /// The call in which it waits, when it waits long: its line, and the rank that it waits for.
    waits: AtomicU64,
    /// 0, or 1 + the place where the only thread of the process waits.
    alone: AtomicU64,
    cause: Cause,
}

const _: () = assert!(size_of::<Seat>() <= crate::layout::SEAT);

/// Why the team is over.
#[repr(C)]
struct Cause {
    kind: AtomicU32,
    /// 0, or 1 + the rank in which it went wrong.
    rank: AtomicU32,
    bytes: AtomicU32,
    text: [AtomicU32; TEXT / 4],
}

/// The system's names of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) pid: u32,
    pub(crate) start: u64,
    pub(crate) space: u64,
    pub(crate) program: String,
}

impl Name {
    /// What the system says of the process, if it is there and this one sees its number.
    pub(crate) fn stat(&self) -> Option<Stat> {
        let is_seen = self.space != 0 && self.space == number_space();
        Stat::of(&self.pid.to_string()).filter(|it| is_seen && it.start == self.start)
    }
}

/// What the system says of a process: `/proc/PID/stat`.
pub(crate) struct Stat {
    /// R, S, T (stopped), Z (ended) and others.
    pub(crate) state: char,
    start: u64,
    /// Bytes of its addresses: none of a process that is ending.
    pub(crate) bytes: u64,
}

impl Stat {
    fn of(process: &str) -> Option<Stat> {
        let text = read_proc(&format!("/proc/{process}/stat"))?;
        // The program's name, in brackets, may have spaces and brackets.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let start = fields.nth(18)?.parse().ok()?;
        Some(Stat { state, start, bytes: fields.next()?.parse().ok()? })
    }
}

/// The namespace of this process's number, if `/proc` shows that one.
fn number_space() -> u64 {
    let is_shown = fs::read_link("/proc/self")
        .is_ok_and(|it| it.to_str() == Some(std::process::id().to_string().as_str()));
    if is_shown { fs::metadata("/proc/self/ns/pid").map_or(0, |it| it.ino()) } else { 0 }
}

/// The processing units that this thread may use; if a sandbox does not say, all.
fn allowed_units() -> [u64; UNITS / 64] {
    let all = |_| (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
    let mut units = [0; UNITS / 64];
    for unit in affinity::current_mask().unwrap_or_else(all) {
        units[unit % UNITS / 64] |= 1 << (unit % 64);
    }
    units
}

impl Seat {
    /// Fills the seat for this process.
    pub(crate) fn fill(&self) {
        let pid = std::process::id();
        self.pid.store(pid, Ordering::Relaxed);
        self.start.store(Stat::of("self").map_or(0, |it| it.start), Ordering::Relaxed);
        self.space.store(number_space(), Ordering::Relaxed);
        let program = read_proc("/proc/self/comm").unwrap_or_default();
        for (word, at) in self.program.iter().zip([0, 8]) {
            let mut bytes = [0; 8];
            for (to, from) in bytes.iter_mut().zip(program.trim_end().bytes().skip(at)) {
                *to = from;
            }
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        self.set_units();
        // Ordering: publishes the seat; pairs with the load in `name`.
        self.is_filled.store(1, Ordering::Release);
    }

    /// Writes down the processing units that this process may use now.
    pub(crate) fn set_units(&self) {
        for (word, units) in self.units.iter().zip(allowed_units()) {
            word.store(units, Ordering::Relaxed);
        }
    }

    /// The process on the seat, or the last one.
    pub(crate) fn name(&self) -> Option<Name> {
        // Ordering: pairs with the store in `fill`.
        if self.is_filled.load(Ordering::Acquire) == 0 {
            return None;
        }
        let bytes: Vec<u8> =
            self.program.iter().flat_map(|it| it.load(Ordering::Relaxed).to_le_bytes()).collect();
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(Name {
            pid: self.pid.load(Ordering::Relaxed),
            start: self.start.load(Ordering::Relaxed),
            space: self.space.load(Ordering::Relaxed),
            program: printable(bytes),
        })
    }

    /// Adds the processing units that the process may use.
    pub(crate) fn add_units(&self, units: &mut [u64; UNITS / 64]) {
        for (all, own) in units.iter_mut().zip(&self.units) {
            *all |= own.load(Ordering::Relaxed);
        }
    }

    /// The owner waits, in a call of a line, for a rank.
    pub(crate) fn set_wait(&self, site: u32, rank: usize) {
        let value = u64::from(site) << 32 | (rank as u64 + 1);
        self.waits.store(value, Ordering::Relaxed);
    }

    /// The owner waits no more.
    pub(crate) fn end_wait(&self) {
        self.waits.store(0, Ordering::Relaxed);
    }

    /// The only thread of the owner waits at a place; or at none.
    pub(crate) fn set_alone(&self, place: Option<u64>) {
        self.alone.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
    }

    /// That place.
    pub(crate) fn alone(&self) -> Option<u64> {
        self.alone.load(Ordering::Relaxed).checked_sub(1)
    }

    /// The line where the owner waits, and the rank for which it does.
    pub(crate) fn wait(&self) -> Option<(usize, usize)> {
        let value = self.waits.load(Ordering::Relaxed);
        (value != 0).then(|| ((value >> 32) as usize, (value as u32).wrapping_sub(1) as usize))
    }

    /// The owner writes down why the team is over: before it says so.
    pub(crate) fn set_cause(&self, kind: u32, rank: Option<usize>, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(TEXT)];
        self.cause.kind.store(kind, Ordering::Relaxed);
        self.cause.rank.store(rank.map_or(0, |rank| rank as u32 + 1), Ordering::Relaxed);
        for (word, bytes) in self.cause.text.iter().zip(bytes.chunks(4)) {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            word.store(u32::from_le_bytes(four), Ordering::Relaxed);
        }
        self.cause.bytes.store(bytes.len() as u32, Ordering::Relaxed);
    }

    /// The cause that the owner has written down: the kind of cause, the rank, and the text.
    pub(crate) fn cause(&self) -> (u32, Option<usize>, String) {
        let bytes = (self.cause.bytes.load(Ordering::Relaxed) as usize).min(TEXT);
        let text = self.cause.text.iter().flat_map(|it| it.load(Ordering::Relaxed).to_le_bytes());
        let text: Vec<u8> = text.take(bytes).collect();
        let rank = self.cause.rank.load(Ordering::Relaxed) as usize;
        (self.cause.kind.load(Ordering::Relaxed), rank.checked_sub(1), printable(&text))
    }
}

/// Text of another process: nothing that a terminal would take for a command.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// How many processing units these are.
pub(crate) fn count_units(seats: impl Iterator<Item: std::ops::Deref<Target = Seat>>) -> usize {
    let mut units = [0; UNITS / 64];
    seats.for_each(|seat| seat.add_units(&mut units));
    units.iter().map(|word| word.count_ones() as usize).sum()
}
