/* Writes behind a block, for Valgrind. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  volatile char *block = malloc(10);
  block[10] = 1;
  free((void *)block);
  MPI_Finalize();
  return 0;
}
