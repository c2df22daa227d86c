//! Objects that calls use longer than the program: what it frees while a call that it has started,
//! or will start, still names it stays under its handle until nothing does. So an operator that is
//! called then can ask what its datatype is.

use super::comm::Comm;
use super::error::Outcome;
use super::handle::{Handle, Kind, Table};
use super::p2p::Message;
use super::rank::{Active, Rank, Started};
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

impl Rank {
    /// Keeps the handle of a datatype or an operator in use; none if that is predefined.
    pub fn hold(&self, handle: Handle) -> Option<Hold> {
        self.types.borrow().hold(handle).or_else(|| self.ops.borrow().hold(handle))
    }

    /// Takes out what the program has freed, and no call under way uses any more.
    ///
    /// # Errors
    /// If a function that deletes a datatype's attribute fails.
    pub fn sweep(&self) -> Outcome {
        let mut outcome = Ok(());
        if self.types.borrow().has_freed() {
            let idle = self.types.borrow_mut().idle(|_| false);
            for ty in idle {
                outcome = outcome.and(self.delete_type_note(ty));
                self.types.borrow_mut().remove(ty);
                // Its number will be another's. (A function that has failed leaves a note.)
                self.type_notes.borrow_mut().remove(&ty);
                self.memory.borrow_mut().retain(|key, _| key.1 != ty);
            }
        }
        if self.ops.borrow().has_freed() {
            for op in self.ops.borrow_mut().sweep() {
                self.memory.borrow_mut().retain(|key, _| key.0 != op);
            }
        }
        if self.comms.borrow().has_freed() {
            let pending = self.pending();
            let is_used =
                |it: &Rc<Comm>| Rc::strong_count(it) > 1 || pending.contains(&it.shared.context);
            let idle = self.comms.borrow_mut().idle(is_used);
            for comm in idle {
                let gone = self.comms.borrow_mut().remove(comm);
                drop(gone);
            }
        }
        outcome
    }

    /// The numbers of the communicators of messages under way.
    fn pending(&self) -> Vec<u32> {
        // Early receives are posted before each call that may ask.
        let of = |it: &Started| match &it.active {
            Active::Shared(req) => Some(req.ask.context),
            Active::Arrived(_, Some(failed)) => failed.context,
            _ => None,
        };
        let requests = self.requests.borrow();
        let messages = self.messages.borrow();
        requests.all().filter_map(of).chain(messages.all().map(Message::context)).collect()
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
