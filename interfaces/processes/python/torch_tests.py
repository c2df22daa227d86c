"""Tests of the backend for torch.distributed, with 1, 2 and 4 processes."""

import datetime
import importlib
import importlib.util
import multiprocessing
import os
import sys
import tempfile
import traceback


def collectives(rank, size):
    import torch
    import torch.distributed as dist

    total, ranks = size * (size + 1) / 2, list(range(size))
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        x = torch.full((100, 30), rank + 1, dtype=dtype)
        dist.all_reduce(x)
        assert bool((x == total).all()), dtype
    x = torch.full((50, 8), rank + 1.0).t()
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    assert bool((x == total / size).all()), "not contiguous"
    truths = torch.tensor([rank == 0, True])
    dist.all_reduce(truths, op=dist.ReduceOp.MIN)
    assert truths.tolist() == [size == 1, True]
    x = torch.full((3,), 1 + 2j)
    dist.all_reduce(x)
    assert x[2] == size * (1 + 2j)
    x = torch.full((3,), rank + 1.0)
    dist.reduce(x, 0, op=dist.ReduceOp.AVG)
    assert x[0] == ((size + 1) / 2 if rank == 0 else rank + 1)
    work = dist.all_reduce(torch.ones(3), async_op=True)
    work.wait()
    assert work.is_completed()
    x = torch.full((5,), float(rank))
    dist.broadcast(x, size - 1)
    assert x[0] == size - 1
    x = torch.ones(5)
    dist.reduce(x, 0)
    assert x[0] == (size if rank == 0 else 1)
    mine = torch.full((4,), float(rank))
    parts = [torch.zeros(4) for _ in ranks]
    dist.all_gather(parts, mine)
    assert [int(part[3]) for part in parts] == ranks
    everything = torch.zeros(4 * size)
    dist.all_gather_into_tensor(everything, mine)
    assert everything[::4].tolist() == ranks
    parts = [torch.zeros(4) for _ in ranks]
    dist.gather(mine, parts if rank == 0 else None, dst=0)
    assert rank or [int(part[3]) for part in parts] == ranks
    block = torch.zeros(3)
    dist.scatter(block, [torch.full((3,), float(i)) for i in ranks] if rank == 0 else None, src=0)
    assert block[2] == rank
    block = torch.zeros(2)
    dist.reduce_scatter(block, [torch.full((2,), float(i)) for i in ranks])
    assert block[0] == rank * size
    dist.reduce_scatter_tensor(block, torch.arange(2.0 * size))
    assert block[1] == (2 * rank + 1) * size
    taken = torch.zeros(size, dtype=torch.int64)
    dist.all_to_all_single(taken, torch.full((size,), rank))
    assert taken.tolist() == ranks
    lengths = [i + 1 for i in ranks]
    parts = [torch.zeros(n) for n in lengths]
    dist.all_to_all(parts, [torch.full((rank + 1,), float(rank)) for _ in ranks])
    assert [int(part[-1]) for part in parts] == ranks
    taken = torch.zeros(size * (rank + 1))
    given = torch.arange(float(sum(lengths)))
    dist.all_to_all_single(taken, given, [rank + 1] * size, lengths)
    assert taken[0] == sum(lengths[:rank])
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert [it["rank"] for it in objects] == ranks


def messages(rank, size):
    import torch
    import torch.distributed as dist

    following, before = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros(100_000)
    given = torch.full((100_000,), float(rank))
    calls = [dist.P2POp(dist.irecv, x, before), dist.P2POp(dist.isend, given, following)]
    [work.wait() for work in dist.batch_isend_irecv(calls)]
    assert x[7] == before
    if rank == 0:
        dist.send(torch.ones(3), 1, tag=4)
    elif rank == 1:
        dist.recv(x[:3], 0, tag=4)
        assert x[0] == 1


def groups(rank, size):
    import torch
    import torch.distributed as dist

    halves = [dist.new_group(list(range(half, size, 2))) for half in range(min(2, size))]
    x = torch.ones(4)
    dist.all_reduce(x, group=halves[rank % 2])
    assert x[0] == len(range(rank % 2, size, 2))
    name = "torch.distributed._functional_collectives"
    if importlib.util.find_spec(name) is None:
        print(f"SKIPPED: processes: torch {torch.__version__} has no {name}", file=sys.stderr)
        return
    functional = importlib.import_module(name)
    x = functional.wait_tensor(functional.all_reduce(torch.ones(4), "sum", dist.group.WORLD))
    assert x[0] == size


def training(rank, size):
    import torch
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    model(torch.full((3, 4), rank + 1.0)).sum().backward()
    gradient = float(model.module.weight.grad[0][0])
    assert abs(gradient - 3 * (size + 1) / 2) < 1e-5, gradient


def work(rank, size, store):
    try:
        import torch
        import torch.distributed as dist

        import phalanx_processes.torch_backend  # noqa: F401

        torch.set_num_threads(1)
        dist.init_process_group(
            "phalanx", init_method=f"file://{store}", rank=rank, world_size=size,
            timeout=datetime.timedelta(seconds=60))
        collectives(rank, size)
        if size > 1:
            messages(rank, size)
        groups(rank, size)
        training(rank, size)
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("SKIPPED: processes: torch is not installed", file=sys.stderr, flush=True)
        sys.exit(0)
    context = multiprocessing.get_context("spawn")
    for size in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            arguments = [(rank, size, f"{folder}/store") for rank in range(size)]
            ranks = [context.Process(target=work, args=it) for it in arguments]
            [rank.start() for rank in ranks]
            [rank.join() for rank in ranks]
        assert [rank.exitcode for rank in ranks] == [0] * size
        print(f"torch.distributed, {size} processes: right", flush=True)
