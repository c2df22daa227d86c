//! Random programs of every call on any communicators, with every fault, and every result compared
//! with a sequential oracle. `tests/faults` and `phalanx soak` run them.
#![allow(dead_code, unused_imports, reason = "each has a part of it")]

mod elements;
mod perform;
mod program;
mod run;
mod started;

use super::{dice, one_call};
pub(crate) use dice::{Dice, mix};
pub(crate) use elements::{Reduction, Thing, Tick, folded, input, thing};
pub(crate) use perform::{Sort, carry_out, work};
pub(crate) use program::{Act, CallKind, CallWay, Fault, Script};
pub(crate) use run::{RunNotes, be_late, judge, play};
