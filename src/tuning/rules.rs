//! The automatic choice of an algorithm, by operation, length and number of
//! ranks.
//!
//! Rules of thumb, from measurements at p = 2 and, with more ranks than cores, 4 and 8
//! (`DESIGN.md`, "Choice"): from some length on, everything goes by the fused paths, since they
//! touch every word least often and let all ranks do their share. Below, reductions go by few
//! messages while these fit, and moves of data by the algorithm with the fewest steps. The lengths
//! are in one place, [`Tuning`].

use crate::machine::{Level, Machine};
use crate::mailbox::{EAGER, INLINE};
use crate::schedule::{Algorithm, Operation};

/// The sizes at which the library changes its ways. All ranks of a team use the same ones, from
/// when it is built ([`Builder::tuning`](crate::Builder::tuning)); the defaults are those
/// measured on a small machine (`benches/choice.rs`).
///
/// Sizes are in bytes, of the vector for broadcast, reduce, all-reduce, scan and
/// shift, and of one block for the operations with a block per rank (varied: of
/// the longest; an all-to-all of varied blocks knows no sizes).
///
/// # Examples
/// ```
/// use phalanx::{Team, tuning::Tuning};
/// let mut tuning = Tuning::default();
/// tuning.broadcast_fused = usize::MAX; // never
/// let team = Team::builder().ranks(2).tuning(tuning).build()?;
/// team.run(|comm| comm.broadcast(&mut [0; 10_000], 0))?;
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// From here on a broadcast is `BC-FUSED`; below, `BC-ANY`.
    pub broadcast_fused: usize,
    /// From here on a reduction is `RED-FUSED`; below, `RED-ANY`.
    pub reduce_fused: usize,
    /// From here on an all-gather is `AG-FUSED`; below, `AG-ANY`.
    pub all_gather_fused: usize,
    /// From here on a reduce-scatter is `RS-FUSED`; below, `RS-ANY`.
    pub reduce_scatter_fused: usize,
    /// From here on an all-reduce is `AR-FUSED`; below, `AR-ANY`.
    pub all_reduce_fused: usize,
    /// From here on a scan is `SCAN-FUSED`; below, `SCAN-HCUBE`.
    pub scan_fused: usize,
    /// From here on a scatter is `SC-FUSED`; below, `SC-ANY`.
    pub scatter_fused: usize,
    /// From here on a gather is `GA-FUSED`; below, `GA-ANY`.
    pub gather_fused: usize,
    /// From here on an all-to-all is `TX-FUSED`; below, `TX-ANY` (in place: `TX-PAIRS`), or for
    /// blocks of at most 104 bytes and 8 ranks or more `TX-BRUCK`. Up to 1024 bytes in all go
    /// through the gates where small calls do.
    pub all_to_all_fused: usize,
    /// From here on a shift is `CS-FUSED`; below, `CS-ANY`.
    pub shift_fused: usize,
    /// Ranks from which looking at all boards costs more than a tree's steps (but of scatters,
    /// gathers and all-to-alls), unless..
    pub many_ranks: usize,
    /// ..there are so many bytes.
    pub many_ranks_fused: usize,
    /// Bytes that a call reads and writes on all ranks together, from which
    /// results go round the caches (streaming stores), where they are not
    /// written in place. Default: 1.5 times the last cache; with more ranks than cores, twice.
    pub stream_from: usize,
    /// Below this a broadcast, reduction, scatter or gather that no fused path and no mailbox
    /// serves goes between the root and each rank (`BC-NAIVE`, ..), and an all-to-all of fewer than
    /// 8 with all at once: where ranks wait for their turn on a core, each step costs a turn. (But
    /// a reduction of up to four ranks of 8 to 32 KiB takes a tree.)
    /// Default: 0; with more ranks than cores, 8 KiB to 6 MiB by their number.
    pub star_below: usize,
}

/// The least that is worth a look at the boards: a length that no longer travels in a
/// mailbox.
const LEAST: usize = EAGER + 1;

/// Ranks that wait for their turns on fewer cores, from which on few messages of each to all others
/// take longer than waits of all for all.
const CROWD: usize = 8;

const fn at_least(bytes: usize) -> usize {
    if bytes > LEAST { bytes } else { LEAST }
}

