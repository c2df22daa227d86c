//! Communication patterns: the guest graphs that placements are made for, as steps of messages.

use super::error::PlacementError;
use crate::sorted::Listed;

/// Messages that travel at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatternStep {
    /// The step in words: "dimension 0 up", "bit 2" ..
    pub name: String,
    /// Sender, receiver, words.
    pub messages: Vec<(usize, usize, u64)>,
}

/// The neighbours of a topology, as the steps in which they exchange one word each.
///
/// Extents are given as on the command line: the last one is the fastest, `rank = row * columns +
/// column`.
///
/// ```
/// use phalanx::placement::Pattern;
///
/// let mesh = Pattern::mesh(&[2, 3])?;
/// assert_eq!(mesh.ranks(), 6);
/// assert_eq!(mesh.steps().len(), 4); // along two dimensions, both ways
/// assert_eq!(Pattern::hypercube(8)?.steps().len(), 3);
/// # Ok::<(), phalanx::placement::PlacementError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    name: String,
    /// Extents, the last dimension the fastest; the recursive mapping slices along them.
    extents: Vec<usize>,
    steps: Vec<PatternStep>,
    /// Whether neighbours in rank order are all that counts.
    chain: bool,
}

impl Pattern {
    /// Ranks in a circle, shifting up and down.
    ///
    /// # Errors
    ///
    /// [`PlacementError::NoRanks`] for 0 ranks; so for all constructors.
    pub fn ring(ranks: usize) -> Result<Pattern, PlacementError> {
        let mut pattern = Pattern::grid("ring", &[ranks], true)?;
        pattern.chain = true;
        Ok(pattern)
    }

    /// Ranks in a row.
    ///
    /// # Errors
    ///
    /// As for [`Pattern::ring`].
    pub fn linear(ranks: usize) -> Result<Pattern, PlacementError> {
        let mut pattern = Pattern::grid("linear", &[ranks], false)?;
        pattern.chain = true;
        Ok(pattern)
    }

    /// A mesh without wrap-around, of any number of dimensions.
    ///
    /// # Errors
    ///
    /// When an extent is 0 or the product does not fit.
    pub fn mesh(extents: &[usize]) -> Result<Pattern, PlacementError> {
        Pattern::grid("mesh", extents, false)
    }

    /// A mesh with wrap-around.
    ///
    /// # Errors
    ///
    /// As for [`Pattern::mesh`].
    pub fn torus(extents: &[usize]) -> Result<Pattern, PlacementError> {
        Pattern::grid("torus", extents, true)
    }

    /// Ranks exchange with the one that differs in bit 0, then in bit 1, and so on.
    ///
    /// # Errors
    ///
    /// When `ranks` is no power of two.
    pub fn hypercube(ranks: usize) -> Result<Pattern, PlacementError> {
        if ranks == 0 {
            return Err(PlacementError::NoRanks);
        }
        if !ranks.is_power_of_two() {
            return Err(PlacementError::Shape { topology: "hypercube".to_owned(), ranks });
        }
        let extents = match ranks {
            1 => vec![1],
            _ => vec![2; ranks.trailing_zeros() as usize],
        };
        Ok(Pattern { name: "hypercube".to_owned(), extents, steps: bits(ranks), chain: false })
    }

    /// A binomial tree from rank 0: in each step every rank that has the data passes it on.
    ///
    /// # Errors
    ///
    /// As for [`Pattern::ring`].
    pub fn tree(ranks: usize) -> Result<Pattern, PlacementError> {
        check(&[ranks])?;
        let mut steps = Vec::new();
        for bit in (0..usize::BITS).rev().map(|bit| 1_usize << bit).skip_while(|&b| b >= ranks) {
            let holders = (0..ranks).step_by(2 * bit).filter(|r| r + bit < ranks);
            let messages = holders.map(|r| (r, r + bit, 1)).listed();
            steps.push(PatternStep { name: format!("distance {bit}"), messages });
        }
        Ok(Pattern { name: "tree".to_owned(), extents: vec![ranks], steps, chain: false })
    }

