/* Graphs, and collectives of neighbours on them and on grids. */
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

/* A ring: each has its successor and its predecessor as neighbours. */
static void ring(int rank, int ranks) {
  int *ends = malloc(ranks * sizeof *ends), *edges = malloc(2 * ranks * sizeof *edges);
  int nodes, count, own[2], kind, map;
  MPI_Comm graph, twin;
  for (int r = 0; r < ranks; r++) {
    ends[r] = 2 * r + 2;
    edges[2 * r] = (r + 1) % ranks;
    edges[2 * r + 1] = (r + ranks - 1) % ranks;
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &graph);
  MPI_Comm_dup(graph, &twin); /* has the graph, too */
  MPI_Topo_test(twin, &kind);
  CHECK(kind == MPI_GRAPH);
  MPI_Graphdims_get(twin, &nodes, &count);
  CHECK(nodes == ranks && count == 2 * ranks);
  MPI_Graph_neighbors_count(twin, rank, &count);
  MPI_Graph_neighbors(twin, rank, 2, own);
  CHECK(count == 2 && own[0] == (rank + 1) % ranks && own[1] == (rank + ranks - 1) % ranks);
  MPI_Graph_get(twin, ranks, 2 * ranks, ends, edges);
  CHECK(ends[ranks - 1] == 2 * ranks && edges[0] == 1 % ranks);
  MPI_Graph_map(MPI_COMM_WORLD, ranks, ends, edges, &map);
  CHECK(map == rank);
  int got[2];
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, twin);
  CHECK(got[0] == own[0] && got[1] == own[1]);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&twin);
  ends[0] = 1;
  edges[0] = ranks;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Graph_create(MPI_COMM_WORLD, 1, ends, edges, 0, &graph) == MPI_ERR_ARG);
  CHECK(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &count) == MPI_ERR_TOPOLOGY);
  CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD) ==
        MPI_ERR_TOPOLOGY);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  free(ends);
  free(edges);
}

/* Rank r sends to r + 1 and r + 3, twice to the latter where that is another one. */
static void adjacent(int rank, int ranks, int whole) {
  int to[3] = {(rank + 1) % ranks, (rank + 3) % ranks, (rank + 3) % ranks}, weights[3] = {1, 2, 3};
  int from[3] = {(rank + ranks - 1) % ranks, (rank + 3 * ranks - 3) % ranks,
                 (rank + 3 * ranks - 3) % ranks};
  MPI_Comm graph;
  if (whole) {
    /* Rank 0 knows all edges. */
    int *sources = malloc(ranks * sizeof(int)), *degrees = malloc(ranks * sizeof(int));
    int *targets = malloc(3 * ranks * sizeof(int)), *all = malloc(3 * ranks * sizeof(int));
    for (int r = 0; r < ranks; r++) {
      sources[r] = r, degrees[r] = 3;
      targets[3 * r] = (r + 1) % ranks, targets[3 * r + 1] = targets[3 * r + 2] = (r + 3) % ranks;
      for (int i = 0; i < 3; i++)
        all[3 * r + i] = weights[i];
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? ranks : 0, sources, degrees, targets, all,
                          MPI_INFO_NULL, 0, &graph);
    free(sources), free(degrees), free(targets), free(all);
  } else
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, weights, 3, to, weights, MPI_INFO_NULL,
                                   0, &graph);
  int in, out, weighted, sources[3], targets[3], in_weights[3], out_weights[3], kind;
  MPI_Topo_test(graph, &kind);
  CHECK(kind == MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 3 && out == 3 && weighted);
  MPI_Dist_graph_neighbors(graph, 3, sources, in_weights, 3, targets, out_weights);
  int given = 0;
  for (int i = 0; i < 3; i++) {
    given += in_weights[i];
    CHECK(targets[i] == to[i] && out_weights[i] == weights[i]);
    if (!whole)
      CHECK(sources[i] == from[i]);
  }
  CHECK(given == 6);
  int send[3], got[3] = {-1, -1, -1};
  for (int i = 0; i < 3; i++)
    send[i] = 10 * rank + i;
  MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, graph);
  for (int i = 0; i < 3; i++)
    CHECK(got[i] / 10 == sources[i]);
  if (ranks > 3 && !whole)
    CHECK(got[0] % 10 == 0 && got[1] % 10 == 1 && got[2] % 10 == 2);
  /* As many as the weights say, from and to places of their own. */
  int counts[3] = {1, 2, 3}, at[3] = {0, 4, 8}, long_send[12], long_got[12];
  for (int i = 0; i < 12; i++)
    long_send[i] = 100 * rank + i, long_got[i] = -1;
  MPI_Request request;
  if (!whole) {
    MPI_Ineighbor_alltoallv(long_send, counts, at, MPI_INT, long_got, counts, at, MPI_INT, graph,
                            &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (ranks > 3)
      for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
          CHECK(long_got[4 * i + k] == (k <= i ? 100 * from[i] + 4 * i + k : -1));
    MPI_Neighbor_allgatherv(&rank, 1, MPI_INT, long_got, (int[]){1, 1, 1}, at, MPI_INT, graph);
    for (int i = 0; i < 3; i++)
      CHECK(long_got[at[i]] == from[i]);
  }
  MPI_Comm_free(&graph);
}

