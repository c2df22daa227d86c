//! The symbolic checker: runs all ranks of a schedule on paper.
//!
//! What is proved for one schedule: both ends of every message describe it
//! alike, a sender holds what it sends, no rank has more messages under way
//! than its ports, at the end every rank holds what the contract wants, made of
//! every contributor exactly once (a barrier forgives repeats), and, where the
//! schedule says so, combined in rank order. What is not proved is anything
//! about memory: that is the binder's.

use std::fmt;

use super::{
    Algorithm, BlockRange, Contract, Hierarchy, Incoming, Mode, Operation, Request, Schedule, Step,
};
use crate::topology::meshes;

/// What a correct schedule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// The number of steps.
    pub steps: usize,
    /// The number of messages of all ranks.
    pub messages: usize,
    /// The number of blocks in all messages.
    pub blocks: usize,
    /// The most messages that a rank sends, or receives, in one step.
    pub ports: usize,
    /// Whether all results came out in rank order, promised or not.
    pub ordered: bool,
}

/// How a schedule is wrong. Steps count from 0.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what their names say
pub enum Violation {
    /// A rank names a peer that does not exist, or itself.
    Peer { step: usize, rank: usize, peer: usize },
    /// A message names a block that does not exist, or one twice, or none.
    Blocks { step: usize, rank: usize, peer: usize },
    /// A message received with further places for it has not exactly one block.
    Also { step: usize, rank: usize, from: usize },
    /// A message is expected that its sender does not send, or not with the
    /// same blocks.
    Unsent { step: usize, from: usize, to: usize },
    /// A message is sent that its receiver does not expect.
    Unreceived { step: usize, from: usize, to: usize },
    /// A rank sends a block that it does not hold.
    NotHeld { step: usize, rank: usize, block: usize },
    /// A rank has more messages in one direction than ports.
    Ports { step: usize, rank: usize, messages: usize, ports: usize },
    /// Data that is only to be moved is combined.
    Combined { step: usize, rank: usize, block: usize },
    /// At the end a rank lacks a block that it should hold.
    Missing { rank: usize, block: usize },
    /// At the end a block holds the datum of another.
    Origin { rank: usize, block: usize, holds: usize },
    /// At the end a block lacks a contribution.
    Contributor { rank: usize, block: usize, lacks: usize },
    /// At the end a block has a contribution that it should not have.
    Stranger { rank: usize, block: usize, has: usize },
    /// At the end a block has a contribution more than once; it came in `step`.
    Twice { rank: usize, block: usize, step: usize },
    /// A schedule that promises rank order combined in another order.
    Order { rank: usize, block: usize },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Violation::*;
        match *self {
            Peer { step, rank, peer } => {
                write!(f, "step {step}: rank {rank} cannot exchange with rank {peer}")
            }
            Blocks { step, rank, peer } => write!(
                f,
                "step {step}: the message of rank {rank} with rank {peer} has a block that does \
                 not exist, or one twice"
            ),
            Also { step, rank, from } => write!(
                f,
                "step {step}: rank {rank} puts a message of rank {from} in further places, and \
                 it is not one block"
            ),
            Unsent { step, from, to } => {
                write!(f, "step {step}: rank {to} expects what rank {from} does not send")
            }
            Unreceived { step, from, to } => {
                write!(f, "step {step}: rank {from} sends what rank {to} does not expect")
            }
            NotHeld { step, rank, block } => {
                write!(f, "step {step}: rank {rank} sends block {block} without holding it")
            }
            Ports { step, rank, messages, ports } => write!(
                f,
                "step {step}: rank {rank} has {messages} messages in one direction and {ports} \
                 ports"
            ),
            Combined { step, rank, block } => {
                write!(f, "step {step}: rank {rank} combines block {block}, which only moves")
            }
            Missing { rank, block } => write!(f, "rank {rank} ends without block {block}"),
            Origin { rank, block, holds } => {
                write!(f, "rank {rank} ends with block {holds} in the place of block {block}")
            }
            Contributor { rank, block, lacks } => {
                write!(f, "block {block} of rank {rank} ends without rank {lacks}'s contribution")
            }
            Stranger { rank, block, has } => {
                write!(f, "block {block} of rank {rank} ends with rank {has}'s contribution")
            }
            Twice { rank, block, step } => write!(
                f,
                "block {block} of rank {rank} counts a contribution twice, from step {step} on"
            ),
            Order { rank, block } => {
                write!(f, "block {block} of rank {rank} is not combined in rank order")
            }
        }
    }
}

