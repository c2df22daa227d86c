/* Error codes, requests and infos of a program's own. */
#include <mpi.h>
#include <pthread.h>
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

static int last_code, queried, freed, cancelled;

static void handle(MPI_Comm *comm, int *code, ...) { last_code = *code; }

static void codes(void) {
  int class, code, other, length, *last, flag;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Errhandler handler;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag && *last == MPI_ERR_LASTCODE);
  MPI_Add_error_class(&class);
  CHECK(class > MPI_ERR_LASTCODE && *last == class);
  MPI_Add_error_code(class, &code);
  CHECK(*last == code);
  MPI_Error_string(code, text, &length);
  CHECK(length == 0);
  MPI_Add_error_string(code, "no cheese");
  MPI_Error_string(code, text, &length);
  CHECK(!strcmp(text, "no cheese") && length == 9);
  MPI_Error_class(code, &other);
  CHECK(other == class);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == MPI_SUCCESS);
  CHECK(last_code == code);
  CHECK(MPI_Add_error_string(MPI_ERR_ARG, "mine") == MPI_ERR_ARG && last_code == MPI_ERR_ARG);
  CHECK(MPI_Error_class(code + 1, &other) == MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int query(void *extra, MPI_Status *status) {
  queried++;
  status->MPI_SOURCE = 17;
  status->MPI_TAG = *(int *)extra;
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, cancelled > 0);
  return MPI_SUCCESS;
}

static int release(void *extra) {
  freed++;
  return MPI_SUCCESS;
}
static int cancel(void *extra, int complete) {
  cancelled += complete ? 100 : 1;
  return MPI_SUCCESS;
}

static void *work(void *request) {
  MPI_Grequest_complete(*(MPI_Request *)request);
  return 0;
}

static void requests(void) {
  int tag = 9, flag, count;
  MPI_Request request, copy;
  MPI_Status status;
  MPI_Grequest_start(query, release, cancel, &tag, &request);
  MPI_Test(&request, &flag, &status);
  CHECK(!flag && queried == 0);
  MPI_Grequest_complete(request);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag && queried == 1 && freed == 0);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(request == MPI_REQUEST_NULL && queried == 2 && freed == 1);
  CHECK(count == 3 && status.MPI_SOURCE == 17 && status.MPI_TAG == 9);
  /* Freed before it is complete: the function is called then. */
  MPI_Grequest_start(query, release, cancel, &tag, &request);
  copy = request;
  MPI_Request_free(&request);
  CHECK(freed == 1 && request == MPI_REQUEST_NULL);
  MPI_Grequest_complete(copy);
  CHECK(freed == 2 && queried == 2);
  /* Cancelled, then completed by another thread while this one waits. */
  pthread_t thread;
  MPI_Grequest_start(query, release, cancel, &tag, &request);
  MPI_Cancel(&request);
  CHECK(cancelled == 1);
  copy = request;
  pthread_create(&thread, 0, work, &copy);
  pthread_join(thread, 0);
  MPI_Waitall(1, &request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag && freed == 3);
}

