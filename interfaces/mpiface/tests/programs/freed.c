/* What a program frees while a call, a request or another object still uses it. */
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

enum { LONG = 3000 };
static int rank, size, key, deleted, asked, last_code;
static MPI_Comm last_comm;

/* Integers with gaps: the operator asks the datatype that it is told. */
static void add(void *a, void *b, int *n, MPI_Datatype *type) {
  MPI_Aint low, extent;
  int bytes, length, integers, addresses, types, combiner, flag, *value;
  char name[MPI_MAX_OBJECT_NAME];
  CHECK(!MPI_Type_get_extent(*type, &low, &extent) && extent == 2 * sizeof(int));
  CHECK(!MPI_Type_size(*type, &bytes) && bytes == sizeof(int));
  CHECK(!MPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner));
  CHECK(combiner == MPI_COMBINER_RESIZED && types == 1);
  CHECK(!MPI_Type_get_name(*type, name, &length) && !strcmp(name, "spread"));
  CHECK(!MPI_Type_get_attr(*type, key, &value, &flag) && flag && value == &key && !deleted);
  for (int i = 0; i < *n; i++)
    *(int *)((char *)b + i * extent) += *(int *)((char *)a + i * extent);
  asked++;
}

static int on_delete(MPI_Datatype type, int key, void *value, void *extra) {
  deleted++;
  return MPI_SUCCESS;
}

static MPI_Datatype spread(void) {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Type_set_name(type, "spread");
  MPI_Type_set_attr(type, key, &key);
  return type;
}

/* Other objects come and go: a number that is free would be another's. */
static void stir(void) {
  for (int i = 0; i < 70; i++) {
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    MPI_Op_create(add, 0, &op);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
  }
}

/* A reduction of each kind, started, or made to be started. */
static void reduce(int kind, int again, int n, int *from, int *to, int *counts, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Request *req) {
  int root = size - 1;
  MPI_Info none = MPI_INFO_NULL;
  switch (kind + 6 * again) {
  case 0: MPI_Ireduce(from, to, n, type, op, root, comm, req); break;
  case 1: MPI_Iallreduce(from, to, n, type, op, comm, req); break;
  case 2: MPI_Iscan(from, to, n, type, op, comm, req); break;
  case 3: MPI_Iexscan(from, to, n, type, op, comm, req); break;
  case 4: MPI_Ireduce_scatter(from, to, counts, type, op, comm, req); break;
  case 5: MPI_Ireduce_scatter_block(from, to, n, type, op, comm, req); break;
#if MPI_VERSION >= 4
  case 6: MPI_Reduce_init(from, to, n, type, op, root, comm, none, req); break;
  case 7: MPI_Allreduce_init(from, to, n, type, op, comm, none, req); break;
  case 8: MPI_Scan_init(from, to, n, type, op, comm, none, req); break;
  case 9: MPI_Exscan_init(from, to, n, type, op, comm, none, req); break;
  case 10: MPI_Reduce_scatter_init(from, to, counts, type, op, comm, none, req); break;
  case 11: MPI_Reduce_scatter_block_init(from, to, n, type, op, comm, none, req); break;
#endif
  }
}

static void reductions(int again) {
  int *from = malloc(2 * LONG * size * sizeof *from), *to = malloc(2 * LONG * size * sizeof *to);
  int *counts = malloc(size * sizeof *counts);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete, &key, NULL);
  for (int n = 1; n <= LONG; n *= 10 * LONG / 300)
    for (int kind = 0; kind < 6; kind++) {
      MPI_Request req;
      MPI_Comm comm;
      MPI_Op op;
      MPI_Datatype type = spread();
      for (int i = 0; i < size; i++) counts[i] = n;
      for (int i = 0; i < 2 * n * size; i++) from[i] = i % 2 ? -1 : rank + i, to[i] = -2;
      deleted = asked = 0;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Op_create(add, 1, &op);
      reduce(kind, again, n, from, to, counts, type, op, comm, &req);
      MPI_Type_free(&type);
      MPI_Op_free(&op);
      MPI_Comm_free(&comm);
      int of = kind == 2 ? rank + 1 : kind == 3 ? rank : size, first = kind < 4 ? 0 : rank * n;
      for (int turn = 0; turn <= 2 * again; turn++) {
        if (turn % 2 == 0) stir();
        if (again) MPI_Start(&req);
        if (turn == 1) stir();
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        for (int i = 0; i < n && !(kind == 0 && rank < size - 1) && of; i++) {
          CHECK(to[2 * i] == of * (of - 1) / 2 + of * 2 * (first + i));
          CHECK(to[2 * i + 1] == -2);
          to[2 * i] = -2;
        }
      }
      if (again) MPI_Request_free(&req);
      CHECK(deleted == 1);
    }
  MPI_Type_free_keyval(&key);
  free(from), free(to), free(counts);
}

