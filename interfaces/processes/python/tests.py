"""Tests of the Python package: 1 to 8 processes; numpy and torch where they are installed."""

import array
import ast
import copy
import ctypes
import gc
import importlib.util
import inspect
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types

import phalanx_processes
from phalanx_processes import (
    KINDS, Argument, Busy, Deadline, Died, Disagreement, Error, Forked, Interrupted, Left,
    OutOfMemory, OutOfRange, Panicked, Refused, SystemFault, Team, Viewed, WrongBuffer, WrongType,
)


def has(module):
    return importlib.util.find_spec(module) is not None


def floats(*values):
    return array.array("f", values)


_numbers = iter(range(1_000_000))


def alone(**options):
    """A team of one rank."""
    return Team.join(f"test python {os.getpid()} {next(_numbers)}", 0, 1, **options)


def raises(kind, text, call, *arguments, **options):
    """The error of a call, which is of a kind and has a text."""
    try:
        call(*arguments, **options)
    except BaseException as error:
        assert isinstance(error, kind), f"{type(error)}, not {kind}: {error}"
        assert text in str(error), f"{error}: not {text}"
        return error
    raise AssertionError(f"no {kind}: {text}")


# Roles of processes.


def calls(team):
    rank, size = team.rank, team.size
    for n in (1, 10, 5000, 100_000):
        x = floats(rank + 1.0) * n
        assert team.all_reduce(x)[n - 1] == size * (size + 1) / 2
        x = array.array("q", [rank]) * n
        assert team.all_reduce(data=x, op="max")[0] == size - 1
        assert team.broadcast(array.array("d", [rank]) * n, size - 1)[0] == size - 1
        everything = array.array("i", [0]) * (n * size)
        team.all_gather(array.array("i", [rank]) * n, everything)
        assert list(everything[::n]) == list(range(size))
        mine = array.array("i", [0]) * n
        assert team.reduce_scatter(everything, mine)[0] == rank * size
        assert team.scatter(everything if rank == 0 else None, mine, 0)[0] == rank
        gathered = array.array("i", [0]) * (n * size)
        team.gather(mine, gathered if rank == 0 else None, root=0)
        assert rank or gathered == everything
        taken = array.array("i", [0]) * (n * size)
        team.all_to_all(array.array("i", [rank]) * (n * size), taken)
        assert taken == everything
        assert team.scan(array.array("i", [1]) * n)[0] == rank + 1
        assert team.exclusive_scan(array.array("i", [1]) * n)[0] == rank
        before = team.reduce(array.array("i", [1]) * n, "sum", 0)[0]
        assert before == (size if rank == 0 else 1)
    assert team.all_reduce(floats()) == floats()
    if size > 1:
        team.send(b"hello", (rank + 1) % size, 3)
        assert team.receive(bytearray(5), (rank - 1) % size, 3) == b"hello"
    group = team.split(rank % 2)
    assert group.size == len(range(rank % 2, size, 2))
    group.barrier()
    group.close()
    assert team.split(None) is None
    shared = team.allocate(1000)
    shared[:] = floats(1.0) * 1000
    team.all_reduce(shared)
    assert shared[999] == size and len(shared) == 1000 and shared.format == "f"
    # Parts, each rank another one.
    part = memoryview(shared)[10 * rank : 10 * rank + 10]
    part[:] = floats(1.0) * 10
    team.all_reduce(part)
    assert part.tolist() == [size] * 10
    part.release()
    team.free(shared)


def numbers(team):
    rank, size = team.rank, team.size
    assert team.split(0, key=-rank).rank == size - 1 - rank
    assert team.split(0, key=(1 << 62) * (-1 if rank else 1)).rank == (rank - 1) % size
    assert team.split(1 << 31).size == size and team.split((1 << 32) - 1 - rank).size == 1
    for tag in (0, 1 << 32, (1 << 64) - 1):
        team.send(floats(tag), (rank + 1) % size, tag)
    for tag in ((1 << 64) - 1, 1 << 32, 0):
        assert team.receive(floats(0), (rank - 1) % size, tag) == floats(tag)
    if has("numpy"):
        import numpy

        team.broadcast(floats(1), numpy.int8(1))


