//! No cliffs but those on record.

use super::*;
use phalanx::schedule::Operation;

/// Made by `cargo run --release -p phalanx-model --example cliffs`.
const RECORD: &str = include_str!("cliffs.txt");

/// The goal is none. Those on record are what is left: a new one is a defect of the choice, and so
/// is a line that stays when its cliff is gone.
#[test]
fn no_default_is_a_cliff_but_those_on_record() {
    // By powers of 256: by powers of 4 with the optimiser, which takes minutes less.
    let step = if cfg!(debug_assertions) { 8 } else { 2 };
    let sizes: Vec<usize> = (3..=23).step_by(step).map(|log| 1 << log).collect();
    for machine in machines() {
        for operation in [Operation::AllReduce, Operation::Broadcast, Operation::Reduce] {
            let of = |line: &&str| {
                let mut words = line.split(' ');
                words.next() == Some(machine.name)
                    && words.next() == Some(&operation.to_string())
                    && words
                        .next()
                        .is_some_and(|bytes| sizes.iter().any(|size| size.to_string() == bytes))
            };
            let known: Vec<&str> = RECORD.lines().filter(of).collect();
            assert_eq!(cliffs(&machine, operation, &sizes), known, "{} {operation}", machine.name);
        }
    }
}
