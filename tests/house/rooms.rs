//! Checks that no room of a crate imports one above it. The lists below are the orders of the
//! rooms.

use super::imports::{Crate, Module, name};
use super::style::{files, read};
use std::collections::{BTreeMap, BTreeSet};

/// A folder of sources; its files and folders are rooms.
struct House {
    /// The crate's sources.
    sources: &'static str,
    /// The folder below them; none: they themselves.
    below: &'static str,
    /// The rooms, each of which imports only rooms before it.
    order: &'static [&'static str],
    /// Imports that go up, as long as they are there: room, and the room above it. None is added.
    up: &'static [(&'static str, &'static str)],
}

#[rustfmt::skip]
const HOUSES: [House; 14] = [
    House {
        sources: "src",
        below: "",
        order: &[
            "mix", "error_type", "decimal", "sorted", "sync", "loaded", "fork", "wait", "file",
            "element", "order", "op", "topology", "schedule", "machine", "placement", "mailbox",
            "tuning", "error", "dist", "shared", "exec", "comm", "team", "engine", "guide", "lib",
        ],
        up: &[],
    },
    House {
        sources: "interfaces/capi/src",
        below: "",
        order: &[
            "names", "error", "handle", "overflow", "arguments", "call", "objects", "choice",
            "group", "team", "types", "results", "collective", "grid", "plan", "view", "window",
            "requests", "functions", "lib",
        ],
        up: &[("call", "requests")],
    },
    House {
        sources: "interfaces/nodes/src",
        below: "",
        order: &[
            "number", "net", "layout", "call", "origin", "node_job", "node_group", "steps",
            "node_comm", "moves", "all_to_all", "messages", "reductions", "rails", "fixed_sums",
            "views", "split", "cart", "run_call", "run", "lib",
        ],
        up: &[],
    },
    House {
        sources: "interfaces/processes/src",
        below: "",
        order: &[
            "sync", "limits", "error", "interrupt", "patience", "kept", "plain", "mapping", "gate",
            "pieces", "ring", "bell", "circle", "layout", "presence", "course", "seat", "site",
            "head", "rendezvous", "stall", "shared", "entry", "lines", "words", "mail", "team",
            "builder", "transfer", "message", "collective", "group", "symmetric", "long_wait",
            "foreign", "lib",
        ],
        up: &[],
    },
    House {
        sources: "interfaces/processes/python/src",
        below: "",
        order: &[
            "raise", "signals", "caller", "arguments", "memory", "buffer", "call", "team", "lib",
        ],
        up: &[],
    },
    House {
        sources: "interfaces/mpi/src",
        below: "",
        order: &["raw", "engine", "launch", "lib"],
        up: &[],
    },
    House {
        sources: "interfaces/mpiface/src",
        below: "",
        order: &[
            "begun_by", "cores", "home", "rt", "heaps", "stack", "options", "static_tls", "load",
            "wrapper", "faults", "launch", "team", "embed", "lib",
        ],
        up: &[("rt", "load")],
    },
    House {
        sources: "interfaces/mpiface/src",
        below: "rt",
        order: &[
            "awaits", "calls", "handle", "standard", "error", "mutex", "shape",
            "envelope", "signature", "target_lock", "thread_time", "word", "basic", "codes",
            "graph", "held", "history", "note", "place", "overlap", "site", "user_function",
            "external", "flat", "handlers", "ops", "record", "topo", "edges", "log", "types",
            "distributed", "operator", "kernel", "standings", "request", "polls", "window_part",
            "short_message", "world", "p2p", "early", "comm", "attributes", "branch", "coll",
            "exchange", "reduction", "route", "run", "started", "window", "rank", "begun", "api",
            "forked", "held_by_rank",
        ],
        up: &[
            ("attributes", "rank"), ("comm", "started"), ("early", "rank"), ("place", "types"),
            ("reduction", "rank"), ("short_message", "p2p"), ("signature", "external"),
            ("world", "p2p"),
        ],
    },
    House {
        sources: "tools/model/src",
        below: "",
        order: &[
            "arcs", "median", "network", "rational", "cost", "network_error", "closed_form",
            "congestion", "levels", "rates", "ranking", "joules", "lib",
        ],
        up: &[("network", "network_error")],
    },
    House {
        sources: "tools/bench/src",
        below: "",
        order: &[
            "byte_size", "interrupt", "progress", "svg", "matrix", "paper", "source", "bench",
            "place", "measure", "programs", "pair", "command", "cli", "main", "lib",
        ],
        up: &[("bench", "measure")],
    },
    House {
        sources: "tools/cli/src",
        below: "",
        order: &[
            "markup", "table", "failure", "suggest", "output", "prose", "disturbance", "program",
            "lib",
        ],
        up: &[],
    },
    House {
        sources: "tools/report/src",
        below: "",
        order: &["calibrate", "peers", "report", "command", "main", "lib"],
        up: &[],
    },
    House {
        sources: "tools/soak/src",
        below: "",
        order: &[
            "heap", "kit", "load", "resources", "longest_waits", "memory", "soak_elements",
            "script", "pace", "promises", "command", "lib",
        ],
        up: &[],
    },
    House {
        sources: "tools/waits/src",
        below: "",
        order: &[
            "record", "timeline", "wait_state", "critical_path", "summary", "perfetto", "page",
            "svg", "command", "main", "lib",
        ],
        up: &[],
    },
];

