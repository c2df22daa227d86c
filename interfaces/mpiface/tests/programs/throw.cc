// An exception that nobody catches.
#include <mpi.h>
#include <stdexcept>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) throw std::runtime_error("nobody catches this");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
