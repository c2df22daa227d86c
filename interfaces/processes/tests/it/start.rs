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

/// A team of ranks with one role.
pub(crate) fn team(role: &str, ranks: usize) -> Vec<Rank> {
    let name = name();
    (0..ranks).map(|rank| start(program(role, &name, rank, ranks))).collect()
}

/// Runs a team to its end, which must be a good one.
pub(crate) fn run(role: &str, ranks: usize) {
    for (rank, it) in team(role, ranks).into_iter().enumerate() {
        let ended = it.end();
        assert!(ended.status.success(), "{role}, rank {rank} of {ranks}: {}", ended.text);
    }
}
