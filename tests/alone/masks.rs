//! Ranks pinned within a restricted affinity mask, as `taskset`, a cpuset cgroup or a container
//! sets it. A mask belongs to a process, so each case is a process of its own: this test program
//! again, with the ignored test.
#![cfg(target_os = "linux")]

use crate::common::again;
use phalanx::machine::{Level, Machine, affinity};
use phalanx::placement::Placement;
use phalanx::{Team, op};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The mask that the child is to find, as a list with commas.
const MASK: &str = "PHALANX_TEST_MASK";
/// A cgroup that the child enters first: the file that takes its process id.
const CGROUP: &str = "PHALANX_TEST_CGROUP";

/// Says so where the test harness does not swallow it.
fn say_skipped(what: &str) {
    let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {what}");
}

fn commas(pus: &[usize]) -> String {
    pus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

fn child_command(mask: &[usize]) -> Command {
    let mut command = again(module_path!(), "child");
    command.arg("--ignored").env(MASK, commas(mask));
    command
}

fn must_pass(mut command: Command, what: &str) {
    let child = command.output().unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("1 passed"), "{what}\n{text}\n{errors}");
}

/// Runs the child with this mask, which a process inherits from the thread that starts it.
fn within(mask: &[usize]) {
    let mask = mask.to_vec();
    let thread = std::thread::spawn(move || {
        affinity::restore(&mask).unwrap();
        must_pass(child_command(&mask), &format!("{mask:?}"));
    });
    thread.join().unwrap();
}

#[test]
fn restricted_masks() {
    let given = affinity::allowed_pus().unwrap();
    within(&given);
    // One processing unit: more ranks than that, always.
    within(&given[..1]);
    match given.as_slice() {
        [] | [_] => say_skipped("masks without the first processing unit: there is only one"),
        [_, rest @ ..] => within(rest),
    }
    let holes: Vec<usize> = given.iter().copied().skip(1).step_by(2).collect();
    if holes.len() < 2 {
        say_skipped("a mask with holes needs at least 4 processing units");
    } else {
        within(&holes);
    }
}

#[test]
fn taskset() {
    let last = *affinity::allowed_pus().unwrap().last().unwrap();
    let child = child_command(&[last]);
    let mut command = Command::new("taskset");
    command.arg("-c").arg(last.to_string()).arg(child.get_program()).args(child.get_args());
    command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if Command::new("taskset").arg("--version").output().is_err() {
        return say_skipped("there is no taskset program");
    }
    must_pass(command, "taskset");
}

/// A cgroup of our own, removed in the end.
struct Cgroup(PathBuf);

