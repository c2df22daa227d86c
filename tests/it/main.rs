//! The calls of the library: every operation, way and kind of element against sequential oracles,
//! and the errors of wrong calls. `PHALANX_LARGEST=4 cargo test --test it` stays below five ranks
//! where a test goes over numbers of ranks.

#[path = "../common/mod.rs"]
mod common;

/// All of them, which take the compiler minutes, has tests/alignments.
macro_rules! with_alignments {
    ($do:ident) => {
        $do! {
            1 E1 F1; 16 E16 F16; 128 E128 F128; 512 E512 F512; 4096 E4096 F4096;
            65536 E65536 F65536;
        }
    };
}

mod arrays;
mod bulk;
mod catalogue;
mod choice;
mod collectives;
mod damaged_machines;
mod deadline;
mod elements;
mod ending;
mod float_control;
mod grid;
#[cfg(feature = "half")]
mod halves;
mod huge;
mod levels;
mod many_messages;
mod neighborhood;
mod operators;
mod order;
mod overlap;
mod owned_exchange;
mod persistent;
mod properties;
mod regions;
mod requests;
mod saved_machines;
mod segmented;
mod small;
mod tagged;
mod team;
mod uneven;
mod windows;
