/* Very many calls under way at once: `many CALLS END N [ROUNDS]` starts N in each rank, and ends
 * them, so many times (2); then it prints the time of one in the last round, and the processor's time
 * of it in rank 0, which other programs change less, so that two lengths can be compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define W MPI_COMM_WORLD
#define I MPI_INT
#define TAGS 30000
#define EACH for (int i = 0; i < n; i++)
static int me, size, *x, *y, *places;
static MPI_Comm other;
static MPI_Request *r;

/* Rank 0 sends, rank 1 receives: in the same order or from the last one, by source and tag or from
 * any, posted before or after the sends, or beside them. */
static void messages(int n, int tags, int is_reverse, int is_any, int before, int after) {
  if (before && me == 0) MPI_Barrier(other);
  if (me == 0) EACH MPI_Isend(x + i, 1, I, 1, i % tags, W, r + i);
  if (after) MPI_Barrier(other);
  if (me == 1) EACH {
      int k = is_reverse ? n - 1 - i : i;
      MPI_Irecv(y + k, 1, I, is_any ? MPI_ANY_SOURCE : 0, k % tags, W, r + i);
    }
  if (before && me) MPI_Barrier(other);
}
static void one_tag(int n) { messages(n, 1, 0, 0, 0, 0); }
static void tags(int n) { messages(n, TAGS, 0, 0, 0, 0); }
static void reverse(int n) { messages(n, TAGS, 1, 0, 0, 0); }
static void any(int n) { messages(n, TAGS, 0, 1, 0, 0); }
static void posted(int n) { messages(n, TAGS, 0, 0, 1, 0); }
static void late(int n) { messages(n, TAGS, 1, 0, 0, 1); }
static void to_self(int n) {
  EACH if (i % 2) MPI_Irecv(y + i, 1, I, me, i / 2 % TAGS, W, r + i);
  else MPI_Isend(x + i, 1, I, me, i / 2 % TAGS, W, r + i);
}
static void both_ways(int n) {
  int peer = (me + 1) % size, from = (me + size - 1) % size;
  EACH MPI_Isendrecv(x + i, 1, I, peer, i % TAGS, y + i, 1, I, from, i % TAGS, W, r + i);
}
static void cancelled(int n) {
  EACH MPI_Irecv(y + i, 1, I, me, 7, other, r + i);
  for (int i = n; i--;) MPI_Cancel(r + i);
}
/* Sends that their receives do not meet are taken back, from the last one. */
static void unsent(int n) {
  EACH MPI_Issend(x + i, 1, I, (me + 1) % size, i % TAGS, other, r + i);
  for (int i = n; i--;) MPI_Cancel(r + i);
}
static void synchronous(int n) {
  int peer = (me + 1) % size, from = (me + size - 1) % size;
  EACH if (i % 2) MPI_Irecv(y + i, 1, I, from, i / 2 % TAGS, W, r + i);
  else MPI_Issend(x + i, 1, I, peer, i / 2 % TAGS, W, r + i);
}
static void started(int n) {
  int peer = (me + 1) % size, from = (me + size - 1) % size;
  EACH if (i % 2) MPI_Recv_init(y + i, 1, I, from, i / 2 % TAGS, W, r + i);
  else MPI_Send_init(x + i, 1, I, peer, i / 2 % TAGS, W, r + i);
  MPI_Startall(n, r);
}
static void iallreduce(int n) { EACH MPI_Iallreduce(x + i, y + i, 1, I, MPI_SUM, W, r + i); }
static void ibarrier(int n) { EACH MPI_Ibarrier(W, r + i); }
static void ibcast(int n) { EACH MPI_Ibcast(x + i, 1, I, i % size, W, r + i); }
/* One rank starts all of its own before the others begin. */
static void ahead(int n) {
  if (me) MPI_Barrier(other);
  iallreduce(n);
  if (!me) MPI_Barrier(other);
}
static void freed(int n) {
  EACH {
    MPI_Ibarrier(W, r + i);
    MPI_Request_free(r + i);
  }
}
static void freed_comm(int n) {
  MPI_Comm c;
  MPI_Comm_dup(W, &c);
  EACH MPI_Irecv(y + i, 1, I, me, i % TAGS, c, r + i);
  EACH MPI_Send(x + i, 1, I, me, i % TAGS, c);
  MPI_Comm_free(&c);
}
static void freed_types(int n) {
  EACH {
    MPI_Datatype t;
    MPI_Type_contiguous(1, I, &t);
    MPI_Type_commit(&t);
    MPI_Bcast_init(x + i, 1, t, 0, MPI_COMM_SELF, MPI_INFO_NULL, r + i);
    MPI_Type_free(&t);
  }
  MPI_Startall(n, r);
}
static void persistent(int n) {
  EACH MPI_Allreduce_init(x + i, y + i, 1, I, MPI_SUM, W, MPI_INFO_NULL, r + i);
  MPI_Startall(n, r);
}

