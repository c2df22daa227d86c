//! The run that a seed and a number of ranks stand for.

use crate::kit::{self, Dice, Fault, Script, carry_out};
use crate::longest_waits::LongestWaits;
use crate::soak_elements::SORTS;
use phalanx::Comm;
use std::time::Duration;

/// The largest buffer of a rank, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// And in a script of small calls, which shows the cost of the calls themselves.
const MOST_BYTES_OF_SMALL: usize = 1 << 8;
/// One run in so many has a fault.
const FAULTS: usize = 12;

pub(crate) fn draw(seed: u64, ranks: usize) -> Script {
    let mut dice = Dice::of_seed(seed ^ (ranks as u64) << 40);
    let (scale, few, some, many) =
        (dice.below(6), 4 + dice.below(25), 16 + dice.below(48), 64 + dice.below(64));
    let mut script = match scale {
        2 => Script::short(&mut dice, many),
        0 | 1 => Script::draw(&mut dice, some, MOST_BYTES_OF_SMALL),
        _ => Script::draw(&mut dice, few, MOST_BYTES),
    };
    if !script.is_short && dice.below(FAULTS) == 0 {
        let fault = match Fault::draw(&mut dice) {
            // It loses memory, which is counted.
            Fault::Forget => Fault::Drop,
            fault => fault,
        };
        let at = dice.below(script.acts.len());
        script = script.failing(dice.below(ranks), at, fault);
    }
    script.jitter = dice.below(4) == 0;
    script
}

/// One rank's part, `late` so long before each call.
pub(crate) fn play(
    comm: &mut Comm,
    script: &Script,
    seed: u64,
    longest: &LongestWaits,
    late: Duration,
) {
    let mut waits = longest.of_rank(seed);
    kit::play(comm, script, seed, &mut |comm, act, longer, tick| {
        if !late.is_zero() {
            std::thread::sleep(late);
        }
        waits.call(act.kind, || carry_out(&SORTS, comm, act, longer, tick));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::{CallKind, judge};
    use phalanx::Team;

    fn end(team: &Team, script: &Script, seed: u64) -> bool {
        let play =
            |comm: &mut Comm| play(comm, script, seed, &LongestWaits::default(), Duration::ZERO);
        let end = team.run(play).map(drop);
        judge(script, &end).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{script}"));
        end.is_ok()
    }

    #[test]
    fn runs_end_as_they_must() {
        for p in [1, 2, 3, 5] {
            let team = Team::builder().ranks(p).build().unwrap();
            let all = || (0..120).map(|seed| (seed, draw(seed, p)));
            let failed = all().filter(|(seed, script)| !end(&team, script, *seed)).count();
            assert!(failed <= all().filter(|it| it.1.fault.is_some()).count());
            assert!(p == 1 || failed > 0, "{p} ranks: no fault was felt");
        }
    }

    #[test]
    fn every_fault_in_every_call() {
        let team = Team::builder().ranks(3).build().unwrap();
        let failed = Script::of_every_fault(1, 3).filter(|script| !end(&team, script, 1)).count();
        assert!(failed > 200, "only {failed} runs felt their faults");
    }

    /// A kind that is drawn is also among those of `check --machine`.
    #[test]
    fn every_call_is_there_in_every_type() {
        let mut script = Script::of_every_call(1);
        let has = |kind| script.acts.iter().any(|act| act.kind == kind);
        assert!(CallKind::all().all(has));
        for drawn in (0..500).flat_map(|seed| draw(seed, 4).acts) {
            assert!(has(drawn.kind), "{:?}", drawn.kind);
        }
        assert!(script.fault.is_none() && script.acts.iter().all(|act| act.comm <= 1));
        script.acts.retain(|act| act.bytes <= 64);
        for element in 0..SORTS.len() {
            script.acts.iter_mut().for_each(|act| act.element = element);
            assert!(end(&Team::builder().ranks(3).build().unwrap(), &script, 1));
        }
    }

    #[test]
    fn a_seed_says_everything() {
        let text = |seed| draw(seed, 4).to_string();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
        let scripts: Vec<Script> = (0..500).map(|seed| draw(seed, 4)).collect();
        let count = |is: &dyn Fn(&Script) -> bool| scripts.iter().filter(|it| is(it)).count();
        assert!((10..100).contains(&count(&|it| it.fault.is_some())));
        assert!((50..150).contains(&count(&|it| it.is_short)));
        for kind in CallKind::all().chain([CallKind::Split, CallKind::Drop]) {
            assert!(count(&|it| it.acts.iter().any(|act| act.kind == kind)) > 0, "{kind:?}");
        }
        assert!(count(&|it| it.acts.iter().any(|act| act.bytes > 1 << 19)) > 0);
    }
}
