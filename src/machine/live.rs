//! The machine that this program runs on: the choice of a back end, and the fallback if one fails.

use crate::sorted::Listed;
use std::path::Path;

use super::facts::{Facts, RawCore};
use super::quota::CpuQuota;
use super::source::MachineSource;
use super::{Machine, MachineError, affinity, build, sysfs};

/// hwloc if it is there and makes sense, else sysfs, else a row of processing units.
pub(super) fn this() -> Result<Machine, MachineError> {
    let (allowed, allowed_source, unknown) = match affinity::allowed_pus() {
        Ok(pus) => (Some(pus), "affinity mask", None),
        Err(error) => (None, "not known, all", Some(error.to_string())),
    };
    let (mut facts, mut source) = match sysfs::read(Path::new("/")) {
        Ok(facts) => (facts, MachineSource::all("sysfs")),
        Err(error) => flat(allowed.as_deref(), &error.to_string()),
    };
    allowed_source.clone_into(&mut source.allowed);
    facts.allowed.clone_from(&allowed);
    facts.warnings.extend(unknown);
    facts.quota = CpuQuota::read(Path::new("/"));
    // A processing unit that we may run on exists, whatever the files say.
    for &pu in allowed.iter().flatten() {
        if !facts.cores.iter().any(|core| core.pus.contains(&pu)) {
            facts.cores.push(RawCore { pus: vec![pu] });
        }
    }

    // Where a sandbox refuses the mask, libhwloc asks for it for ever.
    #[cfg(phalanx_hwloc)]
    let found = affinity::current_mask().map_err(|error| error.to_string());
    #[cfg(phalanx_hwloc)]
    match found.and_then(|_| super::hwloc::read(&facts)) {
        Ok(found) => {
            facts.cores = found.cores;
            facts.groups = found.groups;
            source.cores = super::hwloc::source();
        }
        Err(reason) => facts.warnings.push(format!("not read through hwloc: {reason}")),
    }
    build::build(facts, source)
}

/// Processing units side by side, when nothing says what they share.
fn flat(allowed: Option<&[usize]>, reason: &str) -> (Facts, MachineSource) {
    let pus =
        allowed.map_or_else(|| (0..affinity::online_processors()).listed(), <[usize]>::to_vec);
    let facts = Facts {
        cores: pus.into_iter().map(|pu| RawCore { pus: vec![pu] }).listed(),
        warnings: vec![format!("what the cores share is not known: {reason}")],
        ..Facts::default()
    };
    (facts, MachineSource::all("number of processors"))
}
