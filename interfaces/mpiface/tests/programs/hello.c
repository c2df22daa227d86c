/* Globals are each rank's own; errno and thread-locals too. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int global = 7;
static int hidden = 1;
static __thread int local = 3;

int main(int argc, char **argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  global += rank;
  hidden += 10 * rank;
  local += 100 * rank;
  errno = 1000 + rank;
  MPI_Barrier(MPI_COMM_WORLD);
  if (global != 7 + rank || hidden != 1 + 10 * rank || local != 3 + 100 * rank || errno != 1000 + rank)
    MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Allreduce(&global, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != 7 * size + size * (size - 1) / 2)
    MPI_Abort(MPI_COMM_WORLD, 4);
  printf("hello from %d of %d, %d arguments\n", rank, size, argc);
  MPI_Finalize();
  return 0;
}
