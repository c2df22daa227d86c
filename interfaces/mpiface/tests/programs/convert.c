/* Statuses and files go to Fortran's form and back; the profilers' names are there, too. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  int rank, ranks, value, own, bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  own = rank;
  MPI_Status status, back;
  int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(&own, 1, MPI_INT, next, 5, &value, 1, MPI_INT, last, 5, MPI_COMM_WORLD, &status);
  MPI_Fint old[8];
  memset(&back, 0, sizeof back);
  bad |= MPI_Status_c2f(&status, old) || old[0] != last || old[1] != 5;
  bad |= MPI_Status_f2c(old, &back) || back.MPI_SOURCE != last || back.MPI_TAG != 5;
  int count = 0;
  MPI_Get_count(&back, MPI_INT, &count);
  bad |= count != 1;
  MPI_F08_status newer;
  bad |= MPI_Status_c2f08(&status, &newer) || newer.MPI_SOURCE != last;
  memset(old, 0, sizeof old);
  bad |= MPI_Status_f082f(&newer, old) || old[1] != 5;
  bad |= MPI_Status_f2f08(old, &newer) || PMPI_Status_f082c(&newer, &back) || back.MPI_TAG != 5;
  bad |= MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) != MPI_FILE_NULL;
  /* As functions, whatever the header makes of them: rsmpi's way. */
  int (*c2f)(MPI_Comm) = (MPI_Comm_c2f);
  MPI_Comm (*f2c)(int) = (PMPI_Comm_f2c);
  bad |= f2c(c2f(MPI_COMM_WORLD)) != MPI_COMM_WORLD;
  int all;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf(all ? "BAD\n" : "convert fine\n");
  MPI_Finalize();
  return 0;
}