/* Keys and values that are none, or too long. */
static void wrong_infos(MPI_Info info) {
  char text[MPI_MAX_INFO_VAL + 1], back[MPI_MAX_INFO_VAL];
  int flag, length, before, after;
  memset(text, 'a', sizeof text);
  MPI_Info_get_nkeys(info, &before);
  for (int n = 0; n < 4; n++) {
    const char *keys[] = {"", NULL, text, text}, *key = keys[n];
    text[n == 2 ? MPI_MAX_INFO_KEY : MPI_MAX_INFO_VAL] = 0;
    CHECK(MPI_Info_set(info, key, "v") == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_get(info, key, 9, back, &flag) == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_get_string(info, key, &length, back, &flag) == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_get_valuelen(info, key, &length, &flag) == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_delete(info, key) == MPI_ERR_INFO_KEY);
    text[n == 2 ? MPI_MAX_INFO_KEY : MPI_MAX_INFO_VAL] = 'a';
  }
  text[MPI_MAX_INFO_VAL] = 0;
  CHECK(MPI_Info_set(info, "k", text) == MPI_ERR_INFO_VALUE);
  CHECK(MPI_Info_set(info, "k", NULL) == MPI_ERR_INFO_VALUE);
  MPI_Info_get_nkeys(info, &after);
  CHECK(before == after);
  /* The longest ones. */
  text[MPI_MAX_INFO_VAL - 1] = 0;
  CHECK(MPI_Info_set(info, "k", text) == MPI_SUCCESS);
  MPI_Info_get(info, "k", MPI_MAX_INFO_VAL - 1, back, &flag);
  CHECK(flag && !strcmp(text, back));
  text[MPI_MAX_INFO_KEY - 1] = 0;
  CHECK(MPI_Info_set(info, text, "") == MPI_SUCCESS);
  MPI_Info_get(info, text, 0, back, &flag);
  CHECK(flag && !*back);
  CHECK(MPI_Info_get_nthkey(info, after + 1, back) == MPI_SUCCESS && !strcmp(text, back));
  CHECK(MPI_Info_get(info, "k", -1, back, &flag) == MPI_ERR_ARG);
  CHECK(MPI_Info_get_nthkey(info, -1, back) == MPI_ERR_ARG);
  CHECK(MPI_Info_get_nthkey(info, after + 2, back) == MPI_ERR_ARG);
  CHECK(MPI_Info_delete(info, text) == MPI_SUCCESS && MPI_Info_delete(info, "k") == MPI_SUCCESS);
  CHECK(MPI_Info_set(MPI_INFO_NULL, "k", "v") == MPI_ERR_INFO);
  CHECK(MPI_Info_set(MPI_INFO_ENV, "k", "v") == MPI_ERR_INFO);
}

static void infos(void) {
  MPI_Info info, back;
  char value[20];
  int length = 4, flag;
  MPI_Comm twin;
  MPI_Info_create(&info);
  MPI_Info_set(info, "color", "vermilion");
  MPI_Info_get_string(info, "color", &length, value, &flag);
  CHECK(flag && length == 10 && !strcmp(value, "ver"));
  length = 0;
  MPI_Info_get_string(info, "color", &length, 0, &flag);
  CHECK(flag && length == 10);
  MPI_Info_get_string(info, "taste", &length, value, &flag);
  CHECK(!flag);
  /* Of a communicator's hints those are kept that the standard knows. */
  const char *known = "mpi_assert_no_any_tag";
  MPI_Info_set(info, known, "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &twin);
  MPI_Comm_get_info(twin, &back);
  length = sizeof value;
  MPI_Info_get_string(back, known, &length, value, &flag);
  CHECK(flag && !strcmp(value, "true"));
  MPI_Info_get_string(back, "color", &length, value, &flag);
  CHECK(!flag);
  MPI_Info_free(&back);
  MPI_Info_set(info, known, "false");
  MPI_Comm_set_info(twin, info);
  MPI_Comm_get_info(twin, &back);
  length = sizeof value;
  MPI_Info_get_string(back, known, &length, value, &flag);
  CHECK(flag && !strcmp(value, "false"));
  MPI_Info_free(&back);
  MPI_Comm_free(&twin);
  MPI_Info_create_env(0, 0, &back);
  MPI_Info_get_string(back, "maxprocs", &length, value, &flag);
  CHECK(flag && atoi(value) > 0);
  MPI_Info_free(&back);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Info_delete(info, "taste") == MPI_ERR_INFO_NOKEY);
  CHECK(MPI_Comm_set_info(MPI_COMM_WORLD, MPI_INFO_NULL) == MPI_ERR_INFO);
  wrong_infos(info);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  int rank;
  MPI_Info early;
  MPI_Info_create(&early); /* may be called before MPI_Init */
  MPI_Info_free(&early);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  codes();
  requests();
  infos();
  if (rank == 0)
    printf("codes fine\n");
  MPI_Finalize();
  return 0;
}
