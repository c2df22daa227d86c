/* Which processors each rank may use, and how many threads OpenMP would make. */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  cpu_set_t set;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sched_getaffinity(0, sizeof set, &set);
  printf("rank %d: %d of %d, %d threads\n", rank, CPU_COUNT(&set), omp_get_num_procs(),
         omp_get_max_threads());
  MPI_Finalize();
  return 0;
}
