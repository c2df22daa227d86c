/* The ranks that the second argument names come to a bad end at the same time, as the first says;
 * those of "deep" and "large" overflow their stacks. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile int zero, seven = 7;

static void die(const char *how) {
  if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(how, "fpe")) seven = seven / zero;
  if (!strcmp(how, "ill")) __builtin_trap();
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "free")) { char *volatile p = malloc(24); free(p); free(p); }
  if (!strcmp(how, "bus")) {
    volatile char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(tmpfile()), 0);
    m[0] = 1;
  }
}

static void *helper(void *how) { die(how); return 0; }

static int deep(int n) {
  volatile char room[4096];
  room[0] = (char)n;
  return n ? deep(n + 1) + room[0] : 0;
}

static double large(size_t n) {
  volatile double room[n];
  for (size_t i = 0; i < n; i += 512) room[i] = 1;
  return room[0];
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *how = argv[1], *who = argv[2];
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(who, "all") || (!strcmp(who, "odd") && rank % 2) || (!strcmp(who, "one") && rank == 1)) {
    if (!strcmp(how, "mixed")) die(rank % 2 ? "segv" : "fpe");
    if (!strcmp(how, "deep")) deep(1);
    if (!strcmp(how, "large")) large(100 << 17); /* 100 MiB */
    if (!strncmp(how, "helper ", 7)) {
      pthread_t thread;
      pthread_create(&thread, 0, helper, (void *)(how + 7));
      pthread_join(thread, 0);
    }
    die(how);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
