//! What a subscriber of `tracing` hears of a run, with the feature of that name.
#![cfg(feature = "tracing")]

use phalanx::{Team, op};
use std::io::{Result, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing_subscriber::fmt::format::FmtSpan;

/// The lines that a subscriber has written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Those of `rank`, and none after that.
    fn take(&self, rank: usize) -> Vec<String> {
        let bytes = self.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        let of_rank = format!("rank={rank}");
        text.lines().filter(|line| line.contains(&of_rank)).map(String::from).collect()
    }
}
#[test]
fn alone() {
    crate::in_a_process(module_path!(), "", None, 1);
}

/// One test: the subscriber is the process'.
#[test]
#[ignore = "run by `alone`"]
fn phases_are_spans_and_calls_and_waits_are_events() {
    // Built before anybody listens: nothing is recorded, phases are spans all the same.
    let early = Team::builder().ranks(2).build().unwrap();
    let lines = Lines::default();
    let to = lines.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(move || to.clone())
        .init();
    let statistics = early.run(|comm| {
        comm.phase("unheard", |comm| comm.barrier());
        comm.statistics()
    });
    assert_eq!(statistics.unwrap(), [None, None]);
    for rank in [0, 1] {
        let said = lines.take(rank);
        assert!(said.len() == 2 && said.iter().all(|line| line.contains("unheard")), "{said:#?}");
    }
    lines.0.lock().unwrap().clear();

    // Nobody names a file: the calls of this team are heard, and written nowhere.
    let team = Team::builder().ranks(2).build().unwrap();
    let line = line!() + 4;
    let counts = team.run(|comm| {
        let mut x = [1.0; 4];
        comm.phase("assembly", |comm| {
            comm.all_reduce(&mut x, op::Sum);
            if comm.rank() == 1 {
                std::thread::sleep(Duration::from_millis(5));
            }
            comm.barrier();
        });
        comm.statistics().map(|rows| rows.len())
    });
    assert_eq!(counts.unwrap(), [Some(2), Some(2)]);
    for rank in [0, 1] {
        let said = lines.take(rank);
        let begins = format!("phase{{phase=\"assembly\" rank={rank}}}: phalanx: ");
        assert!(said.iter().all(|line| line.contains(&begins)), "{said:#?}");
        let at = |what: &str| said.iter().position(|line| line.contains(what));
        let order = [": new", ": all_reduce rank", ": barrier rank", ": close"].map(at);
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{said:#?}");
        let sum = &said[order[1].unwrap()];
        assert!(sum.contains(" bytes=32 of=f64 with sum"), "{sum}");
        assert!(sum.contains(&format!("at=tests/alone/tracing.rs:{line}:")), "{sum}");
    }
    // Rank 0 was in the barrier 5 ms before rank 1, unless the system has kept it from there.
    let waits = lines.take(0);
    let ns = |line: &String| line.split_once(" ns=").map(|(_, ns)| ns.parse::<u64>().unwrap());
    let waits = waits.iter().filter(|line| line.contains(": waited rank=0 peer=1"));
    assert!(waits.filter_map(ns).max() > Some(0));
}