def numpy_arrays(team):
    import numpy

    rank, size = team.rank, team.size
    for dtype in ("int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
        x = numpy.full((3, 50), rank + 1, dtype)
        assert team.all_reduce(x) is x
        assert (x == sum(range(1, size + 1))).all()
    truths = numpy.array([rank == 0, True, False])
    assert team.all_reduce(truths.copy(), "band").tolist() == [size == 1, True, False]
    assert team.all_reduce(truths.copy(), "bor").tolist() == [True, True, False]
    # Summed in float32: 2048 + 1 is no float16.
    x = numpy.array([2048.0 if rank == 0 else 1.0], "float16")
    assert team.all_reduce(x)[0] == numpy.float16(2048.0 + size - 1)
    # Without a dimension; with an order of bytes by name.
    assert team.all_reduce(numpy.array(1.0)) == size
    for kind in (ctypes.c_float, ctypes.c_int64, ctypes.c_bool):
        team.all_reduce((kind * 3)(1, 1, 1), "max")
    # Scalars are read.
    everything = numpy.zeros(size)
    team.all_gather(numpy.float64(rank), everything)
    assert everything.tolist() == list(range(size))
    shared = numpy.frombuffer(team.allocate(1000), "float32")
    shared[:] = 2.0
    assert team.all_reduce(shared)[5] == 2.0 * size
    shared[100:300] = 1.0
    assert team.all_reduce(shared[100 + rank : 200 + rank])[5] == size and shared[99] == 2.0 * size
    for dtype in ("int16", "float16", "bool", "uint64"):
        assert numpy.asarray(team.allocate(5, dtype)).dtype == dtype
    if has("ml_dtypes"):
        import ml_dtypes

        x = numpy.array([256.0 if rank == 0 else 1.0] * 100, ml_dtypes.bfloat16)
        assert team.all_reduce(x)[0] == ml_dtypes.bfloat16(255.0 + size)
        x = numpy.frombuffer(team.allocate(100, "bfloat16"), ml_dtypes.bfloat16)
        x[:] = 1.0
        assert team.all_reduce(x)[99] == size
        raises(WrongBuffer, "no call can write", alone().all_reduce, ml_dtypes.bfloat16(1))
        x = x.astype(x.dtype.newbyteorder("S"))
        raises(WrongBuffer, "byte order", alone().all_reduce, x)


def torch_tensors(team):
    import torch

    x = torch.full((7, 9), float(team.rank + 1))
    team.all_reduce(x)
    assert bool((x == sum(range(1, team.size + 1))).all())
    x = torch.tensor([256.0 if team.rank == 0 else 1.0] * 100, dtype=torch.bfloat16)
    team.all_reduce(x)
    assert float(x[0]) == float(torch.tensor(255.0 + team.size, dtype=torch.bfloat16))
    x = torch.frombuffer(team.allocate(10), dtype=torch.float32)
    x[:] = 1.0
    assert float(team.all_reduce(x)[9]) == team.size
    raises(WrongBuffer, "not contiguous", alone().all_reduce, torch.zeros(4, 4).t()[1:])
    x = torch.zeros(4, dtype=torch.cfloat)
    assert alone().all_reduce(x) is x
    raises(WrongBuffer, "resolve_conj", alone().all_reduce, x.conj())


def disagreement(team):
    mine = floats(1.0) if team.rank == 0 else array.array("d", [1.0])
    error = raises(Disagreement, "all_reduce", team.all_reduce, mine)
    assert error.kind == "disagreement" and str(error).count("tests.py:") == 2, error


def killed(team):
    if team.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    error = raises(Died, "rank 1", team.barrier)
    assert error.kind == "died" and error.rank == 1, error


class Shy:
    """Gives no number."""

    def __index__(self):
        raise KeyError("shy")


WRONG = [
    (lambda team: team.all_reduce(memoryview(floats(1, 2, 3, 4))[::2]), "not contiguous"),
    (lambda team: team.all_reduce(floats(1.0), operator="sum"), "no argument is operator"),
    (lambda team: team.all_reduce(), "`data` is missing"),
    (lambda team: team.broadcast(floats(1.0), 2), "`root` is 2: it is 0 to 1"),
    (lambda team: team.barrier(1), "too many arguments"),
    (lambda team: team.all_gather(floats(*range(3)), floats(*range(5))),
     "`all` has 5 elements: it must have 6, as `mine` has 3"),
    (lambda team: team.all_to_all(floats(1.0), floats(1.0, 2.0)),
     "`given` has 1 elements, no multiple of 2 ranks"),
    (lambda team: team.split("red"), "`color` is no whole number"),
    (lambda team: team.split(Shy()), "`color` is no whole number"),
    (lambda team: team.free(bytearray(4)), "`memory` is not what allocate gave"),
    (lambda team: team.all_reduce(floats(1.0), "average"), "no operator average"),
    (lambda team: team.all_reduce(bytearray(2), data=3), "given twice"),
]


def told(team):
    """Wrong arguments of one rank end the others' calls, with their text."""
    name = f"test python told {os.getppid()}"
    for number, (call, text) in enumerate(WRONG):
        with Team.join(f"{name} {number}", team.rank, 2, timeout=None) as other:
            if team.rank == 1:
                error = raises(Argument, text, call, other)
            else:
                error = raises(Argument, text, other.barrier)
            assert error.rank in (1, None) and "rank 1" in str(error), error
            assert "tests.py" in str(error)
        team.barrier()


def excepted(team):
    """An exception in a `with` reaches the others with its text; an exit is none."""

    class Mute(Exception):
        def __str__(self):
            raise KeyError

    exceptions = ((ValueError("bad\nrow 7"), Panicked, "ValueError: bad"),
                  (Mute(), Panicked, "Mute: "), (KeyboardInterrupt(), Panicked, "KeyboardInterrupt"),
                  (SystemExit(3), Left, "has left"))
    for number, (mine, kind, text) in enumerate(exceptions):
        try:
            with Team.join(f"test python excepted {os.getppid()} {number}", team.rank, 2) as other:
                if team.rank == 1:
                    raise mine
                error = raises(kind, text, other.barrier)
                assert error.rank == 1 and "rank 1 (process" in str(error), error
        except BaseException as error:
            if error is not mine:
                raise
        team.barrier()


def interrupted(team):
    """A signal's exception ends a wait, and the team."""
    if team.rank:
        # Rank 2 is in no call meanwhile: two that wait for each other would be a deadlock.
        time.sleep(1.2 if team.rank == 2 else 0)
        raises(Interrupted, "rank 0 was interrupted", team.barrier)
        return

    class Bell(Exception):
        pass

    rung = []

    def ring(*_):
        rung.append(1)
        if len(rung) == 3:
            raise Bell

    # Two handlers that do not raise let the wait go on.
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    raises(Bell, "", team.barrier)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(rung) == 3
    raises(Interrupted, "rank 0 was interrupted", team.barrier)


# Tests of one process.


def refusals():
    """Wrong arguments: the class, and a text."""
    one = floats(1.0)
    cases = [
        (BufferError, "read-only", lambda team: team.all_reduce(b"read-only")),
        (ValueError, "no operator average", lambda team: team.all_reduce(one, "average")),
        (TypeError, "the other of float64",
         lambda team: team.all_gather(floats(), array.array("d"))),
        (ValueError, "has no bor", lambda team: team.all_reduce(one, "bor")),
        (TypeError, "array.array", lambda team: team.all_reduce([1.0])),
        (TypeError, "`mine`", lambda team: team.all_gather(1.5, one)),
        (TypeError, "`all` is missing", lambda team: team.gather(one)),
        (TypeError, "of type NoneType", lambda team: team.gather(one, None)),
        (TypeError, "no whole number: float", lambda team: team.broadcast(one, 1.0)),
        (OverflowError, "`root` is -1", lambda team: team.broadcast(one, -1)),
        (OverflowError, "`root` is 4294967296", lambda team: team.broadcast(one, 1 << 32)),
        (ValueError, f"`to` is {1 << 100}", lambda team: team.send(one, 1 << 100)),
        (OverflowError, "`tag` is -1", lambda team: team.send(one, 0, -1)),
        (OverflowError, f"`tag` is {1 << 64}", lambda team: team.send(one, 0, 1 << 64)),
        (OverflowError, "`color` is 4294967301", lambda team: team.split((1 << 32) + 5)),
        (OverflowError, "`color` is -5", lambda team: team.split(-5)),
        (OverflowError, "`key`", lambda team: team.split(0, 1 << 63)),
        (OverflowError, "`n` is -1", lambda team: team.allocate(-1)),
        (OverflowError, "addresses", lambda team: team.allocate(1 << 62)),
        (MemoryError, "too little is free", lambda team: team.allocate(1 << 50)),
        (TypeError, "elements float8 cannot travel", lambda team: team.allocate(1, "float8")),
        (TypeError, "byte order",
         lambda team: team.all_reduce((ctypes.c_float.__ctype_be__ * 2)())),
        (TypeError, "cannot travel", lambda team: team.all_reduce(array.array("u", "ab"))),
        (ValueError, "multiple of 8",
         lambda team: team.all_reduce(memoryview(bytearray(17))[1:].cast("d"))),
        (BufferError, "not contiguous",
         lambda team: team.all_reduce(memoryview(bytearray(8))[::-1])),
    ]
    for kind, text, call in cases:
        team = alone(memory=1 << 20)
        error = raises(kind, text, call, team)
        assert isinstance(error, Error) and "tests.py" in str(error) or kind is MemoryError, error
        # The team is over.
        raises(Error, text, team.barrier)
    for kind, text, arguments in (
        (ValueError, "ranks count from 0", ("x", 1, 1)),
        (OverflowError, "`rank` is -1", ("x", -1, 1)),
        (TypeError, "`rank` is no whole number: str", ("x", "0", 1)),
        (TypeError, "`name` is no text: bytes", (b"x", 0, 1)),
        (ValueError, "visible characters", ("x\0a", 0, 1)),
        (ValueError, "no text", ("x\udcff", 0, 1)),
        (ValueError, "no time in seconds", ("x", 0, 1, float("nan"))),
        (ValueError, "no time in seconds", ("x", 0, 1, -1)),
        (TypeError, "`attach_timeout` is no number: str", ("x", 0, 1, 1, "1")),
        (OverflowError, "`memory` is -1", ("x", 0, 1, 1, 1, -1)),
        (TypeError, "`size` is missing", ("x", 0)),
    ):
        raises(kind, text, Team.join, *arguments)
    raises(ValueError, "no file is open there", Team.attach, 9999, 0, 1)
    raises(Deadline, "missing", Team.join, f"test python late {os.getpid()}", 0, 2,
           attach_timeout=0.1)
    for time_of in (float("inf"), 1e30, None):
        alone(timeout=time_of, attach_timeout=time_of).barrier()


def scalars():
    """numpy's scalars, whose memory is a copy, are refused by all calls that write."""
    import numpy

    class Lies(array.array):
        __array_interface__ = {"data": (8, False), "shape": (1,), "typestr": "<f4", "version": 3}

    assert alone().all_reduce(Lies("f", [1.0])) == floats(1.0)
    x = numpy.ones(4)
    for value in (x.sum(), x.mean(), x[0], numpy.dot(x, x), numpy.float32(1), numpy.bool_(True),
                  numpy.complex64(1)):
        for call in ("all_reduce", "broadcast", "reduce", "scan", "exclusive_scan"):
            error = raises(TypeError, "numpy.array(value)", getattr(alone(), call), value)
            assert isinstance(error, BufferError)
        for call in ("all_gather", "gather", "scatter", "reduce_scatter", "all_to_all"):
            given = numpy.array([value])
            raises(TypeError, "numpy.array(value)", getattr(alone(), call), given, value)
        raises(TypeError, "numpy.array(value)", alone().receive, value, 0)
    for kind, text, data in (
        (WrongBuffer, "ascontiguousarray", numpy.zeros((4, 4)).T[1:]),
        (WrongBuffer, "byte order", numpy.zeros(3, ">f4")),
        (WrongBuffer, "read-only", numpy.frombuffer(bytes(8))),
        (WrongBuffer, "'M'", numpy.zeros(3, "M8[s]")),
        (WrongBuffer, "cannot travel", numpy.zeros(3, "g")),
        (WrongBuffer, "cannot travel", numpy.array([None])),
        (Argument, "multiple of 8", numpy.frombuffer(bytearray(9), "u1")[1:].view("f8")),
    ):
        raises(kind, text, alone().all_reduce, data)


def same_memory():
    """What is given and what is taken may not be the same memory."""
    x = memoryview(floats(0.0) * 4)
    raises(BufferError, "same memory", alone().all_gather, x, x)
    raises(BufferError, "same memory", alone().all_to_all, x[:3], x[1:])
    raises(BufferError, "same memory", alone().scatter, x, x)
    alone().all_gather(x[:2], x[2:])
    # Nor may memory change its place meanwhile.
    data = bytearray(8)

    class Sum:
        def __str__(self):
            raises(BufferError, "re-sized", data.append, 1)
            return "sum"

    assert alone().all_reduce(data, Sum()) == bytes(8)
    data.append(1)


def lifetime():
    team = alone()
    memory = team.allocate(1000, "float64")
    view = memoryview(memory)
    view[:] = array.array("d", [1.0]) * 1000
    error = raises(BufferError, "in use: 1", team.close)
    assert isinstance(error, Viewed) and error.kind == "viewed"
    raises(Viewed, "in use: 1", team.free, memory)
    team.barrier()
    view.release()
    team.free(memory)
    raises(Argument, "given back already", team.free, memory)
    raises(BufferError, "given back", memoryview, memory)
    team.close()
    team.close()
    raises(ValueError, "the team is closed", team.barrier)
    assert (team.rank, team.size) == (0, 1)
    # A `with` leaves the team; the view keeps the memory, and the name is free.
    name = f"test python views {os.getpid()}"
    views = []
    for _ in range(3):
        with Team.join(name, 0, 1) as team:
            views.append(memoryview(team.allocate(1000)))
            views[-1][999] = 1.0
        raises(ValueError, "the team is closed", team.barrier)
    del team
    gc.collect()
    assert [view[999] for view in views] == [1.0] * 3
    # Another exception goes through.
    with_view = []

    def fails():
        with alone() as team:
            with_view.append((team, memoryview(team.allocate(10))))
            raise KeyError("mine")

    raises(KeyError, "mine", fails)
    raises(ValueError, "the team is closed", with_view[0][0].barrier)
    with_view[0][1][9] = 3.0
    # Nobody closes the team.
    view = memoryview(alone().allocate(5000, "int8"))
    gc.collect()
    view[4999] = 1
    assert bytes(view) == bytes(4999) + b"\1"
    raises(WrongBuffer, "another team's", alone().free, alone().allocate(1))
    other = alone()
    raises(WrongBuffer, "not what allocate gave", other.free, memoryview(other.allocate(1)))


def threads():
    """A call beside a waiting one, and `close`, are errors at once, and end the one that waits."""

    class Sum:
        """An operator that says when the call has begun."""

        def __init__(self):
            self.waits = threading.Event()

        def __str__(self):
            self.waits.set()
            return "sum"

    class Mine(Exception):
        pass

    def leaves(team):
        with team:
            raise Mine

    for kind, call in (
        (Busy, lambda team: team.close()), (Busy, lambda team: team.barrier()),
        (Busy, lambda team: team.split(0)), (Busy, lambda team: team.send(floats(1.0), 0)),
        (Busy, lambda team: team.__exit__(None, None, None)), (Mine, leaves),
    ):
        teams, done, name = [], [], f"test python threads {os.getpid()} {next(_numbers)}"

        def first(add=Sum()):
            with Team.join(name, 0, 2, timeout=None) as team:
                teams.append((team, add))
                error = raises(Argument, "in another call", team.all_reduce,
                               floats(1.0), add)
                done.append(error.kind)

        thread = threading.Thread(target=first)
        thread.start()
        second = Team.join(name, 1, 2, timeout=None)
        while not teams:
            time.sleep(0.01)
        team, add = teams[0]
        assert add.waits.wait(60)
        error = raises(kind, "in another call" if kind is Busy else "", call, team)
        assert kind is Mine or error.kind == "busy"
        thread.join(60)
        assert done == ["argument"]
        raises(Argument, "in another call", second.barrier)


def copies():
    team = alone()
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        raises(TypeError, "copied or pickled", call, team)
        raises(TypeError, "", call, team.allocate(1))
    raises(TypeError, "", Team)
    raises(TypeError, "", Team.__new__, Team)
    team.barrier()
    for kind in (Error, Deadline, OutOfMemory, WrongBuffer, SystemFault):
        error = kind("some words")
        error.rank = 3
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.rank) == (kind, "some words", 3)
        assert kind is Error or error.kind in KINDS
    assert issubclass(Deadline, TimeoutError) and issubclass(OutOfRange, OverflowError)
    assert issubclass(WrongType, TypeError) and issubclass(Argument, ValueError)
    assert KINDS[6] == "argument" and KINDS[11] == "interrupted"


