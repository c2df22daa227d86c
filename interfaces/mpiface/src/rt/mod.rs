//! The runtime: the functions of MPI.
//!
//! | file | |
//! |---|---|
//! | `api/` | the functions, a chapter of the standard each file |
//! | `rank.rs` | a rank's own state: its objects by their handles |
//! | `handle.rs` | handles: checked numbers, never addresses |
//! | `standard.rs` | the standard's numbers and names |
//! | `held.rs`, `held_by_rank.rs` | objects that calls use longer than the program; a rank's |
//! | `handlers.rs` | error handlers, as objects have them |
//! | `standings.rs` | each rank's state; waiting; the verdict that nobody can go on |
//! | `world.rs`, `run.rs` | the ranks' queues and rings; a run's world and first communicators |
//! | `word.rs` | the word by which memory is handed over: a request's, a meeting's |
//! | `error.rs` | errors by class; the end of a run |
//! | `forked.rs` | a child of `fork`, which has no ranks |
//! | `site.rs`, `calls.rs` | a call's place in the source; the functions by their numbers |
//! | `mutex.rs`, `thread_time.rs` | locks of shared state; the time that a thread has worked |
//! | `begun.rs` | the state of a message that a call has begun |
//! | `early.rs` | short receives that only their rank knows of yet |
//! | `envelope.rs`, `request.rs` | the facts by which messages are matched; started calls |
//! | `p2p.rs` | matching queues, owned by the receiver; the second comer copies |
//! | `short_message.rs` | a short message in a slot of a ring |
//! | `polls.rs` | tests and probes that find nothing for long |
//! | `types.rs`, `basic.rs` | datatypes; the predefined ones |
//! | `shape.rs`, `signature.rs` | where a datatype's data lies; its elements in their order |
//! | `place.rs` | memory that holds elements of a datatype, and copying |
//! | `distributed.rs`, `external.rs` | parts of distributed arrays; the portable format |
//! | `ops.rs` | operators over memory |
//! | `operator.rs`, `user_function.rs` | operators on a datatype, folds; those of the program |
//! | `kernel.rs` | how elements combine: the library's operators, others over memory |
//! | `record.rs` | the calls in a recorded run's events |
//! | `log.rs` | the collectives that each rank has called last, for verdicts and texts |
//! | `comm.rs` | communicators and groups, cards at which all ranks of one meet |
//! | `flat.rs` | memory as the library takes it |
//! | `reduction.rs` | reductions as the library takes them |
//! | `route.rs` | collectives by the library |
//! | `coll.rs` | numbers of all ranks, and new communicators, over the cards |
//! | `exchange.rs` | parts of which only some ranks know the lengths, pair by pair |
//! | `started/` | collectives that complete later; the cards that ranks show |
//! | `awaits.rs` | the ranks of the cards that a rank needs there |
//! | `overlap.rs` | whether a call's buffers are apart |
//! | `history.rs` | the latest calls of a rank, for texts |
//! | `topo.rs`, `graph.rs` | Cartesian grids; graphs |
//! | `edges.rs` | the edges of a grid or graph; the parts that go along them |
//! | `branch.rs` | communicators that only their members make |
//! | `window.rs`, `window_part.rs` | one-sided access: epochs; a rank's part, its memory |
//! | `target_lock.rs` | a target's lock |
//! | `attributes.rs` | the attributes of communicators, datatypes and windows |
//! | `note.rs` | the attributes and the name of an object |
//! | `codes.rs` | error codes of a program's own |

/// A type of which a text has the name alone.
macro_rules! opaque {
    ($type:ident) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    };
}

pub mod api;
pub mod attributes;
pub mod awaits;
pub mod basic;
pub mod begun;
pub mod branch;
pub mod calls;
pub mod codes;
pub mod coll;
pub mod comm;
pub mod distributed;
pub mod early;
pub mod edges;
pub mod envelope;
pub mod error;
pub mod exchange;
pub mod external;
pub mod flat;
pub mod forked;
pub mod graph;
pub mod handle;
pub mod handlers;
pub mod held;
pub mod held_by_rank;
pub mod history;
pub mod kernel;
pub mod log;
pub mod mutex;
pub mod note;
pub mod operator;
pub mod ops;
pub mod overlap;
pub mod p2p;
pub mod place;
pub mod polls;
pub mod rank;
pub mod record;
pub mod reduction;
pub mod request;
pub mod route;
pub mod run;
pub mod shape;
pub mod short_message;
pub mod signature;
pub mod site;
pub mod standard;
pub mod standings;
pub mod started;
pub mod target_lock;
pub mod thread_time;
pub mod topo;
pub mod types;
pub mod user_function;
pub mod window;
pub mod window_part;
pub mod word;
pub mod world;
