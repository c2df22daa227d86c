//! The calls of all ranks in one run, drawn from a seed and the number of ranks.

use crate::random::Dice;
use phalanx::schedule::Operation;
use std::fmt;
use std::time::Duration;

/// The largest buffer of a rank, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// And in a script of small calls, which shows the cost of the calls themselves.
const MOST_BYTES_OF_SMALL: usize = 1 << 8;
/// And in one of short calls.
const MOST_BYTES_OF_SHORT: usize = 1 << 6;
/// Communicators that a rank holds at once.
const MOST_COMMS: usize = 5;
/// One run in so many has a fault.
const FAULTS: usize = 12;

/// The operations that have a form with blocks of different lengths.
pub(crate) const UNEVEN: [Operation; 5] = [
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

/// The mistake of one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Panic,
    /// In an operator or view, after so many calls of it.
    PanicInside(u64),
    Return,
    OtherLength,
    OtherElement,
    /// A barrier before the call.
    OtherCall,
}

/// The kind of a script's calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Many barriers and small collectives of the whole team, as the library chooses, without a
    /// fault: their time is known, so their time is bounded tightly (`pace.rs`).
    Short,
    /// Anything with few bytes.
    Small,
    /// Anything.
    Large,
}

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) scale: Scale,
    pub(crate) acts: Vec<Act>,
    /// Rank, act, and the mistake there.
    pub(crate) fault: Option<(usize, usize, Fault)>,
    /// Ranks are late at random.
    pub(crate) jitter: bool,
    /// Every rank sleeps so long before each call; never drawn: to see that the check of the pace
    /// finds it.
    pub(crate) crawl: Duration,
}

impl Script {
    pub(crate) fn draw(seed: u64, ranks: usize) -> Self {
        let mut dice = Dice::new(seed ^ (ranks as u64) << 40);
        let mut comms = 1;
        let scale = *dice.pick(&[
            Scale::Short,
            Scale::Small,
            Scale::Small,
            Scale::Large,
            Scale::Large,
            Scale::Large,
        ]);
        let (most_bytes, length) = match scale {
            Scale::Short => (MOST_BYTES_OF_SHORT, 64 + dice.roll(64)),
            Scale::Small => (MOST_BYTES_OF_SMALL, 16 + dice.roll(48)),
            Scale::Large => (MOST_BYTES, 4 + dice.roll(25)),
        };
        let acts: Vec<Act> = (0..length)
            .map(|_| match scale {
                Scale::Short => short_call(&mut dice),
                _ => act(&mut dice, &mut comms, most_bytes),
            })
            .collect();
        let may_fail = scale != Scale::Short;
        let fault = (may_fail && dice.once_in(FAULTS)).then(|| {
            let (who, at) = (dice.roll(ranks), dice.roll(length));
            let inside = 1 + dice.next() % 100;
            let faults = [
                Fault::Panic,
                Fault::PanicInside(inside),
                Fault::Return,
                Fault::OtherLength,
                Fault::OtherElement,
                Fault::OtherCall,
            ];
            (who, at, *dice.pick(&faults))
        });
        Script { scale, acts, fault, jitter: dice.once_in(4), crawl: Duration::ZERO }
    }
}

impl Script {
    /// Every sort of call without a mistake, each with few, some and many bytes, on the team and,
    /// in between, on a part of it.
    pub(crate) fn of_every_call(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let others = [
            CallKind::Peers,
            CallKind::Root,
            CallKind::Global,
            CallKind::Window,
            CallKind::While,
            CallKind::Started,
            CallKind::Whole,
            CallKind::Halo,
            CallKind::Ghosts,
            CallKind::Exchange,
            CallKind::Relay,
            CallKind::Tagged,
        ];
        let kinds = Operation::ALL.into_iter().map(CallKind::Collective);
        let kinds = kinds.chain(UNEVEN.into_iter().map(CallKind::Varied)).chain(others);
        let mut acts = Vec::new();
        for kind in kinds {
            for (comm, bytes) in [(0, 64), (0, 3000), (0, 20_000), (1, 3000)] {
                if comm > 0 {
                    acts.push(Act { kind: CallKind::Split, comm: 0, ..act(&mut dice, &mut 1, 1) });
                }
                let way = CallWay::Auto;
                acts.push(Act { comm, kind, way, bytes, ..act(&mut dice, &mut 1, 1) });
                if comm > 0 {
                    acts.push(Act { kind: CallKind::Drop, comm: 0, ..act(&mut dice, &mut 1, 1) });
                }
            }
        }
        let crawl = Duration::ZERO;
        Script { scale: Scale::Large, acts, fault: None, jitter: false, crawl }
    }
}

