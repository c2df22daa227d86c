//! A processor that goes offline while a team is there. Only in a machine that can spare it: the
//! variable `PHALANX_TEST_VANISH` holds its number, which `.ci/machines` sets in an emulated one.
//! Without it the test skips, and says so.
#![cfg(target_os = "linux")]

use crate::common::succeeds;
use phalanx::machine::{Machine, affinity};
use phalanx::placement::Placement;
use phalanx::{Team, Wait, op};
use std::io::Write;
use std::time::Duration;

/// The processor that vanishes.
const VANISHES: &str = "PHALANX_TEST_VANISH";

/// Switches a processor on or off.
fn switch(pu: usize, on: bool) {
    let file = format!("/sys/devices/system/cpu/cpu{pu}/online");
    std::fs::write(&file, if on { "1" } else { "0" }).unwrap_or_else(|e| panic!("{file}: {e}"));
}

/// A team with a rank on every unit, which fails where it would hang.
fn team(wait: Wait) -> Team {
    let ranks = affinity::allowed_pus().unwrap().len();
    let deadline = Duration::from_secs(60);
    Team::builder().ranks(ranks).wait(wait).deadline(deadline).build().unwrap()
}

/// Collectives by gates and by messages, with their results.
fn work(comm: &mut phalanx::Comm) {
    let p = comm.size();
    for _ in 0..5 {
        comm.barrier();
        let mut x = vec![1_u64; 500];
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(x, vec![p as u64; 500]);
        let mut all = vec![0; p];
        comm.all_gather_into(&[comm.rank()], &mut all);
        assert!(all.iter().copied().eq(0..p));
    }
}

#[test]
fn a_processor_vanishes() {
    let Ok(pu) = std::env::var(VANISHES) else {
        let skipped = writeln!(std::io::stderr(), "skipped: {VANISHES} names no processor");
        return skipped.unwrap_or_default();
    };
    let pu: usize = pu.parse().unwrap();
    let before = affinity::allowed_pus().unwrap();
    let bound = |team: &Team| team.bindings().iter().all(|binding| binding.problem.is_none());
    for wait in [Wait::Auto, Wait::Spin, Wait::Yield, Wait::Park] {
        assert!(before.contains(&pu), "PU {pu} is not among {before:?}");
        let team = team(wait);
        team.run(work).unwrap();
        assert!(bound(&team), "{:?}", team.bindings());
        // Between two runs. The system lets the rank run elsewhere, and the team says so. (Rank 0
        // is the caller, which is bound in its first run only.)
        switch(pu, false);
        team.run(work).unwrap();
        let lost = team.bindings().into_iter().find(|binding| binding.pu == Some(pu)).unwrap();
        if lost.rank > 0 {
            let problem = lost.problem.expect("the rank has lost its unit");
            assert!(problem.contains(&format!("bound to PU {pu} ")), "{problem}");
        }
        // A team that is built now takes the units that there are.
        let machine = Machine::this().unwrap();
        assert!(machine.core_of(pu).is_none() && !machine.is_allowed(pu));
        let list = Team::builder().ranks(1).placement(Placement::List(vec![pu])).build();
        assert!(list.unwrap_err().to_string().contains(&format!("PU {pu}")));
        let other = Team::builder().ranks(before.len()).build().unwrap();
        other.run(work).unwrap();
        assert!(bound(&other) && other.bindings().iter().all(|binding| binding.pu != Some(pu)));
        drop(other);
        // In the middle of a run: a thread that runs there goes on elsewhere.
        switch(pu, true);
        succeeds(&team, |comm| {
            work(comm);
            if comm.rank() == comm.size() / 2 {
                switch(pu, false);
            }
            work(comm);
        });
        team.run(work).unwrap();
        drop(team);
        switch(pu, true);
        // Linux takes an offline unit out of every mask that is set meanwhile, so also out of the
        // one that the caller gets back after its first run of a team. All others are there.
        let after = affinity::allowed_pus().unwrap();
        let kept = before.iter().filter(|unit| **unit != pu);
        assert!(kept.clone().all(|unit| after.contains(unit)), "{wait:?}: {after:?}");
        affinity::restore(&before).unwrap();
    }
}
