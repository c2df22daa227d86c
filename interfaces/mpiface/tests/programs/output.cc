// The streams of C++ are a rank's own: lines stay whole, and so do width and precision.
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  std::cout << std::setprecision(rank + 1) << std::fixed;
  for (int i = 0; i < 200; i++) {
    std::cout << "<rank " << rank << " has ";
    std::printf("%d: ", rank);
    std::cout << std::setw(rank + 8) << 1.0 / 3 << ">" << std::endl;
  }
  MPI_Finalize();
}
