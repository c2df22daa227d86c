//! Symmetric memory: a buffer of each rank in the team's own memory, which calls use where it is.

use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Layout, PAGE, TakenBuffer};
use crate::mapping::Mapping;
use crate::plain::Plain;
use crate::site::{Names, Place};
use crate::team::{Begun, Team};
use crate::transfer::Job;
use crate::words;
use phalanx::engine::{FoldKernel, Operation, copy};
use phalanx::op::Operator;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// A buffer of so many elements on each rank: [`Team::symmetric`].
///
/// Other ranks can write it at any time, so there is no slice of it: elements are copied, or used
/// by an address. The memory is there as long as the team, or such a handle; ranks that use it when
/// it has been [freed](Team::free) spoil what has its place now.
pub struct Symmetric<T> {
    mapping: Arc<Mapping>,
    layout: Layout,
    rank: usize,
    /// In the part of each rank.
    at: usize,
    length: usize,
    /// Which one it is of all that the team has taken.
    number: u64,
    _elements: PhantomData<T>,
}

/// Of a vector that is not in symmetric memory.
const NOWHERE: u64 = u64::MAX;

// SAFETY: a place in shared memory.
unsafe impl<T: Plain> Send for Symmetric<T> {}
// SAFETY: as above: elements are copied from and to it, as other processes do.
unsafe impl<T: Plain> Sync for Symmetric<T> {}

impl<T> fmt::Debug for Symmetric<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symmetric").field("at", &self.at).field("length", &self.length).finish()
    }
}

impl Symmetric<u8> {
    /// The buffer of a team that begins at this address of the rank.
    pub(crate) fn at(team: &Team, address: *const u8) -> Option<Self> {
        let at = team.offset_of(address)?;
        let taken = team.taken.iter().find(|it| it.start == at)?;
        Some(team.buffer(*taken, taken.bytes))
    }
}

impl<T: Plain> Symmetric<T> {
    /// How many elements each rank has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether that is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn address(&self, rank: usize) -> *mut T {
        let bytes = self.length * size_of::<T>();
        let at = self.layout.memory(rank, self.at, bytes);
        self.mapping.at(at.expect("checked when it was made"), bytes).cast()
    }

    /// Where the elements of this rank are: for a library that computes there. Aligned to a page.
    /// They are there as long as the team, or a handle such as this; other ranks may read and write
    /// them, so a reference to them is not sound unless all ranks keep away.
    ///
    /// # Examples
    /// See [`Team::all_reduce_symmetric`].
    pub fn as_mut_ptr(&self) -> *mut T {
        self.address(self.rank)
    }

    /// Copies elements of rank `rank`, from `from` on, into `data`. Whether they have been written
    /// is the program's affair: a [`barrier`](Team::barrier) between the two says so. Elements of
    /// 1, 2, 4 or 8 bytes are never torn: each is as some rank has written it.
    ///
    /// # Panics
    /// There is no such rank, or there are fewer elements.
    ///
    /// # Examples
    /// See [`Team::symmetric`].
    pub fn read(&self, rank: usize, from: usize, data: &mut [T]) {
        let at = self.checked(rank, from..from.saturating_add(data.len()));
        let to = data.as_mut_ptr();
        // SAFETY: so many are there, of plain data, in pages of their own that this handle keeps.
        unsafe { words::read(to.cast(), at.cast_const().cast(), size_of_val(data)) };
    }

    /// Copies `data` into the elements of rank `rank`, from `to` on.
    ///
    /// # Panics
    /// There is no such rank, or there are fewer elements.
    ///
    /// # Examples
    /// See [`Team::symmetric`].
    pub fn write(&self, rank: usize, to: usize, data: &[T]) {
        let at = self.checked(rank, to..to.saturating_add(data.len()));
        // SAFETY: as in `read`.
        unsafe { words::write(at.cast(), data.as_ptr().cast(), size_of_val(data)) };
    }

    /// The first bytes, as `length` elements of another type; none if there are not as many. (C
    /// allocates bytes.)
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("symmetric of two types", 0, 1)?;
    /// let bytes = team.symmetric::<u8>(64)?;
    /// let numbers = bytes.of_elements::<f32>(16).expect("64 bytes");
    /// numbers.write(0, 15, &[1.5]);
    /// assert!(bytes.of_elements::<f32>(17).is_none());
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    pub fn of_elements<U: Plain>(&self, length: usize) -> Option<Symmetric<U>> {
        let bytes = length.checked_mul(size_of::<U>())?;
        let fits = bytes <= self.length * size_of::<T>();
        fits.then(|| Symmetric {
            mapping: Arc::clone(&self.mapping),
            layout: self.layout,
            rank: self.rank,
            at: self.at,
            length,
            number: self.number,
            _elements: PhantomData,
        })
    }

    fn checked(&self, rank: usize, range: Range<usize>) -> *mut T {
        let ranks = self.layout.ranks;
        assert!(rank < ranks, "rank {rank} is none of {ranks} ranks");
        let n = self.length;
        assert!(range.end <= n, "elements {range:?} of {n}");
        self.address(rank).wrapping_add(range.start)
    }
}

