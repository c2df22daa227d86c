/* Each rank's lines stay whole, in whatever parts they are printed. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 200; i++) {
    printf("<rank ");
    fprintf(stdout, "%d", rank);
    putchar(' ');
    fputs("of", stdout);
    for (int j = 0; j < rank; j++) putc('.', stdout);
    fwrite("line ", 1, 5, stdout);
    puts(">");
  }
  MPI_Finalize();
  return 0;
}
