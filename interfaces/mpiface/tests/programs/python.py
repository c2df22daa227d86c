"""Ranks with interpreters of their own: modules written in C, globals, threads, MPI by ctypes."""
import ctypes
import decimal
import os
import sys
import threading

mpi = ctypes.CDLL(None)
world = ctypes.c_void_p(0x101)
given = ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(given))
rank = given.value
mpi.MPI_Comm_size(world, ctypes.byref(given))
size = given.value

# All would see the last rank's, if they shared the interpreter or the module.
sys.setrecursionlimit(1000 + rank)
decimal.getcontext().prec = 5 + rank
mpi.MPI_Barrier(world)
assert sys.getrecursionlimit() == 1000 + rank
assert decimal.getcontext().prec == 5 + rank

# A library of the system stays the process's, however it is named.
with open("/proc/self/maps") as maps:
    libc = [line.split()[-1] for line in maps if line.rstrip().endswith("/libc.so.6")][0]
assert ctypes.CDLL(libc)._handle == ctypes.CDLL("libc.so.6")._handle

sums = []
thread = threading.Thread(target=lambda: sums.append(sum(range(1000))))
thread.start()
thread.join()

mine, all_ranks = ctypes.c_int(rank), (ctypes.c_int * size)()
integer = ctypes.c_void_p(0x209)
mpi.MPI_Allgather(ctypes.byref(mine), 1, integer, all_ranks, 1, integer, world)
mpi.MPI_Finalize()
is_whole = list(all_ranks) == list(range(size))
# In one write, as ranks share the output.
sys.stdout.write(f"rank {rank} of {size}: {sums[0]}, {is_whole}, {os.getpid()}\n")
