//! Objects that functions give: kept in the rank's tables, named by handles.

use super::prelude::*;
use crate::rt::begun::Begun;
use crate::rt::rank::{Active, Blank, ErrorFunction, Persistent, Rank, Session, Started};
use crate::rt::request::{NOBODY, Req};
use crate::rt::types::Type;
use crate::rt::user_function::UserFunction;
use crate::rt::window::Win;

/// A communicator that a function gives, if this rank is in it.
pub(super) type NewComm = Outcome<Option<Rc<Comm>>>;
/// A group that a function gives: ranks of the world.
pub(super) type NewGroup = Outcome<Vec<usize>>;
/// The request of a collective that a function starts.
pub(super) type NewRequest = Outcome<Arc<Req>>;

/// The sorts of object that a handle can be made for.
pub(super) trait Keep {
    /// Keeps it; gives its handle.
    fn keep(self, caller: Caller<'_>) -> Handle;
}

/// A predefined object.
impl Keep for Handle {
    fn keep(self, _: Caller<'_>) -> Handle {
        self
    }
}

impl Keep for Type {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.types.borrow_mut().insert(Arc::new(self))
    }
}

/// A group's ranks in the world.
impl Keep for Vec<usize> {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.keep_group(self)
    }
}

/// A communicator, if this rank is in it.
impl Keep for Option<Rc<Comm>> {
    fn keep(self, caller: Caller<'_>) -> Handle {
        let Some(comm) = self else { return standard::COMM_NULL };
        let handle = caller.comms.borrow_mut().insert(Rc::clone(&comm));
        comm.handle.set(handle);
        handle
    }
}

impl Keep for Rc<Win> {
    fn keep(self, caller: Caller<'_>) -> Handle {
        let handle = caller.wins.borrow_mut().insert(Rc::clone(&self));
        self.handle.set(handle);
        handle
    }
}

impl Keep for Rc<Session> {
    fn keep(self, caller: Caller<'_>) -> Handle {
        let handle = caller.sessions.borrow_mut().insert(Rc::clone(&self));
        self.handle.set(handle);
        handle
    }
}

impl Keep for Arc<Req> {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.requests.borrow_mut().insert(Started::of(Active::Shared(self)))
    }
}

impl Keep for Begun {
    #[inline(always)]
    fn keep(self, caller: Caller<'_>) -> Handle {
        match self {
            Begun::Sent => sent(caller.rank),
            Begun::Early => {
                let handle = early(caller.rank);
                caller.name_early(handle);
                handle
            }
            Begun::Shared(req) => req.keep(caller),
            Begun::Received((arrived, failed)) => {
                let started = Started::of(Active::Arrived(arrived, failed));
                caller.requests.borrow_mut().insert(started)
            }
            // A record tells requests apart by their handles.
            Begun::Nobody if caller.world.record.is_some() => {
                Begun::Received((NOBODY, None)).keep(caller)
            }
            Begun::Nobody => caller.nobody,
        }
    }
}

// Functions of their own, so that the written place is known (see `Blank`).

#[inline(never)]
fn sent(rank: &Rank) -> Handle {
    rank.requests.borrow_mut().insert_with(|| Started::of(Active::Sent(Blank::default())))
}

#[inline(never)]
fn early(rank: &Rank) -> Handle {
    rank.requests.borrow_mut().insert_with(|| Started::of(Active::Early(Blank::default())))
}

impl Keep for Persistent {
    fn keep(self, caller: Caller<'_>) -> Handle {
        let started = Started { active: Active::Rest, again: Some(Rc::new(self)), general: None };
        caller.requests.borrow_mut().insert(started)
    }
}

impl Keep for ErrorFunction {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.error_handlers.borrow_mut().insert(self)
    }
}

/// A user's operator, and whether the order of its operands is free.
impl Keep for (UserFunction, bool) {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.ops.borrow_mut().insert(self)
    }
}