/* The same by tests; the key of the datatype's attribute is freed, too. */
static void tested(void) {
  int from[2] = {rank, -1}, to[2] = {-1, -1}, done = 0;
  MPI_Request req;
  MPI_Op op;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete, &key, NULL);
  MPI_Datatype type = spread();
  deleted = 0;
  MPI_Op_create(add, 1, &op);
  MPI_Iallreduce(from, to, 1, type, op, MPI_COMM_WORLD, &req);
  int freed = key;
  MPI_Type_free_keyval(&freed);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  stir();
  while (!done) MPI_Test(&req, &done, MPI_STATUS_IGNORE);
  CHECK(to[0] == size * (size - 1) / 2 && deleted == 1);
}

/* Messages of datatypes that are freed, on communicators that are freed. */
static void messages(int n) {
  int next = (rank + 1) % size, last = (rank + size - 1) % size, done = 0, count;
  int *out = malloc(3 * n * sizeof *out), *in = malloc(6 * 3 * n * sizeof *in);
  char *room = malloc(4 * n * sizeof *out + 10 * MPI_BSEND_OVERHEAD);
  MPI_Request reqs[12];
  MPI_Status status[12];
  MPI_Datatype type, copy;
  MPI_Comm comm;
  for (int i = 0; i < 3 * n; i++) out[i] = i;
  for (int i = 0; i < 18 * n; i++) in[i] = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_vector(n, 1, 3, MPI_INT, &type);
  MPI_Type_dup(type, &copy);
  MPI_Type_free(&type);
  MPI_Type_commit(&copy);
  MPI_Buffer_attach(room, 4 * n * sizeof *out + 10 * MPI_BSEND_OVERHEAD);
  for (int i = 0; i < 4; i++) MPI_Irecv(in + 3 * n * i, 1, copy, last, i, comm, &reqs[i]);
  MPI_Isend(out, 1, copy, next, 0, comm, &reqs[4]);
  MPI_Issend(out, 1, copy, next, 1, comm, &reqs[5]);
  MPI_Ibsend(out, 1, copy, next, 2, comm, &reqs[6]);
  MPI_Irsend(out, 1, copy, next, 3, comm, &reqs[7]);
  MPI_Recv_init(in + 12 * n, 1, copy, last, 4, comm, &reqs[8]);
  MPI_Send_init(out, 1, copy, next, 4, comm, &reqs[9]);
  MPI_Recv_init(in + 15 * n, 1, copy, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &reqs[10]);
  MPI_Ssend_init(out, 1, copy, next, 5, comm, &reqs[11]);
  MPI_Type_free(&copy);
  MPI_Comm_free(&comm);
  for (int turn = 0; turn < 3; turn++) {
    stir();
    MPI_Startall(2, reqs + 8);
    if (turn == 0)
      MPI_Waitall(10, reqs, status);
    else
      MPI_Waitall(2, reqs + 8, status + 8);
    MPI_Startall(2, reqs + 10);
    for (done = 0; done < 2;) {
      int at[2], some;
      MPI_Testsome(2, reqs + 10, &some, at, status + 10);
      done += some;
    }
    MPI_Get_count(&status[8], MPI_INT, &count);
    CHECK(count == n);
    for (int i = 0; i < 18 * n; i++) {
      CHECK(in[i] == (i % 3 ? -1 : i % (3 * n)));
      if (i >= 12 * n) in[i] = -1;
    }
  }
  for (int i = 8; i < 12; i++) MPI_Request_free(&reqs[i]);
  /* A receive that nobody sends to is cancelled. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(n, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(in, 1, type, last, 9, comm, &reqs[0]);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
  MPI_Cancel(&reqs[0]);
  MPI_Wait(&reqs[0], status);
  MPI_Test_cancelled(status, &done);
  CHECK(done);
  int left;
  MPI_Buffer_detach(&room, &left);
  free(out), free(in), free(room);
}

/* A datatype for each rank or neighbour, freed by a copy of its handle. */
static void many_types(int again) {
  int *out = malloc(3 * size * sizeof *out), *in = malloc(3 * size * sizeof *in);
  int *counts = malloc(size * sizeof *counts), *at = malloc(size * sizeof *at);
  MPI_Aint *to = malloc(2 * sizeof *to);
  MPI_Datatype *types = malloc(size * sizeof *types);
  MPI_Request req[2];
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){1}, 0, &ring);
  for (int i = 0; i < size; i++) {
    MPI_Type_create_resized(MPI_INT, 0, 12, &types[i]);
    MPI_Type_commit(&types[i]);
    counts[i] = 1, at[i] = 12 * i;
  }
  for (int i = 0; i < 3 * size; i++) out[i] = 1000 * rank + i, in[i] = -1;
  to[0] = 0, to[1] = 4;
  MPI_Datatype both[2] = {types[0], types[size - 1]};
  int near[2] = {-1, -1};
