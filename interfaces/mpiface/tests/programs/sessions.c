/* Sessions: two libraries that know nothing of each other, without and beside MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
  if (!(what)) { \
    printf("%s, line %d\n", #what, __LINE__); \
    exit(1); \
  }

static int told;

static void handler(MPI_Session *session, int *code, ...) {
  CHECK(*session != MPI_SESSION_NULL)
  told = *code;
}

/* A sum over all ranks, in a session of its own. */
static int library(const char *tag) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size, sum;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2)
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  CHECK(session == MPI_SESSION_NULL)
  return size;
}

static void sets(int size) {
  MPI_Session session;
  MPI_Info hints, info;
  MPI_Group group;
  int count, flag, members, length;
  char name[64], value[64];
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session_init(hints, MPI_ERRORS_RETURN, &session);
  MPI_Info_free(&hints);
  /* What is not given is not promised. */
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", 63, value, &flag);
  CHECK(flag && !strcmp(value, "MPI_THREAD_SERIALIZED"))
  MPI_Info_free(&info);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
  CHECK(count == 2)
  for (int i = 0; i < count; i++) {
    length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
    CHECK(length > 1 && length < 64)
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    CHECK((int)strlen(name) == length - 1)
    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get(info, "mpi_size", 63, value, &flag);
    MPI_Group_from_session_pset(session, name, &group);
    MPI_Group_size(group, &members);
    CHECK(flag && atoi(value) == members && members == (strcmp(name, "mpi://SELF") ? size : 1))
    MPI_Group_free(&group);
    MPI_Info_free(&info);
  }
  /* A name is cut to the room that there is. */
  length = 4;
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1, &length, name);
  CHECK(!strcmp(name, "mpi") && length == 11)
  CHECK(MPI_Group_from_session_pset(session, "mpi://self", &group) == MPI_SUCCESS)
  MPI_Group_free(&group);
  /* Errors go to the session's handler. */
  MPI_Errhandler own, got;
  MPI_Session_create_errhandler(handler, &own);
  MPI_Session_set_errhandler(session, own);
  MPI_Session_get_errhandler(session, &got);
  CHECK(got == own)
  /* It stays while the session has it. */
  MPI_Errhandler_free(&own);
  MPI_Errhandler_free(&got);
  for (int i = 0; i < 70; i++) {
    MPI_Session_create_errhandler(handler, &own);
    MPI_Errhandler_free(&own);
  }
  CHECK(MPI_Group_from_session_pset(session, "mpi://nobody", &group) == MPI_ERR_ARG)
  CHECK(told == MPI_ERR_ARG)
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  CHECK(told == MPI_ERR_OTHER)
  MPI_Session_finalize(&session);
}

int main(int argc, char **argv) {
  int size, flag, rank;
  MPI_Session open;
  if (argc > 1 && !strcmp(argv[1], "open")) { /* rank 1 does not close it */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &open);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 1) MPI_Session_finalize(&open);
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "none")) { /* after the last session nothing may be called */
    library("alone");
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
  }
  size = library("first");
  library("first");
  sets(size);
  MPI_Initialized(&flag);
  CHECK(!flag)
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &open);
  MPI_Init(&argc, &argv);
  library("inside");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  /* The open session lets communicators work on. */
  MPI_Finalized(&flag);
  CHECK(flag)
  library("after");
  MPI_Session_finalize(&open);
  library("behind");
  if (rank == 0) printf("sessions fine\n");
  return 0;
}
