"""Collectives between processes of one machine, in one shared segment of memory.

    from phalanx_processes import Team

    with Team.join("my job", rank, size) as team:
        team.all_reduce(array)          # numpy array, torch tensor, array.array; in place

Buffers are used by their address: C-contiguous numpy arrays, contiguous torch tensors on the CPU,
and whatever has the buffer protocol. Their elements are integers of 8 to 64 bits, float16, bfloat16
(summed in float32, and rounded once), float32 and float64.

A call that fails raises Error, and ends the team. `Error.kind` is one of the names in KINDS.
"""

import ctypes
import os
import sys

__all__ = ["Team", "Error", "KINDS", "segment"]

KINDS = (
    "ok", "disagreement", "died", "left", "deadline", "refused", "argument", "memory", "system",
    "panicked", "forked",
)

_NAMES = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "bfloat16", "float32", "float64",
)
_TYPES = {name: number for number, name in enumerate(_NAMES)}
_SIZES = dict(zip(_NAMES, (1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8)))
_OPERATORS = {
    name: number
    for number, name in enumerate(("sum", "prod", "min", "max", "band", "bor", "bxor"))
}
# Of the buffer protocol: kind by format, size by the item.
_FORMATS = {
    **dict.fromkeys("bhilqn", "int"), **dict.fromkeys("BHILQN", "uint"),
    **dict.fromkeys("efd", "float"), "c": "uint", "?": None,
}


class Error(RuntimeError):
    """What went wrong, in words; `kind` says of which kind it is."""

    def __init__(self, number, text):
        super().__init__(text)
        self.kind = KINDS[number] if number < len(KINDS) else "system"


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.environ.get("PHALANX_PROCESSES_LIBRARY")
    library = ctypes.CDLL(path or os.path.join(here, "libphalanx_processes_c.so"))
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    text, big, real = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_double
    out = ctypes.POINTER(address)
    at = [text, number]
    functions = {
        "join": [text, number, number, real, real, size, out],
        "attach": [number, number, number, real, real, out],
        "segment": [number, size, ctypes.POINTER(number)],
        "barrier": [address] + at,
        "broadcast": [address, address, size, number, number] + at,
        "reduce": [address, address, size, number, number, number] + at,
        "all_reduce": [address, address, size, number, number] + at,
        "all_gather": [address, address, address, size, number] + at,
        "gather": [address, address, address, size, number, number] + at,
        "scatter": [address, address, address, size, number, number] + at,
        "reduce_scatter": [address, address, address, size, number, number] + at,
        "all_to_all": [address, address, address, size, number] + at,
        "scan": [address, address, size, number, number] + at,
        "exclusive_scan": [address, address, size, number, number] + at,
        "send": [address, address, size, number, number, big] + at,
        "receive": [address, address, size, number, number, big] + at,
        "split": [address, number, big, out] + at,
        "allocate": [address, size, out] + at,
        "free": [address, address] + at,
        "rank": [address],
        "size": [address],
    }
    for name, arguments in functions.items():
        function = getattr(library, "phx_proc_" + name)
        function.argtypes, function.restype = arguments, number
    library.phx_proc_leave.argtypes, library.phx_proc_leave.restype = [address], None
    library.phx_proc_message.argtypes, library.phx_proc_message.restype = [], text
    return library


_library = _load()


def _check(number):
    if number:
        raise Error(number, _library.phx_proc_message().decode("utf-8", "replace"))


def _wrong(text):
    return Error(KINDS.index("argument"), text)


def _type(name):
    if name not in _TYPES:
        raise _wrong(f"elements of type {name} cannot travel: {', '.join(_NAMES)} can")
    return name


# Names of torch's types and of files, as they are found: a short call is no longer than these.
_TORCH_TYPES = {}
_FILES = {}


