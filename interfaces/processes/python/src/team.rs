//! A rank of a team, as Python has it.

use crate::arguments::{NAMES, number, number_of, seconds, sorted, type_of};
use crate::buffer::Buffer;
use crate::call::{Call, Cell, Failed, Sent, make};
use crate::memory::Memory;
use crate::raise::{Wrong, of_class, of_team};
use crate::signals;
use phalanx::engine::Operation;
use phalanx_processes::foreign;
use phalanx_processes::{Builder, Error, Segment};
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::os::fd::IntoRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A rank of a team of processes, or of a group of it. Every rank makes the same calls, each from
/// one thread at a time.
///
///     with Team.join("my job", rank, size) as team:
///         team.all_reduce(array)
///
/// Its end leaves the team, as `close` does; memory of `allocate` stays while it is in use.
#[pyclass(frozen, weakref, module = "phalanx_processes")]
#[derive(Debug)]
pub(crate) struct Team {
    cell: Cell,
    rank: usize,
    size: usize,
    /// Views of memory of the team.
    views: Arc<AtomicUsize>,
}

impl From<phalanx_processes::Team> for Team {
    fn from(team: phalanx_processes::Team) -> Self {
        let (rank, size) = (team.rank(), team.size());
        let cell = Cell::new(team);
        Team { cell, rank, size, views: Arc::default() }
    }
}

impl Team {
    fn attached(
        py: Python<'_>,
        attach: impl FnOnce() -> Result<phalanx_processes::Team, Error> + Send,
    ) -> PyResult<Team> {
        let outcome = py.detach(attach);
        match (signals::take(), outcome) {
            (Some(error), _) => Err(error),
            (None, outcome) => Ok(outcome.map_err(|error| of_team(py, &error))?.into()),
        }
    }

    /// Both buffers of a call, and the elements of a block; `blocks` are those of either.
    fn two<'py, const N: usize>(
        call: &Call<'_, 'py, N>,
        [given, taken]: [usize; 2],
        blocks: [usize; 2],
    ) -> Result<(Buffer<'py>, Buffer<'py>, usize), Wrong> {
        let (a, b) = (call.buffer(given, false)?, call.buffer(taken, true)?);
        if a.kind != b.kind {
            let [a, b] = [a, b].map(|it| NAMES[it.kind as usize]);
            return Err(Wrong::buffer(format!("one buffer is of {a}, the other of {b}")));
        }
        if a.overlaps(&b) {
            return Err(Wrong::buffer("both buffers are in the same memory: pass a copy of one"));
        }
        let n = a.n / blocks[0];
        if n * blocks[0] != a.n || n * blocks[1] != b.n {
            let [first, second] = [given, taken].map(|it| call.names[it]);
            return Err(Wrong::argument(match n * blocks[0] == a.n {
                true => format!(
                    "`{second}` has {} elements: it must have {}, as `{first}` has {}",
                    b.n,
                    n * blocks[1],
                    a.n
                ),
                false => {
                    format!("`{first}` has {} elements, no multiple of {} ranks", a.n, blocks[0])
                }
            }));
        }
        Ok((a, b, n))
    }
}

/// A call in place on the first argument; `operator` and `root` are the places of others.
fn in_place<const N: usize>(
    call: &mut Call<'_, '_, N>,
    operation: Operation,
    operator: Option<usize>,
    root: Option<usize>,
) -> Result<Py<PyAny>, Failed> {
    let data = call.buffer(0, true)?;
    let operator = operator.map_or(Ok(0), |at| call.operator(at))?;
    let root = root.map_or(Ok(0), |at| call.rank(at))?;
    call.collective(operation, (Some(&data), Some(&data)), data.n, (operator, root))?;
    Ok(call.result(0))
}

/// A builder by the times of `join` and `attach`.
fn builder(
    timeout: Option<&Bound<'_, PyAny>>,
    attach: Option<&Bound<'_, PyAny>>,
) -> Result<Builder, Wrong> {
    let mut builder = phalanx_processes::Team::builder().interrupt(signals::handle);
    if let Some(timeout) = timeout {
        builder = builder.timeout(seconds(timeout, "timeout")?);
    }
    if let Some(timeout) = attach {
        let for_ever = Duration::from_secs(1 << 30);
        builder = builder.attach_timeout(seconds(timeout, "attach_timeout")?.unwrap_or(for_ever));
    }
    Ok(builder)
}

/// A rank, or a number of ranks.
fn index(object: Option<&Bound<'_, PyAny>>, name: &str) -> Result<usize, Wrong> {
    object.map_or(Ok(0), |it| number(it, name, 0, u32::MAX)).map(|it| it as usize)
}

