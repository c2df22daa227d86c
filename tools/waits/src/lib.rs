//! Reads the record of a run (`Team::builder().record(..)`, `PHALANX_RECORD`), and says where ranks
//! wait and for whom: `phalanx waits`.
//!
//! - [`record`]: the file, which is not trusted; [`timeline`]: its events, as calls with their
//!   waits.
//! - [`wait_state`]: the reason of each wait, by the names that Scalasca gives; [`critical_path`].
//! - [`summary`]: the tables; [`page`] and [`perfetto`]: the timeline, for a browser; [`svg`]: as a
//!   picture.

mod command;
pub mod critical_path;
pub mod page;
pub mod perfetto;
pub mod record;
pub mod summary;
pub mod svg;
pub mod timeline;
pub mod wait_state;

pub use command::{Command, Waits};