def _buffer(data, writes):
    """Address, number of elements, type, and what keeps the memory."""
    if hasattr(data, "data_ptr"):
        if not data.is_cpu:
            raise _wrong(f"the tensor is on {data.device}, not in this machine's memory")
        if not data.is_contiguous():
            raise _wrong("the tensor is not contiguous: pass data.contiguous()")
        name = _TORCH_TYPES.get(data.dtype)
        if name is None:
            name = _TORCH_TYPES[data.dtype] = _type(str(data.dtype).replace("torch.", ""))
        return data.data_ptr(), data.numel(), name, data
    interface = getattr(data, "__array_interface__", None)
    if interface is not None:
        name = data.dtype.name
        if not data.flags["C_CONTIGUOUS"]:
            raise _wrong("the array is not contiguous: pass numpy.ascontiguousarray(data)")
        address, is_read_only = interface["data"]
        if writes and is_read_only:
            raise _wrong("the array is read-only")
        if not data.dtype.isnative:
            raise _wrong("the array's numbers have another byte order than the machine's")
        return address, data.size, _type(name), data
    view = memoryview(data)
    if not view.c_contiguous:
        raise _wrong("the buffer is not contiguous")
    kind = _FORMATS.get(view.format.lstrip("@="))
    name = _type(f"{kind}{8 * view.itemsize}" if kind else f"of format {view.format!r}")
    if not view.nbytes:
        return None, 0, name, view
    if not view.readonly:
        memory = (ctypes.c_char * view.nbytes).from_buffer(view)
    elif writes:
        raise _wrong("the buffer is read-only")
    else:
        memory = (ctypes.c_char * view.nbytes).from_buffer_copy(view)
    return ctypes.addressof(memory), view.nbytes // view.itemsize, name, memory


def _operator(op):
    if op == "sum":
        return 0
    # torch.distributed.ReduceOp.SUM is printed as RedOpType.SUM.
    name = str(op).rsplit(".", 1)[-1].lower()
    name = {"product": "prod"}.get(name, name)
    if name not in _OPERATORS:
        raise _wrong(f"there is no operator {op}: {', '.join(_OPERATORS)} are there")
    return _OPERATORS[name]


def _here():
    """The line of the caller's caller."""
    frame = sys._getframe(2)
    name = frame.f_code.co_filename
    file = _FILES.get(name)
    if file is None:
        file = _FILES[name] = name.encode()
    return file, frame.f_lineno


def segment(ranks, memory=256 << 20):
    """The descriptor of a new team's memory, which children inherit (Team.attach)."""
    fd = ctypes.c_int()
    _check(_library.phx_proc_segment(ranks, memory, ctypes.byref(fd)))
    return fd.value


