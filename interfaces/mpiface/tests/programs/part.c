/* A library that uses MPI and has globals, as hypre: called from ordinary programs (host.c,
 * teams.rs). */
#include "part.h"
#include <mpi.h>
#include <stddef.h>

static int calls;

void part_count(void *given) {
  struct part *out = given;
  int rank, size, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  calls++;
  MPI_Allreduce(&calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  out->calls[rank] = calls;
  out->sums[rank] = sum;
  if (rank == 0)
    out->size = size;
}

/* The other ranks of a team whose rank 0 is the caller: each takes a number, gives its square. */
void part_serve(void *unused) {
  int number;
  (void)unused;
  MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  number *= number;
  MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
}

int part_ask(int rank, int number) {
  MPI_Send(&number, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
  MPI_Recv(&number, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

/* A program that brings MPI up and down by itself. */
void part_whole(void *given) {
  int *good = given, flag, rank;
  MPI_Initialized(&flag);
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (flag && rank == 0)
    ++*good;
}

/* Rank 1 returns while the others wait. */
void part_early(void *unused) {
  int rank;
  (void)unused;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 1)
    MPI_Barrier(MPI_COMM_WORLD);
}

/* In the second call, rank 1 returns while the others wait for its message. */
void part_silent(void *unused) {
  int rank, number = 0;
  (void)unused;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (++calls == 2 && rank != 1)
    MPI_Recv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
