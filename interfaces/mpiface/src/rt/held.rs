//! Objects that calls use longer than the program: an object that it frees while a call that it
//! has started, or will start, still names it keeps its handle so long. So an operator that is
//! called then can ask for its datatype's contents.

use super::handle::{Handle, Kind, Table};
use std::rc::Rc;

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

    /// The program frees its object. One that is in use goes by [`sweep`](Held::sweep), later.
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

    /// The objects that the program has freed, and nothing uses: to be taken out.
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

    /// Takes out the objects that the program has freed, and nothing uses.
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
        assert_ne!(all.insert('b') & 0xffff, handle & 0xffff);
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
}
