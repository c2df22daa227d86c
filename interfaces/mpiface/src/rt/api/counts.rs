//! Numbers of things, as C gives and takes them: `int`, or MPI_Count in a function whose name ends
//! with _c.
//!
//! # Safety
//! As in `arguments.rs`.

use super::prelude::*;

/// A number of things, as C gives it.
#[inline]
pub(super) fn count_of(count: impl Into<i64>) -> Outcome<usize> {
    let count = count.into();
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => error(Class::Count, format!("the count {count} is negative")),
    }
}

pub(super) fn counts_of<T: Copy + Into<i64>>(counts: &[T]) -> Outcome<Vec<usize>> {
    counts.iter().map(|it| count_of(*it)).collect()
}

/// The sum of counts.
fn total_of(counts: &[i64]) -> Outcome<i64> {
    sum(counts.iter().try_fold(0, |sum: i64, it| sum.checked_add(*it)))
}

fn sum(sum: Option<i64>) -> Outcome<i64> {
    sum.map_or_else(|| error(Class::Count, "the counts together are too large"), Ok)
}

/// A list of counts, or of displacements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counts {
    Near(List<c_int>),
    Far(List<i64>),
}

impl Counts {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn near(at: *const c_int) -> Counts {
        // SAFETY: passed on.
        Counts::Near(unsafe { List::new(at) })
    }

    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn far(at: *const i64) -> Counts {
        // SAFETY: passed on.
        Counts::Far(unsafe { List::new(at) })
    }

    /// The same, made anew (`Caller::again`).
    #[inline(always)]
    pub(super) fn again(self) -> Counts {
        match self {
            Counts::Near(list) => Counts::Near(list),
            Counts::Far(list) => Counts::Far(list),
        }
    }

    /// Its elements; none if it is a null pointer, or the count is negative.
    pub(super) fn take(self, count: impl Into<i64>) -> impl ExactSizeIterator<Item = i64> + Clone {
        let count = count.into();
        let (near, far) = match self {
            Counts::Near(list) => (list.take(count), [].as_slice()),
            Counts::Far(list) => ([].as_slice(), list.take(count)),
        };
        let length = near.len().max(far.len());
        (0..length).map(move |it| near.get(it).map_or_else(|| far[it], |it| (*it).into()))
    }

    /// Whether the list is given.
    #[inline(always)]
    pub(super) fn are_there(self) -> bool {
        match self {
            Counts::Near(list) => list.address() != 0,
            Counts::Far(list) => list.address() != 0,
        }
    }

    /// One of them: of a list that is given, and has as many.
    #[inline(always)]
    pub(super) fn at(self, index: usize) -> i64 {
        match self {
            Counts::Near(list) => list.at(index).into(),
            Counts::Far(list) => list.at(index),
        }
    }

    /// The same, which has so many elements.
    pub(super) fn given(self, n: usize) -> Outcome<Counts> {
        if n > 0 && !self.are_there() {
            return error(Class::Arg, "a list with an entry for each rank is a null pointer");
        }
        Ok(self)
    }

    /// So many elements.
    pub(super) fn some(self, n: usize) -> Outcome<impl ExactSizeIterator<Item = i64> + Clone> {
        let all = self.given(n)?;
        Ok((0..n).map(move |it| all.at(it)))
    }
}

/// The lengths of the parts of a vector: a list, or one for all.
pub(super) trait Lengths: Copy {
    /// For so many ranks: their sum, and each.
    fn lengths(self, n: usize) -> Outcome<(i64, Vec<usize>)>;
}

impl Lengths for Counts {
    fn lengths(self, n: usize) -> Outcome<(i64, Vec<usize>)> {
        let all: Vec<i64> = self.some(n)?.collect();
        Ok((total_of(&all)?, counts_of(&all)?))
    }
}

impl Lengths for i64 {
    fn lengths(self, n: usize) -> Outcome<(i64, Vec<usize>)> {
        let each = vec![count_of(self)?; n];
        Ok((sum(self.checked_mul(n as i64))?, each))
    }
}

/// Where a count is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum CountOut {
    Near(Out<c_int>),
    Far(Out<i64>),
}

impl CountOut {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn near(at: *mut c_int) -> CountOut {
        // SAFETY: passed on.
        CountOut::Near(unsafe { Out::new(at) })
    }

    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn far(at: *mut i64) -> CountOut {
        // SAFETY: passed on.
        CountOut::Far(unsafe { Out::new(at) })
    }

    /// Writes it: undefined if it does not fit, or is none.
    pub(super) fn set(self, count: impl Into<Option<usize>>) {
        let count = count.into();
        match self {
            CountOut::Near(out) => out.set(count.map_or(UNDEFINED, int)),
            CountOut::Far(out) => {
                let fits = count.and_then(|it| i64::try_from(it).ok());
                out.set(fits.unwrap_or(UNDEFINED.into()));
            }
        }
    }

    /// The value there.
    pub(super) fn get(self) -> i64 {
        match self {
            CountOut::Near(out) => out.get().into(),
            CountOut::Far(out) => out.get(),
        }
    }
}
