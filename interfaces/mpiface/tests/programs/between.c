/* Communicators between two groups, those that a part of the ranks makes, and one that is made
 * while the program goes on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    if (!(x)) {                                                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                      \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                \
    }                                                                                              \
  } while (0)

/* Ranks of the world below `low` form one group, the rest the other. */
static MPI_Comm make(int rank, int ranks, int low, MPI_Comm *local) {
  MPI_Comm both;
  int is_low = rank < low;
  MPI_Comm_split(MPI_COMM_WORLD, is_low, 0, local);
  MPI_Intercomm_create(*local, 0, MPI_COMM_WORLD, is_low ? low : 0, 7, &both);
  return both;
}

static void messages(MPI_Comm both, int me, int others, int is_low) {
  int value = me, got = -1, flag;
  MPI_Status status;
  /* The first of each side sends to all of the other. */
  if (me == 0)
    for (int r = 0; r < others; r++) {
      value = 100 * is_low + r;
      MPI_Send(&value, 1, MPI_INT, r, 3, both);
    }
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, both, &status);
  CHECK(status.MPI_SOURCE == 0 && got == 100 * !is_low + me);
  MPI_Comm_test_inter(both, &flag);
  CHECK(flag);
}

static void collectives(MPI_Comm both, int me, int mine, int others, int is_low) {
  int value, *all = malloc(sizeof(int) * (mine + others)),
             *own = malloc(sizeof(int) * (mine + others));
  /* From the last of the low ones to all of the high ones. */
  value = is_low ? 40 + me : -1;
  int root = !is_low ? others - 1 : me == mine - 1 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(&value, 1, MPI_INT, root, both);
  CHECK(value == (is_low ? 40 + me : 40 + others - 1));
  value = 1000 * is_low + me;
  MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, both);
  for (int r = 0; r < others; r++)
    CHECK(all[r] == 1000 * !is_low + r);
  MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, both);
  if (root == MPI_ROOT)
    for (int r = 0; r < others; r++)
      CHECK(all[r] == r);
  for (int r = 0; r < others; r++)
    own[r] = 10 * r + is_low;
  MPI_Scatter(own, 1, MPI_INT, &value, 1, MPI_INT, root, both);
  if (!is_low)
    CHECK(value == 10 * me + 1);
  for (int r = 0; r < others; r++)
    own[r] = 100 * me + r;
  MPI_Alltoall(own, 1, MPI_INT, all, 1, MPI_INT, both);
  for (int r = 0; r < others; r++)
    CHECK(all[r] == 100 * r + me);
  double x = me + 1, sum = 0;
  MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, both);
  CHECK(sum == others * (others + 1) / 2);
  sum = -1;
  MPI_Reduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, root, both);
  CHECK(sum == (root == MPI_ROOT ? others * (others + 1) / 2 : -1));
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(both, &request);
  while (!done)
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  MPI_Barrier(both);
  free(all);
  free(own);
}

/* Long data, several calls at once; who gives need not call again before its wait. */
static void longer(MPI_Comm both, int me, int mine, int others, int is_low) {
  enum { LENGTH = 3000 };
  int root = !is_low ? others - 1 : me == mine - 1 ? MPI_ROOT : MPI_PROC_NULL, n = mine + others;
  int *one[5], *all[5];
  for (int k = 0; k < 5; k++) {
    one[k] = malloc(sizeof(int) * LENGTH), all[k] = malloc(sizeof(int) * LENGTH * n);
    for (int i = 0; i < LENGTH * n; i++)
      all[k][i] = k == 2 || k == 4 ? 1000000 * is_low + 10000 * me + i : -1;
    for (int i = 0; i < LENGTH; i++)
      one[k][i] = k == 2 ? -1 : 1000000 * is_low + 10000 * me + i;
  }
  int *to = malloc(sizeof(int) * LENGTH * n);
  MPI_Request requests[5];
  MPI_Ibcast(one[0], LENGTH, MPI_INT, root, both, &requests[0]);
  MPI_Igather(one[1], LENGTH, MPI_INT, all[1], LENGTH, MPI_INT, root, both, &requests[1]);
  MPI_Iscatter(all[2], LENGTH, MPI_INT, one[2], LENGTH, MPI_INT, root, both, &requests[2]);
  MPI_Iallgather(one[3], LENGTH, MPI_INT, all[3], LENGTH, MPI_INT, both, &requests[3]);
  MPI_Ialltoall(all[4], LENGTH, MPI_INT, to, LENGTH, MPI_INT, both, &requests[4]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < LENGTH; i++) {
    CHECK(one[0][i] == 1000000 * is_low + 10000 * me + i || !is_low);
    if (!is_low) {
      CHECK(one[0][i] == 1000000 + 10000 * (others - 1) + i);
      CHECK(one[2][i] == 1000000 + 10000 * (others - 1) + LENGTH * me + i);
    }
    for (int r = 0; r < others; r++) {
      int theirs = 1000000 * !is_low + 10000 * r + i;
      CHECK(root != MPI_ROOT || all[1][LENGTH * r + i] == theirs);
      CHECK(all[3][LENGTH * r + i] == theirs && to[LENGTH * r + i] == theirs + LENGTH * me);
    }
  }
  for (int k = 0; k < 5; k++)
    free(one[k]), free(all[k]);
  free(to);
}

