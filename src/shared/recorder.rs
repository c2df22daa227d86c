//! The recorder: which calls each rank of a team made, when, and when it waited for whom.
//!
//! Each rank writes a ring of its own, a line of the cache an event, which nobody reads before the
//! run is over: the end of the dispatch (or, of threads of the user's own, the last communicator's
//! drop) orders those reads after all writes. Nothing is synchronised by a ring. A full ring
//! forgets its oldest events, and counts them.
//!
//! Where nothing is recorded, no call looks at any of this: see `port/recording.rs`.

use super::call_counts::CallCount;
use super::call_log::CallLog;
use super::event_ring::{
    COMPLETION, CallFacts, Clock, EventKind, EventLine, EventRing, EventSlot, FOREIGN, NESTED,
    NOBODY, RingMemory,
};
use super::fingerprint::Signature;
use super::record_file::{self, FileEvent, FileRank};
use crate::error::{ForeignCall, SourceLine};
use crate::sorted::Arrange;
use crate::sync::diagnostic::{Mutex, Ordering::Relaxed};
use crossbeam_utils::CachePadded;
use std::fs::File;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// A call of an interface that says itself which calls its program makes.
#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
pub(crate) struct InterfaceCall {
    /// The function. (Its line is looked up when the run is written.)
    pub(crate) call: &'static ForeignCall,
    /// The address after the call.
    pub(crate) address: usize,
    /// The interface's number of the communicator.
    pub(crate) comm: u64,
    /// Number of the collective call in its communicator; 0 for a message.
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// Root or partner, a rank of the team.
    pub(crate) peer: Option<usize>,
}

/// See the module documentation.
pub(crate) struct Recorder {
    rings: Box<[CachePadded<EventRing>]>,
    events: usize,
    /// Where runs are written, and its name; none if only counts and events are wanted.
    file: Option<(File, String)>,
    /// How the numbers of algorithms are said.
    algorithm: fn(u16) -> String,
    clock: Clock,
    /// Of ranks that no run counts: they are written when the last has gone.
    at_drop: bool,
    /// Whether an interface says which of its functions is a call (`begin_interface_call`): the
    /// library's calls are parts of those then, and no events; its waits are waits of the
    /// interface's latest call.
    is_interfaces: bool,
    /// When the caller of the current run started its ranks, and where it called.
    dispatch: Mutex<Option<(u64, &'static Location<'static>)>>,
    /// Hears of each wait: the waiting rank, the awaited one, how long.
    waited: Option<fn(usize, usize, Duration)>,
}

/// Makes a rank's events for a file of its ring and slots, and of the function that makes
/// nanoseconds of the clock's ticks.
type ToFile<'a> = dyn Fn(&EventRing, &[&EventSlot], &dyn Fn(u64) -> u64) -> Vec<FileEvent> + 'a;

