//! The critical path: the chain of work and transfers that the run's length consists of. It is
//! followed from the end: on the rank that ended last, back to the moment where a late rank let it
//! go on; there it goes over to that rank, and so on to the beginning.

use crate::timeline::RankLine;
use crate::wait_state::Late;

/// A piece of the path, on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPiece {
    /// The rank.
    pub rank: usize,
    /// When it begins.
    pub begin: u64,
    /// When it ends.
    pub end: u64,
}

/// The path, from its beginning.
pub fn find(lines: &[RankLine], late: &[Vec<Late>]) -> Vec<PathPiece> {
    let ends: Vec<Vec<(u64, usize)>> = late
        .iter()
        .map(|late| {
            let mut ends: Vec<_> = late.iter().map(|it| (it.end, it.culprit)).collect();
            ends.sort_unstable();
            ends
        })
        .collect();
    let mut path = Vec::new();
    let last = (0..lines.len()).max_by_key(|&rank| lines[rank].ended);
    let Some(mut rank) = last else { return path };
    let mut time = lines[rank].ended;
    let mut is_first = true;
    loop {
        // Earlier than the last one, so that it comes to an end.
        let before = ends[rank].partition_point(|&(end, _)| end < time + u64::from(is_first));
        is_first = false;
        match before.checked_sub(1).map(|at| ends[rank][at]) {
            Some((end, culprit)) => {
                path.push(PathPiece { rank, begin: end, end: time });
                (rank, time) = (culprit, end);
            }
            None => {
                let begin = lines[rank].dispatched.min(time);
                path.push(PathPiece { rank, begin, end: time });
                break;
            }
        }
    }
    path.reverse();
    path
}
