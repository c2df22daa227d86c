//! Which files get a private copy a rank, and how a copy is loaded.
//!
//! A copy is a file in memory (memfd) with a name of its own, `/proc/PID/fd/N`: not `/proc/self`,
//! which a debugger would follow to its own descriptors. The descriptor stays open as long as the
//! dynamic linker knows the copy: a number used again would be the same library to it. So would a
//! name used again: each copy has a tag, which is given back when the copy is unloaded.
//!
//! Private are the program, the shim, libgfortran (unit numbers), the program's own libraries
//! (those found by its search path or LD_LIBRARY_PATH outside the system's directories), and those
//! of PHALANX_MPI_PRIVATE (a list of sonames with colons). A library that needs a private one is
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

use super::elf::{Elf, NO_DYNAMIC};
use super::file::{File, gather, give_back, prepare, private_name, tag_text, take_tag};
use super::frame::Main;
use super::search::{SHIM, find, needed, preloads};
use super::source::{COPIES, Parsed, Source, beyond_streams, directory, is_traced, parse};
use crate::home::whereabouts;
use crate::rt::calls::MARK;
use crate::rt::mutex::lock;
use crate::stack;
use crate::static_tls;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write as _;
use std::os::fd::{FromRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{env, fs, process};

/// A program's files that each rank gets a copy of: read and prepared once.
#[derive(Debug)]
pub struct Image {
    /// Libraries first, each after those that it needs; the program last.
    pub(super) files: Vec<File>,
    /// So many files, with those that they need, come before all: profilers (src/load/search.rs).
    preloaded: usize,
    /// Whether a rank loads it itself.
    is_plugin: bool,
}

/// One rank's copy of an image.
#[derive(Debug)]
pub struct Copy {
    /// Its files, in the image's order.
    parts: Vec<ImagePart>,
    tag: usize,
    /// Where its program's beginning and end for a rank are, if that is an executable.
    start: Option<(u64, u64)>,
}

/// A file of a copy.
#[derive(Debug)]
pub(super) struct ImagePart {
    pub(super) handle: *mut c_void,
    /// Where its first byte lies.
    base: usize,
    /// The path under which the dynamic linker knows it, and its descriptor, if it is in memory.
    pub(super) path: CString,
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

/// The binding of a rank's copy of the shim: the runtime's table, and the rank's state.
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
    /// Reads a program and finds its private libraries; without any, if it is no program of MPI (a
    /// script, or one that uses no MPI).
    ///
    /// # Errors
    /// If a file cannot be read, or is a program of which ranks cannot have copies.
    pub fn read(program: &Path) -> Result<Option<Image>, String> {
        let at = program.display();
        let (bytes, source) = Source::read(program).map_err(|error| format!("{at}: {error}"))?;
        if bytes.starts_with(b"#!") {
            return Ok(None);
        }
        let mut elf = match Elf::parse(bytes) {
            Err(error) if error == NO_DYNAMIC => return Ok(None),
            other => other.map_err(|error| format!("{at}: {error}"))?,
        };
        let is_executable = elf.is_executable();
        let is_fixed = elf.is_fixed;
        let shared = elf.make_shared().map_err(|error| format!("{at}: {error}"))?;
        let Some(image) = Image::with((elf, source), program, "")? else { return Ok(None) };
        if is_fixed {
            return Err(format!(
                "{at}: an executable that can lie at one address only, so that ranks cannot have \
                 copies of it: link it with phalanx-mpicc, or compile it with -fPIE and link it \
                 with -pie"
            ));
        }
        if is_executable {
            image.check_executable(&shared)?;
        }
        Ok(Some(image))
    }

    /// Whether each rank can have a copy of an executable, which shares these variables with
    /// libraries.
    fn check_executable(&self, shared: &[String]) -> Result<(), String> {
        let (program, libraries) = self.files.split_last().ok_or("there is no program")?;
        let at = program.path.display();
        let advice = "compile it with -fPIC, or compile and link it with phalanx-mpicc";
        let elf = Elf::parse(program.bytes.clone()).map_err(|error| format!("{at}: {error}"))?;
        let (bytes, room) = (elf.thread_locals(), thread_local_room());
        if bytes > room {
            return Err(format!(
                "{at}: an executable with {bytes} bytes of thread-local variables; there is room \
                 for {room}: {advice}"
            ));
        }
        let own = elf.named_thread_locals(true).map_err(|error| format!("{at}: {error}"))?;
        for library in libraries {
            let elf = Elf::parse(library.bytes.clone());
            let named = |error| format!("{}: {error}", library.path.display());
            let elf = elf.map_err(named)?;
            if let Some(name) = elf.variables(shared).map_err(named)?.first() {
                return Err(format!(
                    "{at}: an executable with a variable of {} for itself, {name}, which ranks \
                     cannot have: {advice}",
                    library.name
                ));
            }
            let wanted = elf.named_thread_locals(false).map_err(named)?;
            if let Some(name) = wanted.iter().find(|it| own.contains(it)) {
                return Err(format!(
                    "{at}: an executable whose thread-local variable {name} {} uses: {advice}",
                    library.name
                ));
            }
        }
        Ok(())
    }

    /// The image of a file and of its libraries; none, if it is a program (without a name) and
    /// nothing therein uses MPI.
    fn with(elf: Parsed, path: &Path, name: &str) -> Result<Option<Image>, String> {
        let mut found = Vec::new();
        let mut seen = HashMap::new();
        if name.is_empty() {
            for path in preloads() {
                let profiler = parse(&path)?;
                gather(&profiler.0, &path, &mut seen, &mut found)?;
                let name = profiler.0.soname().ok().flatten();
                let name = name.unwrap_or_else(|| path.to_string_lossy().into_owned());
                if seen.insert(name.clone(), true).is_none() {
                    found.push(prepare(&name, profiler, &path)?);
                }
            }
        }
        let preloaded = found.len();
        let uses = gather(&elf.0, path, &mut seen, &mut found)?;
        if name.is_empty() && !uses && !needed(&elf.0, path)?.iter().any(|it| it == SHIM) {
            return Ok(None);
        }
        if !found.iter().any(|it: &File| it.name == SHIM) {
            if name.is_empty() {
                return Ok(None);
            }
            let shim = find(SHIM, path, &elf.0).ok_or("libmpi_abi.so.0 was not found")?;
            found.insert(0, prepare(SHIM, parse(&shim)?, &shim)?);
        }
        found.push(prepare(name, elf, path)?);
        Ok(Some(Image { files: found, preloaded, is_plugin: false }))
    }

    /// Reads a shared library that uses MPI, itself or by its libraries.
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
        let image = Image::with(elf, path, &name)?;
        image.ok_or_else(|| format!("{}: it has no name (soname), and uses no MPI", path.display()))
    }

    /// The names of its files by which the dynamic linker knows them.
    pub(super) fn names(&self) -> Vec<&str> {
        self.files.iter().filter(|it| it.is_named).map(|it| it.name.as_str()).collect()
    }

    /// Whether a rank has loaded it itself.
    pub(super) fn is_plugin(&self) -> bool {
        self.is_plugin
    }

    /// The image of files that a rank loads itself.
    pub(super) fn of_plugin(files: Vec<File>) -> Image {
        Image { files, preloaded: 0, is_plugin: true }
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
        let mut copy =
            Copy { parts: Vec::with_capacity(self.files.len()), tag: number, start: None };
        let names = self.names();
        for (at, file) in self.files.iter().enumerate() {
            let first: Vec<String> = match at < self.preloaded {
                true => Vec::new(),
                false => paths(&copy.parts[..self.preloaded]),
            };
            let elf = file.renamed(&names, &tag, &first, &unnamed(&files_of(number)))?;
            let flags = libc::RTLD_NOW
                | match host {
                    Host::Launcher => libc::RTLD_LOCAL,
                    Host::Program => libc::RTLD_LOCAL | libc::RTLD_DEEPBIND,
                };
            // SAFETY: the caller's promise.
            let part = unsafe { self.load_file(at, number, elf.bytes(), flags) };
            let part = part.map_err(|error| match self.static_tls() {
                bytes if bytes > 0 && error.contains("static TLS") => {
                    format!("{error}: {}", static_tls::advice(bytes))
                }
                _ => error,
            })?;
            if file.name == SHIM {
                // SAFETY: the caller's promise.
                unsafe { bind(part.handle, binding)? };
            }
            copy.start = file.start.map(|it| (part.base as u64 + it.0, part.base as u64 + it.1));
            copy.parts.push(part);
        }
        Ok(copy)
    }

    /// The common blocks of Fortran's header in a file, of which the addresses mean something, are
    /// told to the shim of the copy with this tag.
    fn tell_marks(part: &ImagePart, tag: usize) {
        const MARKS: [&CStr; 6] = [
            c"mpi_phx_bottom_",
            c"mpi_phx_in_place_",
            c"mpi_phx_ignore_",
            c"mpi_phx_ignores_",
            c"mpi_phx_unweighted_",
            c"mpi_phx_no_weights_",
        ];
        let marks = MARKS.map(|it| symbol(part.handle, it).unwrap_or(std::ptr::null_mut()));
        if marks.iter().all(|it| it.is_null()) {
            return;
        }
        let shim = lock(&COPIED).iter().find(|it| it.tag == tag && it.name() == SHIM).cloned();
        let Some(shim) = shim else { return };
        // SAFETY: finds a file that is loaded; the handle is used here only.
        unsafe {
            let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
            let handle = libc::dlopen(shim.path.as_ptr(), flags);
            if let Some(tell) = symbol(handle, c"phalanx_fortran").filter(|_| !handle.is_null()) {
                // The shim's function takes as many addresses (build.rs).
                let tell: unsafe extern "C" fn(*const *mut c_void) = std::mem::transmute(tell);
                tell(marks.as_ptr());
            }
            if !handle.is_null() {
                libc::dlclose(handle);
            }
        }
    }

    /// A name for a copy of a file: no other of this process has it, as copies may be files.
    fn label(&self, at: usize, tag: &str) -> String {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let file = &self.files[at];
        match (file.is_named, file.name.is_empty()) {
            _ if self.is_plugin => {}
            (true, _) => return private_name(&file.name, tag),
            (false, true) => return format!("program{tag}"),
            (false, false) => {}
        }
        // Ordering: only the numbers differ; nothing is published by them.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}{tag}{number}")
    }

    /// Loads one of the files of a copy, of which these are the bytes.
    ///
    /// # Safety
    /// The file's constructors may run; `bytes` are its own but for names and the dynamic section.
    pub(super) unsafe fn load_file(
        self: &Arc<Image>,
        at: usize,
        tag: usize,
        bytes: &[u8],
        flags: c_int,
    ) -> Result<ImagePart, String> {
        let file = &self.files[at];
        let part = open(&self.label(at, &tag_text(tag)), bytes, flags, &file.path)
            .map_err(|error| with_true_names(&error))?;
        if part.descriptor.is_some() && !is_traced() {
            // SAFETY: loaded from these bytes just now; names and the dynamic section are no part
            // of the code. (Where copies are files, they are to be seen as such.)
            unsafe { file.source.map(&file.code, part.base) };
        }
        let path = part.path.clone();
        lock(&COPIED).push(Copied {
            base: part.base,
            image: Arc::clone(self),
            file: at,
            tag,
            path,
        });
        if file.name != SHIM {
            Image::tell_marks(&part, tag);
        }
        Ok(part)
    }
}

