//! A rank's messages in one step, without their blocks: partners and sizes. The counts of costs
//! need no more.

use super::{BlockRange, Step};

/// The messages of a rank in one step, as pairs of a peer and a number of blocks, in the order of
/// the rank's [`Step`]. A copy from the rank to itself is no message.
///
/// See [`Schedule::peers`](super::Schedule::peers).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepTraffic {
    /// Receivers of the rank's messages, and the blocks for each.
    pub sends: Vec<(usize, usize)>,
    /// Senders of messages to the rank, and the blocks from each.
    pub recvs: Vec<(usize, usize)>,
}

impl StepTraffic {
    pub(crate) fn clear(&mut self) {
        self.sends.clear();
        self.recvs.clear();
    }

    /// Adds a message to `to`; none without blocks.
    pub(crate) fn send(&mut self, to: usize, blocks: usize) {
        if blocks > 0 {
            self.sends.push((to, blocks));
        }
    }

    /// Adds a message from `from`; none without blocks.
    pub(crate) fn recv(&mut self, from: usize, blocks: usize) {
        if blocks > 0 {
            self.recvs.push((from, blocks));
        }
    }

    /// Adds the messages of `rank`'s `step`.
    #[inline(never)]
    pub(crate) fn add(&mut self, step: Step, rank: usize) {
        for sent in &step.sends {
            self.sends.push((sent.to, count(&sent.blocks)));
        }
        for recv in step.recvs.iter().filter(|recv| recv.from != rank) {
            self.recvs.push((recv.from, count(&recv.blocks)));
        }
    }

    /// Turns the messages from `sends` and `recvs` on round.
    pub(crate) fn reverse(&mut self, sends: usize, recvs: usize) {
        let out = self.sends.split_off(sends);
        self.sends.extend_from_slice(&self.recvs[recvs..]);
        self.recvs.truncate(recvs);
        self.recvs.extend_from_slice(&out);
    }
}

fn count(blocks: &[BlockRange]) -> usize {
    blocks.iter().map(|r| r.count).sum()
}
