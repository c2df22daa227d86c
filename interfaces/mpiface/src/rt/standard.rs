//! The standard's numbers without `MPI_`, the names of its datatypes and operators, and what stands
//! behind datatypes and error classes: made from include/mpi.h.in (`build/standard.rs`).

use super::handle::Handle;
use std::ffi::c_int;

include!(concat!(env!("OUT_DIR"), "/standard.rs"));

/// The name of a handle, of a list of such: the first, where it has two.
pub fn name_in(list: &'static [(Handle, &'static str)], handle: Handle) -> Option<&'static str> {
    list.iter().find(|it| it.0 == handle).map(|it| it.1)
}
