"""A backend of torch.distributed for tensors on the CPU of one machine.

    import torch.distributed as dist
    import phalanx_processes.torch_backend           # registers the backend "phalanx"

    dist.init_process_group("phalanx", rank=rank, world_size=size, init_method=...)

The functions of torch.distributed, its groups, and DistributedDataParallel use it like any other
backend. Calls are carried out at once, on the calling thread, so `async_op=True` returns finished
work; only a receive (`irecv`) is carried out by its `wait`. Not there: receives from any source,
sparse tensors, and operators with factors.
"""

import contextlib
import itertools
import os

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work, _create_work_from_future
from torch.futures import Future

from . import Busy, Team

__all__ = ["PhalanxGroup"]

_numbers = itertools.count(1)


def _done(result):
    future = Future()
    future.set_result(result)
    return _create_work_from_future(future)


def _bytes(tensor):
    """The tensor's memory, for calls that only move it: whatever its type."""
    return tensor.reshape(-1).view(torch.uint8)


class _Packed:
    """Contiguous tensors for a call; `unpack` copies results into those that were not."""

    def __init__(self, tensors):
        self.given = tensors
        self.tensors = [tensor.contiguous() for tensor in tensors]

    def unpack(self):
        for given, used in zip(self.given, self.tensors):
            if given is not used and given.data_ptr() != used.data_ptr():
                given.copy_(used)


class _Receive(Work):
    """A message that `wait` receives: with those before it that have the same source and tag."""

    def __init__(self, group, tensors, source, tag):
        super().__init__()
        self.group, self.key, self.tensors = group, (source, tag), tensors
        self.finished = False

    def wait(self, timeout=None):
        waiting = self.group.receives[self.key]
        while not self.finished:
            first = waiting.pop(0)
            first.finished = True
            for tensor in first.tensors:
                packed = _Packed([tensor])
                self.group.team.receive(_bytes(packed.tensors[0]), *self.key)
                packed.unpack()
        return True

    def is_completed(self):
        return self.wait()

    def source_rank(self):
        return self.key[0]


