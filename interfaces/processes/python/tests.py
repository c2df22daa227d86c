"""Tests of the Python package: 1 to 8 processes; numpy and torch where they are installed."""

import array
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback

import phalanx_processes
from phalanx_processes import Error, Team


def has(module):
    return importlib.util.find_spec(module) is not None


def calls(team):
    rank, size = team.rank, team.size
    for n in (1, 10, 5000, 100_000):
        x = array.array("f", [rank + 1.0]) * n
        assert team.all_reduce(x)[n - 1] == size * (size + 1) / 2
        x = array.array("q", [rank]) * n
        assert team.all_reduce(x, "max")[0] == size - 1
        assert team.broadcast(array.array("d", [rank]) * n, size - 1)[0] == size - 1
        everything = array.array("i", [0]) * (n * size)
        team.all_gather(array.array("i", [rank]) * n, everything)
        assert list(everything[::n]) == list(range(size))
        mine = array.array("i", [0]) * n
        assert team.reduce_scatter(everything, mine)[0] == rank * size
        assert team.scatter(everything if rank == 0 else None, mine, 0)[0] == rank
        gathered = array.array("i", [0]) * (n * size)
        team.gather(mine, gathered if rank == 0 else None, 0)
        assert rank or gathered == everything
        taken = array.array("i", [0]) * (n * size)
        team.all_to_all(array.array("i", [rank]) * (n * size), taken)
        assert taken == everything
        assert team.scan(array.array("i", [1]) * n)[0] == rank + 1
        assert team.exclusive_scan(array.array("i", [1]) * n)[0] == rank
        before = team.reduce(array.array("i", [1]) * n, "sum", 0)[0]
        assert before == (size if rank == 0 else 1)
    if size > 1:
        team.send(b"hello", (rank + 1) % size, 3)
        assert team.receive(bytearray(5), (rank - 1) % size, 3) == b"hello"
    group = team.split(rank % 2)
    assert group.size == len(range(rank % 2, size, 2))
    group.barrier()
    group.close()
    assert team.split(None) is None
    shared = team.allocate(1000)
    shared[:] = array.array("f", [1.0] * 1000)
    team.all_reduce(shared)
    assert shared[999] == size
    team.free(shared)


def numpy_arrays(team):
    import numpy

    for dtype in ("int8", "uint64", "float16", "float32", "float64"):
        x = numpy.full((3, 50), team.rank + 1, dtype)
        team.all_reduce(x)
        assert (x == sum(range(1, team.size + 1))).all()
    # Summed in float32: 2048 + 1 is no float16.
    x = numpy.array([2048.0 if team.rank == 0 else 1.0], "float16")
    team.all_reduce(x)
    assert x[0] == numpy.float16(2048.0 + team.size - 1)
    try:
        team.all_reduce(numpy.zeros((4, 4), "float32").T[1:])
        raise AssertionError
    except Error as error:
        assert "not contiguous" in str(error)
    shared = numpy.frombuffer(team.allocate(1000), "float32")
    shared[:] = 2.0
    team.all_reduce(shared)
    assert shared[5] == 2.0 * team.size


def torch_tensors(team):
    import torch

    x = torch.full((7, 9), float(team.rank + 1))
    team.all_reduce(x)
    assert bool((x == sum(range(1, team.size + 1))).all())
    x = torch.tensor([256.0 if team.rank == 0 else 1.0] * 100, dtype=torch.bfloat16)
    team.all_reduce(x)
    assert float(x[0]) == float(torch.tensor(255.0 + team.size, dtype=torch.bfloat16))


def refusals(team):
    for call, text in (
        (lambda: team.all_reduce(b"read-only"), "read-only"),
        (lambda: team.all_reduce(array.array("f", [1.0]), "average"), "no operator average"),
        (lambda: team.all_gather(array.array("f"), array.array("d")), "the other of float64"),
        (lambda: team.all_reduce(array.array("f", [1.0]), "bor"), "no bitwise operators"),
    ):
        try:
            call()
            raise AssertionError(text)
        except Error as error:
            assert text in str(error) and error.kind == "argument", error
    team.barrier()


def disagreement(team):
    try:
        if team.rank == 0:
            team.all_reduce(array.array("f", [1.0]))
        else:
            team.all_reduce(array.array("d", [1.0]))
        raise AssertionError
    except Error as error:
        assert error.kind == "disagreement"
        assert str(error).count("tests.py:") == 2, error


def killed(team):
    if team.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    since = time.monotonic()
    try:
        team.barrier()
        raise AssertionError
    except Error as error:
        assert error.kind == "died" and "rank 1" in str(error), error
    assert time.monotonic() - since < 10


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
    for size in range(1, 9):
        run(calls, size)
    run_threads(calls, 4)
    for module, role in (("numpy", numpy_arrays), ("torch", torch_tensors)):
        if has(module):
            run(role, 4)
        else:
            print(f"SKIPPED: {module} is not installed", flush=True)
    run(refusals, 2)
    run(disagreement, 2)
    run(killed, 3)
    try:
        Team.join("x", 1, 1)
        raise AssertionError
    except Error as error:
        assert error.kind == "argument" and "ranks count from 0" in str(error)
    assert len(phalanx_processes.KINDS) == 11
