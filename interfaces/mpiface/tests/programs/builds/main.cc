// Streams, and a thread-local variable with a constructor.
#include <iostream>
#include <mpi.h>
#include <vector>

thread_local std::vector<int> here(3, 7);

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  here[1] += rank;
  MPI_Allreduce(&here[1], &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::cout << "rank " << rank << " has " << here[1];
  MPI_Barrier(MPI_COMM_WORLD);
  std::cout << ", all have " << sum << std::endl;
  MPI_Finalize();
}
