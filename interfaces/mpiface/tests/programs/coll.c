/* Collectives, operators, communicators, groups and grids, each against what it must give. */
#include <mpi.h>

#include "../../../../tests/common/cases.h"

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

/* Beside the program (cases.rs). */
static char table[4096];

static void call(MPI_Comm comm, int rank, int size, struct call *it) {
  double *x = it->input, *y = it->output;
  int v = it->v, n = it->counts[rank], at[64] = {0}, to[64] = {0}, from[64] = {0};
  for (int r = 1; r < size; r++) {
    at[r] = at[r - 1] + it->counts[r - 1];
    to[r] = to[r - 1] + it->to[r - 1];
    from[r] = from[r - 1] + it->from[r - 1];
  }
  switch (it->operation) {
  case BROADCAST: MPI_Bcast(y, n, MPI_DOUBLE, v, comm); break;
  case REDUCE:
    if (rank == v) MPI_Reduce(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, v, comm);
    else MPI_Reduce(y, NULL, n, MPI_DOUBLE, MPI_SUM, v, comm);
    break;
  case ALL_GATHER:
    MPI_Allgather(x, n, MPI_DOUBLE, y, n, MPI_DOUBLE, comm);
    CHECK(is_right(it));
    memset(y, 0, it->outputs * sizeof *y);
    memcpy(y + rank * n, x, n * sizeof *x);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, y, n, MPI_DOUBLE, comm);
    break;
  case ALL_GATHER + VARIED: MPI_Allgatherv(x, n, MPI_DOUBLE, y, it->counts, at, MPI_DOUBLE, comm); break;
  case REDUCE_SCATTER: MPI_Reduce_scatter_block(x, y, n, MPI_DOUBLE, MPI_SUM, comm); break;
  case REDUCE_SCATTER + VARIED: MPI_Reduce_scatter(x, y, it->counts, MPI_DOUBLE, MPI_SUM, comm); break;
  case ALL_REDUCE:
    x = malloc((n + 1) * sizeof *x);
    MPI_Allreduce(y, x, n, MPI_DOUBLE, MPI_SUM, comm);
    CHECK(!memcmp(x, it->wanted, n * sizeof *x));
    free(x);
    MPI_Allreduce(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, comm);
    break;
  case BARRIER: MPI_Barrier(comm); break;
  case SCAN: MPI_Scan(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, comm); break;
  case EXCLUSIVE_SCAN:
    MPI_Exscan(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0) return; /* Nobody says what it has. */
    break;
  case SCATTER: MPI_Scatter(x, n, MPI_DOUBLE, y, n, MPI_DOUBLE, v, comm); break;
  case SCATTER + VARIED: MPI_Scatterv(x, it->counts, at, MPI_DOUBLE, y, n, MPI_DOUBLE, v, comm); break;
  case GATHER: MPI_Gather(x, n, MPI_DOUBLE, y, n, MPI_DOUBLE, v, comm); break;
  case GATHER + VARIED: MPI_Gatherv(x, n, MPI_DOUBLE, y, it->counts, at, MPI_DOUBLE, v, comm); break;
  case ALL_TO_ALL: MPI_Alltoall(x, n, MPI_DOUBLE, y, n, MPI_DOUBLE, comm); break;
  case ALL_TO_ALL + VARIED:
    MPI_Alltoallv(x, it->to, to, MPI_DOUBLE, y, it->from, from, MPI_DOUBLE, comm);
    break;
  case ALL_TO_ALL_IN_PLACE: MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, y, n, MPI_DOUBLE, comm); break;
  case SHIFT:
    v = (v % size + size) % size;
    MPI_Sendrecv_replace(y, n, MPI_DOUBLE, (rank + v) % size, 3, (rank + size - v) % size, 3, comm, MPI_STATUS_IGNORE);
    break;
  default: CHECK(!"a call of the table");
  }
  CHECK(is_right(it));
}

static void all_of(MPI_Comm comm) {
  int rank, size, calls = 0;
  struct call it = {0};
  FILE *file = fopen(table, "r");
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (; file && read_call(file, rank, size, &it); calls++) {
    call(comm, rank, size, &it);
    free_call(&it);
  }
  CHECK(calls > 0 && calls == it.calls);
  fclose(file);
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
  snprintf(table, sizeof table, "%s.table", argv[0]);
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
