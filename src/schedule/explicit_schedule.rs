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

    /// Declares that the senders of these steps go on only when their messages have been taken, as
    /// with `MPI_Ssend`. For schedules that stand for another library's; what it costs is the
    /// simulation's [`Transport::acknowledge_ns`](crate::tuning::Transport::acknowledge_ns).
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{BlockRange, Contract, Operation, Round, Schedule};
    /// // A token there and back; the second message is waited for.
    /// let operation = Operation::Barrier;
    /// let contract = Contract { operation, ranks: 2, root: 0, shift: 0, split: 1 };
    /// let message = |from, to| vec![(from, to, vec![BlockRange::one(0)])];
    /// let hop = |from, to| Round { combine: true, messages: message(from, to) };
    /// let token = Schedule::of_rounds("TOKEN", contract, vec![hop(0, 1), hop(1, 0)]);
    /// let token = token.acknowledged([1]);
    /// assert!(token.is_acknowledged(1) && !token.is_acknowledged(0));
    /// ```
    #[must_use]
    pub fn acknowledged(mut self, steps: impl IntoIterator<Item = usize>) -> Self {
        self.acknowledged.extend(steps);
        self
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
