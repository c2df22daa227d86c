//! A rank's result goes to the caller of `run`.
use std::rc::Rc;
fn main() {
    #[cfg(not(fixed))]
    let all = phalanx::run(2, |comm| Rc::new(comm.rank())); //~ E0277
    #[cfg(fixed)]
    let all = phalanx::run(2, |comm| comm.rank());
    drop(all);
}
