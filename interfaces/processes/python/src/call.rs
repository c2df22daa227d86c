//! A call of a rank: its team is this thread's meanwhile, its arguments are looked at, and other
//! threads of Python run while it waits.

use crate::arguments::{self, number};
use crate::buffer::Buffer;
use crate::caller::{self, LastFile};
use crate::raise::{Wrong, of_class, of_team};
use crate::signals;
use phalanx::engine::Operation;
use phalanx_processes::foreign::{self, Ender};
use phalanx_processes::{Error, ErrorKind, Place, Team};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A team for one thread at a time.
#[derive(Debug)]
pub(crate) struct Cell {
    team: Mutex<Held>,
    /// Ends the team while another thread has it.
    ender: Mutex<Option<Ender>>,
}

/// The team, none when it was left.
#[derive(Debug)]
pub(crate) struct Held {
    team: Option<Team>,
    last: LastFile,
}

impl Cell {
    pub(crate) fn new(team: Team) -> Self {
        let ender = Mutex::new(Some(Ender::of(&team)));
        Cell { team: Mutex::new(Held { team: Some(team), last: LastFile::default() }), ender }
    }

    /// The team for this thread. Where another one has it, the team is over, since nobody can know
    /// which call came first: the other call ends, and so does a job that hangs.
    pub(crate) fn hold(&self, py: Python<'_>, name: &str) -> PyResult<MutexGuard<'_, Held>> {
        match self.team.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let text = format!("{name} while the team is in another call");
                let ender = self.ender.lock().unwrap_or_else(|e| e.into_inner()).clone();
                match ender.map(|ender| ender.end(&text)) {
                    Some(error) if error.kind() == ErrorKind::Forked => Err(of_team(py, &error)),
                    error => Err(of_class(py, "Busy", &error.map_or(text, |it| it.to_string()))),
                }
            }
        }
    }

    /// The team is over by this rank's exception, which has this text.
    pub(crate) fn fail(&self, text: &str) {
        let ender = self.ender.lock().unwrap_or_else(|e| e.into_inner()).clone();
        ender.into_iter().for_each(|ender| drop(ender.fail(text)));
    }

    /// Leaves the team that this thread has.
    pub(crate) fn leave(&self, held: &mut Held) {
        drop(self.ender.lock().unwrap_or_else(|e| e.into_inner()).take());
        drop(held.team.take());
    }
}

/// An address that another thread may use.
#[derive(Clone, Copy)]
pub(crate) struct Sent<T>(pub(crate) T);

// SAFETY: an address of elements that are exported, or kept, while a call uses them; the call is
// made by the thread that has them.
unsafe impl<T> Send for Sent<T> {}

impl<T> Sent<T> {
    pub(crate) fn get(self) -> T {
        self.0
    }
}

/// A call that is made.
pub(crate) struct Call<'a, 'py, const N: usize> {
    pub(crate) py: Python<'py>,
    pub(crate) team: &'a mut Team,
    at: Place,
    pub(crate) names: [&'static str; N],
    given: [Option<Bound<'py, PyAny>>; N],
}

/// Runs the body of a call with its arguments. All ranks hear of wrong ones, as the team is over.
pub(crate) fn make<'py, const N: usize, R>(
    py: Python<'py>,
    team: &Cell,
    (name, names, needed): (&'static str, [&'static str; N], usize),
    (by_place, by_name): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
    body: impl FnOnce(&mut Call<'_, 'py, N>) -> Result<R, Failed>,
) -> PyResult<R> {
    let mut held = team.hold(py, name)?;
    let Held { team, last } = &mut *held;
    let Some(team) = team else {
        return Err(of_class(py, "Argument", &format!("{name}: the team is closed")));
    };
    let at = caller::line(py, last);
    let outcome = match arguments::sorted(names, needed, by_place, by_name) {
        Ok(given) => body(&mut Call { py, team: &mut *team, at, names, given }),
        Err(wrong) => Err(Failed::Before(wrong)),
    };
    match outcome {
        Ok(result) => Ok(result),
        Err(Failed::Raised(error)) => Err(error),
        Err(Failed::Before(wrong)) => Err(refused(py, team, (at, name), wrong)),
    }
}

/// How a call fails.
#[derive(Debug)]
pub(crate) enum Failed {
    /// By its arguments; nothing has happened.
    Before(Wrong),
    Raised(PyErr),
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Self {
        Failed::Before(wrong)
    }
}

