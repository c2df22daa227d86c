//! A port with calls that are recorded ([`Recorder`]).
//!
//! Such a port costs others nothing, because it is made of comparisons that every call makes
//! anyway. Its [`pass`](Port::pass) is one that no rank ever has, so each call takes the cold path
//! to `Comm::refuse`, which records that it has begun and lets it go on. Its budget of looks is 0,
//! so each wait, short or long, goes to `wait_more`, which records it. The end of a call is the end
//! of its last wait, unless the call says later that it has come further: after a call's
//! last wait there is a copy of a few bytes, except where [`record_end`](Port::record_end) is
//! called.

use super::super::call_counts::CallCount;
use super::super::call_log::run_pass;
use super::super::event_ring::{CallFacts, EventLine};
use super::super::fingerprint::{BeginningCall, Signature};
use super::super::recorder::Recorder;
use super::waiting::PeerLook;
use super::{Port, PortState, RECORDED};
use crate::error::ForeignCall;
use crate::wait::{Wait, looks_little};
use std::panic::Location;
use std::ptr::NonNull;

/// The result of the looks at the beginning of a wait.
pub(super) enum Looked {
    /// Nothing is recorded.
    Unrecorded,
    /// The awaited word has come.
    Ready,
    /// Since this moment.
    Since(u64),
}

impl Port {
    #[inline]
    fn recorder(&self) -> Option<(&Recorder, usize)> {
        let recorder = self.shared.world().recorder()?;
        Some((recorder, self.shared.member(self.rank)))
    }

    /// The rank in its team.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    #[cfg_attr(not(feature = "tracing"), allow(dead_code))]
    pub(crate) fn member(&self) -> usize {
        self.shared.member(self.rank)
    }

