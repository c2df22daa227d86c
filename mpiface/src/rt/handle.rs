//! Handles: numbers that name a rank's objects, small enough for a Fortran integer.
//!
//! The predefined ones are the standard's (below 0x1000). One of ours has bit 30 set, four bits
//! for its kind, five for the number of times that its place was used, and 21 for the place. A
//! handle is looked up, never followed: a wrong one is an error.
//!
//! What a program frees while a call that it has started still names it ([`Held`]) stays under its
//! handle until nothing does: an operator that is called then can ask what its datatype is.

use std::rc::Rc;

/// A handle, as a program holds it.
pub type Handle = usize;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// A communicator.
    Comm = 0,
    /// A group.
    Group = 1,
    /// A datatype.
    Type = 2,
    /// An operator.
    Op = 3,
    /// A request.
    Request = 4,
    /// A message that a probe has taken.
    Message = 5,
    /// Keys and values.
    Info = 6,
    /// An error handler.
    ErrorHandler = 7,
    /// A window.
    Window = 8,
    /// A session.
    Session = 9,
    /// A key of attributes.
    Key = 10,
}

const OURS: usize = 1 << 30;
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 21;
const KIND_AT: u32 = 26;
const USES: u8 = 31;

/// A rank's objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    kind: Kind,
    places: Vec<(u8, Option<T>)>,
    free: Vec<usize>,
}

impl<T> Table<T> {
    /// A table without objects.
    pub fn new(kind: Kind) -> Table<T> {
        Table { kind, places: Vec::new(), free: Vec::new() }
    }

    /// Keeps an object; gives its handle.
    #[inline(always)]
    pub fn insert(&mut self, object: T) -> Handle {
        self.insert_with(|| object)
    }

    /// The same of one that is made where it will lie: it need not be moved there.
    #[inline(always)]
    pub fn insert_with(&mut self, make: impl FnOnce() -> T) -> Handle {
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.another(),
        };
        let entry = &mut self.places[place];
        // It is none already: said for the compiler, which has nothing to drop then.
        entry.1 = None;
        entry.1 = Some(make());
        OURS | (self.kind as usize) << KIND_AT | usize::from(entry.0) << PLACE_BITS | place
    }

    #[cold]
    #[inline(never)]
    fn another(&mut self) -> usize {
        assert!(self.places.len() < PLACES, "too many objects of MPI at once");
        self.places.push((0, None));
        self.places.len() - 1
    }

    #[inline]
    fn place(&self, handle: Handle) -> Option<usize> {
        let place = handle & (PLACES - 1);
        let head = handle >> PLACE_BITS;
        let entry = self.places.get(place)?;
        let kind = OURS | (self.kind as usize) << KIND_AT;
        let expected = kind >> PLACE_BITS | usize::from(entry.0);
        (head == expected && entry.1.is_some()).then_some(place)
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|it| it.1.as_ref())
    }

    /// The object of a handle.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.places[self.place(handle)?].1.as_ref()
    }

    /// The object of a handle, to be changed.
    #[inline]
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let place = self.place(handle)?;
        self.places[place].1.as_mut()
    }

    /// Takes the object of a handle out.
    #[inline]
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        self.remove_if(handle, |it| Some(it.take()))?
    }

    /// Takes the object of a handle out if `take`, which is given its place, gives something.
    #[inline(always)]
    pub fn remove_if<R>(
        &mut self,
        handle: Handle,
        take: impl FnOnce(&mut Option<T>) -> Option<R>,
    ) -> Option<R> {
        let place = self.place(handle)?;
        let entry = &mut self.places[place];
        let taken = take(&mut entry.1)?;
        entry.1 = None;
        entry.0 = (entry.0 + 1) & USES;
        self.free.push(place);
        Some(taken)
    }
}

/// Keeps an object's handle in use until it is dropped.
pub type Hold = Rc<()>;

/// An object, as a program and the calls under way have it.
#[derive(Debug)]
struct Owned<T> {
    object: T,
    /// How often the program has been given it, and has not freed it.
    given: usize,
    holds: Hold,
}

/// A rank's objects of one kind that calls hold beyond the program's use of them.
#[derive(Debug)]
pub struct Held<T> {
    all: Table<Owned<T>>,
    /// Those that the program has freed, and that were in use then.
    freed: Vec<Handle>,
}

impl<T> Held<T> {
    /// Without objects.
    pub fn new(kind: Kind) -> Held<T> {
        Held { all: Table::new(kind), freed: Vec::new() }
    }

