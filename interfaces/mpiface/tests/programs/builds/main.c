/* A program as build systems make it: a shared and a static library, a thread-local variable, and
 * what the C library keeps (options, strtok). Each rank prints one line. */
#include <getopt.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int shared_count(int add), fixed_count(int add);

static __thread int here = 7;
static __thread double there[100];

static void *look(void *out) {
  *(int *)out = here + (int)there[99];
  return out;
}

int main(int argc, char **argv) {
  int rank, ranks, letter, number = 0, fresh = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while ((letter = getopt(argc, argv, "abn:")) != -1) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (letter == 'n')
      number = atoi(optarg);
  }
  char text[] = "1,2,3,4";
  int words = 0;
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ","), words++)
    MPI_Barrier(MPI_COMM_WORLD);
  here += rank;
  there[99] = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_t thread;
  pthread_create(&thread, NULL, look, &fresh);
  pthread_join(thread, NULL);
  shared_count(rank + 1), fixed_count(rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  int is_private = shared_count(0) == rank + 1 && fixed_count(0) == rank + 1 &&
                   here == 7 + rank && there[99] == rank && fresh == 7;
  printf("rank %d of %d: %d words, option %d, %s\n", rank, ranks, words, number,
         is_private ? "private" : "SHARED");
  MPI_Finalize();
  return 0;
}
