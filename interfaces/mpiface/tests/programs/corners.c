/* Corners of functions: arithmetic of long double, empty statuses, what an error leaves, extents. */
#include <complex.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 9); } } while (0)

static int refuse(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  return MPI_ERR_OTHER;
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  /* A long double keeps what a double cannot. */
  const long double tiny = 0x1p-60L;
  long double real[3] = {1 + rank * tiny, rank + 1, -rank}, got[3];
  MPI_Allreduce(real, got, 3, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(got[0] == size + size * (size - 1) / 2 * tiny);
  CHECK(got[1] == size * (size + 1) / 2 && got[2] == -(size * (size - 1) / 2));
  MPI_Allreduce(real, got, 3, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  CHECK(got[0] == 1 + (size - 1) * tiny && got[1] == size && got[2] == 0);
  MPI_Allreduce(real, got, 3, MPI_LONG_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  CHECK(got[0] == 1 && got[1] == 1 && got[2] == -(size - 1));
  MPI_Scan(real, got, 3, MPI_LONG_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
  long double product = 1;
  for (int i = 1; i <= rank + 1; i++) product *= i;
  CHECK(got[1] == product && got[2] == 0);
  long double complex turn[2] = {I, 1 + rank * tiny * I}, turned[2], power = 1;
  for (int i = 0; i < size; i++) power *= I;
  MPI_Allreduce(turn, turned, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
  CHECK(turned[0] == power);
  MPI_Allreduce(turn, turned, 2, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  CHECK(turned[1] == size + size * (size - 1) / 2 * tiny * I);
  struct { long double value; int index; } pair[2], best[2];
  memset(best, 0x55, sizeof best);
  pair[0].value = 1 - rank * tiny;
  pair[1].value = 7;
  pair[0].index = pair[1].index = rank;
  MPI_Allreduce(pair, best, 2, MPI_LONG_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  CHECK(best[0].value == 1 - (size - 1) * tiny && best[0].index == size - 1);
  CHECK(best[1].value == 7 && best[1].index == 0);
  MPI_Allreduce(pair, best, 2, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  CHECK(best[0].value == 1 && best[0].index == 0 && best[1].index == 0);

  /* The status of no request. */
  MPI_Status status;
  MPI_Request none = MPI_REQUEST_NULL;
  int flag = 0, count = -1;
  memset(&status, 0x55, sizeof status);
  MPI_Request_get_status(none, &flag, &status);
  CHECK(flag && status.MPI_ERROR == MPI_SUCCESS && status.MPI_SOURCE == MPI_ANY_SOURCE);
  memset(&status, 0x55, sizeof status);
  MPI_Wait(&none, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(status.MPI_ERROR == MPI_SUCCESS && status.MPI_TAG == MPI_ANY_TAG && count == 0);

  /* A duplicate that an attribute refuses is none. */
  MPI_Comm comm, other = MPI_COMM_SELF;
  int key;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(comm, key, &key);
  CHECK(MPI_Comm_dup(comm, &other) != MPI_SUCCESS && other == MPI_COMM_NULL);
  MPI_Comm_delete_attr(comm, key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&comm);

  /* A structure is as long as C has it. */
  struct floats { char a; float complex b; };
  struct doubles { char a; double complex b; };
  struct longs { char a; long double complex b; };
  MPI_Datatype parts[2] = {MPI_CHAR, MPI_C_FLOAT_COMPLEX}, type;
  int lengths[2] = {1, 1};
  MPI_Aint at[2] = {0, offsetof(struct floats, b)}, low, extent;
  MPI_Type_create_struct(2, lengths, at, parts, &type);
  MPI_Type_get_extent(type, &low, &extent);
  CHECK(extent == sizeof(struct floats));
  MPI_Type_free(&type);
  parts[1] = MPI_C_DOUBLE_COMPLEX;
  at[1] = offsetof(struct doubles, b);
  MPI_Type_create_struct(2, lengths, at, parts, &type);
  MPI_Type_get_extent(type, &low, &extent);
  CHECK(extent == sizeof(struct doubles));
  MPI_Type_free(&type);
  parts[1] = MPI_C_LONG_DOUBLE_COMPLEX;
  at[1] = offsetof(struct longs, b);
  MPI_Type_create_struct(2, lengths, at, parts, &type);
  MPI_Type_get_extent(type, &low, &extent);
  CHECK(extent == sizeof(struct longs));
  MPI_Type_free(&type);

  MPI_Finalize();
  if (rank == 0) puts("corners fine");
  return 0;
}
