//! Where a datatype's data lies: a tree of runs, so that a vector of vectors takes as much memory
//! and as many steps to make as two vectors do.
//!
//! | form | |
//! |---|---|
//! | block | bytes without gaps |
//! | run | copies of one shape, each as far from the last |
//! | scattered | copies of one shape at places of a list |
//! | blocks | blocks of several lengths at places of a list |
//! | list | different shapes |
//!
//! `Builder` makes the shortest form that it sees: neighbouring blocks join, equal shapes at equal
//! distances become a run, a run of runs at one distance becomes one run. So a shape is a block if
//! and only if its data lies without gaps, in its order.
//!
//! The data of a shape has positions: its bytes, counted in the order of the type map. `walk` goes
//! through any range of them, so that a copy may begin and end in the middle.

use std::ops::Range;
use std::sync::Arc;

/// Shapes of at most so many blocks become blocks of a list, if they are parts of one.
const FEW: usize = 16;

/// Where data lies from an origin.
#[derive(Clone, Debug)]
pub struct Shape {
    /// From the origin to where the form counts from.
    at: isize,
    /// Bytes of data.
    size: usize,
    /// Blocks, as far as the form knows that they are separate.
    blocks: usize,
    /// The smallest byte and the end of the largest, from `at`.
    bounds: (isize, isize),
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// The bytes from `at` on.
    Block,
    /// Each `step` bytes from the last; the shape's own `at` is 0.
    Run { count: usize, step: isize, of: Arc<Shape> },
    /// The shape's own `at` is 0.
    Scattered { places: Arc<[isize]>, of: Arc<Shape> },
    /// The place of each, and the position of its first byte.
    Blocks(Arc<[(isize, usize)]>),
    /// The position of each one's first byte, and the shape.
    List(Arc<[(usize, Shape)]>),
}

/// The pieces that `walk` meets, in the order of the data.
pub trait Visit {
    /// One block.
    fn block(&mut self, at: usize, length: usize);

    /// Blocks at equal distances.
    fn row(&mut self, at: usize, (count, step): (usize, isize), length: usize) {
        let mut at = at;
        for _ in 0..count {
            self.block(at, length);
            at = at.wrapping_add_signed(step);
        }
    }

    /// Rows at equal distances.
    fn grid(&mut self, at: usize, (rows, far): (usize, isize), row: (usize, isize), length: usize) {
        let mut at = at;
        for _ in 0..rows {
            self.row(at, row, length);
            at = at.wrapping_add_signed(far);
        }
    }

    /// Blocks at places of a list.
    fn scattered(&mut self, base: usize, places: &[isize], length: usize) {
        for place in places {
            self.block(base.wrapping_add_signed(*place), length);
        }
    }
}

impl Shape {
    /// Bytes without gaps.
    pub fn block(at: isize, size: usize) -> Shape {
        let blocks = usize::from(size > 0);
        Shape { at, size, blocks, bounds: (0, size.cast_signed()), form: Form::Block }
    }

    /// No data.
    pub fn nothing() -> Shape {
        Shape::block(0, 0)
    }

    /// Bytes of data.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of a block, in the mean.
    pub fn mean(&self) -> usize {
        self.size / self.blocks.max(1)
    }

    /// Where it begins, if it is one block or nothing.
    #[inline]
    pub fn as_block(&self) -> Option<isize> {
        matches!(self.form, Form::Block).then_some(self.at)
    }

    /// The smallest and the end of the largest byte that one touches; zeros without data.
    pub fn bounds(&self) -> (isize, isize) {
        match self.size {
            0 => (0, 0),
            _ => (self.at + self.bounds.0, self.at + self.bounds.1),
        }
    }

    /// The same elsewhere; `None` if that is farther than addresses are.
    pub fn moved(&self, by: isize) -> Option<Shape> {
        let at = self.at.checked_add(by)?;
        at.checked_add(self.bounds.0)?;
        at.checked_add(self.bounds.1)?;
        Some(Shape { at, ..self.clone() })
    }

