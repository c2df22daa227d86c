//! A file of which ranks have copies: read and prepared once; renamed for each copy.

use super::elf::{Elf, Segment};
use super::search::{find, is_listed, is_system, needed};
use super::source::{Parsed, Source, page, parse};
use crate::rt::mutex::lock;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Debug)]
pub(super) struct File {
    /// By which others need it, its soname as a rule; empty for the program.
    pub(super) name: String,
    /// Whether it has a soname. Without one the dynamic linker knows it by its path alone.
    pub(super) is_named: bool,
    /// Where it was read.
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// Bytes of thread-local variables for which there must be room when the process begins.
    pub(super) static_tls: usize,
    /// Where an executable's beginning and end for a rank are, if it has them.
    pub(super) start: Option<(u64, u64)>,
    /// Where the bytes were read, and the parts of it that hold code.
    pub(super) source: Source,
    pub(super) code: Vec<Segment>,
}

impl File {
    /// The file, with names of a copy's own for itself and the libraries of these names, and with
    /// the paths of those that have none, in `unnamed`; `first` are needed before
    /// all, if that can be.
    pub(super) fn renamed(
        &self,
        names: &[&str],
        tag: &str,
        first: &[String],
        unnamed: &[(String, String)],
    ) -> Result<Elf, String> {
        let named = |error| format!("{}: {error}", self.path.display());
        let mut elf = Elf::parse(self.bytes.clone()).map_err(named)?;
        let needed = elf.needed().map_err(named)?;
        let is_needed = |it: &&(String, String)| needed.contains(&it.0);
        let instead: Vec<(String, String)> = unnamed.iter().filter(is_needed).cloned().collect();
        for private in names.iter().filter(|it| !it.is_empty()) {
            elf.rename(private, &private_name(private, tag)).map_err(named)?;
        }
        if !first.is_empty() || !instead.is_empty() {
            match elf.need(first, &instead) {
                Err(error) if !instead.is_empty() => return Err(named(error)),
                // Without `first`, the dynamic linker says which symbols are missing.
                _ => {}
            }
        }
        Ok(elf)
    }

    /// The file, whatever its name: device and number.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        self.source.file.metadata().ok().map(|it| (it.dev(), it.ino()))
    }
}

/// Follows the needs of `elf`, libraries before their users; says whether one is private.
pub(super) fn gather(
    elf: &Elf,
    path: &Path,
    seen: &mut HashMap<String, bool>,
    found: &mut Vec<File>,
) -> Result<bool, String> {
    let mut any = false;
    for name in needed(elf, path)? {
        if let Some(is_private) = seen.get(&name) {
            any |= is_private;
            continue;
        }
        seen.insert(name.clone(), false);
        let Some(file) = find(&name, path, elf) else { continue };
        let library = parse(&file)?;
        let own = !is_system(&file) || is_listed(&name);
        // A system library is looked into only if it is private: the others need no private ones.
        let needs = match own {
            true => gather(&library.0, &file, seen, found)?,
            false => needed(&library.0, &file).map(|_| false)?,
        };
        if own || needs {
            seen.insert(name.clone(), true);
            found.push(prepare(&name, library, &file)?);
            any = true;
        }
    }
    Ok(any)
}

pub(super) fn prepare(name: &str, (mut elf, source): Parsed, path: &Path) -> Result<File, String> {
    let code = elf.code(page()).map_err(|error| format!("{}: {error}", path.display()))?;
    elf.make_uniques_private().map_err(|error| format!("{}: {error}", path.display()))?;
    // Without section headers, or with damaged ones, a debugger sees less.
    let _ = elf.make_data_local();
    let soname = elf.soname().ok().flatten();
    if !name.is_empty() && soname.as_ref().is_some_and(|it| it != name) {
        return Err(format!("{}: its soname is not {name}: give it one", path.display()));
    }
    let is_named = soname.is_some();
    let start = elf.start().map_err(|error| format!("{}: {error}", path.display()))?;
    let static_tls = elf.static_tls();
    let (name, path, bytes) = (name.to_owned(), path.to_owned(), elf.bytes().to_vec());
    Ok(File { name, is_named, path, bytes, static_tls, start, source, code })
}

/// The first tag that was never taken, and those that were given back.
pub(super) static TAGS: Mutex<(usize, Vec<usize>)> = Mutex::new((0, Vec::new()));

pub(super) const DIGITS: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The number of a tag that no other copy of this process has.
pub(super) fn take_tag() -> Result<usize, String> {
    let mut tags = lock(&TAGS);
    if let Some(tag) = tags.1.pop() {
        return Ok(tag);
    }
    if tags.0 == DIGITS.len() * DIGITS.len() {
        return Err(format!("no more than {} copies can be loaded", tags.0));
    }
    tags.0 += 1;
    Ok(tags.0 - 1)
}

/// Three characters.
pub(super) fn tag_text(number: usize) -> String {
    let digit = |it: usize| char::from(DIGITS[it % DIGITS.len()]);
    ['~', digit(number), digit(number / DIGITS.len())].into_iter().collect()
}

/// `libgfortran.so.5` becomes `~1Bgfortran.so.5`.
pub(super) fn private_name(name: &str, tag: &str) -> String {
    match name.get(3..) {
        Some(rest) => format!("{tag}{rest}"),
        None => name.to_owned(),
    }
}

/// No copy has this tag any more.
pub(super) fn give_back(number: usize) {
    lock(&TAGS).1.push(number);
}
