//! The file of a record, which is not trusted: all numbers are checked, and nothing is allocated
//! for a number that the file cannot hold. `docs/timeline.md` describes the format.

use phalanx_cli::disturbance::{CoreMoment, CoreSpan};
use std::ops::Range;

const MAGIC: &[u8; 8] = b"PHLXWAIT";
const VERSION: u32 = 2;
const PREFIX: usize = 24;
const EVENT: usize = 64;
/// As many ranks as a team can have.
const MOST_RANKS: usize = 1024;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A call.
    Call,
    /// A wait for a rank, in the latest call on its communicator.
    Wait,
    /// A phase of the user's.
    Phase,
}

/// How a call's data travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// By messages between two ranks.
    Messages,
    /// All ranks show all others a few bytes.
    Gates,
    /// By direct access to the peers' memory.
    Boards,
}

impl Transport {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Messages => "messages",
            Transport::Gates => "all at once",
            Transport::Boards => "direct access",
        }
    }
}

/// An event. Times are nanoseconds since the run's beginning; texts are places in
/// [`Run::texts`].
#[derive(Clone, Debug)]
pub struct Event {
    /// When it began.
    pub begin: u64,
    /// When it ended, as far as is known.
    pub end: Option<u64>,
    /// Of a call: bytes of this rank's vector or block.
    pub bytes: u64,
    /// The communicator.
    pub comm: u64,
    /// The number of a collective call in its communicator; 0 for a message.
    pub call: u64,
    /// The called function's name, or the phase's.
    pub name: u32,
    /// The line of the user's program.
    pub at: u32,
    /// The algorithm of a collective.
    pub algorithm: u32,
    /// The root, the partner, or the awaited rank.
    pub peer: Option<usize>,
    /// Its kind.
    pub kind: EventKind,
    /// How a call's data travel.
    pub transport: Transport,
    /// The element type and the operator.
    pub detail: u32,
}

/// The events of one rank.
#[derive(Clone, Debug)]
pub struct RankEvents {
    /// When it began the run, and when it ended its part.
    pub began: u64,
    /// See `began`.
    pub ended: u64,
    /// Events that were forgotten, the oldest ones.
    pub lost: u64,
    /// Its core, when it began and when it ended.
    pub cores: CoreSpan,
    /// In the order in which they were recorded: calls and phases when they began, waits when they
    /// ended.
    pub events: Vec<Event>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The team's number in its process.
    pub team: u64,
    /// The run's number in its team; 0 for threads of the user's own.
    pub run: u64,
    /// Nanoseconds from 1970 to the run's beginning.
    pub unix: u64,
    /// The process: when it wrote its first run, as above, and its number.
    pub process: (u64, u32),
    /// When the caller of the run started the ranks, if it was one.
    pub dispatched: Option<u64>,
    /// The line of that call: a place in the texts.
    pub at: u32,
    /// How it ended; empty if well.
    pub outcome: String,
    /// The program.
    pub program: String,
    /// All texts.
    pub texts: Vec<String>,
    /// By rank.
    pub ranks: Vec<RankEvents>,
}

impl Run {
    /// The place of the text [`END`].
    pub fn end(&self) -> u32 {
        (self.texts.len() as u32).saturating_sub(1)
    }

    /// A text by its place.
    pub fn text(&self, place: u32) -> &str {
        self.texts.get(place as usize).map_or("", String::as_str)
    }

    /// The time from the start, or the first rank's beginning, to the last one's end.
    pub fn length(&self) -> u64 {
        let began = self.ranks.iter().map(|rank| rank.began).min().unwrap_or(0);
        self.ended().saturating_sub(self.dispatched.unwrap_or(began))
    }

    /// When the last rank ended its part.
    pub fn ended(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.ended).max().unwrap_or(0)
    }
}

