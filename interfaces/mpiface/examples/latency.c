/* Times of one call on two ranks or more, in nanoseconds: half of a message's way there and back,
   and an all-reduce of one number. The least and the median of blocks of calls.
   Run beside another MPI, in turns, by `tools/mpi-programs BIN DIRECTORY latency`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 101, CALLS = 5000 };

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(const char *name, double *block, int rank, int ways) {
  for (int i = 0; i < BLOCKS; i++) block[i] *= 1e9 / CALLS / ways;
  qsort(block, BLOCKS, sizeof *block, by_size);
  if (rank == 0) printf("%s least %.0f median %.0f\n", name, block[0], block[BLOCKS / 2]);
}

int main(int argc, char **argv) {
  static double block[BLOCKS];
  char data[8] = {0};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < BLOCKS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (int k = 0; k < CALLS; k++) {
      if (rank == 0) {
        MPI_Send(data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
      }
    }
    block[i] = MPI_Wtime() - from;
  }
  report("message of 8 bytes:", block, rank, 2);
  for (int i = 0; i < BLOCKS; i++) {
    double sum = 0, one = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (int k = 0; k < CALLS; k++)
      MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    block[i] = MPI_Wtime() - from;
  }
  report("all-reduce of 8 bytes:", block, rank, 1);
  MPI_Finalize();
  return 0;
}
