/* Communicators between two groups, those that a part of the ranks makes, and one that is made
 * while the program goes on. */
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

/* Each function that takes a communicator of one group only refuses this one, at once: no other rank
 * is needed. */
static void refused(MPI_Comm both) {
  int one = 1, a[4], b[4], at[4] = {0};
  MPI_Datatype t = MPI_INT, types[4] = {t, t, t, t};
  MPI_Aint far[4] = {0};
  MPI_Comm made;
  MPI_Request r;
  MPI_Win win;
  MPI_Group group;
  void *base;
  MPI_Comm_group(both, &group);
#define NO(call) CHECK(MPI_##call == MPI_ERR_COMM)
#define OPERANDS a, b, 1, t, MPI_SUM, both
#define EVEN a, 1, t, b, 1, t, both
#define TO_ONE a, 1, t, b, at, at, t, both
#define EACH a, at, at, t, b, at, at, t, both
#define TYPED a, at, far, types, b, at, far, types, both
#define INFO MPI_INFO_NULL
  NO(Scan(OPERANDS));
  NO(Exscan(OPERANDS));
  NO(Iscan(OPERANDS, &r));
  NO(Iexscan(OPERANDS, &r));
  NO(Scan_init(OPERANDS, INFO, &r));
  NO(Exscan_init(OPERANDS, INFO, &r));
  NO(Scan_c(OPERANDS));
  NO(Neighbor_allgather(EVEN));
  NO(Neighbor_alltoall(EVEN));
  NO(Neighbor_allgatherv(TO_ONE));
  NO(Neighbor_alltoallv(EACH));
  NO(Neighbor_alltoallw(TYPED));
  NO(Ineighbor_allgather(EVEN, &r));
  NO(Ineighbor_alltoall(EVEN, &r));
  NO(Ineighbor_allgatherv(TO_ONE, &r));
  NO(Ineighbor_alltoallv(EACH, &r));
  NO(Ineighbor_alltoallw(TYPED, &r));
  NO(Neighbor_allgather_init(EVEN, INFO, &r));
  NO(Neighbor_alltoall_init(EVEN, INFO, &r));
  NO(Neighbor_allgatherv_init(TO_ONE, INFO, &r));
  NO(Neighbor_alltoallv_init(EACH, INFO, &r));
  NO(Neighbor_alltoallw_init(TYPED, INFO, &r));
  NO(Cart_create(both, 1, &one, at, 0, &made));
  CHECK(made == MPI_COMM_NULL);
  NO(Cart_map(both, 1, &one, at, a));
  NO(Cart_get(both, 1, a, a, a));
  NO(Cart_coords(both, 0, 1, a));
  NO(Cart_rank(both, at, a));
  NO(Cart_shift(both, 0, 1, a, b));
  NO(Cart_sub(both, &one, &made));
  NO(Cartdim_get(both, a));
  NO(Graph_create(both, 1, &one, at, 0, &made));
  NO(Graph_map(both, 1, &one, at, a));
  NO(Graph_get(both, 1, 1, a, b));
  NO(Graphdims_get(both, a, b));
  NO(Graph_neighbors_count(both, 0, a));
  NO(Graph_neighbors(both, 0, 1, a));
  NO(Dist_graph_create(both, 1, at, &one, at, &one, INFO, 0, &made));
  NO(Dist_graph_create_adjacent(both, 1, at, &one, 1, at, &one, INFO, 0, &made));
  NO(Dist_graph_neighbors_count(both, a, a, b));
  NO(Dist_graph_neighbors(both, 1, a, a, 1, b, b));
  NO(Comm_create_group(both, group, 1, &made));
  NO(Intercomm_create(both, 0, MPI_COMM_WORLD, 0, 1, &made));
  NO(Win_create(a, sizeof a, 1, INFO, both, &win));
  NO(Win_allocate(8, 1, INFO, both, &base, &win));
  NO(Win_allocate_shared(8, 1, INFO, both, &base, &win));
  NO(Win_create_dynamic(INFO, both, &win));
  MPI_Topo_test(both, a);
  CHECK(a[0] == MPI_UNDEFINED);
  MPI_Group_free(&group);
}

