//! `phalanx machine` and `phalanx place` from outside: described machines, stable output, error
//! messages.

mod common;

use common::{complaint, json, keys, scratch, text};
use serde_json::Value;
use std::io::Write;

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx");

/// 2 packages, 4 L3 each, 8 cores each.
const MACHINE: &str = "pack:2 l3:4 core:8 pu:1";

#[test]
fn machine_as_json() {
    let object = json(&["machine", "--synthetic", "pack:2 [numa] l3:4 core:8 pu:2"]);
    let wanted = [
        "command",
        "version",
        "source",
        "counts",
        "packages",
        "numa_nodes",
        "cores",
        "pus",
        "allowed_pus",
        "ranks",
        "quota",
        "levels",
        "distances",
        "warnings",
    ];
    assert_eq!(keys(&object), wanted);
    assert_eq!(keys(&object["source"]), ["cores", "memory", "kinds", "allowed"]);
    let counts = &object["counts"];
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((number("packages"), number("numa_nodes"), number("cores")), (2, 2, 64));
    assert_eq!((number("pus"), number("allowed_pus")), (128, 128));
    for list in ["packages", "numa_nodes", "cores", "pus", "allowed_pus"] {
        assert_eq!(object[list].as_array().unwrap().len() as u64, number(list), "{list}");
    }
    let core = &object["cores"][9];
    let wanted = ["core", "pus", "package", "numa_node", "kind", "efficiency", "allowed"];
    assert_eq!(keys(core), wanted);
    assert_eq!(core["pus"], serde_json::json!([18, 19]));
    let levels: Vec<&str> =
        object["levels"].as_array().unwrap().iter().map(|l| l["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["package", "numa", "l3"]);
    // A described machine has no control group.
    assert!(object["quota"].is_null() && object["distances"].is_null());
}

#[test]
fn machine_as_a_table_and_for_eyes() {
    let table = text(&["machine", "--synthetic", MACHINE, "--format", "tsv"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "pu\tcore\tkind\tpackage\tdie\tnuma_node\tl3\tl2\tl1\tallowed");
    assert_eq!(lines.len(), 65);
    assert_eq!(lines[41], "40\t40\t0\t1\t\t0\t5\t\t\ttrue");
    let eyes = text(&["machine", "--synthetic", MACHINE]);
    assert!(eyes.contains("    L3 5: cores 40-47, PUs 40-47\n"), "{eyes}");
    let this = text(&["machine"]);
    assert!(this.starts_with("# ") && this.contains(" from "), "{this}");
}

#[test]
fn a_ring_passes_every_channel_once() {
    let object = json(&["place", "-p", "64", "--topology", "ring", "--synthetic", MACHINE]);
    let wanted =
        ["command", "version", "source", "topology", "dims", "policy", "ranks", "cost", "beside"];
    assert_eq!(keys(&object), wanted);
    assert_eq!(object["ranks"].as_array().unwrap().len(), 64);
    assert_eq!(keys(&object["ranks"][0]), ["rank", "pu", "core", "node"]);
    let steps = object["cost"]["steps"].as_array().unwrap();
    assert!(steps.len() == 2 && steps.iter().all(|step| step["congestion"] == 1), "{steps:?}");
    for other in ["identity", "compact", "random"] {
        assert!(time(&object["cost"]) <= time(&object["beside"][other]), "{other}");
    }
    let random = &object["beside"]["random"];
    assert!(time(&object["cost"]) < time(random));
    assert_eq!(keys(random)[1..], keys(&object["cost"]));
}

fn time(cost: &Value) -> f64 {
    cost["time_words"].as_f64().unwrap()
}

#[test]
fn low_dimensions_of_a_hypercube_stay_inside_the_l3() {
    // Also where the system's numbers go round the packages.
    for machine in [MACHINE, "pack:2 l3:4 core:8 pu:1(indexes=core:l3:pack)"] {
        let object =
            json(&["place", "-p", "64", "--topology", "hypercube", "--synthetic", machine]);
        let steps = object["cost"]["steps"].as_array().unwrap();
        for (bit, step) in steps.iter().enumerate() {
            let crosses = step["by_level"].get("l3").is_some();
            assert_eq!(crosses, bit >= 3, "{machine}: {step}");
        }
    }
}

#[test]
fn every_topology_and_policy() {
    for topology in ["ring", "linear", "mesh", "torus", "hypercube", "tree", "all-to-all"] {
        for policy in ["auto", "compact", "scatter", "identity", "random:7", "ring"] {
            let args = ["place", "-p", "16", "--topology", topology, "--policy", policy];
            let table = text(&[&args[..], &["--synthetic", MACHINE, "--format", "tsv"]].concat());
            assert_eq!(table.lines().next(), Some("rank\tpu\tcore\tnode"));
            assert_eq!(table.lines().count(), 17, "{topology} {policy}");
        }
    }
    let args = ["place", "-p", "3", "--topology", "linear", "--policy", "list:9,8,40"];
    let table = text(&[&args[..], &["--synthetic", MACHINE, "--format", "tsv"]].concat());
    assert_eq!(table, "rank\tpu\tcore\tnode\n0\t9\t9\t0\n1\t8\t8\t0\n2\t40\t40\t0\n");
    let args = ["place", "-p", "16", "--topology", "torus", "--dims", "2x2x4"];
    let eyes = text(&[&args[..], &["--synthetic", MACHINE]].concat());
    assert!(eyes.contains("# 16 ranks, torus 2x2x4") && eyes.contains("identity"), "{eyes}");
    // More ranks than processing units.
    let object = json(&["place", "-p", "9", "--topology", "ring", "--synthetic", "core:2 pu:2"]);
    assert_eq!(object["cost"]["node_load"], 5);
}

#[test]
fn drawings() {
    let file = scratch("place.svg");
    let path = file.to_str().unwrap();
    text(&["place", "-p", "64", "--topology", "ring", "--synthetic", MACHINE, "--svg", path]);
    let drawing = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains(">63</text>"));
    let nowhere = complaint(&[
        "place",
        "-p",
        "2",
        "--topology",
        "ring",
        "--synthetic",
        MACHINE,
        "--svg",
        "/no/such/place.svg",
    ]);
    assert!(nowhere.contains("/no/such/place.svg"), "{nowhere}");
}

#[test]
fn sources_that_cannot_be_read() {
    for command in [&["machine"][..], &["place", "-p", "2", "--topology", "ring"]] {
        for (source, wanted) in [
            (["--synthetic", "pack:2 cor3:4 pu:1"], "position 7: unknown type 'cor3:4'"),
            (["--synthetic", "pack:2 core:4"], "position 7: the last level must be pu"),
            (["--synthetic", ""], "position 0"),
            (["--xml", "/no/such/machine.xml"], "/no/such/machine.xml"),
            (["--xml", "/"], "/: "),
            (["--sysfs", "/no/such/tree"], "/no/such/tree"),
            (["--sysfs", env!("CARGO_TARGET_TMPDIR")], "there is no sys/devices/system/cpu in it"),
        ] {
            let line = complaint(&[command, &source].concat());
            assert!(line.contains(wanted), "{line}");
        }
        let both =
            complaint(&[command, &["--synthetic", "core:2 pu:1", "--xml", "x.xml"]].concat());
        assert!(both.contains("cannot be used with"), "{both}");
    }
    let file = scratch("broken.xml");
    for (content, wanted) in [
        ("<topology version=\"1.0\"></topology>", "hwloc XML of version 1"),
        ("<topology version=\"2.0\"><object", "malformed hwloc XML at position"),
        ("", "malformed hwloc XML at position 0"),
    ] {
        std::fs::write(&file, content).unwrap();
        let line = complaint(&["machine", "--xml", file.to_str().unwrap()]);
        assert!(line.contains(wanted) && line.contains("broken.xml"), "{line}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn wrong_arguments_of_place() {
    for (args, wanted) in [
        (&["-p", "0", "--topology", "ring"][..], "accepted are 1 to 65536"),
        (&["-p", "-3", "--topology", "ring"], "accepted are 1 to 65536"),
        (&["-p", "70000", "--topology", "ring"], "accepted are 1 to 65536"),
        (&["-p", "8"], "--topology"),
        (&["--topology", "ring"], "--ranks"),
        (&["-p", "8", "--topology", "rign"], "did you mean ring?"),
        (&["-p", "6", "--topology", "hypercube"], "the nearest are 4 and 8"),
        (&["-p", "8", "--topology", "mesh", "--dims", "3x3"], "the product must be 8"),
        (&["-p", "8", "--topology", "mesh", "--dims", "0x3"], "--dims"),
        (&["-p", "8", "--topology", "ring", "--dims", "8"], "has no --dims"),
        (
            &["-p", "2", "--topology", "ring", "--policy", "list:1,1"],
            "PU 1 to rank 0 and to rank 1",
        ),
        (&["-p", "2", "--topology", "ring", "--policy", "list:1,99"], "there is no such PU"),
        (&["-p", "3", "--topology", "ring", "--policy", "list:1,2"], "2 entries for 3 ranks"),
        (&["-p", "2", "--topology", "ring", "--policy", "list:1,,2"], "list:PU,PU,.."),
        (&["-p", "2", "--topology", "ring", "--policy", "compcat"], "did you mean compact?"),
        (&["-p", "2", "--topology", "ring", "--policy", "unpinned"], "accepted are auto"),
        (&["-p", "6", "--topology", "ring", "--policy", "mesh:2x2"], "6 ranks cannot be placed"),
    ] {
        let line = complaint(&[&["place", "--synthetic", MACHINE], args].concat());
        assert!(line.contains(wanted), "{args:?}: {line}");
    }
}

#[test]
fn saved_machines() {
    let Some(dir) = std::env::var_os("PHALANX_TOPOLOGIES") else {
        // Not through `eprintln`, which the test harness swallows.
        let what = "skipped: PHALANX_TOPOLOGIES names no directory with saved machines";
        return writeln!(std::io::stderr(), "{what}").unwrap_or_default();
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(&dir).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        seen += 1;
        let path = path.to_str().unwrap();
        let machine = json(&["machine", "--xml", path]);
        let allowed = machine["allowed_pus"].as_array().unwrap();
        assert!(text(&["machine", "--xml", path]).contains("hwloc XML"));
        for topology in ["ring", "hypercube"] {
            let object = json(&["place", "-p", "8", "--topology", topology, "--xml", path]);
            let ranks = object["ranks"].as_array().unwrap();
            assert!(ranks.iter().all(|rank| allowed.contains(&rank["pu"])), "{path}");
        }
    }
    assert!(seen > 0, "no XML files there");
    efficiency_cores(&dir);
}

/// Both commands on a hybrid machine: 6 performance cores of two threads, 8 others.
fn efficiency_cores(dir: &std::ffi::OsStr) {
    let path = std::path::Path::new(dir).join("20em64t-hybrid-1p6c2t+2ca4co1t.xml");
    let path = path.to_str().unwrap();
    let machine = json(&["machine", "--xml", path]);
    assert_eq!(machine["ranks"], 6);
    let cores = machine["cores"].as_array().unwrap();
    assert_eq!(cores.iter().filter(|core| core["efficiency"] == true).count(), 8);
    let eyes = text(&["machine", "--xml", path]);
    assert!(eyes.starts_with("# 14 cores (8 of them for efficiency), 20 PUs"), "{eyes}");
    assert!(eyes.contains("\nefficiency: 8 cores, without ranks by default: 6 ranks\n"), "{eyes}");
    let place = |ranks| text(&["place", "-p", ranks, "--topology", "ring", "--xml", path]);
    let (few, all) = (place("6"), place("14"));
    assert!(!few.contains("on efficiency cores"), "{few}");
    let wanted = "# 8 ranks on efficiency cores, which set the pace of equal shares; a team has 6 \
                  ranks by default\n";
    assert!(all.contains(wanted), "{all}");
}
