// Statics of templates and of inline functions, and inline variables: unique in a process, but each
// rank's own here.
#include <mpi.h>
#include <cstdio>
#include <stdexcept>

template <class T> struct Counter {
  static int count;
};
template <class T> int Counter<T>::count = 0;
inline int variable = 0;
inline int &function_static() {
  static int value = 0;
  return value;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i <= rank; i++) {
    Counter<double>::count++;
    variable++;
    function_static()++;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int bad = Counter<double>::count != rank + 1 || variable != rank + 1 || function_static() != rank + 1;
  try {
    throw std::runtime_error("caught in its rank");
  } catch (const std::exception &) {
    bad += 0;
  }
  int all;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%s\n", all ? "SHARED" : "private");
  MPI_Finalize();
  return all != 0;
}
