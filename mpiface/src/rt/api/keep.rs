//! Objects that functions give: kept in the rank's tables, named by handles.

use super::arguments::Caller;
use crate::rt::comm::Comm;
use crate::rt::handle::Handle;
use crate::rt::p2p::Req;
use crate::rt::rank::{UserFunction, fixed};
use crate::rt::types::Type;
use std::rc::Rc;
use std::sync::Arc;

/// What a handle can be made for.
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
        self.map_or(fixed::COMM_NULL, |it| caller.comms.borrow_mut().insert(it))
    }
}

impl Keep for Arc<Req> {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.requests.borrow_mut().insert(self)
    }
}

/// A user's operator, and whether the order of its operands is free.
impl Keep for (UserFunction, bool) {
    fn keep(self, caller: Caller<'_>) -> Handle {
        caller.ops.borrow_mut().insert(self)
    }
}