    /// So many of it, each `step` bytes from the last; `None` if they lie farther than addresses
    /// do.
    pub fn repeated(&self, count: usize, step: isize) -> Option<Shape> {
        if count == 0 || self.size == 0 {
            return Some(Shape::nothing());
        }
        if count == 1 {
            return Some(self.clone());
        }
        let size = self.size.checked_mul(count)?;
        let size = isize::try_from(size).ok()?.cast_unsigned();
        let last = isize::try_from(count - 1).ok()?.checked_mul(step)?;
        let bounds =
            (self.bounds.0.checked_add(last.min(0))?, self.bounds.1.checked_add(last.max(0))?);
        let form = match &self.form {
            Form::Block if step == self.size.cast_signed() => {
                return Shape::block(0, size).moved(self.at);
            }
            Form::Run { count: inner, step: near, of }
                if Some(step) == near.checked_mul(inner.cast_signed()) =>
            {
                Form::Run { count: inner.checked_mul(count)?, step: *near, of: Arc::clone(of) }
            }
            _ => {
                let of = Arc::new(Shape { at: 0, ..self.clone() });
                Form::Run { count, step, of }
            }
        };
        let blocks = self.blocks.saturating_mul(count);
        Shape { at: 0, size, blocks, bounds, form }.moved(self.at)
    }

    /// Whether they differ at most in their place, as far as is seen at once.
    fn is_same(&self, other: &Shape) -> bool {
        self.size == other.size
            && match (&self.form, &other.form) {
                (Form::Block, Form::Block) => true,
                (
                    Form::Run { count, step, of },
                    Form::Run { count: other_count, step: other_step, of: other },
                ) => {
                    (count, step) == (other_count, other_step)
                        && (Arc::ptr_eq(of, other) || of.is_same(other))
                }
                (
                    Form::Scattered { places, of },
                    Form::Scattered { places: other_places, of: other },
                ) => Arc::ptr_eq(places, other_places) && Arc::ptr_eq(of, other),
                (Form::Blocks(all), Form::Blocks(other)) => Arc::ptr_eq(all, other),
                (Form::List(all), Form::List(other)) => Arc::ptr_eq(all, other),
                _ => false,
            }
    }

    /// Goes through the positions `range` of `count` of these at `base`, each `step` bytes from the
    /// last; they have so many.
    pub fn walk(&self, base: usize, step: isize, range: Range<usize>, to: &mut impl Visit) {
        if range.is_empty() || self.size == 0 {
            return;
        }
        let at = |index: usize| base.wrapping_add_signed(step.wrapping_mul(index.cast_signed()));
        let (mut index, start) = (range.start / self.size, range.start % self.size);
        let mut left = range.len();
        if start > 0 || left < self.size {
            let end = self.size.min(start + left);
            self.part(at(index), start..end, to);
            left -= end - start;
            index += 1;
        }
        let whole = left / self.size;
        self.whole(at(index), (whole, step), to);
        if !left.is_multiple_of(self.size) {
            self.part(at(index + whole), 0..left % self.size, to);
        }
    }

    /// Goes through some positions of one.
    fn part(&self, base: usize, range: Range<usize>, to: &mut impl Visit) {
        if range == (0..self.size) {
            return self.whole(base, (1, 0), to);
        }
        if range.is_empty() {
            return;
        }
        let base = base.wrapping_add_signed(self.at);
        // A part of the one at `index` of a list, and whether the list goes on.
        match &self.form {
            Form::Block => to.block(base + range.start, range.len()),
            Form::Run { step, of, .. } => of.walk(base, *step, range, to),
            Form::Scattered { places, of } => {
                let mut start = range.start;
                for place in &places[start / of.size..] {
                    let from = start % of.size;
                    let end = of.size.min(from + range.end - start);
                    of.part(base.wrapping_add_signed(*place), from..end, to);
                    start += end - from;
                    if start == range.end {
                        break;
                    }
                }
            }
            Form::Blocks(all) => {
                let first = all.partition_point(|it| it.1 <= range.start) - 1;
                for (index, (place, position)) in all.iter().enumerate().skip(first) {
                    let end = all.get(index + 1).map_or(self.size, |it| it.1).min(range.end);
                    let from = range.start.max(*position);
                    let at = base.wrapping_add_signed(*place).wrapping_add(from - position);
                    to.block(at, end - from);
                    if end == range.end {
                        break;
                    }
                }
            }
            Form::List(all) => {
                let first = all.partition_point(|it| it.0 <= range.start) - 1;
                for (position, shape) in &all[first..] {
                    let from = range.start.max(*position) - position;
                    let end = shape.size.min(range.end - position);
                    shape.part(base, from..end, to);
                    if position + end == range.end {
                        break;
                    }
                }
            }
        }
    }

