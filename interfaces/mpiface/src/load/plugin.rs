//! Libraries that a rank loads itself, by `dlopen`: its own, as the program is.
//!
//! The launcher has a `dlopen` before the C library's (c/launcher.c). The rank is that of the file
//! from which the call comes. A library is private by the rules for those that the program needs
//! (image.rs); it is loaded once a rank, and needs that rank's shim and libraries. It needs the
//! rank's program, too: so it may use the program's exports, as in any process. The others go to
//! the C library.

use super::elf::Elf;
use super::file::{gather, prepare, tag_text};
use super::image::{Copied, Image, copied_at, files_of, moved, unnamed};
use super::search::{find, is_listed, is_system};
use super::source::parse;
use crate::rt::mutex::lock;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The C library's `dlopen`.
type Real = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// The launcher's `dlopen` calls this: c/launcher.c.
type OpenPlugin = unsafe extern "C" fn(
    name: *const c_char,
    flags: c_int,
    caller: *const c_void,
    real: Real,
    failure: *mut *const c_char,
) -> *mut c_void;

thread_local! {
    static FAILURE: RefCell<CString> = RefCell::default();
}

/// Has the launcher's `dlopen` look here first, if this is the launcher.
pub fn watch() {
    // SAFETY: a search by a name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"phalanx_watch_plugins".as_ptr()) };
    if !found.is_null() {
        // SAFETY: the launcher's function of this name takes such a function, and keeps it.
        let watch: unsafe extern "C" fn(OpenPlugin) = unsafe { std::mem::transmute(found) };
        // SAFETY: as above.
        unsafe { watch(open) };
    }
}

/// A `dlopen` of this name, from `caller`. Gives null, and a text, if it fails; or null and none,
/// where the C library is to do it.
///
/// # Safety
/// As `dlopen`; `failure` is a place for a pointer.
unsafe extern "C" fn open(
    name: *const c_char,
    flags: c_int,
    caller: *const c_void,
    real: Real,
    failure: *mut *const c_char,
) -> *mut c_void {
    // SAFETY: `dlopen` asks for a text that ends in a zero, or nothing.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    match opened(name.filter(|it| !it.is_empty()), flags, caller as usize, real) {
        Ok(handle) => handle.unwrap_or(std::ptr::null_mut()),
        Err(text) => {
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            FAILURE.with(|it| {
                *it.borrow_mut() = text;
                // SAFETY: the caller's place; the text lives until the thread's next failure.
                unsafe { *failure = it.borrow().as_ptr() };
            });
            std::ptr::null_mut()
        }
    }
}

/// A library, and the files that were there when a rank loaded it.
type ReadKey = ((u64, u64), Vec<String>);

/// Libraries that ranks have loaded by themselves: read and prepared once, for all.
static READ: Mutex<Vec<(ReadKey, Arc<Image>)>> = Mutex::new(Vec::new());

