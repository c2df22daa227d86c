//! Errors by the standard's classes, and how a run ends by one.

use super::standard::CLASS_TEXTS;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock};

pub use super::site::Site;
pub use super::standard::Class;

/// A call's failure: its class, and words for a person.
#[derive(Clone, Debug)]
pub struct Error {
    /// The class.
    pub class: Class,
    /// The words, without the rank and the place of the call.
    text: String,
    /// The call of another rank that the words name, and the words behind it.
    other: Option<Box<(Site, String)>>,
    /// The call's result: the class, or the code of a function of the program.
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

    /// The code that a function of the program gave.
    pub fn given(code: i32, text: String) -> Error {
        Error { code, ..Error::new(Class::Other, text) }
    }

    /// Of a request on this communicator.
    pub fn on(self, context: u32) -> Error {
        Error { context: Some(context), ..self }
    }

    /// The error of a call that completes several requests: the one with the status at this
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

/// The result of a call.
pub type Outcome<T = ()> = Result<T, Error>;

/// An error of this class with these words.
pub fn error<T>(class: Class, text: impl Into<String>) -> Outcome<T> {
    Err(Error::new(class, text))
}

/// The words for a class.
pub fn class_text(class: i32) -> &'static str {
    usize::try_from(class).ok().and_then(|it| CLASS_TEXTS.get(it)).unwrap_or(&"an error of MPI")
}

unsafe extern "C" {
    fn phalanx_end(code: i32) -> !;
}

/// The last action before the process ends with a text.
static BEFORE_END: OnceLock<fn(&str)> = OnceLock::new();

/// Before the process ends with a text, this is done: a run that is recorded is saved.
pub fn before_end(done: fn(&str)) {
    let _ = BEFORE_END.set(done);
}

/// Ends the process with a text, as MPI_ERRORS_ARE_FATAL and MPI_Abort ask.
pub fn end(code: i32, text: &str) -> ! {
    // One at a time: the first that comes ends the process while others wait here.
    static FIRST: Mutex<()> = Mutex::new(());
    let _kept = FIRST.lock();
    // SAFETY: flushes the program's own streams, as `exit` would.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let _ = writeln!(std::io::stderr(), "{text}");
    BEFORE_END.get().into_iter().for_each(|done| done(text));
    // SAFETY: ends the process at once: other ranks run and hold locks, so nothing else is tidied.
    unsafe { phalanx_end(code) }
}