/* Several edges to one rank match in their order, whichever way their data goes. */
static void parallel(int rank, int ranks) {
  enum { EDGES = 3, STEP = 2, LONG = 3000 };
  static double out[EDGES][STEP * LONG], in[EDGES][STEP * LONG];
  int from[EDGES], to[EDGES], counts[EDGES] = {LONG, 1, 5};
  MPI_Aint starts[EDGES];
  MPI_Datatype types[EDGES] = {MPI_DATATYPE_NULL, MPI_DOUBLE, MPI_DOUBLE};
  for (int i = 0; i < EDGES; i++) {
    from[i] = (rank + ranks - 1) % ranks, to[i] = (rank + 1) % ranks;
    starts[i] = i * (MPI_Aint)sizeof out[0];
    for (int k = 0; k < STEP * LONG; k++)
      out[i][k] = rank * 1e6 + i * 1e4 + k, in[i][k] = -1;
  }
  MPI_Type_create_resized(MPI_DOUBLE, 0, STEP * sizeof(double), &types[0]);
  MPI_Type_commit(&types[0]);
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, from, MPI_UNWEIGHTED, EDGES, to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  for (int call = 0; call < 3; call++) {
    MPI_Neighbor_alltoallw(out, counts, starts, types, in, counts, starts, types, graph);
    for (int i = 0; i < EDGES; i++) {
      int last = (counts[i] - 1) * (i ? 1 : STEP);
      CHECK(in[i][0] == from[i] * 1e6 + i * 1e4 && in[i][last] == in[i][0] + last);
    }
  }
  int at[EDGES], few[EDGES] = {1, 2, 11};
  for (int i = 0; i < EDGES; i++)
    at[i] = i * STEP * LONG;
  for (int call = 0; call < 20; call++) {
    few[2] = call < 10 ? 3 : 11;
    MPI_Neighbor_alltoallv(out, few, at, MPI_DOUBLE, in, few, at, MPI_DOUBLE, graph);
    for (int i = 0; i < EDGES; i++)
      CHECK(in[i][few[i] - 1] == from[i] * 1e6 + i * 1e4 + few[i] - 1);
  }
  MPI_Type_free(&types[0]);
  MPI_Comm_free(&graph);
}

/* Very many edges, more than there is room for at once: to the next rank, to the rank itself and to
   the one before, in turn, listed from either end; short, of some length, and long with gaps. */
