/* An ordinary program: ranks inside it in three ways. */
#include "part.h"
#include <mpi.h>
#include <phalanx_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *what, const struct part *it) {
  printf("%s: %d ranks, calls", what, it->size);
  for (int r = 0; r < it->size; r++)
    printf(" %d", it->calls[r]);
  printf(", sum %d\n", it->sums[it->size - 1]);
}

static void own(void *unused) { (void)unused; }

#define GOOD(call) \
  if ((call) != 0) { \
    fprintf(stderr, "%s: %s\n", #call, phalanx_mpi_message()); \
    return 1; \
  }

int main(int argc, char **argv) {
  struct part out = {0};
  int size, good = 0;
  if (argc > 1 && !strcmp(argv[1], "early"))
    return phalanx_mpi_run(3, part_early, NULL);
  if (argc > 1 && !strcmp(argv[1], "silent")) {
    phalanx_mpi_team *team;
    GOOD(phalanx_mpi_create(3, &team))
    for (int i = 0; i < 2; i++)
      GOOD(phalanx_mpi_invoke(team, part_silent, NULL))
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "own")) {
    GOOD(phalanx_mpi_run(2, own, NULL))
    puts("it ran");
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "ranks")) {
    printf("%d %d\n", phalanx_mpi_ranks(0), phalanx_mpi_ranks(5));
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "many")) {
    for (int i = 0; i < atoi(argv[2]); i++)
      GOOD(phalanx_mpi_run(1, part_count, &out))
    show("many", &out);
    return 0;
  }
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("alone: %d\n", size);
  part_count(&out);
  show("alone", &out);

  for (int n = 1; n <= 4; n++) {
    GOOD(phalanx_mpi_run(n, part_count, &out))
    show("run", &out);
  }

  phalanx_mpi_team *team;
  GOOD(phalanx_mpi_create(3, &team))
  for (int i = 0; i < 3; i++) {
    GOOD(phalanx_mpi_invoke(team, part_count, &out))
    show("invoke", &out);
    GOOD(phalanx_mpi_invoke(team, part_whole, &good))
  }
  phalanx_mpi_destroy(team);
  printf("MPI was there before MPI_Init: %d\n", good);

  phalanx_mpi_started *started;
  GOOD(phalanx_mpi_start(3, part_serve, NULL, &started))
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("started: %d ranks, %d %d\n", size, part_ask(1, 5), part_ask(2, 7));
  phalanx_mpi_join(started);

  part_count(&out);
  show("alone", &out);
  return 0;
}
