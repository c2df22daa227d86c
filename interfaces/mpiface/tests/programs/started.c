/* Collectives that are started: of random kinds and sizes, many at once, on several communicators,
 * awaited or tested in random orders, each rank in its own. Every element is compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)
enum { OPEN = 24, MOST = 16, COMMS = 3 };

/* The same numbers at every rank: what is called; and a rank's own: when it awaits what. */
static unsigned long long common = 88172645463325252ull, own;
static unsigned from(unsigned long long *state, unsigned n) {
  *state ^= *state << 13; *state ^= *state >> 7; *state ^= *state << 17;
  return (unsigned)(*state >> 20) % n;
}

/* c = b after a, of 2 by 2 matrices without their order: not commutative. */
static void after(void *a, void *b, int *n, MPI_Datatype *type) {
  unsigned *x = a, *y = b;
  for (int i = 0; i < *n; i++, x += 4, y += 4) {
    unsigned p = x[0] * y[0] + x[1] * y[2], q = x[0] * y[1] + x[1] * y[3];
    unsigned r = x[2] * y[0] + x[3] * y[2], s = x[2] * y[1] + x[3] * y[3];
    y[0] = p; y[1] = q; y[2] = r; y[3] = s;
  }
}
static unsigned value(unsigned seed, int rank, size_t i) {
  return (seed * 2654435761u + (unsigned)rank * 40503u + (unsigned)i * 2246822519u) >> 3;
}

static MPI_Comm comms[COMMS];
static MPI_Datatype matrix, spaced;
static MPI_Op product;

enum { BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, ALLTOALLV, REDUCE, ALLREDUCE, SCAN, EXSCAN, BLOCK, PRODUCT, GAPS, BCAST_GAPS, KINDS };
typedef struct {
  int kind, comm, root, in_place, count;
  unsigned seed;
  unsigned *out, *in;
  int counts[MOST], starts[MOST];
} call;

/* The product of these ranks' matrices, element i. */
static void wanted_product(unsigned seed, int ranks, size_t i, unsigned *to) {
  unsigned next[4];
  for (int k = 0; k < 4; k++) to[k] = value(seed, ranks - 1, 4 * i + (unsigned)k);
  for (int r = ranks - 2, one = 1; r >= 0; r--) {
    for (int k = 0; k < 4; k++) next[k] = value(seed, r, 4 * i + (unsigned)k);
    after(next, to, &one, 0);
  }
}

static MPI_Request begin(call *c) {
  int rank, size, n = c->count;
  MPI_Comm w = comms[c->comm];
  MPI_Request r;
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &size);
  size_t all = 4 * (size_t)n * (size_t)size + 64;
  c->out = malloc(all * sizeof *c->out);
  c->in = malloc(all * sizeof *c->in);
  for (size_t i = 0; i < all; i++) { c->out[i] = value(c->seed, rank, i); c->in[i] = 77; }
  void *x = c->out, *y = c->in, *inside = c->in_place ? MPI_IN_PLACE : x;
  MPI_Datatype u = MPI_UNSIGNED;
  if (c->in_place) switch (c->kind) { /* the rank's values lie where the results go */
    case GATHER: if (rank != c->root) inside = x; /* fall through */
    case ALLGATHER: memcpy(c->in + rank * n, c->out, 4 * (size_t)n); break;
    case REDUCE: if (rank != c->root) inside = x; /* fall through */
    default: memcpy(c->in, c->out, 4 * all);
  }
  switch (c->kind) {
  case BARRIER: MPI_Ibarrier(w, &r); break;
  case BCAST: MPI_Ibcast(rank == c->root ? x : y, n, u, c->root, w, &r); break;
  case GATHER: MPI_Igather(inside, n, u, y, n, u, c->root, w, &r); break;
  case SCATTER: MPI_Iscatter(x, n, u, y, n, u, c->root, w, &r); break;
  case ALLGATHER: MPI_Iallgather(inside, n, u, y, n, u, w, &r); break;
  case ALLTOALL: MPI_Ialltoall(inside, n, u, y, n, u, w, &r); break;
  case ALLTOALLV: /* rank a gives b min(n, a + b) elements */
    for (int i = 0; i < size; i++) { c->counts[i] = n < rank + i ? n : rank + i; c->starts[i] = i * n; }
    MPI_Ialltoallv(inside, c->counts, c->starts, u, y, c->counts, c->starts, u, w, &r);
    break;
  case REDUCE: MPI_Ireduce(inside, y, n, u, MPI_SUM, c->root, w, &r); break;
  case ALLREDUCE: MPI_Iallreduce(inside, y, n, u, MPI_SUM, w, &r); break;
  case SCAN: MPI_Iscan(inside, y, n, u, MPI_SUM, w, &r); break;
  case EXSCAN: MPI_Iexscan(inside, y, n, u, MPI_SUM, w, &r); break;
  case BLOCK: MPI_Ireduce_scatter_block(inside, y, n, u, MPI_SUM, w, &r); break;
  case PRODUCT: MPI_Iallreduce(inside, y, n, matrix, product, w, &r); break;
  case GAPS: MPI_Iallgather(x, n, spaced, y, n, u, w, &r); break;
  default: MPI_Ibcast(rank == c->root ? x : y, n, spaced, c->root, w, &r); break;
  }
  return r;
}

