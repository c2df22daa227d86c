//! What moves between one owner and one rank that has ghosts of its elements.

/// Pairs of an owner's element and the ghost that is its copy, in a form that copies fast.
#[derive(Debug)]
pub(super) enum Moves {
    /// Both advance together: one copy a run.
    Runs(Box<[Run]>),
    /// The ghosts lie one after the other, from this one on; of each the owner's element.
    Block { ghost: usize, owned: Box<[usize]> },
    /// Owner's element, and ghost.
    Pairs(Box<[(usize, usize)]>),
}

/// `len` elements from the owner's `owned` on, whose ghosts lie from `ghost` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    owned: usize,
    ghost: usize,
    len: usize,
}

/// Elements that a run has on average, from which runs are copied one by one: below, their number
/// costs more than it saves.
const LONG: usize = 4;

impl Moves {
    pub(super) fn new(pairs: &[(usize, usize)]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for &(owned, ghost) in pairs {
            match runs.last_mut() {
                Some(run) if run.is_followed_by(owned, ghost) => run.len += 1,
                _ => runs.push(Run { owned, ghost, len: 1 }),
            }
        }
        let first = pairs.first().map_or(0, |&(_, ghost)| ghost);
        if runs.len() == 1 || runs.len() * LONG <= pairs.len() {
            Moves::Runs(runs.into())
        } else if (first..).zip(pairs).all(|(wanted, &(_, ghost))| ghost == wanted) {
            Moves::Block { ghost: first, owned: pairs.iter().map(|&(owned, _)| owned).collect() }
        } else {
            Moves::Pairs(pairs.into())
        }
    }

    /// Calls `f` with each run's place at the owner, place among the ghosts, and length, in the
    /// order of the list.
    #[inline(always)]
    pub(super) fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        match self {
            Moves::Runs(runs) => runs.iter().for_each(|run| f(run.owned, run.ghost, run.len)),
            Moves::Block { ghost, owned } => {
                owned.iter().enumerate().for_each(|(k, &owned)| f(owned, ghost + k, 1));
            }
            Moves::Pairs(pairs) => pairs.iter().for_each(|&(owned, ghost)| f(owned, ghost, 1)),
        }
    }
}

impl Run {
    fn is_followed_by(&self, owned: usize, ghost: usize) -> bool {
        let next = |start: usize| start.checked_add(self.len);
        next(self.owned) == Some(owned) && next(self.ghost) == Some(ghost)
    }
}

#[cfg(test)]
mod tests {
    use super::Moves;

    fn listed(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        Moves::new(pairs).each(|a, b, n| all.extend((0..n).map(|k| (a + k, b + k))));
        all
    }

    #[test]
    fn each_form_is_chosen_where_it_belongs_and_keeps_the_list() {
        let line: Vec<_> = (0..100).map(|k| (k + 7, k + 3)).collect();
        let strided: Vec<_> = (0..100).map(|k| (5 * k, k + 3)).collect();
        let backwards: Vec<_> = (0..100).map(|k| (k, 99 - k)).collect();
        let twice: Vec<_> = line.iter().chain(&line).copied().collect();
        let edge = vec![(usize::MAX, 0), (0, 1), (0, usize::MAX), (0, 0)];
        assert!(matches!(&Moves::new(&line), Moves::Runs(runs) if runs.len() == 1));
        assert!(matches!(&Moves::new(&twice), Moves::Runs(runs) if runs.len() == 2));
        assert!(matches!(Moves::new(&strided), Moves::Block { ghost: 3, .. }));
        assert!(matches!(Moves::new(&backwards), Moves::Pairs(_)));
        assert!(matches!(Moves::new(&[(9, 9)]), Moves::Runs(_)));
        for pairs in [line, strided, backwards, twice, edge, vec![]] {
            assert_eq!(listed(&pairs), pairs);
        }
    }
}