class Team:
    """A rank of a team of processes, or of a group of it. Every rank makes the same calls."""

    def __init__(self, handle):
        self._handle = handle
        self._memory = {}

    @classmethod
    def join(cls, name, rank, size, timeout=1800.0, attach_timeout=60.0, memory=256 << 20):
        """Joins the team of a name, when all ranks have come. Times in seconds; `timeout=None`: a
        call waits for ever."""
        handle = ctypes.c_void_p()
        time = -1.0 if timeout is None else timeout
        _check(_library.phx_proc_join(
            name.encode(), rank, size, time, attach_timeout, memory, ctypes.byref(handle)))
        return cls(handle)

    @classmethod
    def attach(cls, fd, rank, size, timeout=1800.0, attach_timeout=60.0):
        """Attaches to the memory behind a descriptor, which the team takes over."""
        handle = ctypes.c_void_p()
        time = -1.0 if timeout is None else timeout
        _check(_library.phx_proc_attach(
            fd, rank, size, time, attach_timeout, ctypes.byref(handle)))
        return cls(handle)

    def close(self):
        """Leaves the team."""
        handle, self._handle = self._handle, None
        if handle:
            _library.phx_proc_leave(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    @property
    def rank(self):
        return _library.phx_proc_rank(self._handle)

    @property
    def size(self):
        return _library.phx_proc_size(self._handle)

    def barrier(self):
        """Waits until all ranks are here."""
        _check(_library.phx_proc_barrier(self._handle, *_here()))

    def broadcast(self, data, root=0):
        """Copies `data` of rank `root` into that of all others."""
        address, n, name, _keep = _buffer(data, True)
        _check(_library.phx_proc_broadcast(
            self._handle, address, n, _TYPES[name], root, *_here()))
        return data

    def reduce(self, data, op="sum", root=0):
        """Combines `data` of all ranks into that of rank `root`; the others' stays."""
        address, n, name, _keep = _buffer(data, True)
        _check(_library.phx_proc_reduce(
            self._handle, address, n, _TYPES[name], _operator(op), root, *_here()))
        return data

    def all_reduce(self, data, op="sum"):
        """Combines `data` of all ranks, in place. Without a copy in memory of `allocate`."""
        address, n, name, _keep = _buffer(data, True)
        _check(_library.phx_proc_all_reduce(
            self._handle, address, n, _TYPES[name], _operator(op), *_here()))
        return data

    def scan(self, data, op="sum"):
        """Combines `data` of this rank and those before it, in place."""
        address, n, name, _keep = _buffer(data, True)
        _check(_library.phx_proc_scan(
            self._handle, address, n, _TYPES[name], _operator(op), *_here()))
        return data

    def exclusive_scan(self, data, op="sum"):
        """Combines `data` of the ranks before this one; rank 0 gets the operator's identity."""
        address, n, name, _keep = _buffer(data, True)
        _check(_library.phx_proc_exclusive_scan(
            self._handle, address, n, _TYPES[name], _operator(op), *_here()))
        return data

    def _two(self, given, taken, given_blocks, taken_blocks):
        """Both buffers, and the elements of a block."""
        a, b = _buffer(given, False), _buffer(taken, True)
        if a[2] != b[2]:
            raise _wrong(f"one buffer is of {a[2]}, the other of {b[2]}")
        n = a[1] // given_blocks
        if n * given_blocks != a[1] or n * taken_blocks != b[1]:
            text = f"{a[1]} and {b[1]} elements are not {given_blocks} and {taken_blocks} blocks"
            raise _wrong(text)
        return a, b, n

    def all_gather(self, mine, all):
        """Collects `mine` of all ranks, in their order, in `all`."""
        a, b, n = self._two(mine, all, 1, self.size)
        _check(_library.phx_proc_all_gather(
            self._handle, a[0], b[0], n, _TYPES[a[2]], *_here()))
        return all

    def gather(self, mine, all=None, root=0):
        """Collects `mine` of all ranks in `all` of rank `root`."""
        if self.rank == root:
            a, b, n = self._two(mine, all, 1, self.size)
        else:
            a, b = _buffer(mine, False), (None,)
            n = a[1]
        _check(_library.phx_proc_gather(
            self._handle, a[0], b[0], n, _TYPES[a[2]], root, *_here()))
        return all

    def scatter(self, all, mine, root=0):
        """Gives each rank its block of `all` of rank `root`."""
        if self.rank == root:
            a, b, n = self._two(all, mine, self.size, 1)
        else:
            a, b = (None,), _buffer(mine, True)
            n = b[1]
        _check(_library.phx_proc_scatter(
            self._handle, a[0], b[0], n, _TYPES[b[2]], root, *_here()))
        return mine

    def reduce_scatter(self, all, mine, op="sum"):
        """Combines `all`, which has a block for each rank; `mine` is this rank's block."""
        a, b, n = self._two(all, mine, self.size, 1)
        _check(_library.phx_proc_reduce_scatter(
            self._handle, a[0], b[0], n, _TYPES[a[2]], _operator(op), *_here()))
        return mine

    def all_to_all(self, given, taken):
        """Gives block `r` to rank `r`, and takes a block of each."""
        a, b, n = self._two(given, taken, self.size, self.size)
        _check(_library.phx_proc_all_to_all(
            self._handle, a[0], b[0], n, _TYPES[a[2]], *_here()))
        return taken

    def send(self, data, to, tag=0):
        """Sends `data` to rank `to`."""
        address, n, name, _keep = _buffer(data, False)
        _check(_library.phx_proc_send(
            self._handle, address, n, _TYPES[name], to, tag, *_here()))

    def receive(self, data, source, tag=0):
        """Receives a message of rank `source`, of the length and type of `data`."""
        address, n, name, _keep = _buffer(data, True)
        _check(_library.phx_proc_receive(
            self._handle, address, n, _TYPES[name], source, tag, *_here()))
        return data

    def split(self, color, key=0):
        """A team of the ranks with one colour, or None without a colour."""
        handle = ctypes.c_void_p()
        number = -1 if color is None else color
        _check(_library.phx_proc_split(
            self._handle, number, key, ctypes.byref(handle), *_here()))
        return Team(handle) if handle else None

    def allocate(self, n, type="float32"):
        """A buffer of `n` elements in the team's memory, as a memoryview: of the same place on each
        rank, all 0. numpy.frombuffer and torch.frombuffer make arrays of it. It may be used until
        it is freed, or the team is closed."""
        name = _type(type)
        address = ctypes.c_void_p()
        bytes = n * _SIZES[name]
        _check(_library.phx_proc_allocate(
            self._handle, bytes, ctypes.byref(address), *_here()))
        memory = (ctypes.c_char * bytes).from_address(address.value)
        view = memoryview(memory).cast("B")
        kept = {"int": "bhiq", "uint": "BHIQ"}
        if name == "float32":
            view = view.cast("f")
        elif name == "float64":
            view = view.cast("d")
        elif name.startswith(("int", "uint")):
            kind = name.rstrip("0123456789")
            view = view.cast(kept[kind][{1: 0, 2: 1, 4: 2, 8: 3}[_SIZES[name]]])
        return view

    def free(self, buffer):
        """Gives a buffer of `allocate` back. All ranks do so."""
        address = _buffer(buffer, True)[0]
        _check(_library.phx_proc_free(self._handle, address, *_here()))
