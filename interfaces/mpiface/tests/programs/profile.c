/* A profiler: before libmpi_abi by its place in the link, or preloaded (mpiP's way). */
#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  calls++;
  return PMPI_Allreduce(from, to, n, type, op, comm);
}
int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d: profiled %d\n", rank, calls);
  return PMPI_Finalize();
}
