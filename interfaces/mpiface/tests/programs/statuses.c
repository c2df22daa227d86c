/* The errors of requests: what calls that complete several of them say, and where. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    if (!(x)) {                                                                                    \
      fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #x);                               \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                \
    }                                                                                              \
  } while (0)

enum { MOST = 20000, N = 4 };
static int rank, size, calls, told;
static int out[MOST], in[N][MOST];

static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

/* What request i of a list is: a receive that fits, one that does not, no request, a persistent one
 * that rests, a receive from nobody, a send. */
enum { GOOD, BAD, NONE, REST, NOBODY, SEND, KINDS };

static int any, again;

static void begin(int kind, int i, int n, MPI_Request *req) {
  int last = (rank + size - 1) % size, next = (rank + 1) % size, room = kind == BAD ? n - 1 : n;
  int from = kind == NOBODY ? MPI_PROC_NULL : any ? MPI_ANY_SOURCE : last;
  switch (kind) {
  case NONE: *req = MPI_REQUEST_NULL; return;
  case SEND: MPI_Isend(out, 1, MPI_INT, next, 100 + i, MPI_COMM_WORLD, req); return;
  case REST: MPI_Recv_init(in[i], 1, MPI_INT, last, 50, MPI_COMM_WORLD, req); return;
  }
  if (!again) {
    MPI_Irecv(in[i], room, MPI_INT, from, i, MPI_COMM_WORLD, req);
    return;
  }
  MPI_Recv_init(in[i], room, MPI_INT, from, i, MPI_COMM_WORLD, req);
  MPI_Start(req);
}

/* Sends what the others' receives take. */
static MPI_Request sends[N];
static void start_sends(const int *kinds, int n) {
  for (int i = 0; i < N; i++) {
    sends[i] = MPI_REQUEST_NULL;
    if (kinds[i] == GOOD || kinds[i] == BAD)
      MPI_Isend(out, n, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &sends[i]);
  }
}

static void end(const int *kinds, MPI_Request *reqs) {
  int last = (rank + size - 1) % size;
  MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < N; i++) {
    if (kinds[i] == SEND)
      MPI_Recv(in[i], 1, MPI_INT, last, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (reqs[i] != MPI_REQUEST_NULL) MPI_Request_free(&reqs[i]);
  }
}