#if MPI_VERSION >= 4
  if (again) {
    MPI_Alltoallw_init(out, counts, at, types, in, counts, at, types, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &req[0]);
    MPI_Neighbor_alltoallw_init(out, (int[]){1, 1}, to, both, near, (int[]){1, 1}, to, both, ring,
                                MPI_INFO_NULL, &req[1]);
  }
#endif
  if (!again) {
    MPI_Ialltoallw(out, counts, at, types, in, counts, at, types, MPI_COMM_WORLD, &req[0]);
    MPI_Ineighbor_alltoallw(out, (int[]){1, 1}, to, both, near, (int[]){1, 1}, to, both, ring,
                            &req[1]);
  }
  for (int i = 0; i < size; i++) {
    MPI_Datatype copy = types[i];
    MPI_Type_free(&copy);
  }
  MPI_Comm_free(&ring);
  for (int turn = 0; turn <= again; turn++) {
    stir();
    if (again) MPI_Startall(2, req);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3 * size; i++)
      CHECK(in[i] == (i % 3 ? -1 : 1000 * (i / 3) + 3 * rank));
    /* The neighbours' parts come from the sides that they face. */
    CHECK(near[0] == 1000 * ((rank + size - 1) % size) + 1 && near[1] == 1000 * ((rank + 1) % size));
    near[0] = near[1] = -1;
    for (int i = 0; i < 3 * size; i++) in[i] = -1;
  }
  if (again) MPI_Request_free(&req[0]), MPI_Request_free(&req[1]);
  free(out), free(in), free(counts), free(at), free(to), free(types);
}

