//! Cartesian grids: coordinates, neighbours, and the division of a number into dimensions.

use super::error::{Class, Outcome, error};
use super::graph::{Adjacency, Graph};
use phalanx::topology::Cartesian;

/// How a communicator's ranks are neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// On a grid.
    Cart(Cart),
    /// By a graph that every rank knows whole.
    Graph(Graph),
    /// By a graph of which every rank knows its own edges.
    Adjacency(Adjacency),
}

/// A grid over a communicator's ranks; none of no dimensions, which has one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart(Option<Cartesian>);

impl Cart {
    /// Of these dimensions, of which some are rings.
    pub fn new(dims: &[usize], periods: &[bool]) -> Cart {
        let grid =
            || Cartesian::new(ranks_of(dims), dims, periods).expect("as many ranks as it has");
        Cart((!dims.is_empty()).then(grid))
    }

    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        self.0.as_ref().map_or(&[], Cartesian::dims)
    }

    /// Which of them are rings.
    pub fn periods(&self) -> &[bool] {
        self.0.as_ref().map_or(&[], Cartesian::periodic)
    }

    /// The coordinates of a rank.
    pub fn coords(&self, rank: usize) -> Vec<usize> {
        self.0.as_ref().map_or_else(Vec::new, |it| it.coordinates(rank))
    }

    /// The rank at coordinates; `None` if they lie outside a dimension that is no ring.
    pub fn rank(&self, coords: &[isize]) -> Option<usize> {
        self.0.as_ref().map_or(Some(0), |it| it.rank_of(coords))
    }

    /// The ranks `by` steps before and behind another in a dimension that there is.
    pub fn shift(&self, rank: usize, axis: usize, by: isize) -> (Option<usize>, Option<usize>) {
        self.0.as_ref().map_or((None, None), |it| it.shift(rank, axis, by))
    }

    /// The grid of the dimensions that are kept, and the number of that which the rank is in.
    pub fn sub(&self, rank: usize, keep: &[bool]) -> (Cart, usize) {
        let sub = self.0.as_ref().and_then(|it| it.sub(rank, keep).ok());
        let which = sub.as_ref().map_or(0, |it| it.1);
        (Cart(sub.map(|it| it.0).filter(|_| keep.contains(&true))), which)
    }
}

/// The ranks of a grid; as many as can be, if they are more.
pub fn ranks_of(dims: &[usize]) -> usize {
    dims.iter().fold(1, |ranks, &n| ranks.saturating_mul(n))
}

/// Fills the dimensions that are zero so that the product is `nodes`, as equal as can be, falling.
///
/// # Errors
/// If the given dimensions do not divide `nodes`.
pub fn dims_create(nodes: usize, dims: &mut [i32]) -> Outcome {
    if dims.iter().any(|it| *it < 0) {
        return error(Class::Dims, "a dimension is negative");
    }
    let given: Vec<usize> = dims.iter().filter(|it| **it > 0).map(|it| *it as usize).collect();
    let given = ranks_of(&given);
    let free = dims.iter().filter(|it| **it == 0).count();
    if nodes == 0 || !nodes.is_multiple_of(given) || (free == 0 && given != nodes) {
        return error(
            Class::Dims,
            format!("{nodes} ranks cannot be divided into these dimensions"),
        );
    }
    let factors = balanced(nodes / given, free);
    let mut factors = factors.iter();
    for dim in dims.iter_mut().filter(|it| **it == 0) {
        *dim = *factors.next().expect("one for each") as i32;
    }
    Ok(())
}

/// `count` factors of `number`, falling: the largest and the smallest are as near as can be; of
/// those, the smallest is the largest possible, then the second smallest, and so on.
fn balanced(number: usize, count: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    for small in (1..=number.isqrt()).filter(|it| number.is_multiple_of(*it)) {
        factors.extend([small, number / small]);
    }
    // Falling, so that the first of equally near ones is the one wanted.
    factors.sort_unstable_by(|one, two| two.cmp(one));
    factors.dedup();
    let mut search = Search { factors, best: None };
    search.look(number, count, &mut Vec::new());
    let mut found = search.best.map_or_else(Vec::new, |it| it.1);
    found.reverse();
    found
}

