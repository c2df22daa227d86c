/* Cancel, buffered sends, packing, group algebra, all-to-all with types, names and attributes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 9); } } while (0)

int main(int argc, char **argv) {
  int rank, size, flag, a = 0, result;
  MPI_Status status;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Irecv(&a, 1, MPI_INT, last, 99, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
  /* All send first, longer than any eager limit: complete, because buffered. */
  int n = 100000, *out = malloc(n * sizeof *out), *in = malloc(n * sizeof *in), room;
  void *buffer = malloc(n * sizeof *out + MPI_BSEND_OVERHEAD), *back;
  for (int i = 0; i < n; i++) out[i] = rank + i;
  MPI_Buffer_attach(buffer, n * sizeof *out + MPI_BSEND_OVERHEAD);
  MPI_Bsend(out, n, MPI_INT, next, 4, MPI_COMM_WORLD);
  MPI_Recv(in, n, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[n - 1] == last + n - 1);
  MPI_Buffer_detach(&back, &room);
  CHECK(back == buffer);
  /* Packing. */
  char packed[64];
  int position = 0;
  double d = rank + .25;
  MPI_Pack(&rank, 1, MPI_INT, packed, 64, &position, MPI_COMM_WORLD);
  MPI_Pack(&d, 1, MPI_DOUBLE, packed, 64, &position, MPI_COMM_WORLD);
  CHECK(position == 12);
  MPI_Sendrecv_replace(packed, position, MPI_PACKED, next, 5, last, 5, MPI_COMM_WORLD, &status);
  position = 0;
  MPI_Unpack(packed, 64, &position, &a, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(packed, 64, &position, &d, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  CHECK(a == last && d == last + .25);
  /* Groups. */
  MPI_Group world, odd, even, all;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int ranges[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(world, 1, ranges, &even);
  MPI_Group_range_excl(world, 1, ranges, &odd);
  MPI_Group_union(odd, even, &all);
  MPI_Group_compare(all, world, &result);
  CHECK(result == (size > 1 ? MPI_SIMILAR : MPI_IDENT));
  MPI_Group_intersection(odd, even, &all);
  CHECK(all == MPI_GROUP_EMPTY);
  MPI_Group_difference(world, odd, &all);
  MPI_Group_compare(all, even, &result);
  CHECK(result == MPI_IDENT);
  /* All-to-all with a type and a displacement in bytes each. */
  int *counts = malloc(size * sizeof *counts), *at = malloc(size * sizeof *at);
  MPI_Datatype *types = malloc(size * sizeof *types);
  for (int r = 0; r < size; r++) { counts[r] = 1; at[r] = 4 * r; types[r] = MPI_INT; out[r] = rank * 100 + r; }
  MPI_Alltoallw(out, counts, at, types, in, counts, at, types, MPI_COMM_WORLD);
  for (int r = 0; r < size; r++) CHECK(in[r] == r * 100 + rank);
  /* Names and attributes. */
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &result);
  CHECK(!strcmp(name, "MPI_COMM_WORLD"));
  int *bound;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  CHECK(flag && *bound >= 32767);
  if (rank == 0) printf("more fine\n");
  MPI_Finalize();
  return 0;
}
