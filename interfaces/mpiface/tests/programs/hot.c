/* Works for a while in a function of its own, or of its library, which a profiler is to name. */
#include <mpi.h>
#include <stdio.h>

double warm_function(long n);

#ifndef WITH_LIBRARY
__attribute__((noinline)) double warm_function(long n) {
  double sum = 0;
  for (long i = 1; i <= n; i++)
    sum += 1.0 / (double)i;
  return sum;
}
#endif

#ifndef LIBRARY
int main(int argc, char **argv) {
  double sum = 0, begin;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (begin = MPI_Wtime(); MPI_Wtime() - begin < 1;)
    sum += warm_function(100000);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d\n", sum > 0);
  MPI_Finalize();
  return 0;
}
#endif
