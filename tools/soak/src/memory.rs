//! Checks that memory does not grow from team to team.
//!
//! Two measures. The *heap* is counted byte by byte (`heap.rs`): after each team it must be as it
//! was after the first ones, but for a slack that is less than one small block a run. Memory *in
//! use* sees memory that the count does not, pages that the library has from the system and stacks,
//! but moves by itself: fragments, and the largest buffers met so far. It is judged over thirds of
//! the time.

use crate::resources::Holdings;

/// Growth of the heap that is no leak, in bytes: memory that some thread or table keeps
/// from its first use on.
pub(crate) const HEAP_SLACK: i64 = 4 << 10;
/// Growth of memory in use that is no leak, in KiB.
pub(crate) const RSS_SLACK: u64 = 16 << 10;
/// So many teams a third must have for its memory in use to be judged: with three of them, which
/// may happen to have had short vectors only, sound runs were found to grow.
const RSS_TEAMS: usize = 8;
/// Teams with a use of memory that is not judged, only remembered: objects that live as long
/// as the process are made in them.
const WARM_UP: usize = 2;

/// Memory over time.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    teams: usize,
    /// The most bytes of the heap after one of the first teams.
    pub(crate) heap_first: Option<i64>,
    /// Those after the latest team.
    pub(crate) heap_last: Option<i64>,
    /// The most KiB in use in the first third of the time.
    pub(crate) rss_first: Option<u64>,
    /// The least in the last third.
    pub(crate) rss_last: Option<u64>,
    /// Teams in these two thirds.
    rss_teams: [usize; 2],
}

impl Memory {
    /// A team has ended, after `share` of the time.
    pub(crate) fn note(&mut self, share: f64, now: Holdings) {
        self.teams += 1;
        let is_first = self.teams <= WARM_UP;
        if is_first {
            self.heap_first = self.heap_first.max(Some(now.heap));
        } else {
            self.heap_last = Some(now.heap);
        }
        if is_first || share < 1.0 / 3.0 {
            self.rss_first = self.rss_first.max(Some(now.rss_kib));
            self.rss_teams[0] += 1;
        } else if share > 2.0 / 3.0 {
            self.rss_last = Some(self.rss_last.map_or(now.rss_kib, |last| last.min(now.rss_kib)));
            self.rss_teams[1] += 1;
        }
    }

    /// The part that has grown, in words.
    pub(crate) fn growth(&self) -> Option<String> {
        if let (Some(first), Some(last)) = (self.heap_first, self.heap_last)
            && last > first + HEAP_SLACK
        {
            return Some(format!("the heap has grown from {first} to {last} bytes"));
        }
        match (self.rss_first, self.rss_last) {
            (Some(first), Some(last))
                if last > first + RSS_SLACK && self.rss_teams.iter().all(|&n| n >= RSS_TEAMS) =>
            {
                Some(format!("memory in use has grown from {first} to {last} KiB"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(at: &[(f64, i64, u64)]) -> Option<String> {
        let mut memory = Memory::default();
        for &(share, heap, rss_kib) in at {
            memory.note(share, Holdings { heap, rss_kib, descriptors: 3, threads: 1 });
        }
        memory.growth()
    }

    #[test]
    fn a_heap_that_grows_is_a_leak() {
        let steady = 1 << 20;
        assert_eq!(growth(&[]), None);
        // The memory that the first teams leave is remembered; all others leave nothing.
        assert_eq!(growth(&[(0.1, 0, 0), (0.2, steady, 0), (0.3, steady, 0)]), None);
        let grows: Vec<_> = (0..40).map(|k| (k as f64 / 40.0, steady + k * 130, 0)).collect();
        assert!(growth(&grows).unwrap().contains("heap"));
        assert_eq!(growth(&grows[..30]), None, "within the slack");
    }

    #[test]
    fn pages_that_stay_are_a_leak_and_noise_is_not() {
        let use_of = |at: &[(f64, u64)]| {
            let mut all = vec![(0.01, 0, 90_000), (0.02, 0, 90_000)];
            let of_teams = |&(share, kib)| [(share, 0, kib); RSS_TEAMS];
            all.extend(at.iter().flat_map(of_teams));
            growth(&all)
        };
        let steady = 100_000;
        assert_eq!(use_of(&[(0.1, steady), (0.5, steady + 90_000), (0.9, steady + 9_000)]), None);
        assert_eq!(use_of(&[(0.1, steady), (0.8, steady + 90_000), (0.9, steady)]), None);
        let leak = [(0.1, steady), (0.8, steady + 40_000), (0.9, steady + 50_000)];
        assert!(use_of(&leak).unwrap().contains("in use"));
        // Of so few teams nothing is said.
        assert_eq!(growth(&[(0.1, 0, 20_000), (0.2, 0, 23_000), (0.9, 0, 40_000)]), None);
    }
}
