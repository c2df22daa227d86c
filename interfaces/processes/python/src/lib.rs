//! The Python interface of `phalanx-processes`: the module `phalanx_processes._native`, whose
//! types and functions `package/phalanx_processes/_native.pyi` describes.
//!
//! One library for Python 3.11 and all later ones, by PyO3. Arguments are looked at here, so that
//! all ranks hear of a wrong one (`call.rs`); elements are used where the program has them
//! (`buffer.rs`), by `phalanx_processes::foreign`.
#![cfg(target_os = "linux")]
// The docs of types and methods are what Python's `help` shows: their examples are Python.
#![allow(rustdoc::invalid_rust_codeblocks)]

mod arguments;
mod buffer;
mod call;
mod caller;
mod memory;
mod raise;
mod signals;
mod team;

#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::team::{Team, segment};
}
