// The same as an MPI program, for a launcher.
#include "amg.h"
#include <initializer_list>
#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int n : {12, 17}) {
    amg it = {n, 0, 0, 0, 0};
    amg_solve(&it);
    if (rank == 0)
      amg_show(&it);
  }
  MPI_Finalize();
}