/// The search for balanced factors.
struct Search {
    /// The number's factors, falling.
    factors: Vec<usize>,
    /// The best yet, rising, behind its distance.
    best: Option<(usize, Vec<usize>)>,
}

impl Search {
    /// Puts `count` more behind those that were chosen, none smaller than the one before.
    fn look(&mut self, rest: usize, count: usize, chosen: &mut Vec<usize>) {
        let low = chosen.last().copied().unwrap_or(1);
        let first = chosen.first().copied();
        match count {
            0 => return,
            1 => {
                let distance = rest - first.unwrap_or(rest);
                if rest >= low && self.best.as_ref().is_none_or(|it| distance < it.0) {
                    self.best = Some((distance, [chosen, &[rest][..]].concat()));
                }
                return;
            }
            _ => {}
        }
        let power = |it: usize, to: usize| it.checked_pow(to as u32).unwrap_or(usize::MAX);
        for at in 0..self.factors.len() {
            let factor = self.factors[at];
            if factor < low {
                return;
            }
            if power(factor, count) > rest || !rest.is_multiple_of(factor) {
                continue;
            }
            if let Some((distance, _)) = self.best {
                // All that come now would have to be smaller than this, to be nearer.
                let bound = first.unwrap_or(factor) + distance;
                if bound == 0 || power(bound - 1, count - 1) < rest / factor {
                    if first.is_none() {
                        return;
                    }
                    continue;
                }
            }
            chosen.push(factor);
            self.look(rest / factor, count - 1, chosen);
            chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_balanced() {
        // Beside the standard's examples, the falling products of small numbers.
        for (nodes, given, wanted) in [
            (6, vec![0, 0], vec![3, 2]),
            (7, vec![0, 0], vec![7, 1]),
            (6, vec![0, 3, 0], vec![2, 3, 1]),
            (8, vec![0, 0, 0], vec![2, 2, 2]),
            (12, vec![0, 0, 0], vec![3, 2, 2]),
            (24, vec![0, 0], vec![6, 4]),
            (1, vec![0, 0, 0], vec![1, 1, 1]),
            (72, vec![0, 0, 0], vec![6, 4, 3]),
            // 21 - 15 = 20 - 14.
            (5040, vec![0, 0, 0], vec![21, 16, 15]),
            (19008, vec![0, 0, 0], vec![33, 24, 24]),
            (1 << 20, vec![0; 20], vec![2; 20]),
            (1 << 19, vec![0; 20], [vec![2; 19], vec![1]].concat()),
        ] {
            let mut dims = given;
            dims_create(nodes, &mut dims).expect("it divides");
            assert_eq!(dims, wanted);
        }
        assert!(dims_create(7, &mut [0, 3, 0]).is_err());
        assert!(dims_create(6, &mut [5]).is_err());
        assert!(dims_create(6, &mut [65536; 4]).is_err());
    }

    #[test]
    fn coordinates_and_ranks_are_inverse_and_rings_wrap() {
        let cart = Cart::new(&[3, 4], &[true, false]);
        for rank in 0..12 {
            let coords: Vec<isize> = cart.coords(rank).iter().map(|it| *it as isize).collect();
            assert_eq!(cart.rank(&coords), Some(rank));
        }
        assert_eq!(cart.coords(7), [1, 3]);
        assert_eq!(cart.shift(0, 0, 1), (Some(8), Some(4)));
        assert_eq!(cart.shift(0, 1, 1).0, None);
        assert_eq!(cart.shift(3, 1, 1).1, None);
        assert_eq!(cart.sub(7, &[false, true]), (Cart::new(&[4], &[false]), 1));
        // Of no dimensions.
        let (point, which) = cart.sub(7, &[false, false]);
        assert_eq!((point.dims(), which), (&[][..], 7));
        assert_eq!((point.coords(0), point.rank(&[])), (vec![], Some(0)));
    }
}
