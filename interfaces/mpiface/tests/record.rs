//! The record of a run (PHALANX_RECORD) has the program's calls of MPI, with their lines, and what
//! each rank waited for. Without the compiler, a test says so and passes.
//!
//! Rank 1 sleeps before the others wait for it. On a busy machine another rank may be later still:
//! where a wait is asked for, a run is made again, a few times.

mod common;

use common::*;
use phalanx_waits::record::{self, Event, EventKind, Run};
use std::sync::OnceLock;

/// A run of the file: docs/timeline.md has the format.
struct Recorded(Run);

fn read(file: &Path) -> Vec<Recorded> {
    let bytes = std::fs::read(file).expect("the record was written");
    let sections = record::sections(&bytes).expect("a record");
    assert_eq!(sections.cut, [""; 0]);
    let all = sections.whole.into_iter().map(|it| record::run(&bytes[it]).expect("a run"));
    all.inspect(check).map(Recorded).collect()
}

fn check(run: &Run) {
    for rank in &run.ranks {
        assert!(rank.began <= rank.ended && rank.lost == 0);
        let is_within = |it: &Event| it.end.is_some_and(|end| it.begin <= end && end <= rank.ended);
        assert!(rank.events.iter().all(is_within), "{rank:?}");
    }
}

/// Runs a program; gives its record.
fn recorded(name: &str, ranks: usize, program: &Path, arguments: &[&str]) -> (Ended, Recorded) {
    let file = directory("record").join(name);
    let _ = std::fs::remove_file(&file);
    let ended = end(launcher(ranks, program).args(arguments).env("PHALANX_RECORD", &file));
    let mut runs = read(&file);
    assert_eq!(runs.len(), 1);
    (ended, runs.remove(0))
}

/// The line of the program that says this, behind the line that says `after`.
fn line(source: &str, after: &str, what: &str) -> String {
    let begin = source.lines().position(|it| it.contains(after)).expect(after);
    let more = source.lines().skip(begin).position(|it| it.contains(what)).expect(what);
    format!("record.c:{}", begin + more + 1)
}

/// The program of record.c, compiled once for all tests, if there is a compiler.
fn program() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    MADE.get_or_init(|| built(CC, "record.c", &[])).as_deref()
}

fn source() -> String {
    std::fs::read_to_string(common::source("record.c")).expect("part of the package")
}

impl Recorded {
    /// The calls of a rank in a line.
    fn calls(&self, rank: usize, at: &str) -> Vec<&Event> {
        let is_one = |it: &&Event| it.kind == EventKind::Call && self.0.text(it.at) == at;
        self.0.ranks[rank].events.iter().filter(is_one).collect()
    }

    /// The only call of a rank of this function in a line.
    fn call(&self, rank: usize, name: &str, at: &str) -> &Event {
        let calls = self.calls(rank, at);
        let is_it = calls.len() == 1 && self.0.text(calls[0].name) == name;
        assert!(is_it, "{name} at {at} of {rank}: {calls:?}");
        calls[0]
    }

    /// For whom a rank waited in a call.
    fn awaited(&self, rank: usize, call: &Event) -> Vec<usize> {
        let is_in = |it: &&Event| it.kind == EventKind::Wait && it.comm == call.comm;
        let all = self.0.ranks[rank].events.iter().filter(is_in).filter(|it| it.end <= call.end);
        all.filter(|it| it.begin >= call.begin).filter_map(|it| it.peer).collect()
    }
}