    /// Goes through so many of it, each `step` bytes from the last.
    fn whole(&self, base: usize, (count, step): (usize, isize), to: &mut impl Visit) {
        if count == 0 || self.size == 0 {
            return;
        }
        let mut base = base.wrapping_add_signed(self.at);
        match &self.form {
            Form::Block if count == 1 => return to.block(base, self.size),
            Form::Block => return to.row(base, (count, step), self.size),
            Form::Run { count: inner, step: near, of } if matches!(of.form, Form::Block) => {
                return match count {
                    1 => to.row(base, (*inner, *near), of.size),
                    _ => to.grid(base, (count, step), (*inner, *near), of.size),
                };
            }
            _ => {}
        }
        for _ in 0..count {
            match &self.form {
                Form::Block => {}
                Form::Run { count, step, of } => of.whole(base, (*count, *step), to),
                Form::Scattered { places, of } if matches!(of.form, Form::Block) => {
                    to.scattered(base, places, of.size);
                }
                Form::Scattered { places, of } => {
                    for place in &places[..] {
                        of.whole(base.wrapping_add_signed(*place), (1, 0), to);
                    }
                }
                Form::Blocks(all) => {
                    let ends = all[1..].iter().map(|it| it.1).chain([self.size]);
                    for ((place, position), end) in all.iter().zip(ends) {
                        to.block(base.wrapping_add_signed(*place), end - position);
                    }
                }
                Form::List(all) => {
                    for (_, shape) in &all[..] {
                        shape.whole(base, (1, 0), to);
                    }
                }
            }
            base = base.wrapping_add_signed(step);
        }
    }

    /// Its blocks: place and length.
    fn each_block(&self, see: impl FnMut(isize, usize)) {
        struct Blocks<F>(F);
        impl<F: FnMut(isize, usize)> Visit for Blocks<F> {
            fn block(&mut self, at: usize, length: usize) {
                (self.0)(at.cast_signed(), length);
            }
        }
        // Addresses from an origin at 0.
        self.whole(0, (1, 0), &mut Blocks(see));
    }

    /// Its blocks, neighbours joined.
    #[cfg(test)]
    pub fn list(&self) -> Vec<(isize, usize)> {
        let mut all: Vec<(isize, usize)> = Vec::new();
        self.each_block(|at, length| match all.last_mut() {
            Some(last) if last.0 + last.1.cast_signed() == at => last.1 += length,
            _ => all.push((at, length)),
        });
        all
    }
}

/// Makes a shape of parts, in their order.
#[derive(Debug, Default)]
pub struct Builder {
    groups: Vec<Group>,
}

/// Parts that follow each other, and have something in common.
#[derive(Debug)]
enum Group {
    /// One shape, with its `at` 0, at several places.
    Copies(Shape, Vec<isize>),
    /// Blocks of several lengths: place and length.
    Blocks(Vec<(isize, usize)>),
}

