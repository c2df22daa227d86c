//! Which file of a crate names items of which other: from `use` and from paths, through the names
//! that modules pass on (`pub use`) to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A module's place in its crate: `["rt", "api"]`.
pub(crate) type Module = Vec<String>;

#[derive(Default)]
struct File {
    /// Names that `use` brings, and their paths, of which the first name is looked up in the file.
    names: BTreeMap<String, (Module, Vec<String>)>,
    /// Modules of which it takes all names.
    globs: Vec<(Module, Vec<String>)>,
    /// Paths in its code or in a `use` of its own, and the (inline) module where they stand.
    paths: Vec<(Module, Vec<String>)>,
    /// Names that it defines.
    items: BTreeSet<String>,
    /// All its words.
    words: BTreeSet<String>,
}

/// The files of a crate.
pub(crate) struct Crate {
    files: BTreeMap<Module, File>,
}

/// A file without the module of tests at its end.
pub(crate) fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Words, `::`, and single other characters; no comments, no strings.
pub(crate) fn tokens(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |end| end + "r#\"\"#".len())
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let is_end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                is_end
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\\\"'") {
            4
        } else if rest.starts_with("'\"'") || rest.starts_with("'{'") || rest.starts_with("'}'") {
            3
        } else {
            first.len_utf8()
        };
        let (token, others) = rest.split_at(length);
        let is_text = first == '"' || token.starts_with("//") || token.starts_with("r#\"");
        if !first.is_whitespace() && !is_text {
            found.push(token);
        }
        rest = others;
    }
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The paths of a `use`, each with its last name here, from the token at `at` to its end.
fn tree(
    tokens: &[&str],
    mut at: usize,
    before: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).copied().unwrap_or(";") {
            "{" => {
                at += 1;
                while !["}", ";"].contains(&tokens.get(at).copied().unwrap_or(";")) {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            "::" => at += 1,
            "as" => {
                let name = tokens.get(at + 1).copied().unwrap_or("_").to_string();
                found.push((path, name));
                return at + 2;
            }
            token if token == "*" || is_word(token) => {
                if token != "self" || path.is_empty() {
                    path.push(token.to_string());
                }
                at += 1;
            }
            _ => {
                let name = path.last().cloned().unwrap_or_default();
                found.push((path, name));
                return at;
            }
        }
    }
}

impl File {
    fn new(module: &Module, code: &str) -> File {
        const ITEMS: [&str; 10] = [
            "fn",
            "struct",
            "enum",
            "trait",
            "type",
            "const",
            "static",
            "union",
            "macro_rules",
            "mod",
        ];
        let tokens = tokens(code);
        let mut file = File::default();
        file.words.extend(tokens.iter().filter(|token| is_word(token)).map(|it| it.to_string()));
        let mut inside: Vec<(usize, &str)> = Vec::new(); // Modules in the file, by their depth.
        let mut depth = 0;
        let mut at = 0;
        let token = |at: usize| tokens.get(at).copied().unwrap_or_default();
        while at < tokens.len() {
            let before = if at == 0 { "" } else { tokens[at - 1] };
            let mut here = module.clone();
            here.extend(inside.iter().map(|(_, name)| name.to_string()));
            match tokens[at] {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inside.retain(|(outer, _)| *outer < depth + 1);
                }
                "use" if is_word(token(at + 1)) || token(at + 1) == "{" => {
                    let mut found = Vec::new();
                    at = tree(&tokens, at + 1, &[], &mut found);
                    let is_passed_on = before == "pub" || before == ")";
                    for (mut path, name) in found {
                        if path.last().is_some_and(|last| last == "*") {
                            path.pop();
                            file.globs.push((here.clone(), path));
                            continue;
                        }
                        if !is_passed_on {
                            file.paths.push((here.clone(), path.clone()));
                        }
                        if inside.is_empty() {
                            file.names.insert(name, (here.clone(), path));
                        }
                    }
                    continue;
                }
                word if ITEMS.contains(&word) => {
                    let name = if token(at + 1) == "!" { token(at + 2) } else { token(at + 1) };
                    let is_module = word == "mod" && token(at + 2) == "{";
                    if is_module {
                        inside.push((depth, name));
                    }
                    if word != "mod" || is_module {
                        file.items.insert(name.to_string());
                    }
                }
                word if is_word(word) && token(at + 1) == "::" && before != "$" => {
                    let mut path = vec![word.to_string()];
                    while token(at + 1) == "::" && is_word(token(at + 2)) {
                        path.push(token(at + 2).to_string());
                        at += 2;
                    }
                    file.paths.push((here, path));
                }
                _ => {}
            }
            at += 1;
        }
        file
    }
}

impl Crate {
    /// The crate with its sources below `folder`, without modules of tests.
    pub(crate) fn read(folder: &str) -> Crate {
        let mut files = Vec::new();
        for path in super::sources(folder) {
            let inner = path.strip_prefix(folder).expect("below the folder").with_extension("");
            let parts: Vec<&str> = inner.iter().filter_map(|it| it.to_str()).collect();
            if parts.iter().any(|part| part.starts_with("tests")) || parts[0] == "bin" {
                continue;
            }
            files.push((parts.join("/"), fs::read_to_string(&path).expect("a source")));
        }
        Crate::of(&files)
    }

