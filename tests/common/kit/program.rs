//! The calls of all ranks in one run, and the fault of one of them, drawn from a seed.

use super::dice::Dice;
use super::perform::is_overlapped_barrier;
use super::run::RunNotes;
use phalanx::Algorithm;
use phalanx::schedule::Operation;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Communicators that a rank holds at once.
const MOST_COMMS: usize = 5;

/// The operations that have a form with blocks of different lengths.
const UNEVEN: [Operation; 5] = [
    Operation::AllGather,
    Operation::Gather,
    Operation::Scatter,
    Operation::ReduceScatter,
    Operation::AllToAll,
];

/// One call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CallKind {
    Collective(Operation),
    /// The same with blocks of different lengths.
    Varied(Operation),
    /// Looking at everybody's slices.
    Peers,
    /// Looking at the root's slice.
    Root,
    /// Looking at everybody's slices as one array.
    Global,
    /// A window that is written in turns, and atomics.
    Window,
    /// A reduction or a barrier, and work meanwhile.
    While,
    /// All elements of a vector that is spread, combined.
    Whole,
    /// Halos of a grid.
    Halo,
    /// Ghosts of an unstructured neighbourhood, and back.
    Ghosts,
    /// `exchange` around a ring.
    Exchange,
    /// `send` and `recv` from rank to rank.
    Relay,
    /// Collectives that are started, and waited for in an order of each rank's own.
    Started,
    /// A tagged message around a ring, started and waited for, and an owned value.
    Tagged,
    /// A new communicator.
    Split,
    /// The newest communicator goes.
    Drop,
}

use CallKind::*;

impl CallKind {
    /// Every call of a communicator.
    pub(crate) fn all() -> impl Iterator<Item = CallKind> {
        let others = [
            Peers, Root, Global, Window, While, Whole, Halo, Ghosts, Exchange, Relay, Started,
            Tagged,
        ];
        let collectives = Operation::ALL.into_iter().map(Collective);
        collectives.chain(UNEVEN.map(Varied)).chain(others)
    }

    /// Whether ranks may call it with different lengths: views may, global ones, too, and parts of
    /// a vector; halos and neighbourhoods have lengths of their own; the buffer for a tagged
    /// message may be longer.
    pub(crate) fn may_differ(self) -> bool {
        [Peers, Root, Global, Window, Whole, Halo, Ghosts, Tagged].contains(&self)
    }
}

/// How the algorithm is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CallWay {
    Auto,
    Ring,
    Mesh,
    Hypercube,
    Tree,
    /// In the order of the ranks.
    Fixed,
    /// By groups of ranks.
    Groups(usize),
    /// One that serves the call, by number.
    Named(usize),
}

/// A call, as all ranks know it. Numbers are reduced to the range that the communicator
/// and the element type have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act {
    /// Which of the communicators that the rank holds.
    pub(crate) comm: usize,
    pub(crate) kind: CallKind,
    pub(crate) way: CallWay,
    pub(crate) element: usize,
    pub(crate) operator: usize,
    /// Bytes of a rank's larger buffer.
    pub(crate) bytes: usize,
    /// Root, distance, number of colors.
    pub(crate) number: usize,
    pub(crate) salt: u64,
}

/// The fault of one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Panic,
    /// In an operator or view, in the so manieth call of it in or after the act.
    PanicInside(u64),
    Return,
    /// The communicators are lost, and the rank returns.
    Forget,
    /// The communicators are dropped, and the rank goes on as long as it can.
    Drop,
    OtherLength,
    /// The same; the call's failure is caught, and all communicators must refuse calls then.
    CaughtOtherLength,
    OtherElement,
    OtherCall,
    /// A barrier before the call.
    MoreCalls,
    OtherNumber,
    OtherWay,
    Skip,
    Twice,
}

