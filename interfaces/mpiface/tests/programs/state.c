#define _GNU_SOURCE
/* getopt, rand, strtok, hsearch ..: their hidden state is each rank's own, with the C library's numbers. */
#include <getopt.h>
#include <mpi.h>
#include <pwd.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, letter, nx = 0, verbose = 0;
  const char *name = "";
  static const struct option longs[] = {{"nx", required_argument, 0, 'x'}, {"verbose", no_argument, 0, 'v'}, {0, 0, 0, 0}};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while ((letter = getopt_long(argc, argv, "x:vn:", longs, NULL)) != -1) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (letter == 'x') nx = atoi(optarg);
    else if (letter == 'v') verbose++;
    else if (letter == 'n') name = optarg;
    else MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (nx != 40 || verbose != 2 || strcmp(name, "abc") || strcmp(argv[optind], "file")) {
    printf("options: %d %d %s %s\n", nx, verbose, name, argv[optind]);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  char text[] = "a,b,c,d,e", *word = strtok(text, ",");
  for (char expected = 'a'; word; word = strtok(NULL, ","), expected++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (*word != expected) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  /* glibc's first numbers after srand(1). */
  srand(1);
  MPI_Barrier(MPI_COMM_WORLD);
  int first = rand();
  MPI_Barrier(MPI_COMM_WORLD);
  int second = rand();
  if (first != 1804289383 || second != 846930886) MPI_Abort(MPI_COMM_WORLD, 5);
  /* A table of one's own: each rank has another value under the same key. */
  long mine = rank + 1;
  if (!hcreate(10)) MPI_Abort(MPI_COMM_WORLD, 6);
  MPI_Barrier(MPI_COMM_WORLD);
  ENTRY entry = {"key", (void *)mine}, *found = hsearch(entry, ENTER);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!found || hsearch((ENTRY){"key", 0}, FIND)->data != (void *)mine) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Barrier(MPI_COMM_WORLD);
  hdestroy();
  /* Another generator, and back. */
  char other[32], *before = initstate(5, other, sizeof other);
  MPI_Barrier(MPI_COMM_WORLD);
  (void)random();
  if (!before || setstate(before) != other || rand() != 1681692777) MPI_Abort(MPI_COMM_WORLD, 8);
  /* Buffers in which the C library gives results. */
  char *letters = l64a(rank + 1000), *user = getpwuid(0) ? getpwuid(0)->pw_name : "root";
  int point, sign;
  char *digits = ecvt(rank + 1.0, 3, &point, &sign);
  MPI_Barrier(MPI_COMM_WORLD);
  if (a64l(letters) != rank + 1000 || digits[0] != '1' + rank % 9 || strcmp(user, "root"))
    MPI_Abort(MPI_COMM_WORLD, 9);
  if (rank == 0) printf("own state\n");
  MPI_Finalize();
  return 0;
}
