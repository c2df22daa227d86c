//! The functions that C calls, made from `interface.txt`: `include/phalanx_functions.h` has them.

#![allow(unused_unsafe)] // Around the bodies that promise nothing.

use crate::arguments::{
    are_usual, distance, given_tag, input, is_usual, list, place, rank_number, sender, tag_of,
};
use crate::call::{From, call, make};
use crate::collective::{Asked, Lengths, counts_of, sum};
use crate::error::code_of;
use crate::names::*;
use crate::requests::{Starting, within};
use crate::results::Leave;
use crate::types::{Elements, Type, apart_of, with_type};
use phalanx::engine::{self, Operation};
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element, call};
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
