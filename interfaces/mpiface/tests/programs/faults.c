/* Faults of textbooks' kinds, one by the first argument: each must end in time. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define IS(name) if (!strcmp(how, name))
#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static double big[100000];
static int rank, size, next, before;

static int is_done(MPI_Request *request) {
  int flag;
  MPI_Test(request, &flag, IGNORE);
  return flag;
}

static void worker(void) {
  int x;
  MPI_Status status;
  for (;;) {
    MPI_Recv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, &status);
    if (status.MPI_TAG == 9)
      return;
    MPI_Send(&x, 1, MPI_INT, 0, 1, WORLD);
  }
}

/* Awaits one answer more than there are questions. */
static void master(void) {
  int x = 1;
  for (int to = 1; to < size; to++)
    MPI_Send(&x, 1, MPI_INT, to, 1, WORLD);
  for (int answer = 0; answer < size; answer++)
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, IGNORE);
  for (int to = 1; to < size; to++)
    MPI_Send(&x, 1, MPI_INT, to, 9, WORLD);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int x = 1, y[64] = {0}, flag = 0;
  double d = 1, e;
  MPI_Request request, two[2];
  MPI_Comm part;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  MPI_Comm_split(WORLD, rank == 0, rank, &part);
  IS("part") MPI_Reduce(&x, y, 1, MPI_INT, MPI_SUM, rank == 2, part);
  IS("gather") MPI_Gather(y, 2 + (rank == 1), MPI_INT, y + 16, 2, MPI_INT, 0, WORLD);
  IS("scatter") MPI_Scatter(y, 4, MPI_INT, y + 32, 3, MPI_INT, 0, WORLD);
  IS("operator") MPI_Reduce(&d, &e, 1, MPI_DOUBLE, rank == 1 ? MPI_MAX : MPI_SUM, 0, WORLD);
  IS("broadcast") MPI_Bcast(big, 100000 - rank, MPI_DOUBLE, 0, WORLD);
  IS("cross") {
    MPI_Comm other;
    MPI_Comm_dup(WORLD, &other);
    MPI_Barrier(rank == 1 ? other : WORLD);
    MPI_Barrier(rank == 1 ? WORLD : other);
  }
  IS("missing") if (rank != 1) MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_SUM, WORLD);
  IS("once") {
    for (int i = 0; i < 500 + (rank == 2); i++)
      MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_SUM, WORLD);
    MPI_Bcast(&d, 1, MPI_DOUBLE, 0, WORLD);
  }
  IS("received") {
    if (rank == 0)
      MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
    else
      MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
  }
  IS("tag") {
    if (rank == 0)
      MPI_Send(&x, 1, MPI_INT, 1, 7, WORLD);
    if (rank == 1)
      MPI_Recv(&x, 1, MPI_INT, 0, 8, WORLD, IGNORE);
  }
  IS("master") {
    if (rank == 0)
      master();
    else
      worker();
  }
  IS("circle") {
    MPI_Isend(big, 100000, MPI_DOUBLE, next, 3, WORLD, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Recv(big, 100000, MPI_DOUBLE, before, 3, WORLD, IGNORE);
  }
  IS("ssend") {
    MPI_Ssend(&x, 1, MPI_INT, next, 3, WORLD);
    MPI_Recv(&x, 1, MPI_INT, before, 3, WORLD, IGNORE);
  }
  IS("neighbour") MPI_Sendrecv(&x, 1, MPI_INT, next, 3, y, 1, MPI_INT, next, 3, WORLD, IGNORE);
  IS("waitall") {
    MPI_Irecv(y, 1, MPI_INT, before, 1, WORLD, two);
    MPI_Irecv(y + 1, 1, MPI_INT, before, 2, WORLD, two + 1);
    MPI_Send(&x, 1, MPI_INT, next, 1, WORLD);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  }
  IS("waitany") {
    MPI_Irecv(y, 1, MPI_INT, before, 1, WORLD, two);
    MPI_Irecv(y + 1, 1, MPI_INT, MPI_ANY_SOURCE, 2, WORLD, two + 1);
    MPI_Waitany(2, two, &x, IGNORE);
  }
  IS("probe") if (rank == 0) MPI_Probe(MPI_ANY_SOURCE, 5, WORLD, IGNORE);
  IS("test") {
    if (rank != 0)
      exit(0);
    MPI_Irecv(&x, 1, MPI_INT, 1, 5, WORLD, &request);
    while (!is_done(&request)) {
    }
  }
  IS("iprobe") {
    while (rank < 2 && !flag)
      MPI_Iprobe(MPI_ANY_SOURCE, 5, WORLD, &flag, IGNORE);
  }
  IS("later") { /* not a fault: the message comes after the limit of tests in vain */
    if (rank == 0) {
      MPI_Irecv(&x, 1, MPI_INT, 1, 5, WORLD, &request);
      while (!is_done(&request)) {
      }
    } else if (rank == 1) {
      double start = MPI_Wtime();
      while (MPI_Wtime() < start + 3) {
      }
      MPI_Send(&x, 1, MPI_INT, 0, 5, WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
