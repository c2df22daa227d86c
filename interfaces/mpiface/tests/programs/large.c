/* Functions with large counts, codes that are removed, and datatypes of very many blocks. */
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

static const MPI_Count many = 3000000000;

/* More elements than an int can say. */
static void datatypes(void) {
  MPI_Datatype type, other;
  MPI_Count size, lb, extent;
  MPI_Status status;
  int narrow;
  MPI_Type_contiguous_c(many, MPI_INT, &type);
  MPI_Type_size_c(type, &size);
  CHECK(size == 4 * many);
  MPI_Type_size(type, &narrow);
  CHECK(narrow == MPI_UNDEFINED);
  MPI_Type_get_extent_c(type, &lb, &extent);
  CHECK(lb == 0 && extent == 4 * many);
  MPI_Status_set_elements_c(&status, MPI_INT, many);
  MPI_Get_elements_c(&status, MPI_INT, &size);
  CHECK(size == many);
  MPI_Get_count_c(&status, MPI_SHORT, &size);
  CHECK(size == 2 * many);
  MPI_Get_count(&status, MPI_INT, &narrow);
  CHECK(narrow == MPI_UNDEFINED);
  MPI_Get_elements(&status, type, &narrow);
  CHECK(narrow == MPI_UNDEFINED);
  MPI_Type_free(&type);
  /* What made it. */
  MPI_Count lengths[2] = {2, many}, at[2] = {64, 80}, integers, addresses, counts, types, got[5];
  int combiner, whole[1];
  MPI_Aint far[1];
  MPI_Type_create_hindexed_c(2, lengths, at, MPI_INT, &type);
  MPI_Type_get_true_extent_c(type, &lb, &extent);
  CHECK(lb == 64 && extent == 16 + 4 * many);
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
  CHECK(integers == 0 && addresses == 0 && counts == 5 && types == 1);
  CHECK(combiner == MPI_COMBINER_HINDEXED);
  MPI_Type_get_contents_c(type, 0, 0, 5, 1, whole, far, got, &other);
  CHECK(got[0] == 2 && got[1] == 2 && got[2] == many && got[3] == 64 && got[4] == 80);
  CHECK(other == MPI_INT);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_get_envelope(type, whole, whole, whole, &combiner) == MPI_ERR_TYPE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
  MPI_Count sizes[2] = {10, many}, parts[2] = {2, 3}, starts[2] = {1, many - 3};
  MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &type);
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
  CHECK(integers == 2 && counts == 6 && types == 1);
  MPI_Type_get_true_extent_c(type, &lb, &extent);
  CHECK(lb == 2 * many - 3 && extent == many + 3);
  MPI_Type_free(&type);
  MPI_Type_create_resized_c(MPI_INT, -4, many, &type);
  MPI_Type_get_extent_c(type, &lb, &extent);
  CHECK(lb == -4 && extent == many);
  MPI_Type_free(&type);
}

/* A matrix of 2^30 elements, transposed: as many blocks, and made at once. */
static void transposed(void) {
  MPI_Datatype column, matrix, twice;
  MPI_Count size, lb, extent;
  MPI_Type_vector(1 << 15, 1, 1 << 15, MPI_INT, &column);
  MPI_Type_create_hvector(1 << 15, 1, sizeof(int), column, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Type_size_x(matrix, &size);
  CHECK(size == 4ll << 30);
  MPI_Type_get_true_extent_x(matrix, &lb, &extent);
  CHECK(lb == 0 && extent == 4ll << 30);
  MPI_Type_contiguous(1 << 10, matrix, &twice);
  MPI_Type_size_x(twice, &size);
  CHECK(size == 4ll << 40);
  MPI_Type_free(&twice);
  MPI_Type_free(&matrix);
  MPI_Type_free(&column);
}

static void sum(void *in, void *out, MPI_Count *n, MPI_Datatype *type) {
  CHECK(*type == MPI_INT);
  for (MPI_Count i = 0; i < *n; i++)
    ((int *)out)[i] += ((int *)in)[i];
}

/* One function of each kind; the rest are made from the same list. */
static void calls(int rank, int ranks) {
  MPI_Count ones[16], twos[16], position = 0, size;
  MPI_Aint at[16];
  int send[64], got[64], right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  MPI_Status status;
  MPI_Request request;
  for (int i = 0; i < 16; i++)
    ones[i] = 1, twos[i] = 2, at[i] = 3 * i;
  for (int i = 0; i < 64; i++)
    send[i] = 100 * rank + i, got[i] = -1;
  MPI_Sendrecv_c(send, 5, MPI_INT, right, 1, got, 64, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count_c(&status, MPI_INT, &size);
  CHECK(size == 5 && got[4] == 100 * left + 4 && got[5] == -1);
  MPI_Isend_c(send, 3, MPI_INT, right, 2, MPI_COMM_WORLD, &request);
  MPI_Recv_c(got, 3, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got[2] == 100 * left + 2);
  MPI_Alltoallv_c(send, ones, at, MPI_INT, got, ones, at, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++)
    CHECK(got[3 * i] == 100 * i + 3 * rank);
  MPI_Allgatherv_c(send, 2, MPI_INT, got, twos, at, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++)
    CHECK(got[3 * i] == 100 * i && got[3 * i + 1] == 100 * i + 1);
  MPI_Op op;
  MPI_Op_create_c(sum, 1, &op);
  int total[16];
  MPI_Allreduce_c(send, total, 3, MPI_INT, op, MPI_COMM_WORLD);
  for (int i = 0; i < 3; i++)
    CHECK(total[i] == 50 * ranks * (ranks - 1) + ranks * i);
  MPI_Reduce_scatter_c(send, total, ones, MPI_INT, op, MPI_COMM_WORLD);
  CHECK(total[0] == 50 * ranks * (ranks - 1) + ranks * rank);
  MPI_Op_free(&op);
  MPI_Allreduce_init_c(send, total, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  CHECK(total[1] == 50 * ranks * (ranks - 1) + ranks);
  char packed[64];
  MPI_Pack_size_c(3, MPI_INT, MPI_COMM_WORLD, &size);
  CHECK(size == 12);
  MPI_Pack_c(send, 3, MPI_INT, packed, 64, &position, MPI_COMM_WORLD);
  MPI_Pack_c(send + 9, 1, MPI_INT, packed, 64, &position, MPI_COMM_WORLD);
  CHECK(position == 16);
  position = 8;
  MPI_Unpack_c(packed, 64, &position, got, 2, MPI_INT, MPI_COMM_WORLD);
  CHECK(position == 16 && got[0] == send[2] && got[1] == send[9]);
  position = 0;
  MPI_Pack_external_c("external32", send, 2, MPI_INT, packed, 64, &position);
  CHECK(position == 8);
  MPI_Win win;
  MPI_Win_create_c(got, sizeof got, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put_c(send, 2, MPI_INT, right, 7, 2, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(got[7] == 100 * left && got[8] == 100 * left + 1);
  MPI_Win_free(&win);
}

static void codes(void) {
  int class, code, last, found, *used;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "mine");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Remove_error_class(class) == MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Remove_error_string(code);
  MPI_Error_string(code, text, &last);
  CHECK(strcmp(text, "") == 0);
  MPIX_Delete_error_code(code);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &used, &found);
  CHECK(found && *used == class);
  MPI_Remove_error_class(class);
  CHECK(*used == class - 1);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  datatypes();
  transposed();
  calls(rank, ranks);
  codes();
  if (rank == 0)
    printf("large fine\n");
  MPI_Finalize();
  return 0;
}
