//! A rank's communicator, of one node or of several.

use phalanx::{CallStatistics, Comm, Element};
use phalanx_nodes::NodeComm;

/// See the module documentation.
#[derive(Debug)]
pub(crate) enum RankComm<'c, 'n> {
    Here(&'c mut Comm),
    Wide(&'c mut NodeComm<'n>),
}

/// A method of both.
macro_rules! both {
    ($it:expr, $comm:ident => $call:expr) => {
        match $it {
            RankComm::Here($comm) => $call,
            RankComm::Wide($comm) => $call,
        }
    };
}

impl<'n> RankComm<'_, 'n> {
    /// The same for one call.
    #[inline(always)]
    pub(crate) fn again(&mut self) -> RankComm<'_, 'n> {
        match self {
            RankComm::Here(comm) => RankComm::Here(comm),
            RankComm::Wide(comm) => RankComm::Wide(comm),
        }
    }

    /// That of one node, for what there is no other of: the command refuses that between nodes.
    pub(crate) fn here(&mut self) -> &mut Comm {
        match self {
            RankComm::Here(comm) => comm,
            RankComm::Wide(_) => unreachable!("refused between nodes"),
        }
    }

    pub(crate) fn rank(&self) -> usize {
        both!(self, comm => comm.rank())
    }

    pub(crate) fn size(&self) -> usize {
        both!(self, comm => comm.size())
    }

    /// Which node it is on.
    pub(crate) fn node(&self) -> usize {
        match self {
            RankComm::Here(_) => 0,
            RankComm::Wide(comm) => comm.node(),
        }
    }

    pub(crate) fn statistics(&self) -> Option<Vec<CallStatistics>> {
        both!(self, comm => comm.statistics())
    }

    pub(crate) fn barrier(&mut self) {
        both!(self, comm => comm.barrier());
    }

    pub(crate) fn broadcast<T: Element>(&mut self, buf: &mut [T], root: usize) {
        both!(self, comm => comm.broadcast(buf, root));
    }

    pub(crate) fn gather_into<T: Element>(&mut self, mine: &[T], all: &mut [T], root: usize) {
        both!(self, comm => comm.gather_into(mine, all, root));
    }

    pub(crate) fn all_gather_into<T: Element>(&mut self, mine: &[T], all: &mut [T]) {
        both!(self, comm => comm.all_gather_into(mine, all));
    }

    pub(crate) fn sum(&mut self, value: u64) -> u64 {
        both!(self, comm => comm.sum([value])[0])
    }
}
