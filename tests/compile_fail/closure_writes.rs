//! The closure may not write to its captures, since each rank would.
fn main() {
    let mut count = 0;
    #[cfg(not(fixed))]
    phalanx::run(2, |_| count += 1).unwrap(); //~ E0594
    #[cfg(fixed)]
    phalanx::run(2, |_| ()).unwrap();
    count += 1;
    assert!(count > 0);
}