    /// Everyone to everyone: in step `k` rank `r` sends to `r + k`. With more than 1448 ranks (two
    /// million messages), evenly spaced shifts stand for all of them.
    ///
    /// # Errors
    ///
    /// As for [`Pattern::ring`].
    pub fn all_to_all(ranks: usize) -> Result<Pattern, PlacementError> {
        check(&[ranks])?;
        let shifts = ranks - 1;
        let listed = shifts.min((MAX_MESSAGES / ranks).max(1));
        let steps = (0..listed)
            .map(|index| 1 + index * shifts / listed)
            .map(|k| PatternStep {
                name: format!("shift {k}"),
                messages: (0..ranks).map(|r| (r, (r + k) % ranks, 1)).listed(),
            })
            .listed();
        Ok(Pattern { name: "all-to-all".to_owned(), extents: vec![ranks], steps, chain: false })
    }

    /// The pattern of a team with a topology that is not known: shifts along a ring, and exchanges
    /// between ranks that differ in one bit.
    ///
    /// # Errors
    ///
    /// As for [`Pattern::ring`].
    pub fn general(ranks: usize) -> Result<Pattern, PlacementError> {
        let mut steps = Pattern::ring(ranks)?.steps;
        steps.extend(bits(ranks));
        Ok(Pattern { name: "general".to_owned(), extents: vec![ranks], steps, chain: false })
    }

    fn grid(name: &str, extents: &[usize], wrap: bool) -> Result<Pattern, PlacementError> {
        let ranks = check(extents)?;
        let mut steps = Vec::new();
        let mut stride = ranks;
        for (dimension, &extent) in extents.iter().enumerate() {
            stride /= extent;
            for up in [true, false] {
                let messages: Vec<(usize, usize, u64)> = (0..ranks)
                    .filter_map(|rank| {
                        let at = rank / stride % extent;
                        let to = if up { at + 1 } else { (at + extent).wrapping_sub(1) };
                        let inside = if up { to < extent } else { at > 0 };
                        let target = rank - at * stride + to % extent * stride;
                        (inside || wrap).then_some((rank, target, 1)).filter(|m| m.0 != m.1)
                    })
                    .listed();
                if !messages.is_empty() {
                    let way = if up { "up" } else { "down" };
                    steps.push(PatternStep {
                        name: format!("dimension {dimension} {way}"),
                        messages,
                    });
                }
            }
        }
        Ok(Pattern { name: name.to_owned(), extents: extents.to_vec(), steps, chain: false })
    }

    /// The name of the topology.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.extents.iter().product()
    }

    /// The extents, the last dimension the fastest.
    #[must_use]
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[PatternStep] {
        &self.steps
    }

    /// Whether this is [`Pattern::general`].
    pub(super) fn is_general(&self) -> bool {
        self.name == "general"
    }

    /// Whether each rank talks to those beside it, as in a ring or a line: then no placement is
    /// better than the ranks in order along the machine's logical order.
    ///
    /// # Examples
    /// ```
    /// use phalanx::placement::Pattern;
    /// assert!(Pattern::ring(4)?.is_chain() && !Pattern::mesh(&[2, 3])?.is_chain());
    /// # Ok::<(), phalanx::placement::PlacementError>(())
    /// ```
    #[must_use]
    pub fn is_chain(&self) -> bool {
        self.chain
    }
}

/// Messages that an all-to-all lists at most.
const MAX_MESSAGES: usize = 1 << 21;

/// One step per bit; partners that do not exist are skipped.
fn bits(ranks: usize) -> Vec<PatternStep> {
    (0..usize::BITS)
        .take_while(|&bit| 1 << bit < ranks)
        .map(|bit| PatternStep {
            name: format!("bit {bit}"),
            messages: (0..ranks)
                .map(|r| (r, r ^ (1 << bit), 1))
                .filter(|&(_, to, _)| to < ranks)
                .listed(),
        })
        .listed()
}

/// The product of the extents; more than 2^20 ranks are refused, as every message is listed.
fn check(extents: &[usize]) -> Result<usize, PlacementError> {
    if extents.contains(&0) || extents.is_empty() {
        return Err(PlacementError::NoRanks);
    }
    extents
        .iter()
        .try_fold(1_usize, |product, &extent| product.checked_mul(extent))
        .filter(|&ranks| ranks <= 1 << 20)
        .ok_or_else(|| PlacementError::Shape {
            topology: extents.iter().map(usize::to_string).listed().join("x"),
            ranks: usize::MAX,
        })
}
