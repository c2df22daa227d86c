//! Symbolic execution of plans: every algorithm is bound for every rank, and its plans run on
//! symbolic memory. This proves, per plan:
//!
//! - **no hazard**: nothing is written, from its post until its owner has
//!   settled it, that a peer may be reading. Since the payload of a message is
//!   then the same whenever the peer looks, one order of execution stands for
//!   all;
//! - **no deadlock** with four slots per channel and every large message
//!   waiting for its receiver;
//! - **right contents**: every result element is the combination of exactly
//!   the right elements, in rank order where that is claimed; nothing
//!   uninitialised is read, inputs and bystanders' buffers stay as they are.

use super::actions::{Action, Location, Memory, Plan, PlanPiece};
use super::bind::bind;
use crate::exec::Partition;
use crate::mailbox::{EAGER, SLOTS};
use crate::schedule::{Algorithm, Mode, Operation, Request, Schedule};
use crate::sorted::Arrange;
use std::collections::VecDeque;

/// Which elements (of which rank) were combined, in order.
type Contribution = Vec<(usize, usize)>;

struct SymbolicMessage {
    payload: Result<Vec<Contribution>, Vec<PlanPiece>>,
}

struct Unsettled {
    piece: PlanPiece,
    peer: usize,
    number: usize,
}

struct Rank {
    plan: Plan,
    memory: [Vec<Option<Contribution>>; 3],
    next: usize,
    unsettled: Vec<Unsettled>,
    /// By peer: messages posted.
    posted: Vec<usize>,
    /// By peer: messages taken.
    taken: Vec<usize>,
}

fn index(memory: Memory) -> usize {
    match memory {
        Memory::Input => 0,
        Memory::Output => 1,
        Memory::Scratch => 2,
    }
}

impl Rank {
    fn read(&self, at: Location) -> Result<Contribution, String> {
        let cell = self.memory[index(at.memory)].get(at.offset);
        match cell {
            Some(Some(value)) => Ok(value.clone()),
            Some(None) => Err(format!("reads uninitialised {at:?}")),
            None => Err(format!("reads beyond the end: {at:?}")),
        }
    }

    fn write(&mut self, at: Location, value: Contribution) -> Result<(), String> {
        if at.memory == Memory::Input {
            return Err(format!("writes its input at {at:?}"));
        }
        let piece = PlanPiece { at, len: 1 };
        if let Some(u) = self.unsettled.iter().find(|u| u.piece.overlaps(&piece)) {
            return Err(format!("writes {at:?}, which rank {} may be reading", u.peer));
        }
        let cell = self.memory[index(at.memory)].get_mut(at.offset);
        *cell.ok_or_else(|| format!("writes beyond the end: {at:?}"))? = Some(value);
        Ok(())
    }
}

/// Runs the plans of all ranks; returns the outputs.
fn simulate(
    schedule: &Schedule,
    cut: Partition<'_>,
    element: usize,
    start: impl Fn(usize) -> [Vec<Option<Contribution>>; 2],
) -> Result<Vec<Vec<Option<Contribution>>>, String> {
    let p = schedule.contract().ranks;
    let mut ranks: Vec<Rank> = (0..p)
        .map(|r| {
            let plan = bind(schedule, r, cut, element);
            let [input, output] = start(r);
            let scratch = vec![None; plan.scratch];
            let memory = [input, output, scratch];
            Rank { plan, memory, next: 0, unsettled: vec![], posted: vec![0; p], taken: vec![0; p] }
        })
        .collect();
    let mut channels: Vec<VecDeque<SymbolicMessage>> =
        (0..p * p).map(|_| VecDeque::new()).collect();
    loop {
        let mut moved = false;
        for r in 0..p {
            while let Some(action) = ranks[r].plan.actions.get(ranks[r].next).cloned() {
                if !step(&mut ranks, &mut channels, r, &action, element)
                    .map_err(|e| format!("rank {r}, action {} ({action:?}): {e}", ranks[r].next))?
                {
                    break;
                }
                ranks[r].next += 1;
                moved = true;
            }
        }
        if ranks.iter().all(|r| r.next == r.plan.actions.len()) {
            break;
        }
        if !moved {
            let at: Vec<_> = ranks.iter().map(|r| r.plan.actions.get(r.next)).collect();
            return Err(format!("deadlock: {at:?}"));
        }
    }
    if channels.iter().any(|c| !c.is_empty()) {
        return Err("a message was never taken".to_string());
    }
    for (r, rank) in ranks.iter().enumerate() {
        let before = start(r);
        if rank.memory[0] != before[0] {
            return Err(format!("rank {r}'s input has changed"));
        }
    }
    Ok(ranks.into_iter().map(|r| r.memory.into_iter().nth(1).unwrap()).collect())
}

