//! Which files get a private copy a rank, and how a copy is loaded.
//!
//! A copy is a file in memory (memfd) with a name of its own, `/proc/PID/fd/N`: not `/proc/self`,
//! which a debugger would follow to its own descriptors. The descriptor stays open as long as the
//! dynamic linker knows the copy: a number used again would be the same library to it. So would a
//! name used again: each copy has a tag, which is given back when the copy is unloaded.
//!
//! Private are the program, the shim, libgfortran (unit numbers), the program's own libraries
//! (those found by its search path or LD_LIBRARY_PATH outside the system's directories), and what
//! PHALANX_MPI_PRIVATE names (a list of sonames with colons). A library that needs a private one is
//! private itself. Private libraries get another soname of the same length, which everything
//! private needs instead; the dynamic linker finds libraries that are loaded already by their
//! sonames.
//!
//! A copy's code is the file's own: once the copy is loaded, the pages of its code are mapped from
//! the program's file. So the ranks share them, and a profiler, which knows code by the file and
//! the offset from which it was mapped, finds the program's symbols, and adds up the ranks. (Not
//! under a debugger, which reads a copy's file, and has set its breakpoints by then.) As with any
//! shared library, the file must not be written in place while a rank runs: linkers, `install` and
//! `mv` replace it, and the pages stay those of the old file.

use super::elf::{Elf, Segment};
use super::frame::Main;
use crate::rt::calls::MARK;
use crate::rt::mutex::lock;
use crate::static_tls;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{env, fs, process};

/// The soname of the shim.
const SHIM: &str = "libmpi_abi.so.0";

/// A program's files that each rank gets a copy of: read and prepared once.
#[derive(Debug)]
pub struct Image {
    /// Libraries first, each after those that it needs; the program last.
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    /// Its soname; empty for the program.
    name: String,
    bytes: Vec<u8>,
    /// Bytes of thread-local variables for which there must be room when the process begins.
    static_tls: usize,
    /// Where the bytes were read, and the parts of it that hold code.
    source: Source,
    code: Vec<Segment>,
}

/// A file that was read, and its state at that time.
#[derive(Debug)]
struct Source {
    file: fs::File,
    state: [i64; 5],
}

/// One rank's copy of an image.
#[derive(Debug)]
pub struct Copy {
    /// Its files, in the image's order.
    parts: Vec<ImagePart>,
    tag: usize,
}

/// A file of a copy.
#[derive(Debug)]
struct ImagePart {
    handle: *mut c_void,
    /// Where its first byte lies.
    base: usize,
    /// The path under which the dynamic linker knows it, and its descriptor, if it is in memory.
    path: CString,
    descriptor: Option<c_int>,
}

/// The process in which copies are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The launcher's: it has no symbols that a program could mean, but `exit`.
    Launcher,
    /// An ordinary program, which may have the same libraries loaded for itself: a copy looks for
    /// its symbols in its own files first.
    Program,
}

/// What a rank's copy of the shim is bound to: the runtime's table, and the rank's state.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The table.
    pub table: *const c_void,
    /// The state.
    pub rank: *const c_void,
}

/// A function of an image: the same place in each copy.
#[derive(Clone, Debug)]
pub struct Function {
    /// The image.
    pub image: Arc<Image>,
    file: usize,
    offset: usize,
}

impl Image {
    /// Reads a program and finds its private libraries.
    ///
    /// # Errors
    /// If a file cannot be read, or is not what `phalanx-mpicc` links.
    pub fn read(program: &Path) -> Result<Image, String> {
        let elf = parse(program)?;
        if elf.0.is_executable() {
            return Err(format!(
                "{}: an executable that was linked without phalanx-mpicc",
                program.display()
            ));
        }
        Image::with(elf, program, "")
    }

    /// The image of a file and of what it needs.
    fn with(elf: Parsed, path: &Path, name: &str) -> Result<Image, String> {
        let mut found = Vec::new();
        let mut seen = HashMap::new();
        gather(&elf.0, path, &mut seen, &mut found)?;
        if !found.iter().any(|it: &File| it.name == SHIM) {
            let shim = find(SHIM, path, &elf.0).ok_or("libmpi_abi.so.0 was not found")?;
            found.insert(0, prepare(SHIM, parse(&shim)?, &shim)?);
        }
        found.push(prepare(name, elf, path)?);
        Ok(Image { files: found })
    }