impl Team {
    /// Takes a buffer of `length` elements on each rank, all 0, in the team's memory. All ranks of
    /// the team call it, with one length; not of a group.
    ///
    /// # Errors
    /// As [`barrier`](Team::barrier); [`Memory`](ErrorKind::Memory): the
    /// [memory](crate::Builder::memory) of the team is used up, or the system has none.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("symmetric", 0, 1)?;
    /// let shared = team.symmetric::<f32>(1000)?;
    /// let next = (team.rank() + 1) % team.size();
    /// shared.write(next, 10, &[1.5, 2.5]);
    /// team.barrier()?;
    /// let mut got = [0.0; 2];
    /// shared.read(team.rank(), 10, &mut got);
    /// assert_eq!(got, [1.5, 2.5]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn symmetric<T: Plain>(&mut self, length: usize) -> Result<Symmetric<T>> {
        let names = const { &Names::of::<T>("symmetric", "") };
        let call = self.begin(names, Place::caller(), length, Team::ROOTLESS)?;
        self.check_whole(&call)?;
        let shared = Arc::clone(&self.shared);
        let bytes = length.checked_mul(size_of::<T>());
        // All ranks have one list, so they find one place.
        let place = bytes.and_then(|bytes| self.free_place(bytes));
        let taken = place.map(|(start, end)| {
            let at = shared.layout.memory(shared.rank, start, end - start);
            shared.mapping.take(at.unwrap_or_default(), end - start)
        });
        // A rank without memory says so to all.
        let lacks = u64::from(!matches!(taken, Some(Ok(()))));
        // SAFETY: so many bytes.
        let met = unsafe { self.meet(&call, (&raw const lacks).cast(), size_of_val(&lacks))? };
        let lacking = (0..self.members.len()).find(|member| self.gate(*member).word(met, 0) != 0);
        if let Some(rank) = lacking {
            let why = match taken {
                Some(Err(error)) => error.to_string(),
                Some(Ok(())) => format!("{} has none left", shared.told(rank)),
                None => format!("of {} bytes a rank too little is free", shared.layout.part),
            };
            let text = format!("no memory for {length} elements of {} each: {why}", T::name());
            return Err(self.fail(Error::of(ErrorKind::Memory, rank, text)));
        }
        let (start, end) = place.unwrap_or_default();
        self.buffers += 1;
        let number = self.buffers;
        let taken = TakenBuffer { start, end, bytes: bytes.unwrap_or(0), number };
        self.taken.push(taken);
        self.taken.sort_unstable();
        Ok(self.buffer(taken, length))
    }

    fn buffer<T>(&self, taken: TakenBuffer, length: usize) -> Symmetric<T> {
        let shared = &*self.shared;
        Symmetric {
            mapping: Arc::clone(&shared.mapping),
            layout: shared.layout,
            rank: shared.rank,
            at: taken.start,
            length,
            number: taken.number,
            _elements: PhantomData,
        }
    }

    /// Gives a buffer back. All ranks call it for the same one.
    ///
    /// # Errors
    /// As [`barrier`](Team::barrier); it has been freed already, by another handle.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("symmetric for a while", 0, 1)?;
    /// let buffer = team.symmetric::<u8>(1 << 20)?;
    /// team.free(buffer)?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn free<T: Plain>(&mut self, buffer: Symmetric<T>) -> Result<()> {
        let names = const { &Names::of::<T>("free", "") };
        let call = self.begin(names, Place::caller(), buffer.length, Team::ROOTLESS)?;
        self.meet_symmetric(&call, &buffer)?;
        let place = self.taken.iter().position(|it| it.number == buffer.number);
        let gone = place.map(|place| self.taken.remove(place));
        let (start, end) = gone.map_or((0, 0), |gone| (gone.start, gone.end));
        let shared = &self.shared;
        if let Some(at) = shared.layout.memory(shared.rank, start, end - start)
            && end > start
        {
            shared.mapping.give_back(at, end - start);
        }
        // Nobody takes the place before all have given it back.
        // SAFETY: no bytes.
        unsafe { self.meet(&call, std::ptr::null(), 0) }.map(drop)
    }

    /// Combines the elements of all ranks by `op`, in place and with no copy: each rank combines a
    /// part, and writes it to all.
    ///
    /// # Errors
    /// As [`all_reduce`](Team::all_reduce); the ranks pass different buffers.
    ///
    /// # Examples
    /// ```
    /// # use phalanx_processes::op;
    /// # let mut team = phalanx_processes::Team::join("symmetric sums", 0, 1)?;
    /// let gradients = team.symmetric::<f32>(1000)?;
    /// let mine = gradients.as_mut_ptr();
    /// for i in 0..1000 {
    ///     // SAFETY: an element of this rank, which no other rank uses now.
    ///     unsafe { mine.add(i).write(i as f32) };
    /// }
    /// team.all_reduce_symmetric(&gradients, op::Sum)?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_symmetric<T: Plain, O: Operator<T>>(
        &mut self,
        data: &Symmetric<T>,
        op: O,
    ) -> Result<()> {
        let names = const { &Names::of::<T>("all_reduce_symmetric", O::NAME) };
        let call = self.begin(names, Place::caller(), data.length, Team::ROOTLESS)?;
        if !O::ORIGIN.is_library() {
            let text = "an operator of the program's own would see memory that others can write";
            return Err(self.wrong(&call, text));
        }
        self.meet_symmetric(&call, data)?;
        let kernel = FoldKernel::of::<T, O>(&op);
        self.fold_in_place(&call, &kernel, data.at, (data.length, size_of::<T>()))
    }

    /// Combines so many elements of a size that all ranks have at a place, and which all have shown
    /// to be there.
    pub(crate) fn fold_in_place(
        &mut self,
        call: &Begun,
        kernel: &FoldKernel<'_>,
        at: usize,
        (n, size): (usize, usize),
    ) -> Result<()> {
        let (me, p) = (self.me, self.members.len());
        let line = (64 / size.max(1)).max(1);
        let each = n.div_ceil(p).next_multiple_of(line);
        let part = (me * each).min(n)..((me + 1) * each).min(n);
        if p > 1 && size > 0 && !part.is_empty() {
            let shared = &self.shared;
            let place = |rank| shared.layout.memory(rank, at, n * size).expect("checked");
            let all = (0..p).map(|rank| shared.mapping.at(place(rank), n * size));
            let all: Vec<*mut u8> = all.collect();
            // SAFETY: the vectors of all ranks, which all have at this place; their ranks use this
            // part only by this call, and other parts by theirs. The operator is the library's.
            unsafe { kernel.fold_part(Operation::AllReduce, part, (&all, &all), me) };
        }
        // SAFETY: no bytes. All have combined their parts.
        unsafe { self.meet(call, std::ptr::null(), 0) }.map(drop)
    }

    /// Where in the part of each rank the vectors of all ranks are, if it is one place, and the
    /// operator may use them there. All ranks see the same words, and come to the same end.
    pub(crate) fn common_place(
        &mut self,
        call: &Begun,
        job: &Job<'_>,
        is_library: bool,
    ) -> Result<Option<usize>> {
        let bytes = job.length * job.size;
        let is_within = |at: &usize| {
            self.taken.iter().any(|it| it.start <= *at && *at < it.end && bytes <= it.end - at)
        };
        let mine = self.offset_of(job.output).filter(is_within).filter(|_| is_library);
        let word = mine.map_or(NOWHERE, |at| at as u64);
        // SAFETY: so many bytes.
        let met = unsafe { self.meet(call, (&raw const word).cast(), size_of_val(&word))? };
        let are_alike = (0..self.members.len()).all(|it| self.gate(it).word(met, 0) == word);
        Ok(mine.filter(|_| are_alike))
    }

    /// Where an address of the rank is in its part of symmetric memory.
    fn offset_of(&self, address: *const u8) -> Option<usize> {
        let (shared, part) = (&self.shared, self.shared.layout.part);
        let start = shared.mapping.at(shared.layout.memory(shared.rank, 0, part)?, part);
        address.addr().checked_sub(start.addr()).filter(|at| *at < part)
    }

    /// Copies the elements of rank `root` into those of all others: one copy.
    ///
    /// # Errors
    /// As [`broadcast`](Team::broadcast); the ranks pass different buffers.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("a symmetric broadcast", 0, 1)?;
    /// let weights = team.symmetric::<f32>(1000)?;
    /// team.broadcast_symmetric(&weights, 0)?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_symmetric<T: Plain>(
        &mut self,
        data: &Symmetric<T>,
        root: usize,
    ) -> Result<()> {
        let names = const { &Names::of::<T>("broadcast_symmetric", "") };
        let call = self.begin(names, Place::caller(), data.length, root as u64 & 0xffff_ffff)?;
        self.check_rank(&call, root)?;
        self.meet_symmetric(&call, data)?;
        if self.me != root {
            let (from, to) = (data.address(root), data.address(self.me));
            // SAFETY: two ranks' vectors of this place.
            unsafe { copy(to.cast(), from.cast(), data.length * size_of::<T>()) };
        }
        // SAFETY: no bytes.
        unsafe { self.meet(&call, std::ptr::null(), 0) }.map(drop)
    }

    /// Meets all, which pass the same buffer.
    fn meet_symmetric<T: Plain>(&mut self, call: &Begun, data: &Symmetric<T>) -> Result<()> {
        self.check_whole(call)?;
        if !Arc::ptr_eq(&self.shared.mapping, &data.mapping) {
            return Err(self.wrong(call, "the buffer is of another team"));
        }
        if !self.taken.iter().any(|it| it.number == data.number) {
            return Err(self.wrong(call, "the buffer has been freed"));
        }
        let at = data.at as u64;
        // SAFETY: so many bytes.
        let met = unsafe { self.meet(call, (&raw const at).cast(), size_of_val(&at))? };
        let other = (0..self.members.len()).find(|member| self.gate(*member).word(met, 0) != at);
        let Some(other) = other else { return Ok(()) };
        let text = format!(
            "ranks disagree about the buffer: {} and {} pass different ones in {}",
            self.shared.told(self.shared.rank),
            self.shared.told(other),
            call.names.told(call.at).brief()
        );
        Err(self.fail(Error::of(ErrorKind::Disagreement, other, text)))
    }

    fn check_whole(&mut self, call: &Begun) -> Result<()> {
        if self.members.len() == self.shared.layout.ranks && self.is_whole() {
            return Ok(());
        }
        Err(self.wrong(call, "symmetric memory is the whole team's, not a group's"))
    }

    /// The first place for so many bytes: its start and end.
    fn free_place(&self, bytes: usize) -> Option<(usize, usize)> {
        // Each has a page at least, so that no two begin at one place.
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let mut start = 0;
        for taken in &self.taken {
            if taken.start - start >= bytes {
                break;
            }
            start = taken.end;
        }
        let end = start.checked_add(bytes)?;
        (end <= self.shared.layout.part).then_some((start, end))
    }
}
