//! The joins by which a rank combines the vectors of all ranks itself.

use super::kernel::OperandTree;
use std::cell::{Cell, RefCell};

/// One join: of the vectors of which addresses, and to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Join {
    pub(super) to: usize,
    pub(super) left: usize,
    pub(super) right: usize,
}

/// The joins of a tree, in the order in which they are made. A communicator's calls have one tree,
/// as a rule: the list is made once, and each call goes through it.
#[derive(Default)]
pub(super) struct JoinList {
    of: Option<(OperandTree, usize)>,
    pub(super) joins: Vec<Join>,
    /// So many results wait at once, at the addresses behind those of the operands.
    pub(super) slots: usize,
}

impl JoinList {
    /// Becomes the list of `tree`, of which the operands are among the first `ranks` addresses.
    #[inline(always)]
    pub(super) fn become_of(&mut self, tree: OperandTree, ranks: usize) {
        if self.of != Some((tree, ranks)) {
            self.make(tree, ranks);
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&mut self, tree: OperandTree, ranks: usize) {
        let joins = RefCell::new(std::mem::take(&mut self.joins));
        joins.borrow_mut().clear();
        let waiting = vec![Cell::new(0); ranks];
        tree.combine(
            &waiting,
            |rank| rank,
            |level, left, right| {
                // The left result may be in this very slot, the right one is in a later one.
                let to = ranks + level;
                joins.borrow_mut().push(Join { to, left, right });
                to
            },
        );
        self.joins = joins.into_inner();
        self.slots = self.joins.iter().map(|join| join.to - ranks + 1).max().unwrap_or(0);
        self.of = Some((tree, ranks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_tree() {
        let mut list = JoinList::default();
        for p in 1..=33 {
            for tree in [OperandTree::doubling(p), OperandTree::levels(p)] {
                let words: Vec<_> = (0..p).map(|r| Cell::new(&*r.to_string().leak())).collect();
                let join = |a: &str, b: &str| &*format!("({a} {b})").leak();
                let wanted = tree.combine(&words, |r| words[r].get(), |_, a, b| join(a, b));
                // Among as many ranks and among more.
                for ranks in [p, p + 3] {
                    list.become_of(tree, ranks);
                    let mut at: Vec<_> = (0..ranks + list.slots).map(|r| r.to_string()).collect();
                    for &Join { to, left, right } in &list.joins {
                        at[to] = join(&at[left], &at[right]).to_string();
                    }
                    let result = list.joins.last().map_or(0, |join| join.to);
                    assert_eq!(at[result], wanted, "p = {p}, {ranks} ranks");
                    assert_eq!(list.joins.len(), p - 1);
                }
            }
        }
    }
}
