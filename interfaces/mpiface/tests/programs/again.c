/* Collectives that are started many times, in different orders, beside others; a send and receive
 * in one request; communicators of groups. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 9); } } while (0)

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int *all = malloc(size * sizeof *all), *from = malloc(size * sizeof *from);
  int *counts = malloc(size * sizeof *counts), *at = malloc(size * sizeof *at);
  int given, sum, before, part, here;
  for (int i = 0; i < size; i++) counts[i] = 1, at[i] = size - 1 - i;
  MPI_Request of[6], other;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Bcast_init(&here, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &of[0]);
  MPI_Allreduce_init(&given, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &of[1]);
  MPI_Allgatherv_init(&given, 1, MPI_INT, all, counts, at, MPI_INT, comm, MPI_INFO_NULL, &of[2]);
  MPI_Exscan_init(&given, &before, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &of[3]);
  MPI_Reduce_scatter_block_init(from, &part, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &of[4]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &of[5]);
  for (int turn = 0; turn < 20; turn++) {
    given = rank * 100 + turn;
    here = rank == size - 1 ? turn : -1;
    sum = before = part = -1;
    for (int i = 0; i < size; i++) from[i] = rank + i + turn, all[i] = -1;
    /* Each rank in its own order, and a nonblocking one among them. */
    int one = 1, ones = 0;
    if ((rank + turn) % 3) for (int i = 0; i < 6; i++) MPI_Start(&of[(i + rank + turn) % 6]);
    else MPI_Startall(6, of);
    MPI_Iallreduce(&one, &ones, 1, MPI_INT, MPI_SUM, comm, &other);
    MPI_Waitall(6, of, MPI_STATUSES_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    CHECK(ones == size && here == turn);
    CHECK(sum == size * turn + 100 * (size * (size - 1) / 2));
    CHECK(rank == 0 || before == rank * turn + 100 * (rank * (rank - 1) / 2));
    CHECK(part == size * (size - 1) / 2 + size * (rank + turn));
    for (int i = 0; i < size; i++) CHECK(all[at[i]] == i * 100 + turn);
  }
  for (int i = 0; i < 6; i++) {
    CHECK(of[i] != MPI_REQUEST_NULL);
    MPI_Request_free(&of[i]);
  }

  /* Broadcasts, of which the root runs ahead, on a communicator that has been freed; a request that
   * is freed without a start. */
  MPI_Comm gone;
  for (int turn = 0; turn < 4; turn++) {
    MPI_Comm_dup(comm, &gone);
    MPI_Bcast_init(&here, 1, MPI_INT, turn % size, gone, MPI_INFO_NULL, &of[0]);
    MPI_Allreduce_init(&given, &sum, 1, MPI_INT, MPI_SUM, gone, MPI_INFO_NULL, &of[1]);
    MPI_Request_free(&of[1]);
    MPI_Barrier_init(gone, MPI_INFO_NULL, &of[1]);
    MPI_Comm_free(&gone);
    for (int i = 0; i < 30; i++) {
      here = rank == turn % size ? 100 * turn + i : -1;
      MPI_Start(&of[0]);
      MPI_Wait(&of[0], MPI_STATUS_IGNORE);
      CHECK(here == 100 * turn + i);
    }
    MPI_Start(&of[1]);
    MPI_Wait(&of[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&of[0]);
    MPI_Request_free(&of[1]);
  }

  /* Longer than any eager limit. */
  enum { N = 100000 };
  int *out = malloc(N * sizeof *out), *in = malloc(N * sizeof *in), count;
  MPI_Status status;
  for (int i = 0; i < N; i++) out[i] = rank + i, in[i] = -1;
  MPI_Isendrecv(out, N, MPI_INT, next, 7, in, N, MPI_INT, last, 7, comm, &other);
  MPI_Wait(&other, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(status.MPI_SOURCE == last && status.MPI_TAG == 7 && count == N);
  for (int i = 0; i < N; i++) CHECK(in[i] == last + i);
  for (int i = 0; i < N; i++) in[i] = rank - i;
  MPI_Isendrecv_replace(in, N, MPI_INT, next, 8, last, MPI_ANY_TAG, comm, &other);
  MPI_Wait(&other, &status);
  CHECK(status.MPI_TAG == 8);
  for (int i = 0; i < N; i++) CHECK(in[i] == last - i);
  MPI_Isendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 7, in, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &other);
  MPI_Wait(&other, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Comm_free(&comm);

  /* Communicators of groups, by a text. */
  MPI_Group world, halves[2];
  MPI_Comm half, both;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int low[1][3] = {{0, size / 2 - 1, 1}}, mine = rank >= size / 2, low_size = size / 2;
  MPI_Group_range_incl(world, low_size > 0, low, &halves[0]);
  MPI_Group_difference(world, halves[0], &halves[1]);
  MPI_Comm_create_from_group(halves[mine], "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN, &half);
  MPI_Comm_size(half, &count);
  CHECK(count == (mine ? size - low_size : low_size));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MIN, half);
  CHECK(sum == (mine ? low_size : 0));
  CHECK(MPI_Send(&rank, 1, MPI_INT, size, 0, half) != MPI_SUCCESS);
  if (low_size > 0) {
    MPI_Intercomm_create_from_groups(halves[mine], 0, halves[!mine], 0, "both", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &both);
    MPI_Comm_remote_size(both, &count);
    CHECK(count == (mine ? low_size : size - low_size));
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MIN, both);
    CHECK(sum == (mine ? 0 : low_size));
    MPI_Comm_free(&both);
  }
  MPI_Comm_free(&half);
  MPI_Finalize();
  if (rank == 0) puts("again fine");
  return 0;
}
