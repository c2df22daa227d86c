//! Each effect alone, on a machine of round numbers, where pencil and paper say its effect.

use super::*;
use phalanx::machine::{Level, Machine};
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{BlockRange, Contract, Operation, Round, Schedule};
use phalanx::tuning::{LevelCost, MachineCosts, MemoryCosts, Transport};

/// Ranks 0 to 7: two packages of two caches of two cores. Hand-offs of 10, 100 and 200 ns, 10 GB/s
/// a core and a cache, 5 GB/s over the link, 2 GB/s from memory, 1 MiB of cache a core. A message:
/// 1 ns and half a hand-off for the sender, two transfers, 2 ns for the receiver, which pulls two
/// lines at once.
fn paper(effects: &[Effect]) -> Simulation {
    let level =
        |level, hand_off| LevelCost { level, hand_off, rate: Some(10.0), source: "".into() };
    let memory = MemoryCosts {
        one_core: Some(2.0),
        per_l3: Some(10.0),
        link: Some(5.0),
        cache_per_core: Some(1.0),
        ..MemoryCosts::default()
    };
    let costs = MachineCosts {
        id: "paper".into(),
        name: "paper".into(),
        synthetic: "pack:2 [numa] l3:2 core:2 pu:1".into(),
        levels: vec![
            level(Level::L3, [5.0, 10.0, 20.0]),
            level(Level::Package, [100.0; 3]),
            level(Level::Machine, [200.0; 3]),
        ]
        .into(),
        memory,
    };
    let transport = Transport {
        send_ns: 1.0,
        send_share: 0.5,
        receive_ns: 2.0,
        transfers: 2.0,
        acknowledge_ns: 50.0,
        turnaround: true,
        pulls: 2.0,
        poller_ns: 3.0,
        ..Transport::PHALANX
    };
    let machine: Machine = costs.machine().unwrap();
    let ranks = assign(&Placement::Compact, &machine, 8).unwrap();
    let only = effects.iter().fold(Effects::TEXTBOOK, |set, &e| set.with(e));
    Simulation::new(&machine, &ranks, &costs).unwrap().with_transport(transport).with_effects(only)
}

/// Rounds of single blocks, the whole vector.
fn rounds(id: &'static str, rounds: &[&[(usize, usize)]]) -> Schedule {
    let contract =
        Contract { operation: Operation::Broadcast, ranks: 8, root: 0, shift: 0, split: 1 };
    let message = |&(from, to): &(usize, usize)| (from, to, vec![BlockRange::one(0)]);
    let round = |pairs: &&[(usize, usize)]| Round {
        combine: false,
        messages: pairs.iter().map(message).collect(),
    };
    Schedule::of_rounds(id, contract, rounds.iter().map(round).collect())
}

/// When a rank is done without the effect and with it; the others given are in both.
fn times(
    effect: Effect,
    others: &[Effect],
    schedule: &Schedule,
    bytes: f64,
    rank: usize,
) -> [f64; 2] {
    let all: Vec<Effect> = others.iter().copied().chain([effect]).collect();
    [others, &all[..]].map(|on| paper(on).run(schedule, bytes).unwrap().ranks[rank])
}

use Effect::{Levels, Occupancy, Overlap};

#[test]
fn levels_take_their_own_hand_off_instead_of_the_mean() {
    // Of 28 pairs 4 are 10 ns apart, 8 are 100, 16 are 200.
    let mean = (4.0 * 10.0 + 8.0 * 100.0 + 16.0 * 200.0) / 28.0;
    let one = rounds("ONE", &[&[(0, 1)]]);
    assert_eq!(times(Levels, &[], &one, 0.0, 1), [2.0 * mean, 20.0]);
}

/// The hand-offs of many runs have the percentiles that they were given, and are straight lines
/// between: a distribution is sampled, not one number.
#[test]
fn spread_samples_the_distribution() {
    let one = rounds("ONE", &[&[(0, 1)]]);
    let near = paper(&[Levels]);
    assert_eq!(near.run(&one, 0.0).unwrap().ns, 20.0);
    let [low, median, high] = near.spread(&one, 0.0, 4001).unwrap();
    for (found, given) in [(low, 2.0 * 5.0), (median, 2.0 * 10.0), (high, 2.0 * 20.0)] {
        assert!((found / given - 1.0).abs() < 0.05, "{low} {median} {high}");
    }
    // Two hops in a row: the sum's percentiles are nearer together than the sums of percentiles.
    let two = rounds("TWO", &[&[(0, 1)], &[(1, 0)]]);
    let [low, _, high] = near.spread(&two, 0.0, 4001).unwrap();
    assert!(low > 21.0 && high < 78.0, "{low} {high}");
    // A level with percentiles that are one number has no spread.
    let far = rounds("FAR", &[&[(0, 2)]]);
    assert_eq!(near.spread(&far, 0.0, 9).unwrap(), [200.0; 3]);
}

#[test]
fn overlap_lets_ranks_go_on_that_wait_for_nothing() {
    let two = rounds("TWO", &[&[(0, 4)], &[(2, 3)]]);
    assert_eq!(times(Overlap, &[Levels], &two, 0.0, 3), [400.0 + 20.0, 20.0]);
}

