// Copies of sources with a mistake, which models must detect. (Included by the build scripts of all
// packages of loom models, and of the shuttle models of processes.)

use std::path::Path;

include!("passages.rs");

/// A copy: its name, its source, and what is replaced by what.
type Mutant = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// In place of a passage: the same without its order.
#[allow(dead_code, reason = "not all have such")]
const RELAXED: &str = "Ordering::Relaxed";

/// By source: names, and what is replaced by what. Each passage must occur once; it is found by its
/// tokens, so its layout does not matter.
macro_rules! mutants {
    ($($source:literal { $($name:ident: $($from:expr => $to:expr),+;)+ })+) => {
        const MUTANTS: &[Mutant] =
            &[$($((stringify!($name), $source, &[$(($from, $to)),+]),)+)+];
    };
}

/// Makes the copies, and `mutants.rs`, which has them as modules.
fn make<'a>(mutants: impl IntoIterator<Item = &'a Mutant>) {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let mut modules = String::new();
    for (name, source, changes) in mutants {
        modules += &format!(
            "#[allow(unused, clippy::all, reason = \"with a mistake\")]\npub(crate) mod {name} {{ \
             include!(concat!(env!(\"OUT_DIR\"), \"/{name}/mod.rs\")); }}\n"
        );
        println!("cargo:rerun-if-changed={source}");
        let mut files = read(Path::new(source));
        for (from, to) in *changes {
            let relaxed =
                ["Release", "Acquire", "AcqRel"].iter().fold(from.to_string(), |text, it| {
                    text.replace(&format!("Ordering::{it}"), RELAXED)
                });
            replace(&mut files, name, from, if *to == RELAXED { &relaxed } else { to });
        }
        let to = Path::new(&out).join(name);
        std::fs::create_dir_all(&to).expect("writable");
        for (file, text) in files {
            // `include!` takes no inner documentation.
            let lines = text.lines().filter(|line| !line.starts_with("//!"));
            let text = lines.collect::<Vec<_>>().join("\n");
            let file = to.join(file);
            std::fs::create_dir_all(file.parent().expect("in `to`")).expect("writable");
            std::fs::write(file, text).expect("writable");
        }
    }
    std::fs::write(Path::new(&out).join("mutants.rs"), modules).expect("writable");
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
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match () {
            () if path.is_dir() => all.extend(
                read(&path).into_iter().map(|(file, text)| (format!("{name}/{file}"), text)),
            ),
            () if name.ends_with(".rs") => all.push((name, text(&path))),
            () => {}
        }
    }
    all
}
