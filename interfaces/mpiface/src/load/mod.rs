//! Loads a program once a rank: private copies of it, of its libraries, and of the shim.
//!
//! | file | |
//! |---|---|
//! | `elf.rs` | reads and rewrites shared objects: safe code, untrusted input |
//! | `image.rs` | which files get private copies, and their loading |
//! | `relink.rs` | makes shared objects of executables, and has files need others |
//! | `source.rs`, `file.rs` | a file as it was read, and as copies are made of it |
//! | `search.rs` | where libraries are, and which are a rank's own |
//! | `plugin.rs` | libraries that a rank loads itself, by `dlopen` |
//! | `frame.rs` | a rank's main, and `exit` of one rank |

pub mod elf;
mod file;
pub mod frame;
pub mod image;
pub mod plugin;
mod relink;
pub mod search;
mod source;