impl Recorder {
    /// For `ranks` ranks, of each the latest `events` events, appended to `file` (of that name), if
    /// there is one, when a run ends; or, `at_drop`, when the last rank has gone.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn new(
        ranks: usize,
        events: usize,
        file: Option<(File, String)>,
        algorithm: fn(u16) -> String,
        at_drop: bool,
        waited: Option<fn(usize, usize, Duration)>,
    ) -> Self {
        let clock = Clock::new();
        let rings = (0..ranks).map(|_| CachePadded::new(EventRing::new(clock))).collect();
        let (is_interfaces, dispatch) = (false, Mutex::new(None));
        Recorder { rings, events, file, algorithm, clock, at_drop, is_interfaces, dispatch, waited }
    }

    /// This recorder for the calls of an interface, which says when the run is over.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn of_interface(mut self) -> Self {
        (self.is_interfaces, self.at_drop) = (true, false);
        self
    }

    /// Whether the library's calls are parts of an interface's.
    #[inline]
    pub(crate) fn is_interfaces(&self) -> bool {
        self.is_interfaces
    }

    /// `rank` begins a call of the interface's; returns the event's number.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn begin_interface_call(&self, rank: usize, it: &InterfaceCall) -> u64 {
        let ring = &self.rings[rank];
        let memory = self.memory(rank);
        let (number, slot) = ring.push(memory);
        let peer = it.peer.map_or(NOBODY, |rank| rank as u32);
        slot.end.store(0, Relaxed);
        slot.bytes.store(it.bytes, Relaxed);
        slot.comm.store(it.comm, Relaxed);
        slot.call.store(it.number, Relaxed);
        slot.kind.store(EventKind::Call as u64 | u64::from(peer) << 32, Relaxed);
        slot.sig.store(std::ptr::from_ref(it.call).cast_mut().cast(), Relaxed);
        slot.at.store(std::ptr::without_provenance_mut(it.address), Relaxed);
        ring.open.store(number + 1, Relaxed);
        slot.begin.store(self.now(), Relaxed);
        number
    }

    /// The interface's call with that number ends now. It was of so many bytes, with this rank,
    /// where that is known later than its beginning.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn end_interface_call(
        &self,
        rank: usize,
        number: u64,
        bytes: Option<u64>,
        peer: Option<usize>,
    ) {
        let Some(slot) = self.rings[rank].slot(number) else { return };
        if let Some(bytes) = bytes {
            slot.bytes.store(bytes, Relaxed);
        }
        if let Some(peer) = peer {
            slot.kind.store(EventKind::Call as u64 | (peer as u64) << 32, Relaxed);
        }
        slot.end.store(self.now(), Relaxed);
    }

    /// The time.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The events of `rank`.
    pub(crate) fn ring(&self, rank: usize) -> &EventRing {
        &self.rings[rank]
    }

    /// The caller of a run, at `at`, starts its ranks.
    pub(crate) fn dispatch(&self, at: &'static Location<'static>) {
        *self.dispatch.lock().unwrap_or_else(|e| e.into_inner()) = Some((self.now(), at));
    }

    /// `rank` begins a run.
    pub(crate) fn begin_run(&self, rank: usize) {
        let ring = &self.rings[rank];
        self.touch(rank).counts.clear();
        ring.head.store(0, Relaxed);
        ring.open.store(0, Relaxed);
        ring.record.store(0, Relaxed);
        ring.pending.store(0, Relaxed);
        ring.first.store(0, Relaxed);
        ring.ended.store(0, Relaxed);
        ring.note_core(0);
        ring.began.store(self.now(), Relaxed);
    }

    /// `rank` ends its part of a run.
    pub(crate) fn end_run(&self, rank: usize) {
        self.rings[rank].ended.store(self.now(), Relaxed);
        self.rings[rank].note_core(1);
    }

    /// The ring that `rank` writes to. A rank on a thread of the user's own begins its run here.
    #[inline(always)]
    fn memory(&self, rank: usize) -> &RingMemory {
        match self.rings[rank].memory.get() {
            Some(memory) => memory,
            None => self.first_memory(rank),
        }
    }

    #[cold]
    #[inline(never)]
    fn first_memory(&self, rank: usize) -> &RingMemory {
        self.begin_run(rank);
        self.touch(rank)
    }

    /// `rank`'s memory, which it puts into its place before time is taken.
    pub(crate) fn touch(&self, rank: usize) -> &RingMemory {
        self.rings[rank].memory.get_or_init(|| RingMemory::new(self.events))
    }

    /// `rank` begins a call, which goes on record under `record`. `facts`, if they are known yet.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_call(
        &self,
        rank: usize,
        comm: u64,
        sig: &'static Signature,
        at: EventLine,
        record: u64,
        facts: Option<CallFacts>,
    ) {
        let ring = &self.rings[rank];
        let memory = self.memory(rank);
        let is_new = ring.record.load(Relaxed) != record;
        if !is_new && self.has_begun(rank, memory, comm, sig) {
            return self.have_facts(rank, memory, record, facts);
        }
        let pending = if facts.is_none() { record } else { 0 };
        let facts = facts.unwrap_or(CallFacts::NONE);
        memory.counts.call(std::ptr::from_ref(sig).cast_mut(), facts.bytes);
        let number = ring.open_call(memory, comm, sig, at, facts);
        ring.pending.store(pending, Relaxed);
        if is_new {
            ring.record.store(record, Relaxed);
            ring.first.store(number, Relaxed);
        }
    }

    /// Since the latest call that is on record, there was one of `sig` on `comm`: the same call,
    /// asked about twice, or a look (`test`, `try_probe`) in a loop. It is the latest call again.
    #[cold]
    #[inline(never)]
    fn has_begun(
        &self,
        rank: usize,
        memory: &RingMemory,
        comm: u64,
        sig: &'static Signature,
    ) -> bool {
        let ring = &self.rings[rank];
        let (first, head) = (ring.first.load(Relaxed), ring.head.load(Relaxed));
        let sig = std::ptr::from_ref(sig).cast_mut();
        let is_it = |number: &u64| {
            ring.slot(*number).is_some_and(|slot| {
                slot.sig.load(Relaxed) == sig && slot.comm.load(Relaxed) == comm
            })
        };
        let Some(number) = (first.max(head.saturating_sub(NESTED))..head).rev().find(is_it) else {
            return false;
        };
        memory.counts.again(sig);
        ring.open.store(number + 1, Relaxed);
        true
    }

    /// The latest call's event, which had perhaps none, gets its facts.
    #[cold]
    #[inline(never)]
    fn have_facts(&self, rank: usize, memory: &RingMemory, record: u64, facts: Option<CallFacts>) {
        let ring = &self.rings[rank];
        let Some(facts) = facts else { return ring.pending.store(record, Relaxed) };
        ring.pending.store(0, Relaxed);
        let Some(slot) = ring.open.load(Relaxed).checked_sub(1).and_then(|n| ring.slot(n)) else {
            return;
        };
        // More, if it had facts before.
        memory.counts.bytes(facts.bytes.wrapping_sub(slot.bytes.load(Relaxed)));
        slot.bytes.store(facts.bytes, Relaxed);
        slot.call.store(facts.call, Relaxed);
        slot.kind.store(facts.kind | slot.kind.load(Relaxed) & FOREIGN, Relaxed);
    }

    /// `rank` begins to wait for a call that it has started.
    pub(crate) fn begin_completion(
        &self,
        rank: usize,
        comm: u64,
        sig: &'static Signature,
        at: EventLine,
    ) {
        let memory = self.memory(rank);
        memory.counts.again(std::ptr::from_ref(sig).cast_mut());
        self.rings[rank].open_call(memory, comm, sig, at, CallFacts::COMPLETION);
        // Nothing goes on record for it.
        self.rings[rank].record.store(0, Relaxed);
        self.rings[rank].pending.store(0, Relaxed);
    }

    /// Completes the latest call's event by its record, if that is still to be done.
    /// `member` of a rank of `comm` is the team's.
    #[inline(always)]
    pub(crate) fn complete(
        &self,
        rank: usize,
        comm: u64,
        log: &CallLog,
        member: impl Fn(usize) -> Option<usize>,
    ) {
        let record = self.rings[rank].pending.load(Relaxed);
        if record == 0 {
            return;
        }
        let member = |its: u64, rank: usize| if its == comm { member(rank) } else { None };
        if let (Some(facts), Some(memory)) =
            (log.facts(record, member), self.rings[rank].memory.get())
        {
            self.have_facts(rank, memory, record, Some(facts));
        }
    }

    /// `rank`'s latest call on `comm` has come to this moment.
    #[inline(always)]
    pub(crate) fn reach(&self, rank: usize, comm: u64, now: u64) {
        // An interface's call says its end.
        if self.is_interfaces {
            return;
        }
        if let Some(slot) = self.rings[rank].call_on(comm) {
            slot.end.store(now, Relaxed);
        }
    }

    /// `rank` has waited for the team's rank `peer`, from `begin` to `end`.
    pub(crate) fn waited(&self, rank: usize, comm: u64, peer: usize, (begin, end): (u64, u64)) {
        self.reach(rank, comm, end);
        let comm = match self.is_interfaces {
            true => self.rings[rank].open_comm().unwrap_or(comm),
            false => comm,
        };
        let memory = self.memory(rank);
        memory.counts.waited(end.saturating_sub(begin));
        if let Some(waited) = self.waited {
            self.say_waited(waited, rank, peer, end.saturating_sub(begin));
        }
        let (_, slot) = self.rings[rank].push(memory);
        slot.begin.store(begin, Relaxed);
        slot.end.store(end, Relaxed);
        slot.bytes.store(0, Relaxed);
        slot.comm.store(comm, Relaxed);
        slot.call.store(0, Relaxed);
        slot.kind.store(EventKind::Wait as u64 | (peer as u64) << 32, Relaxed);
        slot.sig.store(std::ptr::null_mut(), Relaxed);
        slot.at.store(std::ptr::null_mut(), Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn say_waited(&self, waited: fn(usize, usize, Duration), rank: usize, peer: usize, ticks: u64) {
        waited(rank, peer, Duration::from_nanos((ticks as f64 * self.clock.rate()) as u64));
    }

    /// `rank` has waited for any rank, last of all, and `peer` was it.
    pub(crate) fn name_source(&self, rank: usize, peer: usize) {
        let ring = &self.rings[rank];
        let by_any = EventKind::Wait as u64 | (rank as u64) << 32;
        let latest = (0..ring.head.load(Relaxed)).rev().map_while(|number| ring.slot(number));
        for slot in latest.take_while(|slot| slot.kind.load(Relaxed) == by_any) {
            slot.kind.store(EventKind::Wait as u64 | (peer as u64) << 32, Relaxed);
        }
    }

    /// `rank` begins a phase of the user's; returns the event's number.
    pub(crate) fn begin_phase(
        &self,
        rank: usize,
        name: &'static str,
        at: &'static Location<'static>,
    ) -> u64 {
        let ring = &self.rings[rank];
        let place = {
            let mut phases = ring.phases.lock().unwrap_or_else(|e| e.into_inner());
            let known = phases.iter().position(|it| *it == name);
            known.unwrap_or_else(|| {
                phases.push(name);
                phases.len() - 1
            })
        };
        let (number, slot) = ring.push(self.memory(rank));
        slot.end.store(0, Relaxed);
        slot.bytes.store(place as u64, Relaxed);
        slot.comm.store(0, Relaxed);
        slot.call.store(0, Relaxed);
        slot.kind.store(EventKind::Phase as u64 | u64::from(NOBODY) << 32, Relaxed);
        slot.sig.store(std::ptr::null_mut(), Relaxed);
        slot.at.store(std::ptr::from_ref(at).cast_mut(), Relaxed);
        slot.begin.store(self.now(), Relaxed);
        number
    }

    /// The phase with that number has ended.
    pub(crate) fn end_phase(&self, rank: usize, number: u64) {
        if let Some(slot) = self.rings[rank].slot(number) {
            slot.end.store(self.now(), Relaxed);
        }
    }

    /// The counts of `rank`'s calls in the current run, and the nanoseconds of a tick.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn counts(&self, rank: usize) -> (Vec<CallCount>, f64) {
        let memory = self.rings[rank].memory.get();
        (memory.map_or_else(Vec::new, |memory| memory.counts.read()), self.clock.rate())
    }

    /// How often `rank` has waited so far, and how long: for reports, by any rank.
    pub(super) fn waits(&self, rank: usize) -> (u64, Duration) {
        let (counts, rate) = self.counts(rank);
        let ticks: u64 = counts.iter().map(|count| count.waited).sum();
        let time = Duration::from_nanos((ticks as f64 * rate) as u64);
        (counts.iter().map(|count| count.waits).sum(), time)
    }

    /// Appends the events of run `run` to the file, with its end in words. Only while no
    /// rank runs. A failure is said, and is no error of the run.
    #[cold]
    pub(crate) fn save(&self, team: u64, run: u64, outcome: &str) {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = program.to_string_lossy();
        self.save_with((team, run), (&program, outcome), 0, &|ring, slots, ns| {
            self.file_events(ring, slots, ns)
        });
    }

    /// Appends a run of an interface's calls to the file; `place` says the lines of their
    /// addresses, of each rank. If the run has failed, other ranks may still run: an event that
    /// they write meanwhile may be torn, and its fields are then any values.
    #[cold]
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn save_interface_run(
        &self,
        (program, run): (&str, u64),
        outcome: &str,
        place: &dyn Fn(&[usize]) -> Vec<String>,
    ) {
        let now = self.now();
        self.save_with((0, run), (program, outcome), now, &|_, slots, ns| {
            interface_events(slots, ns, now, place)
        });
    }

    /// `open`: the end of a rank that has none.
    fn save_with(
        &self,
        (team, run): (u64, u64),
        (program, outcome): (&str, &str),
        open: u64,
        events: &ToFile<'_>,
    ) {
        let Some((file, path)) = &self.file else { return };
        let rate = self.clock.rate();
        let dispatch = self.dispatch.lock().unwrap_or_else(|e| e.into_inner()).take();
        let began = self.rings.iter().map(|ring| ring.began.load(Relaxed)).filter(|t| *t > 0);
        let base = began.chain(dispatch.map(|it| it.0)).min().unwrap_or(0);
        let ns = |ticks: u64| (ticks.saturating_sub(base) as f64 * rate) as u64;
        let since = Duration::from_nanos((base as f64 * rate) as u64);
        let wall = (self.clock.wall + since).duration_since(SystemTime::UNIX_EPOCH);
        let unix = wall.map_or(0, |wall| wall.as_nanos() as u64);
        let rank = |ring: &CachePadded<EventRing>| {
            let head = ring.head.load(Relaxed);
            let lost = head.saturating_sub(self.events as u64);
            let slots: Vec<&EventSlot> = (lost..head).filter_map(|it| ring.slot(it)).collect();
            let began = ring.began.load(Relaxed);
            let ended = match ring.ended.load(Relaxed) {
                0 => open,
                ended => ended,
            };
            let (began, ended) = (ns(began), ns(ended.max(began)));
            FileRank { began, ended, lost, cores: ring.cores(), events: events(ring, &slots, &ns) }
        };
        let ranks = self.rings.iter().map(rank).collect();
        // By its first run, and its number, which a fork's child has of its own.
        static FIRST: OnceLock<u64> = OnceLock::new();
        let process = (*FIRST.get_or_init(|| unix), std::process::id());
        let dispatched = dispatch.map(|it| ns(it.0));
        let at = dispatch.map_or_else(String::new, |it| SourceLine::from(it.1).to_string());
        let section = record_file::Section {
            team,
            run,
            unix,
            process,
            dispatched,
            at: &at,
            program,
            outcome,
            ranks,
        };
        if let Err(e) = record_file::append(file, &section) {
            crate::error::say(&format!("the record '{path}' cannot be written: {e}"));
        }
    }

    fn file_events(
        &self,
        ring: &EventRing,
        slots: &[&EventSlot],
        ns: &dyn Fn(u64) -> u64,
    ) -> Vec<FileEvent> {
        let phases = ring.phases.lock().unwrap_or_else(|e| e.into_inner());
        let event = |slot: &&EventSlot| {
            let (sig, at) = (slot.sig.load(Relaxed), slot.at.load(Relaxed));
            let (kind, bytes) = (slot.kind.load(Relaxed), slot.bytes.load(Relaxed));
            // SAFETY: the two words only ever hold null or addresses made from `&'static`
            // references (`open_call`, `begin_phase`), and the kind says which type the second has:
            // its writer, which no longer runs, has written both or neither.
            let (sig, at) = unsafe {
                let at: Option<SourceLine> = match kind & FOREIGN != 0 {
                    true => at.cast::<ForeignCall>().as_ref().map(Into::into),
                    false => at.as_ref().map(Into::into),
                };
                (sig.as_ref(), at)
            };
            let is_phase = kind as u8 == EventKind::Phase as u8;
            let phase = phases.get(bytes as usize).filter(|_| is_phase);
            let is_call = kind as u8 == EventKind::Call as u8;
            let end = slot.end.load(Relaxed);
            // A call may have another parameter than a rank.
            let named =
                |sig: &Signature| !sig.parameter.is_empty() && !sig.parameter.starts_with("by");
            let has_peer = sig.is_none_or(named);
            FileEvent {
                begin: ns(slot.begin.load(Relaxed)),
                end: (end > 0).then(|| ns(end)),
                bytes: if is_phase { 0 } else { bytes },
                comm: slot.comm.load(Relaxed),
                call: slot.call.load(Relaxed),
                name: match sig {
                    Some(sig) if kind & COMPLETION != 0 => format!("wait for {}", sig.call),
                    Some(sig) => sig.call.into(),
                    None => phase.map_or("", |it| *it).into(),
                },
                detail: sig.map_or_else(String::new, Signature::detail),
                at: at.map_or_else(String::new, |at| at.to_string()),
                algorithm: match is_call && kind >> 16 & 0xffff != 0 {
                    true => (self.algorithm)((kind >> 16) as u16),
                    false => String::new(),
                },
                peer: if has_peer { (kind >> 32) as u32 } else { NOBODY },
                kind: kind as u8,
                transport: (kind >> 8) as u8 & 0x3f,
            }
        };
        slots.iter().map(event).collect()
    }
}

