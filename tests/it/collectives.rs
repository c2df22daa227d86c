//! Truth table: every operation, through every view and the automatic choice,
//! for many numbers of ranks, roots and lengths, against a sequential oracle.

use crate::common::{every_operation, sizes, succeeds, team, watch};

const LENGTHS: [usize; 10] = [0, 1, 2, 3, 5, 6, 7, 17, 100, 1021];

#[test]
fn every_operation_in_every_view() {
    let watch = watch();
    for p in sizes(1..=11) {
        let team = team(p);
        for n in LENGTHS {
            watch.case(format!("p={p}, n={n}"));
            succeeds(&team, |comm| {
                every_operation(comm, n, n + p);
                every_operation(&mut comm.ring(), n, n + p + 1);
                every_operation(&mut comm.hypercube(), n, n + p + 2);
                every_operation(&mut comm.tree(), n, n + p + 3);
                for rows in (1..=p).filter(|rows| p % rows == 0) {
                    every_operation(&mut comm.mesh(rows, p / rows), n, n + p + 4);
                }
            });
        }
    }
}