class PhalanxGroup(dist.ProcessGroup):
    """A process group of torch.distributed that is a team of processes."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        # A name that no other group of this machine has: processes' numbers are this moment's.
        if rank == 0:
            store.set("phalanx", f"torch {os.getpid()} {next(_numbers)}")
        name = store.get("phalanx").decode()
        seconds = timeout.total_seconds()
        self.team = Team.join(name, rank, size, seconds, seconds, memory=0)
        self.receives = {}

    def getBackendName(self):
        return "phalanx"

    def _set_group_name(self, name):
        super()._set_group_name(name)
        self._name = name

    group_name = property(lambda self: self._name)

    # The group is its own backend, which does one call at a time.
    supports_coalescing = supports_splitting = supports_time_estimate = False

    def _get_backend(self, device):
        return self

    def shutdown(self):
        self.team.close()

    def abort(self):
        # Of another thread: its call ends, and so does the team.
        with contextlib.suppress(Busy):
            self.team.close()

    def _reduced(self, tensors, reduce_op, call, takes=True):
        """Combines tensors in place by `call`; `takes`: this rank gets the result."""
        for tensor in tensors:
            packed = _Packed([tensor])
            used = packed.tensors[0]
            call(_numbers_of(used, reduce_op), _operator(used.dtype, reduce_op))
            if takes and reduce_op == dist.ReduceOp.AVG:
                used.div_(self.size())
            packed.unpack()

    def allreduce(self, tensors, opts=None):
        op = opts.reduceOp if opts else dist.ReduceOp.SUM
        self._reduced(tensors, op, self.team.all_reduce)
        return _done(tensors)

    allreduce_coalesced = allreduce

    def reduce(self, tensors, opts):
        self._reduced(tensors, opts.reduceOp,
                      lambda data, op: self.team.reduce(data, op, opts.rootRank),
                      self.rank() == opts.rootRank)
        return _done(tensors)

    def broadcast(self, tensors, opts):
        packed = _Packed(tensors)
        for tensor in packed.tensors:
            self.team.broadcast(_bytes(tensor), opts.rootRank)
        packed.unpack()
        return _done(tensors)

    def barrier(self, opts=None):
        self.team.barrier()
        return _done([])

    def all_gather_single(self, output, input, opts=None):
        packed = _Packed([output])
        self.team.all_gather(_bytes(input.contiguous()), _bytes(packed.tensors[0]))
        packed.unpack()
        return _done([output])

    def allgather(self, outputs, inputs, opts=None):
        for output, input in zip(outputs, inputs):
            everything = input.new_empty((self.size(), *input.shape))
            self.all_gather_single(everything, input)
            [to.copy_(part) for to, part in zip(output, everything)]
        return _done(outputs)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        [self.all_gather_single(*two) for two in zip(outputs, inputs)]
        return _done(outputs)

    def gather(self, outputs, inputs, opts):
        is_root = self.rank() == opts.rootRank
        for i, input in enumerate(inputs):
            everything = input.new_empty((self.size(), *input.shape)) if is_root else None
            self.team.gather(_bytes(input.contiguous()),
                             _bytes(everything) if is_root else None, opts.rootRank)
            if is_root:
                [to.copy_(part) for to, part in zip(outputs[i], everything)]
        return _done(outputs)

    def scatter(self, outputs, inputs, opts):
        is_root = self.rank() == opts.rootRank
        packed = _Packed(outputs)
        for i, output in enumerate(packed.tensors):
            everything = _bytes(torch.stack(list(inputs[i]))) if is_root else None
            self.team.scatter(everything, _bytes(output), opts.rootRank)
        packed.unpack()
        return _done(outputs)

    def reduce_scatter_single(self, output, input, opts=None):
        packed = _Packed([output])
        used, op = packed.tensors[0], opts.reduceOp if opts else dist.ReduceOp.SUM
        given, taken = (_numbers_of(it, op) for it in (input.contiguous(), used))
        self.team.reduce_scatter(given, taken, _operator(used.dtype, op))
        if op == dist.ReduceOp.AVG:
            used.div_(self.size())
        packed.unpack()
        return _done([output])

    def reduce_scatter(self, outputs, inputs, opts):
        for output, blocks in zip(outputs, inputs):
            self.reduce_scatter_single(output, torch.stack(list(blocks)), opts)
        return _done(outputs)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        [self.reduce_scatter_single(*two, opts) for two in zip(outputs, inputs)]
        return _done(outputs)

    def all_to_all_single(self, output, input, output_splits=None, input_splits=None, opts=None):
        if not output_splits and not input_splits:
            packed = _Packed([output])
            self.team.all_to_all(_bytes(input.contiguous()), _bytes(packed.tensors[0]))
            packed.unpack()
            return _done([output])
        split = lambda tensor, sizes: list(  # noqa: E731
            tensor.split(sizes or tensor.size(0) // self.size()))
        return self.alltoall(split(output, output_splits), split(input, input_splits))

    def alltoall(self, outputs, inputs, opts=None):
        # Blocks of any lengths: each pair's is a message. Tags of programs are not negative.
        tag, me, size = 1 << 63, self.rank(), self.size()
        outputs[me].copy_(inputs[me])
        for step in range(1, size):
            self.team.send(_bytes(inputs[(me + step) % size].contiguous()), (me + step) % size, tag)
        packed = _Packed(outputs)
        for step in range(1, size):
            source = (me - step) % size
            self.team.receive(_bytes(packed.tensors[source]), source, tag)
        packed.unpack()
        return _done(outputs)

    def send(self, tensors, to, tag=0):
        for tensor in tensors:
            self.team.send(_bytes(tensor.contiguous()), to, tag)
        return _done([])

    def recv(self, tensors, source, tag=0):
        work = _Receive(self, tensors, source, tag)
        self.receives.setdefault(work.key, []).append(work)
        return work

    def recv_anysource(self, tensors, tag=0):
        raise NotImplementedError("phalanx: a receive names its source")

    # As earlier versions of torch call them.
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single
    alltoall_base = all_to_all_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced


def _numbers_of(tensor, op):
    """The tensor as numbers that combine: truths are bytes; complex sums are those of reals."""
    if tensor.dtype == torch.bool:
        return tensor.view(torch.uint8)
    is_sum = op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG)
    return torch.view_as_real(tensor) if tensor.is_complex() and is_sum else tensor


def _operator(dtype, op):
    """The operator's name here. (An object of ReduceOp has no name, but is equal to its kind.)"""
    kinds = dist.ReduceOp.RedOpType.__members__
    name = next((name.lower() for name, kind in kinds.items() if op == kind), str(op))
    if name == "avg":
        return "sum"
    if dtype == torch.bool:
        # Truth is 1: a sum and a product stay truths.
        return {"sum": "max", "bor": "max", "product": "min", "band": "min"}.get(name, name)
    return name


try:
    dist.Backend.register_backend("phalanx", PhalanxGroup, devices=["cpu"])
except TypeError:  # of torch 1.13
    dist.Backend.register_backend("phalanx", PhalanxGroup)
