//! A started call, as the rank that awaits it and the rank that completes it see it.

use super::awaits::Awaits;
use super::envelope::{ANY_SOURCE, ANY_TAG, EAGER, PROC_NULL};
use super::error::{Error, Site};
use super::standings::Standings;
use super::word::Word;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};

/// The status of a receive from nobody.
pub const NOBODY: Arrived = Arrived { source: PROC_NULL, tag: ANY_TAG, bytes: 0 };
/// The status of a complete send.
pub const SENT: Arrived = Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 };

/// The kinds of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A send.
    #[default]
    Send,
    /// A receive.
    Receive,
    /// A collective.
    Collective,
    /// One that the program completes.
    General,
}

/// The description of a request.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ask {
    /// The rank (of the world) that awaits it.
    pub owner: usize,
    /// The call that started it.
    pub site: Site,
    /// Its kind.
    pub kind: Kind,
    /// The other rank of the communicator, or a wildcard.
    pub peer: i32,
    /// The rank of the world that completes it, if only one can.
    pub by: Option<usize>,
    /// The tag, or `ANY_TAG`.
    pub tag: i32,
    /// The communicator's number.
    pub context: u32,
    /// Of a collective that its rank carries on by itself.
    pub open: Option<OpenAsk>,
}

/// The cards that a started collective awaits.
#[derive(Clone, Copy, Debug)]
pub struct OpenAsk {
    /// Its place among the rank's.
    pub index: usize,
    /// The communicator's number.
    pub context: u32,
    /// The collective's.
    pub number: u64,
    /// The ranks of the cards.
    pub awaits: Awaits,
}

/// A started send or receive. Its end writes one line, on which nothing else lies.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Req {
    done: Word,
    source: AtomicI32,
    tag: AtomicI32,
    bytes: AtomicUsize,
    cancelled: AtomicBool,
    /// Source and tag that it asks for.
    pub ask: Ask,
    failed: OnceLock<Box<Error>>,
}

// Two lines: programs have very many at once.
const _: () = assert!(size_of::<Req>() == 128);

/// The status of a finished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The sender in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// Bytes of data.
    pub bytes: usize,
}

impl Req {
    /// A request that nobody has completed.
    pub fn new(ask: Ask) -> Arc<Req> {
        Arc::new(Req { ask, ..Req::default() })
    }

    /// The same as new, of one that has ended.
    pub fn renew(&mut self, ask: Ask) {
        self.ask = ask;
        self.done = Word::default();
        *self.cancelled.get_mut() = false;
        if self.failed.get().is_some() {
            self.failed = OnceLock::new();
        }
    }

    /// Whether it is complete: its status, and the receive buffer, can then be read.
    pub fn is_done(&self) -> bool {
        self.done.has_told(1)
    }

    /// Its status; the error, if the message did not fit.
    pub fn arrived(&self) -> (Arrived, Option<&Error>) {
        // Relaxed: read after `is_done`, which orders them.
        let arrived = Arrived {
            source: self.source.load(Ordering::Relaxed),
            tag: self.tag.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        };
        (arrived, self.failed.get().map(|it| &**it))
    }

    /// Notes an error, before it is complete.
    pub fn fail(&self, error: Box<Error>) {
        let _ = self.failed.set(error);
    }

    /// Notes that it is cancelled, before it is complete.
    pub fn cancel(&self) {
        // Relaxed: published by `done`.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled; read after `is_done`.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Completes it: the calling rank, `by`, does.
    pub fn complete(&self, world: &Standings, by: usize, arrived: Arrived) {
        self.source.store(arrived.source, Ordering::Relaxed);
        self.tag.store(arrived.tag, Ordering::Relaxed);
        self.bytes.store(arrived.bytes, Ordering::Relaxed);
        // Publishes the above and the copied data.
        self.done.tell(1);
        if by != self.ask.owner {
            if self.ask.kind != Kind::Receive || arrived.bytes > EAGER {
                // Pairs with the fence in the library's `Berth::sleep`: either the owner, which
                // first says that it will sleep, sees `done` after that fence, or `wake` below sees
                // that it has said so. Nothing but time depends on it: without the fence the owner
                // would hear of this at the end of a nap. Short messages come too often for it.
                fence(Ordering::SeqCst);
            }
            world.wake(by, self.ask.owner);
        }
    }

    /// The event that it awaits, in words.
    pub fn describe(&self) -> String {
        let Ask { kind, peer, tag, site, open, .. } = self.ask;
        let tag = match tag {
            ANY_TAG => "any tag".to_owned(),
            tag => format!("tag {tag}"),
        };
        match (kind, peer) {
            (Kind::General, _) => format!("the program to complete {}", site.describe()),
            (Kind::Collective, _) => {
                let some = open.is_some_and(|it| matches!(it.awaits, Awaits::Givers(_)));
                let ranks = if some { "its neighbours" } else { "all ranks" };
                format!("{ranks} to start {}", site.describe())
            }
            (Kind::Send, peer) => format!("rank {peer} of the communicator to receive, {tag}"),
            (Kind::Receive, ANY_SOURCE) => format!("a message from any source, {tag}"),
            (Kind::Receive, peer) => {
                format!("a message from rank {peer} of the communicator, {tag}")
            }
        }
    }
}

/// See [`General`].
pub type QueryFunction = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
/// See [`General`].
pub type FreeFunction = unsafe extern "C" fn(*mut c_void) -> c_int;
/// See [`General`].
pub type CancelFunction = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// The functions of a request that the program completes, and their argument.
#[derive(Clone, Copy, Debug)]
pub struct General {
    /// Fills the status.
    pub query: QueryFunction,
    /// Called when the request is freed.
    pub free: FreeFunction,
    /// Called by MPI_Cancel, with whether it is complete.
    pub cancel: CancelFunction,
    /// Their argument.
    pub extra: usize,
    /// Whether the program has freed it, before it completes it.
    pub is_freed: bool,
}