impl Group {
    /// `None` if it reaches farther than addresses do.
    fn into_shape(self) -> Option<Shape> {
        let (of, places) = match self {
            Group::Copies(of, places) => (of, places),
            Group::Blocks(all) if all.iter().all(|it| it.1 == all[0].1) => {
                (Shape::block(0, all[0].1), all.iter().map(|it| it.0).collect())
            }
            // Short ones of a few units are copied faster as units, which need no more memory.
            Group::Blocks(all) if unit_of(&all).is_some() => {
                let unit = unit_of(&all).unwrap_or(1);
                let units = |it: &(isize, usize)| {
                    let (place, length) = *it;
                    (0..length / unit).map(move |it| place + (it * unit).cast_signed())
                };
                (Shape::block(0, unit), all.iter().flat_map(units).collect())
            }
            Group::Blocks(all) => {
                let (mut size, mut bounds) = (0_usize, (isize::MAX, isize::MIN));
                let mut list = Vec::with_capacity(all.len());
                for (place, length) in all {
                    list.push((place, size));
                    size = size.checked_add(length)?;
                    let end = place.checked_add(isize::try_from(length).ok()?)?;
                    bounds = (bounds.0.min(place), bounds.1.max(end));
                }
                let (blocks, form) = (list.len(), Form::Blocks(list.into()));
                return Some(Shape { at: 0, size, blocks, bounds, form });
            }
        };
        let step = places.get(1).map_or(0, |it| it.wrapping_sub(places[0]));
        if places.windows(2).all(|it| it[1].wrapping_sub(it[0]) == step) {
            return of.repeated(places.len(), step)?.moved(places[0]);
        }
        let bounds = places
            .iter()
            .fold((isize::MAX, isize::MIN), |all, it| (all.0.min(*it), all.1.max(*it)));
        let (low, high) = (bounds.0.checked_add(of.bounds.0)?, bounds.1.checked_add(of.bounds.1)?);
        Some(Shape {
            at: 0,
            size: of.size.checked_mul(places.len())?,
            blocks: of.blocks.saturating_mul(places.len()),
            bounds: (low, high),
            form: Form::Scattered { places: places.into(), of: Arc::new(of) },
        })
    }
}

/// The length of which all lengths are multiples, if they are twice as much in the mean at most.
fn unit_of(blocks: &[(isize, usize)]) -> Option<usize> {
    let sum: usize = blocks.iter().map(|it| it.1).fold(0, usize::saturating_add);
    let fits = |unit: &usize| {
        sum / unit <= 2 * blocks.len() && blocks.iter().all(|it| it.1.is_multiple_of(*unit))
    };
    [16, 8, 4].into_iter().find(fits)
}

impl Builder {
    /// The next part.
    pub fn push(&mut self, shape: Shape) {
        if shape.size == 0 {
            return;
        }
        if matches!(shape.form, Form::Block) {
            return self.push_block(shape.at, shape.size);
        }
        let at = shape.at;
        match self.groups.last_mut() {
            Some(Group::Copies(of, places)) if of.is_same(&shape) => places.push(at),
            _ => self.groups.push(Group::Copies(Shape { at: 0, ..shape }, vec![at])),
        }
    }

    fn push_block(&mut self, mut at: isize, mut length: usize) {
        let mut is_empty = false;
        match self.groups.last_mut() {
            Some(Group::Blocks(all)) => {
                match all.last_mut() {
                    Some(last) if last.0.wrapping_add_unsigned(last.1) == at => last.1 += length,
                    _ => all.push((at, length)),
                }
                return;
            }
            Some(Group::Copies(of, places)) if matches!(of.form, Form::Block) => {
                // A longer block in place of the last, if they are neighbours.
                if let Some(last) = places.pop_if(|it| it.wrapping_add_unsigned(of.size) == at) {
                    (at, length) = (last, length + of.size);
                }
                is_empty = places.is_empty();
                if of.size == length {
                    places.push(at);
                    return;
                }
                if !is_empty {
                    let mut all: Vec<_> = places.iter().map(|it| (*it, of.size)).collect();
                    all.push((at, length));
                    self.groups.pop();
                    self.groups.push(Group::Blocks(all));
                    return;
                }
            }
            _ => {}
        }
        if is_empty {
            self.groups.pop();
        }
        self.groups.push(Group::Copies(Shape::block(0, length), vec![at]));
    }

