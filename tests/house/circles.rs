//! Checks that files of a crate name each other in few circles: a circle of files is read as a
//! whole, or not understood.

use super::imports::{Crate, Module, name};
use std::collections::{BTreeMap, BTreeSet};

/// The most files of a circle.
const MOST: usize = 6;

/// The crates, and for those with larger circles their sizes. These may only shrink: a smaller one
/// is written down here when it is reached.
const CRATES: [(&str, &[usize]); 13] = [
    ("src", &[]),
    ("interfaces/capi/src", &[]),
    ("interfaces/nodes/src", &[]),
    ("interfaces/processes/src", &[]),
    ("interfaces/mpi/src", &[]),
    ("interfaces/mpiface/src", &[]),
    ("regions/src", &[]),
    ("tools/model/src", &[]),
    ("tools/bench/src", &[]),
    ("tools/cli/src", &[]),
    ("tools/report/src", &[]),
    ("tools/soak/src", &[]),
    ("tools/waits/src", &[]),
];

type Imports = BTreeMap<Module, BTreeMap<Module, String>>;

/// All that can be reached from a module.
fn reached(imports: &Imports, from: &Module) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for there in imports[at].keys() {
            if found.insert(there.clone()) {
                open.push(there);
            }
        }
    }
    found
}

/// The circles of more than one file, the largest first.
fn circles(imports: &Imports) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let mut found = BTreeSet::new();
    for (module, there) in &reached {
        if there.contains(*module) {
            found
                .insert(there.iter().filter(|it| reached[it].contains(*module)).cloned().collect());
        }
    }
    let mut found: Vec<BTreeSet<Module>> = found.into_iter().collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// A circle in words: each file, and what it names of the others.
fn told(circle: &BTreeSet<Module>, imports: &Imports) -> String {
    let mut text = String::new();
    for module in circle {
        text.push_str(&format!("\n    {}:", name(module)));
        for (there, path) in imports[module].iter().filter(|(there, _)| circle.contains(*there)) {
            text.push_str(&format!(" {} ({path})", name(there)));
        }
    }
    text
}

#[test]
fn no_circle_is_large() {
    let mut wrong = Vec::new();
    for (folder, known) in CRATES {
        let imports = Crate::read(folder).imports();
        assert!(imports.len() > 3, "{folder}: {} files", imports.len());
        let circles = circles(&imports);
        let large = circles.iter().filter(|circle| circle.len() > MOST);
        let sizes: Vec<usize> = large.clone().map(BTreeSet::len).collect();
        if sizes != known {
            wrong.push(format!("{folder}: circles of {sizes:?} files, {known:?} on record"));
            wrong.extend(large.map(|circle| told(circle, &imports)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_seen() {
    let files = [
        ("lib", "mod a; mod b; mod c; mod d;"),
        ("a", "use crate::b::B;"),
        ("b", "fn f() { super::c::g() }"),
        ("c", "use super::a; use crate::d::D;"),
        ("d", ""),
    ];
    let imports = Crate::of(&files).imports();
    let found = circles(&imports);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].iter().map(name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(told(&found[0], &imports).contains("b: c (super::c::g)"));
}
