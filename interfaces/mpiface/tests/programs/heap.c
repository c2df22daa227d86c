/* How far a rank's heap is open behind a small block. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  uintptr_t block = (uintptr_t)malloc(100), from, to, open = 0;
  char how[5], line[500];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %4s", &from, &to, how) == 3 && from <= block && block < to)
      open = to - block;
  printf("rank %d: %lu MiB\n", me, open >> 20);
  MPI_Finalize();
  return 0;
}
