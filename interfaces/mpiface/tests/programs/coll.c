/* Collectives, operators, communicators, groups and grids, each against what it must give. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 9); } } while (0)

/* Composition of x -> a x + b: not commutative. */
struct line { long a, b; };
static void compose(void *in, void *inout, int *n, MPI_Datatype *type) {
  struct line *f = in, *g = inout;
  int size;
  MPI_Type_size(*type, &size);
  if (size != sizeof *f) MPI_Abort(MPI_COMM_WORLD, 8);
  for (int i = 0; i < *n; i++) {
    struct line both = {f[i].a * g[i].a % 1009, (f[i].b * g[i].a + g[i].b) % 1009};
    g[i] = both;
  }
}

static void all_of(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int n = 1; n < 20000; n = n * 7 + 3) {
    int *a = malloc(n * size * sizeof *a), *b = malloc(n * size * sizeof *b), *mine = malloc(n * sizeof *mine);
    for (int root = 0; root < size; root++) {
      for (int i = 0; i < n; i++) mine[i] = rank == root ? i + root : -1;
      MPI_Bcast(mine, n, MPI_INT, root, comm);
      CHECK(mine[0] == root && mine[n - 1] == n - 1 + root);
      for (int i = 0; i < n; i++) mine[i] = rank + i;
      MPI_Reduce(mine, a, n, MPI_INT, MPI_SUM, root, comm);
      if (rank == root) CHECK(a[n - 1] == size * (n - 1) + size * (size - 1) / 2);
      MPI_Gather(mine, n, MPI_INT, a, n, MPI_INT, root, comm);
      if (rank == root)
        for (int r = 0; r < size; r++) CHECK(a[r * n] == r && a[r * n + n - 1] == r + n - 1);
      for (int i = 0; i < n * size; i++) a[i] = i + root;
      MPI_Scatter(a, n, MPI_INT, mine, n, MPI_INT, root, comm);
      CHECK(mine[0] == rank * n + root && mine[n - 1] == rank * n + n - 1 + root);
      if (rank == root) MPI_Reduce(MPI_IN_PLACE, mine, n, MPI_INT, MPI_MAX, root, comm);
      else MPI_Reduce(mine, NULL, n, MPI_INT, MPI_MAX, root, comm);
      if (rank == root) CHECK(mine[0] == (size - 1) * n + root);
    }
    for (int i = 0; i < n; i++) mine[i] = rank * 3 + i;
    MPI_Allreduce(MPI_IN_PLACE, mine, n, MPI_INT, MPI_MIN, comm);
    CHECK(mine[0] == 0 && mine[n - 1] == n - 1);
    for (int i = 0; i < n; i++) mine[i] = rank * 3 + i;
    MPI_Allgather(mine, n, MPI_INT, a, n, MPI_INT, comm);
    for (int r = 0; r < size; r++) CHECK(a[r * n + n - 1] == r * 3 + n - 1);
    memset(b, 0, n * size * sizeof *b);
    memcpy(b + rank * n, mine, n * sizeof *b);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, n, MPI_INT, comm);
    CHECK(!memcmp(a, b, n * size * sizeof *a));
    for (int i = 0; i < n * size; i++) a[i] = rank * 100 + i / n;
    MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
    for (int r = 0; r < size; r++) CHECK(b[r * n] == r * 100 + rank && b[r * n + n - 1] == r * 100 + rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, n, MPI_INT, comm);
    CHECK(!memcmp(a, b, n * size * sizeof *a));
    MPI_Scan(mine, b, n, MPI_INT, MPI_SUM, comm);
    CHECK(b[0] == 3 * rank * (rank + 1) / 2);
    MPI_Exscan(mine, b, n, MPI_INT, MPI_SUM, comm);
    if (rank) CHECK(b[0] == 3 * rank * (rank - 1) / 2);
    for (int i = 0; i < n * size; i++) a[i] = i + rank;
    MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_SUM, comm);
    CHECK(b[n - 1] == size * (rank * n + n - 1) + size * (size - 1) / 2);
    free(a); free(b); free(mine);
  }
  /* Uneven forms: rank r has r + 1. */
  int counts[256], displs[256], total = 0, mine[256], all[40000] = {0}, back[256];
  for (int r = 0; r < size; r++) { counts[r] = r + 1; displs[r] = total; total += r + 1; }
  for (int i = 0; i <= rank; i++) mine[i] = rank * 10 + i;
  MPI_Allgatherv(mine, rank + 1, MPI_INT, all, counts, displs, MPI_INT, comm);
  for (int r = 0; r < size; r++) CHECK(all[displs[r] + r] == r * 11);
  MPI_Gatherv(mine, rank + 1, MPI_INT, all, counts, displs, MPI_INT, size - 1, comm);
  MPI_Scatterv(all, counts, displs, MPI_INT, back, rank + 1, MPI_INT, size - 1, comm);
  CHECK(back[rank] == rank * 11);
  int ones[256], places[256], got[256];
  for (int r = 0; r < size; r++) { ones[r] = 1; places[r] = r; mine[r] = rank * 50 + r; }
  MPI_Alltoallv(mine, ones, places, MPI_INT, got, ones, places, MPI_INT, comm);
  for (int r = 0; r < size; r++) CHECK(got[r] == r * 50 + rank);
  for (int i = 0; i < total; i++) all[i] = rank + i;
  MPI_Reduce_scatter(all, got, counts, MPI_INT, MPI_SUM, comm);
  CHECK(got[rank] == size * (displs[rank] + rank) + size * (size - 1) / 2);
  /* A user's operator, not commutative, on a derived type, short and long. */
  MPI_Datatype two;
  MPI_Op op;
  MPI_Type_contiguous(2, MPI_LONG, &two);
  MPI_Type_commit(&two);
  MPI_Op_create(compose, 0, &op);
  for (int n = 1; n < 3000; n += 1499) {
    struct line *f = malloc(n * sizeof *f), *g = malloc(n * sizeof *g), want = {1, 0};
    for (int i = 0; i < n; i++) f[i].a = rank + 2, f[i].b = i % 1009;
    MPI_Allreduce(f, g, n, two, op, comm);
    for (int r = 0; r < size; r++) want.b = (want.b * (r + 2) + n - 1) % 1009, want.a = want.a * (r + 2) % 1009;
    CHECK(g[n - 1].a == want.a && g[n - 1].b == want.b);
    free(f); free(g);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&two);
  struct { double v; int i; } best = {(rank * 7) % 5, rank}, found;
  MPI_Allreduce(&best, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  CHECK(found.v == (size > 2 ? 4 : size > 1 ? 2 : 0));
  MPI_Barrier(comm);
}

