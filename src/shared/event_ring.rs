//! The events of one rank of a recorded run: a ring that the rank alone writes, a line of the cache
//! an event. It is read, when the run is over, by the [`Recorder`](super::recorder::Recorder).

use super::call_counts::CallCounts;
use super::core_use::CoreUse;
use super::fingerprint::{CallParams, Fingerprint, Signature};
use crate::error::ForeignCall;
use crate::sync::diagnostic::Ordering::Relaxed;
use crate::sync::diagnostic::{AtomicPtr, AtomicU64, Mutex};
use crate::sync::{Instant, has_steady_ticks, ticks};
use std::panic::Location;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// In place of a rank: none.
pub(super) const NOBODY: u32 = u32::MAX;

/// Slots that are searched for the call that a wait belongs to, where calls are nested.
pub(super) const NESTED: u64 = 64;

/// The kind of an event. The numbers are those of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    Call = 0,
    Wait = 1,
    Phase = 2,
}

/// In an event's kind: a wait for a call that was started before.
pub(super) const COMPLETION: u64 = 1 << 15;

/// In an event's kind: its line is one of another language.
pub(super) const FOREIGN: u64 = 1 << 14;

/// One event. A line of the cache.
#[derive(Default)]
#[repr(C, align(64))]
pub(super) struct EventSlot {
    pub(super) begin: AtomicU64,
    /// 0 for an event that has not ended, as far as is known.
    pub(super) end: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) comm: AtomicU64,
    pub(super) call: AtomicU64,
    /// From the low end: 8 bits kind, 6 transport, 1 [`FOREIGN`], 1 [`COMPLETION`], 16 algorithm,
    /// 32 the other rank.
    pub(super) kind: AtomicU64,
    /// Null in a wait, and in a phase. Of a [`ForeignCall`], if the record is an interface's.
    pub(super) sig: AtomicPtr<Signature>,
    /// Null in a wait. Of a [`ForeignCall`], if the kind says so. An address in the program, if the
    /// record is an interface's.
    pub(super) at: AtomicPtr<Location<'static>>,
}

const _: () = assert!(size_of::<EventSlot>() == 64);

/// The line of a call: its address, and the flags that go into the event's kind.
#[derive(Clone, Copy)]
pub(crate) struct EventLine {
    pub(super) at: *mut Location<'static>,
    pub(super) kind: u64,
}

impl EventLine {
    /// The line `at`, or that of the call of another language that is made there.
    #[inline(always)]
    pub(crate) fn new(
        at: &'static Location<'static>,
        foreign: Option<&'static ForeignCall>,
    ) -> Self {
        match foreign {
            // One that stands for a call of another language says so where it is read.
            None => EventLine { at: std::ptr::from_ref(at).cast_mut(), kind: 0 },
            Some(call) => {
                EventLine { at: std::ptr::from_ref(call).cast_mut().cast(), kind: FOREIGN }
            }
        }
    }
}

/// The facts that a call's event has of the call, beside its method and line.
#[derive(Clone, Copy)]
pub(crate) struct CallFacts {
    pub(super) bytes: u64,
    /// Number of the collective call in its communicator; 0 for a message.
    pub(super) call: u64,
    /// As in [`EventSlot::kind`].
    pub(super) kind: u64,
}

impl CallFacts {
    /// Of call `call` of `sig`. `member` of a rank of the communicator is the team's.
    #[inline(always)]
    pub(crate) fn new(
        call: u64,
        sig: &'static Signature,
        params: &CallParams,
        member: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let parameter = params.parameter;
        let is_rank = sig.names_rank && parameter != Fingerprint::NO_PARAMETER;
        let its = if is_rank { member(parameter) } else { None };
        let kind = EventKind::Call as u64
            | (params.transport as u64) << 8
            | u64::from(params.algorithm) << 16
            | u64::from(its.map_or(NOBODY, |rank| rank as u32)) << 32;
        CallFacts { bytes: params.bytes(sig), call, kind }
    }

    /// Of a call of which no more is known yet.
    pub(super) const NONE: CallFacts =
        CallFacts { bytes: 0, call: 0, kind: EventKind::Call as u64 | (NOBODY as u64) << 32 };

    /// Of a wait for a call that was started before.
    pub(super) const COMPLETION: CallFacts =
        CallFacts { kind: CallFacts::NONE.kind | COMPLETION, ..CallFacts::NONE };
}

/// The memory that an [`EventRing`] writes to.
pub(crate) struct RingMemory {
    /// A power of two of them, so that a mask leads from an event's number to its slot.
    pub(super) slots: Box<[EventSlot]>,
    pub(super) counts: CallCounts,
}

impl RingMemory {
    #[cold]
    #[inline(never)]
    pub(super) fn new(events: usize) -> Self {
        let slots = (0..events.next_power_of_two()).map(|_| EventSlot::default()).collect();
        RingMemory { slots, counts: CallCounts::default() }
    }

    /// Where event `number` is, or was, or will be.
    #[inline(always)]
    pub(super) fn slot(&self, number: u64) -> &EventSlot {
        &self.slots[number as usize & (self.slots.len() - 1)]
    }
}

