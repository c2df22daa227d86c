//! The functions that C calls, made from `interface.txt`: `include/phalanx_functions.h` has them.

#![allow(unused_unsafe)] // Around the bodies that promise nothing.

use crate::arguments::{distance, given_tag, input, list, place, rank_number, sender, tag_of};
use crate::call::{From, call, make};
use crate::collective::{Asked, Lengths, counts_of, quick, sum};
use crate::error::code_of;
use crate::names::*;
use crate::requests::{launch, within};
use crate::results::Leave;
use crate::types::{Elements, Type, apart_of, with_type};
use phalanx::Element;
use phalanx::engine::Operation;
use phalanx::op::{self, Operator};
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
