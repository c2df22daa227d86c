//! Errors by the standard's classes, and how a run ends by one.

use super::api::CALLS;
use crate::load::image::whereabouts;
use phalanx::raw::ForeignCall;
use std::ffi::{CStr, c_void};
use std::io::Write as _;
use std::process::Command;

/// The standard's error classes, as far as they are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the standard's names")]
pub enum Class {
    Buffer = 1,
    Count = 2,
    Type = 3,
    Tag = 4,
    Comm = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Group = 9,
    Op = 10,
    Topology = 11,
    Dims = 12,
    Arg = 13,
    Truncate = 15,
    Other = 16,
    Pending = 18,
    InStatus = 19,
    Base = 24,
    Disp = 26,
    InfoKey = 31,
    InfoNoKey = 32,
    InfoValue = 33,
    Info = 34,
    Keyval = 36,
    LockType = 37,
    NoMem = 39,
    RmaAttach = 46,
    RmaConflict = 47,
    RmaRange = 48,
    RmaShared = 49,
    RmaSync = 50,
    Size = 52,
    UnsupportedDatarep = 54,
    Window = 56,
    RmaFlavor = 57,
    Session = 60,
    ErrorHandler = 61,
}

/// What went wrong in a call: its class, and words for a person.
#[derive(Clone, Debug)]
pub struct Error {
    /// The class.
    pub class: Class,
    /// The words, without the rank and the place of the call.
    text: String,
    /// The call of another rank that the words name, and the words behind it.
    other: Option<Box<(Site, String)>>,
    /// What the call gives: the class, or the code of a function of the program.
    pub code: i32,
    /// The number of the communicator on which a request has failed; none: the call says which.
    pub context: Option<u32>,
}

impl Error {
    /// Of this class, with these words.
    pub fn new(class: Class, text: impl Into<String>) -> Error {
        Error { class, text: text.into(), other: None, code: class as i32, context: None }
    }

    /// The same with words that name a call of another rank. Its line is looked up, which takes
    /// milliseconds, when the words are read: most programs that ask for codes read only these.
    pub fn naming(class: Class, before: String, site: Site, after: impl Into<String>) -> Error {
        Error { other: Some(Box::new((site, after.into()))), ..Error::new(class, before) }
    }

    /// What a function of the program gave.
    pub fn given(code: i32, text: String) -> Error {
        Error { code, ..Error::new(Class::Other, text) }
    }

    /// Of a request on this communicator.
    pub fn on(self, context: u32) -> Error {
        Error { context: Some(context), ..self }
    }

    /// The error of a call that completes several requests, of which the one whose status has this
    /// place has failed so, first.
    pub fn in_status(&self, place: usize) -> Error {
        let text = format!("status {place}: {}: {}", class_text(self.class as i32), self.text);
        let code = Class::InStatus as i32;
        Error { class: Class::InStatus, text, code, ..self.clone() }
    }

    /// The words.
    pub fn words(&self) -> String {
        match self.other.as_deref() {
            Some((site, after)) => format!("{}{}{after}", self.text, site.describe()),
            None => self.text.clone(),
        }
    }
}

/// What a call gives.
pub type Outcome<T = ()> = Result<T, Error>;

/// An error of this class with these words.
pub fn error<T>(class: Class, text: impl Into<String>) -> Outcome<T> {
    Err(Error::new(class, text))
}

/// The words for a class.
pub fn class_text(class: i32) -> &'static str {
    const TEXTS: [&str; 62] = [
        "no error",
        "invalid buffer",
        "invalid count",
        "invalid datatype",
        "invalid tag",
        "invalid communicator",
        "invalid rank",
        "invalid request",
        "invalid root",
        "invalid group",
        "invalid operator",
        "invalid topology",
        "invalid dimensions",
        "invalid argument",
        "unknown error",
        "message longer than the receiver's buffer",
        "another error",
        "internal error",
        "operation still pending",
        "the error stands in the status",
        "permission denied",
        "invalid mode of access",
        "invalid assertion",
        "invalid name of a file",
        "invalid address of memory",
        "error in the conversion of data",
        "invalid displacement",
        "representation of data defined twice",
        "the file exists",
        "the file is in use",
        "invalid file",
        "invalid key of an info",
        "no such key in the info",
        "invalid value of an info",
        "invalid info",
        "error of input or output",
        "invalid key of an attribute",
        "invalid kind of lock",
        "the name is not published",
        "no memory",
        "arguments that must be equal differ",
        "no space on the device",
        "no such file",
        "invalid port",
        "quota exceeded",
        "the file is read only",
        "memory cannot be attached to the window",
        "conflicting accesses to a window",
        "the target does not lie in the window's memory",
        "memory cannot be shared",
        "wrong synchronisation of a window",
        "the service is not published",
        "invalid size",
        "processes cannot be started",
        "unknown representation of data",
        "unsupported operation",
        "invalid window",
        "wrong kind of window",
        "a process has ended",
        "a value is too large for the argument",
        "invalid session",
        "invalid error handler",
    ];
    usize::try_from(class).ok().and_then(|it| TEXTS.get(it)).unwrap_or(&"an error of MPI")
}

