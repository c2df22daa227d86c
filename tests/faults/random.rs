//! Random programs with random faults, p = 2 to 8 and 16: thousands of runs, each checked. A
//! result that a call returns must be right even in a run that fails later. (`phalanx soak` has the
//! same programs, on more types, for any length of time.)
//!
//! The seed of a failure is printed; `PHALANX_SEED` begins with another one, and
//! `PHALANX_ROUNDS` multiplies the number of runs (1 takes seconds, 1000 an
//! evening).

use super::common::{Watch, check_usable, rounds, seed, team, watch};
use super::kit::{Act, CallKind, Dice, Fault, Reduction, Script, Sort, Thing, Tick, carry_out};
use super::kit::{judge, play, thing};
use phalanx::op;
use phalanx::{Comm, Team};
use std::panic::{AssertUnwindSafe, catch_unwind};

thing!([u8; 3], |h| [h as u8, (h >> 8) as u8, (h >> 16) as u8], {
    0 ordered |l, r| [l[0], r[1], l[2].wrapping_add(r[2])];
});

pub(super) const SORTS: [Sort; 2] = [Sort::of::<u64>(), Sort::of::<[u8; 3]>()];

/// Whether the run failed, as it may; the team works afterwards.
pub(super) fn one_run(
    watch: &Watch,
    team: &Team,
    script: &Script,
    seed: u64,
    is_long: bool,
) -> bool {
    let p = team.size();
    let name = || format!("seed {seed}, p={p}, {script}");
    watch.case(name());
    let end = team.run(|comm| {
        play(comm, script, seed, &mut |comm, act, longer, tick| {
            carry_out(&SORTS, comm, act, longer, tick);
        });
    });
    let end = end.map(drop);
    judge(script, &end).unwrap_or_else(|error| panic!("{error}\n{}", name()));
    if is_long {
        check_usable(team, seed);
    } else if let Err(error) = team.run(|comm| {
        let mut x = [comm.rank(), 1, 1, 1, 1, 1];
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(x[..2], [p * (p - 1) / 2, p]);
    }) {
        panic!("a correct run afterwards: {error}\n{}", name());
    }
    end.is_err()
}

fn bombs(p: usize, runs: usize) {
    let watch = watch();
    let team = team(p);
    let first = seed(p as u64 * 1_000_000);
    let runs = runs * rounds();
    let fails = |k: &u64| {
        let seed = first + k;
        let mut dice = Dice::of_seed(seed);
        let length = 3 + dice.below(10);
        let mut script = Script::draw(&mut dice, length, 1 << 13);
        script.jitter = true;
        if dice.below(20) > 0 {
            let (who, at) = (dice.below(p), dice.below(length));
            script = script.failing(who, at, Fault::draw(&mut dice));
        }
        one_run(&watch, &team, &script, seed, k.is_multiple_of(8))
    };
    let failed = (0..runs as u64).filter(fails).count();
    println!("p={p}: seeds {first} to {}: {failed} of {runs} runs failed", first + runs as u64);
    assert!(failed > runs / 3, "only {failed} of {runs}");
}

macro_rules! at_random {
    ($($name:ident $p:literal $runs:literal;)*) => {$(
        #[test]
        fn $name() {
            bombs($p, $runs);
        }
    )*};
}

at_random! {
    two_ranks 2 800;
    three_ranks 3 600;
    four_ranks 4 400;
    five_ranks 5 300;
    six_ranks 6 250;
    seven_ranks 7 200;
    eight_ranks 8 200;
    sixteen_ranks 16 60;
}

#[test]
fn another_length_is_a_fault_only_where_it_is_one() {
    let (team, mut kinds) = (team(3), 0);
    for script in Script::of_every_fault(1, 3) {
        let kind = script.acts[1].kind;
        let is_it = script.fault.is_some_and(|it| it.2 == Fault::OtherLength);
        if is_it && (kind.may_differ() || kind == CallKind::Exchange) {
            // To another rank, where it is a message.
            let act = Act { comm: 0, element: 1, bytes: 100, number: 1, ..script.acts[1] };
            let script = Script { acts: vec![act], ..Script::default() };
            let script = script.failing(1, 0, Fault::OtherLength);
            let failed = one_run(&watch(), &team, &script, 1, false);
            assert_eq!(failed, !kind.may_differ(), "{kind:?}");
            kinds += 1;
        }
    }
    assert_eq!(kinds, 9);
}

#[test]
fn wrong_ends_are_noticed() {
    let mut script = Script::of_every_call(1);
    let panicked = || phalanx::run(2, |_| std::panic::resume_unwind(Box::new("wrong"))).map(drop);
    assert!(judge(&script, &panicked()).is_err());
    script.fault = Some((0, 0, Fault::Panic));
    assert!(judge(&script, &panicked()).is_err());
    phalanx::run(1, |comm| {
        let play = || play(comm, &script, 1, &mut |_, _, _, _| ());
        assert!(catch_unwind(AssertUnwindSafe(play)).is_err());
    })
    .unwrap();
    assert!(judge(&script, &Ok(())).is_err());
    script.fault = Some((1, 0, Fault::OtherLength));
    assert!(judge(&script, &panicked()).is_err());
    assert!(judge(&script, &Ok(())).is_ok());
}
