/* Rank 0 never ends; the others wait for it. */
#include <mpi.h>

int main(int argc, char **argv) {
  int rank;
  volatile int on = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (rank == 0 && on) {}
  MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
