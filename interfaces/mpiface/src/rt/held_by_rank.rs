//! The objects that a rank's calls hold beyond the program's use of them, and their end.

use super::comm::Comm;
use super::error::{Class, Outcome, error};
use super::handle::Handle;
use super::handlers::Handler;
use super::held::Hold;
use super::p2p::Message;
use super::rank::{Active, Rank, Started};
use std::rc::Rc;

impl Rank {
    /// Keeps the handle of a datatype or an operator in use; none if that is predefined.
    pub fn hold(&self, handle: Handle) -> Option<Hold> {
        self.types.borrow().hold(handle).or_else(|| self.ops.borrow().hold(handle))
    }

    /// Takes out the objects that the program has freed, and no call under way uses any more.
    ///
    /// # Errors
    /// If a function that deletes a datatype's attribute fails.
    pub fn sweep(&self) -> Outcome {
        let mut outcome = Ok(());
        if self.types.borrow().is_due(0) {
            let idle = self.types.borrow_mut().idle(|_| false);
            for ty in idle {
                outcome = outcome.and(self.delete_type_note(ty));
                self.types.borrow_mut().remove(ty);
                // Its number will be another's. (A function that has failed leaves a note.)
                self.type_notes.borrow_mut().remove(&ty);
                self.memory.borrow_mut().retain(|key, _| key.1 != ty);
            }
        }
        if self.ops.borrow().is_due(0) {
            for op in self.ops.borrow_mut().sweep() {
                self.memory.borrow_mut().retain(|key, _| key.0 != op);
            }
        }
        let under_way = self.requests.borrow().places() + self.messages.borrow().places();
        if self.comms.borrow().is_due(under_way) {
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

    /// The error handler of a program's handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn handler(&self, handle: Handle) -> Outcome<Handler> {
        let text = || format!("{handle:#x} is no error handler");
        let found = Handler::of(handle, &self.error_handlers.borrow());
        found.map_or_else(|| error(Class::Errhandler, text()), Ok)
    }
}