crate::error_type!(Violation:
    Self::Peer { step, rank, peer }, Self::Blocks { step, rank, peer },
    Self::Also { step, rank, from }, Self::Unsent { step, from, to },
    Self::Unreceived { step, from, to }, Self::NotHeld { step, rank, block },
    Self::Ports { step, rank, messages, ports }, Self::Combined { step, rank, block },
    Self::Missing { rank, block }, Self::Origin { rank, block, holds },
    Self::Contributor { rank, block, lacks }, Self::Stranger { rank, block, has },
    Self::Twice { rank, block, step }, Self::Order { rank, block },
);

/// Runs a schedule on paper.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request, check};
/// let schedule = Algorithm::AG_RING.schedule(&Request::new(Operation::AllGather, 8))?;
/// let report = check(&schedule).unwrap();
/// assert_eq!((report.steps, report.messages, report.ports), (7, 56, 1));
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
pub fn check(schedule: &Schedule) -> Result<CheckReport, Violation> {
    let operation = schedule.contract().operation;
    if operation.combines() || operation == Operation::Barrier {
        run(schedule, Combining { repeats: operation == Operation::Barrier })
    } else {
        run(schedule, Moving)
    }
}

/// The calls of `algorithm` on `ranks` ranks worth checking: every mesh, every
/// root and distance if there are few ranks, a selection otherwise, and some
/// numbers of segments. None if the algorithm does not serve so many ranks.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, cases};
/// assert_eq!(cases(Algorithm::BC_MESH, 6).len(), 3 * 6); // 1x6, 3x2, 2x3; six roots
/// assert!(cases(Algorithm::AG_HCUBE, 6).is_empty());
/// ```
pub fn cases(algorithm: Algorithm, ranks: usize) -> Vec<Request> {
    let mut out = Vec::new();
    for &operation in algorithm.operations() {
        let plain = Request::new(operation, ranks);
        let mut grids = vec![plain.clone()];
        if algorithm.uses_dims() {
            grids = meshes(ranks).into_iter().map(|m| plain.clone().dims(m)).collect();
        }
        if algorithm.uses_levels() {
            let mut nested = vec![
                Hierarchy::even(ranks, &[2]),
                Hierarchy::even(ranks, &[3]).degrees(&[2, 2]),
                Hierarchy::even(ranks, &[2, 3]).degrees(&[0, 1, 3]),
                Hierarchy::even(ranks, &[4, 2, 2]).degrees(&[2, 0, 0, 1]),
                Hierarchy::even(ranks, &[]).degrees(&[3]),
                Hierarchy::even(ranks, &[ranks]),
            ];
            // Groups of ranks that are not next to each other.
            nested.extend(Hierarchy::new(ranks, &[(0..ranks).map(|r| r % 3).collect()]));
            grids.extend(nested.into_iter().map(|levels| plain.clone().levels(levels)));
        }
        let segmented = ["BC-CHAIN", "RED-CHAIN"].contains(&algorithm.id());
        for grid in grids {
            let chosen = selection(ranks);
            let calls: Vec<Request> = match operation {
                Operation::Shift => chosen.map(|q| grid.clone().shift(q as isize)).collect(),
                _ if operation.is_rooted() => chosen.map(|r| grid.clone().root(r)).collect(),
                _ => vec![grid],
            };
            for call in calls {
                if segmented {
                    out.extend([1, 2, 7].map(|k| call.clone().segments(k)));
                } else {
                    out.push(call);
                }
            }
        }
    }
    out.retain(|call| algorithm.schedule(call).is_ok());
    out
}

