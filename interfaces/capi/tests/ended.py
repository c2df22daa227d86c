#!/usr/bin/env python3
"""Teams in a Python program whose interpreter ends first, or forks: the library by ctypes, each case
in a process of its own, whose exit code and words must be these.
    interfaces/capi/tests/ended.py LIBRARY
"""
import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading

OK, ERR_DEAD, ERR_CANCELLED = 0, 5, 12
F64, SUM = 8 << 8 | 10, 1 << 8
REFUSED = "phalanx: a function that ranks run was left by pthread_exit"

library = None
team = ctypes.c_void_p()
sums = []
begun = threading.Event()


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("ranks", ctypes.c_int), ("wait", ctypes.c_int),
        ("deadline", ctypes.c_double), ("stack", ctypes.c_size_t), ("pin_caller", ctypes.c_int),
        ("placement", ctypes.c_int), ("numbers", ctypes.c_void_p), ("count", ctypes.c_size_t),
        ("stall_warning", ctypes.c_double),
    ]


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def add(comm, _):
    x = (ctypes.c_double * 1)(library.phx_rank(comm) + 1)
    comm = ctypes.c_void_p(comm)
    if library.phx_all_reduce_at(comm, x, ctypes.c_size_t(1), ctypes.c_uint64(F64),
                                 ctypes.c_uint64(SUM), b"ended.py", 1) == OK:
        sums.append(x[0])


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def go_on(comm, _):
    while library.phx_barrier_at(ctypes.c_void_p(comm), b"ended.py", 2) == OK:
        begun.set()


def new():
    assert library.phx_team_new(ctypes.byref(Options(ranks=2)), ctypes.byref(team)) == OK


def used():
    new()
    assert library.phx_team_run(team, add, None) == OK and sums == [3, 3], sums
    sums.clear()


def say(text):
    """Also when sys.stdout is gone."""
    os.write(1, text.encode())


class Owner:
    def __del__(self, free=lambda: library.phx_team_free(team), say=say):
        say(f"freed {free()}")


def left():
    used()


def freed_at_exit():
    used()
    atexit.register(lambda: say(f"freed {library.phx_team_free(team)}"))


def freed_by_the_last_object():
    global owner
    used()
    owner = Owner()
    # One that is in a circle, and goes with its module.
    owner.itself = owner


def runs_on_a_thread():
    """The interpreter waits for its thread."""
    new()
    threading.Thread(target=lambda: say(f"run {library.phx_team_run(team, add, None)}")).start()


def cancelled_at_exit():
    """A thread that the interpreter does not wait for: told to end, and waited for."""
    new()
    thread = threading.Thread(
        target=lambda: say(f"run {library.phx_team_run(team, go_on, None)}"), daemon=True)

    def end():
        library.phx_team_cancel(team)
        thread.join()

    atexit.register(end)
    thread.start()
    begun.wait()


def left_by_the_interpreter():
    """Nobody tells it. Until 3.13 the interpreter ends threads that come back to it by pthread_exit,
    later it lets them hang."""
    new()
    threading.Thread(target=lambda: library.phx_team_run(team, go_on, None), daemon=True).start()
    begun.wait()


def forks():
    used()
    child = os.fork()
    if child == 0:
        was = library.phx_team_run(team, add, None)
        used()
        os._exit(100 + was)
    say(f"child {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
    used()


CASES = {
    left: ([0], ""),
    freed_at_exit: ([0], "freed 0"),
    freed_by_the_last_object: ([0], "freed 0"),
    runs_on_a_thread: ([0], "run 0"),
    cancelled_at_exit: ([0], f"run {ERR_CANCELLED}"),
    left_by_the_interpreter: ([0, -signal.SIGABRT], ""),
    forks: ([0], f"child {100 + ERR_DEAD}"),
}


def main():
    for case, (codes, words) in CASES.items():
        for _ in range(5):
            run = subprocess.run([sys.executable, __file__, sys.argv[1], case.__name__], text=True,
                                 timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            told = run.stderr
            if run.returncode == -signal.SIGABRT:
                told = "" if told.startswith(REFUSED) else told or "it says nothing"
            if run.returncode not in codes or run.stdout != words or told:
                sys.exit(f"ended: {case.__name__}: {run}")
    print(f"ended: {len(CASES)} cases with Python {sys.version.split()[0]}: ok")


if len(sys.argv) == 2:
    main()
else:
    library = ctypes.CDLL(sys.argv[1])
    library.phx_rank.argtypes = [ctypes.c_void_p]
    globals()[sys.argv[2]]()
