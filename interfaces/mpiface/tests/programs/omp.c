/* A rank's OpenMP threads ask for its rank, and get it. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int level, rank, bad = 0, all;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel num_threads(3) reduction(+ : bad)
  {
    int mine = -1;
#pragma omp critical
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    bad += mine != rank;
  }
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return all != 0 || level < MPI_THREAD_FUNNELED;
}