impl Default for Tuning {
    /// For as many cores as ranks.
    fn default() -> Self {
        Tuning {
            broadcast_fused: at_least(2 << 10),
            reduce_fused: LEAST,
            all_gather_fused: LEAST,
            reduce_scatter_fused: LEAST,
            all_reduce_fused: LEAST,
            scan_fused: at_least(1 << 10),
            scatter_fused: LEAST,
            gather_fused: LEAST,
            all_to_all_fused: LEAST,
            shift_fused: LEAST,
            many_ranks: 16,
            many_ranks_fused: 2 << 10,
            stream_from: 48 << 20,
            star_below: 0,
        }
    }
}

impl Tuning {
    /// For as many cores as ranks. A tree of blocks hands half of them to one rank, which a
    /// hand-over by address makes dearer than a look at one board; an all-to-all of many ranks has
    /// a message for each, where a board shows all blocks at once. By the model (docs/model.md):
    /// two ranks were measured.
    fn roomy(ranks: usize) -> Self {
        let default = Tuning::default();
        let at_root = if ranks < 4 { LEAST } else { 2 * EAGER / ranks + 1 };
        Tuning {
            scatter_fused: at_root,
            gather_fused: at_root,
            all_to_all_fused: if ranks < default.many_ranks { LEAST } else { INLINE + 1 },
            ..default
        }
    }

    /// For more ranks than cores: a fused call makes everybody wait for
    /// everybody, twice, where a broadcast's tree lets ranks go one after the
    /// other; and every wait is a turn of the scheduler. From [`CROWD`] ranks on everybody's few
    /// messages take more turns than two waits for all: an all-to-all or a reduce-scatter that the
    /// gates do not take is fused, whatever its length.
    ///
    /// Three ranks on two cores have sizes of their own. With them the choice is within 2 % of the
    /// best algorithm for broadcasts of 16 to 512 KiB and reductions of 40 to 96 KiB; a shift of 20
    /// or 28 KiB by messages, as of four ranks, takes 1.5 or 1.7 times as long. (`RANKS=3
    /// BYTES=20480,28672 tools/auto-vs-best shift`; 2 virtual cores, AMD EPYC.)
    fn crowded(ranks: usize) -> Self {
        let few = Tuning {
            broadcast_fused: if ranks == 3 { 1 << 20 } else { 256 << 10 },
            reduce_fused: 128 << 10,
            shift_fused: if ranks == 3 { 16 << 10 } else { 32 << 10 },
            star_below: if ranks == 3 { 8 << 10 } else { 256 << 10 },
            ..Tuning::default()
        };
        match ranks >= CROWD {
            true => Tuning {
                // The vectors of all ranks just leave the last cache.
                broadcast_fused: (48 << 20) / ranks,
                reduce_fused: 32 << 10,
                shift_fused: (8 << 10) * ranks.min(16),
                star_below: (48 << 20) / ranks,
                // Shorter ones go through the gates.
                reduce_scatter_fused: EAGER / ranks + 1,
                all_to_all_fused: EAGER / ranks + 1,
                many_ranks: usize::MAX,
                ..few
            },
            false => few,
        }
    }

    /// The defaults for so many ranks on a machine: whether it has cores enough,
    /// and the size of its last cache where that is known.
    ///
    /// ```
    /// use phalanx::{machine::Machine, tuning::Tuning};
    /// let machine = Machine::from_synthetic("core:4 pu:1")?;
    /// let (enough, crowded) = (Tuning::of(&machine, 4), Tuning::of(&machine, 5));
    /// assert_eq!(Tuning::of(&machine, 2), Tuning::default());
    /// assert!(crowded.broadcast_fused > enough.broadcast_fused);
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn of(machine: &Machine, ranks: usize) -> Self {
        let crowded = ranks > machine.allowed_pus().len();
        let default = if crowded { Tuning::crowded(ranks) } else { Tuning::roomy(ranks) };
        let last = [Level::L3, Level::L2].into_iter().find_map(|level| machine.cache_bytes(level));
        let Some(last) = last.and_then(|bytes| usize::try_from(bytes).ok()) else { return default };
        // A little more than fits still leaves most of it in the cache for the next call.
        let stream_from =
            if crowded { last.saturating_mul(2) } else { last.saturating_add(last / 2) };
        Tuning { stream_from, ..default }
    }

    /// Whether a scan of few bytes goes from rank to rank, instead of through the gates: of three
    /// ranks on two cores the first two are then done early.
    pub(crate) fn is_chain_of_few_bytes(&self, ranks: usize) -> bool {
        self.star_below > EAGER && ranks == 3
    }

