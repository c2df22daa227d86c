/* A library whose constructor gives a function to atexit, and a program that leaves early. */
#include <stdio.h>
#include <stdlib.h>

#ifdef LIBRARY
static FILE *notes;

static void note(void) { fputs("42\n", notes); }

__attribute__((constructor)) static void begin(void) {
  notes = fopen("notes.txt", "w");
  if (!notes || atexit(note) != 0)
    abort();
}
#else
#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  exit(0);
}
#endif