    /// Whether the port carries out calls, and does nothing else.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_plain(&self) -> bool {
        self.state == PortState::Plain
    }

    /// [`is_open`](Port::is_open) of a port with calls that may be recorded.
    pub(crate) fn is_open_at_all(&self) -> bool {
        self.line().present() == self.pass & !RECORDED
    }

    /// From here on, in the current run, calls are recorded.
    #[cold]
    pub(super) fn be_recorded(&mut self) {
        self.state = PortState::Recorded;
        self.pass |= RECORDED;
        self.looks = 0;
        // Without a ring each call asks whether it is an event at all.
        let recorder = self.recorder().filter(|(recorder, _)| !recorder.is_interfaces());
        self.ring = recorder.map(|(recorder, me)| NonNull::from(recorder.ring(me)));
    }

    /// Puts the memory of the rank's events in its place.
    pub(super) fn touch_ring(&self) {
        if let Some((recorder, me)) = self.recorder() {
            recorder.touch(me);
        }
    }

    /// The rank begins a run of a team that is recorded, or with a port that is dead.
    #[cold]
    #[inline(never)]
    pub(super) fn join_other_run(&mut self) {
        if self.is_recorded() {
            self.pass = run_pass(self.run);
            self.be_recorded();
            if let Some((recorder, me)) = self.recorder() {
                recorder.begin_run(me);
            }
        }
    }

    /// The rank's part of the run is over.
    #[cold]
    pub(crate) fn end_recorded_run(&self) {
        if let Some((recorder, me)) = self.recorder()
            && !recorder.is_interfaces()
        {
            self.complete_record(recorder, me);
            recorder.end_run(me);
        }
    }

    /// A call begins.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn record_call(
        &self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        call: &BeginningCall,
    ) {
        let facts = self.facts(sig, call);
        if let (Some(facts), Some(ring)) = (facts, self.ring) {
            // SAFETY: the world's, which the state keeps: the recorder's, and the rank's records.
            let (ring, records) = unsafe { (ring.as_ref(), self.records.as_ref()) };
            if !records.has_foreign() && ring.begin_at_once(self.id, sig, at, records.next(), facts)
            {
                return;
            }
        }
        self.record_call_slowly(sig, at, facts);
    }

    /// Records a call that is not known yet, or was asked about before, or that comes after
    /// such a one, or from another language.
    #[cold]
    #[inline(never)]
    fn record_call_slowly(
        &self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        facts: Option<CallFacts>,
    ) {
        if let Some((recorder, me)) = self.recorder()
            && !recorder.is_interfaces()
        {
            self.complete_record(recorder, me);
            let at = self.event_line(at);
            recorder.begin_call(me, self.id, sig, at, self.next_record(), facts);
        }
    }

    /// Of the call that comes next.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn facts(&self, sig: &'static Signature, call: &BeginningCall) -> Option<CallFacts> {
        let (number, params) = match call {
            BeginningCall::Unknown => return None,
            BeginningCall::Message(params) => (0, params),
            BeginningCall::Collective(params) => (self.calls + 1, params),
        };
        Some(CallFacts::new(number, sig, params, |rank| self.team_rank(rank)))
    }

    /// Where the program calls.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn event_line(&self, at: &'static Location<'static>) -> EventLine {
        // SAFETY: the world's, which the state keeps.
        let noted = unsafe { self.records.as_ref() }.foreign_call();
        // The call's own line is nearer than the note of one that it is made in.
        EventLine::new(at, noted.filter(|_| ForeignCall::of(at).is_none()))
    }

    /// The team's rank that is `rank` here.
    #[inline(never)]
    fn team_rank(&self, rank: usize) -> Option<usize> {
        (rank < self.size()).then(|| self.shared.member(rank))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn complete_record(&self, recorder: &Recorder, me: usize) {
        // SAFETY: the world's, which the state keeps.
        let records = unsafe { self.records.as_ref() };
        recorder.complete(me, self.id, records, |rank| self.team_rank(rank));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn record_end_now(&self) {
        if let Some((recorder, me)) = self.recorder() {
            self.complete_record(recorder, me);
            recorder.reach(me, self.id, recorder.now());
        }
    }

    /// The counts of the rank's calls, and the nanoseconds of a tick.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn call_counts(&self) -> Option<(Vec<CallCount>, f64)> {
        let (recorder, me) = self.recorder()?;
        self.complete_record(recorder, me);
        Some(recorder.counts(me))
    }

    /// A phase of the user's begins; returns the guard that ends it, if it is recorded.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn begin_phase(
        &self,
        name: &'static str,
        at: &'static Location<'static>,
    ) -> Option<u64> {
        let (recorder, me) = self.recorder()?;
        Some(recorder.begin_phase(me, name, at))
    }

    /// The phase has ended.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn end_phase(&self, phase: Option<u64>) {
        if let (Some(number), Some((recorder, me))) = (phase, self.recorder()) {
            recorder.end_phase(me, number);
        }
    }

    /// The looks that the port would have made, if it is recorded.
    pub(super) fn look_recorded(&mut self, peer: usize, ready: &mut dyn PeerLook) -> Looked {
        if !self.is_recorded() {
            return Looked::Unrecorded;
        }
        // No wait, and so no time is taken.
        if ready.look(&mut self.peers[peer]) {
            return Looked::Ready;
        }
        let Some((recorder, me)) = self.recorder() else { return Looked::Unrecorded };
        self.complete_record(recorder, me);
        let since = recorder.now();
        let looks = self.usual_looks();
        let at = &mut self.peers[peer];
        if !(0..looks).any(|_| ready.look(at)) {
            return Looked::Since(since);
        }
        self.shared.record_wait(self.rank, peer, since);
        Looked::Ready
    }

    /// The word that the rank has awaited from any rank has come from `peer`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn record_source(&self, peer: usize) {
        if self.is_recorded() {
            self.record_source_now(peer);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_source_now(&self, peer: usize) {
        if let Some((recorder, me)) = self.recorder() {
            recorder.name_source(me, self.shared.member(peer));
        }
    }

    /// The rank begins to wait, at `at`, for a call of `sig` that it has started before.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn record_completion(
        &self,
        sig: &'static Signature,
        at: &'static Location<'static>,
    ) {
        if let Some((recorder, me)) = self.recorder()
            && !recorder.is_interfaces()
        {
            self.complete_record(recorder, me);
            recorder.begin_completion(me, self.id, sig, self.event_line(at));
        }
    }

    /// The budget of looks of a port that is not recorded.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn usual_looks(&self) -> u32 {
        let may_spin = match self.wait {
            Wait::Spin => true,
            Wait::Auto => !self.yields && !looks_little(),
            Wait::Yield | Wait::Park => false,
        };
        if may_spin { super::MANY_LOOKS } else { super::FEW_LOOKS }
    }
}