impl Fault {
    /// Any; one in four lies in an operator or view, soon or later.
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let (soon, any) = (1 + dice.word() % dice.of(&[3, 200]), dice.of(&Self::ALL));
        if dice.below(5) == 0 { Fault::PanicInside(soon) } else { any }
    }

    /// So many of them make other calls.
    const LOOSE: usize = 7;

    pub(crate) const ALL: [Fault; 14] = [
        Fault::Drop,
        Fault::OtherCall,
        Fault::MoreCalls,
        Fault::OtherNumber,
        Fault::OtherWay,
        Fault::Skip,
        Fault::Twice,
        Fault::Panic,
        Fault::PanicInside(1),
        Fault::Return,
        Fault::Forget,
        Fault::OtherLength,
        Fault::CaughtOtherLength,
        Fault::OtherElement,
    ];
}

/// A run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) acts: Vec<Act>,
    /// Rank, act, and the fault there.
    pub(crate) fault: Option<(usize, usize, Fault)>,
    /// Ranks are late at random.
    pub(crate) jitter: bool,
    /// Barriers and small collectives of the whole team, as the library chooses, without a fault.
    pub(crate) is_short: bool,
    /// Of the run so far.
    pub(crate) notes: Arc<Mutex<RunNotes>>,
}

impl Script {
    /// So many calls with at most so many bytes each, without a fault.
    pub(crate) fn draw(dice: &mut Dice, length: usize, most_bytes: usize) -> Self {
        let mut comms = 1;
        let acts = (0..length).map(|_| Act::draw(dice, &mut comms, most_bytes)).collect();
        Script { acts, ..Script::default() }
    }

    /// With a fault of a rank in an act. If that makes another call, or one twice or not at all,
    /// elements are the same from there on, and so are lengths where ranks may differ in them: they
    /// are right wherever the others meet it.
    pub(crate) fn failing(mut self, who: usize, at: usize, fault: Fault) -> Self {
        self.fault = Some((who, at, fault));
        let Act { salt, bytes, .. } = self.acts[at];
        if Fault::ALL[..Fault::LOOSE].contains(&fault) {
            for act in &mut self.acts[at..] {
                act.salt = salt;
                let is_free = [Varied(Operation::AllToAll), Started].contains(&act.kind);
                act.bytes = if is_free || act.kind.may_differ() { bytes } else { act.bytes };
            }
        }
        self
    }

    /// Whether `p` ranks cannot end well. (On a part of the team a rank may be alone.)
    pub(crate) fn must_fail(&self, p: usize) -> bool {
        let Some((_, at, fault)) = self.fault else { return false };
        let (act, kind) = (&self.acts[at], self.acts[at].kind);
        let to_others = [Exchange, Tagged, Collective(Operation::Shift)];
        let is_own = to_others.contains(&kind) && act.number.is_multiple_of(p);
        let is_met = act.comm == 0 && p > 1 && kind != Drop && !is_own;
        let has_elements = is_met
            && ![Collective(Operation::Barrier), Split, Started].contains(&kind)
            && !(kind == While && is_overlapped_barrier(act));
        match fault {
            Fault::Panic => true,
            Fault::PanicInside(calls) => {
                calls == 1 && [Peers, Root, Global, Window, Ghosts, While].contains(&kind)
            }
            Fault::OtherLength | Fault::CaughtOtherLength => has_elements && !kind.may_differ(),
            Fault::OtherElement => has_elements && kind != Halo,
            Fault::OtherNumber => match kind {
                Collective(op) | Varied(op) => is_met && (op.is_rooted() || op == Operation::Shift),
                kind => is_met && [Root, Exchange, Tagged].contains(&kind),
            },
            Fault::Drop | Fault::OtherWay => false,
            _ => is_met,
        }
    }

    /// So many barriers and small collectives of the whole team, as the library chooses.
    pub(crate) fn short(dice: &mut Dice, length: usize) -> Self {
        let operations = [Operation::Barrier, Operation::AllReduce, Operation::Broadcast];
        let mut act = || {
            let kind = Collective(dice.of(&operations));
            Act { kind, way: CallWay::Auto, ..Act::draw(dice, &mut 1, 1 << 6) }
        };
        let acts = (0..length).map(|_| act()).collect();
        Script { acts, is_short: true, ..Script::default() }
    }

