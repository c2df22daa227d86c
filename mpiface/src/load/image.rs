//! Which files get a private copy a rank, and how a copy is loaded.
//!
//! A copy is a file in memory (memfd) with a name of its own, `/proc/PID/fd/N`: not `/proc/self`,
//! which a debugger would follow to its own descriptors. The descriptor stays open as long as the
//! process: a number used again would be the same library to the dynamic linker.
//!
//! Private are the program, the shim, libgfortran (unit numbers), the program's own libraries
//! (those found by its search path or LD_LIBRARY_PATH outside the system's directories), and what
//! PHALANX_MPI_PRIVATE names (a list of sonames with colons). A library that needs a private one is
//! private itself. Private libraries get another soname of the same length, which everything
//! private needs instead; the dynamic linker finds libraries that are loaded already by their
//! sonames.

use super::elf::Elf;
use super::frame::Main;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::io::Write as _;
use std::os::fd::{FromRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
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
}

/// One rank's copy of a program.
#[derive(Debug)]
pub struct Copy {
    program: *mut c_void,
    shim: *mut c_void,
}

impl Image {
    /// Reads a program and finds its private libraries.
    ///
    /// # Errors
    /// If a file cannot be read, or is not what `phalanx-mpicc` links.
    pub fn read(program: &Path) -> Result<Image, String> {
        let elf = parse(program)?;
        if elf.is_executable() {
            return Err(format!(
                "{}: an executable that was linked without phalanx-mpicc",
                program.display()
            ));
        }
        let mut found = Vec::new();
        let mut seen = HashMap::new();
        gather(&elf, program, &mut seen, &mut found)?;
        if !found.iter().any(|it: &File| it.name == SHIM) {
            let shim = find(SHIM, program, &elf).ok_or("libmpi_abi.so.0 was not found")?;
            found.insert(0, prepare(SHIM, parse(&shim)?, &shim)?);
        }
        found.push(prepare("", elf, program)?);
        Ok(Image { files: found })
    }

    /// Loads a copy: the constructors of its files run in here.
    ///
    /// # Errors
    /// The dynamic linker's words.
    pub fn load(&self) -> Result<Copy, String> {
        let tag = next_tag();
        let mut shim = std::ptr::null_mut();
        let mut program = std::ptr::null_mut();
        for file in &self.files {
            let mut elf = Elf::parse(file.bytes.clone()).map_err(|error| error.to_string())?;
            for private in self.files.iter().filter(|it| !it.name.is_empty()) {
                let new = private_name(&private.name, &tag);
                elf.rename(&private.name, &new).map_err(|error| error.to_string())?;
            }
            let handle = open(&file.name, &tag, elf.bytes())?;
            if file.name == SHIM {
                shim = handle;
            }
            program = handle;
        }
        Ok(Copy { program, shim })
    }
}

impl Copy {
    /// Hands a rank's table and state to its copy of the shim.
    ///
    /// # Errors
    /// If the shim is not the one of this package.
    ///
    /// # Safety
    /// `table` has an entry for each function of functions.txt, in its order, and both live as long
    /// as the copy is used.
    pub unsafe fn bind(&self, table: *const c_void, rank: *const c_void) -> Result<(), String> {
        let bind = symbol(self.shim, c"phalanx_bind").ok_or("the shim is another library")?;
        // SAFETY: the shim's function has this type (build.rs).
        let bind: unsafe extern "C" fn(*const c_void, *const c_void) =
            unsafe { std::mem::transmute(bind) };
        // SAFETY: the caller's promise.
        unsafe { bind(table, rank) };
        Ok(())
    }

    /// The program's main.
    ///
    /// # Errors
    /// If it has none.
    pub fn main(&self) -> Result<Main, String> {
        let main = symbol(self.program, c"main").ok_or("the program has no main")?;
        // SAFETY: a symbol of this name is the program's main (entry.c's options ask for it).
        Ok(unsafe { std::mem::transmute::<*mut c_void, Main>(main) })
    }

    /// Runs what the copy gave to `atexit`, and its destructors.
    ///
    /// # Safety
    /// The copy's main has ended, and none of its functions runs.
    pub unsafe fn finish(&self) {
        if let Some(finish) = symbol(self.program, c"phalanx_finish") {
            // SAFETY: entry.c's function; the caller's promise.
            let finish: unsafe extern "C" fn() = unsafe { std::mem::transmute(finish) };
            // SAFETY: as above.
            unsafe { finish() };
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
        let needs = own && gather(&library, &file, seen, found)?;
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

fn parse(path: &Path) -> Result<Elf, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Elf::parse(bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn prepare(name: &str, mut elf: Elf, path: &Path) -> Result<File, String> {
    elf.make_uniques_private().map_err(|error| format!("{}: {error}", path.display()))?;
    // Without section headers, or with damaged ones, a debugger sees less.
    let _ = elf.make_data_local();
    // A file without a soname is known by its path alone; nothing can be renamed in it.
    if !name.is_empty() && elf.soname().ok().flatten().is_none_or(|it| it != name) {
        return Err(format!("{}: its soname is not {name}: give it one", path.display()));
    }
    Ok(File { name: name.to_owned(), bytes: elf.bytes().to_vec() })
}

/// Three characters that no other copy of this process has.
fn next_tag() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // A counter: nothing is published by it.
    let mut number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut tag = String::from("~");
    for _ in 0..2 {
        tag.push(char::from(DIGITS[number % 62]));
        number /= 62;
    }
    tag
}

/// `libgfortran.so.5` becomes `~1Bgfortran.so.5`.
fn private_name(name: &str, tag: &str) -> String {
    match name.get(3..) {
        Some(rest) => format!("{tag}{rest}"),
        None => name.to_owned(),
    }
}

fn open(name: &str, tag: &str, bytes: &[u8]) -> Result<*mut c_void, String> {
    let label = if name.is_empty() { format!("program{tag}") } else { private_name(name, tag) };
    let (path, is_file) = match directory() {
        Some(directory) => {
            let path = directory.join(format!("{}-{label}", process::id()));
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            (path, true)
        }
        None => (in_memory(&label, bytes)?, false),
    };
    let text = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: loading a library runs its constructors: the program's own, as its main would be run.
    let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if is_file && env::var_os(COPIES).is_none() {
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
    Ok(handle)
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

/// A file in memory with these bytes; gives its path. Its descriptor stays open: see the head.
fn in_memory(label: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let label = CString::new(label).map_err(|error| error.to_string())?;
    // SAFETY: a system call with a text that ends in a zero.
    let descriptor = unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(format!("memfd_create: {}", std::io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was made above, and nobody else has it.
    let mut file = unsafe { fs::File::from_raw_fd(descriptor) };
    file.write_all(bytes).map_err(|error| format!("a copy in memory: {error}"))?;
    let descriptor = file.into_raw_fd();
    Ok(PathBuf::from(format!("/proc/{}/fd/{descriptor}", process::id())))
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle came from dlopen and was never closed.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
