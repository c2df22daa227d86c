//! A rank's messages in one step, without their blocks: partners and sizes. A simulation of
//! millions of messages needs no more.

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

    /// Adds what `step` says of `rank`.
    pub(crate) fn add(&mut self, step: &Step, rank: usize) {
        self.sends.extend(step.sends.iter().map(|s| (s.to, count(&s.blocks))));
        let others = step.recvs.iter().filter(|r| r.from != rank);
        self.recvs.extend(others.map(|r| (r.from, count(&r.blocks))));
    }

    /// Turns the messages from `sends` and `recvs` on round.
    pub(crate) fn reverse(&mut self, sends: usize, recvs: usize) {
        let out = self.sends.split_off(sends);
        let into = self.recvs.split_off(recvs);
        self.sends.extend(into);
        self.recvs.extend(out);
    }
}

fn count(blocks: &[BlockRange]) -> usize {
    blocks.iter().map(|r| r.count).sum()
}
