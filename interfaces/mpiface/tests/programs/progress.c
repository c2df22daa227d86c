/* Any call moves what its rank has started: ranks that test in different orders, probe, or make
 * other calls meanwhile, come to an end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)
enum { OPEN = 12, MOST = 3000, COMMS = 3 };

static unsigned long long common, own;
static unsigned from(unsigned long long *state, unsigned n) {
  *state ^= *state << 13; *state ^= *state >> 7; *state ^= *state << 17;
  return (unsigned)(*state >> 20) % n;
}

static int rank, size, in[OPEN][8 * MOST], out[OPEN][8 * MOST];
static MPI_Comm comms[COMMS];
static MPI_Request open[OPEN];

/* Starts a collective, the same at all ranks. */
static void begin(int i) {
  MPI_Comm comm = comms[from(&common, COMMS)];
  int n = (int[]){1, 40, MOST}[from(&common, 3)], p, *a = in[i], *b = out[i];
  MPI_Comm_size(comm, &p);
  for (int k = 0; k < p * n; k++) a[k] = 1, b[k] = 0;
  switch (from(&common, 8)) {
  case 0: MPI_Iallreduce(a, b, n, MPI_INT, MPI_SUM, comm, &open[i]); break;
  case 1: MPI_Ibcast(a, n, MPI_INT, 0, comm, &open[i]); break;
  case 2: MPI_Ialltoall(a, n, MPI_INT, b, n, MPI_INT, comm, &open[i]); break;
  case 3: MPI_Ireduce(a, b, n, MPI_INT, MPI_SUM, p - 1, comm, &open[i]); break;
  case 4: MPI_Iscan(a, b, n, MPI_INT, MPI_SUM, comm, &open[i]); break;
  case 5: MPI_Iallgather(a, n, MPI_INT, b, n, MPI_INT, comm, &open[i]); break;
  case 6: MPI_Allreduce_init(a, b, n, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &open[i]); MPI_Start(&open[i]); break;
  default: MPI_Ibarrier(comm, &open[i]); break;
  }
}

static void finish(int i) {
  int flag = 0, index;
  if (open[i] == MPI_REQUEST_NULL) return;
  switch (from(&own, 6)) {
  case 0: while (!flag) MPI_Test(&open[i], &flag, MPI_STATUS_IGNORE); break;
  case 1: while (!flag) MPI_Testany(1, &open[i], &index, &flag, MPI_STATUS_IGNORE); break;
  case 2: while (!flag) MPI_Testall(1, &open[i], &flag, MPI_STATUSES_IGNORE); break;
  case 3: while (!flag) { MPI_Testsome(1, &open[i], &flag, &index, MPI_STATUSES_IGNORE); if (flag == MPI_UNDEFINED) flag = 1; } break;
  case 4: while (!flag) MPI_Request_get_status(open[i], &flag, MPI_STATUS_IGNORE); break;
  default: MPI_Wait(&open[i], MPI_STATUS_IGNORE);
  }
}

