//! `phalanx waits` knows every call that waits: the names are read from the library's sources.

use phalanx_waits::wait_state::WaitState;
use std::path::Path;

/// Names that stand for no call in which a rank waits.
const NO_WAIT: [&str; 12] = [
    "no call",
    "a call",
    "check",
    "message",
    "requests",
    "test",
    "try_probe",
    "cart",
    "cart_of",
    "mesh",
    "mesh_of",
    "the end of the closure",
];

/// What stands between quotes after the beginning of a signature, in one file.
fn names(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for start in [
        "Signature::of::<",
        "Signature::combining::<",
        "signature(",
        "meeting(",
        "of::<",
        "reduction!(",
        "started!(",
        "splitting(",
        "of_lengths(",
        "dots::<",
    ] {
        for (at, _) in code.match_indices(start) {
            // The first argument is the name, if it is a text.
            let rest = &code[at + start.len()..];
            let Some(quote) = rest.find('"') else { continue };
            let before = rest[..quote].trim_end();
            if before.is_empty() || (quote < 60 && before.ends_with(">(")) {
                found.extend(rest[quote + 1..].split('"').next().map(String::from));
            }
        }
    }
    // The table of kinds of calls as values: `"name" as "operation"`, in each way.
    for (at, _) in code.match_indices("\" as \"") {
        let name = code[..at].rsplit('"').next().unwrap_or_default();
        found.extend(
            ["", "started ", "persistent ", "overlapped "].map(|way| way.to_string() + name),
        );
    }
    found
}

#[test]
fn every_call_that_waits_has_a_state() {
    let comm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/comm");
    let mut all = Vec::new();
    let mut folders = vec![comm];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                all.extend(names(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    all.sort();
    all.dedup();
    // All of them were found, or nearly.
    assert!(all.len() > 70, "{all:?}");
    for name in [
        "barrier",
        "Window::update",
        "ghosts",
        "Neighborhood::scatter_add",
        "started shift",
        "sum",
        "split_by",
        "fixed_dot",
        "exclusive_scan",
    ] {
        assert!(all.iter().any(|it| it == name), "{name} is not among {all:?}");
    }
    let waits = all.iter().filter(|name| !NO_WAIT.contains(&name.as_str()));
    let unknown: Vec<_> = waits.filter(|name| WaitState::of_call(name, false).is_none()).collect();
    assert!(unknown.is_empty(), "no state of waiting for {unknown:?}");
}

#[test]
fn started_calls_and_the_waits_for_them_have_the_states_of_their_calls() {
    for (name, state) in [
        ("started barrier", WaitState::Barrier),
        ("wait for started all_reduce", WaitState::NxN),
        ("wait for started reduce", WaitState::EarlyReduce),
        ("wait for started recv_tagged", WaitState::LateSender),
        ("wait for started send_tagged", WaitState::LateReceiver),
        ("Neighborhood::scatter_add", WaitState::LateSender),
        ("exclusive_scan", WaitState::EarlyScan),
        ("overlapped barrier", WaitState::Barrier),
        ("wait for started sum", WaitState::NxN),
        ("wait for persistent scan", WaitState::EarlyScan),
        ("sum in fixed order", WaitState::NxN),
        ("Window::update", WaitState::NxN),
    ] {
        assert_eq!(WaitState::of_call(name, false), Some(state), "{name}");
    }
    assert_eq!(WaitState::of_call("a phase", false), None);
}

#[test]
fn functions_of_mpi_have_the_states_of_what_they_wait_for() {
    for (name, is_root, state) in [
        ("MPI_Recv", false, WaitState::LateSender),
        ("MPI_Sendrecv", false, WaitState::LateSender),
        ("MPI_Waitall", false, WaitState::LateSender),
        ("MPI_Test", false, WaitState::LateSender),
        ("MPI_Send", false, WaitState::LateReceiver),
        ("MPI_Ssend", false, WaitState::LateReceiver),
        ("MPI_Barrier", false, WaitState::Barrier),
        ("MPI_Win_fence", false, WaitState::Barrier),
        ("MPI_Bcast", false, WaitState::LateBroadcast),
        ("MPI_Bcast", true, WaitState::LateReceiver),
        ("MPI_Scatterv", false, WaitState::LateBroadcast),
        ("MPI_Reduce", true, WaitState::EarlyReduce),
        ("MPI_Gatherv", true, WaitState::EarlyReduce),
        ("MPI_Reduce_scatter_block", false, WaitState::NxN),
        ("MPI_Allreduce", false, WaitState::NxN),
        ("MPI_Alltoallv", false, WaitState::NxN),
        ("MPI_Comm_split", false, WaitState::NxN),
        ("MPI_Finalize", false, WaitState::NxN),
        ("MPI_Exscan", false, WaitState::EarlyScan),
    ] {
        assert_eq!(WaitState::of_call(name, is_root), Some(state), "{name}");
    }
}
