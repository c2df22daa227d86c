//! Runs one program with a time limit and keeps its output. At the limit it ends the program's
//! process group, and no other process.

use phalanx_bench::interrupt;
use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a running program is looked at: rarely enough to leave the cores
/// to it.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// From asking a program to end to making it: launchers need some time to pass
/// the word to their ranks.
const GRACE: Duration = Duration::from_secs(2);

/// When a program is ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessLimits {
    time: Duration,
}

impl ProcessLimits {
    /// After this time, or at Ctrl-C.
    pub(crate) fn of(time: Duration) -> Self {
        ProcessLimits { time }
    }
}

/// The output of a program.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) success: bool,
    /// Why it was not a success.
    pub(crate) why: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running program.
#[derive(Debug)]
pub(crate) struct PeerProcess {
    child: Child,
    /// Its end, once that was seen.
    status: Option<ExitStatus>,
}

impl PeerProcess {
    /// Starts a program, with pipes.
    pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C reaches us alone, and we end it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(PeerProcess { child: command.spawn()?, status: None })
    }

    /// Its ends of the pipes, once.
    pub(super) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// Runs a program to its end or its limit.
    pub(crate) fn run(command: Command, limits: ProcessLimits) -> io::Result<Done> {
        let mut job = PeerProcess::spawn(command)?;
        let (stdin, stdout, stderr) = job.pipes();
        // There is nothing to read.
        drop(stdin);
        let (stdout, stderr) = (collect(stdout), collect(stderr));
        let started = Instant::now();
        let (status, ended) = loop {
            if let Some(status) = job.child.try_wait()? {
                break (status, None);
            }
            if interrupt::asked() {
                break (job.end()?, Some("interrupted".to_string()));
            }
            if started.elapsed() > limits.time {
                let why = format!("ended after its limit of {:.0} s", limits.time.as_secs_f64());
                break (job.end()?, Some(why));
            }
            std::thread::sleep(LOOK);
        };
        let text = |reader: JoinHandle<String>| reader.join().unwrap_or_default();
        Ok(Done {
            success: ended.is_none() && status.success(),
            why: ended.unwrap_or_else(|| status.to_string()),
            stdout: text(stdout),
            stderr: text(stderr),
        })
    }

    /// Its end, once: the one that it finds by itself in a while, if it may, else the one that it
    /// is made to find.
    pub(super) fn finish(&mut self, may_wait: bool) -> io::Result<ExitStatus> {
        let asked = Instant::now();
        while self.status.is_none() && may_wait && asked.elapsed() < GRACE {
            std::thread::sleep(LOOK / 4);
            self.status = self.child.try_wait()?;
            if self.status.is_some() {
                // The processes that it started and left behind.
                self.signal(Signal::Force);
            }
        }
        let status = match self.status {
            Some(status) => status,
            None => self.end()?,
        };
        self.status = Some(status);
        Ok(status)
    }

    /// Asks the program's group to end, then makes it.
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::Ask);
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if let Some(status) = self.child.try_wait()? {
                // The processes that it started and left behind.
                self.signal(Signal::Force);
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
        self.signal(Signal::Force);
        self.child.wait()
    }

    #[cfg(unix)]
    fn signal(&mut self, signal: Signal) {
        use nix::sys::signal::{Signal as Unix, killpg};
        let signal = match signal {
            Signal::Ask => Unix::SIGTERM,
            Signal::Force => Unix::SIGKILL,
        };
        if let Ok(id) = i32::try_from(self.child.id()) {
            // The group is gone: as was wanted.
            let _: Result<(), _> = killpg(nix::unistd::Pid::from_raw(id), signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _signal: Signal) {
        let _: io::Result<()> = self.child.kill();
    }
}

#[derive(Clone, Copy, Debug)]
enum Signal {
    Ask,
    Force,
}

/// Reads a pipe to its end, so that it is never full.
pub(super) fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The bytes before an error are all that there is.
        let _: Option<io::Result<usize>> = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_failure_are_kept() {
        let done =
            PeerProcess::run(shell("echo out; echo err >&2; exit 3"), ProcessLimits::of(GRACE))
                .unwrap();
        assert_eq!(
            (done.success, done.stdout.as_str(), done.stderr.as_str()),
            (false, "out\n", "err\n")
        );
        assert!(done.why.contains('3'), "{}", done.why);
        assert!(
            PeerProcess::run(Command::new("/no/such/program"), ProcessLimits::of(GRACE)).is_err()
        );
    }

    #[test]
    fn a_limit_ends_the_program_and_its_children() {
        let script = "sleep 1000 & echo $!; wait";
        let done =
            PeerProcess::run(shell(script), ProcessLimits::of(Duration::from_millis(100))).unwrap();
        assert!(!done.success && done.why.contains("limit"), "{}", done.why);
        let child = done.stdout.trim();
        assert!(!child.is_empty());
        // Gone, or a zombie that nobody has asked for yet; soon, if not at once.
        let is_alive = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            state.contains("(sleep)") && !state.contains(") Z ")
        };
        let asked = Instant::now();
        while is_alive() {
            assert!(asked.elapsed() < Duration::from_secs(60), "process {child} is still there");
            std::thread::sleep(LOOK);
        }
    }
}