def forks():
    def child(team, close):
        child = os.fork()
        if child == 0:
            try:
                raises(Forked, "fork", team.barrier)
                close()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0

    team = alone()
    child(team, team.close)
    team.barrier()
    # By a signal's handler, while the team waits; then a call, which ends the one that waits.
    name, ended, others = f"test python handler {os.getpid()}", threading.Event(), []

    def waits():
        with Team.join(name, 1, 2) as team:
            ended.wait(60)
            others.append(raises(Argument, "in another call", team.barrier))

    def rings(*_):
        child(first, lambda: raises(Forked, "fork", first.close))
        raises(Busy, "in another call", first.barrier)

    other = threading.Thread(target=waits)
    other.start()
    first = Team.join(name, 0, 2)
    signal.signal(signal.SIGALRM, rings)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    raises(Argument, "in another call", first.barrier)
    ended.set()
    other.join(60)
    assert len(others) == 1


def interpreters():
    """Errors are classes of the interpreter that runs, also when another one has ended."""
    if not has("_xxsubinterpreters") or sys.version_info >= (3, 12):
        print("SKIPPED: processes: the module has one interpreter here", file=sys.stderr)
        return
    code = "from phalanx_processes import *\ntry: Team.join('', 0, 1)\nexcept Argument: pass"
    command = (
        f"import _xxsubinterpreters as it\nother = it.create()\nit.run_string(other, {code!r})\n"
        f"it.destroy(other)\n{code}"
    )
    subprocess.run([sys.executable, "-c", command], check=True)


