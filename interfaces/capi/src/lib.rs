//! The C interface of Phalanx. `docs/c.md` describes it; `include/phalanx.h` is C's side.
//!
//! - [`functions`], [`names`]: C's functions, and their arguments, made from `interface.txt`.
//!   Each function looks its handle up, notes the caller's line, and catches panics (`call`); then
//!   it calls the body of its name in one of the modules here. All that a body may take
//!   for granted is said there, of the function: the "Safety" of a body is its function's.
//! - `types`: element types and operators. `error`: codes and texts. `handle`: checked handles.
//!   `arguments`: ranks, pointers, lengths.

#![allow(missing_docs)] // Of arguments that every function has.
#![allow(clippy::too_many_arguments)] // C's functions have as many.

mod arguments;
mod call;
mod choice;
mod collective;
mod error;
pub mod functions;
mod grid;
mod group;
mod handle;
pub mod names;
mod objects;
#[cfg(target_os = "linux")]
mod overflow;
mod plan;
mod requests;
mod results;
mod team;
mod types;
mod view;
mod window;