fn memory_size(object: Option<&Bound<'_, PyAny>>) -> Result<usize, Wrong> {
    object.map_or(Ok(256 << 20), |it| number(it, "memory", 0, isize::MAX as usize))
}

/// The descriptor of a new team's memory, which children inherit (`Team.attach`).
#[pyfunction]
#[pyo3(signature = (*args, **kwargs), text_signature = "(ranks, memory=268435456)")]
pub(crate) fn segment(
    py: Python<'_>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<i32> {
    let given = || {
        let given = sorted(["ranks", "memory"], 1, args, kwargs)?;
        Ok((index(given[0].as_ref(), "ranks")?, memory_size(given[1].as_ref())?))
    };
    let (ranks, memory) = given().map_err(|wrong: Wrong| wrong.raised(py))?;
    let segment = Segment::create(ranks, memory).and_then(|segment| segment.inheritable());
    Ok(segment.map_err(|error| of_team(py, &error))?.into_raw_fd())
}

/// Methods that are calls, after those that are none: the signature that Python shows, the names of
/// the arguments, and how many are needed.
macro_rules! methods {
    (
        { $($own:tt)* }
        $(
            $(#[$doc:meta])*
            $name:ident $signature:literal [$($argument:literal),*; $needed:literal] -> $result:ty
                = |$it:ident, $call:ident| $body:block
        )*
    ) => {
        #[pymethods]
        impl Team {
            $($own)*
            $(
                $(#[$doc])*
                #[pyo3(signature = (*args, **kwargs), text_signature = $signature)]
                fn $name(
                    &self,
                    py: Python<'_>,
                    args: &Bound<'_, PyTuple>,
                    kwargs: Option<&Bound<'_, PyDict>>,
                ) -> PyResult<$result> {
                    let $it = self;
                    let call = (stringify!($name), [$($argument),*], $needed);
                    make(py, &self.cell, call, (args, kwargs), |$call| $body)
                }
            )*
        }
    };
}

methods! {
    {
    /// Joins the team of a name, when all ranks have come.
    ///
    /// Times in seconds: `timeout` is how long a call waits for another rank, `attach_timeout` how
    /// long all ranks may take to come; None: for ever. `memory` is what each rank has for
    /// `allocate`, in bytes (rank 0's word counts).
    ///
    ///     team = Team.join(f"my job {number}", rank, size)
    #[staticmethod]
    #[pyo3(
        signature = (*args, **kwargs),
        text_signature = "(name, rank, size, timeout=1800.0, attach_timeout=60.0, \
            memory=268435456)"
    )]
    fn join(
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Team> {
        let names = ["name", "rank", "size", "timeout", "attach_timeout", "memory"];
        let given = || {
            let given = sorted(names, 3, args, kwargs)?;
            let [name, rank, size, timeout, attach, memory] = given.each_ref().map(Option::as_ref);
            let builder = builder(timeout, attach)?.memory(memory_size(memory)?);
            let name = name.map(|name| match name.cast::<PyString>() {
                Ok(name) => name.to_cow().map(|name| name.into_owned()).map_err(|_| {
                    Wrong::argument(format!("the name {name:?} has characters that are no text"))
                }),
                Err(_) => Err(Wrong::kind(format!("`name` is no text: {}", type_of(name)))),
            });
            Ok((builder, name.transpose()?, index(rank, "rank")?, index(size, "size")?))
        };
        let (builder, name, rank, size) = given().map_err(|wrong: Wrong| wrong.raised(py))?;
        Team::attached(py, || builder.join(&name.unwrap_or_default(), rank, size))
    }

    /// Attaches to the memory behind a descriptor (`segment`), which the team takes over. Times as
    /// of `join`.
    #[staticmethod]
    #[pyo3(
        signature = (*args, **kwargs),
        text_signature = "(fd, rank, size, timeout=1800.0, attach_timeout=60.0)"
    )]
    fn attach(
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Team> {
        let names = ["fd", "rank", "size", "timeout", "attach_timeout"];
        let given = || {
            let given = sorted(names, 3, args, kwargs)?;
            let [fd, rank, size, timeout, attach] = given.each_ref().map(Option::as_ref);
            let fd = fd.map_or(Ok(0), |fd| number(fd, "fd", 0, i32::MAX))?;
            Ok((builder(timeout, attach)?, fd, index(rank, "rank")?, index(size, "size")?))
        };
        let (builder, fd, rank, size) = given().map_err(|wrong: Wrong| wrong.raised(py))?;
        // SAFETY: the caller gives it away.
        Team::attached(py, || builder.attach(unsafe { foreign::segment(fd) }?, rank, size))
    }

    /// Leaves the team. Again: nothing happens.
    ///
    /// `Viewed`, which is a BufferError, while arrays or memoryviews of its memory exist. `Busy`
    /// while another thread is in a call: that call ends, and the team is over.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut held = self.cell.hold(py, "close")?;
        match self.views.load(Ordering::Relaxed) {
            0 => self.cell.leave(&mut held),
            views => {
                let text = format!("close: views of the team's memory that are in use: {views}");
                return Err(of_class(py, "Viewed", &text));
            }
        }
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Leaves the team, whatever views there are: they keep the memory. The others hear of an
    /// exception; an exit is none.
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
        _traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        match self.cell.hold(py, "the end of `with`") {
            Ok(mut held) => {
                let is_failure = |it: &&Bound<'_, PyAny>| {
                    it.is_instance_of::<PyException>() || it.is_instance_of::<PyKeyboardInterrupt>()
                };
                if let Some(failure) = value.filter(is_failure) {
                    let name = failure.get_type().name().map(|it| it.to_string());
                    // Another exception is not hidden by one in `__str__`.
                    let text = failure.str().map(|it| it.to_string_lossy().into_owned());
                    let (name, text) = (name.unwrap_or_default(), text.unwrap_or_default());
                    self.cell.fail(&format!("{name}: {text}"));
                }
                self.cell.leave(&mut held);
            }
            // Another exception is not hidden by this one.
            Err(_) if kind.is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn __reduce__(&self) -> PyResult<()> {
        let text = "a team cannot be copied or pickled: each process joins it";
        Err(PyTypeError::new_err(text))
    }

    fn __repr__(&self) -> String {
        format!("<phalanx_processes.Team: rank {} of {}>", self.rank, self.size)
    }

    /// This rank.
    #[getter]
    fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    #[getter]
    fn size(&self) -> usize {
        self.size
    }
    }

    /// Waits until all ranks are here.
    barrier "($self)" [; 0] -> () = |_it, call| {
        call.run(|team, at| team.at(at).barrier())
    }

    /// Copies `data` of rank `root` into that of all others.
    broadcast "($self, data, root=0)" ["data", "root"; 1] -> Py<PyAny> = |_it, call| {
        in_place(call, Operation::Broadcast, None, Some(1))
    }

    /// Combines `data` of all ranks into that of rank `root`; the others' stays.
    reduce "($self, data, op='sum', root=0)" ["data", "op", "root"; 1] -> Py<PyAny> = |_it, call| {
        in_place(call, Operation::Reduce, Some(1), Some(2))
    }

    /// Combines `data` of all ranks, in place. Without a copy in memory of `allocate`.
    ///
    ///     mean = numpy.array([x.mean()])
    ///     team.all_reduce(mean)[0] / team.size
    all_reduce "($self, data, op='sum')" ["data", "op"; 1] -> Py<PyAny> = |_it, call| {
        in_place(call, Operation::AllReduce, Some(1), None)
    }

    /// Combines `data` of this rank and those before it, in place.
    scan "($self, data, op='sum')" ["data", "op"; 1] -> Py<PyAny> = |_it, call| {
        in_place(call, Operation::Scan, Some(1), None)
    }

    /// Combines `data` of the ranks before this one; rank 0 gets the operator's identity.
    exclusive_scan "($self, data, op='sum')" ["data", "op"; 1] -> Py<PyAny> = |_it, call| {
        in_place(call, Operation::ExclusiveScan, Some(1), None)
    }

    /// Collects `mine` of all ranks, in their order, in `all`.
    all_gather "($self, mine, all)" ["mine", "all"; 2] -> Py<PyAny> = |it, call| {
        let (mine, all, n) = Team::two(call, [0, 1], [1, it.size])?;
        call.collective(Operation::AllGather, (Some(&mine), Some(&all)), n, (0, 0))?;
        Ok(call.result(1))
    }

    /// Collects `mine` of all ranks in `all` of rank `root`; the others need none.
    gather "($self, mine, all=None, root=0)" ["mine", "all", "root"; 1] -> Py<PyAny> = |it, call| {
        let root = call.rank(2)?;
        if it.rank as i64 == root {
            let (mine, all, n) = Team::two(call, [0, 1], [1, it.size])?;
            call.collective(Operation::Gather, (Some(&mine), Some(&all)), n, (0, root))?;
        } else {
            let mine = call.buffer(0, false)?;
            call.collective(Operation::Gather, (Some(&mine), None), mine.n, (0, root))?;
        }
        Ok(call.result(1))
    }

    /// Gives each rank its block of `all` of rank `root`, in `mine`; the others' `all` may be None.
    scatter "($self, all, mine, root=0)" ["all", "mine", "root"; 2] -> Py<PyAny> = |it, call| {
        let root = call.rank(2)?;
        if it.rank as i64 == root {
            let (all, mine, n) = Team::two(call, [0, 1], [it.size, 1])?;
            call.collective(Operation::Scatter, (Some(&all), Some(&mine)), n, (0, root))?;
        } else {
            let mine = call.buffer(1, true)?;
            call.collective(Operation::Scatter, (None, Some(&mine)), mine.n, (0, root))?;
        }
        Ok(call.result(1))
    }

    /// Combines `all`, which has a block for each rank; `mine` is this rank's block.
    reduce_scatter "($self, all, mine, op='sum')" ["all", "mine", "op"; 2] -> Py<PyAny>
        = |it, call|
    {
        let (all, mine, n) = Team::two(call, [0, 1], [it.size, 1])?;
        let operator = call.operator(2)?;
        call.collective(Operation::ReduceScatter, (Some(&all), Some(&mine)), n, (operator, 0))?;
        Ok(call.result(1))
    }

    /// Gives block `r` to rank `r`, and takes a block of each.
    all_to_all "($self, given, taken)" ["given", "taken"; 2] -> Py<PyAny> = |it, call| {
        let (given, taken, n) = Team::two(call, [0, 1], [it.size, it.size])?;
        call.collective(Operation::AllToAll, (Some(&given), Some(&taken)), n, (0, 0))?;
        Ok(call.result(1))
    }

    /// Sends `data` to rank `to`. Tags are 0 to 2**64 - 1.
    send "($self, data, to, tag=0)" ["data", "to", "tag"; 2] -> () = |_it, call| {
        let data = call.buffer(0, false)?;
        let other = (call.rank(1)?, call.whole(2, 0, u64::MAX)?);
        call.message(&data, other, true)
    }

    /// Receives a message of rank `source`, of the length and type of `data`.
    receive "($self, data, source, tag=0)" ["data", "source", "tag"; 2] -> Py<PyAny> = |_it, call| {
        let data = call.buffer(0, true)?;
        let other = (call.rank(1)?, call.whole(2, 0, u64::MAX)?);
        call.message(&data, other, false)?;
        Ok(call.result(0))
    }

    /// A team of the ranks with one colour (0 to 2**32 - 1), in the order of their keys; or None
    /// without a colour, which is None.
    ///
    ///     turned_round = team.split(0, key=-team.rank)
    split "($self, color, key=0)" ["color", "key"; 1] -> Option<Team> = |_it, call| {
        let color = match call.given(0) {
            Some(_) => i64::from(call.whole(0, 0, u32::MAX)?),
            None => -1,
        };
        let key = call.whole(1, i64::MIN, i64::MAX)?;
        let group = call.run(|team, at| foreign::split(team, at, color, key))?;
        Ok(group.map(Team::from))
    }

    /// `n` elements in the team's memory: of the same place on each rank, all 0. All ranks call it.
    ///
    ///     x = numpy.asarray(team.allocate(1000))
    ///     team.all_reduce(x)
    allocate "($self, n, type='float32')" ["n", "type"; 1] -> Memory = |it, call| {
        let n = call.whole(0, 0, isize::MAX as usize)?;
        let name = call.given(1).map_or(Ok("float32".to_string()), |it| {
            it.str().map(|it| it.to_string_lossy().trim_start_matches("torch.").to_string())
        });
        let kind = number_of(&name.map_err(Wrong::Python)?)?;
        let size = foreign::size_of_type(kind).unwrap_or(1);
        let Some(bytes) = n.checked_mul(size) else {
            let text = format!("{n} elements are more than there are addresses");
            return Err(Wrong::Here("OutOfRange", text).into());
        };
        let buffer = call.run(|team, at| team.at(at).symmetric::<u8>(bytes))?;
        Ok(Memory::new(buffer, kind, size, Arc::clone(&it.views)))
    }

    /// Gives memory of `allocate` back. All ranks do so.
    ///
    /// `Viewed`, which is a BufferError, while arrays or memoryviews of it exist.
    free "($self, memory)" ["memory"; 1] -> () = |it, call| {
        let Some(Ok(memory)) = call.given(0).map(|it| it.cast_exact::<Memory>()) else {
            return Err(Wrong::buffer("`memory` is not what allocate gave").into());
        };
        let memory = memory.get();
        if !memory.is_of(&it.views) {
            return Err(Wrong::buffer("`memory` is another team's").into());
        }
        match memory.free() {
            Ok(()) => {
                let address = Sent(memory.address());
                call.run(move |team, at| foreign::free(team, at, address.get()))
            }
            Err(None) => Err(Wrong::argument("the memory was given back already").into()),
            Err(Some(views)) => {
                let text = format!("free: views of the memory that are in use: {views}");
                Err(Failed::Raised(of_class(call.py, "Viewed", &text)))
            }
        }
    }
}
