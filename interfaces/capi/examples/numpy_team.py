"""A team of ranks on NumPy arrays, which are not copied: each rank works on its part of them where
they are. Python runs one thread at a time, NumPy's loops and Phalanx's waits run beside it.

    python3 numpy_team.py [libphalanx.so]
"""

import ctypes
import sys

import numpy as np

lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libphalanx.so.0")
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
F64, SUM, MAX = 8 << 8 | 10, 1 << 8, 4 << 8
FILE = __file__.encode()  # Kept: error messages name it.

lib.phx_run.argtypes = [ctypes.c_int, FUNCTION, ctypes.c_void_p]
lib.phx_rank.argtypes = lib.phx_size.argtypes = [ctypes.c_void_p]
lib.phx_last_error.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
lib.phx_last_error.restype = ctypes.c_size_t
lib.phx_all_reduce_at.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64,
    ctypes.c_char_p, ctypes.c_int,
]  # fmt: skip
lib.phx_all_gather_at.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64,
    ctypes.c_char_p, ctypes.c_int,
]  # fmt: skip


class PhalanxError(Exception):
    """What a run has failed by: its code, and the text of the first cause."""


def check(code):
    """Raises the error of `code`, if it is one."""
    if code != 0:
        text = ctypes.create_string_buffer(4096)
        lib.phx_last_error(text, len(text))
        raise PhalanxError(code, text.value.decode())


class Comm:
    """A rank's hold on the team."""

    def __init__(self, handle):
        self.handle, self.rank, self.size = handle, lib.phx_rank(handle), lib.phx_size(handle)

    def all_reduce(self, array, op=SUM):
        """Combines the ranks' arrays in place."""
        assert array.dtype == np.float64 and array.flags.c_contiguous
        line = sys._getframe(1).f_lineno
        check(lib.phx_all_reduce_at(self.handle, array.ctypes.data, array.size, F64, op, FILE, line))

    def all_gather(self, mine, whole):
        """Collects the ranks' arrays in everybody's `whole`."""
        assert whole.size == mine.size * self.size
        line = sys._getframe(1).f_lineno
        check(lib.phx_all_gather_at(
            self.handle, mine.ctypes.data, mine.size, whole.ctypes.data, F64, FILE, line))


def run(ranks, function):
    """Runs `function(comm)` on so many ranks. Raises what the first rank has raised."""
    raised = []

    def rank(handle, _):
        try:
            function(Comm(handle))
        except PhalanxError:
            pass  # The run has it as its cause.
        except BaseException as error:  # Nothing may leave the function.
            raised.append(error)

    callback = FUNCTION(rank)
    try:
        check(lib.phx_run(ranks, callback, None))
    finally:
        if raised:
            raise raised[0]


def main():
    n, data = 1 << 16, np.arange(1 << 16, dtype=np.float64)
    for p in (1, 2, 4):
        sums = np.zeros(p)

        def work(comm):
            part = data[n * comm.rank // comm.size : n * (comm.rank + 1) // comm.size]
            part *= 2.0  # in place, in the array that all ranks share
            total = np.array([part.sum()])
            comm.all_reduce(total)
            sums[comm.rank] = total[0]
            ranks, mine = np.empty(comm.size), np.array([float(comm.rank)])
            comm.all_gather(mine, ranks)
            assert (ranks == np.arange(comm.size)).all()

        before = data.ctypes.data
        run(p, work)
        assert data.ctypes.data == before and (sums == data.sum()).all(), sums
        print(f"{p} ranks: sum {sums[0]:.6g}")

    def disagree(comm):
        comm.all_reduce(np.ones(2), SUM if comm.rank else MAX)

    try:
        run(2, disagree)
    except PhalanxError as error:
        code, text = error.args
        print(text)
        assert code == 6 and "numpy_team.py:" in text
    else:
        raise AssertionError("the ranks disagree")


main()