int main(int argc, char **argv) {
  int rank, size, result;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  all_of(MPI_COMM_WORLD);
  all_of(MPI_COMM_SELF);
  MPI_Comm other, half, grid, row;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_compare(MPI_COMM_WORLD, other, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_split(other, rank % 2, -rank, &half);
  int its, new_rank;
  MPI_Comm_size(half, &its);
  MPI_Comm_rank(half, &new_rank);
  CHECK(its == (size + 1 - rank % 2) / 2 && new_rank == its - 1 - rank / 2);
  all_of(half);
  MPI_Group world, evens, none;
  MPI_Comm_group(other, &world);
  int list[256], mapped[256], n = 0;
  for (int r = 0; r < size; r += 2) list[n++] = r;
  MPI_Group_incl(world, n, list, &evens);
  MPI_Group_excl(evens, n, (int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, &none);
  CHECK(none == MPI_GROUP_EMPTY);
  MPI_Group_translate_ranks(world, size, (int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, evens, mapped);
  for (int r = 0; r < size; r++) CHECK(mapped[r] == (r % 2 ? MPI_UNDEFINED : r / 2));
  MPI_Comm some;
  MPI_Comm_create(other, evens, &some);
  CHECK((some == MPI_COMM_NULL) == (rank % 2 == 1));
  if (some != MPI_COMM_NULL) { all_of(some); MPI_Comm_free(&some); }
  MPI_Group_free(&evens);
  MPI_Group_free(&world);
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], source, target;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Cart_coords(grid, rank, 2, coords);
  MPI_Cart_rank(grid, coords, &result);
  CHECK(result == rank && coords[1] == rank % dims[1]);
  MPI_Cart_shift(grid, 1, 1, &source, &target);
  CHECK(source == (coords[1] ? rank - 1 : MPI_PROC_NULL));
  int value = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, target, 1, &value, 1, MPI_INT, source, 1, grid, MPI_STATUS_IGNORE);
  CHECK(value == (source == MPI_PROC_NULL ? -1 : source));
  MPI_Cart_sub(grid, (int[]){0, 1}, &row);
  MPI_Comm_size(row, &its);
  CHECK(its == dims[1]);
  all_of(row);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&half);
  MPI_Comm_free(&other);
  if (rank == 0) printf("coll fine\n");
  MPI_Finalize();
  return 0;
}
