//! Starting ranks, and waiting for them.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a team of a test may take.
const LIMIT: Duration = Duration::from_secs(300);

/// A name that no other team has.
pub(crate) fn name() -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("test {} {number}", std::process::id())
}

/// A rank that runs.
pub(crate) struct Rank {
    pub(crate) process: Child,
    text: Arc<Mutex<Vec<u8>>>,
    output: Option<std::thread::JoinHandle<()>>,
}

/// How a rank has ended, and its output.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
}

impl Drop for Rank {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program of a rank with a role.
pub(crate) fn program(role: &str, team: &str, rank: usize, ranks: usize) -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["rank", "--exact", "--nocapture", "--test-threads=1"]);
    program.env("PHALANX_ROLE", role).env("PHALANX_TEAM", team);
    program.env("PHALANX_RANK", rank.to_string()).env("PHALANX_RANKS", ranks.to_string());
    program
}

pub(crate) fn start(mut program: Command) -> Rank {
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = program.spawn().unwrap();
    let mut errors = process.stderr.take().unwrap();
    let text = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&text);
    let output = std::thread::spawn(move || {
        let mut some = [0; 4096];
        while let Ok(n @ 1..) = errors.read(&mut some) {
            to.lock().unwrap().extend_from_slice(&some[..n]);
        }
    });
    Rank { process, text, output: Some(output) }
}

impl Rank {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    /// Waits until it has printed `word`.
    pub(crate) fn await_word(&self, word: &str) {
        let since = Instant::now();
        while !self.text().contains(word) {
            assert!(since.elapsed() < LIMIT, "no `{word}`: {}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            if since.elapsed() > LIMIT {
                let _ = self.process.kill();
                let _ = self.process.wait();
                panic!("a rank has not ended: {}", self.text());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        self.output.take().unwrap().join().unwrap();
        Ended { status, text: self.text() }
    }
}

/// A team of ranks with one role, whose programs are changed before they start.
pub(crate) fn ranks_of(
    role: &str,
    ranks: usize,
    change: impl for<'a> Fn(&'a mut Command) -> &'a mut Command,
) -> Vec<Rank> {
    let name = name();
    let one = |rank| {
        let mut program = program(role, &name, rank, ranks);
        change(&mut program);
        start(program)
    };
    (0..ranks).map(one).collect()
}

pub(crate) fn team(role: &str, ranks: usize) -> Vec<Rank> {
    ranks_of(role, ranks, |program| program)
}

/// Waits for the ranks' ends, which must be good ones; gives all that they have said.
pub(crate) fn end_well(ranks: impl IntoIterator<Item = Rank>) -> String {
    let well = |(rank, it): (usize, Rank)| {
        let ended = it.end();
        assert!(ended.status.success(), "rank {rank}: {}, {}", ended.status, ended.text);
        ended.text
    };
    ranks.into_iter().enumerate().map(well).collect()
}

/// The code by which a child of a fork ends that does this; none if it does not end by a code.
pub(crate) fn forked(child: impl FnOnce() -> i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: the child does this, and ends.
    let child = match unsafe { libc::fork() } {
        // SAFETY: as above.
        0 => unsafe { libc::_exit(child()) },
        child => child,
    };
    // SAFETY: the child's number.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    libc::WIFEXITED(status).then_some(libc::WEXITSTATUS(status))
}

/// Runs a team to its end, which must be a good one.
pub(crate) fn run(role: &str, ranks: usize) {
    end_well(team(role, ranks));
}
