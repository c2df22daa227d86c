/* Parts of every length: with gaps and without, on two communicators in turn, with a root that comes
   late or runs ahead; and many messages at once, taken in another order than they are sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 3000, CALLS = 100, FLOOD = 300 };
static const int LENGTHS[] = {0, 1, 10, 11, 100, 128, 129, 1000, 1024, 1025, MOST};
enum { KINDS = sizeof LENGTHS / sizeof *LENGTHS };

static int rank, ranks, kinds = KINDS;

static double value(int call, int from, int to, int at) {
  return call * 1e9 + from * 1e7 + to * 1e5 + at;
}

static int length(int call, int from, int to) {
  return LENGTHS[(unsigned)(call * 7 + from * 3 + to * 5) % kinds];
}

static void check(double got, double expected, const char *what) {
  if (got == expected) return;
  printf("rank %d: %s: %.0f instead of %.0f\n", rank, what, got, expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One call of each kind: every other number of `in` is a gap, if `step` is 2. */
static void calls(int call, MPI_Comm comm, int step) {
  static double out[8 * MOST * 2], in[8 * MOST * 2];
  int give[8], take[8], from[8], to[8];
  MPI_Datatype type = MPI_DOUBLE;
  if (step > 1 || call % 4 == 0) {
    MPI_Type_create_resized(MPI_DOUBLE, 0, step * sizeof(double), &type);
    MPI_Type_commit(&type);
  }
  for (int i = 0; i < ranks; i++) {
    give[i] = length(call, rank, i);
    take[i] = length(call, i, rank);
    from[i] = to[i] = i * MOST;
    for (int k = 0; k < give[i]; k++) out[(from[i] + k) * step] = value(call, rank, i, k);
  }
  MPI_Alltoallv(out, give, from, type, in, take, to, type, comm);
  for (int i = 0; i < ranks; i++)
    for (int k = 0; k < take[i]; k++)
      check(in[(to[i] + k) * step], value(call, i, rank, k), "alltoallv");
  for (int root = 0; root < ranks; root += 2) {
    for (int i = 0; i < ranks; i++) take[i] = length(call, i, root);
    MPI_Gatherv(out + from[root] * step, give[root], type, in, take, to, type, root, comm);
    for (int i = 0; i < ranks && rank == root; i++)
      for (int k = 0; k < take[i]; k++)
        check(in[(to[i] + k) * step], value(call, i, root, k), "gatherv");
    int mine = length(call, root, rank);
    MPI_Scatterv(out, give, from, type, in, mine, type, root, comm);
    for (int k = 0; k < mine; k++) check(in[k * step], value(call, root, rank, k), "scatterv");
  }
  for (int i = 0; i < ranks; i++) take[i] = length(call, i, 0);
  MPI_Allgatherv(out + from[0] * step, give[0], type, in, take, to, type, comm);
  for (int i = 0; i < ranks; i++)
    for (int k = 0; k < take[i]; k++)
      check(in[(to[i] + k) * step], value(call, i, 0, k), "allgatherv");
  if (type != MPI_DOUBLE) MPI_Type_free(&type);
}

/* What does not fit is an error of who gets it, and of nobody else. */
static void unequal(MPI_Comm comm) {
  int give[8], at[8], class;
  double all[64], own[8] = {rank, rank, rank};
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int root = 0; root < ranks; root++)
    for (int kind = 0; kind < 3; kind++) {
      /* One element too many, as many as expected, one too few: for the last rank, or the root. */
      int odd = kind == 1 ? root : ranks - 1, wrong = 0;
      for (int i = 0; i < ranks; i++) give[i] = 2, at[i] = 8 * i;
      if (rank == root) give[odd] += 1 - kind;
      for (int i = 0; i < 64; i++) all[i] = i;
      int code = MPI_Scatterv(all, give, at, MPI_DOUBLE, own, 2, MPI_DOUBLE, root, comm);
      wrong = kind != 1 && rank == odd;
      MPI_Error_class(code, &class);
      check(class, wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "scatterv of unequal parts");
      if (!wrong) check(own[1], 8 * rank + 1, "scatterv among unequal parts");
      own[0] = own[1] = own[2] = rank;
      code = MPI_Gatherv(own, 2, MPI_DOUBLE, all, give, at, MPI_DOUBLE, root, comm);
      MPI_Error_class(code, &class);
      wrong = kind != 1 && rank == root;
      check(class, wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "gatherv of unequal parts");
      for (int i = 0; i < ranks && rank == root; i++)
        if (kind == 1 || i != odd) check(all[8 * i + 1], i, "gatherv among unequal parts");
      give[root] = -1;
      code = MPI_Scatterv(all, give, at, MPI_DOUBLE, own, rank == root ? 2 : -1, MPI_DOUBLE, root,
                          comm);
      MPI_Error_class(code, &class);
      check(class, MPI_ERR_COUNT, "a negative count");
      code = MPI_Gatherv(own, 1, MPI_DOUBLE, all, give, at, MPI_DOUBLE, ranks, comm);
      MPI_Error_class(code, &class);
      check(class, MPI_ERR_ROOT, "a root that is none");
    }
}

