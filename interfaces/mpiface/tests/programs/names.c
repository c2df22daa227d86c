/* Names that the C library and the launcher have, too: the program's own are called. */
#include <mpi.h>
#include <stdio.h>

int called;
void error(int a, int b, const char *c) { (void)a; (void)b; (void)c; called++; }
double y1(int n) { called++; return n; }
void pin(void) { called++; }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  error(1, 2, "x");
  double (*volatile function)(int) = y1;
  double value = function(3);
  pin();
  printf("%d %g\n", called, value);
  MPI_Finalize();
  return called != 3;
}
