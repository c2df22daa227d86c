//! What a team takes by default here, and what it says of each of more ranks, by a line each:
//!
//!     default 1                     ranks of a team
//!     threads 1                     communicators for threads of one's own
//!     quota the time of 1.5 cores (/sys/fs/cgroup/cpu/..)
//!     rank 0 on 0
//!     rank 1 on 1: has no time of its own: ..
//!
//! The ranks of the last lines are as many as its argument says; 3 without one. `.ci/containers`
//! runs it in groups with quotas.
#![allow(clippy::print_stdout)]

use phalanx::Team;
use phalanx::machine::Machine;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    println!("default {}", Team::builder().build()?.size());
    println!("threads {}", Team::builder().external()?.len());
    if let Some(quota) = Machine::this()?.quota() {
        println!("quota {quota}");
    }
    let team = Team::builder().ranks(ranks).build()?;
    let sums = team.run(|comm| comm.sum([1])[0])?;
    assert_eq!(sums, vec![ranks; ranks]);
    for binding in team.bindings() {
        let place = binding.pu.map_or("nothing".to_string(), |pu| pu.to_string());
        let words = binding.problem.into_iter().chain(binding.beyond_quota);
        println!(
            "rank {} on {place}{}",
            binding.rank,
            words.fold(String::new(), |s, it| s + ": " + &it)
        );
    }
    Ok(())
}
