//! Random programs with faults, and the oracle of their results: those of the library's tests.

#[path = "../../../tests/common/dice.rs"]
mod dice;
#[path = "../../../tests/common/kit/mod.rs"]
mod of_the_library;
#[path = "../../../tests/common/one_call.rs"]
mod one_call;

pub(crate) use of_the_library::*;
