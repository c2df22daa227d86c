/* The order of matching: each rank starts sends of all kinds and sizes to all ranks, on several
   communicators, and receives them by whatever the standard has, at random. For each two receives
   it then holds: a message that came before another of its sender and communicator is not with
   the later receive, if the earlier one would have taken it. All messages come whole, and once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 3, TAGS = 3, OPEN = 24, LONGEST = 20000, SHORT = 8192, MOST = 4096 };

static int rank, ranks;
static MPI_Comm comms[COMMS];
/* for each communicator: the rank there of a rank of the world, and back */
static int there[COMMS][16], back[COMMS][16];
static unsigned state;

static unsigned any(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (unsigned)((state >> 8) * (unsigned long)below >> 24);
}

static void fail(const char *what, int line) {
  fprintf(stderr, "order.c:%d: rank %d: %s\n", line, rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(it) ((it) ? (void)0 : fail(#it, __LINE__))

/* On communicator 1, and with tag 0, all are short. */
static int is_short(int comm, int tag) { return comm == 1 || tag == 0; }

static int size_of(int comm, int tag) {
  static const int sizes[] = {8, 16, 72, 79, 80, 81, 88, 128, 1000, 8191, 8192, 8193, 9000, 20000};
  int few = is_short(comm, tag);
  int size = sizes[any(few ? 11 : 14)];
  return any(4) ? size : 8 + (int)any((unsigned)(few ? SHORT - 7 : LONGEST - 7));
}

/* What stands in a message: its number and its label, and then bytes that follow from them. */
static unsigned label(int from, int comm, int tag, int size) {
  return (unsigned)(((from * COMMS + comm) * TAGS + tag) * 32768 + size);
}
static void fill(unsigned char *at, unsigned number, unsigned name, int size) {
  memcpy(at, &number, 4);
  memcpy(at + 4, &name, 4);
  for (int i = 8; i < size; i++) at[i] = (unsigned char)(number * 7 + name + (unsigned)i * 13);
}

struct sent { MPI_Request request; unsigned char data[LONGEST]; };
struct receive { MPI_Request request; int post, comm, source, tag; unsigned char data[LONGEST]; };
struct match { int post, comm, source, tag, from, with; unsigned number; };

static struct sent sent[OPEN];
static struct receive open[OPEN];
static struct match matches[MOST];
static int matched, posts;
static unsigned number;

static int room(int comm, int tag) {
  return comm == 1 || (tag != MPI_ANY_TAG && is_short(comm, tag)) ? SHORT : LONGEST;
}

/* Notes a message that a receive has taken. */
static void note(struct receive *it, MPI_Status *status) {
  int size, from = back[it->comm][status->MPI_SOURCE];
  unsigned first, name;
  static unsigned char whole[LONGEST];
  MPI_Get_count(status, MPI_BYTE, &size);
  CHECK(size >= 8 && matched < MOST);
  memcpy(&first, it->data, 4);
  memcpy(&name, it->data + 4, 4);
  CHECK(name == label(from, it->comm, status->MPI_TAG, size));
  CHECK(it->source == MPI_ANY_SOURCE || it->source == status->MPI_SOURCE);
  CHECK(it->tag == MPI_ANY_TAG || it->tag == status->MPI_TAG);
  fill(whole, first, name, size);
  CHECK(!memcmp(whole, it->data, (size_t)size));
  struct match *match = &matches[matched++];
  *match = (struct match){it->post, it->comm, it->source, it->tag, from, status->MPI_TAG, first};
}

static int takes(const struct match *it, const struct match *message) {
  return (it->source == MPI_ANY_SOURCE || back[it->comm][it->source] == message->from) &&
         (it->tag == MPI_ANY_TAG || it->tag == message->with);
}

static void judge(void) {
  for (int i = 0; i < matched; i++)
    for (int j = 0; j < matched; j++) {
      const struct match *a = &matches[i], *b = &matches[j];
      if (i == j || a->comm != b->comm || a->from != b->from) continue;
      CHECK(a->number != b->number);
      CHECK(!(a->post < b->post && b->number < a->number && takes(a, b)));
    }
  matched = posts = 0;
}

static struct receive *free_receive(void) {
  for (int i = 0; i < OPEN; i++)
    if (open[i].request == MPI_REQUEST_NULL) return &open[i];
  return NULL;
}

/* A free one, with a pattern and a place in the order. */
static struct receive *pattern(int comm, int source, int tag) {
  struct receive *it = free_receive();
  if (it) it->post = posts++, it->comm = comm, it->source = source, it->tag = tag;
  return it;
}
static struct receive *some_pattern(void) {
  int comm = (int)any(COMMS);
  int source = any(3) ? (int)any((unsigned)ranks) : MPI_ANY_SOURCE;
  return pattern(comm, source, any(3) ? (int)any(TAGS) : MPI_ANY_TAG);
}

static void start_receive(struct receive *it) {
  int bytes = room(it->comm, it->tag);
  MPI_Irecv(it->data, bytes, MPI_BYTE, it->source, it->tag, comms[it->comm], &it->request);
}

/* Starts a send, if one is free. */
static int start_send(int to, int comm, int tag) {
  for (int i = 0; i < OPEN; i++) {
    struct sent *it = &sent[i];
    int done = 1;
    if (it->request != MPI_REQUEST_NULL) MPI_Test(&it->request, &done, MPI_STATUS_IGNORE);
    if (!done) continue;
    int size = size_of(comm, tag), dest = there[comm][to];
    fill(it->data, number++, label(rank, comm, tag, size), size);
    switch (any(6)) {
    case 0: MPI_Issend(it->data, size, MPI_BYTE, dest, tag, comms[comm], &it->request); break;
    case 1: MPI_Ibsend(it->data, size, MPI_BYTE, dest, tag, comms[comm], &it->request); break;
    case 2:
      if (size <= 80) { MPI_Bsend(it->data, size, MPI_BYTE, dest, tag, comms[comm]); break; }
      /* fall through */
    default: MPI_Isend(it->data, size, MPI_BYTE, dest, tag, comms[comm], &it->request);
    }
    return 1;
  }
  return 0;
}

/* Some of the open receives, in any order; gives how many. */
static int chosen(int *which, MPI_Request *requests) {
  int n = 0, start = (int)any(OPEN), most = 1 + (int)any(OPEN);
  for (int i = 0; i < OPEN && n < most; i++) {
    int at = (start + i) % OPEN;
    if (open[at].request != MPI_REQUEST_NULL) which[n] = at, requests[n++] = open[at].request;
  }
  return n;
}

static void look(void) {
  int which[OPEN], done[OPEN], flag = 0, count = 0, at = 0;
  MPI_Request requests[OPEN];
  MPI_Status statuses[OPEN];
  int n = chosen(which, requests);
  if (!n) return;
  switch (any(4)) {
  case 0:
    MPI_Test(&requests[0], &flag, &statuses[0]);
    count = flag, done[0] = 0;
    break;
  case 1:
    MPI_Testany(n, requests, &at, &flag, &statuses[0]);
    count = flag, done[0] = at;
    break;
  case 2: MPI_Testsome(n, requests, &count, done, statuses); break;
  default:
    MPI_Testall(n, requests, &flag, statuses);
    count = flag ? n : 0;
    for (int i = 0; i < count; i++) done[i] = i;
  }
  for (int i = 0; i < n; i++) open[which[i]].request = requests[i];
  for (int i = 0; i < count; i++) note(&open[which[done[i]]], &statuses[i]);
}

static void cancel(struct receive *it, int is_last) {
  MPI_Status status;
  int is_cancelled;
  MPI_Cancel(&it->request);
  MPI_Wait(&it->request, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  CHECK(is_cancelled || !is_last);
  if (!is_cancelled) note(it, &status);
}

static void probe(void) {
  MPI_Status status, other;
  MPI_Message message;
  int flag, size;
  struct receive *it = some_pattern();
  if (!it) return;
  if (any(2)) {
    MPI_Iprobe(it->source, it->tag, comms[it->comm], &flag, &status);
    if (!flag) return;
    MPI_Get_count(&status, MPI_BYTE, &size);
    it->source = status.MPI_SOURCE, it->tag = status.MPI_TAG;
    MPI_Recv(it->data, size, MPI_BYTE, it->source, it->tag, comms[it->comm], &other);
  } else {
    MPI_Improbe(it->source, it->tag, comms[it->comm], &flag, &message, &status);
    if (!flag) return;
    MPI_Get_count(&status, MPI_BYTE, &size);
    if (any(2)) {
      MPI_Mrecv(it->data, size, MPI_BYTE, &message, &other);
    } else {
      MPI_Imrecv(it->data, size, MPI_BYTE, &message, &it->request);
      MPI_Wait(&it->request, &other);
    }
  }
  int came;
  MPI_Get_count(&other, MPI_BYTE, &came);
  CHECK(came == size && other.MPI_TAG == status.MPI_TAG);
  CHECK(other.MPI_SOURCE == status.MPI_SOURCE);
  note(it, &other);
}

/* Whatever receives, at random. */
static void wild(int sends) {
  int to[16] = {0}, mine = 0, targets[64];
  for (int i = 0; i < sends; i++) to[targets[i] = (int)any((unsigned)ranks)]++;
  MPI_Reduce_scatter_block(to, &mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int next = 0; next < sends || matched < mine;) {
    struct receive *it;
    switch (any(10)) {
    case 0: case 1: case 2:
      if (next < sends) next += start_send(targets[next], (int)any(COMMS), (int)any(TAGS));
      break;
    case 3: case 4: case 5:
      if ((it = some_pattern())) start_receive(it);
      break;
    case 6:
      it = &open[any(OPEN)];
      if (it->request != MPI_REQUEST_NULL) cancel(it, 0);
      break;
    case 7: probe(); break;
    default: look();
    }
  }
  for (int i = 0; i < OPEN; i++)
    if (open[i].request != MPI_REQUEST_NULL) cancel(&open[i], 1);
}

/* Waits for all open receives. */
static void wait_all(void) {
  int which[OPEN], done[OPEN], count = 1, at;
  MPI_Request requests[OPEN];
  MPI_Status statuses[OPEN];
  for (int n; (n = chosen(which, requests));) {
    switch (any(4)) {
    case 0: MPI_Wait(&requests[0], &statuses[0]); done[0] = 0, count = 1; break;
    case 1: MPI_Waitany(n, requests, &at, &statuses[0]); done[0] = at, count = 1; break;
    case 2: MPI_Waitsome(n, requests, &count, done, statuses); break;
    default:
      MPI_Waitall(n, requests, statuses);
      count = n;
      for (int i = 0; i < count; i++) done[i] = i;
    }
    for (int i = 0; i < n; i++) open[which[i]].request = requests[i];
    for (int i = 0; i < count; i++) note(&open[which[done[i]]], &statuses[i]);
  }
}

/* Each message has a receive that asks for its sender and tag; so all may be waited for. */
static void planned(int sends) {
  int *to = calloc((size_t)ranks * COMMS * TAGS, sizeof *to);
  int *from = calloc((size_t)ranks * COMMS * TAGS, sizeof *from);
  int places[64], next = 0, left = 0;
  for (int i = 0; i < sends; i++) to[places[i] = (int)any((unsigned)ranks * COMMS * TAGS)]++;
  MPI_Alltoall(to, COMMS * TAGS, MPI_INT, from, COMMS * TAGS, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks * COMMS * TAGS; i++) left += from[i];
  while (next < sends || left) {
    if (next < sends && any(2)) {
      int at = places[next], comm = at / TAGS % COMMS;
      next += start_send(at / TAGS / COMMS, comm, at % TAGS);
    } else if (left) {
      int at = (int)any((unsigned)ranks * COMMS * TAGS), comm = at / TAGS % COMMS;
      while (!from[at]) at = (at + 1) % (ranks * COMMS * TAGS), comm = at / TAGS % COMMS;
      struct receive *it = pattern(comm, there[comm][at / TAGS / COMMS], at % TAGS);
      if (it) start_receive(it), from[at]--, left--;
      else look();
    } else {
      look();
    }
  }
  wait_all();
  free(to);
  free(from);
}

/* Receives that are posted before their rank does something else are found there. */
static void found(void) {
  double a[2000] = {1, 2, 3}, b[2000] = {0};
  int other = rank ^ 1, code, class;
  MPI_Request request;
  MPI_Status status;
  if (other >= ranks) other = MPI_PROC_NULL;
  int is_first = rank % 2 == 0;
  /* in a barrier */
  if (is_first) MPI_Irecv(b, 3, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &request);
  else MPI_Ssend(a, 3, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_first) MPI_Wait(&request, &status);
  if (is_first && other >= 0) CHECK(b[2] == 3);
  /* in a send that is received after it */
  if (is_first) {
    MPI_Irecv(b, 3, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    if (other >= 0) {
      MPI_Irecv(b, 3, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
      MPI_Send(a, 2000, MPI_DOUBLE, other, 2, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
      CHECK(status.MPI_SOURCE == other);
    }
  } else {
    MPI_Ssend(a, 3, MPI_DOUBLE, other, 2, MPI_COMM_WORLD);
    MPI_Recv(b, 2000, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, &status);
  }
  /* too long for its place: by the ring, and by the queue */
  for (int count = 2; count <= 2000; count += 1998) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (other < 0) continue;
    if (is_first) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      b[1] = 7;
      MPI_Irecv(b, 1, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &request);
      code = MPI_Wait(&request, &status);
      MPI_Error_class(code, &class);
      CHECK(class == MPI_ERR_TRUNCATE && b[0] == 1 && b[1] == 7);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    } else {
      MPI_Send(a, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD);
    }
  }
  /* started again and again, with a test */
  if (other >= 0) {
    MPI_Recv_init(b, 3, MPI_DOUBLE, other, 4, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 20; i++) {
      int flag = 0;
      a[0] = i;
      MPI_Start(&request);
      MPI_Send(a, 3, MPI_DOUBLE, other, 4, MPI_COMM_WORLD);
      while (!flag) MPI_Test(&request, &flag, &status);
      CHECK(b[0] == i && request != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&request);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int rounds = argc > 1 ? atoi(argv[1]) : 60, seed = argc > 2 ? atoi(argv[2]) : 1;
  void *buffer = malloc(64 << 20);
  MPI_Buffer_attach(buffer, 64 << 20);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &comms[2]);
  for (int i = 0; i < ranks; i++) {
    there[0][i] = there[1][i] = back[0][i] = back[1][i] = i;
    there[2][i] = back[2][i] = ranks - 1 - i;
  }
  for (int i = 0; i < OPEN; i++) open[i].request = sent[i].request = MPI_REQUEST_NULL;
  found();
  for (int round = 0; round < rounds; round++) {
    state = (unsigned)(seed * 7919 + round * 104729 + rank * 1299709);
    int sends = 8 + (int)any(40);
    if (round % 2) wild(sends);
    else planned(sends);
    for (int i = 0; i < OPEN; i++) MPI_Wait(&sent[i].request, MPI_STATUS_IGNORE);
    judge();
    if (round % 3 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Buffer_detach(&buffer, &(int){0});
  free(buffer);
  if (rank == 0) printf("order fine\n");
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  MPI_Finalize();
  return 0;
}
