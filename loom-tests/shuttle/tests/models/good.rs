//! Runs that end well: gates, boards, messages, trees, splits.

use crate::harness::Model;
use checker::Memory;
use checker::Plan::{Consume, Publish};
use checker::threads::spawn;
use phalanx::{Comm, Team, op};

/// `f` on `ranks` threads of the user's own.
pub fn external(ranks: usize, f: fn(&mut Comm)) {
    let comms = Team::external(ranks).expect("nothing stands against it");
    let threads: Vec<_> = comms.into_iter().map(|mut comm| spawn(move || f(&mut comm))).collect();
    for thread in threads {
        thread.join().expect("a rank panicked");
    }
}

fn sums(comm: &mut Comm) {
    let p = comm.size() as u64;
    for round in 0..3 {
        let mut x = Memory::new(vec![comm.rank() as u64 + round; 3]);
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(*x, [p * (p - 1) / 2 + p * round; 3]);
        comm.barrier();
    }
}

#[test]
fn gates_of_three() {
    Model {
        name: "gates: small all-reduce and barrier, three times",
        ranks: 3,
        schedules: 2000,
        reaches: &[],
        catches: &[Publish("Gate"), Consume("Gate")],
        body: || external(3, sums),
    }
    .check();
}

#[test]
fn a_team() {
    Model {
        name: "team: small all-reduce and barrier, three times",
        ranks: 3,
        schedules: 2000,
        reaches: &[],
        catches: &[],
        body: || {
            let team = Team::builder().ranks(3).placement(phalanx::placement::Placement::Unpinned);
            let team = team.pin_caller(false).build().unwrap();
            team.run(sums).unwrap();
        },
    }
    .check();
}
