//! Phalanx between processes: collectives and messages of processes of one machine, in one shared
//! segment of memory.
//!
//! Engines that run language models on CPUs write by hand: an all-reduce in shared memory, and
//! all that it needs around it. A team is attached to by name, or by a file descriptor; its memory
//! is a `memfd`, so nothing is left behind when all processes die, and no limit of `/dev/shm`
//! counts.
//!
//! ```
//! use phalanx_processes::{Team, op};
//!
//! // Four processes run this, each with its own rank; here there is one.
//! let (rank, ranks) = (0, 1);
//! let mut team = Team::join("my job", rank, ranks)?;
//! let mut x = vec![rank as f32; 1000];
//! team.all_reduce(&mut x, op::Sum)?;
//! # Ok::<(), phalanx_processes::Error>(())
//! ```
//!
//! # What is promised
//! 1. Ranks that make different calls get an error that names both processes and both lines.
//! 2. A process that dies, however, ends the others' calls with its name, within a second. One that
//!    is stopped, or busy elsewhere, meets the [timeout](Builder::timeout).
//! 3. Two teams of one name, a process of another version or of another user: refused, in words.
//! 4. A process that writes whatever it likes into the segment spoils data and errors of the
//!    others, and can make them wait for their timeout. It cannot make them touch memory outside of
//!    the segment and of the buffers that they pass: `docs/processes.md` has the list of all that
//!    is trusted.
//! 5. Reductions have the same bits on every rank, and from run to run for one number of ranks.
//!
//! # Only plain data
//! [`Plain`]: every bit pattern is a value. There are no owned values and no views of the peers'
//! slices, which threads have ([`phalanx::Comm`]); [`Symmetric`] memory is used without a copy.
//!
//! # After an error
//! A call that fails ends the team: each later call has the same error. The contents of the
//! failed call's buffers are not promised. A new team can be made, also of the same name when the
//! process of rank 0 has dropped the old one.
//!
//! Linux only: elsewhere the package is empty.
#![cfg(target_os = "linux")]

mod bell;
mod builder;
mod circle;
mod collective;
mod course;
mod entry;
mod error;
pub mod foreign;
mod gate;
mod group;
mod head;
mod interrupt;
mod kept;
mod layout;
mod limits;
mod lines;
mod long_wait;
mod mail;
mod mapping;
mod message;
mod patience;
mod pieces;
mod plain;
mod presence;
mod rendezvous;
mod ring;
mod seat;
mod shared;
mod site;
mod stall;
mod symmetric;
mod sync;
mod team;
mod transfer;
mod words;

pub use builder::Builder;
pub use error::{Error, ErrorKind, Result};
pub use head::Segment;
pub use layout::MAX_RANKS;
pub use phalanx::op;
pub use plain::Plain;
pub use site::Place;
pub use symmetric::Symmetric;
pub use team::Team;
