/* Rank 1 sleeps for two seconds while the others wait for it, as the argument says. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank, x = 0, flag = 0;
  MPI_Request request;
  MPI_Status *none = MPI_STATUS_IGNORE;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *how = argv[1];
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) sleep(2);
  if (!strcmp(how, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "started")) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, none);
  }
  int source = strcmp(how, "any") ? 1 : MPI_ANY_SOURCE;
  if (rank == 1) MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    if (!strcmp(how, "test")) {
      MPI_Irecv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
      while (!flag) MPI_Test(&request, &flag, none);
    } else {
      MPI_Recv(&x, 1, MPI_INT, source, 0, MPI_COMM_WORLD, none);
    }
  }
  MPI_Finalize();
  return 0;
}
