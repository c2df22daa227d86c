//! Runs a script on a team, and checks its end.

use crate::longest_waits::LongestWaits;
use crate::perform_call::carry_out;
use crate::random::{Dice, mix};
use crate::script::{Act, CallKind, Fault, Script};
use phalanx::{Comm, Error};
use std::cell::Cell;
use std::panic::resume_unwind;
use std::time::Duration;

/// The text of a fault's panic; a wrong result says something else.
const BOMB: &str = "bomb";

/// One rank's part: the acts, one after the other.
pub(crate) fn play(comm: &mut Comm, script: &Script, seed: u64, longest: &LongestWaits) {
    let mut waits = longest.of_rank(seed);
    let me = comm.rank();
    let mut dice = Dice::new(seed ^ mix(me as u64));
    let mut children: Vec<Comm> = Vec::new();
    let fuse = Cell::new(0u64);
    let tick = || match fuse.get() {
        0 => (),
        1 => resume_unwind(Box::new(BOMB)),
        more => fuse.set(more - 1),
    };
    for (i, act) in script.acts.iter().enumerate() {
        if script.jitter {
            be_late(&mut dice);
        }
        if !script.crawl.is_zero() {
            std::thread::sleep(script.crawl);
        }
        let (mut act, mut longer) = (*act, 0);
        if let Some((who, at, fault)) = script.fault
            && (who, at) == (me, i)
        {
            match fault {
                Fault::Panic => resume_unwind(Box::new(BOMB)),
                Fault::PanicInside(calls) => fuse.set(calls),
                Fault::Return => return,
                Fault::OtherLength => longer = usize::from(!may_differ(act.kind)),
                Fault::OtherElement => act.element += 1,
                Fault::OtherCall => of(comm, &mut children, &act).barrier(),
            }
        }
        match act.kind {
            CallKind::Split => {
                let parent = of(comm, &mut children, &act);
                let colors = 1 + act.number % 3;
                let hash = mix(act.salt ^ parent.rank() as u64) as usize;
                let child = parent.split(hash % colors, hash >> 8);
                children.push(child);
            }
            CallKind::Drop => drop(children.pop()),
            _ => waits.call(act.kind, || {
                carry_out(of(comm, &mut children, &act), &act, longer, &tick);
            }),
        }
    }
}

/// Whether ranks may call it with different lengths: views may, global ones, too, and parts of a
/// vector; halos and neighbourhoods have lengths of their own; the buffer for a tagged message may
/// be longer.
fn may_differ(kind: CallKind) -> bool {
    matches!(
        kind,
        CallKind::Peers
            | CallKind::Root
            | CallKind::Global
            | CallKind::Window
            | CallKind::Whole
            | CallKind::Halo
            | CallKind::Ghosts
            | CallKind::Tagged
    )
}

/// The communicator that an act is for: the team's, or a child's.
fn of<'a>(comm: &'a mut Comm, children: &'a mut [Comm], act: &Act) -> &'a mut Comm {
    match act.comm {
        0 => comm,
        // The newest may be the one that a `Drop` is about to take.
        k => &mut children[k - 1],
    }
}

/// The delay that a rank has now and then before a call.
pub(crate) fn be_late(dice: &mut Dice) {
    match dice.roll(12) {
        0 => std::thread::yield_now(),
        1 => std::thread::sleep(Duration::from_micros(dice.next() % 300)),
        2 => (0..dice.roll(20_000)).for_each(|_| std::hint::spin_loop()),
        _ => (),
    }
}

/// Whether a run of `script` may have ended like this; if not, why not.
pub(crate) fn judge(script: &Script, result: &Result<(), Error>) -> Result<(), String> {
    let fault = script.fault.map(|(who, _, fault)| (who, fault));
    match (fault, result) {
        // A fault may be none: a barrier has no length, a fuse is too long.
        (_, Ok(())) if !matches!(fault, Some((_, Fault::Panic))) => Ok(()),
        (_, Ok(())) => Err("a rank panicked, and nobody says so".to_string()),
        (Some((who, Fault::Panic | Fault::PanicInside(_))), Err(error)) => match error {
            Error::Panicked { rank, message, .. } if *rank == who && message == BOMB => Ok(()),
            other => Err(format!("rank {who} panicked, and this is said: {other}")),
        },
        (Some((_, Fault::Return)), Err(error)) => match error {
            Error::Left { .. } | Error::Unreceived { .. } | Error::Mismatch { .. } => Ok(()),
            other => Err(format!("a rank returned early, and this is said: {other}")),
        },
        (Some(_), Err(error)) => match error {
            Error::Mismatch { .. }
            | Error::Left { .. }
            | Error::Deadlock { .. }
            | Error::Unreceived { .. } => Ok(()),
            other => Err(format!("ranks disagreed, and this is said: {other}")),
        },
        (None, Err(error)) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::Team;

    #[test]
    fn rounds_end_as_they_must() {
        for p in [1, 2, 3, 5] {
            let team = Team::builder().ranks(p).build().unwrap();
            let (mut failed, mut faults) = (0, 0);
            for seed in 0..120 {
                let script = Script::draw(seed, p);
                let result =
                    team.run(|comm| play(comm, &script, seed, &LongestWaits::default())).map(drop);
                faults += usize::from(script.fault.is_some());
                failed += usize::from(result.is_err());
                judge(&script, &result).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{script}"));
            }
            assert!(failed <= faults);
            assert!(p == 1 || failed > 0, "{p} ranks: no fault was felt");
        }
    }

    #[test]
    fn another_length_is_a_fault_only_where_it_is_one() {
        let drawn = Script::draw(1, 3);
        let kinds = [
            CallKind::Global,
            CallKind::Peers,
            CallKind::Root,
            CallKind::Window,
            CallKind::Whole,
            CallKind::Halo,
            CallKind::Ghosts,
            CallKind::Tagged,
            CallKind::Exchange,
        ];
        for kind in kinds {
            // To another rank, where it is a message.
            let act = Act { kind, comm: 0, element: 1, bytes: 100, number: 1, ..drawn.acts[0] };
            let fault = Some((1, 0, Fault::OtherLength));
            let script = Script { acts: vec![act], fault, jitter: false, ..drawn.clone() };
            let result =
                phalanx::run(3, |comm| play(comm, &script, 1, &LongestWaits::default())).map(drop);
            judge(&script, &result).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
            assert_eq!(result.is_ok(), may_differ(kind), "{kind:?}: {result:?}");
        }
    }

    #[test]
    fn wrong_ends_are_noticed() {
        let mut script = Script::draw(1, 2);
        script.fault = None;
        let panicked = || phalanx::run(2, |_| resume_unwind(Box::new("wrong"))).map(drop);
        assert!(judge(&script, &panicked()).is_err());
        script.fault = Some((0, 0, Fault::Panic));
        assert!(judge(&script, &panicked()).is_err());
        assert!(judge(&script, &Ok(())).is_err());
        script.fault = Some((1, 0, Fault::OtherLength));
        assert!(judge(&script, &panicked()).is_err());
        assert!(judge(&script, &Ok(())).is_ok());
    }
}
