/* One-sided access: windows of each kind, each kind of synchronisation, each operation, errors. */
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

static int rank, ranks, next, last;

static void fences(void) {
  int memory[16], value[2] = {rank, -rank}, got = -1;
  MPI_Win win;
  for (int i = 0; i < 16; i++)
    memory[i] = 0;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Put(value, 2, MPI_INT, next, 3, 2, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(memory[3] == last && memory[4] == -last);
  MPI_Get(&got, 1, MPI_INT, last, 3, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(got == (last + ranks - 1) % ranks);
  int one = 1;
  for (int r = 0; r < ranks; r++)
    MPI_Accumulate(&one, 1, MPI_INT, r, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  CHECK(memory[0] == ranks);
  /* Every second number of the target. */
  MPI_Datatype column;
  int row[4] = {rank, rank + 1, rank + 2, rank + 3};
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Put(row, 4, MPI_INT, next, 8, 1, column, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 4; i++)
    CHECK(memory[8 + 2 * i] == last + i);
  MPI_Win_fence(0, win); /* all have looked */
  MPI_Accumulate(row, 4, MPI_INT, next, 8, 1, column, MPI_SUM, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  for (int i = 0; i < 4; i++)
    CHECK(memory[8 + 2 * i] == 2 * (last + i));
  MPI_Type_free(&column);
  MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
}

static void handshakes(void) {
  int *memory, value = 5 * rank, flag = 0;
  MPI_Win win;
  MPI_Group world, to, from;
  MPI_Win_allocate(ranks * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < ranks; i++)
    CHECK(memory[i] == 0);
  MPI_Win_get_group(win, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &last, &from);
  for (int round = 0; round < 20; round++) {
    value = 5 * rank + round;
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&value, 1, MPI_INT, next, rank, 1, MPI_INT, win);
    MPI_Win_complete(win);
    if (round % 2)
      MPI_Win_wait(win);
    else
      for (flag = 0; !flag;)
        MPI_Win_test(win, &flag);
    CHECK(memory[last] == 5 * last + round);
  }
  MPI_Win_free(&win);
}

static void locks(void) {
  long *memory, one = 1, old, mine = 0;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  /* A counter that each raises under a lock of its own, by reading and writing. */
  for (int i = 0; i < 200; i++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    old++;
    MPI_Put(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 200; i++) {
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, win);
    CHECK(old >= mine);
    mine = old + 1;
  }
  MPI_Win_flush_all(win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  long both[2];
  MPI_Request request;
  MPI_Rget(both, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(both[0] == 200L * ranks && both[1] == 200L * ranks);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  /* One of all gets it: who finds a zero. */
  long zero = 0, name = rank + 1, found, winners;
  if (rank == 0)
    memory[0] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  MPI_Compare_and_swap(&name, &zero, &found, MPI_LONG, 0, 0, win);
  MPI_Win_unlock_all(win);
  found = found == 0;
  MPI_Allreduce(&found, &winners, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(winners == 1);
  long add[2] = {10, 20}, before[2];
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  memory[0] = 1, memory[1] = 2;
  MPI_Get_accumulate(add, 2, MPI_LONG, before, 2, MPI_LONG, rank, 0, 2, MPI_LONG, MPI_PROD, win);
  CHECK(before[0] == 1 && before[1] == 2 && memory[0] == 10 && memory[1] == 40);
  MPI_Get_accumulate(0, 0, MPI_LONG, before, 2, MPI_LONG, rank, 0, 2, MPI_LONG, MPI_NO_OP, win);
  CHECK(before[0] == 10 && before[1] == 40);
  MPI_Accumulate(add, 2, MPI_LONG, rank, 0, 2, MPI_LONG, MPI_REPLACE, win);
  CHECK(memory[0] == 10 && memory[1] == 20);
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

static void shared(void) {
  int *mine, *theirs, unit;
  MPI_Aint size;
  MPI_Win win;
  MPI_Win_allocate_shared((rank + 1) * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                          &mine, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  for (int i = 0; i <= rank; i++)
    mine[i] = 100 * rank + i;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  MPI_Win_shared_query(win, next, &size, &unit, &theirs);
  CHECK(size == (next + 1) * sizeof(int) && unit == sizeof(int));
  for (int i = 0; i <= next; i++)
    CHECK(theirs[i] == 100 * next + i);
  MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &theirs);
  /* The parts follow each other. */
  CHECK(theirs[0] == 0 && theirs + rank * (rank + 1) / 2 == mine);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Parts that need not follow each other: one of no bytes has no place. */
static void apart(void) {
  int *own, unit, *at;
  MPI_Aint size;
  MPI_Win win;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  MPI_Win_allocate_shared(rank % 2 * sizeof(int), 4, info, MPI_COMM_WORLD, &own, &win);
  MPI_Info_free(&info);
  for (int of = 0; of < ranks; of++) {
    MPI_Win_shared_query(win, of, &size, &unit, &at);
    CHECK(size == of % 2 * sizeof(int) && !at == !size && (of != rank || at == own));
  }
  MPI_Win_free(&win);
}

/* Parts of no bytes lie where they would; created and allocated windows can be asked, too. */
static void empty(void) {
  for (int kind = 0; kind < 3; kind++)
    for (int mask = 0; mask < 4; mask++) {
      int own = (mask >> rank % 2 & 1) * (rank + 1) * sizeof(int), unit, first = -1;
      char memory[64 * sizeof(int)], *base = memory, *at, *before = 0;
      MPI_Comm world = MPI_COMM_WORLD;
      MPI_Aint size;
      MPI_Win win;
      switch (kind) {
      case 0: MPI_Win_allocate_shared(own, 4, MPI_INFO_NULL, world, &base, &win); break;
      case 1: MPI_Win_allocate(own, 4, MPI_INFO_NULL, world, &base, &win); break;
      default: MPI_Win_create(memory, own, 4, MPI_INFO_NULL, world, &win);
      }
      CHECK(base);
      for (int of = 0; of < ranks; of++) {
        MPI_Win_shared_query(win, of, &size, &unit, &at);
        int want = (mask >> of % 2 & 1) * (of + 1) * sizeof(int);
        CHECK(size == want && unit == 4 && at);
        CHECK(of != rank || at == base);
        if (kind == 0) CHECK(of == 0 || at == before);
        before = at + size;
        if (want && first < 0) first = of;
      }
      char *of_first;
      MPI_Win_shared_query(win, first < 0 ? 0 : first, &size, &unit, &of_first);
      MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &at);
      CHECK(at == of_first && size == (first < 0 ? 0 : (first + 1) * (int)sizeof(int)));
      MPI_Win_free(&win);
    }
}

static void dynamic(void) {
  int memory[4] = {0, 0, 0, 0}, value = rank + 1;
  MPI_Aint own, *all = malloc(ranks * sizeof *all);
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, memory, sizeof memory);
  MPI_Get_address(memory, &own);
  MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_INT, next, MPI_Aint_add(all[next], 2 * sizeof(int)), 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(memory[2] == last + 1);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK(MPI_Put(&value, 1, MPI_INT, rank, all[rank] + 4 * sizeof(int), 1, MPI_INT, win) ==
        MPI_ERR_RMA_RANGE);
  CHECK(MPI_Win_attach(win, memory + 1, 4) == MPI_ERR_RMA_ATTACH);
  CHECK(MPI_Win_shared_query(win, 0, &own, &value, &own) == MPI_ERR_RMA_FLAVOR);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  free(all);
}

static int copied, errors;
static int copy(MPI_Win win, int key, void *extra, void *in, void *out, int *flag) {
  copied++;
  return 0;
}
static int delete (MPI_Win win, int key, void *value, void *extra) {
  copied += 10;
  return 0;
}
static void handle(MPI_Win *win, int *code, ...) { errors += *code; }

static void objects(void) {
  int memory[4], value = 0, key, flag, length, class;
  char name[MPI_MAX_OBJECT_NAME];
  void *base;
  MPI_Win win;
  MPI_Errhandler handler;
  MPI_Win_create(memory, sizeof memory, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_name(win, "mine");
  MPI_Win_get_name(win, name, &length);
  CHECK(!strcmp(name, "mine") && length == 4);
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == memory);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &base, &flag);
  CHECK(flag && *(MPI_Aint *)base == sizeof memory);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &base, &flag);
  CHECK(flag && *(int *)base == 2);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &base, &flag);
  CHECK(flag && *(int *)base == MPI_WIN_FLAVOR_CREATE);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &base, &flag);
  CHECK(flag && *(int *)base == MPI_WIN_UNIFIED);
  MPI_Win_create_keyval(copy, delete, &key, 0);
  MPI_Win_set_attr(win, key, name);
  MPI_Win_get_attr(win, key, &base, &flag);
  CHECK(flag && base == name);
  MPI_Win_create_errhandler(handle, &handler);
  MPI_Win_set_errhandler(win, handler);
  CHECK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_ERR_RMA_SYNC);
  CHECK(errors == MPI_ERR_RMA_SYNC);
  MPI_Win_call_errhandler(win, MPI_ERR_WIN);
  CHECK(errors == MPI_ERR_RMA_SYNC + MPI_ERR_WIN);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK(MPI_Win_unlock(0, win) == MPI_ERR_RMA_SYNC);
  CHECK(MPI_Win_complete(win) == MPI_ERR_RMA_SYNC);
  CHECK(MPI_Win_wait(win) == MPI_ERR_RMA_SYNC);
  CHECK(MPI_Win_lock(99, 0, 0, win) == MPI_ERR_LOCKTYPE);
  CHECK(MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, win) == MPI_ERR_RANK);
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(&value, 1, MPI_INT, rank, 7, 1, MPI_INT, win) == MPI_ERR_RMA_RANGE);
  CHECK(MPI_Put(&value, 1, MPI_INT, rank, -1, 1, MPI_INT, win) == MPI_ERR_DISP);
  CHECK(MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_MINLOC, win) == MPI_ERR_OP);
  float real = 0;
  CHECK(MPI_Compare_and_swap(&real, &real, &real, MPI_FLOAT, rank, 0, win) == MPI_ERR_TYPE);
  MPI_Aint all[2] = {0, 0};
  CHECK(MPI_Win_shared_query(win, rank, all, &value, &base) == MPI_SUCCESS);
  CHECK(base == memory && all[0] == sizeof memory && value == 2 && all[1] == 0);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Info info;
  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, "no_locks", 100, name, &flag);
  CHECK(flag && !strcmp(name, "false"));
  MPI_Info_free(&info);
  copied = 0;
  MPI_Win_free(&win);
  CHECK(copied == 10);
  MPI_Error_class(MPI_ERR_RMA_RANGE, &class);
  CHECK(class == MPI_ERR_RMA_RANGE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  if (argc > 1 && !strcmp(argv[1], "held")) {
    /* One has the lock, and leaves; the others wait for it. */
    MPI_Win win;
    MPI_Win_create(0, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0)
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      return 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  }
  if (argc > 1 && !strcmp(argv[1], "unposted")) {
    MPI_Win win;
    MPI_Group world, to;
    MPI_Win_create(0, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Win_start(to, 0, win); /* nobody posts */
  }
  if (argc > 1 && !strcmp(argv[1], "outside")) {
    int memory = 0;
    MPI_Win win;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
  }
  fences();
  handshakes();
  locks();
  shared();
  empty();
  apart();
  dynamic();
  objects();
  if (rank == 0)
    printf("windows fine\n");
  MPI_Finalize();
  return 0;
}