static void waitall(int n) { MPI_Waitall(n, r, MPI_STATUSES_IGNORE); }
static void backward(int n) { for (int i = n; i--;) MPI_Wait(r + i, MPI_STATUS_IGNORE); }
static void waitsome(int n) {
  int k = 0;
  while (k != MPI_UNDEFINED) MPI_Waitsome(n, r, &k, places, MPI_STATUSES_IGNORE);
}
static void testsome(int n) {
  int k = 0;
  while (k != MPI_UNDEFINED) MPI_Testsome(n, r, &k, places, MPI_STATUSES_IGNORE);
}
static void testall(int n) {
  int flag = 0;
  while (!flag) MPI_Testall(n, r, &flag, MPI_STATUSES_IGNORE);
}
static void tests(int n) {
  int flag;
  for (int i = 0; i < n; i += flag) MPI_Test(r + i, &flag, MPI_STATUS_IGNORE);
}
static void waitany(int n) {
  int k;
  EACH MPI_Waitany(n, r, &k, MPI_STATUS_IGNORE);
}
static void testany(int n) {
  int k, flag;
  for (int i = 0; i < n; i += flag) MPI_Testany(n, r, &k, &flag, MPI_STATUS_IGNORE);
}

static const struct {
  const char *name;
  void (*run)(int);
} all[] = {
#define ONE(it) {#it, it}
    ONE(one_tag),    ONE(tags),       ONE(reverse),     ONE(any),        ONE(posted),
    ONE(late),       ONE(to_self),    ONE(both_ways),   ONE(cancelled),  ONE(iallreduce),
    ONE(unsent),     ONE(synchronous), ONE(started),
    ONE(ibarrier),   ONE(ibcast),     ONE(ahead),       ONE(freed),      ONE(freed_comm),
    ONE(freed_types), ONE(persistent), ONE(waitall),    ONE(backward),   ONE(waitsome),
    ONE(testsome),   ONE(testall),    ONE(tests),       ONE(waitany),
    ONE(testany)};

static void run(const char *name, int n) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(name, all[i].name)) return all[i].run(n);
  fprintf(stderr, "many: %s is not known\n", name);
  MPI_Abort(W, 2);
}

static double worked(void) {
  struct timespec it;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &it);
  return it.tv_sec + it.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &me);
  MPI_Comm_size(W, &size);
  MPI_Comm_dup(W, &other);
  int n = argc > 3 ? atoi(argv[3]) : 50000, rounds = argc > 4 ? atoi(argv[4]) : 2;
  r = malloc(n * sizeof *r);
  x = calloc(n, sizeof *x);
  y = calloc(n, sizeof *y);
  places = malloc(n * sizeof *places);
  for (int i = 0; i < n; i++) r[i] = MPI_REQUEST_NULL;
  for (int round = 1; round <= rounds; round++) {
    MPI_Barrier(other);
    double start = MPI_Wtime(), work = worked();
    run(argv[1], n);
    run(argv[2], n);
    work = worked() - work;
    MPI_Barrier(other);
    double time = MPI_Wtime() - start;
    if (round == rounds && !me)
      printf("%s %s %d: %.0f ns each, %.0f of work\n", argv[1], argv[2], n, time * 1e9 / n,
             work * 1e9 / n);
    for (int i = 0; i < n; i++)
      if (r[i] != MPI_REQUEST_NULL) MPI_Request_free(r + i);
  }
  return MPI_Finalize();
}
