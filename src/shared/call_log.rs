//! A rank's public state: whether it is in the run ([`RankState`]), and its latest calls, for error
//! messages ([`CallLog`]).
//!
//! Of its calls each rank writes its own ring, a few plain stores per call; others read it
//! only when something has gone wrong. A reader may see a record while it is
//! overwritten; it then finds no match, or at worst names a neighbouring call.
//! Nothing is synchronised by records, so loom does not model them.

use super::digest::Digest;
use super::event_ring::CallFacts;
use super::fingerprint::{CallParams, CallTransport, Fingerprint, Signature};
use super::foreign_calls::ForeignCalls;
use super::thread::Thread;
#[cfg(not(loom))]
use super::thread_mark::ThreadMark;
use crate::error::{CallSite, ForeignCall};
use crate::sorted::{Arrange, Listed};
use crate::sync;
use crate::sync::diagnostic::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Mutex,
    Ordering::{Acquire, Relaxed, Release},
};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::OnceLock;

/// One rank's words. Written by that rank only; looked at by others only when
/// they have waited for a while.
pub(crate) struct RankState {
    /// [`run_pass`] of the run that the rank is in. One more once that is over for it:
    /// the rank has left, or a rank has poisoned the run. Never less than before.
    pub(super) present: sync::AtomicU64,
    /// Whether the rank is preparing a call's plan. For reports.
    pub(super) preparing: AtomicBool,
    /// Calls under way, on any communicator of the rank, in which user code (a
    /// view, an operator) may be running. Looked at by the rank only.
    pub(super) depth: AtomicUsize,
    /// The number of the latest run that the rank has left for good.
    pub(super) left: sync::AtomicU64,
    /// The thread that is the rank in the current run; null if none is yet, or any more.
    pub(super) thread: sync::AtomicPtr<Thread>,
    /// The address of the [`ThreadMark`] of the thread that may use the rank's communicators
    /// without further question, else of [`ThreadMark::none`] or [`ThreadMark::lent`]. See "Holders
    /// of a rank" in `README.md`.
    pub(super) holder: sync::AtomicU64,
    /// How many communicators of the rank there are in a run: its number, and the count in the low
    /// bits ([`COUNT_BITS`]). Changed when one is made or dropped.
    pub(super) comms: sync::AtomicU64,
    /// The address of the [`ThreadMark`] of the thread that has scopes of requests open on
    /// communicators of the rank; else 0. That thread alone writes it.
    pub(super) scopes: sync::AtomicU64,
    /// While a run's communicator is lent, and until the rank's own thread has it back: that
    /// thread; else null.
    pub(super) own: sync::AtomicPtr<Thread>,
}

/// [`RankState::holder`] of a rank that no thread holds.
pub(super) fn nobody() -> u64 {
    #[cfg(loom)]
    return 0;
    #[cfg(not(loom))]
    ThreadMark::none().word()
}

/// Bits of [`RankState::comms`] that are the count.
const COUNT_BITS: u32 = 24;

/// The number that a rank's `present` is in run `run`, as long as nobody has failed.
pub(crate) const fn run_pass(run: u64) -> u64 {
    run << 1
}

impl RankState {
    /// The [`run_pass`] of the run that the rank is in, or another number.
    #[inline(always)]
    pub(crate) fn present(&self) -> u64 {
        // Relaxed: whoever finds another number looks for the reason, and
        // finds it, or takes the number back (`TeamState::reopen`) and looks again.
        self.present.load(sync::Ordering::Relaxed)
    }

