//! The busiest port of a step.

use super::{Schedule, StepTraffic};
use crate::sorted::Arrange;

/// The load of the busiest rank in a step of a [`Schedule`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Start-ups: with more messages than ports, they go one after the other.
    pub startups: usize,
    /// Blocks of the busiest port, times the number of ports, so that the number is whole. (Of a
    /// split vector a block is one part of [`split`](super::Contract::split).)
    pub blocks: usize,
}

impl Schedule {
    /// The load of a step where a rank has `ports` ports in each direction; 0 counts as 1.
    ///
    /// Only messages of one pair of ranks share a port. A rank with n messages in one direction,
    /// W blocks in all and L blocks for one peer has ceil(n / ports) start-ups and max(L,
    /// W / ports) blocks.
    ///
    /// Takes time for every message of the step.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Load, Operation, Request};
    /// let schedule = Algorithm::AG_AP_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// // Three neighbours get the own block, side by side or one after the other.
    /// assert_eq!(schedule.load(0, 3), Load { startups: 1, blocks: 3 });
    /// assert_eq!(schedule.load(0, 1), Load { startups: 3, blocks: 3 });
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn load(&self, step: usize, ports: usize) -> Load {
        let ports = ports.max(1);
        let (mut load, mut peers) = (Load::default(), StepTraffic::default());
        for rank in 0..self.contract().ranks {
            self.peers(step, rank, &mut peers);
            for messages in [&mut peers.sends, &mut peers.recvs] {
                load.startups = load.startups.max(messages.len().div_ceil(ports));
                load.blocks = load.blocks.max(busiest(messages, ports));
            }
        }
        load
    }
}

/// The blocks of the busiest port, times `ports`, for the messages of one direction.
fn busiest(messages: &mut [(usize, usize)], ports: usize) -> usize {
    if let [(_, blocks)] = messages[..] {
        return blocks * ports;
    }
    messages.arrange();
    let sum = |messages: &[(usize, usize)]| messages.iter().map(|&(_, n)| n).sum::<usize>();
    let pair = messages.chunk_by(|a, b| a.0 == b.0).map(sum).max().unwrap_or(0);
    sum(messages).max(pair * ports)
}