/* The four calls, on lists of each two kinds of requests beside a bad and a good one. */
static void lists(int n) {
  enum { WAITALL, TESTALL, WAITSOME, TESTSOME, CALLS };
  for (int call = 0; call < CALLS; call++)
    for (int mixed = 0; mixed < KINDS * KINDS; mixed++) {
      int ignore = (mixed + n) % 3 == 0;
      int kinds[N] = {mixed % KINDS, GOOD, mixed / KINDS, GOOD}, bad = 0, active = 0;
      MPI_Request reqs[N];
      MPI_Status all[N], *status = ignore ? MPI_STATUSES_IGNORE : all;
      for (int i = 0; i < N; i++) {
        all[i].MPI_ERROR = -77;
        begin(kinds[i], i, n, &reqs[i]);
        bad += kinds[i] == BAD;
        active += kinds[i] != NONE && kinds[i] != REST;
      }
      start_sends(kinds, n);
      int at[N], seen[N] = {0}, failed = 0, ended = 0;
      while (ended < active) {
        int code, done = 0, some = -1;
        switch (call) {
        case WAITALL: code = MPI_Waitall(N, reqs, status); done = 1; break;
        case TESTALL: code = MPI_Testall(N, reqs, &done, status); break;
        case WAITSOME: code = MPI_Waitsome(N, reqs, &some, at, status); break;
        default: code = MPI_Testsome(N, reqs, &some, at, status);
        }
        if (call < WAITSOME) {
          CHECK(done || code == MPI_SUCCESS);
          if (!done) continue;
          CHECK(class_of(code) == (bad ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
          for (int i = 0; i < N && !ignore; i++) {
            int class = kinds[i] == BAD ? MPI_ERR_TRUNCATE : MPI_SUCCESS, is_empty;
            is_empty = kinds[i] == NONE || kinds[i] == REST;
            if (bad || is_empty) CHECK(class_of(all[i].MPI_ERROR) == class);
            if (!bad && !is_empty) CHECK(all[i].MPI_ERROR == -77);
            if (is_empty) CHECK(all[i].MPI_SOURCE == MPI_ANY_SOURCE);
            if (kinds[i] == NOBODY) CHECK(all[i].MPI_SOURCE == MPI_PROC_NULL);
          }
          break;
        }
        int has_failed = 0;
        for (int i = 0; i < some; i++) {
          CHECK(!seen[at[i]]++);
          has_failed += kinds[at[i]] == BAD;
        }
        failed += has_failed, ended += some;
        CHECK(class_of(code) == (has_failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
        for (int i = 0; i < some && !ignore; i++) {
          int is_bad = kinds[at[i]] == BAD;
          if (has_failed)
            CHECK(class_of(all[i].MPI_ERROR) == (is_bad ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
          else
            CHECK(all[i].MPI_ERROR == -77);
          all[i].MPI_ERROR = -77;
        }
      }
      if (call >= WAITSOME) CHECK(failed == bad && ended == active);
      for (int i = 0; i < N; i++) {
        int stays = kinds[i] == REST || (again && kinds[i] != NONE && kinds[i] != SEND);
        CHECK((reqs[i] != MPI_REQUEST_NULL) == stays);
      }
      end(kinds, reqs);
    }
}

/* Calls that complete one request give its error, and leave the field alone. */
static void single(int n) {
  for (int call = 0; call < 8; call++) {
    int kinds[N] = {BAD, NONE, NONE, NONE}, code = 0, done = 0, index = -1;
    MPI_Request req = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Status status;
    status.MPI_ERROR = -77;
    if (call < 4) begin(BAD, 0, n, &req);
    start_sends(kinds, n);
    int last = (rank + size - 1) % size, next = (rank + 1) % size;
    MPI_Comm world = MPI_COMM_WORLD;
    switch (call) {
    case 0: code = MPI_Wait(&req, &status); break;
    case 1: while (!done) code = MPI_Test(&req, &done, &status); break;
    case 2: code = MPI_Waitany(1, &req, &index, &status); break;
    case 3: while (!done) code = MPI_Testany(1, &req, &index, &done, &status); break;
    case 4: code = MPI_Recv(in[0], n - 1, MPI_INT, last, 0, world, &status); break;
    case 5:
      MPI_Mprobe(last, 0, world, &message, &status);
      code = MPI_Mrecv(in[0], n - 1, MPI_INT, &message, &status);
      break;
    case 6:
      MPI_Mprobe(last, 0, world, &message, &status);
      MPI_Imrecv(in[0], n - 1, MPI_INT, &message, &req);
      code = MPI_Wait(&req, &status);
      break;
    default:
      code = MPI_Sendrecv(out, 1, MPI_INT, next, 9, in[0], n - 1, MPI_INT, last, 0, world, &status);
      MPI_Recv(in[1], 1, MPI_INT, last, 9, world, MPI_STATUS_IGNORE);
    }
    CHECK(class_of(code) == MPI_ERR_TRUNCATE && status.MPI_ERROR == -77);
    if (call == 2 || call == 3) CHECK(index == 0);
    MPI_Waitall(1, sends, MPI_STATUSES_IGNORE);
  }
}

#ifdef MPI_ABI_VERSION
/* Collectives that fail at this rank: beside a request that ends well. */
static void collectives(int n) {
  for (int kind = 0; kind < 4; kind++) {
    MPI_Comm ring;
    MPI_Request reqs[2];
    MPI_Status status[2];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){1}, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    int *all = malloc(4 * size * n * sizeof *all);
    switch (kind) {
    case 0: MPI_Iallgather(out, n, MPI_INT, all, n - 1, MPI_INT, ring, &reqs[1]); break;
    case 1: MPI_Ialltoall(all, n, MPI_INT, all + 2 * size * n, n - 1, MPI_INT, ring, &reqs[1]); break;
    case 2: MPI_Ineighbor_allgather(out, n, MPI_INT, all, n - 1, MPI_INT, ring, &reqs[1]); break;
    default:
      MPI_Allgather_init(out, n, MPI_INT, all, n - 1, MPI_INT, ring, MPI_INFO_NULL, &reqs[1]);
      MPI_Start(&reqs[1]);
    }
    MPI_Ibarrier(ring, &reqs[0]);
    MPI_Comm_free(&ring);
    CHECK(class_of(MPI_Waitall(2, reqs, status)) == MPI_ERR_IN_STATUS);
    CHECK(!status[0].MPI_ERROR && class_of(status[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
    if (kind == 3) MPI_Request_free(&reqs[1]);
    free(all);
  }
}
#endif

static int query(void *extra, MPI_Status *status) {
  status->MPI_SOURCE = status->MPI_TAG = 0;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return *(int *)extra;
}
static int nothing(void *extra) { return MPI_SUCCESS; }
static int cancel(void *extra, int complete) { return MPI_SUCCESS; }

/* Requests of the program's own: the code of its function. */
static void general(void) {
  int good = MPI_SUCCESS, bad, class;
  MPI_Request reqs[2];
  MPI_Status status[2];
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &bad);
  MPI_Grequest_start(query, nothing, cancel, &bad, &reqs[0]);
  MPI_Grequest_complete(reqs[0]);
  CHECK(MPI_Wait(&reqs[0], status) == bad);
  MPI_Grequest_start(query, nothing, cancel, &bad, &reqs[0]);
  MPI_Grequest_start(query, nothing, cancel, &good, &reqs[1]);
  MPI_Grequest_complete(reqs[0]);
  MPI_Grequest_complete(reqs[1]);
  CHECK(class_of(MPI_Waitall(2, reqs, status)) == MPI_ERR_IN_STATUS);
#ifdef MPI_ABI_VERSION
  CHECK(status[0].MPI_ERROR == bad && status[1].MPI_ERROR == MPI_SUCCESS);
#endif
}

/* A handle of no request, behind a request that has failed and is gone: both are told. */
static void stranger(void) {
  MPI_Request reqs[N], kept;
  MPI_Status status[N];
  MPI_Send(out, 2, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Irecv(in[0], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &reqs[0]);
  MPI_Irecv(in[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &reqs[1]);
  memset(&reqs[2], 0x77, sizeof reqs[2]);
  reqs[3] = MPI_REQUEST_NULL;
  kept = reqs[1];
  CHECK(class_of(MPI_Waitall(N, reqs, status)) == MPI_ERR_IN_STATUS);
  CHECK(class_of(status[0].MPI_ERROR) == MPI_ERR_TRUNCATE && reqs[0] == MPI_REQUEST_NULL);
  CHECK(class_of(status[1].MPI_ERROR) == MPI_ERR_PENDING && reqs[1] == kept);
  CHECK(class_of(status[2].MPI_ERROR) == MPI_ERR_REQUEST && status[3].MPI_ERROR == MPI_SUCCESS);
  MPI_Send(out, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
  CHECK(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  /* Nothing has failed before: the call gives the error. */
  memset(&reqs[0], 0x77, sizeof reqs[0]);
  CHECK(class_of(MPI_Waitall(1, reqs, status)) == MPI_ERR_REQUEST);
}

static void handle(MPI_Comm *comm, int *code, ...) {
  calls++;
  told = *code;
}

/* A program's handler is told once; the text of an error has the line of the call. */
static void told_once(void) {
  MPI_Errhandler own;
  MPI_Request reqs[2];
  MPI_Status status[2];
  char text[MPI_MAX_ERROR_STRING];
  int length, code;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_create_errhandler(handle, &own);
  for (int i = 0; i < 3; i++) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, i ? own : MPI_ERRORS_RETURN);
    MPI_Irecv(in[0], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &reqs[0]);
    MPI_Irecv(in[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &reqs[1]);
    MPI_Send(out, 2, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Send(out, 2, MPI_INT, rank, 1, MPI_COMM_WORLD);
    calls = 0;
    code = i == 2 ? MPI_Wait(&reqs[0], status) : MPI_Waitall(2, reqs, status);
    CHECK(calls == (i > 0) && (!i || told == code));
    CHECK(class_of(code) == (i == 2 ? MPI_ERR_TRUNCATE : MPI_ERR_IN_STATUS));
    if (i == 2) MPI_Wait(&reqs[1], status);
    CHECK(MPI_Send(out, 1, MPI_INT, size, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef MPI_ABI_VERSION
  if (rank == 0) {
    MPI_Error_string(MPI_ERR_RANK, text, &length);
    CHECK(strstr(text, "invalid rank: MPI_Send at statuses.c:") && strstr(text, "is none of"));
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    CHECK(!strcmp(text, "invalid tag"));
  }
#endif
  MPI_Errhandler_free(&own);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    /* Fatal, and both are named. */
    MPI_Request reqs[2];
    MPI_Irecv(in[0], 2, MPI_INT, rank, 0, MPI_COMM_WORLD, &reqs[0]);
    MPI_Irecv(in[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &reqs[1]);
    for (int i = 0; i < 2; i++) MPI_Send(out, 2, MPI_INT, rank, i, MPI_COMM_WORLD);
    MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
    return 0;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  static const int lengths[] = {2, 25, 400, 2100, MOST};
  for (int i = 0; i < 5; i++)
    for (any = 0; any < 2; any++) {
      again = any == i % 2;
      lists(lengths[i]);
      again = 0;
      single(lengths[i]);
#ifdef MPI_ABI_VERSION
      collectives(lengths[i]);
#endif
    }
  general();
#ifdef MPI_ABI_VERSION
  stranger();
#endif
  told_once();
  MPI_Finalize();
  if (rank == 0) printf("statuses fine\n");
  return 0;
}
