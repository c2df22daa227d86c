//! The trace for Perfetto has the form of Chrome's trace events ("Trace Event Format"): each event
//! has the fields of its phase, with their types, and each arrow has two ends in order.

use phalanx::{Team, op};
use phalanx_waits::{perfetto, record, summary};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

#[test]
fn a_trace_has_the_form_of_trace_events() {
    let file = std::env::temp_dir().join(format!("perfetto-{}.phx", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let team = Team::builder().ranks(3).record(&file).build().unwrap();
    team.run(|comm| {
        comm.phase("first", |comm| {
            if comm.rank() == 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
            comm.barrier();
        });
        comm.all_reduce(&mut [1.0; 3], op::Sum);
    })
    .unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let run = record::run(&bytes[record::sections(&bytes).unwrap().whole.remove(0)]).unwrap();
    let summary = summary::read(&run);
    let text = perfetto::trace(&run, &summary).to_string();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut slices = HashMap::new();
    let mut on_track: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    let mut arrows: HashMap<u64, Vec<(String, f64)>> = HashMap::new();
    let (mut tracks, mut waited) = (0, 0);
    for event in events {
        assert!(event["name"].is_string() && event["pid"].is_u64(), "{event}");
        // A process of one thread for each rank; Perfetto gives thread 0 no track of its name.
        let tid = event["tid"].as_u64().unwrap();
        assert!(tid <= 3 && (tid > 0 || event["name"] == "process_name"), "{event}");
        let kind = event["ph"].as_str().unwrap();
        if kind == "M" {
            assert!(event["args"]["name"].is_string(), "{event}");
            tracks += usize::from(event["name"] == "thread_name");
            continue;
        }
        let time = event["ts"].as_f64().unwrap();
        assert!(time >= 0.0 && event["cat"].is_string(), "{event}");
        match kind {
            "X" => {
                let length = event["dur"].as_f64().unwrap();
                assert!(length >= 0.0, "{event}");
                // As Perfetto reads it: each number is cut off.
                let [begin, ns] = [time, length].map(|us| (us * 1000.0) as u64);
                on_track.entry(tid).or_default().push((begin, begin + ns));
                let category = event["cat"].as_str().unwrap();
                *slices.entry(category).or_insert(0) += 1;
                waited += if category == "wait" { ns } else { 0 };
            }
            "s" | "f" => {
                let ends = arrows.entry(event["id"].as_u64().unwrap()).or_default();
                ends.push((kind.to_string(), time));
            }
            _ => panic!("{event}"),
        }
    }
    assert_eq!((tracks, slices["call"], slices["phase"]), (3, 9, 3));
    // A late start is none of the waits: no rank is awaited, and the tables count it apart.
    assert!(slices["start"] >= 1, "{slices:?}");
    assert!(slices["wait"] >= 2 && arrows.len() == slices["wait"], "{slices:?} {arrows:?}");
    let wanted: u64 = summary.ranks.iter().map(|row| row.spent.waiting).sum();
    assert_eq!(waited, wanted);
    for mut events in on_track.into_values() {
        // Those of one track are nested, or apart: Perfetto drops events that overlap in part.
        events.sort_by_key(|&(begin, end)| (begin, Reverse(end)));
        let mut outer: Vec<u64> = Vec::new();
        for (begin, end) in events {
            outer.retain(|last| *last > begin);
            assert!(outer.last().is_none_or(|last| end <= *last), "{begin} to {end}, {outer:?}");
            outer.push(end);
        }
    }
    for ends in arrows.values() {
        let [(first, begin), (second, end)] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!((first.as_str(), second.as_str()), ("s", "f"));
        assert!(begin <= end);
    }
}
