//! Blocks that ranks take from a shared counter: each is taken once.

use super::{Cell, read, write};
use crate::harness::{model, must_fail};

/// The bodies, for the real counter and for its mutant.
macro_rules! bodies {
    ($name:ident, $counter:path) => {
        mod $name {
            use super::*;
            use crate::sync::Arc;
            use loom::thread;
            use $counter as library;

            /// Two ranks take `blocks` blocks; one of them, if `closes`, closes after its first.
            pub(super) fn taken(blocks: u64, closes: bool) {
                let cells: Arc<Vec<Cell>> = Arc::new((0..blocks).map(|_| Cell::new(0)).collect());
                let counter = Arc::new(library::BlockCounter::new(blocks));
                let take_all = |closes: bool| {
                    let (cells, counter) = (cells.clone(), counter.clone());
                    move || {
                        let mut count = 0;
                        while let Some(block) = counter.take() {
                            let cell = &cells[block as usize];
                            write(cell, read(cell) + 1);
                            count += 1;
                            if closes {
                                counter.close();
                            }
                        }
                        count
                    }
                };
                let other = thread::spawn(take_all(closes));
                let own = take_all(false)();
                let other = other.join().unwrap();
                assert!(!closes || other <= 1);
                assert!(closes || own + other == blocks, "a block is lost");
                let times = cells.iter().map(read);
                assert_eq!(times.sum::<u64>(), own + other);
            }
        }
    };
}

bodies!(real, crate::block_counter);
bodies!(counting_apart, crate::mutants::block_counter_counting_apart);

model! {
    each_block_is_taken_once; name: "blocks: 2 ranks, 3 blocks", ranks: 2, bound: None, floor: 310,
    body: || real::taken(3, false)
}

model! {
    no_block_is_taken_once_all_are_closed; name: "blocks: 2 ranks, one closes", ranks: 2,
    bound: None, floor: 350, body: || real::taken(3, true)
}

#[test]
fn a_counter_that_is_read_and_written_apart_is_found() {
    must_fail("blocks: load and store for the addition", None, "Causality violation", || {
        counting_apart::taken(1, false)
    });
}
