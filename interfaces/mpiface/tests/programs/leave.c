/* One rank leaves early, as the first argument says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bye(void) { printf("atexit\n"); }

int main(int argc, char **argv) {
  int rank, size;
  const char *how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(how, "after")) { /* all leave by exit after MPI_Finalize */
    atexit(bye);
    MPI_Finalize();
    exit(rank == 1 ? 5 : 0);
  }
  if (!strcmp(how, "nobody")) return 0;
  if (!strcmp(how, "one")) { /* rank 1 alone does not call it, and is missed by nobody */
    if (rank != 1) MPI_Finalize();
    return 0;
  }
  if (!strcmp(how, "given")) exit(rank == 2 ? 7 : 0);
  if (!strncmp(how, "uneven", 6)) { /* rank 1 makes another call, or names another root */
    int one[3] = {1, 1, 1}, at[3] = {0, 1, 2}, all[3], from[3] = {0}, odd = rank == 1;
    int root = odd && !strcmp(how, "uneven root");
    if (odd && !strcmp(how, "uneven"))
      MPI_Scatterv(all, one, at, MPI_INT, &size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else if (odd && !strcmp(how, "uneven all"))
      MPI_Alltoallv(from, one, at, MPI_INT, all, one, at, MPI_INT, MPI_COMM_WORLD);
    else
      MPI_Gatherv(&size, 1, MPI_INT, all, one, at, MPI_INT, root, MPI_COMM_WORLD);
  }
  if (rank == 1) {
    if (!strcmp(how, "exit")) exit(0);
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 42);
    if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(how, "raise")) abort();
    if (!strcmp(how, "return")) return 0;
    if (!strcmp(how, "order")) MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "root")) { MPI_Bcast(&size, 1, MPI_INT, 1, MPI_COMM_WORLD); return 0; }
    if (!strcmp(how, "count")) { int x[4]; MPI_Allreduce(&size, x, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD); return 0; }
    if (!strcmp(how, "type")) { float x = 1, y; MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); return 0; }
    if (!strcmp(how, "later")) { MPI_Request r; MPI_Ibcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD, &r); MPI_Wait(&r, MPI_STATUS_IGNORE); }
    if (!strcmp(how, "never")) exit(0);
    if (!strcmp(how, "absent")) { MPI_Comm c; MPI_Comm_spawn("a", 0, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c, 0); }
  }
  if (!strcmp(how, "root")) MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "count")) { int x[4]; MPI_Allreduce(&size, x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
  if (!strcmp(how, "type")) { int x; MPI_Allreduce(&size, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
  if (!strcmp(how, "later") || !strcmp(how, "never")) {
    MPI_Request r;
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "circle")) {
    static double big[100000];
    MPI_Send(big, 100000, MPI_DOUBLE, (rank + 1) % size, 3, MPI_COMM_WORLD);
    MPI_Recv(big, 100000, MPI_DOUBLE, (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "tag")) { /* rank 1 waits for another one than rank 0 sends */
    int x = 0;
    if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "any")) { /* nobody sends */
    int x;
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "truncate")) {
    int x[10] = {0};
    if (rank == 0) MPI_Send(x, 10, MPI_INT, 1, 8, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(x, 4, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
