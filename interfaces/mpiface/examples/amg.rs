//! A Rust program that solves with an unpatched hypre on ranks inside it: two cubes for each number
//! of ranks. `cargo run --example amg -- libamg.so 1 2 4`, with libamg.so of examples/hypre/amg.cc
//! (tools/mpi-programs builds it).

use phalanx_mpi_abi::team::{Library, Team};
use std::ffi::{c_int, c_void};
use std::{env, mem};

/// struct amg of amg.h.
#[repr(C)]
struct Amg {
    n: c_int,
    ranks: c_int,
    iterations: c_int,
    residual: f64,
    norm: f64,
}

fn main() -> Result<(), String> {
    let mut arguments = env::args().skip(1);
    let Some(library) = arguments.next() else {
        println!("amg LIBRARY RANKS..: the library is made of examples/hypre/amg.cc");
        return Ok(());
    };
    // SAFETY: hypre's and the C++ library's constructors may run once a rank.
    let library = unsafe { Library::open(library) }?;
    for ranks in arguments {
        let ranks = ranks.parse().map_err(|_| format!("{ranks} is no number of ranks"))?;
        let mut team = Team::new(Some(ranks))?;
        for n in [12, 17] {
            team.invoke(&library, |member| {
                let mut amg = Amg { n, ranks: 0, iterations: 0, residual: 0.0, norm: 0.0 };
                let given: *mut Amg = &raw mut amg;
                for name in [c"amg_solve", c"amg_show"] {
                    let function = member.symbol(name).expect("amg.cc has it");
                    // SAFETY: both take the address of a struct amg and give nothing.
                    let function: extern "C" fn(*mut c_void) = unsafe { mem::transmute(function) };
                    if name == c"amg_solve" || member.rank() == 0 {
                        function(given.cast());
                    }
                }
            })?;
        }
    }
    Ok(())
}