static void derived(MPI_Comm both, int rank, int ranks, int low) {
  MPI_Comm merged, twin, part;
  MPI_Group group, remote;
  int is_low = rank < low, place, size, result, other;
  MPI_Intercomm_merge(both, is_low, &merged); /* the low ones come last */
  MPI_Comm_rank(merged, &place);
  MPI_Comm_size(merged, &size);
  CHECK(size == ranks && place == (is_low ? ranks - low + rank : rank - low));
  int sum;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(sum == ranks * (ranks - 1) / 2);
  MPI_Comm_free(&merged);
  MPI_Intercomm_merge(both, 0, &merged);
  int first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, merged);
  CHECK(first == 0 || first == low);
  MPI_Comm_free(&merged);
  MPI_Comm_dup(both, &twin);
  MPI_Comm_compare(both, twin, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_remote_size(twin, &size);
  MPI_Comm_remote_group(twin, &remote);
  MPI_Group_size(remote, &other);
  CHECK(size == other && size == (is_low ? ranks - low : low));
  MPI_Comm_group(twin, &group);
  MPI_Group_intersection(group, remote, &group);
  CHECK(group == MPI_GROUP_EMPTY);
  MPI_Comm_free(&twin);
  /* The first of each side, and all others. */
  int own;
  MPI_Comm_rank(both, &own);
  MPI_Comm_split(both, own == 0, 0, &part);
  if (own == 0) {
    MPI_Comm_remote_size(part, &size);
    CHECK(size == 1);
  }
  if (part != MPI_COMM_NULL)
    MPI_Comm_free(&part);
  MPI_Comm_group(both, &group);
  MPI_Group_incl(group, 1, (int[]){0}, &group);
  MPI_Comm_create(both, group, &part);
  CHECK((part != MPI_COMM_NULL) == (own == 0));
  if (own == 0) {
    int value = rank, got;
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, part, MPI_STATUS_IGNORE);
    CHECK(got == (is_low ? low : 0));
    MPI_Comm_free(&part);
  }
}

static void parts(int rank, int ranks) {
  MPI_Group world, some;
  MPI_Comm part, twin;
  MPI_Request request;
  int place, sum;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int[][3]){{rank % 2, ranks - 1, 2}}, &some);
  /* The others do not call it; twice in a row. */
  for (int i = 0; i < 3; i++) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 4, &part);
    MPI_Comm_rank(part, &place);
    CHECK(place == rank / 2);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    int expected = 0;
    for (int r = rank % 2; r < ranks; r += 2)
      expected += r;
    CHECK(sum == expected);
    MPI_Comm_free(&part);
  }
  if (rank == 0)
    MPI_Group_incl(world, 1, (int[]){0}, &some);
  if (rank == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &part);
    MPI_Barrier(part);
  }
  MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, twin);
  CHECK(sum == ranks - 1);
  MPI_Comm_free(&twin);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  parts(rank, ranks);
  if (ranks > 1)
    for (int low = 1; low<ranks; low += ranks> 2 ? ranks / 2 : 1) {
      MPI_Comm local, both = make(rank, ranks, low, &local);
      int me, mine, others;
      MPI_Comm_rank(both, &me);
      MPI_Comm_size(both, &mine);
      MPI_Comm_remote_size(both, &others);
      CHECK(mine + others == ranks && mine == (rank < low ? low : ranks - low));
      messages(both, me, others, rank < low);
      collectives(both, me, mine, others, rank < low);
      longer(both, me, mine, others, rank < low);
      derived(both, rank, ranks, low);
      MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
      int value = 0;
      CHECK(MPI_Scan(&value, &value, 1, MPI_INT, MPI_SUM, both) == MPI_ERR_COMM);
      CHECK(MPI_Send(&value, 1, MPI_INT, others, 1, both) == MPI_ERR_RANK);
      CHECK(MPI_Bcast(&value, 1, MPI_INT, others, both) == MPI_ERR_ROOT);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      CHECK(MPI_Comm_remote_size(MPI_COMM_WORLD, &others) == MPI_ERR_COMM);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Comm_disconnect(&both);
      CHECK(both == MPI_COMM_NULL);
      MPI_Comm_free(&local);
    }
  if (rank == 0)
    printf("between fine\n");
  MPI_Finalize();
  return 0;
}
