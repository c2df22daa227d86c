/* What a rank loads itself: a state of its own, calls of MPI, and of what the program exports; it
 * needs a library that the program does not. */
#include <mpi.h>
extern int of_host(void);
extern int of_other(int add);
static int counter;
int public_counter;
int bump(void) {
  public_counter++;
  return ++counter;
}
int who(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int total(int value) {
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}
int host_state(void) { return of_host(); }
int other_state(int add) { return of_other(add); }
