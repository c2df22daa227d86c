//! Elements that the ranks of a team have written, each into pages that it has touched first.

use super::handle::Team;
use crate::error::Error;
use crate::mailbox::{FreshMemory, HugePages};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// Memory of which every place has its element.
pub(super) struct FilledMemory<T>(FreshMemory<T>);

/// Which memory a rank writes to, and how many of its places.
pub(super) type RankPlaces = (usize, usize);

impl<T: Send> FilledMemory<T> {
    /// Fills all `memories`, in one run: rank r puts `make(i)` into the places of `shares[r]`, for
    /// each i of `elements(r)`. The places of a memory's ranks follow one another, in rank order.
    ///
    /// If the run fails, elements that were made are dropped.
    #[track_caller]
    pub(super) fn fill<I: Iterator<Item = usize>>(
        team: &Team,
        mut memories: Vec<FreshMemory<T>>,
        shares: &[RankPlaces],
        elements: impl Fn(usize) -> I + Sync,
        make: impl Fn(usize) -> T + Sync,
    ) -> Result<Vec<FilledMemory<T>>, Error> {
        let mut rest: Vec<_> = memories.iter_mut().map(FreshMemory::places).collect();
        let next = |&(memory, count): &RankPlaces| {
            let (places, tail) = std::mem::take(&mut rest[memory]).split_at_mut(count);
            rest[memory] = tail;
            Writing { places, written: 0 }
        };
        let mut parts: Vec<Writing<'_, T>> = shares.iter().map(next).collect();
        // Else places would be left without an element.
        assert!(rest.iter().all(|rest| rest.is_empty()), "places that no rank fills");
        let fitting = team.run_with(&mut parts, |comm, part| {
            let _near = comm.keep_near();
            let mut elements = elements(comm.rank());
            part.write(&mut elements, &make) && elements.next().is_none()
        });
        let fitting = match fitting {
            Ok(fitting) => fitting,
            Err(error) => {
                if matches!(error, Error::Forked) {
                    // Ranks of the parent may have been writing there when it forked.
                    parts.iter_mut().for_each(Writing::keep);
                }
                return Err(error);
            }
        };
        if let Some(rank) = fitting.iter().position(|fits| !fits) {
            let counted = shares[rank].1;
            return Err(Error::parts(format_args!(
                "the distribution counts {counted} elements of rank {rank}, and lists others"
            )));
        }
        parts.iter_mut().for_each(Writing::keep);
        drop(parts);
        Ok(memories.into_iter().map(FilledMemory).collect())
    }
}

impl<T> FilledMemory<T> {
    pub(super) fn huge_pages(&self) -> HugePages {
        HugePages::of(&self.0)
    }
}

impl<T> Deref for FilledMemory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: every place has its element (`fill`), and they are borrowed as this is.
        unsafe { std::slice::from_raw_parts(self.0.at().as_ptr(), self.0.len()) }
    }
}

impl<T> DerefMut for FilledMemory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.0.at().as_ptr(), self.0.len()) }
    }
}

impl<T> Drop for FilledMemory<T> {
    fn drop(&mut self) {
        // SAFETY: every place has its element, and nobody uses them any more.
        unsafe { std::ptr::drop_in_place::<[T]>(&mut **self) };
    }
}

/// A rank's places while it writes them. It drops those written, until it is to keep them.
struct Writing<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    written: usize,
}

impl<T> Writing<'_, T> {
    /// From now on its elements belong to the memory.
    fn keep(&mut self) {
        self.written = 0;
    }

    /// Writes each place; whether there were elements enough.
    fn write(
        &mut self,
        elements: &mut impl Iterator<Item = usize>,
        make: &impl Fn(usize) -> T,
    ) -> bool {
        for place in &mut *self.places {
            let Some(i) = elements.next() else { return false };
            place.write(make(i));
            self.written += 1;
        }
        true
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        let written = &mut self.places[..self.written];
        // SAFETY: the first `written` places have elements, which nobody else drops: a memory drops
        // its own only after `keep`.
        unsafe { std::ptr::drop_in_place(std::ptr::from_mut(written) as *mut [T]) };
    }
}