/// Tries one action; false if it has to wait.
fn step(
    ranks: &mut [Rank],
    channels: &mut [VecDeque<SymbolicMessage>],
    r: usize,
    action: &Action,
    element: usize,
) -> Result<bool, String> {
    let p = ranks.len();
    match *action {
        Action::Copy { from, to, len } => {
            for i in 0..len {
                let value = ranks[r].read(from.plus(i))?;
                ranks[r].write(to.plus(i), value)?;
            }
        }
        Action::Post { peer, ref pieces, len } => {
            if ranks[r].posted[peer] - ranks[peer].taken[r] >= SLOTS as usize {
                return Ok(false);
            }
            let pieces = ranks[r].plan.pieces[pieces.clone()].to_vec();
            if pieces.iter().map(|p| p.len).sum::<usize>() != len {
                return Err("the pieces are not as long as the message".to_string());
            }
            ranks[r].posted[peer] += 1;
            let payload = if len * element <= EAGER {
                let at = pieces.iter().flat_map(|p| (0..p.len).map(|i| p.at.plus(i)));
                Ok(at.map(|at| ranks[r].read(at)).collect::<Result<_, _>>()?)
            } else {
                let number = ranks[r].posted[peer];
                let unsettled = pieces.iter().map(|&piece| Unsettled { piece, peer, number });
                let unsettled: Vec<_> = unsettled.collect();
                ranks[r].unsettled.extend(unsettled);
                Err(pieces)
            };
            channels[r * p + peer].push_back(SymbolicMessage { payload });
        }
        Action::Take { peer, ref targets, len } => {
            let Some(message) = channels[peer * p + r].pop_front() else { return Ok(false) };
            let values = match message.payload {
                Ok(values) => values,
                Err(pieces) => {
                    let at = pieces.iter().flat_map(|p| (0..p.len).map(|i| p.at.plus(i)));
                    at.map(|at| ranks[peer].read(at)).collect::<Result<_, _>>()?
                }
            };
            if values.len() != len {
                return Err(format!("expects {len} elements, gets {}", values.len()));
            }
            for t in targets.clone().map(|t| ranks[r].plan.targets[t]).collect::<Vec<_>>() {
                for i in 0..t.len {
                    let got = values[t.skip + i].clone();
                    let value = match t.mode {
                        Mode::Store => got,
                        Mode::Left => [got, ranks[r].read(t.own.plus(i))?].concat(),
                        Mode::Right => [ranks[r].read(t.own.plus(i))?, got].concat(),
                    };
                    ranks[r].write(t.to.plus(i), value)?;
                }
            }
            ranks[r].taken[peer] += 1;
        }
        Action::Settle { peer, back } => {
            let number = ranks[r].posted[peer] - back as usize;
            if ranks[peer].taken[r] < number {
                return Ok(false);
            }
            ranks[r].unsettled.retain(|u| u.peer != peer || u.number > number);
        }
    }
    Ok(true)
}