#[test]
fn calls_have_their_names_lines_bytes_and_partners() {
    let (Some(program), source) = (program(), source()) else { return };
    let (ended, run) = recorded("calls", 3, program, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!((run.0.outcome.as_str(), run.0.ranks.len()), ("", 3));
    assert_eq!(run.0.program, program.display().to_string());
    let at = |section: &str, what: &str| line(&source, section, what);
    // (section, the line's text, function, rank, bytes, partner)
    let expected = [
        ("void messages", "Send(&x", "MPI_Send", 1, 4, Some(0)),
        // The bytes that have come, not the room for them.
        ("void messages", "Recv(&y, 4", "MPI_Recv", 0, 4, Some(1)),
        ("void messages", "Send(big", "MPI_Send", 0, 80_000, Some(1)),
        ("void messages", "Recv(big", "MPI_Recv", 1, 80_000, Some(0)),
        // By any source: the sender.
        ("void messages", "ANY_SOURCE, 9", "MPI_Recv", 0, 4, Some(1)),
        ("void requests", "Irecv(&in[0]", "MPI_Irecv", 2, 4, Some(1)),
        ("void requests", "Isend", "MPI_Isend", 2, 4, Some(0)),
        ("void requests", "Waitall", "MPI_Waitall", 2, 0, None),
        ("void requests", "ANY_SOURCE, 4", "MPI_Irecv", 2, 4, None),
        ("ANY_SOURCE, 4", "Wait(&all[0]", "MPI_Wait", 2, 4, Some(1)),
        ("void requests", "Test", "MPI_Test", 2, 0, Some(1)),
        ("void requests", "Iallreduce", "MPI_Iallreduce", 0, 4, None),
        ("void collectives", "Barrier", "MPI_Barrier", 0, 0, None),
        ("void collectives", "Bcast", "MPI_Bcast", 0, 512, Some(1)),
        ("void collectives", "Allreduce", "MPI_Allreduce", 0, 512, None),
        ("void collectives", "Allgatherv", "MPI_Allgatherv", 2, 24, None),
        ("void collectives", "Comm_split", "MPI_Comm_split", 2, 0, None),
        // Root 0 of a half is rank 1 of the world.
        ("void collectives", "Reduce", "MPI_Reduce", 1, 64, Some(1)),
        ("void windows", "Win_allocate", "MPI_Win_allocate", 1, 0, None),
        ("void windows", "Put", "MPI_Put", 2, 4, Some(0)),
        ("int main", "Init", "MPI_Init", 2, 0, None),
        ("int main", "Finalize", "MPI_Finalize", 2, 0, None),
    ];
    for (section, what, name, rank, bytes, peer) in expected {
        let it = run.call(rank, name, &at(section, what));
        assert_eq!((it.bytes, it.peer), (bytes, peer), "{name}, {what}");
    }
    // One number a collective, on all ranks of its communicator, and none for a message.
    for (section, what) in [("void collectives", "Barrier"), ("void windows", "Win_fence")] {
        let numbers: Vec<_> = (0..3).map(|rank| run.calls(rank, &at(section, what))[0]).collect();
        assert!(numbers[0].call > 0, "{what}");
        assert!(numbers.iter().all(|it| it.call == numbers[0].call), "{what}");
        assert!(numbers.iter().all(|it| it.comm == numbers[0].comm), "{what}");
    }
    assert_eq!(run.call(1, "MPI_Send", &at("void messages", "Send(&x")).call, 0);
    let half = |rank| run.call(rank, "MPI_Reduce", &at("void collectives", "Reduce")).comm;
    assert!(half(0) == half(2) && half(0) != half(1) && half(0) != 0);
    // Calls that reach no other rank are none.
    let is_local = |it: &Event| run.0.text(it.name).starts_with("MPI_Comm_rank");
    assert!(!run.0.ranks.iter().flat_map(|it| &it.events).any(is_local));
}

#[test]
fn waits_name_the_rank_that_is_late() {
    let (Some(program), source) = (program(), source()) else { return };
    // (section, the line's text, the rank that waits there for rank 1, however the data goes)
    let expected = [
        ("void messages", "Recv(&y, 4", 0),
        ("void messages", "Send(big", 0),
        ("void messages", "ANY_SOURCE, 9", 0),
        ("void requests", "Waitall", 2),
        ("ANY_SOURCE, 4", "Wait(&all[0]", 2),
        ("void requests", "Test", 2),
        ("void collectives", "Barrier", 0),
        ("void collectives", "Bcast", 0),
        ("void collectives", "Allreduce", 0),
        ("void collectives", "Allgatherv", 0),
        ("void windows", "Win_fence", 0),
    ];
    let mut missed: Vec<_> = expected.to_vec();
    for _ in 0..8 {
        let (_, run) = recorded("waits", 3, program, &[]);
        missed.retain(|(section, what, rank)| {
            let at = line(&source, section, what);
            let call = run.calls(*rank, &at)[0];
            !run.awaited(*rank, call).contains(&1)
        });
        if missed.is_empty() {
            return;
        }
    }
    panic!("no wait for rank 1 in {missed:?}");
}

#[test]
fn a_run_that_ends_by_an_error_is_recorded_with_its_text() {
    let (Some(program), source) = (program(), source()) else { return };
    let (ended, run) = recorded("error", 2, program, &["hang"]);
    assert_eq!(ended.code, Some(1));
    let at = line(&source, "int main", "Recv");
    assert!(run.0.outcome.contains(&format!("MPI_Recv at {at}")), "{}", run.0.outcome);
    // The call that the rank is in ends with the run.
    let last = run.call(0, "MPI_Recv", &at);
    let latest = run.0.ranks.iter().flat_map(|it| &it.events).map(|it| it.end).max();
    assert_eq!(Some(last.end), latest);
}

#[test]
fn teams_of_ordinary_programs_are_recorded_call_by_call() {
    let Some(at) = directory_with(&["cc"], "record") else { return };
    link(CC, &at, "-g -shared @part.c -o libpart.so");
    link(CC, &at, "-g --plain @host.c -L$AT -lpart -Wl,-rpath,$AT -o host");
    let file = at.join("team");
    let _ = std::fs::remove_file(&file);
    let ended = end(Command::new(at.join("host")).env("PHALANX_RECORD", &file));
    let runs = read(&file);
    assert!(runs.len() > 1, "{ended:?}");
    assert!(runs.iter().any(|run| run.0.ranks.iter().all(|it| !it.events.is_empty())));
}
