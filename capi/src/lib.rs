//! The C interface of Phalanx. `docs/c.md` describes it; `include/phalanx.h` is what C sees.
//!
//! - [`team`]: teams, runs, threads of one's own. [`call`]: communicators, and the way of every
//!   function on one. [`collective`], [`message`], [`group`], [`grid`], [`view`], [`fixed`],
//!   [`requests`], [`plan`], [`window`], [`collected`], [`choice`].
//! - [`types`]: element types and operators. [`error`]: codes and texts. `handle`: checked handles.
//!   `arguments`: ranks, pointers, lengths.
//!
//! Functions that make calls end in `_at`, and take the caller's file and line last: the header's
//! macros pass them.

#![allow(missing_docs)] // Of arguments that every function has.

mod arguments;
pub mod call;
pub mod choice;
pub mod collected;
pub mod collective;
pub mod error;
pub mod fixed;
pub mod grid;
pub mod group;
mod handle;
pub mod message;
pub mod plan;
pub mod requests;
pub mod team;
pub mod types;
pub mod view;
pub mod window;

use std::ffi::c_char;

/// The library's version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn phx_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