static void many(int rank, int ranks) {
  enum { EACH = 30, EDGES = 3 * EACH, LONG = 300 };
  static double out[EDGES][2 * LONG], in[EDGES][2 * LONG];
  int from[EDGES], to[EDGES], counts[EDGES];
  MPI_Aint starts[EDGES];
  MPI_Datatype types[EDGES], gaps;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < EDGES; i++) {
    int by = i % 3 - 1; /* The edges from a rank are listed as that rank lists them. */
    from[i] = (rank - by + ranks) % ranks, to[i] = (rank + by + ranks) % ranks;
    counts[i] = i % 4 == 0 ? 1 : i % 4 == 1 ? 100 : LONG, types[i] = i % 4 == 3 ? gaps : MPI_DOUBLE;
    starts[i] = i * (MPI_Aint)sizeof out[0];
    for (int k = 0; k < 2 * LONG; k++)
      out[i][k] = rank * 1e6 + i * 1e3 + k;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, from, MPI_UNWEIGHTED, EDGES, to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Request again[3];
  MPI_Neighbor_alltoallw_init(out, counts, starts, types, in, counts, starts, types, graph,
                              MPI_INFO_NULL, &again[0]);
  MPI_Neighbor_alltoall_init(out, 2 * LONG, MPI_DOUBLE, in, 2 * LONG, MPI_DOUBLE, graph,
                             MPI_INFO_NULL, &again[1]);
  MPI_Neighbor_allgather_init(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, graph, MPI_INFO_NULL,
                              &again[2]);
  /* Those that wait, that are started, and that are set up. */
  for (int call = 0; call < 12; call++) {
    MPI_Request request;
    int style = call / 2 % 3, is_even = call % 2;
    for (int i = 0; i < EDGES; i++)
      in[i][0] = -1;
    if (style == 0 && is_even)
      MPI_Neighbor_alltoall(out, 2 * LONG, MPI_DOUBLE, in, 2 * LONG, MPI_DOUBLE, graph);
    else if (style == 0)
      MPI_Neighbor_alltoallw(out, counts, starts, types, in, counts, starts, types, graph);
    else if (style == 1 && is_even)
      MPI_Ineighbor_alltoall(out, 2 * LONG, MPI_DOUBLE, in, 2 * LONG, MPI_DOUBLE, graph, &request);
    else if (style == 1)
      MPI_Ineighbor_alltoallw(out, counts, starts, types, in, counts, starts, types, graph,
                              &request);
    else
      MPI_Start(&again[is_even]);
    if (style == 1)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (style == 2)
      MPI_Wait(&again[is_even], MPI_STATUS_IGNORE);
    for (int i = 0; i < EDGES && ranks > 2; i++) {
      int last = is_even ? 2 * LONG - 1 : (counts[i] - 1) * (i % 4 == 3 ? 2 : 1);
      CHECK(in[i][0] == from[i] * 1e6 + i * 1e3 && in[i][last] == in[i][0] + last);
    }
  }
  /* Short data, which lies in the cards: of each edge its own, of all the same. */
  for (int call = 0; call < 4; call++) {
    static double give[EDGES], got[EDGES];
    MPI_Request request[2];
    for (int i = 0; i < EDGES; i++)
      give[i] = out[i][0], got[i] = in[0][i] = -1;
    MPI_Ineighbor_alltoall(give, 1, MPI_DOUBLE, got, 1, MPI_DOUBLE, graph, &request[0]);
    MPI_Start(&again[2]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Wait(&again[2], MPI_STATUS_IGNORE);
    for (int i = 0; i < EDGES && ranks > 2; i++)
      CHECK(got[i] == from[i] * 1e6 + i * 1e3 && in[0][i] == from[i] * 1e6);
  }
  for (int i = 0; i < 3; i++)
    MPI_Request_free(&again[i]);
  MPI_Type_free(&gaps);
  MPI_Comm_free(&graph);
}

/* A graph whose ranks do not agree: rank 0 takes from rank 1, which gives it nothing. The last rank
   gives long data to rank 0, which does not take it. */
static void one_sided(int rank, int ranks) {
  enum { LONG = 5000 };
  static int data[LONG], room[2 * LONG];
  MPI_Comm graph;
  MPI_Request request;
  MPI_Status status;
  int one = 1, zero = 0, got = -1, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0, &one, MPI_UNWEIGHTED, 0, &one,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
  MPI_Ineighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, graph, &request);
  int code = MPI_Wait(&request, &status);
  CHECK(code == MPI_SUCCESS || rank == 0);
  if (rank == 0) {
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "has no edge to this one in MPI_Ineighbor_allgather") && got == -1);
  }
  MPI_Comm_free(&graph);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0, &one, MPI_UNWEIGHTED,
                                 rank == 1 || rank == ranks - 1, &zero, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  for (int call = 0; call < 20; call++) {
    for (int i = 0; i < LONG; i++)
      data[i] = 10 * rank + call, room[i] = -1;
    /* Rank 1's part is short, if it is not the last rank. */
    int short_or_long = rank == ranks - 1 ? LONG : 1, taken = ranks == 2 ? LONG : 1;
    MPI_Ineighbor_allgatherv(data, short_or_long, MPI_INT, room, &taken, &zero, MPI_INT, graph,
                             &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) {
      CHECK(room[0] == 10 + call && room[taken - 1] == 10 + call);
      room[0] = -2; /* It is this rank's again: nobody writes there any more. */
      MPI_Barrier(MPI_COMM_WORLD);
      CHECK(room[0] == -2);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Comm_free(&graph);
}

/* On a grid what goes in one direction comes from the other, also if both are the same rank. */
static void grid(int rank, int ranks) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, map;
  MPI_Comm cart;
  MPI_Dims_create(ranks, 2, dims);
  MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &map);
  CHECK(map == rank);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  int around[4], send[4], got[4] = {-1, -1, -1, -1};
  MPI_Cart_shift(cart, 0, 1, &around[0], &around[1]);
  MPI_Cart_shift(cart, 1, 1, &around[2], &around[3]);
  for (int i = 0; i < 4; i++)
    send[i] = 10 * rank + i;
  MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, cart);
  for (int i = 0; i < 4; i++)
    CHECK(got[i] == (around[i] < 0 ? -1 : 10 * around[i] + (i ^ 1)));
  double values[4] = {0, 1, 2, 3}, others[4] = {-1, -1, -1, -1};
  int ones[4] = {1, 1, 1, 1};
  MPI_Aint at[4] = {0, 8, 16, 24};
  MPI_Datatype types[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  MPI_Neighbor_alltoallw(values, ones, at, types, others, ones, at, types, cart);
  for (int i = 0; i < 4; i++)
    CHECK(others[i] == (around[i] < 0 ? -1 : (i ^ 1)));
  MPI_Comm_free(&cart);
}