    /// Reads a shared library that uses MPI, itself or by what it needs.
    ///
    /// # Errors
    /// If a file cannot be read, or is an executable.
    pub fn library(path: &Path) -> Result<Image, String> {
        let elf = parse(path)?;
        if elf.0.is_executable() {
            return Err(format!(
                "{} is an executable, of which no rank can have a copy: put the function into a \
                 shared library, or link the program with phalanx-mpicc",
                path.display()
            ));
        }
        let name = elf.0.soname().ok().flatten().unwrap_or_default();
        Image::with(elf, path, &name)
    }

    /// Bytes of thread-local variables of one copy, of those for which there must be room when the
    /// process begins.
    pub fn static_tls(&self) -> usize {
        self.files.iter().fold(0, |sum, it| sum.saturating_add(it.static_tls))
    }

    /// Loads a copy whose shim is bound to `binding`: the constructors of its files run in here.
    ///
    /// # Errors
    /// The dynamic linker's words; too many copies.
    ///
    /// # Safety
    /// The binding's table has an entry for each function of functions.txt, in its order; table and
    /// state live as long as the copy is used. The files' constructors may run.
    pub unsafe fn load(self: &Arc<Image>, binding: Binding, host: Host) -> Result<Copy, String> {
        let number = take_tag()?;
        let tag = tag_text(number);
        let mut copy = Copy { parts: Vec::with_capacity(self.files.len()), tag: number };
        let is_traced = is_traced();
        for file in &self.files {
            let mut elf = Elf::parse(file.bytes.clone()).map_err(|error| error.to_string())?;
            for private in self.files.iter().filter(|it| !it.name.is_empty()) {
                let new = private_name(&private.name, &tag);
                elf.rename(&private.name, &new).map_err(|error| error.to_string())?;
            }
            let part = open(&file.name, &tag, elf.bytes(), host).map_err(|error| {
                match self.static_tls() {
                    bytes if bytes > 0 && error.contains("static TLS") => {
                        format!("{error}: {}", static_tls::advice(bytes))
                    }
                    _ => error,
                }
            })?;
            if part.descriptor.is_some() && !is_traced {
                // SAFETY: loaded from these bytes just now; `rename` changes names only, which are
                // no part of the code. (Where copies are files, they are to be seen as such.)
                unsafe { file.source.map(&file.code, part.base) };
            }
            if file.name == SHIM {
                // SAFETY: the caller's promise.
                unsafe { bind(part.handle, binding)? };
            }
            lock(&COPIED).push((part.base, Arc::clone(self), copy.parts.len()));
            copy.parts.push(part);
        }
        Ok(copy)
    }
}

/// Hands the table and a rank's state to its copy of the shim.
///
/// # Safety
/// As [`Image::load`].
unsafe fn bind(shim: *mut c_void, binding: Binding) -> Result<(), String> {
    let bind = symbol(shim, c"phalanx_bind").ok_or("the shim is another library")?;
    // SAFETY: the shim's symbol is such a number (build.rs).
    let mark = symbol(shim, c"phalanx_table").map(|it| unsafe { *it.cast::<u64>() });
    if mark != Some(MARK) {
        return Err(
            "libmpi_abi.so.0 is of another version of Phalanx than the launcher: link the \
                    program again, or run it by the launcher that is installed with it"
                .to_owned(),
        );
    }
    // SAFETY: the shim's function has this type (build.rs).
    let bind: unsafe extern "C" fn(*const c_void, *const c_void) =
        unsafe { std::mem::transmute(bind) };
    // SAFETY: the caller's promise.
    unsafe { bind(binding.table, binding.rank) };
    Ok(())
}

/// The files of copies that are loaded: where each begins, its image, and its number therein.
static COPIED: Mutex<Vec<(usize, Arc<Image>, usize)>> = Mutex::new(Vec::new());

/// Images of libraries that the process itself loaded: where each begins, and its path.
static LOADED: Mutex<Vec<(usize, PathBuf, Arc<Image>)>> = Mutex::new(Vec::new());

/// What the dynamic linker knows of an address, and the path of the file in which that lies.
pub fn whereabouts(address: usize) -> Option<(libc::Dl_info, PathBuf)> {
    // SAFETY: a structure of pointers, for which zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives through the call; any address may be asked for.
    if unsafe { libc::dladdr(address as *const c_void, &raw mut info) } == 0 {
        return None;
    }
    // SAFETY: asks for a number: where the executable's program headers lie.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    // The executable goes by the name with which it was started, which may be found nowhere. Its
    // headers stand at its beginning.
    let path = if headers.wrapping_sub(info.dli_fbase as usize) < 4096 {
        env::current_exe().ok()?
    } else {
        // SAFETY: dladdr gave a text that ends in a zero.
        let path = unsafe { CStr::from_ptr(info.dli_fname) };
        PathBuf::from(OsStr::from_bytes(path.to_bytes()))
    };
    Some((info, path))
}