/* The size of a part of this kind, in which the order of ranks is turned round; 0 for none. */
static int part(MPI_Comm comm, int kind, MPI_Info info) {
  int rank, size = 0, all, place, inter;
  MPI_Comm made = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &all);
  MPI_Comm_split_type(comm, kind, -rank, info, &made);
  if (made == MPI_COMM_NULL) return 0;
  MPI_Comm_size(made, &size);
  MPI_Comm_rank(made, &place);
  CHECK(size == 1 || place == all - 1 - rank);
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_test_inter(made, &all);
  CHECK(all == inter);
  MPI_Comm_free(&made);
  return size;
}

/* The value `mpi_shared_memory` is MPI_COMM_TYPE_SHARED; no other kind of hardware is known. */
static void kinds(MPI_Comm comm) {
  int rank, all, number, flag;
  char text[32];
  MPI_Info info;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &all);
#define SIZE(kind, info) part(comm, MPI_COMM_TYPE_##kind, info)
  CHECK(SIZE(SHARED, MPI_INFO_NULL) == all && SIZE(HW_GUIDED, MPI_INFO_NULL) == 0);
  CHECK(SIZE(HW_UNGUIDED, MPI_INFO_NULL) == 0 && SIZE(RESOURCE_GUIDED, MPI_INFO_NULL) == 0);
  MPI_Info_create(&info);
  CHECK(SIZE(SHARED, info) == all && SIZE(HW_GUIDED, info) == 0);
  CHECK(SIZE(HW_UNGUIDED, info) == 0 && SIZE(RESOURCE_GUIDED, info) == 0);
  static const struct {
    const char *key, *value;
    int hardware, any; /* 1: all, 2: a part each */
  } rows[] = {{"mpi_hw_resource_type", "mpi_shared_memory", 1, 1},
              {"mpi_hw_resource_type", "L3", 0, 0},
              {"mpi_hw_resource_type", "MPI_SHARED_MEMORY", 0, 0},
              {"mpi_pset_name", "mpi://WORLD", 0, 1},
              {"mpi_pset_name", "MPI://self", 0, 2},
              {"mpi_pset_name", "mpi_shared_memory", 0, 0},
              {"a_key", "mpi_shared_memory", 0, 0}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    int inter;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Info_set(info, rows[i].key, rows[i].value);
    CHECK(SIZE(HW_GUIDED, info) == (rows[i].hardware ? all : 0));
    /* (Between two groups a part of one rank has nobody on the other side.) */
    CHECK(SIZE(RESOURCE_GUIDED, info) == (rows[i].any == 2 ? !inter : rows[i].any ? all : 0));
    CHECK(SIZE(SHARED, info) == all && SIZE(HW_UNGUIDED, info) == 0);
    MPI_Info_get_nkeys(info, &number);
    MPI_Info_get(info, rows[i].key, 31, text, &flag);
    CHECK(number == 1 && flag && !strcmp(text, rows[i].value));
    MPI_Info_delete(info, rows[i].key);
  }
  MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
  MPI_Comm made;
  MPI_Comm_split_type(comm, rank ? MPI_COMM_TYPE_HW_GUIDED : MPI_UNDEFINED, 0, info, &made);
  CHECK((made == MPI_COMM_NULL) == (rank == 0 || made == MPI_COMM_NULL));
  if (made != MPI_COMM_NULL) {
    MPI_Comm_size(made, &number);
    CHECK(rank && number == all - 1);
    MPI_Comm_free(&made);
  }
  MPI_Info_free(&info);
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
  kinds(MPI_COMM_WORLD);
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
      refused(both);
      kinds(both);
      kinds(local);
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