    /// The shape; `None` if it reaches farther than addresses do.
    pub fn finish(self) -> Option<Shape> {
        if self.groups.len() < 2 {
            return self.joined();
        }
        // A shape of few blocks is no branch of the tree, but these blocks.
        let mut flat = Builder::default();
        for group in self.groups {
            let shape = group.into_shape()?;
            match &shape.form {
                _ if shape.blocks <= FEW => {
                    shape.each_block(|at, length| flat.push_block(at, length));
                }
                Form::List(all) if all.len() <= FEW => {
                    for (_, part) in &all[..] {
                        flat.push(part.moved(shape.at)?);
                    }
                }
                _ => flat.push(shape),
            }
        }
        flat.joined()
    }

    fn joined(self) -> Option<Shape> {
        let mut all = Vec::with_capacity(self.groups.len());
        let (mut size, mut blocks) = (0_usize, 0_usize);
        let mut bounds = (isize::MAX, isize::MIN);
        for group in self.groups {
            let shape = group.into_shape()?;
            let own = shape.bounds();
            bounds = (bounds.0.min(own.0), bounds.1.max(own.1));
            blocks = blocks.saturating_add(shape.blocks);
            let position = size;
            size = size.checked_add(shape.size)?;
            all.push((position, shape));
        }
        match all.len() {
            0 => Some(Shape::nothing()),
            1 => all.pop().map(|it| it.1),
            _ => Some(Shape { at: 0, size, blocks, bounds, form: Form::List(all.into()) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(parts: impl IntoIterator<Item = Shape>) -> Shape {
        let mut builder = Builder::default();
        parts.into_iter().for_each(|it| builder.push(it));
        builder.finish().expect("near")
    }

    #[test]
    fn the_shortest_form_is_found() {
        // Neighbours join, equal distances are a run, and a run of runs may be one.
        let row = made((0..1000).map(|it| Shape::block(it * 8, 8)));
        assert_eq!(row.as_block(), Some(0));
        let column = made((0..1000).map(|it| Shape::block(it * 32, 8)));
        assert!(matches!(&column.form, Form::Run { count: 1000, step: 32, .. }));
        let long = column.repeated(1000, 32_000).expect("near");
        assert!(matches!(&long.form, Form::Run { count: 1_000_000, step: 32, .. }));
        let same = made((0..1000).map(|it| column.moved(it * 32_000).expect("near")));
        assert!(same.is_same(&long));
        // Pairs of neighbours at equal distances.
        let pairs = made((0..20).map(|it| Shape::block(it / 2 * 100 + it % 2 * 4, 4)));
        assert!(matches!(&pairs.form, Form::Run { count: 10, step: 100, .. }));
        assert_eq!((pairs.size(), pairs.mean()), (80, 8));
        // Unequal distances, and unequal lengths.
        let some = made((0..1000).map(|it| Shape::block(it * it * 8 + it, 8)));
        assert!(matches!(&some.form, Form::Scattered { places, .. } if places.len() == 1000));
        let some = made((1..1000).map(|it| Shape::block(it * it * 8, it.cast_unsigned())));
        assert!(matches!(&some.form, Form::Blocks(all) if all.len() == 999));
        // Elements of which some are neighbours.
        let some = made((0..999).map(|it| Shape::block((it * 3 + it % 3) * 8, 8)));
        assert!(matches!(&some.form, Form::Scattered { places, .. } if places.len() == 999));
        assert_eq!((some.size(), some.list().len()), (999 * 8, 667));
        // A few blocks are no branch.
        let few =
            made([column.clone(), pairs, Shape::block(-9, 3), column.repeated(2, 8).unwrap()]);
        assert!(matches!(&few.form, Form::List(all) if all.len() == 3));
    }

    #[test]
    fn what_is_too_far_is_refused() {
        let block = Shape::block(0, 8);
        assert!(block.moved(isize::MAX - 3).is_none());
        assert!(block.repeated(1 << 61, 8).is_none());
        assert!(block.repeated(1 << 40, 1 << 30).is_none());
        assert!(block.repeated(1 << 40, -(1 << 20)).is_some());
        let mut builder = Builder::default();
        builder.push(Shape::block(isize::MAX - 100, 8));
        builder.push(Shape::block(isize::MIN, 8));
        builder.push(Shape::block(isize::MAX - 3, 9));
        assert!(builder.finish().is_none());
    }
}