/// The file in which an address lies, the same number for all copies of one; its path, and the
/// address in it.
pub fn origin(address: usize) -> Option<(usize, String, usize)> {
    let (info, path) = whereabouts(address)?;
    let base = info.dli_fbase as usize;
    let copied = lock(&COPIED).iter().find(|it| it.0 == base).cloned();
    let number = copied.map_or(base, |(_, image, file)| Arc::as_ptr(&image) as usize + file);
    Some((number, path.to_string_lossy().into_owned(), address.wrapping_sub(base)))
}

impl Function {
    /// The function at this address: of a copy, or of a shared library of the process.
    ///
    /// # Errors
    /// If the address lies in no shared library, or in an executable.
    pub fn at(address: usize) -> Result<Function, String> {
        let (info, path) = whereabouts(address).ok_or("the function lies in no shared library")?;
        let base = info.dli_fbase as usize;
        let offset = address.wrapping_sub(base);
        let copied = lock(&COPIED).iter().find(|it| it.0 == base).cloned();
        if let Some((_, image, file)) = copied {
            return Ok(Function { image, file, offset });
        }
        let mut loaded = lock(&LOADED);
        let known = loaded.iter().find(|it| it.0 == base && it.1 == path).map(|it| it.2.clone());
        let image = match known {
            Some(image) => image,
            None => {
                let image = Arc::new(Image::library(&path)?);
                loaded.push((base, path, Arc::clone(&image)));
                image
            }
        };
        let file = image.files.len() - 1;
        Ok(Function { image, file, offset })
    }
}

impl Copy {
    fn program(&self) -> *mut c_void {
        self.parts.last().expect("an image has a file").handle
    }

    /// The address of what this copy, or a library that it needs, calls `name`.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        symbol(self.program(), name)
    }

    /// This copy's form of a function of its image.
    pub fn function(&self, function: &Function) -> *const c_void {
        (self.parts[function.file].base + function.offset) as *const c_void
    }

    /// The program's main.
    ///
    /// # Errors
    /// If it has none.
    pub fn main(&self) -> Result<Main, String> {
        let main = self.symbol(c"phalanx_main").ok_or("the program has no main")?;
        // SAFETY: entry.c's function of this name takes nothing and gives the program's main.
        let main: unsafe extern "C" fn() -> Main = unsafe { std::mem::transmute(main) };
        // SAFETY: as above; it only reads an address.
        Ok(unsafe { main() })
    }

    /// Runs what the copy gave to `atexit`, and its destructors.
    ///
    /// # Safety
    /// The copy's main has ended, and none of its functions runs.
    pub unsafe fn finish(&self) {
        if let Some(finish) = self.symbol(c"phalanx_finish") {
            // SAFETY: entry.c's function; the caller's promise.
            let finish: unsafe extern "C" fn() = unsafe { std::mem::transmute(finish) };
            // SAFETY: as above.
            unsafe { finish() };
        }
    }

    /// Unloads the copy: its destructors run in here. What the dynamic linker keeps stays.
    ///
    /// # Safety
    /// None of its functions runs or will run, on any thread.
    pub unsafe fn close(self) {
        let mut is_gone = true;
        for part in self.parts.into_iter().rev() {
            lock(&COPIED).retain(|it| it.0 != part.base);
            // SAFETY: the handle came from dlopen, and is closed once; the caller's promise.
            unsafe { libc::dlclose(part.handle) };
            // SAFETY: asks whether the library is still there.
            let still =
                unsafe { libc::dlopen(part.path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
            if !still.is_null() {
                // The descriptor stays, and so does the tag: see the head.
                is_gone = false;
            } else if let Some(descriptor) = part.descriptor {
                // SAFETY: made by `in_memory` for this part alone.
                unsafe { libc::close(descriptor) };
            }
        }
        if is_gone {
            lock(&TAGS).1.push(self.tag);
        }
    }
}

/// Follows what `elf` needs, libraries before those that need them; says whether one is private.
fn gather(
    elf: &Elf,
    path: &Path,
    seen: &mut HashMap<String, bool>,
    found: &mut Vec<File>,
) -> Result<bool, String> {
    let mut any = false;
    for name in elf.needed().map_err(|error| format!("{}: {error}", path.display()))? {
        if let Some(is_private) = seen.get(&name) {
            any |= is_private;
            continue;
        }
        seen.insert(name.clone(), false);
        let Some(file) = find(&name, path, elf) else { continue };
        let library = parse(&file)?;
        let own = !is_system(&file) || is_listed(&name);
        // A system library is looked into only if it is private: the others need no private ones.
        let needs = own && gather(&library.0, &file, seen, found)?;
        if own || needs {
            seen.insert(name.clone(), true);
            found.push(prepare(&name, library, &file)?);
            any = true;
        }
    }
    Ok(any)
}

/// Libraries of the system that hold a rank's state.
fn is_listed(name: &str) -> bool {
    name == SHIM
        || name.starts_with("libgfortran.so.")
        || env::var("PHALANX_MPI_PRIVATE").is_ok_and(|list| list.split(':').any(|it| it == name))
}

const SYSTEM: [&str; 4] = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|it| path.starts_with(it))
}

