//! A line of the user's program, in Rust or in a language that calls through the C interface.

#[cfg(not(loom))]
use crate::wait::Lock;
#[cfg(not(loom))]
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;

/// Where a call is made.
pub(crate) type At = &'static Location<'static>;

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
    Rust(At),
    Foreign(&'static ForeignCall),
}

/// A call of a function of another language's interface: which function, and where.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let call = ForeignCall::kept("lib_sum", "heat.f90", 12);
/// assert!(std::ptr::eq(call, ForeignCall::kept("lib_sum", "heat.f90", 12)));
/// let err = phalanx::run(2, |comm| {
///     let mut x = vec![0; 1 + comm.rank()]; // must be as long on all ranks
///     let sum = phalanx::call::all_reduce(&mut x, phalanx::op::Sum);
///     comm.run(engine::made_at(sum, call.location()));
/// });
/// assert!(err.unwrap_err().to_string().contains("heat.f90:12"));
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ForeignCall {
    /// The function, as that language's users know it.
    pub function: &'static str,
    /// The source file, or nothing if it is not known.
    pub file: &'static str,
    /// The line in it.
    pub line: u32,
}

/// The calls that have a location of their own. (Loom's models have none, and its locks are made
/// while a model runs.)
#[cfg(not(loom))]
struct Located {
    by_location: BTreeMap<usize, &'static ForeignCall>,
    by_call: BTreeMap<usize, At>,
}

#[cfg(not(loom))]
static LOCATED: Lock<Located> =
    Lock::new(Located { by_location: BTreeMap::new(), by_call: BTreeMap::new() });

/// What every location of a [`ForeignCall`] is a copy of.
#[cfg(not(loom))]
const fn mark() -> &'static Location<'static> {
    Location::caller()
}

#[cfg(not(loom))]
impl ForeignCall {
    /// The call of `function` in `line` of `file`, which is kept for ever: error messages name it.
    ///
    /// **Cost** two locks and searches, and the first time an allocation: to be kept by the caller.
    ///
    /// # Examples
    /// See [`ForeignCall`].
    pub fn kept(function: &'static str, file: &str, line: u32) -> &'static ForeignCall {
        static FILES: Lock<BTreeSet<&'static str>> = Lock::new(BTreeSet::new());
        type Calls = BTreeMap<(&'static str, &'static str, u32), &'static ForeignCall>;
        static CALLS: Lock<Calls> = Lock::new(Calls::new()); // Kept for good, as errors name them.
        let _inside = crate::fork::inside();
        let file = FILES.with(|files| match files.get(file) {
            Some(known) => *known,
            None => {
                let kept: &'static str = Box::leak(file.into());
                files.insert(kept);
                kept
            }
        });
        CALLS.with(|calls| {
            *calls
                .entry((function, file, line))
                .or_insert_with(|| Box::leak(Box::new(ForeignCall { function, file, line })))
        })
    }

    /// The location that stands for this call, wherever one is passed on and recorded: its address
    /// says which it is. It is kept for ever.
    ///
    /// **Cost** a lock and a search: to be asked for once a call.
    ///
    /// # Examples
    /// See [`ForeignCall`].
    pub fn location(&'static self) -> &'static Location<'static> {
        let _inside = crate::fork::inside();
        LOCATED.with(|Located { by_location, by_call }| {
            *by_call.entry(std::ptr::from_ref(self).addr()).or_insert_with(|| {
                let at: &'static Location<'static> = Box::leak(Box::new(*mark()));
                by_location.insert(std::ptr::from_ref(at).addr(), self);
                at
            })
        })
    }

    /// The call that `at` stands for; none for a line of a Rust program.
    pub(crate) fn of(at: &'static Location<'static>) -> Option<&'static ForeignCall> {
        if at != mark() {
            return None;
        }
        let _inside = crate::fork::inside();
        LOCATED.with(|located| located.by_location.get(&std::ptr::from_ref(at).addr()).copied())
    }
}

#[cfg(loom)]
impl ForeignCall {
    pub(crate) fn of(_: &'static Location<'static>) -> Option<&'static ForeignCall> {
        None
    }
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
        SourceLine(match ForeignCall::of(at) {
            Some(call) => CallerLine::Foreign(call),
            None => CallerLine::Rust(at),
        })
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_location_stands_for_its_call() {
        static CALLS: [ForeignCall; 2] = [
            ForeignCall { function: "a", file: "a.c", line: 1 },
            ForeignCall { function: "b", file: "b.c", line: 2 },
        ];
        let at = [CALLS[0].location(), CALLS[1].location()];
        assert_eq!(at[0], at[1], "their addresses tell them apart, and nothing else");
        assert!(std::ptr::eq(at[0], CALLS[0].location()));
        for (at, call) in at.into_iter().zip(&CALLS) {
            assert_eq!(ForeignCall::of(at), Some(call));
            assert_eq!(SourceLine::from(at), SourceLine::from(call));
        }
        assert_eq!(ForeignCall::of(Location::caller()), None);
        // The line that they are copies of is no call's.
        assert_eq!(ForeignCall::of(mark()), None);
    }
}