/* Nobody waits for the root, which comes late; then it runs ahead. */
static void behind(MPI_Comm comm, MPI_Comm other) {
  int one[8], start[8];
  double got[8], own = rank;
  for (int i = 0; i < ranks; i++) one[i] = 1, start[i] = i;
  for (int root = 0; root < 2 && root < ranks; root++) {
    MPI_Barrier(comm);
    if (rank == root) usleep(20000);
    for (int i = 0; i < CALLS; i++) {
      own = value(i, rank, root, 0);
      MPI_Comm on = i % 3 ? comm : other;
      MPI_Gatherv(&own, 1, MPI_DOUBLE, got, one, start, MPI_DOUBLE, root, on);
      for (int k = 0; k < ranks && rank == root; k++) check(got[k], value(i, k, root, 0), "late");
    }
    MPI_Barrier(comm);
    if (rank != root) usleep(20000);
    for (int i = 0; i < CALLS; i++) {
      for (int k = 0; k < ranks; k++) got[k] = value(i, root, k, 0);
      MPI_Scatterv(got, one, start, MPI_DOUBLE, &own, 1, MPI_DOUBLE, root, i % 3 ? comm : other);
      check(own, value(i, root, rank, 0), "ahead");
    }
  }
}

/* Messages of several lengths, more than a ring has slots, by tags in any order. */
static void flood(int seed) {
  static double out[FLOOD][200], in[FLOOD][200];
  MPI_Request open[2 * FLOOD];
  MPI_Status status[2 * FLOOD];
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int i = 0; i < FLOOD; i++) {
    int at = seed ? i * 7 % FLOOD : i;
    MPI_Irecv(in[at], 200, MPI_DOUBLE, seed & 2 ? MPI_ANY_SOURCE : before, at, MPI_COMM_WORLD,
              &open[i]);
  }
  for (int i = 0; i < FLOOD; i++) {
    int count = 1 + i * 13 % 200;
    for (int k = 0; k < count; k++) out[i][k] = value(seed, rank, i, k);
    MPI_Isend(out[i], count, MPI_DOUBLE, next, i, MPI_COMM_WORLD, &open[FLOOD + i]);
  }
  MPI_Waitall(2 * FLOOD, open, status);
  for (int i = 0; i < FLOOD; i++) {
    int at = seed ? i * 7 % FLOOD : i, count;
    MPI_Get_count(&status[i], MPI_DOUBLE, &count);
    check(count, 1 + at * 13 % 200, "the count");
    check(status[i].MPI_TAG, at, "the tag");
    check(open[i] == MPI_REQUEST_NULL, 1, "the request");
    for (int k = 0; k < count; k++) check(in[at][k], value(seed, before, at, k), "a message");
  }
}

int main(int argc, char **argv) {
  MPI_Comm other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int call = 0; call < 2 * KINDS; call++)
    calls(call, call % 2 ? MPI_COMM_WORLD : other, 1 + call % 3 / 2);
  /* Short ones alone. */
  kinds = 3;
  for (int call = 0; call < 8 * KINDS; call++)
    calls(call, call % 2 ? MPI_COMM_WORLD : other, 1 + call % 5 / 4);
  behind(MPI_COMM_WORLD, other);
  unequal(other);
  for (int seed = 0; seed < 6; seed++) flood(seed);
  MPI_Comm_free(&other);
  MPI_Finalize();
  if (rank == 0) printf("uneven fine\n");
  return 0;
}