/// Where the dynamic linker would find a library: the search path of the file that needs it, then
/// LD_LIBRARY_PATH, the package's own directory, and the system's.
fn find(name: &str, needs_it: &Path, elf: &Elf) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let origin = needs_it.parent().unwrap_or(Path::new("."));
    let mut places = Vec::new();
    for place in elf.search_path().unwrap_or_default() {
        let origin = origin.to_string_lossy();
        places.push(PathBuf::from(place.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
    }
    if let Some(list) = env::var_os("LD_LIBRARY_PATH") {
        places.extend(env::split_paths(&list));
    }
    places.push(crate::home::libraries());
    for place in SYSTEM {
        places.push(PathBuf::from(format!("{place}/{}-linux-gnu", env::consts::ARCH)));
        places.push(PathBuf::from(place));
    }
    places.push(PathBuf::from("/usr/local/lib"));
    places.into_iter().map(|it| it.join(name)).find(|it| it.is_file())
}

impl Source {
    /// Opens a file and reads it.
    fn read(path: &Path) -> std::io::Result<(Vec<u8>, Source)> {
        let mut file = fs::File::open(path)?;
        // Before it is read: what is written meanwhile is noticed.
        let state = Source::state(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok((bytes, Source { file, state }))
    }

    fn state(file: &fs::File) -> std::io::Result<[i64; 5]> {
        let it = file.metadata()?;
        Ok([it.size().cast_signed(), it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()])
    }

    /// Maps these pages over those of a copy that begins at `base`: the same bytes. A file that has
    /// been written since, or that cannot be mapped (its file system may forbid programs), changes
    /// nothing.
    ///
    /// # Safety
    /// A copy of this file lies there, in which no byte of the parts was changed.
    unsafe fn map(&self, parts: &[Segment], base: usize) {
        if Source::state(&self.file).ok() != Some(self.state) {
            return;
        }
        for part in parts {
            let (protection, kind) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE);
            let Ok(offset) = libc::off_t::try_from(part.offset) else { continue };
            // SAFETY: these pages hold the same code of the copy (the caller's promise), which is
            // mapped as long as the dynamic linker keeps it: who runs in them sees no difference.
            // That holds as long as nobody writes into the file: a promise of the user (README,
            // "How"), as for every shared library, and which the system does not enforce.
            unsafe {
                libc::mmap(
                    (base + part.address as usize) as *mut c_void,
                    part.length as usize,
                    protection,
                    kind | libc::MAP_FIXED,
                    self.file.as_raw_fd(),
                    offset,
                );
            }
        }
    }
}

/// Whether a debugger follows this process: it may have written breakpoints into a copy's code.
fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|it| it.strip_prefix("TracerPid:").is_some_and(|by| by.trim() != "0"))
}

/// Bytes of a page.
fn page() -> u64 {
    // SAFETY: asks for a number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A file as it is parsed, before it is prepared.
type Parsed = (Elf, Source);

fn parse(path: &Path) -> Result<Parsed, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let (bytes, source) = Source::read(path).map_err(|error| named(&error))?;
    Ok((Elf::parse(bytes).map_err(|error| named(&error))?, source))
}

