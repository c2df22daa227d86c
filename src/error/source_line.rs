//! A line of the user's program, in Rust or in a language that calls through the C interface.

use std::fmt;
use std::panic::Location;

/// A line of the user's program: of a Rust source, or of another language's that calls through the
/// C interface.
///
/// # Examples
/// ```
/// let err = phalanx::run(2, |comm| comm.broadcast(&mut [0], comm.rank())).unwrap_err();
/// let phalanx::Error::Mismatch { here, .. } = &err else { panic!("{err}") };
/// assert!(here.at.file().ends_with(".rs") && here.at.line() > 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine(CallerLine);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallerLine {
    Rust(&'static Location<'static>),
    Foreign(&'static ForeignCall),
}

/// A call of a function of another language's interface: which function, and where.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ForeignCall {
    /// The function, as that language's users know it.
    pub function: &'static str,
    /// The source file, or nothing if it is not known.
    pub file: &'static str,
    /// The line in it.
    pub line: u32,
}

impl SourceLine {
    /// The source file, as the compiler knows it.
    ///
    /// ```
    /// # let err = phalanx::run(2, |comm| comm.broadcast(&mut [0], comm.rank())).unwrap_err();
    /// # let phalanx::Error::Mismatch { here, .. } = &err else { panic!("{err}") };
    /// assert!(here.at.file().ends_with(".rs"));
    /// ```
    pub fn file(&self) -> &'static str {
        match self.0 {
            CallerLine::Rust(at) => at.file(),
            CallerLine::Foreign(call) => call.file,
        }
    }

    /// The line in it, from 1 on.
    ///
    /// ```
    /// # let err = phalanx::run(2, |comm| comm.broadcast(&mut [0], comm.rank())).unwrap_err();
    /// # let phalanx::Error::Mismatch { here, .. } = &err else { panic!("{err}") };
    /// assert!(here.at.line() > 0);
    /// ```
    pub fn line(&self) -> u32 {
        match self.0 {
            CallerLine::Rust(at) => at.line(),
            CallerLine::Foreign(call) => call.line,
        }
    }

    /// The column, from 1 on; 0 where it is not known, as in C.
    ///
    /// ```
    /// # let err = phalanx::run(2, |comm| comm.broadcast(&mut [0], comm.rank())).unwrap_err();
    /// # let phalanx::Error::Mismatch { here, .. } = &err else { panic!("{err}") };
    /// assert!(here.at.column() > 0);
    /// ```
    pub fn column(&self) -> u32 {
        match self.0 {
            CallerLine::Rust(at) => at.column(),
            CallerLine::Foreign(_) => 0,
        }
    }
}

impl From<&'static Location<'static>> for SourceLine {
    fn from(at: &'static Location<'static>) -> Self {
        SourceLine(CallerLine::Rust(at))
    }
}

impl From<&'static ForeignCall> for SourceLine {
    fn from(call: &'static ForeignCall) -> Self {
        SourceLine(CallerLine::Foreign(call))
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CallerLine::Rust(at) => at.fmt(f),
            CallerLine::Foreign(ForeignCall { file: "", .. }) => {
                f.write_str("a line that is not known")
            }
            CallerLine::Foreign(call) => write!(f, "{}:{}", call.file, call.line),
        }
    }
}