/// What every rank's buffers hold before the call and must hold after it
/// (`None`: anything).
fn expectation(
    schedule: &Schedule,
    m: usize,
    r: usize,
) -> ([Vec<Option<Contribution>>; 2], Vec<Option<Contribution>>) {
    use Operation::*;
    let c = *schedule.contract();
    let p = c.ranks;
    let own = |n: usize| (0..n).map(|i| Some(vec![(r, i)])).collect::<Vec<_>>();
    let none = |n: usize| vec![None; n];
    let of =
        |q: usize, from: usize| (0..m).map(move |i| Some(vec![(q, from + i)])).collect::<Vec<_>>();
    let sum = |ranks: std::ops::Range<usize>, from: usize| {
        (0..m).map(|i| Some(ranks.clone().map(|q| (q, from + i)).collect())).collect::<Vec<_>>()
    };
    match c.operation {
        Broadcast if r == c.root => ([none(0), own(m)], own(m)),
        Broadcast => ([none(0), none(m)], of(c.root, 0)),
        Reduce if r == c.root => ([none(0), own(m)], sum(0..p, 0)),
        Reduce => ([own(m), none(0)], none(0)),
        AllReduce | Barrier => ([none(0), own(m)], sum(0..p, 0)),
        AllGather => ([own(m), none(p * m)], (0..p).flat_map(|q| of(q, 0)).collect()),
        Gather if r == c.root => ([own(m), none(p * m)], (0..p).flat_map(|q| of(q, 0)).collect()),
        Gather => ([own(m), none(0)], none(0)),
        ReduceScatter => ([own(p * m), none(m)], sum(0..p, r * m)),
        Scatter if r == c.root => ([own(p * m), none(m)], of(c.root, r * m)),
        Scatter => ([none(0), none(m)], of(c.root, r * m)),
        AllToAll => ([own(p * m), none(p * m)], (0..p).flat_map(|q| of(q, r * m)).collect()),
        AllToAllInPlace => ([none(0), own(p * m)], (0..p).flat_map(|q| of(q, r * m)).collect()),
        Shift => ([none(0), own(m)], of((r + p - c.shift) % p, 0)),
        Scan => ([none(0), own(m)], sum(0..r + 1, 0)),
        ExclusiveScan if r == 0 => ([none(0), own(m)], own(m)),
        ExclusiveScan => ([none(0), own(m)], sum(0..r, 0)),
    }
}

fn verify(schedule: &Schedule, m: usize, element: usize) -> Result<(), String> {
    let c = schedule.contract();
    let cut = if c.operation.has_blocks() { Partition::Equal(m) } else { Partition::Vector(m) };
    let outputs = simulate(schedule, cut, element, |r| expectation(schedule, m, r).0)?;
    for (r, output) in outputs.into_iter().enumerate() {
        let wanted = expectation(schedule, m, r).1;
        for (i, (got, wanted)) in output.into_iter().zip(wanted).enumerate() {
            let Some(wanted) = wanted else { continue };
            let mut got = got.ok_or_else(|| format!("rank {r}: element {i} was never written"))?;
            if c.operation == Operation::Barrier {
                // Dissemination hears of some ranks twice.
                got.arrange();
                got.dedup();
            } else if !schedule.is_ordered() {
                got.arrange();
            }
            if got != wanted {
                return Err(format!("rank {r}: element {i} is {got:?}, should be {wanted:?}"));
            }
        }
    }
    Ok(())
}

/// Every algorithm that fits, for some numbers of ranks, all roots (or
/// shifts); with messages that travel inline, by address, empty, and with
/// vectors that do not divide by p.
#[test]
fn plans_of_every_algorithm() {
    let mut plans = 0;
    for p in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16] {
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                let variants =
                    if operation.is_rooted() || operation == Operation::Shift { p } else { 1 };
                for v in (0..variants).filter(|v| p <= 9 || v % 5 == 0) {
                    let request = Request::new(operation, p).root(v).shift(v as isize);
                    let Ok(schedule) = algorithm.schedule(&request) else { continue };
                    for (m, element) in [(1, 8), (3, 1), (3, 640), (7, 640), (0, 8)] {
                        plans += p;
                        verify(&schedule, m, element).unwrap_or_else(|e| {
                            panic!("{algorithm} p={p} root/shift={v} m={m} element={element}: {e}")
                        });
                    }
                }
            }
        }
    }
    assert!(plans > 50_000, "only {plans} plans were looked at");
}

/// Recursive multiplying for numbers of ranks of all sorts up to some hundreds, over one level and
/// over several; with messages that travel inline and by address.
#[test]
fn plans_of_any_number_of_ranks_that_multiply() {
    use crate::schedule::Hierarchy;
    for p in (1..=33).chain([47, 61, 64, 65, 97, 127, 128, 129, 255, 300]) {
        for levels in [
            Hierarchy::even(p, &[]).degrees(&[3]),
            Hierarchy::even(p, &[]),
            Hierarchy::even(p, &[8, 8]),
            Hierarchy::even(p, &[5, 3]).degrees(&[2, 0, 4]),
            Hierarchy::new(p, &[(0..p).map(|r| r % 5).collect()]).unwrap(),
        ] {
            for (algorithm, operation) in [
                (Algorithm::AR_RADIX, Operation::AllReduce),
                (Algorithm::BAR_RADIX, Operation::Barrier),
            ] {
                let request = Request::new(operation, p).levels(levels.clone());
                let schedule = algorithm.schedule(&request).unwrap();
                for (m, element) in if p > 40 { vec![(1, 2048)] } else { vec![(3, 1), (7, 640)] } {
                    verify(&schedule, m, element).unwrap_or_else(|e| {
                        panic!("{algorithm} p={p} {levels} m={m} element={element}: {e}")
                    });
                }
            }
        }
    }
}

