//! `phalanx trace`, `cost` and `check` from outside: the book's figures and numbers, exit codes,
//! error messages.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

fn phalanx(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
    command.args(args.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

fn stdout(args: &str) -> String {
    let out = phalanx(args);
    assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The rows of a tsv table, by column name.
fn rows(args: &str, header: &str) -> Vec<BTreeMap<String, String>> {
    let text = stdout(&format!("{args} --format tsv"));
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap().split('\t').collect::<Vec<_>>().join(" "), header);
    let names = header.split(' ').map(String::from);
    let row = |line: &str| names.clone().zip(line.split('\t').map(String::from)).collect();
    lines.map(row).collect()
}

const TRACE: &str = "step src dst blocks words";
const COST: &str = "id ranks steps ts_count tw_words time dilation congestion closed_form";
const CHECK: &str = "id ranks dims root result";

/// Messages as `step src>dst blocks`.
fn messages(args: &str) -> Vec<String> {
    let line = |m: &BTreeMap<String, String>| {
        format!("{} {}>{} {}", m["step"], m["src"], m["dst"], m["blocks"])
    };
    rows(args, TRACE).iter().map(line).collect()
}

#[test]
fn traces_are_those_of_the_figures() {
    // T6, the scatter's figure.
    assert_eq!(
        messages("trace SC-HCUBE -p 8"),
        ["1 0>4 4,5,6,7", "2 0>2 2,3", "2 4>6 6,7", "3 0>1 1", "3 2>3 3", "3 4>5 5", "3 6>7 7"]
    );
    // T7, Fig. 4.18, its last step.
    let last: Vec<String> =
        messages("trace TX-RING -p 6").into_iter().filter(|m| m.starts_with('5')).collect();
    let wanted = ["0>1 2>1", "1>2 3>2", "2>3 4>3", "3>4 5>4", "4>5 0>5", "5>0 1>0"];
    assert_eq!(last, wanted.map(|m| format!("5 {m}")));
    // Words of a split message are fractions.
    let words = rows("trace BC-SPLIT-RING -p 3 --words 10", TRACE);
    assert_eq!((words[0]["words"].as_str(), words[0]["blocks"].as_str()), ("10/3", "2"));
    // A shift is taken mod p.
    assert_eq!(
        messages("trace CS-MESH -p 16 --shift 21"),
        messages("trace CS-MESH -p 16 --shift 5")
    );
    assert_eq!(messages("trace CS-RING -p 5 --shift -4"), messages("trace CS-RING -p 5"));
    // The mesh can stand for the number of ranks.
    assert_eq!(messages("trace AG-MESH --dims 2x3"), messages("trace AG-MESH -p 6 --dims 2x3"));
}

#[test]
fn text_draws_who_holds_what() {
    // T9, Fig. 4.20.
    let figure = stdout("trace TX-HCUBE -p 8");
    assert!(figure.contains("   5  5>01234567  45>1357  4567>15  01234567>5\n"), "{figure}");
    // T5, Fig. 4.13.
    let figure = stdout("trace SCAN-HCUBE -p 8");
    assert!(figure.contains("   6  [6] (6)  [6] (6-7)    [4-6] (4-7)  [0-6] (0-7)\n"), "{figure}");
    // T11, Fig. 4.22, row 0 at the bottom.
    let figure = stdout("trace CS-MESH -p 16 --shift 5");
    let step = "step 2\n  12..15  11  12  13  14\n   8..11  7   8   9   10\n   \
                4..7   3   4   5   6\n   0..3   15  0   1   2\n";
    assert!(figure.contains(step), "{figure}");
    // T3b: operands in the order in which they are combined.
    let figure = stdout("trace RS-HCUBE -p 4");
    assert!(figure.contains("   2  0-3=2   2,3=02  2=0213\n"), "{figure}");
    // T6: a block that is given away is no longer held.
    let figure = stdout("trace SC-HCUBE -p 8");
    assert!(figure.contains("   0  01234567  0123    01      0\n"), "{figure}");
    assert!(figure.contains("  step 2: 0>2 4>6\n"), "{figure}");
}

#[test]
fn every_id_can_be_traced() {
    let list = rows("trace --list", "id operations needs source about");
    assert!(list.len() > 90);
    for entry in &list {
        if entry["operations"].is_empty() {
            assert_eq!(phalanx(&format!("trace {} -p 4", entry["id"])).status.code(), Some(2));
            continue;
        }
        let id = &entry["id"];
        let lines = rows(&format!("trace {id} -p 4"), TRACE);
        assert!(!lines.is_empty(), "{id}");
        assert!(stdout(&format!("trace {id} -p 4")).contains("messages"), "{id}");
    }
}

#[test]
fn json_is_one_object() {
    let object: serde_json::Value =
        serde_json::from_str(&stdout("trace BC-SPLIT-MESH -p 6 --root 2 --format json")).unwrap();
    assert_eq!((&object["dims"], &object["root"]), (&"2x3".into(), &2.into()));
    assert_eq!(object["messages"][0]["words"], "1/3");
    let object: serde_json::Value =
        serde_json::from_str(&stdout("cost AG-HCUBE -p 8 --on ring --format json")).unwrap();
    let row = &object["rows"][0];
    assert_eq!((&row["tw_words"], &row["closed_tw_words"]), (&21.into(), &7.into()));
    assert_eq!(row["on_steps"][2]["congestion"], 4);
    let object: serde_json::Value =
        serde_json::from_str(&stdout("check AG-RING --ranks 1..5 --format json")).unwrap();
    assert_eq!((&object["calls"], &object["wrong"]), (&5.into(), &0.into()));
}

#[test]
fn costs_are_counted_beside_the_closed_form() {
    let cost = |args: &str| rows(&format!("cost {args}"), COST);
    let row = &cost("AR-SPLIT-RING -p 7 --words 3 --ts 10")[0];
    assert_eq!((row["ts_count"].as_str(), row["tw_words"].as_str()), ("12", "36/7"));
    assert_eq!(row["closed_form"], "12 ts + 36/7 tw");
    assert_eq!(row["time"].parse::<f64>().unwrap(), 120.0 + 36.0 / 7.0);
    assert_eq!((row["dilation"].as_str(), row["congestion"].as_str()), ("", ""));
    // Section 2: the figures for p = 64 on a tree.
    let rows = cost("AG-HCUBE AG-HCUBE-DESC AG-RING -p 64 --on tree");
    let words: Vec<&str> = rows.iter().map(|row| row["tw_words"].as_str()).collect();
    assert_eq!(words, ["1365", "192", "63"]);
    // Fig. 4.12.
    for on in ["ring", "linear", "tree"] {
        let row = &cost(&format!("AG-HCUBE -p 8 --on {on}"))[0];
        assert_eq!((row["congestion"].as_str(), row["tw_words"].as_str()), ("4", "21"), "{on}");
    }
    let row = &cost("AG-HCUBE -p 8 --on torus --dims 2x4")[0];
    assert_eq!((row["congestion"].as_str(), row["tw_words"].as_str()), ("2", "9"));
    // The Gray-code shifts live along the code.
    let row = &cost("CS-HC-RGC-F -p 16 --shift 7 --on hypercube")[0];
    assert_eq!((row["dilation"].as_str(), row["congestion"].as_str()), ("1", "1"));
    // Ports: all at once, or one after the other.
    assert_eq!(cost("AG-AP-HCUBE -p 8")[0]["tw_words"], "7/3");
    assert_eq!(cost("AG-AP-HCUBE -p 8 --ports 1")[0]["ts_count"], "9");
}

#[test]
fn rankings_change_at_the_crossover() {
    // Total exchange on 16 ranks: 0.647 t_s/t_w.
    let best = |words: usize| {
        rows(&format!("cost --all all-to-all -p 16 --ts 1000 --words {words}"), COST)[0]["id"]
            .clone()
    };
    assert_eq!((best(647).as_str(), best(648).as_str()), ("TX-HCUBE", "TX-HCUBE-XOR"));
}

#[test]
fn checks_find_nothing_wrong() {
    let rows = rows("check --ranks 1..9", CHECK);
    assert!(rows.len() > 1000);
    assert!(rows.iter().all(|row| row["result"] == "ok"));
    let chain = rows.iter().find(|row| row["id"] == "BC-CHAIN" && row["ranks"] == "3").unwrap();
    assert_eq!(chain["root"], "0 k=1");
    let text = stdout("check RED-HCUBE GA-MESH --ranks 1..12");
    assert!(text.contains("0 wrong"), "{text}");
}

#[test]
fn what_is_wrong_is_named() {
    for (args, wanted) in [
        ("trace AG-RNIG -p 8", "did you mean AG-RING?"),
        ("cost TX-HCBE -p 8", "did you mean TX-HCUBE?"),
        ("check BC-HCUB", "did you mean BC-HCUBE?"),
        ("trace AG-HCUBE -p 6", "AG-HCUBE needs a power of two of ranks, and 6 is none; AG-ANY"),
        ("trace AG-MESH -p 6 --dims 2x4", "a 2x4 mesh has 8 ranks, not 6"),
        ("trace AG-RING -p 6 --dims 2x4", "a 2x4 mesh has 8 ranks, not 6"),
        ("trace BC-RING -p 4 --root 4", "root 4 is out of range for 4 ranks"),
        ("trace BC-HCUBE -p 4 --root 1", "BC-HCUBE is for root 0 only; BC-HCUBE-SRC"),
        ("trace AG-RING", "-p RANKS"),
        ("trace AG-RING -p 0", "whole numbers from 1"),
        ("trace AG-RING -p 99999999", "more than the 65536"),
        ("trace AG-RING -p 5000", "--format tsv"),
        ("trace AG-RING -p 8 --exclusive", "--exclusive is for scans"),
        ("trace AG-RING -p 8 --words -1", "number of words"),
        ("trace EMB-HC-RING -p 8", "phalanx cost AG-HCUBE -p 8 --on ring"),
        ("cost --all broadcats -p 8", "did you mean broadcast?"),
        ("cost --all gather -p 8 --root 8", "root 8 is out of range for 8 ranks"),
        ("cost AG-RING -p 8 --on rign", "did you mean ring?"),
        ("cost AG-RING -p 6 --on hypercube", "a power of two of nodes, and 6 is none"),
        ("cost AG-RING -p 8 --ts -1", "no time"),
        ("cost AG-RING -p 8 --synthetic core:x", "synthetic"),
        ("cost AG-RING -p 8 --synthetic pu:4", "8 ranks do not fit on 4 nodes"),
        ("cost AG-RING -p 4 --on ring --synthetic pu:4", "a machine is a tree"),
        ("check AG-HCUBE --ranks 3..3", "power of two"),
        ("check --ranks 5..2", "1..64"),
    ] {
        let out = phalanx(args);
        let line = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args}: {line}");
        assert!(line.contains(wanted), "{args}: {line}");
        assert_eq!((line.lines().count(), out.stdout.len()), (1, 0), "{args}: {line}");
    }
}

/// A name that is like none gets no suggestion.
#[test]
fn nothing_far_is_suggested() {
    for args in ["trace FOO -p 8", "cost --all xyz -p 8", "cost AG-RING -p 8 --on somewhere"] {
        let out = phalanx(args);
        let line = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args}: {line}");
        assert!(line.contains("unknown ") && !line.contains("did you mean"), "{args}: {line}");
    }
}
