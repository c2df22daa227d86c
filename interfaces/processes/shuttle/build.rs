//! The mistakes that the models must detect are those of the loom models.

include!("../loom/mutants.rs");
