//! The chosen sizes: up to which length a message travels in which way, and which algorithm a call
//! takes by itself, from 64 bytes to 1 MiB, near and far. They were chosen by measurements (two
//! ranks, and more ranks than cores: docs/choice.md) or by estimates (docs/model.md; on machines
//! with levels with their groups and degrees). This test does not say that they are the best. It
//! says that they changed: then measure again, and make docs/choice.md anew.

use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::Operation;
use phalanx::tuning::{LevelModel, MachineCosts, Payloads, Profile, Tuning};
use phalanx::{Comm, Error, Team};
use std::fmt::Write;

/// A team with ranks 0 and 1 equally near as all others, or on two packages.
fn team(far: bool) -> Team {
    let team = Team::builder().ranks(4);
    if !far {
        return team.profile(Profile::default()).build().unwrap();
    }
    let costs = MachineCosts::named("epyc-7763-2s").unwrap();
    let machine = costs.machine().unwrap();
    let ranks = assign(&Placement::Scatter, &machine, 4).unwrap();
    let model = LevelModel::new(&machine, &ranks, costs).unwrap().expect("two packages");
    team.model(model).build().unwrap()
}

/// Whether two ranks that both send first get through: then messages of that length are copied by
/// their senders. Else each waits until its own has been taken, and the run ends.
fn is_copied(team: &Team, exchange: impl Fn(&mut Comm) + Sync) -> bool {
    let both = |comm: &mut Comm| {
        if comm.rank() < 2 {
            exchange(comm);
        }
    };
    match team.run(both) {
        Ok(_) => true,
        Err(Error::Deadlock { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_message_is_copied_up_to_1024_bytes_and_lent_beyond() {
    assert_eq!(Payloads::OWN, Payloads { line: 40, slot: 96, copied: 1024 });
    for far in [false, true] {
        let team = team(far);
        for bytes in [64, 96, 97, 512, 1024, 1025, 4096, 16 << 10] {
            let copied = is_copied(&team, |comm| {
                let (own, mut got) = (vec![1u8; bytes], vec![0u8; bytes]);
                let peer = 1 - comm.rank();
                comm.send(&own, peer);
                comm.recv(&mut got, peer);
                assert_eq!(got, own);
            });
            assert_eq!(copied, bytes <= 1024, "{bytes} bytes, far: {far}");
        }
    }
}

#[test]
fn a_tagged_message_is_copied_up_to_16_kib_and_lent_beyond() {
    for far in [false, true] {
        let team = team(far);
        for bytes in [64, 1024, 1025, 16 << 10, (16 << 10) + 1] {
            let copied = is_copied(&team, |comm| {
                let (own, mut got) = (vec![1u8; bytes], vec![0u8; bytes]);
                let peer = 1 - comm.rank();
                comm.send_tagged(&own, peer, 7);
                comm.recv_tagged(&mut got, peer, 7);
                assert_eq!(got, own);
            });
            assert_eq!(copied, bytes <= 16 << 10, "{bytes} bytes, far: {far}");
        }
    }
}

/// Each operation's algorithms from 64 bytes to 1 MiB (of the vector, or of a block), with the
/// first of the tried lengths that each takes.
fn ladder(algorithm: impl Fn(Operation, usize) -> String) -> String {
    let mut text = String::new();
    for operation in Operation::ALL {
        write!(text, "{operation}:").unwrap();
        let mut last = String::new();
        for bytes in (6..=20).map(|k| 1 << k) {
            let own = algorithm(operation, bytes);
            if own != last {
                write!(text, " {bytes} {own}").unwrap();
                last = own;
            }
        }
        text.push('\n');
    }
    text
}

/// By the rules, on so many cores.
fn by_rules(ranks: usize, cores: usize) -> String {
    let machine = Machine::from_synthetic(&format!("core:{cores} pu:1")).unwrap();
    let profile = Profile::default().with_tuning(ranks, Tuning::of(&machine, ranks)).unwrap();
    ladder(|operation, bytes| profile.algorithm(operation, ranks, bytes).to_string())
}

/// By the levels of a published machine: with groups and degrees, as the choice has them.
fn by_levels(id: &str, ranks: usize) -> String {
    let costs = MachineCosts::named(id).unwrap();
    let machine = costs.machine().unwrap();
    let ranks = assign(&Placement::Compact, &machine, ranks).unwrap();
    let model = LevelModel::new(&machine, &ranks, costs).unwrap().expect("levels");
    ladder(|operation, bytes| {
        let choice = model.choose(operation, bytes, true).unwrap().to_string();
        choice.split(": ").next().unwrap().to_string()
    })
}

/// The table, a part for each of some numbers of ranks.
const CHOSEN: &str = include_str!("choice.txt");

#[test]
fn the_chosen_algorithms_are_those_on_record() {
    let mut found = String::new();
    for (ranks, cores) in [(2, 2), (4, 4), (8, 8), (16, 16), (3, 2), (4, 2), (8, 2), (16, 2)] {
        write!(found, "# near, {ranks} ranks on {cores} cores\n{}", by_rules(ranks, cores))
            .unwrap();
    }
    let levels = [
        ("epyc-7763-2s", &[16, 64, 128][..]),
        ("graviton3", &[64]),
        ("epyc-7742-2s-nps4", &[16, 64]),
        ("epyc-9654-2s-nps4", &[16, 64]),
        ("xeon-8375c-2s", &[64]),
        ("kunpeng920-6426-2s", &[16, 64]),
    ];
    for (id, ranks) in levels {
        for &ranks in ranks {
            write!(found, "# {id}, {ranks} ranks\n{}", by_levels(id, ranks)).unwrap();
        }
    }
    for (at, (found, chosen)) in found.lines().zip(CHOSEN.lines()).enumerate() {
        assert_eq!(found, chosen, "tests/it/choice.txt, line {}", at + 1);
    }
    assert_eq!(found.lines().count(), CHOSEN.lines().count(), "tests/it/choice.txt:\n{found}");
}
