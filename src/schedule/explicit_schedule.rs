//! The schedules of explicit rounds.

use super::explicit::{ExplicitRounds, Round, ports};
use super::{Contract, Schedule};

impl Schedule {
    /// A schedule of given rounds (see [`Round`]). Whether it does what `contract` says is for
    /// [`check`](super::check()) to find out; messages of ranks that do not exist are left out.
    pub fn of_rounds(id: &'static str, contract: Contract, rounds: Vec<Round>) -> Schedule {
        let given = ExplicitRounds::of_rounds(contract.ranks, rounds);
        let ports = ports(&given, contract.ranks);
        Schedule::new(id, contract, false, Box::new(given)).with_ports(ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{BlockRange, Operation, check};

    #[test]
    fn a_message_to_oneself_without_blocks_takes_no_turn() {
        let operation = Operation::Reduce;
        let contract = Contract { operation, ranks: 2, root: 0, shift: 0, split: 1 };
        let nothing = BlockRange { first: 0, count: 0 };
        let messages = vec![(1, 0, vec![BlockRange::one(0)]), (0, 0, vec![nothing])];
        let round = Round { combine: true, messages };
        check(&Schedule::of_rounds("EMPTY", contract, vec![round])).unwrap();
    }
}