    /// Every call without a fault, each with few, some and many bytes, on the team and, in between,
    /// on a part of it.
    pub(crate) fn of_every_call(seed: u64) -> Self {
        let mut dice = Dice::of_seed(seed);
        let mut acts = Vec::new();
        for kind in CallKind::all() {
            for (comm, bytes) in [(0, 64), (0, 3000), (0, 20_000), (1, 3000)] {
                if comm > 0 {
                    acts.push(Act::of(&mut dice, Split, 0));
                }
                acts.push(Act { comm, ..Act::of(&mut dice, kind, bytes) });
                if comm > 0 {
                    acts.push(Act::of(&mut dice, Drop, 0));
                }
            }
        }
        Script { acts, ..Script::default() }
    }

    /// Every fault in every call, on the team or on a part of it, between other calls. Three times
    /// as many seeds in a row as ranks have each rank with few, some and many bytes. With four
    /// ranks each call is made by each algorithm, too.
    pub(crate) fn of_every_fault(seed: u64, ranks: usize) -> impl Iterator<Item = Self> {
        let mut dice = Dice::of_seed(seed);
        let ways = move |kind| {
            let all = match kind {
                Collective(op) | Varied(op) if ranks == 4 => Algorithm::for_operation(op).count(),
                _ => 0,
            };
            (0..all).map(CallWay::Named).chain([CallWay::Auto]).map(move |way| (kind, way))
        };
        let calls = CallKind::all().chain([Split, Drop]).flat_map(ways);
        let pairs = calls.flat_map(|call| Fault::ALL.map(|fault| (call, fault)));
        (seed..).zip(pairs).map(move |(k, ((kind, way), fault))| {
            let mut script = Script::draw(&mut dice, 2, 1 << 8);
            script.acts.insert(0, Act::of(&mut dice, Split, 0));
            let k = k as usize;
            let (bytes, calls) = [(64, 1), (3000, 7), (80_000, 900)][k % 3];
            let comm = if kind == Drop { 1 } else { k % 2 };
            script.acts.insert(1, Act { comm, way, ..Act::of(&mut dice, kind, bytes) });
            let inside = fault == Fault::PanicInside(1);
            let fault = if inside { Fault::PanicInside(calls) } else { fault };
            script.failing(k / 3 % ranks, 1, fault)
        })
    }
}

impl Act {
    /// On the team, as the library chooses.
    pub(crate) fn of(dice: &mut Dice, kind: CallKind, bytes: usize) -> Self {
        Act { kind, bytes, way: CallWay::Auto, ..Act::draw(dice, &mut 1, 1) }
    }

    fn draw(dice: &mut Dice, comms: &mut usize, most_bytes: usize) -> Self {
        // As many collectives as all else.
        let kind = match dice.below(4) {
            0 | 1 => Collective(dice.of(&Operation::ALL)),
            _ => dice.of(&CallKind::all().chain([Split, Split, Drop]).collect::<Vec<_>>()),
        };
        let kind = match kind {
            Split if *comms == MOST_COMMS => Drop,
            Drop if *comms == 1 => Split,
            kind => kind,
        };
        let comm = dice.below(*comms);
        match kind {
            Split => *comms += 1,
            Drop => *comms -= 1,
            _ => {}
        }
        let groups = CallWay::Groups(dice.below(16));
        let named = CallWay::Named(dice.below(1 << 16));
        let way = match dice.below(16) {
            0..8 => named,
            8..10 => CallWay::Auto,
            10 => CallWay::Ring,
            11 => CallWay::Mesh,
            12 => CallWay::Hypercube,
            13 => CallWay::Tree,
            14 => CallWay::Fixed,
            _ => groups,
        };
        // As many of each order of magnitude; 0 now and then.
        let below = 1 << dice.below(most_bytes.ilog2() as usize + 1);
        Act {
            comm,
            kind,
            way,
            element: dice.below(1 << 16),
            operator: dice.below(1 << 16),
            bytes: dice.below(below + 1),
            number: dice.below(1 << 16),
            salt: dice.word(),
        }
    }
}

impl fmt::Display for Script {
    /// For the reader of a failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Some((who, at, fault)) => write!(f, "{fault:?} on rank {who} at act {at}")?,
            None => f.write_str("no fault")?,
        }
        self.acts.iter().enumerate().try_for_each(|(i, act)| write!(f, "\n  {i}: {act:?}"))
    }
}
