//! Objects that calls use longer than the program: an object that it frees while a call that it
//! has started, or will start, still names it keeps its handle so long. So an operator that is
//! called then can ask for its datatype's contents.

use super::handle::{Handle, Kind, Table};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// So many steps a call may take.
const AT_ONCE: usize = 32;

/// An object's users: the program, and the calls that hold it.
#[derive(Debug)]
struct Users {
    handle: Cell<Handle>,
    /// How often the program has been given it, and has not freed it.
    given: Cell<usize>,
    is_listed: Cell<bool>,
    /// Objects that nobody may use any more: very many that are in use cost nothing.
    freed: Rc<RefCell<Vec<Handle>>>,
}

impl Users {
    /// One of them is gone.
    fn list(&self) {
        if self.given.get() == 0 && !self.is_listed.replace(true) {
            self.freed.borrow_mut().push(self.handle.get());
        }
    }
}

/// Keeps an object's handle in use until it is dropped.
#[derive(Clone, Debug)]
pub struct Hold(Rc<Users>);

impl Drop for Hold {
    fn drop(&mut self) {
        // The other one is the table's.
        if Rc::strong_count(&self.0) == 2 {
            self.0.list();
        }
    }
}

/// An object, as a program and the calls under way have it.
#[derive(Debug)]
struct Owned<T> {
    object: T,
    users: Rc<Users>,
}

impl<T> Owned<T> {
    fn is_held(&self) -> bool {
        Rc::strong_count(&self.users) > 1
    }
}

/// A rank's objects of one kind that calls hold beyond the program's use of them.
#[derive(Debug)]
pub struct Held<T> {
    all: Table<Owned<T>>,
    freed: Rc<RefCell<Vec<Handle>>>,
    /// Grows at each call until there is time to look for those that nothing uses.
    turns: Cell<usize>,
}

impl<T> Held<T> {
    /// Without objects.
    pub fn new(kind: Kind) -> Held<T> {
        Held { all: Table::new(kind), freed: Rc::default(), turns: Cell::new(0) }
    }

    /// Keeps an object for the program; gives its handle.
    pub fn insert(&mut self, object: T) -> Handle {
        let (handle, given, is_listed) = (Cell::default(), Cell::new(1), Cell::default());
        let users = Rc::new(Users { handle, given, is_listed, freed: Rc::clone(&self.freed) });
        let handle = self.all.insert(Owned { object, users: Rc::clone(&users) });
        users.handle.set(handle);
        handle
    }

    /// The object of a handle: that the program has, or something in use.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.all.get(handle).map(|it| &it.object)
    }

    /// Whether the program has it.
    pub fn is_given(&self, handle: Handle) -> bool {
        self.all.get(handle).is_some_and(|it| it.users.given.get() > 0)
    }

    /// The program is given it once more, and will free it once more.
    pub fn give(&mut self, handle: Handle) {
        let it = self.all.get(handle);
        it.into_iter().for_each(|it| it.users.given.update(|given| given + 1));
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.all.all().map(|it| &it.object)
    }

    /// Whether something keeps its handle in use, beside the program.
    pub fn is_held(&self, handle: Handle) -> bool {
        self.all.get(handle).is_some_and(Owned::is_held)
    }

    /// Keeps its handle in use.
    pub fn hold(&self, handle: Handle) -> Option<Hold> {
        self.all.get(handle).map(|it| Hold(Rc::clone(&it.users)))
    }

    /// The program frees its object. One that is in use goes by [`sweep`](Held::sweep), later.
    pub fn free(&mut self, handle: Handle) {
        let Some(it) = self.all.get(handle) else { return };
        it.users.given.update(|given| given.saturating_sub(1));
        it.users.list();
    }

    /// Whether it is time to look for something to sweep, which takes so many steps beside those
    /// for the list: where these are many, not at each call.
    #[inline]
    pub fn is_due(&self, steps: usize) -> bool {
        let listed = self.freed.borrow().len();
        if listed == 0 {
            return false;
        }
        let turns = self.turns.get() + AT_ONCE;
        let is_due = turns >= steps + listed;
        self.turns.set(if is_due { 0 } else { turns });
        is_due
    }

    /// The objects that the program has freed, and nothing uses: to be taken out.
    pub fn idle(&mut self, is_used: impl Fn(&T) -> bool) -> Vec<Handle> {
        let mut listed = self.freed.take();
        listed.retain(|&handle| {
            let Some(it) = self.all.get(handle) else { return false };
            it.users.is_listed.set(false);
            if it.users.given.get() > 0 || it.is_held() {
                return false;
            }
            let is_used = is_used(&it.object);
            if is_used {
                it.users.list();
            }
            !is_used
        });
        listed
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
        assert!(all.is_given(handle) && !all.is_due(0));
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

    /// None of those that are held is looked at.
    #[test]
    fn very_many_freed_objects_that_are_held_cost_nothing() {
        let mut all = Held::new(Kind::Type);
        let handles: Vec<_> = (0..1000).map(|it| all.insert(it)).collect();
        let mut holds: Vec<_> = handles.iter().map(|it| all.hold(*it)).collect();
        handles.iter().for_each(|it| all.free(*it));
        assert!(all.sweep().is_empty() && !all.is_due(0));
        // One that is given and freed again is taken out once.
        all.give(handles[7]);
        all.free(handles[7]);
        holds[7] = None;
        assert_eq!((all.is_due(0), all.idle(|_| true)), (true, vec![]));
        assert_eq!((all.sweep(), all.is_due(0)), (vec![handles[7]], false));
    }
}