/* Calls on several communicators; in between a rank gives another one leave to go on. */
static void orders(unsigned seed) {
  common = 88172645463325252ull + 2 * seed;
  own = common * 31 + (unsigned)rank * 2654435761u + 1;
  for (int k = 0; k < 10; k++) from(&common, 2), from(&own, 2);
  for (int i = 0; i < OPEN; i++) begin(i);
  for (int step = 0; step < 30; step++) {
    int a = (int)from(&common, (unsigned)size), b = (int)from(&common, (unsigned)size), flag = 0, leave = step;
    if (a == b) continue;
    if (rank == a) {
      finish((int)from(&own, OPEN));
      if (from(&own, 2)) MPI_Ssend(&leave, 1, MPI_INT, b, step, MPI_COMM_WORLD);
      else MPI_Send(&leave, 1, MPI_INT, b, step, MPI_COMM_WORLD);
    } else if (rank == b) {
      MPI_Message message;
      MPI_Request request;
      leave = -1;
      switch (from(&own, 4)) {
      case 0:
        while (!flag) MPI_Iprobe(a, step, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&leave, 1, MPI_INT, a, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
      case 1:
        while (!flag) MPI_Improbe(a, step, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&leave, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        break;
      case 2:
        MPI_Irecv(&leave, 1, MPI_INT, a, step, MPI_COMM_WORLD, &request);
        while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        break;
      default: MPI_Recv(&leave, 1, MPI_INT, a, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      CHECK(leave == step);
    }
  }
  for (int i = OPEN; i-- > 0;) {
    MPI_Wait(&open[i], MPI_STATUS_IGNORE);
    if (open[i] == MPI_REQUEST_NULL) continue;
    CHECK(out[i][0] == 1);
    MPI_Request_free(&open[i]);
  }
}

/* Rank 1 has a short receive, and tests nothing but what rank 0 joins when its synchronous message
 * was received. */
static void synchronous(int kind) {
  int word = 0, flag = 0, index;
  MPI_Request receive, over;
  if (size < 2) return;
  if (rank == 0) word = 7, MPI_Ssend(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  MPI_Ibarrier(MPI_COMM_WORLD, &over);
  if (rank == 1) {
    MPI_Irecv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &receive);
    while (!flag) {
      MPI_Request pair[] = {over, MPI_REQUEST_NULL};
      switch (kind) {
      case 0: MPI_Test(&over, &flag, MPI_STATUS_IGNORE); break;
      case 1: MPI_Testany(2, pair, &index, &flag, MPI_STATUS_IGNORE); over = pair[0]; break;
      case 2: MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE); over = pair[0]; break;
      default: MPI_Request_get_status(over, &flag, MPI_STATUS_IGNORE);
      }
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK(word == 7);
  }
  MPI_Wait(&over, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank is blocked, while the others test what all have started. */
static void blocked(int kind) {
  static int a[2][MOST], b[2][MOST];
  MPI_Request both[2];
  MPI_Win window;
  MPI_Win_create(a[0], sizeof a[0], 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  for (int k = 0; k < 2; k++) MPI_Iallreduce(a[k], b[k], MOST, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &both[k]);
  if (rank > 0)
    for (int k = 0; k < 2; k++)
      for (int flag = 0; !flag;) MPI_Test(&both[rank % 2 ? 1 - k : k], &flag, MPI_STATUS_IGNORE);
  switch (kind) {
  case 0: MPI_Barrier(MPI_COMM_WORLD); break;
  case 1: MPI_Win_fence(0, window); break;
  default: {
    int word = 0;
    MPI_Sendrecv_replace(&word, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  }
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  MPI_Win_free(&window);
}

/* Neighbours on a circle, tested in other orders. */
static void neighbours(void) {
  int one = 1, flag;
  static int to[4][2];
  MPI_Comm ring;
  MPI_Request all[4];
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &one, 0, &ring);
  for (int k = 0; k < 4; k++) MPI_Ineighbor_allgather(&rank, 1, MPI_INT, to[k], 1, MPI_INT, ring, &all[k]);
  for (int k = 0; k < 4; k++)
    for (flag = 0; !flag;) MPI_Test(&all[(k + rank) % 4], &flag, MPI_STATUS_IGNORE);
  CHECK(to[3][1] == (rank + 1) % size);
  MPI_Comm_free(&ring);
}

int main(int argc, char **argv) {
  unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 39, rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[2]);
  for (int kind = 0; kind < 4; kind++) synchronous(kind);
  for (int kind = 0; kind < 3; kind++) blocked(kind);
  neighbours();
  for (unsigned seed = first; seed < first + rounds; seed++) {
    if (rank == 0) fprintf(stderr, "seed %u\n", seed);
    orders(seed);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("progress fine\n");
  MPI_Finalize();
  return 0;
}