/// Roots (or distances) worth checking: all of a few ranks, some of many.
fn selection(ranks: usize) -> impl Iterator<Item = usize> {
    let few = ranks <= 20;
    let some = [0, 1, 2, ranks / 3, ranks / 2, ranks.wrapping_sub(2), ranks.wrapping_sub(1)];
    (0..ranks).filter(move |r| few || some.contains(r))
}

/// How the contents of blocks are written down.
trait Paper {
    type Value: Clone;
    fn initial(&self, contract: &Contract, rank: usize, block: usize) -> Self::Value;
    /// The new content of a block that holds `own`; none: data was combined
    /// that is only to be moved.
    fn combine(&self, left: &Self::Value, right: &Self::Value, step: usize) -> Option<Self::Value>;
    /// Whether a wanted block is right; true if it is also in rank order.
    fn judge(
        &self,
        contract: &Contract,
        rank: usize,
        block: usize,
        value: &Self::Value,
    ) -> Result<bool, Violation>;
}

fn run<P: Paper>(schedule: &Schedule, paper: P) -> Result<CheckReport, Violation> {
    let contract = schedule.contract();
    let (p, blocks) = (contract.ranks, contract.blocks());
    let mut held: Vec<Vec<Option<P::Value>>> = Vec::with_capacity(p);
    for rank in 0..p {
        let mut mine = vec![None; blocks];
        for block in contract.initial(rank).iter().flat_map(|r| r.range()) {
            mine[block] = Some(paper.initial(contract, rank, block));
        }
        held.push(mine);
    }
    let mut report =
        CheckReport { steps: schedule.steps(), messages: 0, blocks: 0, ports: 0, ordered: true };
    let mut seen = vec![0; blocks];
    let mut stamp = 0;
    for step in 0..schedule.steps() {
        let parts: Vec<Step> = (0..p).map(|rank| schedule.step(step, rank)).collect();
        ports(schedule, step, &parts, &mut report)?;
        let source = pair(step, &parts)?;
        // Everything is sent from the state before the step.
        let mut payload = |rank: usize, peer: usize, runs: &[BlockRange]| {
            stamp += 1;
            let mut payload = Vec::new();
            for &BlockRange { first, count } in runs {
                if first.checked_add(count).is_none_or(|end| end > blocks) {
                    return Err(Violation::Blocks { step, rank, peer });
                }
                for block in first..first + count {
                    if std::mem::replace(&mut seen[block], stamp) == stamp {
                        return Err(Violation::Blocks { step, rank, peer });
                    }
                    let value = held[rank][block].clone();
                    payload.push(value.ok_or(Violation::NotHeld { step, rank, block })?);
                }
            }
            Ok(payload)
        };
        let mut sent: Vec<Vec<Vec<P::Value>>> = Vec::with_capacity(p);
        let mut own: Vec<Vec<Vec<P::Value>>> = Vec::with_capacity(p);
        for (rank, part) in parts.iter().enumerate() {
            let sends = part.sends.iter().map(|send| payload(rank, send.to, &send.blocks));
            sent.push(sends.collect::<Result<_, _>>()?);
            let recvs = part.recvs.iter().filter(|recv| recv.from == rank);
            let kept = recvs.map(|recv| payload(rank, rank, &recv.blocks));
            own.push(kept.collect::<Result<_, _>>()?);
        }
        report.messages += sent.iter().flatten().count();
        report.blocks += sent.iter().flatten().map(Vec::len).sum::<usize>();
        for (rank, part) in parts.iter().enumerate() {
            let mut own = own[rank].iter();
            for (recv, &at) in part.recvs.iter().zip(&source[rank]) {
                let payload = match at {
                    OWN => own.next().expect("one for each"),
                    at => &sent[recv.from][at],
                };
                take(&paper, recv, payload, &mut held[rank], step, rank)?;
            }
        }
    }
    for (rank, mine) in held.iter().enumerate() {
        for block in contract.wanted(rank).iter().flat_map(|r| r.range()) {
            let value = mine[block].as_ref().ok_or(Violation::Missing { rank, block })?;
            let ordered = paper.judge(contract, rank, block, value)?;
            if !ordered && schedule.is_ordered() {
                return Err(Violation::Order { rank, block });
            }
            report.ordered &= ordered;
        }
    }
    Ok(report)
}