fn paths(parts: &[ImagePart]) -> Vec<String> {
    parts.iter().rev().map(|it| it.path.to_string_lossy().into_owned()).collect()
}

/// The dynamic linker's words of copies, with the names of their files.
fn with_true_names(error: &str) -> String {
    lock(&COPIED).iter().fold(error.to_owned(), |text, it| {
        // (A name with one more digit is another copy's.)
        let true_name = it.image.files[it.file].path.display();
        text.replace(&format!("{}:", it.path.to_string_lossy()), &format!("{true_name}:"))
    })
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

/// A file of a copy that is loaded.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    /// Where it begins.
    base: usize,
    /// Its image, and its number therein.
    pub(super) image: Arc<Image>,
    pub(super) file: usize,
    /// The copy's tag, which its files have in common.
    pub(super) tag: usize,
    /// The path under which the dynamic linker knows it.
    pub(super) path: CString,
}

impl Copied {
    /// Its soname; empty for the program.
    pub(super) fn name(&self) -> &str {
        &self.image.files[self.file].name
    }
}

/// The files of copies that are loaded.
static COPIED: Mutex<Vec<Copied>> = Mutex::new(Vec::new());

/// The file of a copy in which an address lies.
fn copied(info: &libc::Dl_info) -> Option<Copied> {
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a text that ends in a zero.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let is_it = |it: &&Copied| it.base == info.dli_fbase as usize && it.path.as_c_str() == name;
    lock(&COPIED).iter().find(is_it).cloned()
}

