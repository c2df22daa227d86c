/* Point to point: a ring, order, tags, any source, probe, types, self, long and short messages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 9); } } while (0)

int main(int argc, char **argv) {
  int rank, size;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  /* All lengths around the eager limit, by Isend and Irecv; the ring. */
  for (int n = 1; n < 300000; n = n * 3 + 1) {
    int *out = malloc(n * sizeof *out), *in = calloc(n, sizeof *in), count;
    for (int i = 0; i < n; i++) out[i] = rank * 1000 + i;
    MPI_Request requests[2];
    MPI_Irecv(in, n, MPI_INT, last, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Status both[2];
    MPI_Waitall(2, requests, both);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    MPI_Get_count(&both[0], MPI_INT, &count);
    CHECK(count == n && both[0].MPI_SOURCE == last && both[0].MPI_TAG == 5);
    for (int i = 0; i < n; i++) CHECK(in[i] == last * 1000 + i);
    MPI_Sendrecv(out, n, MPI_INT, last, 6, in, n, MPI_INT, next, 6, MPI_COMM_WORLD, &status);
    CHECK(in[n - 1] == next * 1000 + n - 1);
    MPI_Sendrecv_replace(out, n, MPI_INT, next, 7, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(out[0] == last * 1000);
    free(out);
    free(in);
  }
  /* Tags out of order; a message to itself; the larger buffer. */
  int a = 1, b = 2, c[10] = {0}, flag, count;
  MPI_Request self[2];
  MPI_Isend(&a, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &self[0]);
  MPI_Isend(&b, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &self[1]);
  MPI_Iprobe(rank, 2, MPI_COMM_WORLD, &flag, &status);
  CHECK(flag);
  MPI_Recv(c, 10, MPI_INT, rank, 2, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(c[0] == 2 && count == 1);
  MPI_Recv(c, 10, MPI_INT, rank, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  CHECK(c[0] == 1 && status.MPI_TAG == 1 && status.MPI_SOURCE == rank);
  MPI_Waitall(2, self, MPI_STATUSES_IGNORE);
  /* Any source: rank 0 collects, in order for each sender. */
  if (rank == 0) {
    int seen[256] = {0};
    for (int i = 0; i < (size - 1) * 20; i++) {
      int value;
      MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
      MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 9, MPI_COMM_WORLD, &status);
      CHECK(value == seen[status.MPI_SOURCE]++);
    }
  } else {
    for (int i = 0; i < 20; i++)
      if (i % 2) MPI_Ssend(&i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
      else MPI_Send(&i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  }
  /* A column of a matrix into a row; a structure; a part of an array. */
  double matrix[4][5], row[4] = {0};
  for (int i = 0; i < 20; i++) matrix[i / 5][i % 5] = i + rank;
  MPI_Datatype column, pair, part;
  MPI_Type_vector(4, 1, 5, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Sendrecv(&matrix[0][2], 1, column, next, 4, row, 4, MPI_DOUBLE, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4; i++) CHECK(row[i] == 5 * i + 2 + last);
  struct mixed { int i; double d; char text[3]; } one = {rank, rank + .5, "ab"}, two[2];
  int lengths[3] = {1, 1, 3}, size_of;
  MPI_Aint at[3] = {0, 8, 16}, lb, extent;
  MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Type_create_struct(3, lengths, at, types, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_size(pair, &size_of);
  MPI_Type_get_extent(pair, &lb, &extent);
  CHECK(size_of == 15 && extent == sizeof one && lb == 0);
  MPI_Sendrecv(&one, 1, pair, next, 3, two, 2, pair, last, 3, MPI_COMM_WORLD, &status);
  MPI_Get_elements(&status, pair, &count);
  CHECK(count == 5 && two[0].i == last && two[0].d == last + .5 && !strcmp(two[0].text, "ab"));
  int sizes[2] = {4, 5}, subs[2] = {2, 3}, starts[2] = {1, 2};
  double six[6];
  MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_DOUBLE, &part);
  MPI_Type_commit(&part);
  MPI_Sendrecv(matrix, 1, part, rank, 2, six, 6, MPI_DOUBLE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(six[0] == 7 + rank && six[2] == 9 + rank && six[3] == 12 + rank && six[5] == 14 + rank);
  MPI_Type_free(&part);
  MPI_Type_free(&pair);
  MPI_Type_free(&column);
  /* Nobody; Test loops; Waitany. */
  MPI_Send(&a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(&a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Request many[3];
  int values[3], index;
  for (int i = 0; i < 3; i++) MPI_Irecv(&values[i], 1, MPI_INT, last, 20 + i, MPI_COMM_WORLD, &many[i]);
  for (int i = 2; i >= 0; i--) MPI_Send(&i, 1, MPI_INT, next, 20 + i, MPI_COMM_WORLD);
  for (int i = 0; i < 3; i++) {
    MPI_Waitany(3, many, &index, &status);
    CHECK(index >= 0 && values[index] == index);
  }
  MPI_Waitany(3, many, &index, &status);
  CHECK(index == MPI_UNDEFINED);
  MPI_Irecv(&a, 1, MPI_INT, last, 30, MPI_COMM_WORLD, &many[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Test(&many[0], &flag, &status);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, next, 30, MPI_COMM_WORLD);
  do MPI_Test(&many[0], &flag, &status); while (!flag);
  CHECK(a == last);
  /* Errors that return. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Send(&a, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
  CHECK(MPI_Send(&a, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
  CHECK(MPI_Send(&a, 1, (MPI_Datatype)77777, 0, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
  if (rank == 0) printf("p2p fine\n");
  MPI_Finalize();
  return 0;
}