fn ports(
    schedule: &Schedule,
    step: usize,
    parts: &[Step],
    report: &mut CheckReport,
) -> Result<(), Violation> {
    for (rank, part) in parts.iter().enumerate() {
        let received = part.recvs.iter().filter(|recv| recv.from != rank).count();
        let messages = part.sends.len().max(received);
        let ports = schedule.ports();
        if messages > ports {
            return Err(Violation::Ports { step, rank, messages, ports });
        }
        report.ports = report.ports.max(messages);
    }
    Ok(())
}

/// What stands for the number of a message that a rank has from itself.
const OWN: usize = usize::MAX;

/// For every message received, which one of its sender's it is. Several
/// messages of one pair pair up in their order.
fn pair(step: usize, parts: &[Step]) -> Result<Vec<Vec<usize>>, Violation> {
    let p = parts.len();
    let mut taken: Vec<Vec<bool>> = parts.iter().map(|s| vec![false; s.sends.len()]).collect();
    let mut source = Vec::with_capacity(p);
    for (rank, part) in parts.iter().enumerate() {
        let mut mine = Vec::with_capacity(part.recvs.len());
        for recv in &part.recvs {
            let from = recv.from;
            if from >= p {
                return Err(Violation::Peer { step, rank, peer: from });
            }
            if from == rank {
                mine.push(OWN);
                continue;
            }
            let sends = &parts[from].sends;
            let at = (0..sends.len()).find(|&i| sends[i].to == rank && !taken[from][i]);
            let at = at.filter(|&i| sends[i].blocks == recv.blocks);
            let at = at.ok_or(Violation::Unsent { step, from, to: rank })?;
            taken[from][at] = true;
            mine.push(at);
        }
        source.push(mine);
    }
    for (from, part) in parts.iter().enumerate() {
        for (send, taken) in part.sends.iter().zip(&taken[from]) {
            if send.to >= p || send.to == from {
                return Err(Violation::Peer { step, rank: from, peer: send.to });
            }
            if !taken {
                return Err(Violation::Unreceived { step, from, to: send.to });
            }
        }
    }
    Ok(source)
}

fn take<P: Paper>(
    paper: &P,
    recv: &Incoming,
    payload: &[P::Value],
    held: &mut [Option<P::Value>],
    step: usize,
    rank: usize,
) -> Result<(), Violation> {
    let mut put = |block: usize, value: &P::Value, mode: Mode| {
        let Some(own) = held.get_mut(block) else {
            return Err(Violation::Blocks { step, rank, peer: recv.from });
        };
        let new = match (mode, own.as_ref()) {
            (Mode::Store, _) | (_, None) => Some(value.clone()),
            (Mode::Left, Some(own)) => paper.combine(value, own, step),
            (Mode::Right, Some(own)) => paper.combine(own, value, step),
        };
        *own = Some(new.ok_or(Violation::Combined { step, rank, block })?);
        Ok(())
    };
    if !recv.also.is_empty() && payload.len() != 1 {
        return Err(Violation::Also { step, rank, from: recv.from });
    }
    for (block, value) in recv.blocks.iter().flat_map(|r| r.range()).zip(payload) {
        put(block, value, recv.mode)?;
    }
    for &(block, mode) in &recv.also {
        put(block, &payload[0], mode)?;
    }
    Ok(())
}

/// Data that only moves: a block's content is the number of the block.
struct Moving;

impl Paper for Moving {
    type Value = u32;