    /// The word of the [`ThreadMark`] of the thread that holds the rank.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn holder(&self) -> u64 {
        // Relaxed: a thread finds its own mark only where it has put it itself.
        self.holder.load(sync::Ordering::Relaxed)
    }

    /// Whether no thread holds the rank.
    #[cfg(not(loom))]
    pub(crate) fn is_free(&self) -> bool {
        self.holder() == nobody()
    }

    /// The mark of the thread that holds the rank.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn mark(&self) -> &'static ThreadMark {
        let at = std::ptr::with_exposed_provenance::<ThreadMark>(self.holder() as usize);
        // SAFETY: the word is that of a mark from the beginning (`nobody`), and only words of marks
        // are stored. All marks are statics, or in the words of threads, which are never freed.
        unsafe { &*at }
    }

    /// The calling thread, of which this is the mark (or [`ThreadMark::lent`]), holds the rank from
    /// now on, whichever did before.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn hold(&self, mark: &'static ThreadMark) {
        // Relaxed: the caller knows that the one before makes no call any more, since that has
        // told it so.
        self.holder.store(mark.word(), sync::Ordering::Relaxed);
    }

    /// The calling thread, of which this is the mark, holds the rank from now on, if `before` does
    /// so still.
    #[cfg(not(loom))]
    pub(crate) fn hold_after(&self, before: u64, mark: &'static ThreadMark) -> bool {
        let (won, lost) = (sync::Ordering::Acquire, sync::Ordering::Relaxed);
        // Acquire: pairs with the RMW in `let_go`. Of two threads that try, one succeeds.
        self.holder.compare_exchange(before, mark.word(), won, lost).is_ok()
    }

    /// The calling thread, of which this is the mark, ends: nobody holds the rank, if that did.
    #[cfg(not(loom))]
    pub(crate) fn let_go(&self, mark: &'static ThreadMark) {
        // (It may have been taken out of them.)
        self.close_scope(mark, 0);
        let (done, lost) = (sync::Ordering::Release, sync::Ordering::Relaxed);
        // Release: the rank's next holder finds what this one did. Pairs with `hold_after`.
        let _: Result<_, _> = self.holder.compare_exchange(mark.word(), nobody(), done, lost);
    }

    /// The rank has one communicator in run `run`.
    #[inline(always)]
    pub(crate) fn begin_comms(&self, run: u64) {
        // Relaxed: by the rank's own thread, before it makes another.
        self.comms.store(run << COUNT_BITS | 1, sync::Ordering::Relaxed);
        // The scopes of the run before are over, whatever was put in their places.
        self.scopes.store(0, sync::Ordering::Relaxed);
    }

    /// The calling thread, of which this is the mark, and which holds the rank or borrows its
    /// communicator, opens a scope of requests; returns the mark that `close_scope` needs.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn open_scope(&self, mark: &'static ThreadMark) -> u64 {
        // Relaxed, here and below: another thread comes to a communicator of the rank by a word of
        // the program's (it is lent, or given), or by `let_go`.
        let before = self.scopes.load(sync::Ordering::Relaxed);
        self.scopes.store(mark.word(), sync::Ordering::Relaxed);
        before
    }

    /// The scope is over, and no call that it has started is under way.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn close_scope(&self, mark: &'static ThreadMark, before: u64) {
        if self.scopes.load(sync::Ordering::Relaxed) == mark.word() {
            self.scopes.store(before, sync::Ordering::Relaxed);
        }
    }

    /// Whether another thread than the one of this mark has a scope of requests open.
    #[cfg(not(loom))]
    pub(crate) fn has_scope_elsewhere(&self, mark: &'static ThreadMark) -> bool {
        ![0, mark.word()].contains(&self.scopes.load(sync::Ordering::Relaxed))
    }

    /// So many more communicators, if run `run` is still going on.
    #[cfg(not(loom))]
    pub(crate) fn count_comms(&self, run: u64, more: i64) {
        let is_of_run = |comms: u64| comms >> COUNT_BITS == run & (u64::MAX >> COUNT_BITS);
        let mut seen = self.comms.load(sync::Ordering::Relaxed);
        while is_of_run(seen) {
            let next = seen.wrapping_add_signed(more);
            let (done, lost) = (sync::Ordering::Release, sync::Ordering::Relaxed);
            // Release: the calls of one that is dropped have ended. Pairs with `has_one_comm`.
            match self.comms.compare_exchange(seen, next, done, lost) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the rank has one communicator in run `run`.
    #[cfg(not(loom))]
    pub(crate) fn has_one_comm(&self, run: u64) -> bool {
        // Acquire: pairs with `count_comms`.
        self.comms.load(sync::Ordering::Acquire) == run << COUNT_BITS | 1
    }

    /// The rank begins a call in which user code may run.
    #[inline(always)]
    pub(crate) fn enter_user_code(&self) {
        // Relaxed, and no RMW: only the rank itself uses the word.
        self.depth.store(self.depth.load(Relaxed) + 1, Relaxed);
    }

    /// The rank ends such a call.
    #[inline(always)]
    pub(crate) fn leave_user_code(&self) {
        self.depth.store(self.depth.load(Relaxed) - 1, Relaxed);
    }
}

/// Calls kept per rank.
const KEPT: usize = 16;

#[derive(Default)]
#[repr(C, align(64))]
struct Record {
    /// Number of the call, counted from 1 over all communicators of the rank.
    number: AtomicU64,
    /// The communicator's id.
    comm: AtomicU64,
    sig: AtomicPtr<Signature>,
    at: AtomicPtr<Location<'static>>,
    len: AtomicU64,
    /// Low half: root or distance. Then 16 bits: algorithm; 1 bit: `len` is the
    /// rank's own; the rest: transport.
    parameter: AtomicU64,
    /// Number of the collective call in its communicator; 0 for a message.
    call: AtomicU64,
    digest: AtomicU64,
}

const _: () = assert!(size_of::<Record>() == 64);

/// Lists of counts kept per rank, for people.
const KEPT_COUNTS: usize = 16;

impl Record {
    /// The call, if it is whole.
    fn read(&self) -> Option<CallRecord> {
        let number = self.number.load(Relaxed);
        let (sig, at) = (self.sig.load(Relaxed), self.at.load(Relaxed));
        if number == 0 || sig.is_null() || at.is_null() {
            return None;
        }
        let rest = self.parameter.load(Relaxed);
        let parameter = rest as u32 as usize;
        // SAFETY: the two words only ever hold addresses made from
        // `&'static` references (`log`), and neither is null.
        let (sig, at) = unsafe { (&*sig.cast_const(), &*at.cast_const()) };
        let call = CallRecord {
            number,
            comm: self.comm.load(Relaxed),
            call: self.call.load(Relaxed),
            sig,
            at,
            foreign: None,
            len: self.len.load(Relaxed) as usize,
            own_len: rest >> 48 & 1 != 0,
            transport: *CallTransport::ALL.get((rest >> 49) as usize)?,
            parameter: (parameter != Fingerprint::NO_PARAMETER).then_some(parameter),
            algorithm: (rest >> 32) as u16,
            digest: Digest(self.digest.load(Relaxed)),
        };
        // Not overwritten meanwhile.
        (self.number.load(Relaxed) == number).then_some(call)
    }
}

/// The counts that the digest of a call with varied blocks stands for.
struct Varied {
    digest: Digest,
    counts: Vec<usize>,
    /// Of the mesh, if one is forced; else empty.
    extents: Vec<usize>,
}

/// The latest calls of one rank.
#[derive(Default)]
#[repr(C, align(128))]
pub(crate) struct CallLog {
    ring: [Record; KEPT],
    next: AtomicU64,
    /// The number of the latest call before the current run.
    before: AtomicU64,
    /// The latest lists of counts of varied blocks, the latest last: more words than fit a record.
    varied: Mutex<VecDeque<Varied>>,
    /// Which of the calls came from another language. Made with the first of them.
    foreign: OnceLock<Box<ForeignCalls>>,
}

/// A call found on record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRecord {
    pub(crate) number: u64,
    pub(crate) comm: u64,
    /// Number of the collective call in its communicator; 0 for a message.
    pub(crate) call: u64,
    pub(crate) sig: &'static Signature,
    pub(crate) at: &'static Location<'static>,
    /// The call of another language that this is a part of.
    pub(crate) foreign: Option<&'static ForeignCall>,
    pub(crate) len: usize,
    /// Whether other ranks may give other lengths.
    pub(crate) own_len: bool,
    pub(crate) parameter: Option<usize>,
    pub(crate) algorithm: u16,
    pub(crate) transport: CallTransport,
    pub(crate) digest: Digest,
}

