//! Sets `cfg(loom)` for this crate only, so that `cargo test` needs no
//! environment variable; and makes the mutants: copies of a library source
//! with one passage replaced, which the models must find out.

use std::path::Path;

include!("passages.rs");

/// Name, source, and what is replaced by what. Each passage must occur once; it is found by its
/// tokens, so its layout does not matter.
const MUTANTS: &[(&str, &str, &[(&str, &str)])] = &[
    (
        "dispatch_without_second_look",
        "../src/team/dispatch.rs",
        &[
            ("if come().is_some() {\n                        break;\n                    }\n", ""),
            ("bed.sleep();", "bed.sleep();\nif come().is_some() { break; }"),
        ],
    ),
    (
        "dispatch_marking_once",
        "../src/team/dispatch.rs",
        &[(
            "loop { seat.bed.swap(ASLEEP, Ordering::AcqRel); if come()",
            "seat.bed.swap(ASLEEP, Ordering::AcqRel);\nloop { if come()",
        )],
    ),
    (
        "dispatch_with_relaxed_swaps",
        "../src/team/dispatch.rs",
        &[
            ("swap(ASLEEP, Ordering::AcqRel)", "swap(ASLEEP, Ordering::Relaxed)"),
            ("swap(AWAKE, Ordering::AcqRel) ==", "swap(AWAKE, Ordering::Relaxed) =="),
        ],
    ),
    (
        "dispatch_without_swaps",
        "../src/team/dispatch.rs",
        &[
            (
                "seat.bed.swap(ASLEEP, Ordering::AcqRel);",
                "seat.bed.store(ASLEEP, Ordering::Release);",
            ),
            (
                "if seat.bed.swap(AWAKE, Ordering::AcqRel) == ASLEEP {",
                "let bed = seat.bed.load(Ordering::Acquire);\n\
                 seat.bed.store(AWAKE, Ordering::Release);\n\
                 if bed == ASLEEP {",
            ),
        ],
    ),
    (
        "gate_of_one_slot",
        "../src/mailbox/gate.rs",
        &[
            (
                "&self.slots[(episode % u64::from(SLOTS)) as usize]",
                "&self.slots[(episode % u64::from(SLOTS) / u64::from(SLOTS)) as usize]",
            ),
            (
                "self.slot(episode).word.load(consume(Site::Gate)) == episode",
                "self.slot(episode).word.load(consume(Site::Gate)) >= episode",
            ),
        ],
    ),
    (
        "port_without_last_look",
        "../src/fabric/port",
        &[
            ("let left = fabric.has_left(peer, *run);\n            let peer_wait", "let peer_wait"),
            ("if left {", "if fabric.has_left(peer, *run) {"),
        ],
    ),
    (
        "port_with_early_poison",
        "../src/fabric/port",
        &[("if poisoned || world.is_poisoned(*run) {", "if poisoned {")],
    ),
    (
        "port_confirming_early",
        "../src/fabric/port",
        &[
            ("let peer_wait = world.wait_of(it);\n", ""),
            (
                "if let Some((peer_number, _)) = peer_wait {",
                "if let Some((peer_number, _)) = world.wait_of(it) {",
            ),
        ],
    ),
    (
        "port_leaving_unpoisoned",
        "../src/fabric/port",
        &[(
            "drop(fabric.world().poison(self.run, member, None));\n        fabric.leave(self.rank);",
            "fabric.leave(self.rank);\n        drop(fabric.world().poison(self.run, member, None));",
        )],
    ),
    (
        "port_quiescing_by_poison",
        "../src/fabric/port",
        &[(
            "if left || (settled && finished) {",
            "if left || settled || finished || fabric.world().is_poisoned(self.run) {",
        )],
    ),
    (
        "port_giving_up_in_silence",
        "../src/fabric/port",
        &[("                world.give_up(me, it, *run);\n", "")],
    ),
    (
        "port_sleeping_without_limit",
        "../src/fabric/port",
        &[(
            "if !come {\n                    bed.nap(longest);",
            "if !come {\n                    let _ = longest;\n                    bed.sleep();",
        )],
    ),
    // Not a mistake: see `lean` in `src/lib.rs`.
    (
        "port_lean",
        "../src/fabric/port",
        &[
            (
                "let world = fabric.world();\n        let (me, it)",
                "while !ready(at) {\n crate::sync::yield_now();\n}\nreturn Ok(());\n\
                 let world = fabric.world();\n        let (me, it)",
            ),
            (
                "let peer = &mut self.peers[peer];\n        let n = peer.link().post(header, fill);",
                "let number = peer;\nlet peer = &mut self.peers[peer];\nlet n = peer.link().post(header, fill);\n\
                 crate::lean::posted(self.fabric.id(), self.rank, number, n);",
            ),
            (
                "fn await_message(&mut self, peer: usize) -> Result<(), Stop> {\n",
                "fn await_message(&mut self, peer: usize) -> Result<(), Stop> {\n\
                 crate::lean::await_post(self.fabric.id(), peer, self.rank, self.peers[peer].end.rx);\n",
            ),
        ],
    ),
];

fn main() {
    println!("cargo:rustc-cfg=loom");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=passages.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    for (name, source, changes) in MUTANTS {
        println!("cargo:rerun-if-changed={source}");
        let mut files = read(Path::new(source));
        for (from, to) in *changes {
            replace(&mut files, name, from, to);
        }
        let to = Path::new(&out).join(name);
        std::fs::create_dir_all(&to).expect("writable");
        for (file, text) in files {
            // `include!` takes no inner documentation.
            let lines = text.lines().filter(|line| !line.starts_with("//!"));
            let text = lines.collect::<Vec<_>>().join("\n");
            std::fs::write(to.join(file), text).expect("writable");
        }
    }
}

/// Names and texts of a module's files; one that is a file is `mod.rs`.
fn read(source: &Path) -> Vec<(String, String)> {
    let text =
        |path: &Path| std::fs::read_to_string(path).expect("the library's sources are there");
    if source.is_file() {
        return vec![("mod.rs".to_string(), text(source))];
    }
    let files = std::fs::read_dir(source).expect("the library's sources are there");
    let paths = files.map(|file| file.expect("readable").path());
    paths
        .map(|path| {
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text(&path))
        })
        .collect()
}
