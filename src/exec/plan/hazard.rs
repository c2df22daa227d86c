//! Hazards in bound plans: does a rank ever write memory that a peer may be reading?

use super::actions::{Action, Plan, PlanPiece};
use super::bind::bind;
use crate::exec::Partition;
use crate::schedule::Schedule;
use std::fmt;

/// A write that a peer may be reading under.
#[derive(Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The rank that writes.
    pub rank: usize,
    /// The rank that may be reading.
    pub peer: usize,
    /// The number of the action in the rank's plan.
    pub action: usize,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hazard { rank, peer, action } = self;
        write!(f, "rank {rank} writes what rank {peer} may be reading, in action {action}")
    }
}

crate::error_type!(Hazard: Self { rank, peer, action });

/// Binds `rank`'s part of `schedule` to blocks (or a vector) of `elements`
/// elements, all messages travelling by address, and looks for a place that is
/// written between a message that describes it and the moment at which its
/// receiver is known to be done with it.
///
/// The engine's binder is there to exclude this for every schedule; this checks
/// its work, for `phalanx check` and for the tests.
///
/// # Errors
/// The first [`Hazard`].
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// // Both partners read and overwrite the same vector in one step.
/// let schedule = Algorithm::AR_HCUBE.schedule(&Request::new(Operation::AllReduce, 8))?;
/// assert!((0..8).all(|rank| phalanx::check_hazards(&schedule, rank, 100).is_ok()));
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
pub fn check_hazards(schedule: &Schedule, rank: usize, elements: usize) -> Result<(), Hazard> {
    let has_blocks = schedule.contract().operation.has_blocks();
    let cut = if has_blocks { Partition::Equal(elements) } else { Partition::Vector(elements) };
    // Elements so large that nothing is copied by its sender.
    let plan = bind(schedule, rank, cut, crate::mailbox::EAGER + 1);
    first_hazard(&plan, rank).map_or(Ok(()), Err)
}

/// The first write of a plan to what its owner has posted and not settled.
pub(super) fn first_hazard(plan: &Plan, rank: usize) -> Option<Hazard> {
    let mut posted = std::collections::HashMap::<usize, usize>::new();
    // Piece, receiver, number of the message to it.
    let mut open: Vec<(PlanPiece, usize, usize)> = Vec::new();
    for (number, action) in plan.actions.iter().enumerate() {
        let writes: Vec<PlanPiece> = match action {
            Action::Copy { to, len, .. } => vec![PlanPiece { at: *to, len: *len }],
            Action::Take { targets, .. } => {
                let targets = plan.targets[targets.clone()].iter();
                targets.map(|t| PlanPiece { at: t.to, len: t.len }).collect()
            }
            Action::Post { peer, pieces, .. } => {
                let count = posted.entry(*peer).or_default();
                *count += 1;
                let pieces = plan.pieces[pieces.clone()].iter();
                open.extend(pieces.map(|&piece| (piece, *peer, *count)));
                continue;
            }
            Action::Settle { peer, back } => {
                let settled = posted.get(peer).map_or(0, |&count| count - *back as usize);
                open.retain(|&(_, receiver, n)| receiver != *peer || n > settled);
                continue;
            }
        };
        let hit = open.iter().find(|(piece, ..)| writes.iter().any(|w| w.overlaps(piece)));
        if let Some(&(_, peer, _)) = hit {
            return Some(Hazard { rank, peer, action: number });
        }
    }
    None
}
