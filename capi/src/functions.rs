//! The functions that C calls, made from `interface.txt`: `include/phalanx_functions.h` has them.

#![allow(unused_unsafe)] // Around the bodies that promise nothing.

use crate::arguments::{distance, rank_number};
use crate::call::{From, call};
use crate::collective::{Asked, Lengths, quick};
use crate::error::code_of;
use crate::names::*;
use crate::requests::{launch, within};
use crate::types::{Elements, Type};
use phalanx::Element;
use phalanx::engine::Operation;
use phalanx::op::{self, Operator};
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
