//! The whole of an array while its ranks have their parts.

use phalanx::Team;
use phalanx::dist::Block;

fn main() {
    let team = Team::builder().ranks(2).build().unwrap();
    let mut x = team.distributed(&Block::new(8, 2), |i| i).unwrap();
    let mut parts = x.parts_mut();
    #[cfg(not(fixed))]
    let first = x[0]; //~ E0502
    #[cfg(fixed)]
    let first = 0;
    team.run_with(&mut parts, |_, mine| mine.fill(first)).unwrap();
}