/* Long data, of which each rank copies its own; of columns as well. */
static void longer(int rank, int ranks) {
  enum { LENGTH = 1 << 14 };
  int dims[1] = {ranks}, periods[1] = {1}, around[2];
  MPI_Comm cart;
  MPI_Request requests[2];
  MPI_Datatype column;
  int *send = malloc(4 * LENGTH * sizeof *send), *got = malloc(4 * LENGTH * sizeof *got);
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
  MPI_Cart_shift(cart, 0, 1, &around[0], &around[1]);
  MPI_Type_vector(LENGTH, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 4 * LENGTH; i++)
      send[i] = 7 * i + rank + round, got[i] = -1;
    if (round % 4 == 3) {
      /* Of those that are started, a second one before the first has ended. */
      MPI_Ineighbor_alltoall(send, LENGTH, MPI_INT, got, LENGTH, MPI_INT, cart, &requests[0]);
      MPI_Ineighbor_allgather(send, LENGTH, MPI_INT, got + 2 * LENGTH, LENGTH, MPI_INT, cart,
                              &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < 2 * LENGTH; i++)
        CHECK(got[2 * LENGTH + i] == 7 * (i % LENGTH) + around[i / LENGTH] + round);
    } else {
      MPI_Neighbor_alltoall(send, LENGTH, MPI_INT, got, LENGTH, MPI_INT, cart);
    }
    for (int i = 0; i < 2 * LENGTH; i++)
      CHECK(got[i] == 7 * ((i + LENGTH) % (2 * LENGTH)) + around[i / LENGTH] + round);
    /* Every second element, to every second one. */
    int ones[2] = {1, 1};
    MPI_Aint at[2] = {0, 2 * LENGTH * sizeof *send};
    MPI_Datatype types[2] = {column, column};
    for (int i = 0; i < 4 * LENGTH; i++)
      got[i] = -1;
    MPI_Neighbor_alltoallw(send, ones, at, types, got, ones, at, types, cart);
    for (int i = 0; i < 4 * LENGTH; i++)
      CHECK(got[i] == (i % 2 ? -1
                             : 7 * ((i + 2 * LENGTH) % (4 * LENGTH)) + around[i / 2 / LENGTH] +
                                   round));
  }
  MPI_Type_free(&column);
  MPI_Comm_free(&cart);
  free(send), free(got);
}

/* A rank waits for its neighbours only: the last one of a line comes when it is told to. */
static void alone(int rank, int ranks) {
  int dims[1] = {ranks}, periods[1] = {0}, send[2] = {rank, rank}, got[2] = {-1, -1};
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
  if (ranks > 2 && rank == ranks - 1)
    MPI_Recv(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, cart);
  if (ranks > 2 && rank == 0)
    MPI_Send(NULL, 0, MPI_INT, ranks - 1, 5, MPI_COMM_WORLD);
  CHECK(got[0] == (rank ? rank - 1 : -1) && got[1] == (rank < ranks - 1 ? rank + 1 : -1));
  MPI_Comm_free(&cart);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ring(rank, ranks);
  adjacent(rank, ranks, 0);
  adjacent(rank, ranks, 1);
  grid(rank, ranks);
  parallel(rank, ranks);
  many(rank, ranks);
  if (ranks > 1)
    one_sided(rank, ranks);
  longer(rank, ranks);
  alone(rank, ranks);
  if (rank == 0)
    printf("graphs fine\n");
  MPI_Finalize();
  return 0;
}
