//! A running program that takes turns with others. It lives as long as the comparison; between its
//! turns it sleeps. One that dies, hangs or answers something else is dropped, with the reason.

use super::process::{LOOK, PeerProcess, collect};
use phalanx_bench::bench::turn_protocol::{TurnAnswer, TurnCommand};
use phalanx_bench::interrupt;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lines that may wait to be read.
const LINES: usize = 64;

/// Why a program is dropped that answers nothing, since somebody asked for the end.
const INTERRUPTED: &str = "interrupted";

/// One program.
#[derive(Debug)]
pub(crate) struct Player {
    process: PeerProcess,
    /// None when it was told to end.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Player {
    /// Starts it, and waits until it is ready. An error says why it is not.
    pub(crate) fn start(command: Command, limit: Duration) -> Result<Self, String> {
        let mut process = PeerProcess::spawn(command).map_err(|e| e.to_string())?;
        let (stdin, stdout, stderr) = process.pipes();
        let (send, lines) = sync_channel(LINES);
        std::thread::spawn(move || {
            let lines = stdout.map(BufReader::new).into_iter().flat_map(BufRead::lines);
            // It ends with the program, or when nobody listens any more.
            let _: Result<(), ()> =
                lines.map_while(Result::ok).try_for_each(|l| send.send(l).map_err(drop));
        });
        let stderr = Some(collect(stderr));
        let mut player = Player { process, stdin, lines, stderr };
        let until = Instant::now() + limit;
        loop {
            // A launcher may have something to say before.
            match player.line(until).map(|line| line.parse()) {
                Ok(Ok(TurnAnswer::Ready)) => return Ok(player),
                Ok(_) => {}
                Err(why) => return Err(player.drop_for(why)),
            }
        }
    }

    /// Tells it something that has an answer, and waits for that. After an error it has to be
    /// [dropped](Player::drop_for).
    pub(crate) fn ask(
        &mut self,
        command: &TurnCommand,
        limit: Duration,
    ) -> Result<TurnAnswer, String> {
        let until = Instant::now() + limit;
        self.tell(command)?;
        loop {
            let line = self.line(until)?;
            if !line.starts_with('#') {
                return line.parse();
            }
        }
    }

    /// Tells it to end, and does not wait.
    pub(crate) fn dismiss(&mut self) {
        // If it has ended already, all is well.
        let _: Result<(), String> = self.tell(&TurnCommand::End);
        self.stdin = None;
    }

    /// Waits for its end after it was told to. An error says how it ended instead.
    pub(crate) fn end(mut self) -> (Result<(), String>, Vec<String>) {
        self.dismiss();
        let ended = match self.process.finish(true) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(status.to_string()),
            Err(e) => Err(e.to_string()),
        };
        let said = self.said();
        let first = said.first().cloned().unwrap_or_else(|| "no reason given".to_string());
        (ended.map_err(|how| format!("{how}: {first}")), said)
    }

    /// Ends it at once. Returns the reason, with the first line that it said itself.
    pub(crate) fn drop_for(mut self, why: String) -> String {
        // Whether that worked is not to be said here.
        let _: io::Result<ExitStatus> = self.process.finish(false);
        let said = self.said();
        [Some(&why), said.first()].into_iter().flatten().cloned().collect::<Vec<_>>().join(": ")
    }

    /// What it wrote to its standard error.
    fn said(&mut self) -> Vec<String> {
        let said = self.stderr.take().map(|reader| reader.join().unwrap_or_default());
        let said = said.unwrap_or_default();
        said.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
    }

    fn tell(&mut self, command: &TurnCommand) -> Result<(), String> {
        let Some(stdin) = &mut self.stdin else { return Err("it was told to end".to_string()) };
        let told = writeln!(stdin, "{command}").and_then(|()| stdin.flush());
        told.map_err(|_| self.ended())
    }

    fn line(&mut self, until: Instant) -> Result<String, String> {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return Ok(line.trim().to_string()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if interrupt::asked() => {
                    return Err(INTERRUPTED.to_string());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > until => {
                    return Err("gave no answer in its time".to_string());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// How a program ended that should not have.
    fn ended(&mut self) -> String {
        match self.process.finish(true) {
            Ok(status) => format!("ended by itself, {status}"),
            Err(e) => e.to_string(),
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // Nobody is left behind.
        let _: io::Result<ExitStatus> = self.process.finish(false);
    }
}

#[cfg(all(test, unix))]
pub(super) mod tests {
    use super::*;

    pub(in crate::peers) fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn it_answers_and_ends() {
        let script = "echo hello; echo a word >&2; echo ready; while read line; do
            case $line in end) exit 0;; *) echo '# a note'; echo place ccx;; esac; done";
        let mut player = Player::start(shell(script), LONG).unwrap();
        for _ in 0..3 {
            let answer = player.ask(&TurnCommand::Place, LONG).unwrap();
            assert_eq!(answer.to_string(), "place ccx");
        }
        assert_eq!(player.end(), (Ok(()), vec!["a word".to_string()]));
    }

    #[test]
    fn a_program_that_never_gets_ready_is_ended() {
        let why = Player::start(shell("echo no >&2; exit 3"), LONG).unwrap_err();
        assert!(why.contains("ended by itself") && why.ends_with(": no"), "{why}");
        let why = Player::start(shell("sleep 1000"), SHORT).unwrap_err();
        assert_eq!(why, "gave no answer in its time");
        assert!(Player::start(Command::new("/no/such/program"), LONG).is_err());
    }

    #[test]
    fn a_program_that_dies_hangs_or_babbles_says_why_it_is_dropped() {
        for (script, wanted) in [
            ("echo ready; read line; echo broken >&2; exit 7", "ended by itself"),
            ("echo ready; read line; sleep 1000", "gave no answer in its time"),
            ("echo ready; read line; echo what?; read line", "'what?' is no answer"),
        ] {
            let mut player = Player::start(shell(script), LONG).unwrap();
            let limit = if script.contains("sleep") { SHORT } else { LONG };
            let why = player.ask(&TurnCommand::Place, limit).unwrap_err();
            assert!(why.contains(wanted), "{why}");
            let why = player.drop_for(why);
            assert!(why.contains(wanted), "{why}");
            assert_eq!(why.ends_with(": broken"), script.contains("broken"), "{why}");
        }
    }
}
