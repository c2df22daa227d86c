/* Long reductions that are started: the bits of the blocking ones, by operators that round, that
 * have an order, that the library has no loop for, at lengths around the borders of what is shared
 * out and of what is combined at once, in place and apart, aligned and not, in order and many at
 * once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: rank %d, type %s, %d elements, in place: %d\n", __FILE__, __LINE__, #x, rank, type->name, n, in_place); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)
enum { MOST = 16, SLACK = 64, CALLS = 5, BLOCK = 8192 };
static int rank, size;

typedef struct {
  const char *name;
  MPI_Datatype type;
  MPI_Op op;
  int bytes, used, off; /* of an element: all, those that count; of the address */
} kind;

/* c = b after a, of x -> p x + q. */
static void after(void *a, void *b, int *n, MPI_Datatype *type) {
  unsigned *x = a, *y = b;
  for (int i = 0; i < *n; i++, x += 2, y += 2) y[1] += x[1] * y[0], y[0] *= x[0];
}
static unsigned mixed(unsigned seed) {
  seed = (seed ^ seed >> 16) * 0x7feb352du;
  seed = (seed ^ seed >> 15) * 0x846ca68bu;
  return seed ^ seed >> 16;
}
/* This rank's element i: sums and products of such numbers depend on their order. */
static void put(const kind *type, char *to, int i) {
  unsigned x = mixed((unsigned)(i * MOST + rank));
  double d = (x % 2 ? 1.0 : -1.0) * (1.0 + x / 4294967296.0) * (x % 7 == 0 ? 1e12 : 1);
  float f = (float)(0.5 + x / 4294967296.0);
  long double whole = x % 1000;
  unsigned pair[2] = {x, mixed(x)};
  struct { double value; int place; } of = {(double)(x % 3), rank};
  if (type->type == MPI_DOUBLE) memcpy(to, &d, sizeof d);
  else if (type->type == MPI_FLOAT) memcpy(to, &f, sizeof f);
  else if (type->type == MPI_LONG_DOUBLE) memcpy(to, &whole, sizeof whole);
  else if (type->type == MPI_DOUBLE_INT) memcpy(to, &of, sizeof of);
  else memcpy(to, pair, (size_t)type->bytes);
}

/* Whether so many elements have the same bits. */
static int same(const kind *type, const char *a, const char *b, int n) {
  for (int i = 0; i < n; i++, a += type->bytes, b += type->bytes)
    if (memcmp(a, b, (size_t)type->used)) return 0;
  return 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Datatype pair;
  MPI_Op map;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(after, 0, &map);
  const kind kinds[] = {
    {"double", MPI_DOUBLE, MPI_SUM, 8, 8, 0}, {"float", MPI_FLOAT, MPI_PROD, 4, 4, 0},
    {"short", MPI_SHORT, MPI_BXOR, 2, 2, 0}, {"long double", MPI_LONG_DOUBLE, MPI_SUM, 16, 10, 0},
    {"map", pair, map, 8, 8, 0}, {"odd double", MPI_DOUBLE, MPI_SUM, 8, 8, 4},
    {"double and int", MPI_DOUBLE_INT, MPI_MAXLOC, 16, 12, 0},
  };
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const kind *type = &kinds[k];
    int block = BLOCK / type->bytes, least = 2048 / type->bytes + 1; /* as many as are lent */
    int lengths[] = {least, least + size, size * block - 1, size * block, size * block + 1, size * (block + 1), 2 * size * block + 7};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) for (int in_place = 0; in_place < 2; in_place++) {
      int n = lengths[l], root = (int)l % size, counts[MOST];
      size_t each = (size_t)type->bytes, bytes = (size_t)n * each;
      /* Uneven parts, of which one is empty. */
      for (int r = 0, left = n; r < size; left -= counts[r++])
        counts[r] = r == size - 1 ? left : r == 1 ? 0 : (int)(mixed((unsigned)(n + r)) % (unsigned)(left + 1));
      char *own = calloc(bytes + SLACK, 1), *values = own + type->off, *kept = calloc(bytes + SLACK, 1);
      char *blocking[CALLS], *room[CALLS], *started[CALLS];
      for (int i = 0; i < n; i++) put(type, values + (size_t)i * each, i);
      memcpy(kept, own, bytes + SLACK);
      for (int i = 0; i < CALLS; i++) {
        blocking[i] = malloc(bytes + SLACK);
        room[i] = malloc(bytes + SLACK);
        started[i] = room[i] + type->off;
        memset(blocking[i], 7, bytes + SLACK);
        memset(room[i], 7, bytes + SLACK);
        if (in_place) memcpy(started[i], values, bytes), memcpy(blocking[i], values, bytes);
      }
      void *from = in_place ? MPI_IN_PLACE : values, *at_root = rank == root ? from : values;
      MPI_Comm w = MPI_COMM_WORLD;
      MPI_Allreduce(from, blocking[0], n, type->type, type->op, w);
      MPI_Reduce(at_root, blocking[1], n, type->type, type->op, root, w);
      MPI_Reduce_scatter(from, blocking[2], counts, type->type, type->op, w);
      MPI_Scan(from, blocking[3], n, type->type, type->op, w);
      MPI_Exscan(from, blocking[4], n, type->type, type->op, w);
      MPI_Request of[CALLS];
      for (int i = 0; i < CALLS; i++) {
        switch (i) {
        case 0: MPI_Iallreduce(from, started[0], n, type->type, type->op, w, &of[0]); break;
        case 1: MPI_Ireduce(at_root, started[1], n, type->type, type->op, root, w, &of[1]); break;
        case 2: MPI_Ireduce_scatter(from, started[2], counts, type->type, type->op, w, &of[2]); break;
        case 3: MPI_Iscan(from, started[3], n, type->type, type->op, w, &of[3]); break;
        case 4: MPI_Iexscan(from, started[4], n, type->type, type->op, w, &of[4]); break;
        }
        if (l % 2) MPI_Wait(&of[i], MPI_STATUS_IGNORE);
      }
      MPI_Waitall(CALLS, of, MPI_STATUSES_IGNORE);
      size_t part = (size_t)counts[rank] * each;
      CHECK(same(type, blocking[0], started[0], n));
      CHECK(rank != root || same(type, blocking[1], started[1], n));
      CHECK(same(type, blocking[2], started[2], counts[rank]));
      CHECK(same(type, blocking[3], started[3], n));
      CHECK(rank == 0 || same(type, blocking[4], started[4], n));
      /* Nothing else has been written. */
      CHECK(!memcmp(kept, own, bytes + SLACK));
      for (int i = 0; i < CALLS; i++) {
        for (size_t b = i == 2 && !in_place ? part : bytes; b + (size_t)type->off < bytes + SLACK; b++)
          CHECK(started[i][b] == 7);
        free(blocking[i]);
        free(room[i]);
      }
      free(own);
      free(kept);
    }
  }
  MPI_Op_free(&map);
  MPI_Type_free(&pair);
  MPI_Finalize();
  if (rank == 0) puts("folds fine");
  return 0;
}
