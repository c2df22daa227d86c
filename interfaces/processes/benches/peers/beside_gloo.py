"""All-reduces by gloo (torch.distributed) and by phalanx-processes, in turns: `beside` runs it.

A turn makes as many calls as take about 2 ms; its time is that of the slowest rank; the lower
quartile of the turns counts, since other programs disturb some. Both are called from Python.
Nobody is pinned, since gloo has threads of its own.

    beside_gloo.py RANKS TYPE(f32|bf16) TURNS LEAST MOST
"""

import datetime
import multiprocessing
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist

from phalanx_processes import Team


def turn(team, call, x, calls):
    call(x)
    team.barrier()
    since = time.perf_counter()
    for _ in range(calls):
        call(x)
    took = torch.tensor([(time.perf_counter() - since) * 1e6 / calls], dtype=torch.float64)
    team.all_reduce(took, "max")
    return float(took)


def work(rank, ranks, kind, turns, least, most, name, store):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks,
        timeout=datetime.timedelta(seconds=120))
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
    with Team.join(name, rank, ranks) as team:
        calls = (dist.all_reduce, team.all_reduce)
        size = least
        while size <= most:
            x = torch.zeros(size // dtype.itemsize, dtype=dtype)
            counts = []
            for call in calls:
                once = turn(team, call, x, 3)
                counts.append(int(min(max(2000 / once, 3), 5000)))
            times = [[], []]
            for _ in range(turns):
                for which in (0, 1):
                    times[which].append(turn(team, calls[which], x, counts[which]))
            gloo, own = (sorted(t)[turns // 4] for t in times)
            if rank == 0:
                print(f"{ranks}\t{kind}\t-\t{size}\t{turns}\t{gloo:.2f}\t{own:.2f}\t{own / gloo:.3f}",
                      flush=True)
            size = most if size < most < size * 4 else size * 4
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks, kind, turns, least, most = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        name = f"beside gloo {os.getpid()}"
        all = (int(ranks), kind, int(turns), int(least), int(most), name, f"{folder}/store")
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=work, args=(rank, *all)) for rank in range(int(ranks))]
        [process.start() for process in processes]
        [process.join() for process in processes]
        sys.exit(max(abs(process.exitcode) for process in processes))
