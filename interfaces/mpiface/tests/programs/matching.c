/* One message, or receive, of very many: by tags in the reverse of their order, with wildcards, on
   many communicators, by probes; cancelled; and requests of nobody. All come whole, in the order of
   the standard. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 20000, TAGS = MANY / 2, COMMS = 50, EACH = 40 };

static int rank, ranks;
static int got[MANY];
static MPI_Request all[MANY];

static void fail(const char *what, int line) {
  fprintf(stderr, "matching.c:%d: rank %d: %s\n", line, rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(it) ((it) ? (void)0 : fail(#it, __LINE__))

/* Rank 1 sends MANY to rank 0, two with each tag. */
static void send_all(int reversed) {
  for (int i = 0; i < MANY; i++) {
    int number = reversed ? MANY - 1 - i : i;
    MPI_Send(&number, 1, MPI_INT, 0, number % TAGS, MPI_COMM_WORLD);
  }
}

static int take(int source, int tag) {
  int number = -1;
  MPI_Status status;
  MPI_Recv(&number, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == number % TAGS && !got[number]);
  got[number] = 1;
  return number;
}

static void unexpected(void) {
  if (rank == 1) send_all(0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank) return;
  int first = 0;
  for (int i = 0; i < MANY; i++) got[i] = 0;
  for (int tag = TAGS - 1; tag >= TAGS / 2; tag--) {
    CHECK(take(tag % 2 ? 1 : MPI_ANY_SOURCE, tag) == tag);
    if (tag % 100 == 0) {
      /* The earliest that is there. */
      CHECK(take(tag % 200 ? 1 : MPI_ANY_SOURCE, MPI_ANY_TAG) == first);
      first++;
    }
    if (tag % 100 == 1) {
      MPI_Status status;
      MPI_Message message;
      int flag = 0, number = -1;
      MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == tag);
      MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
      CHECK(flag && status.MPI_TAG == first % TAGS);
      MPI_Iprobe(1, TAGS, MPI_COMM_WORLD, &flag, &status);
      CHECK(!flag);
      MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, &status);
      CHECK(status.MPI_TAG == tag);
      MPI_Mrecv(&number, 1, MPI_INT, &message, &status);
      CHECK(number == tag + TAGS && !got[number]);
      got[number] = 1;
    }
  }
  for (int i = 0; i < MANY; i++)
    if (!got[i]) CHECK(take(MPI_ANY_SOURCE, MPI_ANY_TAG) == i);
}

