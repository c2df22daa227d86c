//! All ranks run one closure at once.
use std::cell::Cell;
fn main() {
    let count = Cell::new(0);
    #[cfg(not(fixed))]
    phalanx::run(2, |_| count.set(1)).unwrap(); //~ E0277
    #[cfg(fixed)]
    phalanx::run(2, |_| ()).unwrap();
    count.set(2);
}