/* Operators and datatypes whose numbers are used again: none is taken for an older one. */
static void twice(void *a, void *b, int *n, MPI_Datatype *type) {
  for (int i = 0; i < *n; i++) ((int *)b)[i] += ((int *)a)[i] + 1;
}
static void plain(void *a, void *b, int *n, MPI_Datatype *type) {
  int bytes;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *n * bytes / (int)sizeof(int); i++) ((int *)b)[i] += ((int *)a)[i];
}
static void numbers(void) {
  int from[8] = {1, 1, 1, 1, 1, 1, 1, 1}, to[8];
  MPI_Op op, kept;
  MPI_Op_create(plain, 1, &kept);
  for (int i = 0; i < 140; i++) {
    int odd = i / 35 % 2;
    MPI_Op_create(odd ? twice : plain, 1, &op);
    MPI_Allreduce(from, to, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(to[0] == (odd ? 2 * size - 1 : size));
    MPI_Op_free(&op);
    MPI_Datatype type;
    int n = 1 + i / 35;
    MPI_Type_contiguous(n, MPI_INT, &type);
    MPI_Type_commit(&type);
    memset(to, 0, sizeof to);
    MPI_Allreduce(from, to, 1, type, kept, MPI_COMM_WORLD);
    for (int k = 0; k < 8; k++) CHECK(to[k] == (k < n ? size : 0));
    MPI_Type_free(&type);
  }
  MPI_Op_free(&kept);
}

static void handle(MPI_Comm *comm, int *code, ...) { last_comm = *comm, last_code = *code; }
static void handle_sized(MPI_Comm *comm, int *code, ...) {
  int ranks;
  MPI_Comm_size(*comm, &ranks);
  last_code = ranks == size ? *code : -1;
}
static void handle_win(MPI_Win *win, int *code, ...) { last_code = *code; }

/* A request that fails: on a communicator that is freed, with a handler that is freed. */
static void failing(MPI_Comm comm, MPI_Request *req) {
  static int out[2], in;
  MPI_Request send;
  MPI_Irecv(&in, 1, MPI_INT, rank, 0, comm, req);
  MPI_Isend(out, 2, MPI_INT, rank, 0, comm, &send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void handlers(void) {
  MPI_Errhandler handler, other;
  MPI_Comm comm, copy;
  MPI_Request req;
  MPI_Status status;
  int code, class;
  for (int i = 0; i < 70; i++) {
    MPI_Comm_create_errhandler(i % 2 ? handle : handle_sized, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    MPI_Comm_dup(comm, &copy);
    /* It is another one's number now, if it may be. */
    MPI_Comm_create_errhandler(handle, &other);
    last_code = 0;
    MPI_Comm_call_errhandler(comm, MPI_ERR_ARG);
    CHECK(last_code == MPI_ERR_ARG);
    if (i % 2) CHECK(last_comm == comm);
    MPI_Comm_get_errhandler(copy, &handler);
    MPI_Comm_free(&comm);
    CHECK(MPI_Send(&i, 1, MPI_INT, size, 0, copy) != MPI_SUCCESS);
    MPI_Error_class(last_code, &class);
    CHECK(class == MPI_ERR_RANK);
    MPI_Comm_set_errhandler(copy, other);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&other);
    failing(copy, &req);
    MPI_Comm_free(&copy);
    stir();
    last_code = 0;
    code = MPI_Wait(&req, &status);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    MPI_Error_class(last_code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
  }
  /* The world's would end the run. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  failing(comm, &req);
  MPI_Comm_free(&comm);
  MPI_Error_class(MPI_Wait(&req, &status), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
}

/* Windows: of a freed communicator, with freed infos, handlers, groups, datatypes. */
static void windows(void) {
  int memory[6] = {-1, -1, -1, -1, -1, -1}, out[6] = {rank, 7, rank, 7, rank, 7};
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Win win;
  MPI_Comm comm;
  MPI_Info info;
  MPI_Errhandler handler;
  MPI_Datatype type;
  MPI_Group all, to, from;
  MPI_Request req;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "false");
  MPI_Win_create(memory, sizeof memory, sizeof(int), info, comm, &win);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
  MPI_Win_create_errhandler(handle_win, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  stir();
  MPI_Win_call_errhandler(win, MPI_ERR_ARG);
  CHECK(last_code == MPI_ERR_ARG);
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Win_fence(0, win);
  MPI_Put(out, 1, type, next, 0, 1, type, win);
  MPI_Type_free(&type);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 6; i++) CHECK(memory[i] == (i % 2 ? -1 : last));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &next, &to);
  MPI_Group_incl(all, 1, &last, &from);
  MPI_Group_free(&all);
  MPI_Win_post(from, 0, win);
  MPI_Win_start(to, 0, win);
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Accumulate(out, 1, type, next, 0, 1, type, MPI_SUM, win);
  MPI_Type_free(&type);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  for (int i = 0; i < 6; i++) CHECK(memory[i] == (i % 2 ? -1 : 2 * last));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
  MPI_Rget(out, 1, type, next, 0, 1, type, win, &req);
  MPI_Type_free(&type);
  MPI_Wait(&req, MPI_STATUS_IGNORE);
  MPI_Win_unlock(next, win);
  for (int i = 0; i < 6; i++) CHECK(out[i] == (i % 2 ? 7 : 2 * rank));
  MPI_Win_free(&win);
}

static int deletes;
static int forget(MPI_Comm comm, int key, void *value, void *extra) {
  deletes++;
  return MPI_SUCCESS;
}

/* Keys: freed while attributes have them; their numbers are used again. */
static void keys(void) {
  MPI_Comm comm, copy;
  int own, freed, *value, flag, class, seen = 0, first = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, &own, NULL);
  MPI_Comm_set_attr(comm, own, &rank);
  freed = own;
  MPI_Comm_free_keyval(&freed);
  CHECK(freed == MPI_KEYVAL_INVALID);
  for (int i = 0; i < 300; i++) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &freed, NULL);
    CHECK(freed != own);
    if (i == 0) first = freed;
    seen += freed == first;
    MPI_Comm_free_keyval(&freed);
  }
#ifdef MPI_ABI_VERSION
  CHECK(seen > 1);
#endif
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_get_attr(copy, own, &value, &flag);
  CHECK(flag && value == &rank);
  MPI_Comm_delete_attr(comm, own);
  CHECK(deletes == 1);
  MPI_Comm_get_attr(comm, own, &value, &flag);
  CHECK(!flag);
  /* It may be freed again while an attribute has it. */
  freed = own;
  MPI_Comm_free_keyval(&freed);
  MPI_Comm_free(&copy);
  CHECK(deletes == 2);
#ifdef MPI_ABI_VERSION
  /* The last attribute has gone, and the key with it. */
  MPI_Error_class(MPI_Comm_get_attr(comm, own, &value, &flag), &class);
  CHECK(class == MPI_ERR_KEYVAL);
#endif
  (void)class;
  MPI_Comm_free(&comm);
}

