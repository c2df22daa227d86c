//! The timeline as Chrome's trace events, which Perfetto (`ui.perfetto.dev`) opens: a track a rank,
//! calls, waits and phases as slices, and arrows from a late rank to those that waited for it.

use crate::record::Run;
use crate::summary::Summary;
use crate::wait_state::{Doing, WaitState};
use serde_json::{Value, json};

/// Microseconds, in which the format counts. Perfetto cuts off parts of a nanosecond: a
/// quarter more, so that rounding never takes one away, and slices stay within others.
fn us(ns: u64) -> f64 {
    (ns as f64 + 0.25) / 1000.0
}

/// The number of a rank's track. To Perfetto, thread 0 is the idle one, which has no name.
fn track(rank: usize) -> usize {
    rank + 1
}

/// The trace, one object.
pub fn trace(run: &Run, summary: &Summary) -> Value {
    let mut events = vec![json!({
        "name": "process_name", "ph": "M", "pid": 1, "tid": 0,
        "args": { "name": run.program },
    })];
    let slice = |rank: usize, name: &str, cat: &str, (begin, end): (u64, u64), args: Value| {
        json!({
            "name": name, "cat": cat, "ph": "X", "pid": 1, "tid": track(rank),
            "ts": us(begin), "dur": us(end.saturating_sub(begin)), "args": args,
        })
    };
    let mut arrow = 0;
    for (rank, line) in summary.lines.iter().enumerate() {
        events.push(json!({
            "name": "thread_name", "ph": "M", "pid": 1, "tid": track(rank),
            "args": { "name": format!("rank {rank}") },
        }));
        for phase in &line.phases {
            let args = json!({ "line": run.text(phase.at) });
            let span = (phase.begin, phase.end);
            events.push(slice(rank, run.text(phase.name), "phase", span, args));
        }
        for call in &line.calls {
            let args = json!({
                "line": run.text(call.at),
                "bytes": call.bytes,
                "elements": run.text(call.detail),
                "algorithm": run.text(call.algorithm),
                "route": call.transport.name(),
            });
            events.push(slice(rank, run.text(call.name), "call", (call.begin, call.end), args));
        }
        if line.dispatched < line.began {
            // No wait: it awaits no rank, and the tables count it apart.
            let span = (line.dispatched, line.began);
            events.push(slice(rank, "late start", "start", span, json!({})));
        }
        for late in &summary.late[rank] {
            let args = json!({ "for rank": late.culprit });
            events.push(slice(rank, late.state.name(), "wait", (late.begin, late.end), args));
            arrow += 1;
            let end = |ph: &str, rank: usize, ts: u64| {
                json!({
                    "name": late.state.name(), "cat": "release", "ph": ph, "id": arrow, "pid": 1,
                    "tid": track(rank), "ts": us(ts), "bp": "e",
                })
            };
            let done = line.waits[late.wait].end;
            events.push(end("s", late.culprit, late.end));
            events.push(end("f", rank, done.saturating_sub(1).max(late.end)));
        }
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": events })
}

/// The colour of a rank that has not begun, behind those of the states of waiting.
const LATE_START: u8 = 2 + WaitState::ALL.len() as u8;

/// The names of the page's colours.
pub(crate) fn colour_names() -> impl Iterator<Item = &'static str> {
    ["work", "transfer"]
        .into_iter()
        .chain(WaitState::ALL.map(WaitState::name))
        .chain(["late start"])
}

/// By state of waiting, or otherwise: the number of a colour on the page.
pub(crate) fn colour(doing: Doing, summary: &Summary, rank: usize) -> u8 {
    match doing {
        Doing::Starts => LATE_START,
        Doing::Works(_) => 0,
        Doing::Transfers(_) => 1,
        Doing::Waits(at) => 2 + summary.late[rank][at].state as u8,
    }
}