fn short_call(dice: &mut Dice) -> Act {
    let operations = [Operation::Barrier, Operation::AllReduce, Operation::Broadcast];
    Act {
        kind: CallKind::Collective(*dice.pick(&operations)),
        way: CallWay::Auto,
        ..act(dice, &mut 1, MOST_BYTES_OF_SHORT)
    }
}

fn act(dice: &mut Dice, comms: &mut usize, most_bytes: usize) -> Act {
    let kind = match dice.roll(28) {
        0..=10 => CallKind::Collective(*dice.pick(&Operation::ALL)),
        11..=13 => CallKind::Varied(*dice.pick(&UNEVEN)),
        14 => CallKind::Peers,
        15 => CallKind::Root,
        16 => CallKind::Exchange,
        17 => CallKind::Relay,
        18 if *comms < MOST_COMMS => CallKind::Split,
        20 => CallKind::Global,
        21 => CallKind::While,
        22 => CallKind::Whole,
        23 => CallKind::Halo,
        24 => CallKind::Ghosts,
        25 => CallKind::Window,
        26 => CallKind::Tagged,
        27 => CallKind::Started,
        18 | 19 if *comms > 1 => CallKind::Drop,
        _ => CallKind::Collective(Operation::Barrier),
    };
    let comm = dice.roll(*comms);
    match kind {
        CallKind::Split => *comms += 1,
        CallKind::Drop => *comms -= 1,
        _ => {}
    }
    let groups = CallWay::Groups(dice.roll(16));
    let ways = [
        CallWay::Auto,
        CallWay::Auto,
        CallWay::Ring,
        CallWay::Mesh,
        CallWay::Hypercube,
        CallWay::Tree,
        CallWay::Fixed,
        groups,
    ];
    let way = if dice.once_in(2) { CallWay::Named(dice.roll(1 << 16)) } else { *dice.pick(&ways) };
    // As many of each order of magnitude; 0 now and then.
    let below = 1 << dice.roll(most_bytes.ilog2() as usize + 1);
    Act {
        comm,
        kind,
        way,
        element: dice.roll(1 << 16),
        operator: dice.roll(1 << 16),
        bytes: dice.roll(below + 1),
        number: dice.roll(1 << 16),
        salt: dice.next(),
    }
}

impl fmt::Display for Script {
    /// For the reader of a failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Some((who, at, fault)) => write!(f, "{fault:?} on rank {who} at act {at}")?,
            None => f.write_str("no fault")?,
        }
        write!(f, ", {:?}", self.scale)?;
        self.acts.iter().enumerate().try_for_each(|(i, act)| write!(f, "\n  {i}: {act:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_there() {
        let script = Script::of_every_call(1);
        let has = |kind| script.acts.iter().any(|act| act.kind == kind);
        for op in Operation::ALL {
            assert!(has(CallKind::Collective(op)), "{op:?}");
        }
        // Also a kind that is drawn since, and was not added to that list.
        for drawn in (0..500).flat_map(|seed| Script::draw(seed, 4).acts) {
            assert!(has(drawn.kind), "{:?}", drawn.kind);
        }
        assert!(script.fault.is_none() && script.acts.iter().all(|act| act.comm <= 1));
    }

    #[test]
    fn a_seed_says_everything() {
        let text = |seed| Script::draw(seed, 4).to_string();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
        let scripts: Vec<Script> = (0..500).map(|seed| Script::draw(seed, 4)).collect();
        let faults = scripts.iter().filter(|s| s.fault.is_some()).count();
        assert!((10..100).contains(&faults), "{faults}");
        for scale in [Scale::Short, Scale::Small, Scale::Large] {
            let of = scripts.iter().filter(|s| s.scale == scale).count();
            assert!((50..350).contains(&of), "{scale:?}: {of}");
        }
        for kind in [
            CallKind::Split,
            CallKind::Drop,
            CallKind::Relay,
            CallKind::Tagged,
            CallKind::Started,
            CallKind::Global,
            CallKind::While,
            CallKind::Whole,
            CallKind::Halo,
            CallKind::Ghosts,
            CallKind::Window,
            CallKind::Varied(Operation::AllToAll),
        ] {
            assert!(scripts.iter().any(|s| s.acts.iter().any(|a| a.kind == kind)), "{kind:?}");
        }
        assert!(scripts.iter().any(|s| s.acts.iter().any(|a| a.bytes > 1 << 19)));
    }
}
