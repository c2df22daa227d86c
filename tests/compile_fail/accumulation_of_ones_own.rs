//! An accumulator of the program's own would do the work of the library's operator, unseen.
#[cfg(not(fixed))]
use phalanx::engine::{Accumulating, Accumulation};
use phalanx::op::Sum;

#[cfg(not(fixed))]
struct Own;

#[cfg(not(fixed))]
impl Accumulation<u64, Sum> for Own { //~ E0277
    type Wide = u64;
    const IS_WIDE: bool = false;

    fn widen(x: u64) -> u64 {
        x
    }

    fn combine(_: &Sum, left: u64, right: u64) -> u64 {
        left.checked_add(right).unwrap()
    }

    fn round(x: u64) -> u64 {
        x
    }
}

fn main() {
    phalanx::run(2, |comm| {
        let mut x = [1u64];
        #[cfg(not(fixed))]
        comm.all_reduce(&mut x, Accumulating::new(Sum, &Own));
        #[cfg(fixed)]
        comm.all_reduce(&mut x, Sum);
    })
    .unwrap();
}
