//! A control group with a quota, for a child of this process.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A control group, removed when dropped.
struct Group(PathBuf);

impl Group {
    /// Of `cores` cores, in version 1 or 2, as the system has it and allows.
    fn new(cores: f64) -> std::io::Result<Group> {
        const PERIOD: f64 = 100_000.0;
        let name = format!("phalanx-waiting-{}", std::process::id());
        let quota = (cores * PERIOD) as u64;
        let old = Path::new("/sys/fs/cgroup/cpu");
        if old.exists() {
            fs::create_dir(old.join(&name))?;
            let group = Group(old.join(name));
            fs::write(group.0.join("cpu.cfs_quota_us"), quota.to_string())?;
            return Ok(group);
        }
        let group = Path::new("/sys/fs/cgroup").join(name);
        fs::create_dir(&group)?;
        let group = Group(group);
        fs::write(group.0.join("cpu.max"), format!("{quota} {PERIOD}"))?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.0));
    }
}

/// Runs this program with `arguments` under a quota of `cores` cores, or says why not.
pub(crate) fn run(cores: f64, arguments: &[String]) {
    let run = || {
        let group = Group::new(cores)?;
        let processes = fs::OpenOptions::new().write(true).open(group.0.join("cgroup.procs"))?;
        let mut child = Command::new(std::env::current_exe()?);
        child.args(arguments);
        // SAFETY: writes to a file that is open; allocates nothing.
        unsafe {
            child.pre_exec(move || std::io::Write::write_all(&mut &processes, b"0"));
        }
        child.status()
    };
    if let Err(why) = run() {
        println!("| - | quota {cores}: skipped, {why} |");
    }
}
