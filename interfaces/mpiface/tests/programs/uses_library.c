#include <mpi.h>
#include <stdio.h>
extern int library_global;
int library_sum(int value);
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = library_sum(rank + 1);
  int bad = library_global != rank + 1 || sum != size * (size + 1) / 2;
  MPI_Finalize();
  if (rank == 0) printf("%s\n", bad ? "SHARED" : "private");
  return bad;
}
