//! Loads a program once a rank: private copies of it, of its libraries, and of the shim.
//!
//! | file | |
//! |---|---|
//! | `elf.rs` | reads and rewrites shared objects: safe code, untrusted input |
//! | `image.rs` | which files get private copies, and their loading |
//! | `frame.rs` | a rank's main, and `exit` of one rank |

pub mod elf;
pub mod frame;
pub mod image;
