//! A part that outlives its array.

use phalanx::Team;
use phalanx::dist::Block;

fn main() {
    let team = Team::builder().ranks(2).build().unwrap();
    let mut x = team.distributed(&Block::new(8, 2), |i| i).unwrap();
    let parts = x.parts_mut();
    #[cfg(not(fixed))]
    drop(x); //~ E0505
    drop(parts);
}
