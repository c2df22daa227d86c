//! Rules broken on purpose: the checker must refuse each, and say why.

use crate::schedule::rule_parts::{Boxed, rule};
use crate::schedule::{
    BlockRange, Contract, Incoming, Mode, Operation, Schedule, Step, Violation, check,
};

fn verdict(operation: Operation, p: usize, ordered: bool, rule: Boxed) -> Violation {
    let contract = Contract { operation, ranks: p, root: 0, shift: 0, split: 1 };
    check(&Schedule::new("BROKEN", contract, ordered, rule)).unwrap_err()
}

/// One message 0 -> 1 as each end sees it.
fn message(send: Vec<BlockRange>, recv: Vec<BlockRange>, mode: Mode) -> Boxed {
    rule(1, move |_, rank| {
        let mut step = Step::default();
        match rank {
            0 => step.send(1, send.clone()),
            1 => step.recv(0, recv.clone(), mode),
            _ => {}
        }
        step
    })
}

const B0: BlockRange = BlockRange::one(0);
const B1: BlockRange = BlockRange::one(1);

#[test]
fn ends_that_disagree() {
    let bc = |rule| verdict(Operation::Broadcast, 2, true, rule);
    assert_eq!(
        bc(message(vec![], vec![B0], Mode::Store)),
        Violation::Unsent { step: 0, from: 0, to: 1 }
    );
    assert_eq!(
        bc(message(vec![B0], vec![], Mode::Store)),
        Violation::Unreceived { step: 0, from: 0, to: 1 }
    );
    let both = vec![B0, B1];
    let v = verdict(Operation::ReduceScatter, 2, true, message(both, vec![B1], Mode::Left));
    assert_eq!(v, Violation::Unsent { step: 0, from: 0, to: 1 });
}

#[test]
fn peers_and_blocks_that_do_not_exist() {
    let to = |to| {
        rule(1, move |_, rank| {
            let mut step = Step::default();
            if rank == 0 {
                step.send(to, vec![B0]);
            }
            step
        })
    };
    for peer in [0, 7] {
        let v = verdict(Operation::Broadcast, 2, true, to(peer));
        assert_eq!(v, Violation::Peer { step: 0, rank: 0, peer });
    }
    for blocks in [vec![B1], vec![B0, B0], vec![BlockRange { first: usize::MAX, count: 2 }]] {
        let rule = message(blocks.clone(), blocks, Mode::Store);
        let v = verdict(Operation::Broadcast, 2, true, rule);
        assert_eq!(v, Violation::Blocks { step: 0, rank: 0, peer: 1 });
    }
}

#[test]
fn a_block_that_is_not_there() {
    let v = verdict(Operation::AllGather, 2, true, message(vec![B1], vec![B1], Mode::Store));
    assert_eq!(v, Violation::NotHeld { step: 0, rank: 0, block: 1 });
    let v = verdict(Operation::Broadcast, 2, true, rule(0, |_, _| Step::default()));
    assert_eq!(v, Violation::Missing { rank: 1, block: 0 });
}

#[test]
fn too_many_messages_at_once() {
    let fan = rule(1, |_, rank| {
        let mut step = Step::default();
        if rank == 0 {
            step.send(1, vec![B0]);
            step.send(2, vec![B0]);
        } else {
            step.recv(0, vec![B0], Mode::Store);
        }
        step
    });
    let v = verdict(Operation::Broadcast, 3, true, fan);
    assert_eq!(v, Violation::Ports { step: 0, rank: 0, messages: 2, ports: 1 });
}

/// All pairs exchange block 0 in `steps` steps with the partner given.
fn swaps(steps: usize, mode: impl Fn(usize, usize) -> Mode + Send + Sync + 'static) -> Boxed {
    rule(steps, move |_, rank| {
        let partner = rank ^ 1;
        let mut step = Step::default();
        step.send(partner, vec![B0]);
        step.recv(partner, vec![B0], mode(partner, rank));
        step
    })
}

#[test]
fn contributions_wrong_or_out_of_order() {
    let ar = |rule, ordered| verdict(Operation::AllReduce, 2, ordered, rule);
    assert_eq!(
        ar(rule(0, |_, _| Step::default()), false),
        Violation::Contributor { rank: 0, block: 0, lacks: 1 }
    );
    assert_eq!(ar(swaps(2, Mode::combine), false), Violation::Twice { rank: 0, block: 0, step: 1 });
    assert_eq!(
        ar(swaps(1, |_, _| Mode::Store), false),
        Violation::Contributor { rank: 0, block: 0, lacks: 0 }
    );
    assert_eq!(ar(swaps(1, |_, _| Mode::Left), true), Violation::Order { rank: 0, block: 0 });
    let inclusive = message(vec![B0], vec![B0], Mode::Left);
    let v = verdict(Operation::Scan, 2, true, inclusive);
    assert_eq!(v, Violation::Contributor { rank: 1, block: 1, lacks: 0 });
    let backwards = rule(1, |_, rank| {
        let mut step = Step::default();
        if rank == 1 {
            step.send(0, vec![B1]);
        } else {
            step.recv(1, vec![B1], Mode::Right);
        }
        step
    });
    let v = verdict(Operation::Scan, 2, true, backwards);
    assert_eq!(v, Violation::Stranger { rank: 0, block: 1, has: 1 });
}

/// A swap that is made twice is forgiven in a barrier.
#[test]
fn a_barrier_forgives_repeats() {
    let contract =
        Contract { operation: Operation::Barrier, ranks: 2, root: 0, shift: 0, split: 1 };
    let report = check(&Schedule::new("BAR", contract, true, swaps(3, Mode::combine))).unwrap();
    assert_eq!((report.steps, report.messages), (3, 6));
}

#[test]
fn moved_data_that_is_combined_or_misplaced() {
    let v = verdict(
        Operation::Broadcast,
        2,
        true,
        rule(2, |_, rank| {
            let mut step = Step::default();
            match rank {
                0 => step.send(1, vec![B0]),
                _ => step.recv(0, vec![B0], Mode::Left),
            }
            step
        }),
    );
    assert_eq!(v, Violation::Combined { step: 1, rank: 1, block: 0 });
    // A message put in a further place carries the wrong datum there.
    let also = |count: usize, also: Vec<(usize, Mode)>| {
        rule(1, move |_, rank| {
            let blocks = vec![BlockRange { first: 0, count }];
            let mut step = Step::default();
            match rank {
                0 => step.send(1, blocks),
                _ => step.recvs.push(Incoming {
                    from: 0,
                    blocks,
                    mode: Mode::Store,
                    also: also.clone(),
                }),
            }
            step
        })
    };
    let v = verdict(Operation::Scatter, 2, true, also(1, vec![(1, Mode::Store)]));
    assert_eq!(v, Violation::Origin { rank: 1, block: 1, holds: 0 });
    let v = verdict(Operation::Scatter, 2, true, also(2, vec![(1, Mode::Store)]));
    assert_eq!(v, Violation::Also { step: 0, rank: 1, from: 0 });
}
