//! Teams of processes: each rank is this test program again, with a role in its environment.

mod calls;
mod coming;
mod foreign;
mod fuzz;
mod promises;
mod roles;
mod standstill;
mod start;

/// The ranks' program; in an ordinary run of the tests it does nothing.
#[test]
fn rank() {
    roles::play();
}