fn opened(
    name: Option<&CStr>,
    flags: c_int,
    caller: usize,
    real: Real,
) -> Result<Option<*mut c_void>, String> {
    let Some(from) = copied_at(caller) else { return Ok(None) };
    let files = files_of(from.tag);
    let again = |path: &CStr, flags: c_int| {
        // SAFETY: a file that this process has made; the rank asks to load it.
        let handle = unsafe { real(path.as_ptr(), flags & !libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            moved(path, handle);
        }
        Some(handle).filter(|it| !it.is_null())
    };
    let program = files.iter().find(|it| it.name().is_empty()).map(|it| it.path.clone());
    let Some(name) = name else {
        let Some(program) = program else { return Ok(None) };
        return Ok(again(&program, libc::RTLD_NOW | libc::RTLD_NOLOAD));
    };
    let Some(path) = place(name, &from) else { return Ok(None) };
    let Ok(state) = path.metadata() else { return Ok(None) };
    let identity = (state.dev(), state.ino());
    let is_it = |it: &&Copied| it.image.files[it.file].identity() == Some(identity);
    if let Some(known) = files.iter().find(is_it) {
        // It may have been unloaded, with the files that it alone needs.
        let mut needs = Vec::new();
        gather_known(known, &files, &mut needs)?;
        let held: Vec<*mut c_void> =
            needs.iter().filter_map(|it| again(&it.path, libc::RTLD_NOW)).collect();
        let handle = again(&known.path, flags);
        let_go(held);
        return Ok(handle);
    }
    if flags & libc::RTLD_NOLOAD != 0 {
        return Ok(None);
    }
    let there: Vec<&str> = files.iter().map(Copied::name).collect();
    let is_module = is_system(&from.image.files[from.file].path) && is_path(name);
    let Some(image) = read(&path, identity, &there, is_module)? else { return Ok(None) };
    let is_named = |it: &&Copied| it.image.files[it.file].is_named;
    let mut names: Vec<&str> = files.iter().filter(is_named).map(Copied::name).collect();
    names.extend(image.names());
    let program = program.map(|it| it.to_string_lossy().into_owned());
    let program: Vec<String> = program.into_iter().collect();
    let mut opened = Vec::new();
    for (at, file) in image.files.iter().enumerate() {
        let is_last = at + 1 == image.files.len();
        if !is_last && there.contains(&file.name.as_str()) {
            continue;
        }
        let tag = tag_text(from.tag);
        let elf = file.renamed(&names, &tag, &program, &unnamed(&files_of(from.tag)))?;
        let flags = flags & !libc::RTLD_GLOBAL;
        // SAFETY: the rank asks for it; the bytes are the file's but for names.
        match unsafe { image.load_file(at, from.tag, elf.bytes(), flags) } {
            Ok(part) => opened.push(part.handle),
            Err(error) => {
                let_go(opened);
                return Err(error);
            }
        }
    }
    let last = opened.pop();
    // The library itself holds the files that it needs from now on.
    let_go(opened);
    Ok(last)
}

/// Gives handles back.
fn let_go(handles: Vec<*mut c_void>) {
    for handle in handles.into_iter().rev() {
        // SAFETY: each was given by `dlopen`, and is given back once.
        unsafe { libc::dlclose(handle) };
    }
}

/// The files that a file needs of those that the rank has loaded itself, in their order.
fn gather_known<'a>(
    it: &Copied,
    files: &'a [Copied],
    found: &mut Vec<&'a Copied>,
) -> Result<(), String> {
    let file = &it.image.files[it.file];
    let elf = Elf::parse(file.bytes.clone()).map_err(|error| error.to_string())?;
    for name in elf.needed().map_err(|error| error.to_string())? {
        let is_other = |other: &&Copied| other.name() == name && other.image.is_plugin();
        let Some(other) = files.iter().find(is_other) else { continue };
        if !found.iter().any(|it| it.path == other.path) {
            gather_known(other, files, found)?;
            found.push(other);
        }
    }
    Ok(())
}

/// Where a library of this name is looked for by a file.
fn place(name: &CStr, from: &Copied) -> Option<PathBuf> {
    let file = &from.image.files[from.file];
    if is_path(name) {
        return Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())));
    }
    let elf = Elf::parse(file.bytes.clone()).ok()?;
    find(name.to_str().ok()?, &file.path, &elf)
}

fn is_path(name: &CStr) -> bool {
    name.to_bytes().contains(&b'/')
}

/// The image of a library and of further files that it needs beside those that are there; none, if
/// it is no library that ranks have for themselves. `is_module`: a private library of the system
/// loads it by its path, as Python does with its own modules, which have no soname.
fn read(
    path: &Path,
    identity: (u64, u64),
    there: &[&str],
    is_module: bool,
) -> Result<Option<Arc<Image>>, String> {
    let key = (identity, there.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
    if let Some((_, image)) = lock(&READ).iter().find(|it| it.0 == key) {
        return Ok(Some(Arc::clone(image)));
    }
    let Ok(parsed) = parse(path) else { return Ok(None) };
    if parsed.0.is_executable() || parsed.0.is_fixed {
        return Ok(None);
    }
    let mut seen: HashMap<String, bool> =
        there.iter().filter(|it| !it.is_empty()).map(|it| ((*it).to_owned(), true)).collect();
    let mut found = Vec::new();
    let needs = gather(&parsed.0, path, &mut seen, &mut found)?;
    let name = parsed.0.soname().ok().flatten().unwrap_or_default();
    let is_own = is_module && name.is_empty();
    if is_system(path) && !needs && !is_own && !is_listed(&name) {
        return Ok(None);
    }
    found.push(prepare(&name, parsed, path)?);
    let image = Arc::new(Image::of_plugin(found));
    lock(&READ).push((key, Arc::clone(&image)));
    Ok(Some(image))
}