static void end(call *c) {
  int rank, size;
  MPI_Comm_rank(comms[c->comm], &rank);
  MPI_Comm_size(comms[c->comm], &size);
  size_t n = (size_t)c->count, kind = (size_t)c->kind;
  for (size_t i = 0; i < n; i++) {
    unsigned sum = 0, before = 0, upto = 0, block = 0;
    for (int r = 0; r < size; r++) {
      unsigned v = value(c->seed, r, i);
      if (r < rank) before += v;
      if (r <= rank) upto += v;
      sum += v;
      block += value(c->seed, r, (size_t)rank * n + i);
    }
    if (kind == BCAST && rank != c->root) CHECK(c->in[i] == value(c->seed, c->root, i));
    if (kind == BCAST_GAPS && rank != c->root)
      CHECK(c->in[2 * i] == value(c->seed, c->root, 2 * i) && c->in[2 * i + 1] == 77);
    if (kind == SCATTER) CHECK(c->in[i] == value(c->seed, c->root, (size_t)rank * n + i));
    if (kind == REDUCE && rank == c->root) CHECK(c->in[i] == sum);
    if (kind == ALLREDUCE) CHECK(c->in[i] == sum);
    if (kind == SCAN) CHECK(c->in[i] == upto);
    if (kind == EXSCAN && rank) CHECK(c->in[i] == before);
    if (kind == BLOCK) CHECK(c->in[i] == block);
    if (kind == PRODUCT) {
      unsigned want[4];
      wanted_product(c->seed, size, i, want);
      CHECK(!memcmp(want, c->in + 4 * i, sizeof want));
    }
    for (int r = 0; r < size; r++) {
      size_t at = (size_t)r * n + i;
      if ((kind == GATHER && rank == c->root) || kind == ALLGATHER) CHECK(c->in[at] == value(c->seed, r, i));
      if (kind == GAPS) CHECK(c->in[at] == value(c->seed, r, 2 * i));
      if (kind == ALLTOALL) CHECK(c->in[at] == value(c->seed, r, (size_t)rank * n + i));
      if (kind == ALLTOALLV && (int)i < rank + r) CHECK(c->in[at] == value(c->seed, r, (size_t)rank * n + i));
    }
  }
  free(c->out);
  free(c->in);
}

/* Lengths on both sides of what lies in a card's lines, in a card, and beyond. */
static int length(void) {
  static const int bounds[] = {1, 2, 5, 20, 21, 100, 300, 1000, 2048, 2049, 5000, 20000};
  return bounds[from(&common, sizeof bounds / sizeof *bounds)];
}

static void rounds(int n) {
  static call calls[OPEN];
  static MPI_Request requests[OPEN];
  for (int round = 0; round < n; round++) {
    int open = 1 + (int)from(&common, OPEN), left, done[OPEN], found, flag;
    for (int i = 0; i < open; i++) {
      call *c = &calls[i];
      int size;
      c->comm = (int)from(&common, COMMS);
      MPI_Comm_size(comms[c->comm], &size);
      c->kind = (int)from(&common, KINDS);
      c->in_place = from(&common, 3) == 0 && c->kind != SCATTER && c->kind != BCAST_GAPS;
      c->root = (int)from(&common, (unsigned)size);
      c->count = c->kind == PRODUCT ? length() / 4 + 1 : length();
      c->seed = from(&common, 1000000);
      requests[i] = begin(c);
      if (from(&own, 4) == 0) { /* a look between two starts */
        int which = (int)from(&own, (unsigned)i + 1);
        if (requests[which] != MPI_REQUEST_NULL) {
          MPI_Test(&requests[which], &flag, MPI_STATUS_IGNORE);
          if (flag) end(&calls[which]);
        }
      }
    }
    for (left = 0; left < open; left++) if (requests[left] != MPI_REQUEST_NULL) break;
    while (left < open) {
      int which = (int)from(&own, (unsigned)open);
      switch (from(&own, 5)) {
      case 0:
        MPI_Waitsome(open, requests, &found, done, MPI_STATUSES_IGNORE);
        for (int i = 0; i < found; i++) end(&calls[done[i]]);
        break;
      case 1:
        MPI_Waitany(open, requests, &which, MPI_STATUS_IGNORE);
        end(&calls[which]);
        break;
      case 2:
        MPI_Testany(open, requests, &which, &flag, MPI_STATUS_IGNORE);
        if (flag) end(&calls[which]);
        break;
      case 3:
        if (requests[which] == MPI_REQUEST_NULL) break;
        do MPI_Test(&requests[which], &flag, MPI_STATUS_IGNORE); while (!flag);
        end(&calls[which]);
        break;
      default:
        if (requests[which] == MPI_REQUEST_NULL) break;
        MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
        end(&calls[which]);
      }
      for (left = 0; left < open; left++) if (requests[left] != MPI_REQUEST_NULL) break;
    }
  }
}

