//! Ranks that write to a captured array: each gets its part by `parts_mut`.

use phalanx::Team;
use phalanx::dist::Block;

fn main() {
    let team = Team::builder().ranks(2).build().unwrap();
    let mut x = team.distributed(&Block::new(8, 2), |i| i).unwrap();
    #[cfg(not(fixed))]
    team.run(|comm| x[comm.rank()] = 1).unwrap(); //~ E0596
    #[cfg(fixed)]
    team.run_with(&mut x.parts_mut(), |_, mine| mine[0] = 1).unwrap();
}
