/* One buffer for the data and the room of a call: an error of each rank that has both, whatever the
 * call and its form; and what is no error. With the name of a case, its error ends the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    if (!(x)) {                                                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                      \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                \
    }                                                                                              \
  } while (0)

#define MOST 16
static double a[8 * MOST * MOST], b[8 * MOST * MOST];
static int counts[MOST], starts[MOST], bytes[MOST], rank, size;
static MPI_Datatype types[MOST];
static MPI_Aint far[MOST];
static MPI_Comm comm, ring;
static MPI_Request r;

/* The three forms of a call refuse these arguments. */
#define NO(name, start, ...)                                                                       \
  do {                                                                                             \
    CHECK(MPI_##name(__VA_ARGS__) == MPI_ERR_BUFFER);                                              \
    CHECK(MPI_##start(__VA_ARGS__, &r) == MPI_ERR_BUFFER);                                         \
    CHECK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &r) == MPI_ERR_BUFFER);                    \
  } while (0)

/* They take them. */
#define YES(name, start, ...)                                                                      \
  do {                                                                                             \
    CHECK(MPI_##name(__VA_ARGS__) == MPI_SUCCESS);                                                 \
    CHECK(MPI_##start(__VA_ARGS__, &r) == MPI_SUCCESS);                                            \
    MPI_Wait(&r, MPI_STATUS_IGNORE);                                                               \
    CHECK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &r) == MPI_SUCCESS);                       \
    MPI_Start(&r);                                                                                 \
    MPI_Wait(&r, MPI_STATUS_IGNORE);                                                               \
    MPI_Request_free(&r);                                                                          \
  } while (0)

#define D MPI_DOUBLE

/* `x` is refused with itself, whatever its length. (No other rank is in the call: so all fails at
 * once.) */
