"""An all-reduce over multiprocessing."""

import array
import multiprocessing
import os

from phalanx_processes import Team


def work(rank, size, name):
    with Team.join(name, rank, size) as team:
        x = array.array("f", [rank + 1.0] * 1000)
        team.all_reduce(x)
        assert x[0] == size * (size + 1) / 2


if __name__ == "__main__":
    arguments = [(rank, 4, f"example {os.getpid()}") for rank in range(4)]
    ranks = [multiprocessing.Process(target=work, args=it) for it in arguments]
    [rank.start() for rank in ranks]
    [rank.join() for rank in ranks]
    assert all(rank.exitcode == 0 for rank in ranks)
    print("4 processes: the sum is right")