#[test]
fn occupancy_takes_two_messages_one_after_the_other() {
    let two = rounds("TWO", &[&[(2, 0), (3, 0)]]);
    // The first is there at 1 + 200, the second half a hand-off later, and both take 2 ns.
    assert_eq!(
        times(Occupancy, &[Levels, Overlap], &two, 0.0, 0),
        [200.0, 1.0 + 200.0 + 50.0 + 2.0]
    );
    // The sender: 1 + 5 ns for the first, 1 more before the second goes.
    let out = rounds("OUT", &[&[(0, 1), (0, 2)]]);
    assert_eq!(times(Occupancy, &[Levels, Overlap], &out, 0.0, 2)[1], 6.0 + 1.0 + 200.0 + 2.0);
}

#[test]
fn turnaround_sees_the_own_message_through_first() {
    let both = rounds("BOTH", &[&[(0, 4), (1, 0)]]);
    let found = times(Effect::Turnaround, &[Levels, Overlap, Occupancy], &both, 0.0, 0);
    // Busy to 1 + 100 and the message there long before; or begun when the own one arrives, at 1 +
    // 400.
    assert_eq!(found, [101.0 + 2.0, 401.0 + 20.0 + 2.0]);
}

#[test]
fn acknowledgement_is_paid_by_both_ends() {
    let asked = rounds("ASKED", &[&[(0, 1)]]).acknowledged([0]);
    let on = [Levels, Overlap, Occupancy];
    assert_eq!(times(Effect::Acknowledgement, &on, &asked, 0.0, 1), [23.0, 23.0 + 50.0]);
    assert_eq!(times(Effect::Acknowledgement, &on, &asked, 0.0, 0), [6.0, 73.0 + 20.0]);
}

/// The max-rate model: two flows share the link of 5 GB/s.
#[test]
fn saturation_shares_the_narrowest_link() {
    let two = rounds("TWO", &[&[(0, 4), (2, 6)]]);
    let found = times(Effect::Saturation, &[Levels], &two, 1000.0, 4);
    assert_eq!(found, [400.0 + 1000.0 / 10.0, 400.0 + 1000.0 / 2.5]);
    // One alone has the link; within a package there is none.
    let one = rounds("ONE", &[&[(0, 4)]]);
    assert_eq!(times(Effect::Saturation, &[Levels], &one, 1000.0, 4)[1], 400.0 + 1000.0 / 5.0);
    let inside = rounds("INSIDE", &[&[(0, 2)]]);
    assert_eq!(times(Effect::Saturation, &[Levels], &inside, 1000.0, 2), [200.0 + 100.0; 2]);
}

#[test]
fn memory_gives_what_the_cache_does_not_hold() {
    let one = rounds("ONE", &[&[(0, 1)]]);
    let mib = 1048576.0;
    let found = times(Effect::Memory, &[Levels], &one, 2.0 * mib, 1);
    assert_eq!(found, [20.0 + 2.0 * mib / 10.0, 20.0 + 2.0 * mib / 2.0]);
    assert_eq!(times(Effect::Memory, &[Levels], &one, mib, 1), [20.0 + mib / 10.0; 2]);
}

#[test]
fn home_sends_lines_of_another_package_round_by_it() {
    let on = |effects: &[Effect], from, to| {
        let there = rounds("ONE", &[&[(from, to)]]);
        paper(effects).with_lines_at_rank_0().run(&there, 0.0).unwrap().ranks[to]
    };
    assert_eq!([on(&[Levels], 4, 6), on(&[Levels, Effect::Home], 4, 6)], [200.0, 400.0]);
    // At home, and within one cache, nothing changes.
    assert_eq!(
        [on(&[Levels, Effect::Home], 0, 2), on(&[Levels, Effect::Home], 4, 5)],
        [200.0, 20.0]
    );
}

/// Boards: the places that fused algorithms show to all.
#[test]
fn read_sharing_brings_a_line_to_a_cache_once() {
    let shown = rounds("BC-FUSED", &[&[(0, 4), (0, 5)]]);
    let found = times(Effect::ReadSharing, &[Levels, Overlap, Occupancy], &shown, 0.0, 5);
    // Shown once, in 1 ns. Rank 5 fetches it from afar itself; or, when rank 4 has it (at 401), in
    // two near hand-offs.
    assert_eq!(found, [1.0 + 400.0 + 2.0, 401.0 + 20.0 + 2.0]);
    // The first of a cache pays the way in any case.
    assert_eq!(times(Effect::ReadSharing, &[Levels, Overlap], &shown, 0.0, 4), [400.0; 2]);
}

#[test]
fn pollers_make_a_store_dearer_each() {
    let shown = rounds("BC-FUSED", &[&[(0, 1), (0, 4), (0, 6)]]);
    assert_eq!(times(Effect::Pollers, &[Levels], &shown, 0.0, 4), [400.0, 2.0 * 3.0 + 400.0]);
}

#[test]
fn writers_of_one_counter_wait_for_each_other() {
    let counter = |effects: &[Effect]| paper(effects).counter_barrier();
    // 0-1, 1-2, 2-3, 3-4, 4-5, 5-6, 6-7; then the farthest reads rank 7's words.
    let hops = 10.0 + 100.0 + 10.0 + 200.0 + 10.0 + 100.0 + 10.0;
    assert_eq!(counter(&[Levels]), 1.0 + 200.0 + 200.0 + 2.0);
    assert_eq!(counter(&[Levels, Effect::SharedWriters]), 1.0 + hops + 200.0 + 2.0);
}
