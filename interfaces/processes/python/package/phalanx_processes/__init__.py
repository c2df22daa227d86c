"""Collectives between processes of one machine, in one shared segment of memory.

    from phalanx_processes import Team

    with Team.join("my job", rank, size) as team:
        team.all_reduce(array)          # numpy array, torch tensor, array.array; in place

Buffers are used where they are: C-contiguous numpy arrays, contiguous torch tensors on the CPU, and
whatever has the buffer protocol. Their elements are integers of 8 to 64 bits, float16, bfloat16
(summed in float32, and rounded once), float32, float64, bool, complex64 and complex128. Operators
are "sum", "prod", "min", "max", and of integers and bool "band", "bor", "bxor" (of bool no sum and
prod, of complex numbers only these).

A call that fails raises an `Error`, and ends the team: wrong arguments, too, of which all ranks
hear, and two threads that use the team at once. (Not `Viewed`: nothing has happened.) A wait
handles Python's signals: Ctrl-C ends it, and the team.
"""

from ._errors import (
    KINDS, Argument, Busy, Deadline, Deadlock, Died, Disagreement, Error, Forked, Interrupted, Left,
    OutOfMemory, OutOfRange, Panicked, Refused, SystemFault, Viewed, WrongBuffer, WrongType,
)
from ._native import Memory, Team, segment

__all__ = [
    "Team", "Memory", "segment", "KINDS", "Error", "Argument", "Busy", "Deadline", "Deadlock",
    "Died", "Disagreement", "Forked", "Interrupted", "Left", "OutOfMemory", "OutOfRange",
    "Panicked", "Refused", "SystemFault", "Viewed", "WrongBuffer", "WrongType",
]