fn prepare(name: &str, (mut elf, source): Parsed, path: &Path) -> Result<File, String> {
    let code = elf.code(page()).map_err(|error| format!("{}: {error}", path.display()))?;
    elf.make_uniques_private().map_err(|error| format!("{}: {error}", path.display()))?;
    // Without section headers, or with damaged ones, a debugger sees less.
    let _ = elf.make_data_local();
    // A file without a soname is known by its path alone; nothing can be renamed in it.
    if !name.is_empty() && elf.soname().ok().flatten().is_none_or(|it| it != name) {
        return Err(format!("{}: its soname is not {name}: give it one", path.display()));
    }
    let static_tls = elf.static_tls();
    Ok(File { name: name.to_owned(), bytes: elf.bytes().to_vec(), static_tls, source, code })
}

/// The first tag that was never taken, and those that were given back.
static TAGS: Mutex<(usize, Vec<usize>)> = Mutex::new((0, Vec::new()));

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The number of a tag that no other copy of this process has.
fn take_tag() -> Result<usize, String> {
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
fn tag_text(number: usize) -> String {
    let digit = |it: usize| char::from(DIGITS[it % DIGITS.len()]);
    ['~', digit(number), digit(number / DIGITS.len())].into_iter().collect()
}

/// `libgfortran.so.5` becomes `~1Bgfortran.so.5`.
fn private_name(name: &str, tag: &str) -> String {
    match name.get(3..) {
        Some(rest) => format!("{tag}{rest}"),
        None => name.to_owned(),
    }
}

fn open(name: &str, tag: &str, bytes: &[u8], host: Host) -> Result<ImagePart, String> {
    let label = if name.is_empty() { format!("program{tag}") } else { private_name(name, tag) };
    let (path, descriptor) = match directory() {
        Some(directory) => {
            let path = directory.join(format!("{}-{label}", process::id()));
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            (path, None)
        }
        None => {
            let descriptor = in_memory(&label, bytes)?;
            (PathBuf::from(format!("/proc/{}/fd/{descriptor}", process::id())), Some(descriptor))
        }
    };
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let flags = libc::RTLD_NOW
        | match host {
            Host::Launcher => libc::RTLD_LOCAL,
            Host::Program => libc::RTLD_LOCAL | libc::RTLD_DEEPBIND,
        };
    // SAFETY: loading a library runs its constructors: the program's own, as its main would be run.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if descriptor.is_none() && env::var_os(COPIES).is_none() {
        let _ = fs::remove_file(&path);
    }
    if handle.is_null() {
        // SAFETY: the text of the failure just seen, on this thread.
        let text = unsafe { libc::dlerror() };
        if text.is_null() {
            return Err("dlopen failed".to_owned());
        }
        // SAFETY: not null; it ends in a zero and lives until the next call of this thread.
        let text = unsafe { CStr::from_ptr(text) };
        return Err(text.to_string_lossy().into_owned());
    }
    Ok(ImagePart { handle, base: base(handle)?, path: name, descriptor })
}

/// Where a library begins.
fn base(handle: *mut c_void) -> Result<usize, String> {
    let mut map: *const usize = std::ptr::null();
    // SAFETY: the handle is open; the call writes the address of the library's `link_map`.
    let failed =
        unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>()) };
    if failed != 0 || map.is_null() {
        return Err("the dynamic linker does not say where a copy lies".to_owned());
    }
    // SAFETY: the structure's first member is the difference between addresses in memory and in the
    // file, which begins at zero (a shared object's).
    Ok(unsafe { *map })
}

/// Names a directory in which copies are files that stay: for core dumps and profilers.
const COPIES: &str = "PHALANX_MPI_COPIES";

/// Where copies are files rather than memory: if asked, and under Valgrind, which finds lines in
/// files only (they are removed once they are loaded).
fn directory() -> Option<PathBuf> {
    let is_valgrind = || env::var("LD_PRELOAD").is_ok_and(|it| it.contains("vgpreload"));
    let asked = env::var_os(COPIES).map(PathBuf::from);
    asked.or_else(|| is_valgrind().then(env::temp_dir))
}

/// A file in memory with these bytes; gives its descriptor, which stays open: see the head.
fn in_memory(label: &str, bytes: &[u8]) -> Result<c_int, String> {
    let label = CString::new(label).map_err(|error| error.to_string())?;
    // SAFETY: a system call with a text that ends in a zero.
    let descriptor = unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(format!("memfd_create: {}", std::io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was made above, and nobody else has it.
    let mut file = unsafe { fs::File::from_raw_fd(descriptor) };
    file.write_all(bytes).map_err(|error| format!("a copy in memory: {error}"))?;
    Ok(file.into_raw_fd())
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle came from dlopen and was never closed.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