impl Cgroup {
    /// With just these processing units; `Err` says why that is not permitted.
    fn new(pus: &[usize]) -> Result<Cgroup, String> {
        let name = format!("phalanx-test-{}-{}", std::process::id(), commas(pus));
        let mut reasons = Vec::new();
        // Version 1 has a hierarchy for cpusets, version 2 has one for all.
        for root in ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"] {
            match Cgroup::below(Path::new(root), &name, pus) {
                Ok(cgroup) => return Ok(cgroup),
                Err(reason) => reasons.push(format!("{root}: {reason}")),
            }
        }
        Err(reasons.join("; "))
    }

    fn below(root: &Path, name: &str, pus: &[usize]) -> Result<Cgroup, String> {
        let effective =
            ["cpuset.effective_mems", "cpuset.mems.effective"].map(|file| root.join(file));
        let mems = effective.iter().find_map(|file| std::fs::read_to_string(file).ok());
        let mems = mems.ok_or("no cpusets here")?;
        let dir = root.join(name);
        std::fs::create_dir(&dir).map_err(|e| e.to_string())?;
        let cgroup = Cgroup(dir);
        for (file, text) in [("cpuset.cpus", commas(pus)), ("cpuset.mems", mems)] {
            let written = std::fs::write(cgroup.0.join(file), text.trim());
            written.map_err(|e| format!("{file}: {e}"))?;
        }
        Ok(cgroup)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _: Result<_, _> = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_cpuset_cgroup() {
    let last = *affinity::allowed_pus().unwrap().last().unwrap();
    let cgroup = match Cgroup::new(&[last]) {
        Ok(cgroup) => cgroup,
        Err(reason) => return say_skipped(&format!("cpuset cgroup: {reason}")),
    };
    let mut command = child_command(&[last]);
    command.env(CGROUP, cgroup.0.join("cgroup.procs"));
    must_pass(command, "cpuset cgroup");
}

#[test]
fn a_cpuset_that_shrinks_and_grows() {
    let cgroup = match Cgroup::new(&affinity::allowed_pus().unwrap()) {
        Ok(cgroup) => cgroup,
        Err(reason) => return say_skipped(&format!("cpuset cgroup: {reason}")),
    };
    let mut command = again(module_path!(), "child_in_a_cpuset_that_changes");
    command.arg("--ignored").env(CGROUP, &cgroup.0);
    must_pass(command, "cpuset that changes");
}

/// Meanwhile a caller is bound, and gets its mask back, that of the small cpuset.
#[test]
#[ignore = "started by the test above, within a cpuset"]
fn child_in_a_cpuset_that_changes() {
    let Some(group) = std::env::var_os(CGROUP).map(PathBuf::from) else { return };
    std::fs::write(group.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    let all = affinity::allowed_pus().unwrap();
    let resize = |pus| std::fs::write(group.join("cpuset.cpus"), commas(pus)).unwrap();
    let build = |ranks| Team::builder().ranks(ranks).build().unwrap();
    let units = |team: &Team| {
        let units = team.run(|_| affinity::current_mask().unwrap()).unwrap();
        (units, affinity::current_mask().unwrap())
    };
    let old = build(all.len());
    let before = units(&old);
    resize(&all[..1]);
    let pinned = Team::builder().ranks(2).pin_caller(true).build().unwrap();
    assert_eq!(units(&pinned).0, [&all[..1]; 2]);
    drop(pinned);
    assert_eq!(units(&old).0, vec![&all[..1]; all.len()]);
    assert_eq!(units(&build(3)).0, [&all[..1]; 3]);
    resize(&all);
    assert_eq!(affinity::current_mask().unwrap(), all, "the caller's mask grows with the cpuset");
    // Long waits of each rank.
    let wait = |comm: &mut phalanx::Comm| {
        for turn in 0..3000 * comm.size() {
            if turn % comm.size() == comm.rank() {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            comm.barrier();
        }
    };
    old.run(wait).unwrap();
    assert_eq!(units(&old).0[1..], before.0[1..], "{:?}", old.bindings());
    drop(old);
    assert_eq!(units(&build(all.len())), before);
}

/// Groups with 1.5 cores' time in each period, the inner one of which has no quota of its own.
fn quota_cgroup() -> Result<(Cgroup, Cgroup), String> {
    let name = format!("phalanx-quota-{}", std::process::id());
    let mut reasons = Vec::new();
    let files = [("cpu.cfs_quota_us", "150000"), ("cpu.max", "150000 100000")];
    // Version 1 has a hierarchy for the processors' time, version 2 has one for all.
    for (root, (file, text)) in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].into_iter().zip(files) {
        let made = || -> std::io::Result<(Cgroup, Cgroup)> {
            if !Path::new(root).join("cgroup.procs").exists() {
                return Err(std::io::Error::other("no such groups here"));
            }
            let outer = Path::new(root).join(&name);
            std::fs::create_dir(&outer)?;
            let outer = Cgroup(outer);
            std::fs::write(outer.0.join(file), text)?;
            let inner = outer.0.join("inner");
            std::fs::create_dir(&inner)?;
            Ok((outer, Cgroup(inner)))
        };
        match made() {
            Ok(groups) => return Ok(groups),
            Err(reason) => reasons.push(format!("{root}: {reason}")),
        }
    }
    Err(reasons.join("; "))
}

#[test]
fn a_quota() {
    // The inner one is removed first.
    let (_outer, inner) = match quota_cgroup() {
        Ok(groups) => groups,
        Err(reason) => return say_skipped(&format!("quota: {reason}")),
    };
    let mut command = again(module_path!(), "child_with_a_quota");
    command.arg("--ignored").env(CGROUP, inner.0.join("cgroup.procs"));
    must_pass(command, "quota");
}

#[test]
#[ignore = "started by the test above, within a quota"]
fn child_with_a_quota() {
    let Some(procs) = std::env::var_os(CGROUP) else { return };
    std::fs::write(procs, std::process::id().to_string()).unwrap();
    let machine = Machine::this().unwrap();
    let quota = machine.quota().unwrap();
    // The system may have less still.
    assert!(quota.cores() <= 1.5, "{quota}");
    assert_eq!((quota.ranks(), machine.ranks()), (1, 1), "{quota}");
    assert_eq!(Team::builder().build().unwrap().size(), 1);
    assert_eq!(Team::builder().external().unwrap().len(), 1);
    // More are there for programs that ask, and are told.
    let team = Team::builder().ranks(2).build().unwrap();
    let sums = team.run(|comm| (0..1000).map(|i| comm.sum([i])[0]).sum::<usize>()).unwrap();
    assert_eq!(sums, [999_000; 2]);
    let bindings = team.bindings();
    assert!(bindings.iter().all(|it| it.problem.is_none()), "{bindings:?}");
    assert_eq!(bindings[0].beyond_quota, None);
    let text = bindings[1].beyond_quota.as_deref().unwrap_or_default();
    assert!(text.starts_with("has no time of its own: this process may use the time of"), "{text}");
}

#[test]
#[ignore = "started by the other tests, within a mask"]
fn child() {
    let Ok(mask) = std::env::var(MASK) else { return };
    let mask: Vec<usize> = mask.split(',').map(|pu| pu.parse().unwrap()).collect();
    if let Some(procs) = std::env::var_os(CGROUP) {
        std::fs::write(procs, std::process::id().to_string()).unwrap();
    }
    assert_eq!(affinity::allowed_pus().unwrap(), mask);
    let machine = Machine::this().unwrap();
    assert_eq!(machine.allowed_pus(), mask);
    let cores = machine.cores().iter();
    let usable = cores.filter(|core| core.pus.iter().any(|pu| mask.contains(pu))).count();
    let quota = machine.quota().map_or(usize::MAX, |it| it.ranks());
    assert_eq!(Team::builder().build().unwrap().size(), usable.min(quota));

    for placement in
        [Placement::Auto, Placement::Compact, Placement::Scatter, Placement::Ring, Placement::Tree]
    {
        for ranks in [1, mask.len(), mask.len() + 1, 4 * mask.len() + 3] {
            let team = Team::builder().ranks(ranks).placement(placement.clone()).build().unwrap();
            let bound = team
                .run(|comm| {
                    let mut x = [1];
                    comm.all_reduce(&mut x, op::Sum);
                    assert_eq!(x, [comm.size()]);
                    let alike = comm.split_by(Level::Package).size();
                    assert!(alike >= 1 && alike <= comm.size());
                    affinity::current_mask().unwrap()
                })
                .unwrap();
            for (binding, bound) in team.bindings().iter().zip(bound) {
                assert_eq!(binding.problem, None, "{binding:?}");
                assert_eq!(binding.beyond_quota.is_some(), binding.rank >= quota, "{binding:?}");
                assert_eq!(bound, [binding.pu.unwrap()], "{binding:?}");
                assert!(mask.contains(&bound[0]), "{binding:?}");
            }
            drop(team);
            assert_eq!(affinity::current_mask().unwrap(), mask, "the caller's mask comes back");
        }
    }
    // A unit that the mask leaves out is refused by name.
    let absent = (0..).find(|pu| !mask.contains(pu)).unwrap();
    let list = Team::builder().ranks(1).placement(Placement::List(vec![absent])).build();
    assert!(list.unwrap_err().to_string().contains(&format!("PU {absent}")));
}
