//! Ranks in several NUMA nodes, as if, on any machine.

use super::Team;
use crate::comm::Roster;
use crate::error::Error;
use crate::machine::Machine;
use crate::op;
use std::sync::Arc;

#[test]
fn ranks_come_to_a_place_and_work_as_ever() {
    for ranks in [1, 2, 3, 7] {
        let mut builder = Team::builder().ranks(ranks);
        builder.always_apart = true;
        let team = builder.build().unwrap();
        for round in 0..3 {
            let sums = team.run(|comm| {
                let mut half = comm.split(comm.rank() % 2, comm.rank());
                let mut x = [comm.rank() + round, 1];
                half.all_reduce(&mut x, op::Sum);
                comm.all_reduce(&mut x, op::Max);
                comm.barrier();
                x[1]
            });
            assert_eq!(sums.unwrap(), vec![ranks.div_ceil(2); ranks]);
            // After a failure there are new mailboxes to move into.
            let left = team.run(|comm| {
                if comm.rank() + 1 < comm.size() {
                    comm.barrier();
                }
            });
            assert_eq!(matches!(left, Err(Error::Left { .. })), ranks > 1, "{left:?}");
        }
    }
}

#[test]
fn mailboxes_are_apart_where_ranks_sit_in_several_memories() {
    let machine = Arc::new(Machine::from_synthetic("numa:2 core:2 pu:1").unwrap());
    let roster = |pus: &[Option<usize>]| Roster {
        machine: machine.clone(),
        pus: pus.to_vec(),
        model: None,
        always_apart: false,
    };
    let four = roster(&[Some(0), Some(1), Some(2), Some(3)]);
    assert!(four.spans_numa_nodes(&[0, 1, 2, 3]) && four.spans_numa_nodes(&[1, 2]));
    assert!(
        !four.spans_numa_nodes(&[0, 1])
            && !four.spans_numa_nodes(&[2])
            && !four.spans_numa_nodes(&[])
    );
    assert!(!roster(&[None; 4]).spans_numa_nodes(&[0, 1, 2, 3]), "unpinned ranks are nowhere");
    let crowded = roster(&[Some(0), Some(1), Some(2), Some(3), Some(0)]);
    assert!(!crowded.spans_numa_nodes(&[0, 1, 2, 3, 4]));
}
