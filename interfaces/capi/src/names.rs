//! Types and constants of the interface, made from `interface.txt`.

use std::ffi::{c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/names.rs"));