/// What gathers in place rest on (`Buffers::Within`): of the input a plan copies only the own
/// block to its home in the output, and it writes nothing else there.
#[test]
fn gathers_leave_the_own_block_at_home() {
    let mut plans = 0;
    let m = 7;
    for (operation, p) in [Operation::AllGather, Operation::Gather]
        .into_iter()
        .flat_map(|operation| (2..=9).map(move |p| (operation, p)))
    {
        for algorithm in Algorithm::for_operation(operation).filter(|a| !a.is_direct()) {
            for root in 0..if operation.is_rooted() { p } else { 1 } {
                let request = Request::new(operation, p).root(root);
                let Ok(schedule) = algorithm.schedule(&request) else { continue };
                // (A gather's other ranks have no output.)
                for r in (0..p).filter(|&r| !operation.is_rooted() || r == root) {
                    let plan = bind(&schedule, r, Partition::Equal(m), 640);
                    let home = Location { memory: Memory::Output, offset: r * m };
                    let is_apart = |at, len| {
                        let own = PlanPiece { at: home, len: m };
                        assert!(!own.overlaps(&PlanPiece { at, len }), "{algorithm} p={p} r={r}");
                    };
                    for action in &plan.actions {
                        match *action {
                            Action::Copy { from, to, .. } if from.memory == Memory::Input => {
                                assert_eq!(to, home.plus(from.offset), "{algorithm} p={p} r={r}");
                            }
                            Action::Copy { to, len, .. } => is_apart(to, len),
                            _ => {}
                        }
                    }
                    plan.targets.iter().for_each(|t| is_apart(t.to, t.len));
                    plans += 1;
                }
            }
        }
    }
    assert!(plans > 500, "only {plans} plans were looked at");
}

/// The checker itself: a plan without its settles, or with a post moved after
/// the write that it must come before, is refused.
#[test]
fn broken_plans_are_refused() {
    let request = Request::new(Operation::Shift, 4).shift(3);
    let schedule = Algorithm::CS_RING.schedule(&request).unwrap();
    verify(&schedule, 7, 640).unwrap();
    let request = Request::new(Operation::AllReduce, 4);
    let schedule = Algorithm::AR_HCUBE.schedule(&request).unwrap();
    let start = |r: usize| expectation(&schedule, 7, r).0;
    let mut plan = bind(&schedule, 0, Partition::Vector(7), 640);
    let settles = plan.actions.iter().filter(|a| matches!(a, Action::Settle { .. })).count();
    assert!(settles > 0, "an all-reduce in place has something to settle");
    assert_eq!(super::hazard::first_hazard(&plan, 0), None);
    plan.actions.retain(|a| !matches!(a, Action::Settle { .. }));
    assert!(super::hazard::first_hazard(&plan, 0).is_some());
    let [input, output] = start(0);
    let mut ranks: Vec<Rank> = (0..4)
        .map(|r| Rank {
            plan: if r == 0 { plan.clone() } else { bind(&schedule, r, Partition::Vector(7), 640) },
            memory: [input.clone(), output.clone(), vec![None; 100]],
            next: 0,
            unsettled: vec![],
            posted: vec![0; 4],
            taken: vec![0; 4],
        })
        .collect();
    let mut channels: Vec<VecDeque<SymbolicMessage>> = (0..16).map(|_| VecDeque::new()).collect();
    let refused = (0..100).any(|_| {
        (0..4).any(|r| {
            let Some(action) = ranks[r].plan.actions.get(ranks[r].next).cloned() else {
                return false;
            };
            match step(&mut ranks, &mut channels, r, &action, 640) {
                Ok(done) => {
                    ranks[r].next += usize::from(done);
                    false
                }
                Err(e) => e.contains("may be reading"),
            }
        })
    });
    assert!(refused, "a write without its settle was let through");
}