/// The error of wrong arguments, of which all ranks hear.
fn refused(
    py: Python<'_>,
    team: &mut Team,
    (at, name): (Place, &'static str),
    wrong: Wrong,
) -> PyErr {
    let text = match &wrong {
        Wrong::Here(_, text) => text.clone(),
        Wrong::Python(error) => error.to_string(),
    };
    let told = foreign::refuse(team, at, name, &text);
    match wrong {
        Wrong::Here(class, text) if told.to_string().contains(&text) => {
            of_class(py, class, &told.to_string())
        }
        // The team was over before.
        Wrong::Here(..) => of_team(py, &told),
        Wrong::Python(error) => error,
    }
}

impl<'py, const N: usize> Call<'_, 'py, N> {
    /// An argument, unless it is missing, or None where it may be.
    pub(crate) fn given(&self, i: usize) -> Option<&Bound<'py, PyAny>> {
        self.given[i].as_ref().filter(|it| !it.is_none())
    }

    /// What a call gives back.
    pub(crate) fn result(&self, i: usize) -> Py<PyAny> {
        self.given[i].as_ref().map_or_else(|| self.py.None(), |it| it.clone().unbind())
    }

    pub(crate) fn buffer(&self, i: usize, writes: bool) -> Result<Buffer<'py>, Wrong> {
        match &self.given[i] {
            Some(object) => Buffer::of(object, self.names[i], writes),
            None => Err(Wrong::kind(format!("`{}` is missing", self.names[i]))),
        }
    }

    /// A rank of the team, 0 if none is given. (The call itself looks whether there is such a one.)
    pub(crate) fn rank(&self, i: usize) -> Result<i64, Wrong> {
        self.whole(i, 0, self.team.size() as i64 - 1)
    }

    pub(crate) fn whole<T>(&self, i: usize, least: T, most: T) -> Result<T, Wrong>
    where
        T: for<'a> FromPyObject<'a, 'py> + PartialOrd + std::fmt::Display + Default,
    {
        self.given[i].as_ref().map_or(Ok(T::default()), |it| number(it, self.names[i], least, most))
    }

    pub(crate) fn operator(&self, i: usize) -> Result<i32, Wrong> {
        arguments::operator(self.given[i].as_ref())
    }

    /// Calls the team, while other threads of Python run.
    pub(crate) fn run<R: Send>(
        &mut self,
        call: impl FnOnce(&mut Team, Place) -> Result<R, Error> + Send,
    ) -> Result<R, Failed> {
        let (team, at) = (&mut *self.team, self.at);
        let outcome = self.py.detach(|| call(team, at));
        match (signals::take(), outcome) {
            (Some(error), _) => Err(Failed::Raised(error)),
            (None, Err(error)) => Err(Failed::Raised(of_team(self.py, &error))),
            (None, Ok(result)) => Ok(result),
        }
    }

    /// A collective call on elements: given ones, and room for those that it takes.
    pub(crate) fn collective(
        &mut self,
        operation: Operation,
        (given, taken): (Option<&Buffer<'py>>, Option<&Buffer<'py>>),
        n: usize,
        (operator, root): (i32, i64),
    ) -> Result<(), Failed> {
        let Some(kind) = given.or(taken).map(|it| it.kind) else { return Ok(()) };
        let address = |it: Option<&Buffer<'_>>| it.map_or(std::ptr::null_mut(), |it| it.address);
        let two = Sent((address(given).cast_const(), address(taken)));
        let arguments = foreign::Call { n, kind, operator, root };
        self.run(move |team, at| {
            // SAFETY: so many elements are there, as the buffers say, which outlive the call and do
            // not overlap. (Whether others use them meanwhile is the program's affair.)
            unsafe { foreign::collective(team, at, operation, two.get(), arguments) }
        })
    }

    /// Sends elements to a rank, or receives them.
    pub(crate) fn message(
        &mut self,
        data: &Buffer<'py>,
        (other, tag): (i64, u64),
        sends: bool,
    ) -> Result<(), Failed> {
        let (address, elements) = (Sent(data.address), (data.n, data.kind));
        self.run(move |team, at| {
            let address = address.get();
            // SAFETY: as above.
            unsafe {
                match sends {
                    true => foreign::send(team, at, address, elements, (other, tag)),
                    false => foreign::receive(team, at, address, elements, (other, tag)),
                }
            }
        })
    }
}