    /// The crate of these files: path without `.rs`, and text.
    pub(crate) fn of(texts: &[(impl AsRef<str>, impl AsRef<str>)]) -> Crate {
        let mut files = BTreeMap::new();
        for (path, text) in texts {
            let path = path.as_ref();
            let path = path.strip_suffix("/mod").unwrap_or(path);
            let module: Module = match path {
                "lib" => Vec::new(),
                _ => path.split('/').map(str::to_string).collect(),
            };
            let file = File::new(&module, code(text.as_ref()));
            files.insert(module, file);
        }
        // A program without a library.
        if !files.contains_key(&Module::new())
            && let Some((path, text)) = texts.iter().find(|(path, _)| path.as_ref() == "main")
        {
            assert_eq!(path.as_ref(), "main");
            files.remove(&vec!["main".to_string()]);
            files.insert(Module::new(), File::new(&Module::new(), code(text.as_ref())));
        }
        Crate { files }
    }

    /// The file of the module where a path stands: modules inside a file are part of it.
    fn home(&self, module: &[String]) -> Module {
        let mut module = module.to_vec();
        while !self.files.contains_key(&module) && !module.is_empty() {
            module.pop();
        }
        module
    }

    /// The file that defines the last name of a path; none if it leads out of the crate.
    fn find(&self, here: &Module, path: &[String], depth: usize) -> Option<Module> {
        if depth > 8 {
            return None;
        }
        let mut at = here.clone();
        let mut rest = path;
        let first = rest.first()?.as_str();
        match first {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" | "super" => {
                while let Some(("self" | "super", others)) =
                    rest.split_first().map(|(first, rest)| (first.as_str(), rest))
                {
                    if rest[0] == "super" {
                        at.pop();
                    }
                    rest = others;
                }
            }
            _ => {
                at = self.home(here);
                let file = self.files.get(&at)?;
                let mut child = at.clone();
                child.push(first.to_string());
                let is_known = file.names.contains_key(first)
                    || self.files.contains_key(&child)
                    || file.items.contains(first);
                if !is_known {
                    return None;
                }
            }
        }
        let found = self.home(&self.descend(at, rest, depth)?);
        self.files.contains_key(&found).then_some(found)
    }

    fn descend(&self, mut at: Module, mut rest: &[String], depth: usize) -> Option<Module> {
        while let Some((name, others)) = rest.split_first() {
            let mut child = at.clone();
            child.push(name.clone());
            if self.files.contains_key(&child) {
                (at, rest) = (child, others);
                continue;
            }
            let Some(file) = self.files.get(&at) else { return Some(self.home(&at)) };
            if let Some((home, path)) = file.names.get(name)
                && path != rest
            {
                let whole: Vec<String> = path.iter().chain(others).cloned().collect();
                return self.find(home, &whole, depth + 1);
            }
            if !file.items.contains(name) {
                for (home, path) in &file.globs {
                    let whole: Vec<String> = path.iter().chain(rest).cloned().collect();
                    if let Some(module) = self.find(home, path, depth + 1)
                        && self.has(&module, name)
                    {
                        return self.find(home, &whole, depth + 1);
                    }
                }
            }
            return Some(at);
        }
        Some(at)
    }

    fn has(&self, module: &Module, name: &str) -> bool {
        let file = self.files.get(module);
        file.is_some_and(|file| file.items.contains(name) || file.names.contains_key(name))
    }

    /// Each file, the files of the items that it names, and one of these paths.
    pub(crate) fn imports(&self) -> BTreeMap<Module, BTreeMap<Module, String>> {
        let mut found: BTreeMap<Module, BTreeMap<Module, String>> = BTreeMap::new();
        for (own, file) in &self.files {
            let others = found.entry(own.clone()).or_default();
            let mut add = |here: &Module, path: &[String]| {
                if let Some(there) = self.find(here, path, 0)
                    && there != *own
                {
                    others.entry(there).or_insert_with(|| path.join("::"));
                }
            };
            for (here, path) in &file.paths {
                add(here, path);
            }
            for (here, path) in &file.globs {
                let Some(module) = self.find(here, path, 0) else { continue };
                let Some(from) = self.files.get(&module) else { continue };
                for name in from.items.iter().chain(from.names.keys()) {
                    if file.words.contains(name) && !file.items.contains(name) {
                        let whole: Vec<String> = path.iter().chain([name]).cloned().collect();
                        add(here, &whole);
                    }
                }
            }
        }
        found
    }
}

/// The path of a module's file below its crate's folder, without `.rs`; `lib` for the crate itself.
pub(crate) fn name(module: &Module) -> String {
    if module.is_empty() { "lib".to_string() } else { module.join("/") }
}

#[test]
fn names_are_followed_to_their_file() {
    let files = [
        ("lib", "pub mod a; mod b; pub use b::deep::Thing;"),
        ("a", "use crate::Thing; fn f() { crate::b::near(); other::x(); }"),
        ("b/mod", "mod deep; pub(crate) use deep::near; use super::a as first; fn own() {}"),
        ("b/deep", "pub struct Thing; pub fn near() { super::own() } mod inner { use super::*; }"),
        ("b/star", "use super::deep::*; fn g(_: Thing) {}"),
    ];
    let found = Crate::of(&files).imports();
    let of = |own: &str| -> Vec<String> {
        let own: Module = own.split('/').map(str::to_string).collect();
        found[&own].keys().map(name).collect()
    };
    assert_eq!(of("a"), ["b/deep"]);
    assert_eq!(of("b"), ["a"]);
    assert_eq!(of("b/deep"), ["b"]);
    assert_eq!(of("b/star"), ["b/deep"]);
}
