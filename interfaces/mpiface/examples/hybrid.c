/* MPI with OpenMP inside: a step is a loop over SIZE doubles by all threads of all ranks, and an
 * all-reduce. Prints the threads of a rank, and microseconds a step (the least of 20 rounds).
 *   phalanx-mpicc -O2 -fopenmp hybrid.c -o hybrid
 *   OMP_NUM_THREADS=2 phalanx-mpirun -n 1 --cpus-per-rank 2 ./hybrid 20000 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int granted, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int size = (argc > 1 ? atoi(argv[1]) : 20000) / ranks, steps = 500;
  double *x = malloc(size * sizeof *x), sum = 0, least = 1e9;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < size; i++)
    x[i] = 1.0 / (rank * size + i + 1);
  for (int round = 0; round < 20; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
      double part = 0;
#pragma omp parallel for schedule(static) reduction(+ : part)
      for (int i = 0; i < size; i++) {
        x[i] = x[i] * 0.999 + 1e-9;
        part += x[i] / (1 + x[i]);
      }
      MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double took = (MPI_Wtime() - begin) / steps * 1e6;
    least = took < least ? took : least;
  }
  if (rank == 0)
    printf("%d ranks of %d threads: %.1f us a step, sum %.6f\n", ranks, omp_get_max_threads(),
           least, sum);
  MPI_Finalize();
  return 0;
}