/// The files of the copy with this tag.
pub(super) fn files_of(tag: usize) -> Vec<Copied> {
    lock(&COPIED).iter().filter(|it| it.tag == tag).cloned().collect()
}

/// Names and paths of those files that have no soname.
pub(super) fn unnamed(files: &[Copied]) -> Vec<(String, String)> {
    let unnamed = files.iter().filter(|it| !it.image.files[it.file].is_named);
    unnamed.map(|it| (it.name().to_owned(), it.path.to_string_lossy().into_owned())).collect()
}

/// The file of a copy in which an address lies, if it lies in one.
pub(super) fn copied_at(address: usize) -> Option<Copied> {
    copied(&whereabouts(address)?.0)
}

/// The file at `path`, which had been unloaded, lies elsewhere now.
pub(super) fn moved(path: &CStr, handle: *mut c_void) {
    if let Ok(base) = base(handle) {
        lock(&COPIED)
            .iter_mut()
            .filter(|it| it.path.as_c_str() == path)
            .for_each(|it| it.base = base);
    }
}

/// Images of libraries that the process itself loaded: where each begins, and its path.
static LOADED: Mutex<Vec<(usize, PathBuf, Arc<Image>)>> = Mutex::new(Vec::new());

/// The file in which an address lies, the same number for all copies of one; its path, and the
/// address in it.
pub fn origin(address: usize) -> Option<(usize, String, usize)> {
    let (info, path) = whereabouts(address)?;
    let base = info.dli_fbase as usize;
    let number = copied(&info).map_or(base, |it| Arc::as_ptr(&it.image) as usize + it.file);
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
        if let Some(Copied { image, file, .. }) = copied(&info) {
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

    /// The address of `name` in this copy, or in a library that it needs.
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
        if let Some((main, _)) = self.start {
            // SAFETY: start.c's function of this type.
            return Ok(unsafe { std::mem::transmute::<usize, Main>(main as usize) });
        }
        let main = self.symbol(c"phalanx_main").ok_or(
            "the program: it has no beginning for a rank: link it with phalanx-mpicc, or with \
             -lmpi_abi (and not with libmpi_abi.so.0 itself)",
        )?;
        // SAFETY: entry.c's function of this name takes nothing and gives the program's main.
        let main: unsafe extern "C" fn() -> Main = unsafe { std::mem::transmute(main) };
        // SAFETY: as above; it only reads an address.
        Ok(unsafe { main() })
    }

    /// Runs the functions that the copy gave to `atexit`, and its destructors.
    ///
    /// # Safety
    /// The copy's main has ended, and none of its functions runs.
    pub unsafe fn finish(&self) {
        if let Some((_, end)) = self.start {
            // SAFETY: start.c's function of this type.
            let finish: unsafe extern "C" fn() = unsafe { std::mem::transmute(end as usize) };
            // SAFETY: the caller's promise.
            unsafe { finish() };
        }
        if let Some(finish) = self.symbol(c"phalanx_finish") {
            // SAFETY: entry.c's function; the caller's promise.
            let finish: unsafe extern "C" fn() = unsafe { std::mem::transmute(finish) };
            // SAFETY: as above.
            unsafe { finish() };
        }
    }

    /// Unloads the copy: its destructors run in here. The dynamic linker's leftovers stay.
    ///
    /// # Safety
    /// None of its functions runs or will run, on any thread.
    pub unsafe fn close(self) {
        let mut is_gone = true;
        for part in self.parts.into_iter().rev() {
            lock(&COPIED).retain(|it| it.path != part.path);
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
            give_back(self.tag);
        }
    }
}

