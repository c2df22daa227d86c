//! Collectives on the library's route: its mailboxes, gates and algorithms.
//!
//! Data is moved as bytes. Data with gaps is packed before and unpacked after: all ranks see
//! contiguous bytes, whatever datatype each gives.

use super::coll::Call;
use super::comm::Terms;
use super::error::{Class, Outcome, error};
use super::flat::{Flat, direct};
use super::ops::Mark;
use super::reduction::{Reduction, To};
use super::types::{Place, copy};
use phalanx::Comm;
use phalanx::engine::{Operation, ReductionCut};

/// The data that a rank exchanges with itself alone.
///
/// # Safety
/// As `copy`.
unsafe fn alone(from: Option<&Place>, to: Option<&Place>) -> Outcome {
    let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
    same_bytes(from.bytes(), to.bytes())?;
    // SAFETY: the caller's promise.
    unsafe { copy(from, to) };
    Ok(())
}

fn same_bytes(given: usize, expected: usize) -> Outcome {
    if given == expected {
        return Ok(());
    }
    error(Class::Truncate, format!("{given} bytes are given, and {expected} are expected"))
}

impl Call<'_> {
    /// Whether the library has a communicator for this one.
    #[inline]
    pub fn is_routed(&self) -> bool {
        self.comm.size() > 1 && !self.comm.is_inter()
    }

    /// Makes a call of the library as this one.
    #[inline(always)]
    pub fn library<R>(&self, terms: Terms, run: impl FnOnce(&mut Comm) -> R) -> R {
        self.comm.call_library(self.world, self.site, terms, run)
    }

    /// All have come.
    #[inline]
    pub fn barrier(&self) {
        if self.is_routed() {
            self.library(Terms::default(), Comm::barrier);
        }
    }

    /// The root's data for all.
    ///
    /// # Safety
    /// `place` is memory of the program as its type says; but at the root it may be written.
    pub unsafe fn broadcast(&self, place: &Place, root: usize) {
        if !self.is_routed() {
            return;
        }
        // SAFETY: the caller's promise.
        if let Some(bytes) = unsafe { direct(place) } {
            let terms = Terms { root: Some(root), bytes: Some(bytes.len()), op: Mark::None };
            self.library(terms, |comm| comm.broadcast(bytes, root));
            return;
        }
        let is_root = self.comm.rank == root;
        let mut flat = match is_root {
            // SAFETY: the caller's promise.
            true => unsafe { Flat::of(place) },
            false => Flat::for_data(place),
        };
        let terms = Terms { root: Some(root), bytes: Some(flat.bytes), op: Mark::None };
        // SAFETY: as above.
        unsafe {
            let bytes = flat.bytes_mut();
            self.library(terms, |comm| comm.broadcast(bytes, root));
            if !is_root {
                flat.give(place);
            }
        }
    }

    /// Every rank's data, in their order, at the root: `all` is given there.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `all` may be written, and overlaps
    /// `own` only if that is its part of this rank.
    pub unsafe fn gather(&self, own: &Place, all: Option<&Place>, root: usize) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(Some(own), all) };
        }
        let Some(place) = all else {
            // SAFETY: the caller's promise.
            if let Some(own) = unsafe { direct(own) } {
                let terms = Terms { root: Some(root), bytes: Some(own.len()), op: Mark::None };
                self.library(terms, |comm| comm.gather_into(own, &mut [], root));
                return Ok(());
            }
            // SAFETY: the caller's promise.
            let mut own = unsafe { Flat::of(own) };
            let terms = Terms { root: Some(root), bytes: Some(own.bytes), op: Mark::None };
            // SAFETY: as above.
            let own = unsafe { own.bytes() };
            self.library(terms, |comm| comm.gather_into(own, &mut [], root));
            return Ok(());
        };
        same_bytes(own.bytes() * self.comm.size(), place.bytes())?;
        let is_inside =
            (place.address..place.address + place.bytes().max(1)).contains(&own.address);
        let terms = Terms { root: Some(root), bytes: Some(own.bytes()), op: Mark::None };
        if !is_inside
            // SAFETY: the caller's promise; they do not overlap.
            && let (Some(own), Some(all)) = unsafe { (direct(own), direct(place)) }
        {
            self.library(terms, |comm| comm.gather_into(own, all, root));
            return Ok(());
        }
        // SAFETY: as above; data in place is copied first.
        unsafe {
            let kept;
            let mut own = Flat::of(own);
            let own = if is_inside && own.is_direct() {
                kept = own.bytes().to_vec();
                &kept[..]
            } else {
                own.bytes()
            };
            let mut all = Flat::for_data(place);
            let bytes = all.bytes_mut();
            self.library(terms, |comm| comm.gather_into(own, bytes, root));
            all.give(place);
        }
        Ok(())
    }

    /// Every rank's data, in their order, for all; `own` is none if it lies in its place already.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `all` may be written, and does not
    /// overlap `own`.
    pub unsafe fn all_gather(&self, own: Option<&Place>, place: &Place) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(own, Some(place)) };
        }
        let block = place.bytes() / self.comm.size();
        own.map_or(Ok(()), |own| same_bytes(own.bytes(), block))?;
        let terms = Terms { bytes: Some(block), ..Terms::default() };
        if let Some(own) = own
            // SAFETY: the caller's promise.
            && let (Some(own), Some(all)) = unsafe { (direct(own), direct(place)) }
        {
            self.library(terms, |comm| comm.all_gather_into(own, all));
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            match own {
                Some(own) => {
                    let mut own = Flat::of(own);
                    let mut all = Flat::for_data(place);
                    let (own, bytes) = (own.bytes(), all.bytes_mut());
                    self.library(terms, |comm| comm.all_gather_into(own, bytes));
                    all.give(place);
                }
                None => {
                    let mut all = Flat::of(place);
                    let bytes = all.bytes_mut();
                    self.library(terms, |comm| comm.all_gather_in_place(bytes));
                    all.give(place);
                }
            }
        }
        Ok(())
    }

    /// A part of the root's data for each; `own` is none if the root's stays where it is.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `own` may be written, and does not
    /// overlap `all`.
    pub unsafe fn scatter(&self, all: Option<&Place>, own: Option<&Place>, root: usize) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(all, own) };
        }
        let block = all.map(|it| it.bytes() / self.comm.size());
        let bytes = own.map(Place::bytes).or(block).unwrap_or(0);
        block.map_or(Ok(()), |it| same_bytes(it, bytes))?;
        let terms = Terms { root: Some(root), bytes: Some(bytes), op: Mark::None };
        if let Some(own) = own
            // SAFETY: the caller's promise.
            && let Some(own) = unsafe { direct(own) }
        {
            // SAFETY: as above.
            let from = all.map_or(Some(&mut [][..]), |it| unsafe { direct(it) });
            if let Some(from) = from {
                self.library(terms, |comm| comm.scatter_into(from, own, root));
                return Ok(());
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            let mut all = all.map(|it| Flat::of(it));
            let all = all.as_mut().map_or(&[][..], |it| it.bytes());
            let mut mine = own.map_or_else(|| Flat::room(bytes, bytes), Flat::for_data);
            let to = mine.bytes_mut();
            self.library(terms, |comm| comm.scatter_into(all, to, root));
            own.into_iter().for_each(|own| mine.give(own));
        }
        Ok(())
    }

    /// Each rank gives each a part; `from` is none if it lies where the others' will go.
    ///
    /// # Safety
    /// The places are memory of the program as their types say; `to` may be written, and does not
    /// overlap `from`.
    pub unsafe fn all_to_all(&self, from: Option<&Place>, to: &Place) -> Outcome {
        if !self.is_routed() {
            // SAFETY: the caller's promise.
            return unsafe { alone(from, Some(to)) };
        }
        from.map_or(Ok(()), |from| same_bytes(from.bytes(), to.bytes()))?;
        let terms = Terms { bytes: Some(to.bytes() / self.comm.size()), ..Terms::default() };
        if let Some(from) = from
            // SAFETY: the caller's promise.
            && let (Some(from), Some(to)) = unsafe { (direct(from), direct(to)) }
        {
            self.library(terms, |comm| comm.all_to_all_into(from, to));
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            match from {
                Some(from) => {
                    let (mut from, mut flat) = (Flat::of(from), Flat::for_data(to));
                    let (send, recv) = (from.bytes(), flat.bytes_mut());
                    self.library(terms, |comm| comm.all_to_all_into(send, recv));
                    flat.give(to);
                }
                None => {
                    let mut flat = Flat::of(to);
                    let bytes = flat.bytes_mut();
                    self.library(terms, |comm| comm.all_to_all_in_place(bytes));
                    flat.give(to);
                }
            }
        }
        Ok(())
    }

    /// Combines all ranks' values; the result goes to `target` where it is given: at every rank, or
    /// at the root.
    ///
    /// # Safety
    /// The places are memory of the program as their types say, as many elements each; the target
    /// may be written.
    pub unsafe fn reduce(&self, it: &Reduction<'_>, target: Option<&Place>, root: Option<usize>) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut flat = it.start(target);
            let at = flat.at();
            let to = root.map_or(To::All, To::Root);
            self.library(it.terms(root), |comm| it.run(comm, at, to));
            if let Some(target) = target.filter(|_| !flat.is_direct()) {
                std::ptr::copy_nonoverlapping(at, target.address as *mut u8, flat.bytes);
            }
        }
    }

    /// Combines all ranks' values, and gives each rank its part: so many elements.
    ///
    /// # Safety
    /// As `reduce`; the target has this rank's part.
    pub unsafe fn reduce_scatter(&self, it: &Reduction<'_>, counts: &[usize], target: &Place) {
        let bytes = counts[self.comm.rank] * it.size;
        // SAFETY: the caller's promise; the values are copied, so the target may lie among them.
        unsafe {
            let (mut all, mut part) = (it.start(None), Flat::room(bytes, bytes));
            let (at, own) = (all.at(), part.at());
            self.library(it.terms(None), |comm| it.run(comm, at, To::Parts(counts, own)));
            std::ptr::copy_nonoverlapping(own, target.address as *mut u8, bytes);
        }
    }

    /// Combines the values of the ranks up to this one, or before it; then rank 0 gets nothing.
    ///
    /// # Safety
    /// As `reduce`.
    pub unsafe fn scan(&self, it: &Reduction<'_>, target: &Place, is_exclusive: bool) {
        let (operation, cut) = (Operation::ExclusiveScan, ReductionCut::Vector(it.own.count));
        // SAFETY: the caller's promise.
        unsafe {
            let mut flat = it.start(None);
            let at = flat.at();
            self.library(it.terms(None), |comm| match is_exclusive {
                true => it.by_memory(comm, operation, cut, 0, (at, at)),
                false => it.run(comm, at, To::Prefix),
            });
            if !is_exclusive || self.comm.rank > 0 {
                std::ptr::copy_nonoverlapping(at, target.address as *mut u8, flat.bytes);
            }
        }
    }
}
