//! The part of a distributed array that falls to one rank, as a datatype.

use super::error::{Class, Outcome, error};
use super::standard::{
    DISTRIBUTE_BLOCK as BLOCK, DISTRIBUTE_CYCLIC as CYCLIC, DISTRIBUTE_DFLT_DARG as DEFAULT,
    DISTRIBUTE_NONE as NONE,
};
use super::types::Type;
use std::ffi::c_int;

/// A dimension of a distributed array: the part of it that a rank has.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Elements in all.
    size: usize,
    /// Elements of a block.
    block: usize,
    /// From this rank's blocks to the next.
    step: usize,
    /// The rank's first element.
    first: usize,
}

impl Axis {
    /// Of `size` elements, divided among `places` as `kind` and `argument` say, for `place`.
    ///
    /// # Errors
    /// If these do not agree.
    pub fn new(
        size: i64,
        kind: c_int,
        argument: c_int,
        places: c_int,
        place: c_int,
    ) -> Outcome<Axis> {
        if size < 1 || places < 1 {
            return error(Class::Arg, format!("{size} elements among {places} ranks"));
        }
        let block = match (kind, argument) {
            (NONE, _) if places == 1 => size,
            (BLOCK, DEFAULT) => (size - 1) / i64::from(places) + 1,
            (BLOCK, given) if given > 0 && i64::from(given) * i64::from(places) >= size => {
                given.into()
            }
            (CYCLIC, DEFAULT) => 1,
            (CYCLIC, given) if given > 0 => given.into(),
            _ => {
                let text = format!("distribution {kind} by {argument} of {size} among {places}");
                return error(Class::Arg, text);
            }
        };
        let (size, block) = (size as usize, block as usize);
        Ok(Axis { size, block, step: block * places as usize, first: block * place as usize })
    }

    /// The rank's runs of elements: start and length.
    fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        let Axis { size, block, step, first } = *self;
        (first..size).step_by(step).map(move |at| (at, block.min(size - at)))
    }
}

/// The datatype of a rank's part, the fastest dimension first.
///
/// # Errors
/// If it is larger than addresses are.
pub fn distributed(axes: &[Axis], old: &Type) -> Outcome<Type> {
    let mut ty = old.clone();
    let mut stride = old.extent;
    for axis in axes {
        let parts = axis.runs().map(|(at, length)| (at as isize * stride, length, &ty));
        let next = Type::structure(parts, "a distributed array's type")?;
        stride *= axis.size as isize;
        // The next dimension's elements are as long as this whole one.
        ty = next.resized(0, stride);
    }
    Ok(ty)
}

#[cfg(test)]
mod tests {
    use super::super::basic::basic;
    use super::*;

    fn elements(axes: &[Axis]) -> Vec<isize> {
        let int = Type::basic(basic(0x209).expect("MPI_INT"), 0x209);
        let ty = distributed(axes, &int).expect("small");
        let one = |at: isize, length: usize| (0..length as isize / 4).map(move |it| at / 4 + it);
        ty.shape.list().into_iter().flat_map(|(at, length)| one(at, length)).collect()
    }

    #[test]
    fn blocks_and_cycles() {
        let axis = |kind, argument, place| Axis::new(10, kind, argument, 3, place).expect("fits");
        assert_eq!(elements(&[axis(BLOCK, DEFAULT, 2)]), [8, 9]);
        assert_eq!(elements(&[axis(CYCLIC, DEFAULT, 1)]), [1, 4, 7]);
        assert_eq!(elements(&[axis(CYCLIC, 2, 0)]), [0, 1, 6, 7]);
        assert!(Axis::new(10, BLOCK, 3, 3, 0).is_err());
        assert!(Axis::new(10, NONE, DEFAULT, 3, 0).is_err());
    }

    #[test]
    fn all_ranks_together_have_all_elements_once() {
        let mut all = Vec::new();
        for row in 0..2 {
            for column in 0..3 {
                let fast = Axis::new(7, CYCLIC, 2, 3, column).expect("fits");
                let slow = Axis::new(5, BLOCK, DEFAULT, 2, row).expect("fits");
                all.extend(elements(&[fast, slow]));
            }
        }
        all.sort_unstable();
        assert_eq!(all, (0..35).collect::<Vec<isize>>());
    }
}
