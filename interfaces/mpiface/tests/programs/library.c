/* A library of the program's own with a global and MPI calls. */
#include <mpi.h>
int library_global;
int library_sum(int value) {
  int sum;
  library_global += value;
  MPI_Allreduce(&library_global, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}
