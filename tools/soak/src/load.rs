//! Outside load: busy processes beside the ranks, in their scheduler group or in another one.
//!
//! Linux shares the processor between sessions before it shares it between the threads of one
//! (autogroup), and a yield beside a busy thread of the own group costs a slice of its time, beside
//! one of another group next to nothing. So both are made. The processes are this program, started
//! with the hidden command `busy`.
//!
//! None may outlive the process that started it. Its end is ensured three times: it is killed when
//! the [`Load`] is dropped; the system kills it when its parent dies, however that happens, or,
//! where the system does not do that, it looks for its parent every millisecond; and it has a time
//! limit.

use phalanx_bench::suggest;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Which scheduler group a busy process is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// That of the ranks: their session.
    Same,
    /// Another one: a session of its own.
    Other,
}

impl Group {
    const NAMES: [&str; 2] = ["same", "other"];

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// With its article.
    pub(crate) fn article(self) -> &'static str {
        match self {
            Group::Same => "the same",
            Group::Other => "another",
        }
    }
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match suggest::plain(text).as_str() {
            "same" => Ok(Group::Same),
            "other" => Ok(Group::Other),
            _ => Err(suggest::unknown("load group", text, &Self::NAMES)),
        }
    }
}

/// Busy processes; they end when it is dropped.
#[derive(Debug)]
pub(crate) struct Load(Vec<Child>);

impl Load {
    /// Starts `count` of them, which run for `limit` at most, and waits until all do.
    ///
    /// To be called by a thread that lives as long as the load: the system ends it with that
    /// thread.
    pub(crate) fn start(count: usize, group: Group, limit: Duration) -> io::Result<Self> {
        let mut load = Load(Vec::new());
        for _ in 0..count {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["busy", "--parent", &std::process::id().to_string()]);
            command.args(["--group", group.name(), "--seconds", &limit.as_secs().to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            // Ctrl-C is for this process, which then ends its load. One that is to begin a session
            // must not lead a group.
            #[cfg(unix)]
            if group == Group::Same {
                std::os::unix::process::CommandExt::process_group(&mut command, 0);
            }
            load.0.push(command.spawn()?);
        }
        for child in &mut load.0 {
            // It says one byte once it is in its group.
            let mut ready = [0];
            let mut from = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
            if from.read(&mut ready)? == 0 {
                return Err(io::Error::other("a busy process ended at once"));
            }
        }
        Ok(load)
    }

    /// Whether all of them still run.
    pub(crate) fn is_whole(&mut self) -> io::Result<bool> {
        for child in &mut self.0 {
            if child.try_wait()?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Neither fails but for a process that has ended and been waited for.
            let _: io::Result<()> = child.kill();
            let _: io::Result<_> = child.wait();
        }
    }
}

/// The work of such a process: it moves to its group, says that it is ready, and turns in a loop.
pub(crate) fn keep_busy(parent: u32, group: Group, limit: Duration) -> Result<(), String> {
    #[cfg(unix)]
    if group == Group::Other {
        nix::unistd::setsid().map_err(|e| format!("no session of its own: {e}"))?;
    }
    #[cfg(not(unix))]
    if group == Group::Other {
        return Err("there is no other scheduler group on this system".to_string());
    }
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
        .map_err(|e| format!("no signal at the parent's end: {e}"))?;
    let mut out = io::stdout();
    out.write_all(b"!").and_then(|()| out.flush()).map_err(|e| e.to_string())?;
    let begun = Instant::now();
    // The parent may have ended before the signal was asked for: it is looked for here as well.
    while begun.elapsed() < limit && has_parent(parent) {
        let turn = Instant::now();
        while turn.elapsed() < Duration::from_millis(1) {
            (0..100).for_each(|_| std::hint::spin_loop());
        }
    }
    Ok(())
}

#[cfg(unix)]
fn has_parent(parent: u32) -> bool {
    nix::unistd::getppid().as_raw() as u32 == parent
}

#[cfg(not(unix))]
fn has_parent(_: u32) -> bool {
    true
}

/// Why processes of another session may be of the same scheduler group, if they are.
pub(crate) fn no_groups() -> Option<&'static str> {
    let file = "/proc/sys/kernel/sched_autogroup_enabled";
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim() == "1" => None,
        _ => Some("this system's scheduler does not group processes by session"),
    }
}