/// The place in [`CALLS`] of no function, and of `exit`.
pub const NO_CALL: usize = 0;
/// See [`NO_CALL`].
pub const EXIT: usize = 1;

/// A call of MPI: its function, and its return address. One number, so that it goes from function
/// to function in a register, and to other ranks as one store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site(u64);

/// Bits of an address. (Linux gives a program larger ones only where it asks for them.)
const ADDRESS: u32 = 48;

impl Site {
    /// A call of this function of [`CALLS`] that returns to `address`.
    #[inline(always)]
    pub const fn new(function: usize, address: usize) -> Site {
        Site((function as u64) << ADDRESS | address as u64 & ((1 << ADDRESS) - 1))
    }

    /// Of its number.
    pub fn of(number: u64) -> Site {
        Site(number)
    }

    /// Itself as a number.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The function. (Its line is looked up by the address, where it is asked for.)
    #[inline]
    pub fn call(self) -> &'static ForeignCall {
        CALLS.get(self.function()).unwrap_or(&CALLS[NO_CALL])
    }

    /// The function's place in [`CALLS`].
    #[inline]
    pub fn function(self) -> usize {
        (self.0 >> ADDRESS) as usize
    }

    /// The address after the call.
    #[inline]
    pub fn address(self) -> usize {
        (self.0 & ((1 << ADDRESS) - 1)) as usize
    }

    /// `MPI_Send at ring.c:12 (main)`, as far as debug information says; slow.
    pub fn describe(&self) -> String {
        let function = self.call().function;
        match place(self.address()) {
            Some(place) => format!("{function} at {place}"),
            None => function.to_owned(),
        }
    }
}

/// The source's file and line, and the function, of the instruction before an address: by
/// `addr2line` of the binutils if it is installed, else the function's name and an offset.
pub fn place(address: usize) -> Option<String> {
    let (info, file) = whereabouts(address)?;
    let offset = address.wrapping_sub(info.dli_fbase as usize).wrapping_sub(1);
    let asked = Command::new("addr2line")
        .args(["-f", "-C", "-s", "-e"])
        .arg(&file)
        .arg(format!("{offset:#x}"))
        .output();
    if let Ok(output) = asked {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        if let (Some(function), Some(line)) = (lines.next(), lines.next()) {
            let line = line.split(" (").next().unwrap_or(line);
            if !line.starts_with('?') && !line.ends_with('?') {
                return Some(format!("{line} ({function})"));
            }
        }
    }
    if !info.dli_sname.is_null() {
        // SAFETY: as `dli_fname`.
        let name = unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy();
        let inside = address.wrapping_sub(info.dli_saddr as usize);
        return Some(format!("{name}+{inside:#x} (no debug information: compile with -g)"));
    }
    Some(format!("{offset:#x} of the program (no debug information: compile with -g)"))
}

/// The function of an address, and how far in it that lies: of what has no debug information.
pub fn place_in_file(address: usize) -> String {
    // SAFETY: a structure of pointers and numbers, for which zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives through the call; any address may be asked for.
    let is_found = unsafe { libc::dladdr(address as *const c_void, &raw mut info) } != 0;
    if !is_found || info.dli_sname.is_null() {
        return String::new();
    }
    // SAFETY: dladdr gave a text that ends in a zero, which lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy();
    format!("{name}+{:#x}", address.wrapping_sub(info.dli_saddr as usize))
}

unsafe extern "C" {
    fn phalanx_end(code: i32) -> !;
}

/// Ends the process with a text, as MPI_ERRORS_ARE_FATAL and MPI_Abort ask.
pub fn end(code: i32, text: &str) -> ! {
    // One at a time: the first that comes ends the process while others wait here.
    static FIRST: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _kept = FIRST.lock();
    // SAFETY: flushes the program's own streams, as `exit` would.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let _ = writeln!(std::io::stderr(), "{text}");
    super::record::save_all(text);
    // SAFETY: ends the process at once: other ranks run and hold locks, so nothing else is tidied.
    unsafe { phalanx_end(code) }
}
