//! Elements that may not go from the rank that makes them to the array's owner.

use phalanx::Team;
use phalanx::dist::Block;
#[cfg(not(fixed))]
use std::rc::Rc;
#[cfg(fixed)]
use std::sync::Arc as Rc;

fn main() {
    let team = Team::builder().ranks(2).build().unwrap();
    team.distributed(&Block::new(8, 2), Rc::new).unwrap(); //~ E0277
    team.mirrored(8, Rc::new).unwrap(); //~ E0277
}