static void identical(double *x, int n) {
  for (int i = 0; i < MOST; i++)
    counts[i] = n, starts[i] = i * n, bytes[i] = i * n * 8, far[i] = i * n * 8, types[i] = D;
  NO(Allreduce, Iallreduce, x, x, n, D, MPI_SUM, comm);
  NO(Scan, Iscan, x, x, n, D, MPI_SUM, comm);
  NO(Reduce_scatter_block, Ireduce_scatter_block, x, x, n, D, MPI_SUM, comm);
  NO(Reduce_scatter, Ireduce_scatter, x, x, counts, D, MPI_SUM, comm);
  NO(Reduce, Ireduce, x, x, n, D, MPI_SUM, rank, comm);
  NO(Gather, Igather, x, n, D, x, n, D, rank, comm);
  NO(Gatherv, Igatherv, x, n, D, x, counts, starts, D, rank, comm);
  NO(Scatter, Iscatter, x, n, D, x, n, D, rank, comm);
  NO(Scatterv, Iscatterv, x, counts, starts, D, x, n, D, rank, comm);
  NO(Allgather, Iallgather, x, n, D, x, n, D, comm);
  NO(Allgatherv, Iallgatherv, x, n, D, x, counts, starts, D, comm);
  NO(Alltoall, Ialltoall, x, n, D, x, n, D, comm);
  NO(Alltoallv, Ialltoallv, x, counts, starts, D, x, counts, starts, D, comm);
  NO(Alltoallw, Ialltoallw, x, counts, bytes, types, x, counts, bytes, types, comm);
  NO(Neighbor_allgather, Ineighbor_allgather, x, n, D, x, n, D, ring);
  NO(Neighbor_allgatherv, Ineighbor_allgatherv, x, n, D, x, counts, starts, D, ring);
  NO(Neighbor_alltoall, Ineighbor_alltoall, x, n, D, x, n, D, ring);
  NO(Neighbor_alltoallv, Ineighbor_alltoallv, x, counts, starts, D, x, counts, starts, D, ring);
  NO(Neighbor_alltoallw, Ineighbor_alltoallw, x, counts, far, types, x, counts, far, types, ring);
  CHECK(MPI_Allgather_c(x, n, D, x, n, D, comm) == MPI_ERR_BUFFER);
  CHECK(MPI_Reduce_local(x, x, n, D, MPI_SUM) == MPI_ERR_BUFFER);
  CHECK(MPI_Sendrecv(x, n, D, rank, 1, x, n, D, rank, 1, comm, MPI_STATUS_IGNORE) ==
        MPI_ERR_BUFFER);
  CHECK(MPI_Isendrecv(x, n, D, rank, 1, x, n, D, rank, 1, comm, &r) == MPI_ERR_BUFFER);
  /* The first rank's result is not written: it makes a request, as all ranks have to. */
  if (rank > 0) {
    NO(Exscan, Iexscan, x, x, n, D, MPI_SUM, comm);
  } else {
    CHECK(MPI_Exscan_init(x, x, n, D, MPI_SUM, comm, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    MPI_Request_free(&r);
  }
}

/* Buffers that share a part. Calls that move short data in their short way see no more than equal
 * addresses, and where the root's block lies in a gather. */
static void partly(int n) {
  double *mid = a + 1;
  NO(Gather, Igather, mid, n, D, a, n, D, rank, comm);
  CHECK(MPI_Iallgather(mid, n, D, a, n, D, comm, &r) == MPI_ERR_BUFFER);
  CHECK(MPI_Ialltoall(mid, n, D, a, n, D, comm, &r) == MPI_ERR_BUFFER);
  CHECK(MPI_Ialltoall(a, n, D, mid, n, D, comm, &r) == MPI_ERR_BUFFER);
  CHECK(MPI_Iscatter(a, n, D, mid, n, D, rank, comm, &r) == MPI_ERR_BUFFER);
  CHECK(MPI_Ialltoallv(mid, counts, starts, D, a, counts, starts, D, comm, &r) == MPI_ERR_BUFFER);
  CHECK(MPI_Ineighbor_alltoall(mid, n, D, a, n, D, ring, &r) == MPI_ERR_BUFFER);
  CHECK(MPI_Alltoall_init(mid, n, D, a, n, D, comm, MPI_INFO_NULL, &r) == MPI_ERR_BUFFER);
  if (n > 1) {
    CHECK(MPI_Iallreduce(mid, a, n, D, MPI_SUM, comm, &r) == MPI_ERR_BUFFER);
    CHECK(MPI_Sendrecv(mid, n, D, rank, 1, a, n, D, rank, 1, comm, MPI_STATUS_IGNORE) ==
          MPI_ERR_BUFFER);
  }
  /* With gaps on one side. */
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 2, D, &pair);
  MPI_Type_commit(&pair);
  NO(Allgather, Iallgather, a + 2, 1, pair, a, 2, D, comm);
  NO(Allgather, Iallgather, a, 1, pair, a, 2, D, comm);
  MPI_Type_free(&pair);
}

static void legal(int n) {
  memset(a, 0, sizeof a);
  for (int i = 0; i < size; i++)
    counts[i] = n, starts[i] = i * n, bytes[i] = (size + i) * n * 8, types[i] = D;
  YES(Allreduce, Iallreduce, MPI_IN_PLACE, a, n, D, MPI_SUM, comm);
  YES(Allgather, Iallgather, MPI_IN_PLACE, 0, D, a, n, D, comm);
  YES(Alltoall, Ialltoall, MPI_IN_PLACE, 0, D, a, n, D, comm);
  YES(Gather, Igather, rank ? a : MPI_IN_PLACE, n, D, rank ? NULL : a, n, D, 0, comm);
  YES(Scatter, Iscatter, a, n, D, rank ? a : MPI_IN_PLACE, n, D, 0, comm);
  /* Not read, or not written, by these ranks. */
  YES(Gather, Igather, rank ? a : b, n, D, a, n, D, 0, comm);
  YES(Scatter, Iscatter, a, n, D, rank ? a : b, n, D, 0, comm);
  YES(Reduce, Ireduce, rank ? a : b, a, n, D, MPI_SUM, 0, comm);
  YES(Exscan, Iexscan, rank ? b : a, a, n, D, MPI_SUM, comm);
  /* No data. */
  YES(Alltoall, Ialltoall, a, 0, D, a, 0, D, comm);
  YES(Allreduce, Iallreduce, a, a, 0, D, MPI_SUM, comm);
  /* Side by side, and by one address with displacements. */
  YES(Allgather, Iallgather, a + n * size, n, D, a, n, D, comm);
  YES(Alltoall, Ialltoall, a, n, D, a + n * size, n, D, comm);
  int first[MOST], second[MOST], none[MOST] = {0};
  for (int i = 0; i < size; i++)
    first[i] = i * n, second[i] = (size + i) * n;
  YES(Alltoallv, Ialltoallv, a, counts, first, D, a, counts, second, D, comm);
  YES(Alltoallv, Ialltoallv, a, none, first, D, a, none, first, D, comm);
  for (int i = 0; i < size; i++)
    first[i] *= 8;
  YES(Alltoallw, Ialltoallw, a, counts, first, types, a, counts, bytes, types, comm);
  /* Even and odd elements of one array, by datatypes of one address, too. */
  MPI_Datatype even, odd;
  int disps[4] = {1, 3, 5, 7};
  MPI_Type_vector(4, 1, 2, D, &even);
  MPI_Type_create_resized(even, 0, 64, &even);
  MPI_Type_create_indexed_block(4, 1, disps, D, &odd);
  MPI_Type_create_resized(odd, 0, 64, &odd);
  MPI_Type_commit(&even);
  MPI_Type_commit(&odd);
  for (int i = 0; i < 4; i++)
    a[2 * i] = 10 * rank + i;
  YES(Alltoall, Ialltoall, a, 1, even, a, 1, odd, comm);
  YES(Allgather, Iallgather, a, 1, even, a + 1, 1, even, comm);
  for (int i = 0; i < 4 * size; i++)
    CHECK(a[2 * i + 1] == 10 * (i / 4) + i % 4);
  MPI_Type_free(&even);
  MPI_Type_free(&odd);
  /* To nobody, or from there. */
  CHECK(!MPI_Sendrecv(a, n, D, MPI_PROC_NULL, 1, a, n, D, MPI_PROC_NULL, 1, comm,
                      MPI_STATUS_IGNORE));
  CHECK(!MPI_Sendrecv(a, n, D, rank, 1, a + n, n, D, rank, 1, comm, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc > 1) MPI_Alltoall(a, 1, D, a, 1, D, comm);
  int period = 1;
  MPI_Cart_create(comm, 1, &size, &period, 0, &ring);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int n = 1; n <= 7; n += 2) {
    identical(a, n);
    if (size > 1) partly(n);
    legal(n);
  }
  if (rank == 0) printf("apart fine\n");
  MPI_Finalize();
  return 0;
}
