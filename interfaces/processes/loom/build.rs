//! The mistakes that the models must detect.

include!("mutants.rs");
