//! Checks that each public item has an example: in its own documentation, in that of its type, or
//! in that of the item to which it sends its reader ("See [..]").

use super::style::{files, read};
use std::collections::BTreeMap;

/// Public items without one, by file. These may only shrink.
const WITHOUT: [(&str, usize); 0] = [];

/// A public item: its documentation, and its name.
struct Item {
    docs: String,
    name: String,
    /// The type of a method, or its trait's.
    owner: Option<String>,
}

/// The name behind the keyword of an item, if it is public.
fn public_name(line: &str) -> Option<&str> {
    const KEYWORDS: [&str; 5] = ["fn ", "struct ", "enum ", "trait ", "type "];
    let mut rest = line.strip_prefix("pub ")?;
    for before in ["const ", "unsafe ", "async "] {
        // (Of a constant: the word there is no keyword.)
        rest = rest.strip_prefix(before).unwrap_or(rest);
    }
    let name = KEYWORDS.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The type that an `impl` is of.
fn owner(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    // Without its own generics.
    let (mut depth, mut before) = (0, ' ');
    let end = rest.find(|c| {
        let is_arrow = before == '-';
        before = c;
        depth += i32::from(c == '<') - i32::from(c == '>' && !is_arrow);
        depth == 0
    });
    let rest = rest[end? + 1..].trim_start();
    (!rest.contains(" for ")).then(|| {
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
        name.unwrap_or_default().to_string()
    })
}

fn items(source: &str) -> Vec<Item> {
    let (mut found, mut docs, mut within) = (Vec::new(), String::new(), None);
    for line in super::imports::code(source).lines() {
        let text = line.trim_start();
        if line.starts_with("impl") {
            within = owner(line);
        } else if line == "}" {
            within = None;
        }
        if let Some(doc) = text.strip_prefix("///") {
            docs.push_str(doc);
            docs.push('\n');
            continue;
        }
        if text.starts_with("#[") || text.ends_with(")]") || text.starts_with('"') {
            continue;
        }
        if let Some(name) = public_name(text) {
            let owner = within.clone().filter(|_| line.starts_with("    "));
            found.push(Item { docs: docs.clone(), name: name.to_string(), owner });
        }
        docs.clear();
    }
    found
}

/// The files of `engine`, and those of the rooms below of which it passes items on.
fn sources() -> Vec<(String, Vec<Item>)> {
    let mut found = Vec::new();
    for path in files("src/engine", "rs") {
        found.push((path.display().to_string(), items(&read(&path))));
    }
    for path in [
        "src/comm/foreign.rs",
        "src/comm/gather_grid.rs",
        "src/comm/member_seats.rs",
        "src/comm/call/memory_call.rs",
        "src/dist/partial.rs",
        "src/error/source_line.rs",
        "src/shared/early_receives.rs",
        "src/shared/kept_bytes.rs",
        "src/shared/match_list.rs",
        "src/shared/message_ring.rs",
        "src/shared/thread.rs",
        "src/op/origin.rs",
        "src/order.rs",
        "src/wait/lock.rs",
    ] {
        found.push((path.to_string(), items(&read(path))));
    }
    found
}

#[test]
fn what_engine_has_has_an_example() {
    let sources = sources();
    let all = || sources.iter().flat_map(|(_, items)| items);
    let types: BTreeMap<&str, &str> = all()
        .filter(|item| item.owner.is_none())
        .map(|item| (item.name.as_str(), item.docs.as_str()))
        .collect();
    // The documentation that has the example: this, or that to which it sends.
    let sent = |docs: &'_ str| -> String {
        let see = docs.split("See [").skip(1).filter_map(|it| it.split(['`', ']', '(']).nth(1));
        let mut names = see.map(|name| name.rsplit("::").next().unwrap_or(name));
        match docs.contains("```") {
            true => docs.to_string(),
            false => names.find_map(|name| types.get(name)).map_or("", |docs| *docs).to_string(),
        }
    };
    let shows = |docs: &str| sent(docs).contains("```");
    let mut count = 0;
    for (path, items) in &sources {
        let has_none = |item: &&Item| {
            let of_type = item.owner.as_deref().and_then(|it| types.get(it)).map(|docs| sent(docs));
            // A method's example may be its type's, if that calls it.
            let call = |docs: &String| {
                docs.contains(&format!(".{}(", item.name))
                    || docs.contains(&format!("::{}", item.name))
            };
            !shows(&item.docs) && !of_type.filter(call).is_some_and(|docs| docs.contains("```"))
        };
        count += items.len();
        let missing: Vec<_> = items.iter().filter(has_none).map(|item| &item.name).collect();
        let known = WITHOUT.iter().find(|(it, _)| it == path).map_or(0, |(_, known)| *known);
        assert_eq!(missing.len(), known, "{path}: without an example: {missing:?}");
    }
    assert!(count > 90, "{count} items");
}

#[test]
fn an_item_without_an_example_is_seen() {
    let found = items(
        "/// Does.\n///\n/// ```\n/// a();\n/// ```\n#[inline]\npub fn a() {}\n\n\
         /// Not.\npub unsafe fn b() {}\nimpl<T: Fn() -> u8> C<T> {\n    pub fn d() {}\n}\n",
    );
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.name.as_str(), it.docs.contains("```"), it.owner.as_deref()))
        .collect();
    assert_eq!(found, [("a", true, None), ("b", false, None), ("d", false, Some("C"))]);
}