/* One rank starts many before the others start any; and what was started goes on while its rank
 * waits for something else, however long the data. */
static void apart(int rank, int size) {
  enum { MANY = 100, LONG = 50000 };
  MPI_Request requests[MANY], one;
  int sums[MANY], ones[MANY], token = 0, last = size - 1;
  static double big[LONG], sum[LONG];
  for (int i = 0; i < MANY; i++) ones[i] = i;
  if (rank && rank == last) MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < MANY; i++)
    if (i % 3) MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    else MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  if (size > 1 && rank == 0) MPI_Send(&token, 1, MPI_INT, last, 5, MPI_COMM_WORLD);
  for (int i = MANY - 1; i >= 0; i--) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < MANY; i++) CHECK(i % 3 == 0 || sums[i] == size * i);
  for (int i = 0; i < LONG; i++) big[i] = rank + i;
  MPI_Iallreduce(big, sum, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &one);
  if (rank == 0) {
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    for (int i = 1; i < size; i++) MPI_Send(&token, 1, MPI_INT, i, 6, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < LONG; i++) CHECK(sum[i] == (double)size * i + size * (size - 1) / 2.0);
}

/* The same ones again and again, started in another order by each rank; a root that runs ahead. */
static void again(int rank, int size) {
  enum { LONG = 3000 };
  int a[4], b[4], root = size - 1;
  static int x[LONG], y[LONG];
  MPI_Request r[3];
  MPI_Allreduce_init(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Bcast_init(x, LONG, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  MPI_Allreduce_init(x, y, LONG, MPI_INT, MPI_MAX, comms[1], MPI_INFO_NULL, &r[2]);
  for (int turn = 0; turn < 20; turn++) {
    for (int i = 0; i < 4; i++) a[i] = rank + turn;
    for (int i = 0; i < LONG; i++) x[i] = rank == root ? turn + i : -1;
    MPI_Start(&r[rank % 2]);
    MPI_Start(&r[1 - rank % 2]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) CHECK(b[i] == size * turn + size * (size - 1) / 2);
    for (int i = 0; i < LONG; i++) CHECK(x[i] == turn + i);
    MPI_Start(&r[2]);
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; i++) CHECK(y[i] == turn + i);
  }
  for (int i = 0; i < 3; i++) MPI_Request_free(&r[i]);
  for (int i = 0; i < 200; i++) {
    /* In the third one the ranks stand in reverse. */
    int said = rank == root ? i : -1;
    MPI_Request one;
    MPI_Ibcast(&said, 1, MPI_INT, 0, comms[2], &one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    CHECK(said == i);
  }
}

/* Calls that differ, as the argument says: at the roots nobody's data shows it. */
static void wrong(const char *how, int rank) {
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Request r;
  int x[4] = {1, 2, 3, 4}, y[4];
  static double big[9000];
  if (!strcmp(how, "free")) MPI_Comm_dup(MPI_COMM_WORLD, &w);
  if (!strcmp(how, "roots") || !strcmp(how, "free") || !strcmp(how, "many")) {
    for (int i = 0; i < (!strcmp(how, "many") ? 50 : 1); i++) {
      MPI_Ibcast(x, 1, MPI_INT, rank == 1, w, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    if (w != MPI_COMM_WORLD) {
      MPI_Barrier(w);
      MPI_Comm_free(&w);
    }
  }
  if (!strcmp(how, "again")) { /* nobody reads the card of the one that gives */
    if (rank != 1) MPI_Bcast_init(x, 1, MPI_INT, 0, w, MPI_INFO_NULL, &r);
    else MPI_Gather_init(x, 1, MPI_INT, y, 1, MPI_INT, 0, w, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Barrier(w);
    MPI_Request_free(&r);
  }
  if (!strcmp(how, "count")) {
    MPI_Iallreduce(x, y, rank == 1 ? 2 : 1, MPI_INT, MPI_SUM, w, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "long")) { /* one reduces, the others gather: none may touch the memory */
    if (rank == 1) MPI_Ireduce(MPI_IN_PLACE, big, 9000, MPI_DOUBLE, MPI_SUM, 1, w, &r);
    else MPI_Igather(big, 9000, MPI_DOUBLE, big, 9000, MPI_DOUBLE, 1, w, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "more")) { /* the root of one that nobody else starts */
    if (rank == 0) {
      MPI_Ibcast(x, 1, MPI_INT, 0, w, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  }
  if (!strcmp(how, "room")) { /* one gives more than is expected */
    MPI_Igather(x, rank == 1 ? 2 : 1, MPI_INT, big, 1, MPI_INT, 0, w, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  exit(0);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && !atoi(argv[1])) wrong(argv[1], rank);
  own = 1234567 + 7919ull * (unsigned)rank;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Type_create_resized(MPI_UNSIGNED, 0, 8, &spaced);
  MPI_Type_commit(&spaced);
  MPI_Op_create(after, 0, &product);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  rounds(argc > 1 ? atoi(argv[1]) : 60);
  apart(rank, size);
  again(rank, size);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  MPI_Op_free(&product);
  if (rank == 0) printf("started fine\n");
  MPI_Finalize();
  return 0;
}
