//! Handles: numbers that name a rank's objects, small enough for a Fortran integer.
//!
//! The predefined ones are the standard's (below 0x1000). One of ours has bit 30 set, four bits
//! for its kind, five for the number of times that its place was used, and 21 for the place. A
//! handle is looked up, never followed: a wrong one is an error.

/// A handle, as a program holds it.
pub type Handle = usize;

/// The sort of object that a handle names.
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
        // Asked for the compiler, which has nothing to drop then.
        assert!(entry.1.is_none(), "a free place has no object");
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

    /// The number of places, each with an object or free.
    pub fn places(&self) -> usize {
        self.places.len()
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

#[cfg(test)]
mod tests {
    use super::*;

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