    /// Keeps an object for the program; gives its handle.
    pub fn insert(&mut self, object: T) -> Handle {
        self.all.insert(Owned { object, given: 1, holds: Rc::default() })
    }

    /// The object of a handle: that the program has, or something in use.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.all.get(handle).map(|it| &it.object)
    }

    /// Whether the program has it.
    pub fn is_given(&self, handle: Handle) -> bool {
        self.all.get(handle).is_some_and(|it| it.given > 0)
    }

    /// The program is given it once more, and will free it once more.
    pub fn give(&mut self, handle: Handle) {
        self.all.get_mut(handle).into_iter().for_each(|it| it.given += 1);
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.all.all().map(|it| &it.object)
    }

    /// Whether something keeps its handle in use, beside the program.
    pub fn is_held(&self, handle: Handle) -> bool {
        self.all.get(handle).is_some_and(|it| Rc::strong_count(&it.holds) > 1)
    }

    /// Keeps its handle in use.
    pub fn hold(&self, handle: Handle) -> Option<Hold> {
        self.all.get(handle).map(|it| Rc::clone(&it.holds))
    }

    /// The program frees what it has. What is in use goes by [`sweep`](Held::sweep), later.
    pub fn free(&mut self, handle: Handle) {
        let Some(it) = self.all.get_mut(handle) else { return };
        it.given = it.given.saturating_sub(1);
        if it.given == 0 && !self.freed.contains(&handle) {
            self.freed.push(handle);
        }
    }

    /// Whether there may be something to sweep.
    #[inline]
    pub fn has_freed(&self) -> bool {
        !self.freed.is_empty()
    }

    /// What the program has freed, and nothing uses: to be taken out.
    pub fn idle(&mut self, is_used: impl Fn(&T) -> bool) -> Vec<Handle> {
        let Held { all, freed } = self;
        let mut idle = Vec::new();
        freed.retain(|&handle| match all.get(handle) {
            Some(it) if it.given > 0 => false,
            Some(it) if Rc::strong_count(&it.holds) > 1 || is_used(&it.object) => true,
            found => {
                idle.extend(found.map(|_| handle));
                false
            }
        });
        idle
    }

    /// Takes an idle one out.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        self.all.remove(handle).map(|it| it.object)
    }

    /// Takes out what the program has freed, and nothing uses.
    pub fn sweep(&mut self) -> Vec<Handle> {
        let idle = self.idle(|_| false);
        idle.iter().for_each(|it| drop(self.remove(*it)));
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_object_keeps_its_handle_while_it_is_held() {
        let mut all = Held::new(Kind::Type);
        let handle = all.insert('a');
        let hold = all.hold(handle);
        all.give(handle);
        all.free(handle);
        assert!(all.is_given(handle) && !all.has_freed());
        all.free(handle);
        assert!(!all.is_given(handle) && all.sweep().is_empty());
        assert_eq!(all.get(handle), Some(&'a'));
        // Its place is not used again.
        assert_ne!(all.insert('b') & (PLACES - 1), handle & (PLACES - 1));
        drop(hold);
        assert_eq!((all.sweep(), all.get(handle)), (vec![handle], None));
        // Given again before it goes: it stays.
        let handle = all.insert('c');
        let hold = all.hold(handle);
        all.free(handle);
        all.give(handle);
        drop(hold);
        assert_eq!((all.sweep(), all.get(handle)), (vec![], Some(&'c')));
    }

    #[test]
    fn a_handle_names_its_object_until_it_is_freed() {
        let mut table = Table::new(Kind::Type);
        let other: Table<u8> = Table::new(Kind::Comm);
        let first = table.insert('a');
        let second = table.insert('b');
        assert_eq!((table.get(first), table.get(second)), (Some(&'a'), Some(&'b')));
        assert_eq!(other.get(first), None);
        assert_eq!(table.remove(first), Some('a'));
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        let third = table.insert('c');
        assert_ne!(third, first);
        assert_eq!((table.get(first), table.get(third)), (None, Some(&'c')));
        assert!(i32::try_from(third).is_ok(), "fits a Fortran integer");
        for wrong in [0, 1, 0x200, 0x209, usize::MAX, third ^ 1, third ^ 1 << 28] {
            assert_eq!(table.get(wrong).filter(|_| wrong != second), None, "{wrong:#x}");
        }
    }
}