static void posted(void) {
  static int room[MANY];
  MPI_Status status;
  int none;
  if (rank == 0) {
    for (int i = 0; i < MANY; i++) {
      int source = i % 3 ? 1 : MPI_ANY_SOURCE;
      room[i] = -1;
      MPI_Irecv(room + i, 1, MPI_INT, source, i % TAGS, MPI_COMM_WORLD, all + i);
    }
    /* Some are taken back: their messages go to the later receive of the tag. */
    for (int i = 5 * (TAGS / 5 - 1); i >= 0; i -= 5) {
      MPI_Cancel(all + i);
      MPI_Wait(all + i, &status);
      MPI_Test_cancelled(&status, &none);
      CHECK(none);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1)
    for (int i = MANY - 1; i >= 0; i--)
      if (i >= TAGS || i % 5) MPI_Send(&i, 1, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD);
  if (rank) return;
  MPI_Waitall(MANY, all, MPI_STATUSES_IGNORE);
  for (int i = 0; i < TAGS; i++) {
    /* What was sent first, the later number, is the earlier receive's. */
    CHECK(room[i] == (i % 5 ? i + TAGS : -1));
    CHECK(room[i + TAGS] == (i % 5 ? i : i + TAGS));
  }
}

/* Synchronous sends lie there with their requests: they are taken back from between the others. */
static void taken_back(void) {
  static int numbers[MANY];
  MPI_Status status;
  int none, number;
  if (rank == 1) {
    for (int i = 0; i < 2000; i++) {
      numbers[i] = i;
      MPI_Issend(numbers + i, 1, MPI_INT, 0, i % 7, MPI_COMM_WORLD, all + i);
    }
    for (int i = 1998; i >= 0; i -= 2) {
      MPI_Cancel(all + i);
      MPI_Wait(all + i, &status);
      MPI_Test_cancelled(&status, &none);
      CHECK(none);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Waitall(2000, all, MPI_STATUSES_IGNORE);
  if (rank) return;
  for (int i = 1; i < 2000; i += 2) {
    MPI_Recv(&number, 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(number == i && status.MPI_TAG == i % 7);
  }
}

static void communicators(void) {
  MPI_Comm comms[COMMS];
  for (int c = 0; c < COMMS; c++) MPI_Comm_dup(MPI_COMM_WORLD, comms + c);
  if (rank)
    for (int i = 0; i < EACH * COMMS; i++) {
      int data[2] = {rank, i};
      MPI_Send(data, 2, MPI_INT, 0, i / COMMS % 4, comms[i % COMMS]);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (int c = COMMS - 1; c >= 0; c--)
      for (int tag = 3; tag >= 0; tag--)
        for (int from = ranks - 1; from > 0; from--)
          for (int i = tag * COMMS + c; i < EACH * COMMS; i += 4 * COMMS) {
            int data[2];
            MPI_Recv(data, 2, MPI_INT, from, tag, comms[c], MPI_STATUS_IGNORE);
            CHECK(data[0] == from && data[1] == i);
          }
  for (int c = 0; c < COMMS; c++) MPI_Comm_free(comms + c);
}

static void check_nobody(const MPI_Status *status) {
  int count = -1, flag = 1;
  MPI_Get_count(status, MPI_INT, &count);
  MPI_Test_cancelled(status, &flag);
  CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG);
  CHECK(count == 0 && !flag);
}

static void nobody(void) {
  int x[4] = {1, 2, 3, 4}, flag = 0, count = -1;
  MPI_Request one[4];
  MPI_Status status[4];
  for (int round = 0; round < 3; round++) {
    MPI_Isend(x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, one);
    MPI_Irecv(x + 1, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, one + 1);
    MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, one + 2);
    MPI_Issend(x, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, one + 3);
    for (int i = 0; i < 4; i++) CHECK(one[i] != MPI_REQUEST_NULL);
    MPI_Request_get_status(one[1], &flag, status + 1);
    CHECK(flag);
    check_nobody(status + 1);
    switch (round) {
    case 0: MPI_Waitall(4, one, status); break;
    case 1:
      for (int i = 3; i >= 0; i--) {
        MPI_Test(one + i, &flag, status + i);
        CHECK(flag);
      }
      break;
    default:
      MPI_Cancel(one + 2);
      MPI_Wait(one + 1, status + 1);
      MPI_Wait(one + 2, status + 2);
      MPI_Request_free(one);
      MPI_Request_free(one + 3);
    }
    check_nobody(status + 1);
    check_nobody(status + 2);
    for (int i = 0; i < 4; i++) CHECK(one[i] == MPI_REQUEST_NULL);
  }
  CHECK(x[1] == 2);
  /* Beside messages of somebody, in lists of each kind. */
  for (int i = 0; i < 4; i++) {
    int to = i == 3 ? (rank + 1) % ranks : MPI_PROC_NULL;
    MPI_Irecv(x, 1, MPI_INT, i == 3 ? MPI_ANY_SOURCE : MPI_PROC_NULL, 9, MPI_COMM_WORLD, one + i);
    MPI_Send(x + i, 1, MPI_INT, to, 9, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 3; i++) {
    MPI_Waitany(3, one, &count, status);
    CHECK(count == i);
    check_nobody(status);
  }
  MPI_Wait(one + 3, status);
  CHECK(status->MPI_SOURCE == (rank + ranks - 1) % ranks && x[0] == 4);
  /* Errors are those of other sends and receives. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Isend(x, 1, MPI_INT, MPI_PROC_NULL, -5, MPI_COMM_WORLD, one) != MPI_SUCCESS);
  CHECK(MPI_Isend(x, -1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, one) != MPI_SUCCESS);
  CHECK(MPI_Irecv(x, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, one) != MPI_SUCCESS);
  CHECK(MPI_Irecv(x, 1, MPI_INT, MPI_PROC_NULL, -5, MPI_COMM_WORLD, one) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Of a long list each call ends another, also one that came back to a place that was passed. */
static void one_by_one(int is_test) {
  static int x[MANY];
  MPI_Status status;
  int at, flag, back = 0;
  for (int i = 0; i < MANY; i++) {
    got[i] = 0;
    MPI_Irecv(x + i, 1, MPI_INT, rank, i % TAGS, MPI_COMM_WORLD, all + i);
  }
  for (int i = 0; i < MANY; i++) MPI_Send(&i, 1, MPI_INT, rank, i % TAGS, MPI_COMM_WORLD);
  for (int i = 0; i < MANY + 10; i += flag) {
    flag = 1;
    if (is_test) MPI_Testany(MANY, all, &at, &flag, &status);
    else MPI_Waitany(MANY, all, &at, &status);
    if (!flag) continue;
    CHECK(at >= 0 && at < MANY && all[at] == MPI_REQUEST_NULL && status.MPI_TAG == at % TAGS);
    CHECK(x[at] == at);
    got[at]++;
    if (i >= MANY / 2 && back < 10 && all[back] == MPI_REQUEST_NULL) {
      MPI_Irecv(x + back, 1, MPI_INT, rank, back, MPI_COMM_WORLD, all + back);
      MPI_Send(&back, 1, MPI_INT, rank, back, MPI_COMM_WORLD);
      back++;
    }
  }
  MPI_Waitany(MANY, all, &at, &status);
  CHECK(at == MPI_UNDEFINED && back == 10);
  for (int i = 0; i < MANY; i++) CHECK(got[i] == 1 + (i < 10));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) {
    unexpected();
    MPI_Barrier(MPI_COMM_WORLD);
    posted();
    MPI_Barrier(MPI_COMM_WORLD);
    taken_back();
    communicators();
  }
  nobody();
  one_by_one(0);
  one_by_one(1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("matching fine\n");
  MPI_Finalize();
  return 0;
}
