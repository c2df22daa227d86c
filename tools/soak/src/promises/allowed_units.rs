//! Masks and cgroups: the library takes exactly those units for allowed that the system allows.

use super::subject::{Kept, Subject, said};
use phalanx::machine::Machine;
use phalanx::machine::affinity;
use phalanx::placement::{Placement, PlacementError, assign};
use phalanx_bench::source::list;

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    let mask = match affinity::current_mask() {
        Ok(mask) => mask,
        Err(why) => return Ok(Kept::NotHere(said(why))),
    };
    let allowed = machine.allowed_pus();
    if allowed != mask {
        return Err(format!("PUs {} are taken, the mask has {}", list(allowed), list(&mask)));
    }
    // Of the cgroup, as the files say it. Without them: the whole machine.
    let files = Machine::from_sysfs("/").map_err(said)?;
    if let Some(pu) = allowed.iter().find(|pu| !files.is_allowed(**pu)) {
        return Err(format!("PU {pu} is taken, the cgroup has {}", list(files.allowed_pus())));
    }
    let outside =
        machine.cores().iter().flat_map(|core| &core.pus).find(|pu| !machine.is_allowed(**pu));
    if let Some(&pu) = outside {
        let refused = assign(&Placement::List(vec![pu]), machine, 1);
        if !matches!(refused, Err(PlacementError::Disallowed { .. })) {
            return Err(format!("PU {pu} is not allowed, and yet a list may name it"));
        }
    }
    let all = machine.pu_count();
    Ok(Kept::Holds(match all == allowed.len() {
        true => format!("all {all} PUs may be used"),
        false => format!("PUs {} of {all} may be used, and no other is taken", list(allowed)),
    }))
}
