/* How datatypes were made, names and attributes of them, parts of distributed arrays, numbers of
 * Fortran 90, the portable format, statuses that a program fills. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    if (!(x)) {                                                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                      \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                \
    }                                                                                              \
  } while (0)

static int copies, deletions;

static int copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag) {
  copies++;
  *(void **)out = (char *)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete (MPI_Datatype type, int key, void *value, void *extra) {
  deletions++;
  return value == extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void contents(void) {
  int integers[8], n, a, t, combiner, size;
  MPI_Aint addresses[2], lb, extent;
  MPI_Datatype types[2], vector, nested;
  MPI_Type_vector(3, 2, 5, MPI_INT, &vector);
  MPI_Type_get_envelope(vector, &n, &a, &t, &combiner);
  CHECK(n == 3 && a == 0 && t == 1 && combiner == MPI_COMBINER_VECTOR);
  MPI_Type_get_contents(vector, 3, 0, 1, integers, addresses, types);
  CHECK(integers[0] == 3 && integers[1] == 2 && integers[2] == 5 && types[0] == MPI_INT);
  int lengths[2] = {1, 2};
  MPI_Aint at[2] = {0, 128};
  MPI_Datatype parts[2] = {MPI_DOUBLE, vector};
  MPI_Type_create_struct(2, lengths, at, parts, &nested);
  MPI_Type_free(&vector); /* the other one keeps it */
  MPI_Type_get_envelope(nested, &n, &a, &t, &combiner);
  CHECK(n == 3 && a == 2 && t == 2 && combiner == MPI_COMBINER_STRUCT);
  MPI_Type_get_contents(nested, 3, 2, 2, integers, addresses, types);
  CHECK(integers[0] == 2 && integers[2] == 2 && addresses[1] == 128 && types[0] == MPI_DOUBLE);
  MPI_Type_get_envelope(types[1], &n, &a, &t, &combiner);
  CHECK(combiner == MPI_COMBINER_VECTOR);
  MPI_Type_size(types[1], &size);
  CHECK(size == 24);
  MPI_Type_free(&types[1]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_get_contents(nested, 2, 2, 2, integers, addresses, types) == MPI_ERR_ARG);
  CHECK(MPI_Type_get_contents(MPI_INT, 1, 1, 1, integers, addresses, types) == MPI_ERR_TYPE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_get_envelope(MPI_INT, &n, &a, &t, &combiner);
  CHECK(n + a + t == 0 && combiner == MPI_COMBINER_NAMED);
  MPI_Type_dup(nested, &vector);
  MPI_Type_get_envelope(vector, &n, &a, &t, &combiner);
  CHECK(combiner == MPI_COMBINER_DUP && t == 1);
  MPI_Count count, other;
  MPI_Type_size_x(vector, &count);
  CHECK(count == 56);
  MPI_Type_get_true_extent_x(vector, &count, &other);
  MPI_Type_get_true_extent(nested, &lb, &extent);
  CHECK(count == lb && other == extent);
  MPI_Type_free(&vector);
  MPI_Type_free(&nested);
}

static void notes(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length, key, flag, extra;
  void *value;
  MPI_Datatype type, twin;
  MPI_Type_get_name(MPI_UNSIGNED_LONG, name, &length);
  CHECK(!strcmp(name, "MPI_UNSIGNED_LONG") && length == 17);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0);
  MPI_Type_set_name(type, "three");
  MPI_Type_get_name(type, name, &length);
  CHECK(!strcmp(name, "three"));
  MPI_Type_create_keyval(copy, delete, &key, &extra);
  MPI_Type_get_attr(type, key, &value, &flag);
  CHECK(!flag);
  MPI_Type_set_attr(type, key, name);
  MPI_Type_dup(type, &twin);
  MPI_Type_get_attr(twin, key, &value, &flag);
  CHECK(flag && value == name + 1 && copies == 1);
  MPI_Type_get_name(twin, name, &length);
  CHECK(length == 0);
  MPI_Type_delete_attr(twin, key);
  MPI_Type_get_attr(twin, key, &value, &flag);
  CHECK(!flag && deletions == 1);
  MPI_Type_free(&type);
  CHECK(deletions == 2);
  /* The function that deletes refuses: the call says so, and the attribute stays. */
  MPI_Type_set_attr(twin, key, &extra);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_delete_attr(twin, key) == MPI_ERR_OTHER);
  CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, 0) == MPI_ERR_KEYVAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_get_attr(twin, key, &value, &flag);
  CHECK(flag && value == &extra);
  MPI_Type_free_keyval(&key);
  CHECK(key == MPI_KEYVAL_INVALID);
}