/// The events of a rank of an interface.
fn interface_events(
    slots: &[&EventSlot],
    ns: &dyn Fn(u64) -> u64,
    now: u64,
    place: &dyn Fn(&[usize]) -> Vec<String>,
) -> Vec<FileEvent> {
    let mut addresses: Vec<usize> =
        slots.iter().map(|slot| slot.at.load(Relaxed).addr()).filter(|it| *it != 0).collect();
    addresses.arrange();
    addresses.dedup();
    let places = place(&addresses);
    let line = |address: usize| {
        let at = addresses.binary_search(&address).ok();
        at.and_then(|at| places.get(at)).cloned().unwrap_or_default()
    };
    let event = |slot: &&EventSlot| {
        let (kind, begin) = (slot.kind.load(Relaxed), slot.begin.load(Relaxed));
        let is_call = kind as u8 == EventKind::Call as u8;
        // SAFETY: in a record of an interface this word only ever holds null or addresses made
        // from `&'static ForeignCall` (`begin_interface_call`).
        let call = unsafe { slot.sig.load(Relaxed).cast::<ForeignCall>().as_ref() };
        // A call without an end is one that the rank is still in.
        let end = match slot.end.load(Relaxed) {
            0 => now,
            end => end,
        };
        FileEvent {
            begin: ns(begin),
            end: Some(ns(end.max(begin))),
            bytes: slot.bytes.load(Relaxed),
            comm: slot.comm.load(Relaxed),
            call: slot.call.load(Relaxed),
            name: call.filter(|_| is_call).map_or("", |call| call.function).into(),
            detail: String::new(),
            at: if is_call { line(slot.at.load(Relaxed).addr()) } else { String::new() },
            algorithm: String::new(),
            peer: (kind >> 32) as u32,
            kind: kind as u8,
            transport: 0,
        }
    };
    slots.iter().map(event).collect()
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.at_drop && self.rings.iter().any(|ring| ring.head.load(Relaxed) > 0) {
            self.save(0, 0, "");
        }
    }
}
