"""Errors as Python's classes: `Error`, and a class for each kind."""


class Error(RuntimeError):
    """What went wrong, in words. `kind` is one of the names in KINDS; `rank` is the rank in which
    it went wrong, or that is missing, if it is one.

        try:
            team.all_reduce(x)
        except Died as error:
            print(error.rank, error)
    """

    kind = "error"
    rank = None


class Disagreement(Error):
    """Ranks made different calls."""

    kind = "disagreement"


class Died(Error):
    """A rank's process has died."""

    kind = "died"


class Left(Error):
    """A rank has left the team, or its process runs another program."""

    kind = "left"


class Deadline(Error, TimeoutError):
    """A rank has not come in time."""

    kind = "deadline"


class Refused(Error):
    """The process may not be this rank of this team."""

    kind = "refused"


class Argument(Error, ValueError):
    """The arguments of a call make no sense."""

    kind = "argument"


class WrongType(Argument, TypeError):
    """An argument is of a type that the call does not take."""


class OutOfRange(Argument, OverflowError):
    """A whole number is too large, or too small."""


class WrongBuffer(WrongType, BufferError):
    """Memory that the call cannot use: not writable, not contiguous, or of other elements."""


class OutOfMemory(Error, MemoryError):
    """The system has no memory left, or the team's is full."""

    kind = "memory"


class SystemFault(Error, OSError):
    """The system said no."""

    kind = "system"


class Panicked(Error):
    """A rank left a `with` block by an exception, or panicked (in Rust)."""

    kind = "panicked"


class Forked(Error):
    """The team belongs to the parent of this process."""

    kind = "forked"


class Interrupted(Error):
    """Another rank was interrupted while it waited: by Ctrl-C, for example. (The rank itself gets
    KeyboardInterrupt, or the exception of its signal's handler.)"""

    kind = "interrupted"


class Deadlock(Error):
    """Each of some ranks waits for another one of them."""

    kind = "deadlock"


class Busy(Error):
    """The team is in a call of another thread, or of this one, which handles a signal. That ends
    the team: the other call, and those of the other ranks, end as `Argument`."""

    kind = "busy"


class Viewed(Error, BufferError):
    """Memory of `Team.allocate` is in use: arrays or memoryviews of it exist. Nothing happens."""

    kind = "viewed"


_CLASSES = {
    kind.kind: kind
    for kind in (Disagreement, Died, Left, Deadline, Refused, Argument, OutOfMemory, SystemFault,
                 Panicked, Forked, Interrupted, Deadlock, Busy, Viewed)
}

#: The names of kinds of errors; the numbers of C's are their places.
KINDS = ("ok", *_CLASSES)


def of_kind(number, text, rank):
    """The error of a number of C's."""
    name = KINDS[number] if 0 < number < len(KINDS) else "system"
    error = _CLASSES[name](text)
    error.rank = rank
    return error
