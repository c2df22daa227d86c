//! The functions of MPI by their numbers, as sites and the shim have them: made from functions.txt.

use phalanx::engine::ForeignCall;

include!(concat!(env!("OUT_DIR"), "/calls.rs"));