/// The events of one rank in the current run, and their texts. Written by that rank alone.
pub(crate) struct EventRing {
    pub(super) clock: Clock,
    /// Made by the rank, and so near to it.
    pub(super) memory: OnceLock<RingMemory>,
    /// Events so far.
    pub(super) head: AtomicU64,
    /// The number of the latest call's event, plus 1.
    pub(super) open: AtomicU64,
    /// The number under which that call goes into the `CallLog`.
    pub(super) record: AtomicU64,
    /// The record's number, if the event's facts are to be read there; else 0.
    pub(super) pending: AtomicU64,
    /// The first event since the latest call that is on record.
    pub(super) first: AtomicU64,
    pub(super) began: AtomicU64,
    pub(super) ended: AtomicU64,
    /// At the run's beginning, and at its end.
    pub(super) cores: Mutex<[Option<CoreUse>; 2]>,
    /// The names of phases; an event has a name's place here in `bytes`.
    pub(super) phases: Mutex<Vec<&'static str>>,
}

/// Times, in ticks of a counter that is much quicker to read than the system's clock.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    steady: bool,
    ticks: u64,
    since: Instant,
    pub(super) wall: SystemTime,
}

impl Clock {
    pub(super) fn new() -> Self {
        let steady = has_steady_ticks();
        // One less: no time is 0.
        let ticks = ticks().wrapping_sub(1);
        Clock { steady, ticks, since: Instant::now(), wall: SystemTime::now() }
    }

    /// Never 0.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        match self.steady {
            true => ticks().wrapping_sub(self.ticks),
            false => self.slow_now(),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn slow_now(&self) -> u64 {
        (self.since.elapsed().as_nanos() as u64).max(1)
    }

    /// Nanoseconds a tick.
    pub(super) fn rate(&self) -> f64 {
        if !self.steady {
            return 1.0;
        }
        // A shorter time than this would make a rate of the two reads themselves.
        while self.since.elapsed() < Duration::from_millis(1) {
            crate::sync::yield_now();
        }
        self.since.elapsed().as_nanos() as f64 / self.now() as f64
    }
}

impl EventRing {
    pub(super) fn new(clock: Clock) -> Self {
        let zero = || AtomicU64::new(0);
        EventRing {
            clock,
            memory: OnceLock::new(),
            head: zero(),
            open: zero(),
            record: zero(),
            pending: zero(),
            first: zero(),
            began: zero(),
            ended: zero(),
            cores: Mutex::new([None; 2]),
            phases: Mutex::new(Vec::new()),
        }
    }

    /// A call begins, which goes on record under `record`, as nearly all do. Whether it
    /// is recorded now. If not, nothing is done, and `Recorder::begin_call` is to be called.
    #[inline(always)]
    pub(crate) fn begin_at_once(
        &self,
        comm: u64,
        sig: &'static Signature,
        at: &'static Location<'static>,
        record: u64,
        facts: CallFacts,
    ) -> bool {
        let Some(memory) = self.memory.get() else { return false };
        // The latest event has not got its facts, or is of this call, asked about twice.
        if self.pending.load(Relaxed) != 0 || self.record.load(Relaxed) == record {
            return false;
        }
        memory.counts.call(std::ptr::from_ref(sig).cast_mut(), facts.bytes);
        let number = self.open_call(memory, comm, sig, EventLine::new(at, None), facts);
        self.record.store(record, Relaxed);
        self.first.store(number, Relaxed);
        true
    }

    /// The next event: its number and slot.
    #[inline(always)]
    pub(super) fn push<'a>(&self, memory: &'a RingMemory) -> (u64, &'a EventSlot) {
        let number = self.head.load(Relaxed);
        self.head.store(number + 1, Relaxed);
        (number, memory.slot(number))
    }

    /// The event of a call that begins now; returns its number.
    #[inline(always)]
    pub(super) fn open_call(
        &self,
        memory: &RingMemory,
        comm: u64,
        sig: &'static Signature,
        at: EventLine,
        facts: CallFacts,
    ) -> u64 {
        let (number, slot) = self.push(memory);
        slot.end.store(0, Relaxed);
        slot.bytes.store(facts.bytes, Relaxed);
        slot.comm.store(comm, Relaxed);
        slot.call.store(facts.call, Relaxed);
        slot.kind.store(facts.kind | at.kind, Relaxed);
        slot.sig.store(std::ptr::from_ref(sig).cast_mut(), Relaxed);
        slot.at.store(at.at, Relaxed);
        self.open.store(number + 1, Relaxed);
        slot.begin.store(self.clock.now(), Relaxed);
        number
    }

    /// The slot of event `number`, if the event is still there.
    pub(super) fn slot(&self, number: u64) -> Option<&EventSlot> {
        let memory = self.memory.get()?;
        let before = self.head.load(Relaxed).wrapping_sub(number);
        (before <= memory.slots.len() as u64).then(|| memory.slot(number))
    }

    /// The latest call's event, or, where a call was made inside another, that of the latest call
    /// on `comm`.
    pub(super) fn call_on(&self, comm: u64) -> Option<&EventSlot> {
        let open = self.open.load(Relaxed).checked_sub(1)?;
        let is_its = |slot: &&EventSlot| {
            slot.comm.load(Relaxed) == comm
                && slot.kind.load(Relaxed) as u8 == EventKind::Call as u8
        };
        (open.saturating_sub(NESTED)..=open).rev().filter_map(|n| self.slot(n)).find(is_its)
    }
}

impl EventRing {
    /// Notes the core of the calling thread, which is the rank, for moment `from` and later ones.
    pub(super) fn note_core(&self, from: usize) {
        let mut cores = self.cores.lock().unwrap_or_else(|e| e.into_inner());
        cores[from..].fill(CoreUse::now());
    }

    pub(super) fn cores(&self) -> [Option<CoreUse>; 2] {
        *self.cores.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The communicator of the latest call.
    pub(super) fn open_comm(&self) -> Option<u64> {
        let open = self.open.load(Relaxed).checked_sub(1)?;
        self.slot(open).map(|slot| slot.comm.load(Relaxed))
    }
}
