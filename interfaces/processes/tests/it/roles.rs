//! The ranks' roles.

use crate::{calls, coming, foreign, fuzz, promises, standstill};
use phalanx_processes::{Builder, Error, Segment, Team};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

fn number(name: &str) -> usize {
    std::env::var(name).unwrap().parse().unwrap()
}

fn builder() -> Builder {
    let seconds = std::env::var("PHALANX_TIMEOUT").map_or(60.0, |text| text.parse().unwrap());
    let builder = Team::builder().timeout(Some(Duration::from_secs_f64(seconds)));
    let attach = std::env::var("PHALANX_ATTACH").map_or(60.0, |text| text.parse().unwrap());
    builder.attach_timeout(Duration::from_secs_f64(attach)).memory(8 << 20)
}

/// Attaches as the environment says.
pub(crate) fn attach() -> Result<Team, Error> {
    let (rank, ranks) = (number("PHALANX_RANK"), number("PHALANX_RANKS"));
    let builder = builder();
    match std::env::var("PHALANX_FD") {
        Ok(text) => {
            // SAFETY: the starter has left the descriptor open for this.
            let file = unsafe { OwnedFd::from_raw_fd(text.parse().unwrap()) };
            builder.attach(Segment::from_fd(file), rank, ranks)
        }
        Err(_) => builder.join(&std::env::var("PHALANX_TEAM").unwrap(), rank, ranks),
    }
}

/// Does as the environment says, if it says anything.
pub(crate) fn play() {
    let Ok(role) = std::env::var("PHALANX_ROLE") else { return };
    coming::prepare(&role);
    if role == "attach" {
        // The reason is printed.
        match attach() {
            Ok(mut team) => team.barrier().unwrap(),
            Err(error) => {
                eprintln!("{:?}: {error}", error.kind());
                std::process::exit(3);
            }
        }
        return;
    }
    let mut team = attach().unwrap();
    match role.as_str() {
        "calls" => calls::calls(&mut team),
        "small" => calls::small(&mut team),
        "messages" => calls::messages(&mut team),
        "groups" => calls::groups(&mut team),
        "symmetric" => calls::symmetric(&mut team),
        "float control" => calls::float_control(&mut team),
        "fuzz" => fuzz::rank(team),
        "parts" => foreign::parts(&mut team),
        role if role.starts_with("wait: ") => standstill::rank(role, team),
        "execs" | "forks and dies" | "ends" | "late" => coming::rank(&role, team),
        role => promises::rank(role, team),
    }
}