    /// Whether a broadcast of few bytes goes from the root to each rank. (A tree of fewer ranks is
    /// as quick, and has direct code.)
    pub(crate) fn is_star_of_few_bytes(&self, ranks: usize) -> bool {
        self.star_below > EAGER && ranks >= CROWD
    }

    /// The bytes from which `operation` goes by a fused path; none for the
    /// barrier.
    pub(crate) fn fused_from(&self, operation: Operation, ranks: usize) -> Option<usize> {
        let from = match operation.base() {
            Operation::Broadcast => self.broadcast_fused,
            Operation::Reduce => self.reduce_fused,
            Operation::AllGather => self.all_gather_fused,
            Operation::ReduceScatter => self.reduce_scatter_fused,
            Operation::AllReduce => self.all_reduce_fused,
            Operation::Scan => self.scan_fused,
            Operation::Scatter => self.scatter_fused,
            Operation::Gather => self.gather_fused,
            Operation::AllToAll => self.all_to_all_fused,
            Operation::Shift => self.shift_fused,
            // A barrier; a test asks for all others.
            _ => return None,
        };
        // A scatter or gather looks at one board; instead of an all-to-all there is no tree.
        let has_tree = !matches!(
            operation.base(),
            Operation::Scatter | Operation::Gather | Operation::AllToAll
        );
        let is_tree = has_tree && ranks >= self.many_ranks;
        Some(if is_tree { from.max(self.many_ranks_fused) } else { from })
    }
}

/// The call that a choice is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) operation: Operation,
    pub(crate) ranks: usize,
    /// Bytes per rank (or block).
    pub(crate) bytes: usize,
    pub(crate) commutative: bool,
    /// Whether block lengths differ from rank to rank.
    pub(crate) varied: bool,
    /// Whether there is nothing to do: a shift by 0.
    pub(crate) idle: bool,
}

/// The algorithm for a call. It depends on nothing that differs from rank to
/// rank.
#[inline(always)]
pub(crate) fn auto(tuning: &Tuning, case: &Case) -> Algorithm {
    let &Case { operation, ranks, bytes, commutative, varied, idle } = case;
    let usual = operation.usual();
    let is_direct = tuning.fused_from(operation, ranks).is_some_and(|from| bytes >= from);
    // More ranks than three have the gates for a short scan.
    let has_star = operation.base() != Operation::Scan || ranks == 3;
    // The one size at which a star was measured to be slower (docs/choice.md).
    let is_tree =
        operation.base() == Operation::Reduce && ranks <= 4 && (8 << 10..32 << 10).contains(&bytes);
    let is_star = has_star && !is_tree && bytes < tuning.star_below;
    let is_few = bytes <= INLINE;
    match (usual.direct, usual.star) {
        (Some(direct), _) if is_direct && !idle => direct,
        (_, Some(star)) if is_star => star,
        _ => {
            // Both forward, which blocks of different lengths cannot.
            let special = match ranks < 8 {
                true => usual.at_once.filter(|_| is_star && !varied),
                false => usual.few_bytes.filter(|_| is_few && !varied),
            };
            special.unwrap_or_else(|| usual.messages.of(commutative))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the sizes, the chosen algorithm serves the operation, and keeps rank
    /// order where it must.
    #[test]
    fn the_choice_serves() {
        let never = usize::MAX;
        for many_ranks in [1, never] {
            let star_below = many_ranks;
            let tuning =
                Tuning { many_ranks, many_ranks_fused: never, star_below, ..Tuning::default() };
            for operation in Operation::ALL {
                let from = tuning.fused_from(operation, 2);
                assert_eq!(from.is_some(), operation.usual().direct.is_some(), "{operation}");
                for (ranks, bytes) in [(2, 0), (2, 41), (8, 8), (16, 100), (3, 1 << 20)] {
                    for commutative in [true, false] {
                        let (varied, idle) = (bytes == 41, bytes == 100);
                        let call = Case { operation, ranks, bytes, commutative, varied, idle };
                        let chosen = auto(&tuning, &call);
                        assert!(chosen.operations().contains(&operation), "{chosen} {call:?}");
                        if operation.usual().direct == Some(chosen) {
                            continue;
                        }
                        let builders = operation.unforced_builders();
                        let schedule =
                            chosen.chosen_schedule(builders, operation, ranks, (0, 0), None);
                        assert!(commutative || schedule.is_ordered(), "{chosen} {call:?}");
                    }
                }
            }
        }
    }
}
