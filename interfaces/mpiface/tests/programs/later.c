/* Collectives that complete later, and probes that take their message. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)
#define MOST 16

static void largest(void *a, void *b, int *n, MPI_Datatype *type) {
  for (int i = 0; i < *n; i++)
    if (((int *)a)[i] > ((int *)b)[i]) ((int *)b)[i] = ((int *)a)[i];
}

static void collectives(int rank, int size, MPI_Comm comm) {
  int one = rank + 1, all[MOST], part[MOST], out[MOST], in[MOST], counts[MOST], at[MOST];
  int sum = -1, high = -1, before = -1, upto = -1, got = -1, block = -1, mine = -1;
  int total = size * (size + 1) / 2, flag, root = size - 1, said = rank == root ? 42 : 0;
  MPI_Op op;
  MPI_Datatype types[MOST];
  MPI_Request r[16];
  MPI_Op_create(largest, 1, &op);
  for (int i = 0; i < size; i++) {
    counts[i] = 1;
    at[i] = i;
    part[i] = 10 * rank + i;
    out[i] = 100 * rank + i;
    types[i] = MPI_INT;
  }
  /* All at once, awaited from the last to the first. */
  int n = 0, gathered[MOST], spread[MOST], mixed[MOST];
  MPI_Ibarrier(comm, &r[n++]);
  MPI_Ibcast(&said, 1, MPI_INT, root, comm, &r[n++]);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &r[n++]);
  MPI_Ireduce(&one, &high, 1, MPI_INT, op, root, comm, &r[n++]);
  MPI_Iscan(&one, &upto, 1, MPI_INT, MPI_SUM, comm, &r[n++]);
  MPI_Iexscan(&one, &before, 1, MPI_INT, MPI_SUM, comm, &r[n++]);
  MPI_Iallgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm, &r[n++]);
  MPI_Igather(&one, 1, MPI_INT, gathered, 1, MPI_INT, root, comm, &r[n++]);
  MPI_Iscatter(part, 1, MPI_INT, &got, 1, MPI_INT, root, comm, &r[n++]);
  MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &r[n++]);
  MPI_Ireduce_scatter_block(part, &block, 1, MPI_INT, MPI_SUM, comm, &r[n++]);
  MPI_Ireduce_scatter(part, &mine, counts, MPI_INT, MPI_SUM, comm, &r[n++]);
  MPI_Iallgatherv(&one, 1, MPI_INT, spread, counts, at, MPI_INT, comm, &r[n++]);
  MPI_Ialltoallv(out, counts, at, MPI_INT, mixed, counts, at, MPI_INT, comm, &r[n++]);
  while (n > 0) MPI_Wait(&r[--n], MPI_STATUS_IGNORE);
  CHECK(said == 42 && sum == total && upto == (rank + 1) * (rank + 2) / 2);
  CHECK(rank != root || high == size);
  CHECK(before == (rank ? rank * (rank + 1) / 2 : -1));
  CHECK(got == 10 * root + rank && block == 10 * (total - size) + size * rank && mine == block);
  for (int i = 0; i < size; i++) {
    CHECK(all[i] == i + 1 && spread[i] == i + 1 && (rank != root || gathered[i] == i + 1));
    CHECK(in[i] == 100 * i + rank && mixed[i] == in[i]);
  }
  /* In place, and by tests; two of one kind under way. */
  int a = one, b = 2 * one;
  for (int i = 0; i < size; i++) { all[i] = i == rank ? one : 0; mixed[i] = out[i]; at[i] = 4 * i; }
  MPI_Iallreduce(MPI_IN_PLACE, &a, 1, MPI_INT, MPI_SUM, comm, &r[0]);
  MPI_Iallreduce(MPI_IN_PLACE, &b, 1, MPI_INT, MPI_SUM, comm, &r[1]);
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm, &r[2]);
  MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mixed, 1, MPI_INT, comm, &r[3]);
  MPI_Ialltoallw(out, counts, at, types, spread, counts, at, types, comm, &r[4]);
  do MPI_Testall(5, r, &flag, MPI_STATUSES_IGNORE); while (!flag);
  CHECK(a == total && b == 2 * total);
  for (int i = 0; i < size; i++) CHECK(all[i] == i + 1 && mixed[i] == in[i] && spread[i] == in[i]);
  MPI_Op_free(&op);
}

static void probes(int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, value = rank, got = -1, flag, n;
  static int big[9000];
  MPI_Message message, second;
  MPI_Status status;
  MPI_Request request[2];
  MPI_Isend(&value, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &request[0]);
  big[8999] = rank;
  MPI_Isend(big, 9000, MPI_INT, to, 3, MPI_COMM_WORLD, &request[1]);
  MPI_Mprobe(from, 3, MPI_COMM_WORLD, &message, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 1 && status.MPI_SOURCE == from);
  /* The message is taken: the next one is the long one. */
  do MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &second, &status); while (!flag);
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 9000);
  static int room[9000];
  MPI_Mrecv(room, 9000, MPI_INT, &second, &status);
  CHECK(room[8999] == from && second == MPI_MESSAGE_NULL);
  MPI_Request last;
  MPI_Imrecv(&got, 1, MPI_INT, &message, &last);
  MPI_Wait(&last, &status);
  CHECK(got == from && status.MPI_TAG == 3);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

/* Short messages by rings and longer ones by queues keep their order. */
static void order(int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  enum { COUNT = 60 };
  static int out[COUNT][60], in[60];
  MPI_Request request[COUNT];
  MPI_Status status;
  for (int i = 0; i < COUNT; i++) {
    int n = i % 5 == 4 ? 60 : 1 + i % 3;
    for (int k = 0; k < n; k++) out[i][k] = i;
    if (i % 7 == 6) MPI_Issend(out[i], n, MPI_INT, to, 1, MPI_COMM_WORLD, &request[i]);
    else MPI_Isend(out[i], n, MPI_INT, to, 1, MPI_COMM_WORLD, &request[i]);
  }
  for (int i = 0; i < COUNT; i++) {
    int n, flag;
    if (i % 11 == 3) do MPI_Iprobe(from, 1, MPI_COMM_WORLD, &flag, &status); while (!flag);
    MPI_Recv(in, 60, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == (i % 5 == 4 ? 60 : 1 + i % 3) && in[0] == i && in[n - 1] == i);
  }
  MPI_Waitall(COUNT, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  for (int i = 0; i < 20; i++) {
    int in_comm;
    collectives(rank, size, MPI_COMM_WORLD);
    MPI_Comm_rank(comm, &in_comm);
    collectives(in_comm, size, comm);
    probes(rank, size);
    order(rank, size);
  }
  if (rank == 0) printf("later fine\n");
  MPI_Finalize();
  return 0;
}
