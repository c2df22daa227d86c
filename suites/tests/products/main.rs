//! The programs of this package: the NAS kernels, and the sparse solver.

// Each example is compiled as it stands, with the file that several of them have.
#![allow(clippy::duplicate_mod, clippy::module_inception)]

#[path = "../../../tests/common/damage.rs"]
mod damage;
#[path = "../../../tests/common/dice.rs"]
mod dice;
mod nas;
mod solver;

use dice::Dice;
