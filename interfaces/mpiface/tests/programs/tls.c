/* Thread-local variables of the initial-exec model: 1 KiB a rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((tls_model("initial-exec"))) __thread int fast[256];
static __thread int plain = 3;

int main(int argc, char **argv) {
  int rank, bad, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bad = fast[5] != 0 || plain != 3;
  fast[5] = rank;
  plain += rank;
  MPI_Barrier(MPI_COMM_WORLD);
  bad += fast[5] != rank || plain != 3 + rank;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    const char *tunables = getenv("GLIBC_TUNABLES");
    printf("%s, tunables %s\n", all ? "shared" : "private", tunables ? tunables : "none");
  }
  MPI_Finalize();
  return all;
}