/// Bytes that are read from front to back.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn left(&self) -> usize {
        self.all.len() - self.at
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], String> {
        if count > self.left() {
            return Err(format!("{what}: {count} bytes wanted, {} are left", self.left()));
        }
        let taken = &self.all[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn u32(&mut self, what: &str) -> Result<u32, String> {
        let bytes = self.take(4, what)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn u64(&mut self, what: &str) -> Result<u64, String> {
        let (low, high) = (self.u32(what)?, self.u32(what)?);
        Ok(u64::from(high) << 32 | u64::from(low))
    }
}

/// The runs of a file.
#[derive(Debug)]
pub struct Sections {
    /// Those that are whole, by their places.
    pub whole: Vec<Range<usize>>,
    /// Of each that is cut off, in words: where it is, and how much of it is there.
    pub cut: Vec<String>,
}

/// The sections of a file, by their places in it. A process that ends while it writes leaves a
/// section that is cut off; others may stand behind it.
///
/// # Errors
/// In words, with the place, the fault of a file that is no record, that has another version,
/// or that has no whole run.
pub fn sections(file: &[u8]) -> Result<Sections, String> {
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < file.len() {
        let mut bytes = Bytes { all: file, at };
        let flaw = match length(&mut bytes) {
            Ok(length) => {
                whole.push(at..at + PREFIX + length);
                at += PREFIX + length;
                continue;
            }
            Err(flaw) => flaw,
        };
        // The next one begins as all do.
        let next = next_magic(&file[at + 1..]).map(|behind| at + 1 + behind);
        let what = match flaw {
            Flaw::Strange(what) if next.is_none_or(|next| next >= at + PREFIX) => {
                return Err(format!("run {} at byte {at}: {what}", whole.len() + 1));
            }
            Flaw::Strange(what) | Flaw::Cut(what) => what,
        };
        let next = next.unwrap_or(file.len());
        let bytes = next - at;
        cut.push(format!("no whole run at byte {at}: {what}; {bytes} bytes are left out"));
        at = next;
    }
    match (whole.is_empty(), cut.pop()) {
        (true, None) => Err("it has no run".to_string()),
        (true, Some(what)) => Err(what),
        (false, last) => {
            cut.extend(last);
            Ok(Sections { whole, cut })
        }
    }
}

fn next_magic(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MAGIC.len()).position(|it| it == MAGIC)
}

/// Why a section is not read.
enum Flaw {
    /// It is none, or of another version.
    Strange(String),
    /// Its end is missing.
    Cut(String),
}

/// The length of the section that begins here, behind its first numbers.
fn length(bytes: &mut Bytes<'_>) -> Result<usize, Flaw> {
    let magic = bytes.take(8, "the first bytes").map_err(Flaw::Cut)?;
    if magic != MAGIC {
        let what = "it does not begin as the record of a run does";
        return Err(Flaw::Strange(what.to_string()));
    }
    let version = bytes.u32("the version").map_err(Flaw::Cut)?;
    if version != VERSION {
        let what = format!("it has version {version}; this program reads {VERSION}");
        return Err(Flaw::Strange(what));
    }
    bytes.u32("the reserved number").map_err(Flaw::Cut)?;
    let length = bytes.u64("the length").map_err(Flaw::Cut)?;
    let fits = usize::try_from(length).ok().filter(|length| *length <= bytes.left());
    let Some(fits) = fits else {
        let left = bytes.left();
        return Err(Flaw::Cut(format!("it is cut off, {length} bytes wanted, {left} are left")));
    };
    let left = &bytes.all[bytes.at..];
    let is_followed = left.len() == fits || left[fits..].starts_with(MAGIC);
    // A text may say the same as the beginning of a run.
    if !is_followed && next_magic(left).is_some_and(|next| next < fits) {
        return Err(Flaw::Cut("it is cut off, another begins before its end".to_string()));
    }
    Ok(fits)
}

/// The run in a section.
///
/// # Errors
/// In words, its fault.
pub fn run(section: &[u8]) -> Result<Run, String> {
    let mut bytes = Bytes { all: section, at: 0 };
    bytes.take(8, "the first bytes")?;
    bytes.take(16, "the length")?;
    let team = bytes.u64("the team")?;
    let number = bytes.u64("the run")?;
    let unix = bytes.u64("the time")?;
    let first_run = bytes.u64("the process")?;
    let dispatched = Some(bytes.u64("the start")?).filter(|start| *start != u64::MAX);
    let process = (first_run, bytes.u32("the process")?);
    let at = bytes.u32("the line of the run")?;
    let ranks = bytes.u32("the number of ranks")? as usize;
    if !(1..=MOST_RANKS).contains(&ranks) {
        return Err(format!("{ranks} ranks; a team has 1 to {MOST_RANKS}"));
    }
    let count = bytes.u32("the number of texts")? as usize;
    let (outcome, program) = (bytes.u32("the outcome")?, bytes.u32("the program")?);
    // Each takes four bytes at least.
    if count > bytes.left() / 4 {
        return Err(format!("{count} texts do not fit into {} bytes", bytes.left()));
    }
    let mut texts = Vec::with_capacity(count);
    for place in 0..count {
        let length = bytes.u32("the length of a text")? as usize;
        let text = std::str::from_utf8(bytes.take(length, "a text")?);
        texts.push(text.map_err(|e| format!("text {place}: {e}"))?.to_string());
    }
    let known = |place: u32| match texts.get(place as usize) {
        Some(text) => Ok(text.clone()),
        None => Err(format!("text {place} is named; there are {count}")),
    };
    let (outcome, program) = (known(outcome)?, known(program)?);
    known(at)?;
    let mut all = Vec::with_capacity(ranks);
    let mut lasted = 0_u64;
    for rank in 0..ranks {
        let began = bytes.u64("the beginning of a rank")?;
        let ended = bytes.u64("the end of a rank")?;
        let lost = bytes.u64("the lost events")?;
        let events = bytes.u64("the number of events")?;
        let mut cores = [None; 2];
        for core in &mut cores {
            let (pu, lost) = (bytes.u64("a core")?, bytes.u64("the lost cores")?);
            bytes.u64("the cores given away")?;
            *core = (pu != u64::MAX).then_some(CoreMoment { pu, lost });
        }
        if events > (bytes.left() / EVENT) as u64 {
            let left = bytes.left();
            return Err(format!("rank {rank}: {events} events do not fit into {left} bytes"));
        }
        let wrong = |at: u64, what: String| format!("rank {rank}, event {at}: {what}");
        let events = (0..events)
            .map(|at| event(&mut bytes, count, ranks).map_err(|what| wrong(at, what)))
            .collect::<Result<Vec<_>, _>>()?;
        let last = events.iter().map(|event| event.end.unwrap_or(event.begin)).max();
        // A rank that has lost its communicator does not say when it ended.
        let ended = ended.max(last.unwrap_or(0));
        if began > ended || ended > LATEST {
            return Err(format!("rank {rank} begins at {began} ns and ends at {ended} ns"));
        }
        // All that is summed up over events and ranks fits, then: see `LATEST`.
        let lengths = events.iter().map(|event| event.end.unwrap_or(ended) - event.begin);
        let sum = lengths.fold(ended - began, u64::saturating_add);
        lasted = lasted.saturating_add(sum);
        if lasted > LONGEST {
            return Err(format!("rank {rank}: all events last {lasted} ns in sum"));
        }
        all.push(RankEvents { began, ended, lost, cores, events });
    }
    if bytes.left() > 0 {
        return Err(format!("{} bytes more than it says", bytes.left()));
    }
    let first = all.iter().map(|rank| rank.began).min();
    let dispatched = dispatched.map(|start| start.min(first.unwrap_or(0)));
    // One more text, for the end that all ranks of a run come to.
    texts.push(END.to_string());
    Ok(Run {
        team,
        run: number,
        unix,
        process,
        dispatched,
        at,
        outcome,
        program,
        texts,
        ranks: all,
    })
}

/// The last call of each rank of a run, by name: to return.
pub const END: &str = "the end of the run";

/// Times beyond this (104 days) are no times: a number of JavaScript holds no later one exactly.
const LATEST: u64 = 1 << 53;
/// Events of all ranks that last longer than this (146 years) in sum are none.
const LONGEST: u64 = 1 << 62;

fn event(bytes: &mut Bytes<'_>, texts: usize, ranks: usize) -> Result<Event, String> {
    let begin = bytes.u64("its beginning")?;
    let end = Some(bytes.u64("its end")?).filter(|end| *end != u64::MAX);
    let size = bytes.u64("its bytes")?;
    let (comm, call) = (bytes.u64("its communicator")?, bytes.u64("its call")?);
    let (name, at) = (bytes.u32("its name")?, bytes.u32("its line")?);
    let algorithm = bytes.u32("its algorithm")?;
    let peer = Some(bytes.u32("its peer")?).filter(|peer| *peer != u32::MAX);
    let [kind, transport, ..] = *bytes.take(4, "its kind")? else { unreachable!("four bytes") };
    let detail = bytes.u32("its element")?;
    if begin > LATEST || end.is_some_and(|end| end < begin || end > LATEST) {
        return Err(format!("it lasts from {begin} to {end:?} ns"));
    }
    for text in [name, at, algorithm, detail] {
        if text as usize >= texts {
            return Err(format!("text {text} is named; there are {texts}"));
        }
    }
    let peer = match peer {
        None => None,
        Some(peer) if (peer as usize) < ranks => Some(peer as usize),
        Some(peer) => return Err(format!("rank {peer} is named; there are {ranks}")),
    };
    let kind = match kind {
        0 => EventKind::Call,
        1 => EventKind::Wait,
        2 => EventKind::Phase,
        kind => return Err(format!("{kind} is no kind of event")),
    };
    if kind == EventKind::Wait && (peer.is_none() || end.is_none()) {
        return Err("a wait has neither a rank nor an end".to_string());
    }
    let transport = match transport {
        0 => Transport::Messages,
        1 => Transport::Gates,
        2 => Transport::Boards,
        transport => return Err(format!("{transport} is no transport")),
    };
    let event = Event {
        begin,
        end,
        bytes: size,
        comm,
        call,
        name,
        at,
        algorithm,
        peer,
        kind,
        transport,
        detail,
    };
    Ok(event)
}
