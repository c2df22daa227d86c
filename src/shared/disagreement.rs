//! The search for a disagreement between ranks, after a call has failed.
//!
//! A rank that notices a disagreement is often a victim: rank 2 left a call
//! out, and it is ranks 0 and 1 that receive each other's messages of another
//! call. So before an error is made, the records of all ranks are compared,
//! collective call by collective call: the first that they do not have in
//! common is the cause.

use super::call_log::CallRecord;
use super::fingerprint::Differences;
use super::team_state::TeamState;
use crate::sorted::SortedMap;

/// The first collective call on communicator `comm` that the ranks on record
/// do not agree about: a rank of the majority (`me` if it is one of them; ranks
/// are the world's), its call, a rank that called something else, and that call.
pub(crate) fn disagreement(
    world: &TeamState,
    comm: u64,
    me: usize,
) -> Option<(usize, CallRecord, usize, CallRecord)> {
    let mut by_number: SortedMap<u64, Vec<(usize, CallRecord)>> = SortedMap::new();
    for rank in 0..world.ranks() {
        for call in world.records(rank).calls() {
            if call.comm == comm && call.call != 0 {
                by_number.or_default(call.call).push((rank, call));
            }
        }
    }
    by_number.values().find_map(|calls| {
        let votes =
            |it: &CallRecord| calls.iter().filter(|(_, other)| it.is_one_with(other)).count();
        // Of two opinions with equally many votes mine is the first.
        let (rank, usual) =
            *calls.iter().max_by_key(|(rank, call)| (votes(call), *rank == me, !rank))?;
        let (peer, odd) = *calls.iter().find(|(_, call)| !call.is_one_with(&usual))?;
        Some((rank, usual, peer, odd))
    })
}

/// A collective call on communicator `comm` that ranks `me`, the calling one, and `peer` do not
/// agree about (ranks are the world's), if `peer` waits: its records stay as they are meanwhile, so
/// this is certain while the run goes on, too.
pub(crate) fn disagreement_with_waiting(
    world: &TeamState,
    comm: u64,
    me: usize,
    peer: usize,
) -> Option<(CallRecord, CallRecord)> {
    let wait = || Some((world.wait_of(peer)?.0, world.records(peer).made()));
    let seen = wait()?;
    let of = |rank| world.records(rank).calls().filter(|it| it.comm == comm && it.call != 0);
    let differs =
        |here: &CallRecord, there: &CallRecord| there.call == here.call && !here.is_one_with(there);
    let pair =
        of(me).find_map(|here| Some((here, of(peer).find(|there| differs(&here, there))?)))?;
    // In the same wait still, and no operator of a started call has called anything meanwhile:
    // what was read of its records is whole.
    (wait()? == seen).then_some(pair)
}

/// What differs between rank `a`'s call and rank `b`'s: expected and got. None
/// if nothing that is on record does. `name` names an algorithm.
pub(crate) fn in_words(
    world: &TeamState,
    (a, expected): (usize, &CallRecord),
    (b, got): (usize, &CallRecord),
    name: &dyn Fn(u16) -> String,
) -> Option<String> {
    if let Some(differs) = expected.sig.difference(std::ptr::from_ref(got.sig).cast()) {
        return Some(differs);
    }
    let mut said = Differences::default();
    if !expected.own_len && !got.own_len {
        said.say("length", expected.len.to_string(), got.len.to_string());
    }
    let parameter = |c: &CallRecord| c.parameter.map_or("none".to_string(), |n| n.to_string());
    // (Of a method that another carries out, only one may have words for it.)
    let words =
        [expected, got].map(|call| call.sig.parameter).into_iter().find(|it| !it.is_empty());
    let what = match words {
        Some("by") => "distance",
        Some("by the plan of call") => "plan",
        Some(what) if !expected.sig.names_rank && !got.sig.names_rank => what,
        _ => "root",
    };
    said.say(what, parameter(expected), parameter(got));
    said.say("algorithm", name(expected.algorithm), name(got.algorithm));
    said.say("transport", expected.transport.name().into(), got.transport.name().into());
    // A plan's is its number, once more.
    if expected.digest != got.digest && what != "plan" {
        let digest =
            |rank: usize, call: &CallRecord| world.records(rank).digest_in_words(call.digest);
        let are_counts = expected.digest.is_of_counts() && got.digest.is_of_counts();
        let what = if are_counts { "counts" } else { "extents of the mesh" };
        said.say(what, digest(a, expected), digest(b, got));
    }
    (!said.0.is_empty()).then_some(said.0)
}

impl CallRecord {
    /// Whether both can be parts of one collective call.
    pub(crate) fn is_one_with(&self, other: &CallRecord) -> bool {
        self.sig.agrees(std::ptr::from_ref(other.sig).cast())
            && (self.own_len || self.len == other.len)
            && self.parameter == other.parameter
            && self.algorithm == other.algorithm
            && self.transport == other.transport
            && self.digest == other.digest
    }
}