    fn initial(&self, _: &Contract, _: usize, block: usize) -> u32 {
        block as u32
    }

    fn combine(&self, _: &u32, _: &u32, _: usize) -> Option<u32> {
        None
    }

    fn judge(&self, _: &Contract, rank: usize, block: usize, v: &u32) -> Result<bool, Violation> {
        let holds = *v as usize;
        if holds == block { Ok(true) } else { Err(Violation::Origin { rank, block, holds }) }
    }
}

/// Data that is combined: which ranks have contributed, and in which order.
struct Combining {
    repeats: bool,
}

#[derive(Clone, Debug)]
enum SymbolicValue {
    /// Ranks `lo..hi`, each once, in rank order.
    Interval(usize, usize),
    /// Ranks as bits, each once or (where repeats are allowed) more often, not
    /// in rank order.
    Set(Vec<u64>),
    /// Some rank twice, since a step.
    Twice(usize),
}

impl SymbolicValue {
    fn bits(&self, p: usize) -> Vec<u64> {
        match self {
            // Both operands in as many words, or those of the longer would be lost.
            SymbolicValue::Set(bits) => {
                let mut bits = bits.clone();
                bits.resize(bits.len().max(p.div_ceil(64)), 0);
                bits
            }
            SymbolicValue::Interval(lo, hi) => {
                let mut bits = vec![0; p.div_ceil(64)];
                (*lo..*hi).for_each(|r| bits[r / 64] |= 1 << (r % 64));
                bits
            }
            SymbolicValue::Twice(_) => vec![0; p.div_ceil(64)],
        }
    }

    fn words(&self) -> usize {
        match self {
            SymbolicValue::Set(bits) => bits.len() * 64,
            SymbolicValue::Interval(_, hi) => *hi,
            SymbolicValue::Twice(_) => 0,
        }
    }
}

impl Paper for Combining {
    type Value = SymbolicValue;

    fn initial(&self, _: &Contract, rank: usize, _: usize) -> SymbolicValue {
        SymbolicValue::Interval(rank, rank + 1)
    }

    fn combine(
        &self,
        left: &SymbolicValue,
        right: &SymbolicValue,
        step: usize,
    ) -> Option<SymbolicValue> {
        Some(match (left, right) {
            (SymbolicValue::Twice(s), _) | (_, SymbolicValue::Twice(s)) => SymbolicValue::Twice(*s),
            (SymbolicValue::Interval(lo, a), SymbolicValue::Interval(b, hi)) if a == b => {
                SymbolicValue::Interval(*lo, *hi)
            }
            _ => {
                let p = left.words().max(right.words());
                let (mut a, b) = (left.bits(p), right.bits(p));
                let twice = a.iter().zip(&b).any(|(a, b)| a & b != 0);
                if twice && !self.repeats {
                    return Some(SymbolicValue::Twice(step));
                }
                a.iter_mut().zip(&b).for_each(|(a, b)| *a |= b);
                SymbolicValue::Set(a)
            }
        })
    }

    fn judge(
        &self,
        contract: &Contract,
        rank: usize,
        block: usize,
        value: &SymbolicValue,
    ) -> Result<bool, Violation> {
        let wanted = match contract.operation {
            Operation::Scan => rank + 1,
            Operation::ExclusiveScan => rank,
            _ => contract.ranks,
        };
        if let SymbolicValue::Twice(step) = *value {
            return Err(Violation::Twice { rank, block, step });
        }
        let bits = value.bits(contract.ranks.max(value.words()));
        let has = |r: usize| bits.get(r / 64).is_some_and(|w| w >> (r % 64) & 1 == 1);
        if let Some(lacks) = (0..wanted).find(|&r| !has(r)) {
            return Err(Violation::Contributor { rank, block, lacks });
        }
        if let Some(has) = (wanted..contract.ranks).find(|&r| has(r)) {
            return Err(Violation::Stranger { rank, block, has });
        }
        Ok(matches!(value, SymbolicValue::Interval(..)) || self.repeats)
    }
}