/* Communicators: freed while another is made of it, or between groups with a call under way. */
static void communicators(void) {
  MPI_Comm old, new, between, part;
  MPI_Request req[2];
  int from[2] = {rank, -1}, to[2] = {-1, -1}, sum, all;
  MPI_Comm_dup(MPI_COMM_WORLD, &old);
  MPI_Comm_idup(old, &new, &req[0]);
  MPI_Comm_free(&old);
  MPI_Wait(&req[0], MPI_STATUS_IGNORE);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, new);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_free(&new);
  if (size < 2) return;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
  MPI_Comm_free(&part);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete, &key, NULL);
  MPI_Datatype type = spread();
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  deleted = 0;
  MPI_Iallreduce(from, to, 1, type, op, between, &req[0]);
  MPI_Ibarrier(between, &req[1]);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  MPI_Comm_free(&between);
  stir();
  MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
  for (all = 0, sum = 1 - rank % 2; sum < size; sum += 2) all += sum;
  CHECK(to[0] == all && deleted == 1);
  MPI_Type_free_keyval(&key);
}

/* What a datatype was made of: it holds that, and gives it under new handles. */
static void contents(void) {
  MPI_Datatype inner, outer, got, copy;
  int integers[3];
  MPI_Aint addresses[1], low, extent;
  MPI_Type_vector(2, 1, 4, MPI_INT, &inner);
  MPI_Type_contiguous(3, inner, &outer);
  MPI_Type_free(&inner);
  stir();
  for (int i = 0; i < 40; i++) {
    MPI_Type_get_contents(outer, 1, 0, 1, integers, addresses, &got);
    MPI_Type_get_extent(got, &low, &extent);
    CHECK(extent == 5 * sizeof(int));
    copy = got;
    MPI_Type_free(&got);
  }
  (void)copy;
  MPI_Type_free(&outer);
}

static int order[4], ends;
static int at_end(MPI_Comm comm, int key, void *value, void *extra) {
  int is, was, sum;
  MPI_Initialized(&is);
  MPI_Finalized(&was);
  CHECK(is && !was);
  CHECK(ends < 4);
  order[ends++] = *(int *)value;
  /* All may still be called. */
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size * (size - 1) / 2);
  return MPI_SUCCESS;
}

/* Attributes of the predefined communicators end in MPI_Finalize: MPI_COMM_SELF's first, from the
 * latest on. The key is freed before. */
static void finalize(void) {
  static int values[4] = {0, 1, 2, 3};
  MPI_Comm on[4] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 4; i++) {
    int own;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &own, NULL);
    MPI_Comm_set_attr(on[i], own, &values[i]);
    MPI_Comm_free_keyval(&own);
  }
  MPI_Finalize();
  int right = ends == 4 && order[0] == 3 && order[1] == 1 && order[2] + order[3] == 2;
#ifdef MPI_ABI_VERSION
  right = right && order[2] == 2;
#endif
  if (!right) {
    fprintf(stderr, "rank %d: %d ends: %d %d %d\n", rank, ends, order[0], order[1], order[2]);
    exit(3);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* All, or those that are named. */
#define RUN(name, call) if (argc < 2 || !strcmp(argv[1], name)) call
  RUN("started", reductions(0));
  RUN("tested", tested());
  RUN("short", messages(1));
  RUN("long", messages(5000));
  RUN("types", many_types(0));
#if MPI_VERSION >= 4
  RUN("persistent", reductions(1));
  RUN("lists", many_types(1));
#endif
  RUN("numbers", numbers());
  RUN("handlers", handlers());
  RUN("windows", windows());
  RUN("keys", keys());
  RUN("communicators", communicators());
  RUN("contents", contents());
  finalize();
  if (rank == 0) printf("freed fine\n");
  return 0;
}
