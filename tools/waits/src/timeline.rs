//! The events of a run as calls with their waits, and phases.

use crate::record::{EventKind, RankEvents, Run, Transport};

/// A call of a rank.
#[derive(Clone, Debug)]
pub struct Call {
    /// Nanoseconds since the run's beginning.
    pub begin: u64,
    /// The end, as far as is known: see `docs/timeline.md`.
    pub end: u64,
    /// Bytes of this rank's vector or block.
    pub bytes: u64,
    /// The communicator.
    pub comm: u64,
    /// The number of a collective call in its communicator; 0 for a message.
    pub number: u64,
    /// The called operation: a place in the run's texts.
    pub name: u32,
    /// The line.
    pub at: u32,
    /// The algorithm.
    pub algorithm: u32,
    /// The element type and the operator.
    pub detail: u32,
    /// The root or the partner.
    pub peer: Option<usize>,
    /// How its data travel.
    pub transport: Transport,
}

/// A wait of a rank.
#[derive(Clone, Debug)]
pub struct Wait {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The awaited rank.
    pub peer: usize,
    /// In which call: a place in [`RankLine::calls`].
    pub call: Option<usize>,
}

/// A phase of a rank.
#[derive(Clone, Debug)]
pub struct Phase {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// Its name: a place in the run's texts.
    pub name: u32,
    /// The line.
    pub at: u32,
}

/// A rank's line in the timeline.
#[derive(Clone, Debug)]
pub struct RankLine {
    /// When the caller started the ranks; where that is not known, when the rank began.
    pub dispatched: u64,
    /// When the rank began the run.
    pub began: u64,
    /// When it ended its part.
    pub ended: u64,
    /// When all had, if the caller waits for that.
    pub over: u64,
    /// In the order of their beginnings.
    pub calls: Vec<Call>,
    /// In the order of their beginnings.
    pub waits: Vec<Wait>,
    /// In the order of their beginnings.
    pub phases: Vec<Phase>,
}

/// Calls that are searched for the one that a wait belongs to, where calls are nested.
const NESTED: usize = 64;

/// The lines of all ranks.
pub fn lines(run: &Run) -> Vec<RankLine> {
    run.ranks.iter().map(|rank| line(run, rank)).collect()
}

/// The communicator of the call that all ranks come to at the end of a run.
const OF_END: u64 = u64::MAX;

fn line(run: &Run, rank: &RankEvents) -> RankLine {
    let (mut calls, mut waits, mut phases) = (Vec::new(), Vec::new(), Vec::new());
    for event in &rank.events {
        let (begin, end) = (event.begin, event.end);
        match event.kind {
            EventKind::Call => calls.push(Call {
                begin,
                end: end.unwrap_or(begin),
                bytes: event.bytes,
                comm: event.comm,
                number: event.call,
                name: event.name,
                at: event.at,
                algorithm: event.algorithm,
                detail: event.detail,
                peer: event.peer,
                transport: event.transport,
            }),
            EventKind::Wait => {
                let near = calls.len().saturating_sub(NESTED);
                let is_its = |call: &Call| call.comm == event.comm && call.begin <= begin;
                let call = calls[near..].iter().rposition(is_its).map(|at| near + at);
                let end = end.unwrap_or(begin);
                if let Some(call) = call {
                    calls[call].end = calls[call].end.max(end);
                }
                let peer = event.peer.unwrap_or(0);
                waits.push(Wait { begin, end, peer, call });
            }
            EventKind::Phase => phases.push(Phase {
                begin,
                end: end.unwrap_or(rank.ended).max(begin),
                name: event.name,
                at: event.at,
            }),
        }
    }
    // They are, but for the calls of a forged file. The waits' calls then are others, which harms
    // nobody.
    calls.sort_by_key(|call| call.begin);
    waits.sort_by_key(|wait| wait.begin);
    phases.sort_by_key(|phase| (phase.begin, std::cmp::Reverse(phase.end)));
    let RankEvents { began, ended, .. } = *rank;
    let (mut dispatched, mut over) = (began, ended);
    if let Some(start) = run.dispatched {
        (dispatched, over) = (start, run.ended());
        let (name, at, call) = (run.end(), run.at, Some(calls.len()));
        calls.push(Call {
            begin: ended,
            end: over,
            bytes: 0,
            comm: OF_END,
            number: 1,
            name,
            at,
            algorithm: 0,
            detail: 0,
            peer: None,
            transport: Transport::Gates,
        });
        let last = run.ranks.iter().position(|rank| rank.ended == over);
        if ended < over {
            waits.push(Wait { begin: ended, end: over, peer: last.unwrap_or(0), call });
        }
    }
    RankLine { dispatched, began, ended, over, calls, waits, phases }
}

/// A time for eyes.
pub(crate) fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}
