//! The library's operator on elements of the program's own is the program's, and cannot say that it
//! is the library's: the origin is that of other elements.
use phalanx::op::{Operator, OperatorOrigin, Sum};

#[derive(Clone, Copy)]
struct Mine(u64);

impl Operator<Mine> for Sum {
    const NAME: &'static str = "sum";
    const COMMUTATIVE: bool = true;
    #[cfg(not(fixed))]
    const ORIGIN: OperatorOrigin<Sum, Mine> = <Sum as Operator<u64>>::ORIGIN; //~ E0308
    #[cfg(fixed)]
    const ORIGIN: OperatorOrigin<Sum, Mine> = OperatorOrigin::USER;

    fn combine(&self, left: Mine, right: Mine) -> Mine {
        Mine(left.0 + right.0)
    }
}

fn main() {
    phalanx::run(2, |comm| comm.sum([Mine(1)])[0].0).unwrap();
}
