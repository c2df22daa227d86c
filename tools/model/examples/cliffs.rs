//! Prints the cliffs that are left, as `src/published/cliffs.txt` records them.
use phalanx::schedule::Operation;
use phalanx_model::published::{cliffs, machines};

fn main() {
    let sizes: Vec<usize> = (3..=23).step_by(2).map(|log| 1 << log).collect();
    for machine in machines() {
        for operation in [Operation::AllReduce, Operation::Broadcast, Operation::Reduce] {
            cliffs(&machine, operation, &sizes).iter().for_each(|line| println!("{line}"));
        }
    }
}