/// Loads a copy of the file `of` with these bytes.
fn open(label: &str, bytes: &[u8], flags: c_int, of: &Path) -> Result<ImagePart, String> {
    let length = bytes.len() as u64;
    if let Some(most) = stack::limit(libc::RLIMIT_FSIZE).filter(|it| length > *it) {
        // Else the system would end the process without a word.
        let of = of.display();
        return Err(format!(
            "{of}: a copy has {length} bytes, a file at most {most} (`ulimit -f`)"
        ));
    }
    let (path, descriptor) = match directory() {
        Some(directory) => {
            let path = directory.join(format!("{}-{label}", process::id()));
            let say =
                |error| format!("{}: {error} (for copies, or /proc is missing)", path.display());
            fs::write(&path, bytes).map_err(say)?;
            (path, None)
        }
        None => {
            let descriptor = in_memory(label, bytes)?;
            (PathBuf::from(format!("/proc/{}/fd/{descriptor}", process::id())), Some(descriptor))
        }
    };
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
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
        let (copy, file) = (format!("{}:", name.to_string_lossy()), format!("{}:", of.display()));
        return Err(text.to_string_lossy().replace(&copy, &file));
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

/// A file in memory with these bytes; gives its descriptor, which stays open: see the head.
fn in_memory(label: &str, bytes: &[u8]) -> Result<c_int, String> {
    let label = CString::new(label).map_err(|error| error.to_string())?;
    // SAFETY: a system call with a text that ends in a zero.
    let descriptor = unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        let error = std::io::Error::last_os_error();
        return Err(format!("a copy in memory: {error} (a descriptor each: `ulimit -n`)"));
    }
    // SAFETY: the descriptor was made above, and nobody else has it.
    let file = unsafe { fs::File::from_raw_fd(descriptor) };
    let written = beyond_streams(file).and_then(|mut it| it.write_all(bytes).map(|()| it));
    let file = written.map_err(|error| format!("a copy in memory: {error}"))?;
    Ok(file.into_raw_fd())
}

/// How many bytes of thread-local variables an executable may have: the launcher has left so much
/// room for them (c/room.c).
fn thread_local_room() -> usize {
    let Some(room) = symbol(libc::RTLD_DEFAULT, c"phalanx_thread_local_room") else { return 0 };
    // SAFETY: the launcher's function of this name takes nothing and gives a number.
    let room: extern "C" fn() -> usize = unsafe { std::mem::transmute(room) };
    room()
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle came from dlopen and was never closed, or stands for the whole process.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