type Imports = BTreeMap<Module, BTreeMap<Module, String>>;

impl House {
    /// The room of a file: the first part of its path below the house.
    fn room<'a>(&self, module: &'a Module) -> Option<&'a str> {
        if self.below.is_empty() {
            return Some(module.first().map_or("lib", String::as_str));
        }
        match module.split_first()? {
            // No room: the house's own `mod.rs`, which lists its modules.
            (first, rest) if first == self.below => rest.first().map(String::as_str),
            _ => None,
        }
    }

    /// The faults: rooms without a place, imports that go up and are not listed, and listed ones
    /// that are gone.
    fn faults(&self, imports: &Imports) -> Vec<String> {
        let place = |room: &str| self.order.iter().position(|it| *it == room);
        let mut found = Vec::new();
        let mut gone: BTreeSet<_> = self.up.iter().copied().collect();
        let rooms: BTreeSet<&str> = imports.keys().filter_map(|it| self.room(it)).collect();
        let placeless = rooms.iter().filter(|room| place(room).is_none());
        found.extend(placeless.map(|room| format!("{room}: a room without a place")));
        let empty = self.order.iter().filter(|room| !rooms.contains(*room));
        found.extend(empty.map(|room| format!("{room}: a place without a room")));
        for (own, others) in imports {
            let Some(room) = self.room(own) else { continue };
            for (there, path) in others {
                let Some(other) = self.room(there) else { continue };
                if place(other) <= place(room) || gone.remove(&(room, other)) {
                    continue;
                }
                if !self.up.contains(&(room, other)) {
                    let (own, there) = (name(own), name(there));
                    found
                        .push(format!("{room} imports {other}: {own}.rs has {path} of {there}.rs"));
                }
            }
        }
        let gone = gone.iter().map(|(room, other)| {
            format!("{room} imports {other} no more: take it from the list, so that it stays away")
        });
        found.extend(gone);
        found
    }
}

#[test]
fn no_room_imports_a_higher_one() {
    let mut found = Vec::new();
    for house in &HOUSES {
        let imports = Crate::read(house.sources).imports();
        assert!(imports.len() > 3, "{}: {} sources", house.sources, imports.len());
        let faults = house.faults(&imports);
        found.extend(faults.iter().map(|it| format!("{}/{}: {it}", house.sources, house.below)));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The executors of calls, each with its only call.
const EXECUTORS: &str = "call.run_alone( call.run_at_the_gates( call.run_eagerly( board::run( \
                         plan::run( blocks.run_uneven(";

#[test]
fn one_file_calls_executors_each_once() {
    for file in files("src", "rs").iter().filter(|file| !file.starts_with("src/exec")) {
        let (text, is_route) = (read(file), file.ends_with("comm/route.rs"));
        assert!(!is_route || !text.contains("macro_rules!"), "a macro may make more calls");
        for executor in EXECUTORS.split(' ') {
            let calls = text.matches(executor).count();
            assert_eq!(calls, usize::from(is_route), "{executor} in {}", file.display());
        }
    }
}

#[test]
fn a_breach_is_seen() {
    let files = [
        ("lib", "pub use team::{Quit, Team}; pub use wait::Wait; mod error; mod team; mod wait;"),
        ("wait", "pub struct Wait;"),
        ("error", "use crate::Wait; fn f() { payload.is::<crate::team::Quit>() }"),
        ("team/mod", "mod deep; pub struct Quit; pub struct Team;"),
        ("team/deep", "use super::{Quit, super::error::E}; use crate::Team;"),
    ];
    let imports = Crate::of(&files).imports();
    let order = &["wait", "error", "team", "lib"];
    let house = |up| House { sources: "", below: "", order, up };
    assert_eq!(house(&[]).faults(&imports).len(), 1);
    assert_eq!(house(&[("error", "team")]).faults(&imports).len(), 0);
    assert_eq!(house(&[("error", "team"), ("wait", "team")]).faults(&imports).len(), 1);
    let few = House { sources: "", below: "", order: &["error", "team", "lib"], up: &[] };
    assert!(few.faults(&imports)[0].contains("wait: a room without a place"));
}
