/* What a recorded run shows: each section is one of the test's. Rank 1 comes late to all that the
 * others wait for: it sleeps before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void late(void) {
  if (rank == 1) usleep(30000);
}

static void messages(void) {
  static double big[10000];
  int x = rank, y = -1;
  MPI_Status status;
  late();
  if (rank == 1) MPI_Send(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&y, 4, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  late();
  if (rank == 0) MPI_Send(big, 10000, MPI_DOUBLE, 1, 8, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(big, 10000, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD, &status);
  late();
  if (rank == 0) MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
}

static void requests(void) {
  int in[2] = {-1, -1}, out = rank, flag = 0;
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request all[2];
  MPI_Irecv(&in[0], 1, MPI_INT, left, 3, MPI_COMM_WORLD, &all[0]);
  late();
  MPI_Isend(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &all[1]);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &all[0]);
  late();
  MPI_Send(&out, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  MPI_Irecv(&in[1], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &all[0]);
  late();
  MPI_Send(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
  while (!flag)
    MPI_Test(&all[0], &flag, MPI_STATUS_IGNORE);
  MPI_Iallreduce(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
}

static void collectives(void) {
  static double many[64], all[4096];
  int counts[64], displacements[64];
  MPI_Comm half;
  late();
  MPI_Barrier(MPI_COMM_WORLD);
  late();
  MPI_Bcast(many, 64, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  late();
  MPI_Allreduce(MPI_IN_PLACE, many, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) counts[i] = i + 1, displacements[i] = 64 * i;
  late();
  MPI_Allgatherv(many, rank + 1, MPI_DOUBLE, all, counts, displacements, MPI_DOUBLE,
                 MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Reduce(many, all, 8, MPI_DOUBLE, MPI_SUM, 0, half);
  MPI_Comm_free(&half);
}

static void windows(void) {
  int *memory, x = rank;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  late();
  MPI_Win_fence(0, win);
  MPI_Put(&x, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  messages();
  requests();
  collectives();
  windows();
  if (argc > 1 && rank == 0) { /* nobody answers */
    int x;
    MPI_Recv(&x, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