SCRIPT = """
import array, os, sys
from phalanx_processes import Error, Team
team = Team.join(sys.argv[1], 0, 1)
team.barrier()
try:
    team.receive(array.array("f", [0]), 0)
except Error as error:
    print(ascii(str(error)))
"""


def paths():
    """A program in a folder whose name is no UTF-8."""
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.join(os.fsencode(folder), b"caf\xe9")
        os.mkdir(folder)
        file = os.path.join(folder, b"a.py")
        with open(file, "w") as to:
            to.write(SCRIPT)
        command = [sys.executable, file, f"test python paths {os.getpid()}"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "a.py:7" in text, text


CTRL_C = """
import array, multiprocessing, os, sys, time
from phalanx_processes import Team
def work(rank, size, name, how):
    if how == "join":
        os.write(1, b".")
        Team.join(name, rank, size + 1)
    with Team.join(name, rank, size) as team:
        os.write(1, b".")
        if rank == 0:
            time.sleep(1000)
        team.barrier() if how == "barrier" else team.receive(array.array("f", [0]), 0)
if __name__ == "__main__":
    all = [multiprocessing.Process(target=work, args=(rank, 3, sys.argv[2], sys.argv[1]))
           for rank in range(3)]
    [it.start() for it in all]
    [it.join() for it in all]
"""


def ctrl_c():
    """Ctrl-C ends all ranks of a script, and leaves no process and no name."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "script.py")
        with open(file, "w") as to:
            to.write(CTRL_C)
        for how in ("barrier", "receive", "join"):
            name = f"test python stopped {os.getpid()} {how}"
            script = subprocess.Popen(
                [sys.executable, file, how, name], start_new_session=True, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            assert script.stdout.read(3) == "..."
            time.sleep(0.5)
            os.killpg(script.pid, signal.SIGINT)
            # It ends when all that have the pipes have ended.
            out, errors = script.communicate(timeout=60)
            assert script.returncode and "KeyboardInterrupt" in errors, errors
            raises(ProcessLookupError, "", os.killpg, script.pid, 0)
            assert name.encode() not in pathlib.Path("/proc/net/unix").read_bytes()


def stubs():
    """The stubs have what is there, with its arguments."""
    folder = pathlib.Path(phalanx_processes.__file__).parent
    assert (folder / "py.typed").exists()
    names = [name for name in dir(phalanx_processes) if not name.startswith("_")]
    assert set(phalanx_processes.__all__) == set(names), names
    tree = ast.parse((folder / "_native.pyi").read_text())
    classes = [it for it in tree.body if isinstance(it, ast.ClassDef)]
    assert [it.name for it in classes] == ["Memory", "Team"]
    shown = {it.name: it for it in classes[1].body if isinstance(it, ast.FunctionDef)}
    shown["segment"] = next(it for it in tree.body if isinstance(it, ast.FunctionDef))
    there = {name: it for name, it in vars(Team).items() if not name.startswith("_")}
    there["segment"] = phalanx_processes.segment
    assert set(there) == {name for name in shown if not name.startswith("_")}
    for name, it in there.items():
        assert it.__doc__ or inspect.getdoc(getattr(Team, name)), f"no words about {name}"
        if isinstance(it, types.GetSetDescriptorType):
            continue
        arguments = shown[name].args
        defaults = [ast.literal_eval(it) for it in arguments.defaults]
        defaults = [inspect.Parameter.empty] * (len(arguments.args) - len(defaults)) + defaults
        expected = list(zip((it.arg for it in arguments.args), defaults))
        signature = inspect.signature(getattr(Team, name, it))
        found = [(it.name, it.default) for it in signature.parameters.values()]
        assert found == expected, (name, found, expected)


def tensors_of_another_kind():
    """Tensors are used by address, also where there is no torch."""
    if "torch" in sys.modules or has("torch"):
        return

    class Tensor:
        is_cpu, device, dtype = True, "cuda:0", "torch.float32"
        contiguous, conjugated = True, False

        def __init__(self, *values):
            self.memory = (ctypes.c_float * len(values))(*values)

        def is_contiguous(self):
            return self.contiguous

        def is_neg(self):
            return False

        def is_conj(self):
            return self.conjugated

        def data_ptr(self):
            return ctypes.addressof(self.memory)

        def numel(self):
            return len(self.memory)

    raises(TypeError, "is no memory", alone().all_reduce, Tensor(1.0))
    sys.modules["torch"] = types.SimpleNamespace(Tensor=Tensor)
    try:
        it = Tensor(1.0, 2.0)
        assert alone().all_reduce(it) is it and list(it.memory) == [1.0, 2.0]
        for name, value, text in (
            ("is_cpu", False, "on cuda:0"), ("contiguous", False, "data.contiguous()"),
            ("conjugated", True, "resolve_conj"), ("dtype", "torch.qint8", "qint8 cannot travel"),
        ):
            setattr(it, name, value)
            raises(WrongBuffer, text, alone().all_reduce, it)
            delattr(it, name)
        # What has such methods, but is no tensor, has no address.
        class Other:
            data_ptr = is_contiguous = lambda self: 8

        raises(WrongType, "is no memory", alone().all_reduce, Other())
    finally:
        del sys.modules["torch"]


def names():
    name = f"test python taken {os.getpid()}"
    with Team.join(name, 0, 1):
        raises(Refused, "", Team.join, name, 0, 1)
    fd = phalanx_processes.segment(1)
    with Team.attach(fd, 0, 1) as team:
        team.barrier()
    raises(ValueError, "no file", Team.attach, fd, 0, 1)


# Running them.


def rank_of(role, name, rank, size):
    try:
        with Team.join(name, rank, size, timeout=60.0, memory=1 << 20) as team:
            role(team)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def run(role, size):
    name = f"test python {os.getpid()} {role.__name__} {size}"
    ranks = [
        multiprocessing.Process(target=rank_of, args=(role, name, rank, size))
        for rank in range(size)
    ]
    for rank in ranks:
        rank.start()
    for number, rank in enumerate(ranks):
        rank.join(120)
        right = -signal.SIGKILL if role is killed and number == 1 else 0
        assert rank.exitcode == right, (role.__name__, size, number, rank.exitcode)
    print(f"{role.__name__}, {size} processes: right", flush=True)


def run_threads(role, size):
    """Ranks that are threads of one process; at once, if the interpreter has no global lock."""
    name, failed = f"test python {os.getpid()} threads {size}", []

    def rank_of_thread(rank):
        try:
            with Team.join(name, rank, size, timeout=60.0, memory=1 << 20) as team:
                role(team)
        except BaseException:
            failed.append(traceback.format_exc())

    ranks = [threading.Thread(target=rank_of_thread, args=(rank,)) for rank in range(size)]
    [rank.start() for rank in ranks]
    [rank.join(120) for rank in ranks]
    assert not failed, failed[0]
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    kind = "that take turns" if has_lock else "at once"
    print(f"{role.__name__}, {size} threads {kind}: right", flush=True)


if __name__ == "__main__":
    for test in (refusals, same_memory, lifetime, threads, copies, forks, interpreters, paths,
                 ctrl_c, stubs, tensors_of_another_kind, names):
        test()
        print(f"{test.__name__}: right", flush=True)
    for size in range(1, 9):
        run(calls, size)
    run_threads(calls, 4)
    for role, size in ((numbers, 3), (disagreement, 2), (killed, 3), (told, 2), (excepted, 2),
                       (interrupted, 3)):
        run(role, size)
    if has("numpy"):
        scalars()
    for module, role in (("numpy", numpy_arrays), ("torch", torch_tensors)):
        if has(module):
            run(role, 4)
        else:
            print(f"SKIPPED: processes: {module} is not installed", file=sys.stderr, flush=True)