impl CallRecord {
    /// As it appears in an error.
    #[inline(never)]
    pub(crate) fn site(&self) -> CallSite {
        let call = self.words(self.foreign.map_or(self.sig.call, |foreign| foreign.function));
        CallSite { call, at: self.foreign.map_or(self.at.into(), Into::into) }
    }

    /// The call in words, under the name `function`.
    fn words(&self, function: &str) -> String {
        let mut call = self.sig.words_as(function, self.len, self.parameter);
        if self.call == 0 && self.digest != Digest::NONE {
            call += &self.digest.tag_in_words(self.parameter.is_some());
        }
        call
    }

    /// A number in which calls that are not parts of one differ, as good as
    /// always.
    pub(crate) fn digest(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        let len = if self.own_len { 0 } else { self.len };
        let numbers = (self.call, len, self.parameter, self.algorithm, self.digest.0);
        let numbers = (numbers, self.transport as u8);
        let sig = self.sig;
        (numbers, sig.meets, sig.element(), sig.operator, sig.operator_type).hash(&mut hasher);
        hasher.finish()
    }
}

impl CallLog {
    /// The number of the owner's next call.
    #[inline(always)]
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Relaxed) + 1
    }

    /// The entry in a record of the run for call `number` of the owner, which asks, if it is on
    /// record. `member` of a communicator's rank is the team's.
    #[inline(always)]
    pub(super) fn facts(
        &self,
        number: u64,
        member: impl Fn(u64, usize) -> Option<usize>,
    ) -> Option<CallFacts> {
        let call = self.ring[number as usize % KEPT].read().filter(|call| call.number == number)?;
        let params = CallParams {
            len: call.len,
            own_len: None,
            parameter: call.parameter.unwrap_or(Fingerprint::NO_PARAMETER),
            algorithm: call.algorithm,
            transport: call.transport,
            digest: call.digest,
        };
        let member = |rank| member(call.comm, rank);
        Some(CallFacts::new(call.call, call.sig, &params, member))
    }

    /// Whether the call with a number that ends in the eight bits `low` is the owner's next to
    /// be recorded: it has begun, perhaps, and is not on record yet.
    pub(crate) fn is_next(&self, low: u64) -> bool {
        // Acquire: pairs with the store in `log`.
        low.wrapping_sub(self.next.load(Acquire)) & 0xff == 1
    }

    /// Records call `number` of the owner, which is the [`next`](CallLog::next).
    #[inline(always)]
    pub(crate) fn log(
        &self,
        number: u64,
        comm: u64,
        call: u64,
        sig: &'static Signature,
        at: &'static Location<'static>,
        params: &CallParams,
    ) {
        let r = &self.ring[number as usize % KEPT];
        // Whoever reads meanwhile sees that the record is not whole.
        r.number.store(0, Relaxed);
        r.comm.store(comm, Relaxed);
        r.call.store(call, Relaxed);
        r.sig.store(std::ptr::from_ref(sig).cast_mut(), Relaxed);
        r.at.store(std::ptr::from_ref(at).cast_mut(), Relaxed);
        r.len.store(params.own_len.unwrap_or(params.len) as u64, Relaxed);
        let parameter = params.parameter as u64
            | u64::from(params.algorithm) << 32
            | u64::from(params.own_len.is_some()) << 48
            | (params.transport as u64) << 49;
        r.parameter.store(parameter, Relaxed);
        r.digest.store(params.digest.0, Relaxed);
        r.number.store(number, Relaxed);
        // Release: a rank that sees the number finds the record (`is_next`).
        self.next.store(number, Release);
    }

    /// A call with blocks of new `counts`, perhaps on a mesh, of digest `digest`, is about to
    /// be noted: keeps both, for people.
    pub(crate) fn varied(&self, digest: Digest, counts: &[usize], extents: &[usize]) {
        let mut varied = self.varied.lock().unwrap_or_else(|e| e.into_inner());
        if varied.len() == KEPT_COUNTS {
            varied.pop_front();
        }
        varied.push_back(Varied { digest, counts: counts.to_vec(), extents: extents.to_vec() });
    }

    /// The counts, or other numbers, that were [kept](CallLog::varied) under `digest`.
    pub(crate) fn numbers_of(&self, digest: Digest) -> Option<Vec<usize>> {
        let varied = self.varied.lock().unwrap_or_else(|e| e.into_inner());
        varied.iter().rev().find(|it| it.digest == digest).map(|it| it.counts.clone())
    }

    /// `digest` in words.
    pub(crate) fn digest_in_words(&self, digest: Digest) -> String {
        let varied = self.varied.lock().unwrap_or_else(|e| e.into_inner());
        match varied.iter().rev().find(|it| it.digest == digest) {
            None => digest.to_string(),
            Some(it) if it.extents.is_empty() => format!("{:?}", it.counts),
            Some(it) => {
                let mesh = Digest::of_mesh(&it.extents);
                format!("{:?} on a {mesh} mesh", it.counts)
            }
        }
    }

    /// The calls so far belong to earlier runs.
    pub(crate) fn begin_run(&self) {
        self.before.store(self.next.load(Relaxed), Relaxed);
    }

    /// The owner's calls in the current run.
    pub(crate) fn made(&self) -> u64 {
        self.next.load(Relaxed).saturating_sub(self.before.load(Relaxed))
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = CallRecord> + '_ {
        (0..self.ring.len()).filter_map(|at| self.call_at(at))
    }

    /// Not inlined: a dozen searches would have it in them.
    #[inline(never)]
    fn call_at(&self, at: usize) -> Option<CallRecord> {
        self.ring[at].read().map(|call| self.named(call))
    }

    /// `call`, with the facts that another language gave: by its location, or in a note.
    fn named(&self, call: CallRecord) -> CallRecord {
        let noted = || self.foreign.get().and_then(|calls| calls.of(call.number));
        let foreign = ForeignCall::of(call.at).or_else(noted);
        CallRecord { foreign, ..call }
    }

    /// The notes of other languages about their calls.
    #[inline(always)]
    pub(crate) fn foreign(&self) -> &ForeignCalls {
        self.foreign.get_or_init(Box::default)
    }

    /// Whether calls of other languages were noted.
    #[inline(always)]
    pub(crate) fn has_foreign(&self) -> bool {
        self.foreign.get().is_some()
    }

    /// The call of another language that the owner is making.
    pub(crate) fn foreign_call(&self) -> Option<&'static ForeignCall> {
        self.foreign.get()?.of(self.next())
    }

    /// `site`, of a call of the owner that was not looked up on record. If it is there, and came
    /// from another language, as the users of that language know it.
    pub(crate) fn refined(&self, site: CallSite) -> CallSite {
        let is_it = |c: &CallRecord| {
            site.at == c.at.into() && c.words(c.sig.call) == site.call && c.foreign.is_some()
        };
        self.latest_of(&is_it).map_or_else(|| site.clone(), |c| c.site())
    }

    /// The owner's latest calls, the latest first.
    pub(crate) fn newest_first(&self) -> Vec<CallRecord> {
        let mut calls: Vec<CallRecord> = self.calls().listed();
        calls.arrange_by_key(|c| std::cmp::Reverse(c.number));
        calls
    }

    /// The owner's latest call.
    #[inline(never)]
    pub(crate) fn latest(&self) -> Option<CallRecord> {
        self.latest_of(&|_| true)
    }

    /// The owner's latest call in the current run of which `is` holds.
    #[inline(never)]
    pub(crate) fn latest_of_run(&self, is: &dyn Fn(&CallRecord) -> bool) -> Option<CallRecord> {
        let before = self.before.load(Relaxed);
        self.latest_of(&|c| c.number > before && is(c))
    }

    /// One body for all searches.
    #[inline(never)]
    fn latest_of(&self, is: &dyn Fn(&CallRecord) -> bool) -> Option<CallRecord> {
        let mut latest: Option<CallRecord> = None;
        for call in self.calls() {
            if is(&call) && latest.as_ref().is_none_or(|it| it.number <= call.number) {
                latest = Some(call);
            }
        }
        latest
    }

    /// The latest call on communicator `comm` with a number that ends in the eight bits `low`.
    pub(crate) fn find(&self, comm: u64, low: u64) -> Option<CallRecord> {
        self.latest_of(&|c| c.comm == comm && c.number & 0xff == low)
    }
}