/* A matrix of which each rank sends its part, and rank 0 puts them together. */
static void distributed(int rank, int ranks) {
  int sizes[2] = {7, 5}, kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  int arguments[2] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {0, 0}, whole[35], parts[35], bytes;
  MPI_Datatype type;
  MPI_Request request;
  MPI_Dims_create(ranks, 2, grid);
  for (int i = 0; i < 35; i++)
    whole[i] = i, parts[i] = -1;
  MPI_Type_create_darray(ranks, rank, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                         &type);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);
  MPI_Isend(whole, 1, type, 0, 1, MPI_COMM_WORLD, &request);
  if (rank == 0)
    for (int r = 0; r < ranks; r++) {
      MPI_Datatype theirs;
      MPI_Type_create_darray(ranks, r, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                             &theirs);
      MPI_Type_commit(&theirs);
      MPI_Recv(parts, 1, theirs, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&theirs);
    }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int sum;
  MPI_Allreduce(&bytes, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == sizeof whole);
  for (int i = 0; rank == 0 && i < 35; i++)
    CHECK(parts[i] == i);
  MPI_Type_free(&type);
}

static void fortran90(void) {
  MPI_Datatype one, two, found;
  int n, a, t, combiner, values[2], size;
  double x = 1.5, sum = 0;
  MPI_Type_create_f90_real(10, MPI_UNDEFINED, &one);
  MPI_Type_create_f90_real(10, MPI_UNDEFINED, &two);
  CHECK(one == two);
  MPI_Type_size(one, &size);
  CHECK(size == 8);
  MPI_Type_get_envelope(one, &n, &a, &t, &combiner);
  CHECK(n == 2 && combiner == MPI_COMBINER_F90_REAL);
  MPI_Type_get_contents(one, 2, 0, 0, values, 0, 0);
  CHECK(values[0] == 10 && values[1] == MPI_UNDEFINED);
  MPI_Reduce_local(&x, &sum, 1, one, MPI_SUM);
  CHECK(sum == 1.5);
  MPI_Type_create_f90_integer(5, &two);
  MPI_Type_size(two, &size);
  CHECK(size == 4);
  MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &found);
  MPI_Type_size(found, &size);
  CHECK(size == 16);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_create_f90_integer(1000, &two) == MPI_ERR_ARG);
  CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &found) == MPI_ERR_ARG);
  CHECK(MPI_Type_free(&one) == MPI_ERR_TYPE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void outside(void) {
  unsigned char packed[64];
  MPI_Aint position = 0, size;
  short s[2] = {1, -2}, back[2];
  long l = -3, other;
  double d = 2.5, e;
  MPI_Pack_external_size("external32", 2, MPI_SHORT, &size);
  CHECK(size == 4);
  MPI_Pack_external("external32", s, 2, MPI_SHORT, packed, sizeof packed, &position);
  MPI_Pack_external("external32", &l, 1, MPI_LONG, packed, sizeof packed, &position);
  MPI_Pack_external("external32", &d, 1, MPI_DOUBLE, packed, sizeof packed, &position);
  CHECK(position == 16 && packed[0] == 0 && packed[1] == 1 && packed[2] == 0xff &&
        packed[3] == 0xfe);
  CHECK(packed[8] == 0x40 && packed[9] == 0x04);
  position = 0;
  MPI_Unpack_external("external32", packed, 16, &position, back, 2, MPI_SHORT);
  MPI_Unpack_external("external32", packed, 16, &position, &other, 1, MPI_LONG);
  MPI_Unpack_external("external32", packed, 16, &position, &e, 1, MPI_DOUBLE);
  CHECK(back[0] == 1 && back[1] == -2 && other == -3 && e == 2.5 && position == 16);
}

static void statuses(void) {
  MPI_Status status;
  MPI_Datatype pair;
  int count, flag;
  MPI_Count many;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements(&status, pair, 3);
  MPI_Get_count(&status, pair, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Get_elements(&status, pair, &count);
  CHECK(count == 3);
  MPI_Status_set_elements_x(&status, MPI_CHAR, (MPI_Count)5 << 32);
  MPI_Get_elements_x(&status, MPI_CHAR, &many);
  CHECK(many == (MPI_Count)5 << 32);
  MPI_Status_set_cancelled(&status, 1);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
  double x[3];
  MPI_Aint low, high;
  MPI_Get_address(x, &low);
  MPI_Get_address(x + 2, &high);
  CHECK(MPI_Aint_diff(high, low) == 16 && MPI_Aint_add(low, 16) == high);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  contents();
  notes();
  distributed(rank, ranks);
  fortran90();
  outside();
  statuses();
  if (rank == 0)
    printf("contents fine\n");
  MPI_Finalize();
  return 0;
}
