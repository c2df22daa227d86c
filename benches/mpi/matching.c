/* How long one of many messages takes to find, and messages to nobody; for any MPI, of two ranks:
     phalanx-mpicc -O2 benches/mpi/matching.c -o matching && phalanx-mpirun -n 2 ./matching 20000
   So many messages (20000, or the first argument) with tags of their own go from rank 0 to rank 1,
   which receives them in the order of their tags or in the reverse one, or has posted all receives
   before. The time is that of the receives, or of the sends to posted ones: the least of five
   turns. Then two MPI_Isend and two MPI_Irecv of MPI_PROC_NULL, and an MPI_Waitall. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, *values;
static MPI_Request *requests;

static void check(int n) {
  for (int i = 0; rank == 1 && i < n; i++)
    if (values[i] != i) {
      printf("message %d has %d\n", i, values[i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send_all(int n, int is_reversed) {
  for (int i = 0; i < n; i++) {
    int tag = is_reversed ? n - 1 - i : i;
    MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
  }
}

static double unexpected(int n, int is_reversed) {
  if (rank == 0) send_all(n, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  double since = MPI_Wtime();
  for (int i = 0; rank == 1 && i < n; i++) {
    int tag = is_reversed ? n - 1 - i : i;
    MPI_Recv(values + tag, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - since;
}

static double posted(int n, int is_reversed) {
  for (int i = 0; rank == 1 && i < n; i++)
    MPI_Irecv(values + i, 1, MPI_INT, 0, i, MPI_COMM_WORLD, requests + i);
  MPI_Barrier(MPI_COMM_WORLD);
  double since = MPI_Wtime();
  if (rank == 0) send_all(n, is_reversed);
  if (rank == 1) MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  return MPI_Wtime() - since;
}

static double to_nobody(int calls) {
  double x[4] = {0}, since = MPI_Wtime();
  MPI_Request four[4];
  for (int i = 0; i < calls; i++) {
    MPI_Isend(x, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, four);
    MPI_Irecv(x + 1, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, four + 1);
    MPI_Isend(x + 2, 1, MPI_DOUBLE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, four + 2);
    MPI_Irecv(x + 3, 1, MPI_DOUBLE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, four + 3);
    MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
  }
  return (MPI_Wtime() - since) / calls;
}

int main(int argc, char **argv) {
  double (*const ways[])(int, int) = {unexpected, posted};
  const char *const names[] = {"unexpected", "posted"};
  double least[2][2] = {{1e9, 1e9}, {1e9, 1e9}}, nobody = 1e9;
  MPI_Init(&argc, &argv);
  int n = argc > 1 ? atoi(argv[1]) : 20000;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  values = malloc(n * sizeof *values);
  requests = malloc(n * sizeof *requests);
  for (int turn = 0; turn < 5; turn++) {
    for (int way = 0; way < 2; way++)
      for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
        for (int i = 0; i < n; i++) values[i] = -1;
        double took = ways[way](n, is_reversed);
        if (took < least[way][is_reversed]) least[way][is_reversed] = took;
        check(n);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    double took = to_nobody(20000);
    if (took < nobody) nobody = took;
  }
  for (int way = 0; rank == 1 && way < 2; way++)
    printf("%d %s: in order %.0f us, reversed %.0f us: %.2f\n", n, names[way], least[way][0] * 1e6,
           least[way][1] * 1e6, least[way][1] / least[way][0]);
  if (rank == 1) printf("four to and from nobody, and a wait: %.0f ns\n", nobody * 1e9);
  MPI_Finalize();
  return 0;
}
