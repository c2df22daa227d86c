/* Threads of a rank that call MPI one after the other, and the ways in which a rank may end, as the
 * first argument says. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size, wrong;
static MPI_Comm comm;
static MPI_Request request;
static int given, got;

static void want(int holds, const char *what) {
  if (!holds) {
    wrong++;
    fprintf(stderr, "rank %d: %s\n", rank, what);
  }
}

/* One part of the program; each may be made by another thread than the one before. */
static void part(int which) {
  int x = rank, sum = -1, all = size * (size - 1) / 2, next = (rank + 1) % size;
  switch (which) {
  case 0: MPI_Barrier(MPI_COMM_WORLD); break;
  case 1:
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    want(sum == all, "all_reduce");
    break;
  case 2: MPI_Comm_dup(MPI_COMM_WORLD, &comm); break;
  case 3:
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm);
    want(sum == all, "all_reduce in a copy");
    break;
  case 4: /* started by one thread */
    given = rank;
    got = -1;
    MPI_Iallreduce(&given, &got, 1, MPI_INT, MPI_SUM, comm, &request);
    break;
  case 5: /* and waited for by another */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    want(got == all, "a started all_reduce");
    break;
  case 6:
    MPI_Sendrecv(&x, 1, MPI_INT, next, 7, &sum, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE);
    want(sum == (rank + size - 1) % size, "a message");
    break;
  case 7: {
    MPI_Win win;
    int *mine;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &mine, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    want(*mine == (rank + size - 1) % size, "a window");
    MPI_Win_free(&win);
    break;
  }
  case 8: MPI_Comm_free(&comm); break;
  }
}

enum { PARTS = 9 };

static void *run_part(void *which) {
  part((int)(long)which);
  return NULL;
}

static void on_a_thread(int which) {
  pthread_t thread;
  pthread_create(&thread, NULL, run_part, (void *)(long)which);
  pthread_join(thread, NULL);
}

/* A thread that lives, and makes the parts that it is told. */
static pthread_barrier_t told, done;
static int task;

static void *serve(void *unused) {
  for (;;) {
    pthread_barrier_wait(&told);
    if (task < 0)
      return unused;
    part(task);
    pthread_barrier_wait(&done);
  }
}

static pthread_t first;

static void *cancel(void *unused) {
  pthread_cancel(first);
  return unused;
}

static void *leave(void *unused) {
  exit(4);
  return unused;
}

static void cleaned(void *text) {
  printf("cleaned up %s\n", (const char *)text);
  fflush(stdout);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int level;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  want(level == MPI_THREAD_SERIALIZED, "the level of threads");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(how, "threads")) { /* that come and go, and main's between them in all ways */
    for (int mask = 0; mask < 8; mask++)
      for (int i = 0; i < PARTS; i++)
        if (mask >> (i + rank) % 3 & 1)
          part(i);
        else
          on_a_thread(i);
    pthread_barrier_init(&told, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&thread, NULL, serve, NULL);
    for (int i = 0; i < 5 * PARTS; i++)
      if ((i + rank) % 2)
        part(i % PARTS);
      else {
        task = i % PARTS;
        pthread_barrier_wait(&told);
        pthread_barrier_wait(&done);
      }
    task = -1;
    pthread_barrier_wait(&told);
    pthread_join(thread, NULL);
    MPI_Finalize();
    if (!rank && !wrong)
      printf("passed\n");
    return wrong;
  }
  if (!strcmp(how, "cut_after")) { /* the normal end of a main that is no more needed */
    MPI_Finalize();
    pthread_exit(NULL);
  }
  if (!strcmp(how, "at_once_after")) {
    MPI_Finalize();
    if (rank == 1)
      _exit(0);
    return 0;
  }
  if (!strcmp(how, "fork")) {
    int status = -1, x = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
      if (rank == 1)
        exit(3);
      if (rank == 2)
        _exit(4);
      MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
      _exit(0);
    }
    waitpid(child, &status, 0);
    want(WIFEXITED(status) && (rank == 0 ? WEXITSTATUS(status) > 0 : WEXITSTATUS(status) == rank + 2), "the child's code");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
  }
  if (rank == 1) {
    if (!strcmp(how, "cut")) {
      pthread_cleanup_push(cleaned, "main");
      pthread_exit(NULL);
      pthread_cleanup_pop(0);
    }
    if (!strcmp(how, "cancel")) {
      first = pthread_self();
      pthread_create(&thread, NULL, cancel, NULL);
      for (;;)
        pause();
    }
    if (!strcmp(how, "at_once")) _exit(3);
    if (!strcmp(how, "at_once_well")) _Exit(0);
    if (!strcmp(how, "quick")) quick_exit(6);
    if (!strcmp(how, "helper")) {
      pthread_create(&thread, NULL, leave, NULL);
      pthread_join(thread, NULL);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
