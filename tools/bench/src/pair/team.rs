//! The measured units, and a team with a rank on each of them.

use crate::failure::Failure;
use crate::source::list;
use phalanx::engine::parse_list;
use phalanx::machine::Machine;
use phalanx::placement::Placement;
use phalanx::tuning::Profile;
use phalanx::{Binding, MAX_RANKS, Team};

/// The units to measure between: the allowed ones, of which `only` may take
/// some, or one of each core.
pub fn units(
    machine: &Machine,
    only: Option<&[usize]>,
    per_core: bool,
) -> Result<Vec<usize>, Failure> {
    let mut units: Vec<usize> = Vec::new();
    for core in machine.cores() {
        let own = core.pus.iter().copied().filter(|&pu| machine.is_allowed(pu));
        let own = own.filter(|pu| only.is_none_or(|only| only.contains(pu)));
        units.extend(own.take(if per_core { 1 } else { usize::MAX }));
    }
    let missing = only.unwrap_or(&[]).iter().find(|&&pu| !machine.is_allowed(pu));
    if let Some(pu) = missing {
        return Err(Failure::Usage(format!(
            "PU {pu} does not exist or may not be used; allowed are {}",
            list(machine.allowed_pus())
        )));
    }
    if units.len() > MAX_RANKS {
        return Err(Failure::Usage(format!(
            "{} processing units are more than a team's {MAX_RANKS} ranks; choose with --pus or \
             --per-core",
            units.len()
        )));
    }
    Ok(units)
}

/// A team with rank `i` bound to `pus[i]`, each binding read back.
pub fn team(pus: &[usize]) -> Result<Team, Failure> {
    let places = Placement::List(pus.to_vec());
    // By the library's own sizes, whatever profile there is. Rank 0 stays where it is in all runs.
    let builder = Team::builder().profile(Profile::default()).pin_caller(true);
    let team = builder.ranks(pus.len()).placement(places).build()?;
    // The first run binds rank 0.
    team.run(|comm| comm.barrier())?;
    bound(&team.bindings())?;
    Ok(team)
}

/// Whether every rank is where it should be. Times between units mean nothing
/// if the threads may be anywhere.
fn bound(bindings: &[Binding]) -> Result<(), Failure> {
    let Some(problem) = bindings.iter().find_map(|b| b.problem.as_deref()) else { return Ok(()) };
    Err(Failure::Run(format!(
        "threads cannot be bound to processing units ({problem}), so there is nothing that could \
         be measured between them; is sched_setaffinity forbidden here (a container's seccomp \
         profile)?"
    )))
}

/// Reads "0-3,8".
pub(crate) fn parse_pus(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("'{text}' is no list of processing units; accepted is such as 0-3,8");
    // The system's own may be empty, or have empty parts.
    let is_whole = text.split(',').all(|part| !part.trim().is_empty());
    parse_list(text).ok().filter(|_| is_whole).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_units_are_read() {
        assert_eq!(parse_pus("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_pus("5,5,1"), Ok(vec![1, 5]));
        for wrong in ["", "a", "3-1", "1,,2", "-1", "0-99999999999"] {
            assert!(parse_pus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn units_of_a_machine() {
        let machine = Machine::from_synthetic("core:2 pu:2").unwrap();
        assert_eq!(units(&machine, None, false).unwrap(), [0, 1, 2, 3]);
        assert_eq!(units(&machine, None, true).unwrap(), [0, 2]);
        assert_eq!(units(&machine, Some(&[3, 1]), false).unwrap(), [1, 3]);
        assert_eq!(units(&machine, Some(&[3, 2]), true).unwrap(), [2]);
        let error = units(&machine, Some(&[4]), false).unwrap_err();
        assert_eq!(
            error.line().unwrap(),
            "PU 4 does not exist or may not be used; allowed are 0-3"
        );
    }

    #[test]
    fn threads_that_are_not_bound_are_no_measurement() {
        let binding = |problem: Option<&str>| Binding {
            rank: 0,
            pu: Some(0),
            problem: problem.map(str::to_string),
            roams: None,
            beyond_quota: Some("has no time of its own".to_string()),
        };
        assert!(bound(&[binding(None)]).is_ok());
        let error = bound(&[binding(None), binding(Some("Operation not permitted"))]).unwrap_err();
        assert!(error.line().unwrap().contains("(Operation not permitted)"));
        assert_eq!(error.code(), 1);
    }
}
