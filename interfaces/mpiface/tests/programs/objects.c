/* Attributes, persistent requests, lists of keys and values, error handlers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)

static int copies, deletions, errors, last_code;
static MPI_Comm last_comm;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  copies++;
  *(long *)out = (long)in + *(int *)extra;
  *flag = (long)in != 5; /* one of them is not copied */
  return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra) {
  deletions++;
  return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...) {
  errors++;
  last_comm = *comm;
  last_code = *code;
}

static void at_end(void) { if (deletions != 4) printf("%d deletions\n", deletions); }

static void attributes(void) {
  static int extra = 100;
  int own, same, none, flag, freed;
  void *value;
  MPI_Comm comm, twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(copy, delete, &own, &extra);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &same, 0);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &none, 0);
  CHECK(own != same && same != none);
  MPI_Comm_get_attr(comm, own, &value, &flag);
  CHECK(!flag);
  MPI_Comm_set_attr(comm, own, (void *)4);
  MPI_Comm_set_attr(comm, own, (void *)7); /* deletes the first */
  CHECK(deletions == 1);
  MPI_Comm_set_attr(comm, same, &extra);
  MPI_Attr_put(comm, none, &extra);
  freed = own;
  MPI_Comm_free_keyval(&freed);
  CHECK(freed == MPI_KEYVAL_INVALID);
  MPI_Comm_dup(comm, &twin);
  MPI_Comm_get_attr(twin, own, &value, &flag);
  CHECK(flag && (long)value == 107 && copies == 1);
  MPI_Comm_get_attr(twin, same, &value, &flag);
  CHECK(flag && value == &extra);
  MPI_Attr_get(twin, none, &value, &flag);
  CHECK(!flag);
  MPI_Comm_delete_attr(twin, own);
  CHECK(deletions == 2);
  MPI_Comm_get_attr(twin, own, &value, &flag);
  CHECK(!flag);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&twin);
  CHECK(deletions == 3 && comm == MPI_COMM_NULL);
  /* The standard's way to be told of MPI_Finalize. (The old key has gone with its last value.) */
  MPI_Comm_create_keyval(copy, delete, &own, &extra);
  MPI_Comm_set_attr(MPI_COMM_SELF, own, (void *)5);
}

static void persistent(int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, out[3], in[3], flag;
  static double big_out[5000], big_in[5000];
  MPI_Request all[4];
  MPI_Status status[4];
  MPI_Recv_init(in, 3, MPI_INT, from, 4, MPI_COMM_WORLD, &all[0]);
  MPI_Send_init(out, 3, MPI_INT, to, 4, MPI_COMM_WORLD, &all[1]);
  MPI_Recv_init(big_in, 5000, MPI_DOUBLE, from, 5, MPI_COMM_WORLD, &all[2]);
  MPI_Ssend_init(big_out, 5000, MPI_DOUBLE, to, 5, MPI_COMM_WORLD, &all[3]);
  MPI_Wait(&all[0], &status[0]); /* one that was not started */
  CHECK(all[0] != MPI_REQUEST_NULL && status[0].MPI_SOURCE == MPI_ANY_SOURCE);
  for (int round = 0; round < 20; round++) {
    out[0] = out[2] = rank + round;
    big_out[4999] = rank - round;
    MPI_Startall(3, all);
    MPI_Start(&all[3]);
    if (round % 2) {
      MPI_Waitall(4, all, status);
    } else {
      do MPI_Testall(4, all, &flag, status); while (!flag);
    }
    CHECK(status[0].MPI_SOURCE == from && status[0].MPI_TAG == 4);
    CHECK(in[0] == from + round && in[2] == in[0] && big_in[4999] == from - round);
  }
  for (int i = 0; i < 4; i++) {
    MPI_Request_free(&all[i]);
    CHECK(all[i] == MPI_REQUEST_NULL);
  }
}

static void info(void) {
  MPI_Info info, copy;
  char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
  int flag, length;
  MPI_Info_create(&info);
  MPI_Info_set(info, "first", "one");
  MPI_Info_set(info, "second", "two");
  MPI_Info_set(info, "first", "three");
  MPI_Info_get(info, "first", MPI_MAX_INFO_VAL, value, &flag);
  CHECK(flag && !strcmp(value, "three"));
  MPI_Info_get(info, "first", 2, value, &flag);
  CHECK(flag && !strcmp(value, "th"));
  MPI_Info_get(info, "third", 9, value, &flag);
  CHECK(!flag);
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(info, "first");
  MPI_Info_get_nkeys(info, &length);
  CHECK(length == 1);
  MPI_Info_get_nthkey(copy, 1, key);
  CHECK(!strcmp(key, "second"));
  MPI_Info_get_valuelen(copy, "first", &length, &flag);
  CHECK(flag && length == 5);
  MPI_Info_free(&info);
  CHECK(info == MPI_INFO_NULL);
  MPI_Info_free(&copy);
}

static void error_handlers(int size) {
  MPI_Comm comm;
  MPI_Errhandler own, found;
  int x = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Comm_set_errhandler(comm, own);
  MPI_Comm_get_errhandler(comm, &found);
  CHECK(found == own);
  MPI_Errhandler_free(&own);
  CHECK(own == MPI_ERRHANDLER_NULL);
  CHECK(MPI_Send(&x, 1, MPI_INT, size + 3, 1, comm) == MPI_ERR_RANK);
  CHECK(errors == 1 && last_comm == comm && last_code == MPI_ERR_RANK);
  MPI_Comm_call_errhandler(comm, MPI_ERR_TAG);
  CHECK(errors == 2 && last_code == MPI_ERR_TAG);
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  attributes();
  persistent(rank, size);
  info();
  error_handlers(size);
  if (rank == 0) printf("objects fine\n");
  atexit(at_end);
  MPI_Finalize();
  return 0;
}
