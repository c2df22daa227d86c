/* MPI collectives on doubles. usage: mpirun -np P mpi --ranks P [options, see harness.h]
 * The larger buffer has `bytes`: the vector, or all blocks together. */
#include "harness.h"
#include <fcntl.h>
#include <mpi.h>

enum { BARRIER, BCAST, REDUCE, REDUCE_IN, ALLREDUCE, ALLREDUCE_IN, ALLGATHER, REDUCE_SCATTER, ALLTOALL, SCAN, SCAN_IN, SCATTER, GATHER,
       ALLGATHERV, REDUCE_SCATTERV, ALLTOALLV, SCATTERV, GATHERV, IBARRIER, IBCAST, IALLREDUCE, IALLREDUCE_IN, IALLREDUCE_PERSISTENT, IALLGATHER, IALLTOALL, OPS };
static const char *const op_name[OPS] = {"barrier", "bcast", "reduce", "reduce_inplace", "allreduce", "allreduce_inplace", "allgather", "reduce_scatter_block", "alltoall", "scan", "scan_inplace", "scatter", "gather",
                                         "allgatherv", "reduce_scatter", "alltoallv", "scatterv", "gatherv", "ibarrier", "ibcast", "iallreduce", "iallreduce_inplace", "iallreduce_persistent", "iallgather", "ialltoall"};
static int rank, ranks;
static double *out[MAX_SETS], *in[MAX_SETS];

/* Neighbourhoods: a ring, and the second next on each side from five ranks on; each neighbour gets a part. */
enum { NEIGHBOR = OPS, NEIGHBOR_PERSISTENT, MESSAGES, PING_PONG, ALL_OPS };
static const char *const neighbor_name[] = {"neighbor_alltoallv", "neighbor_alltoallv_persistent", "isend_irecv", "ping_pong"};
static MPI_Comm graph;
static int degree, neighbors[4], neighbor_counts[4], neighbor_starts[4];
static void neighbors_make(void)
{
    static const int steps[4] = {1, -1, 2, -2}, weights[4] = {1, 1, 1, 1};
    degree = ranks < 2 ? 0 : ranks == 2 ? 1 : ranks < 5 ? 2 : 4;
    for (int i = 0; i < degree; i++) neighbors[i] = (rank + steps[i] + ranks) % ranks;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, neighbors, weights, degree, neighbors, weights, MPI_INFO_NULL, 0, &graph);
}
static void neighbors_cut(size_t n)
{
    static size_t cut; /* as `count_blocks`: the division is not what is timed */
    if (cut == n) return;
    cut = n;
    for (int i = 0; i < degree; i++) neighbor_counts[i] = (int)n / degree, neighbor_starts[i] = i * neighbor_counts[i];
}
/* the requests of each operation and size, by set */
static struct { int op, made; size_t n; MPI_Request set[MAX_SETS]; int counts[4], starts[4]; } persistent[64];
#if MPI_VERSION >= 4
static void persistent_make(int op, size_t n, int set, MPI_Request *request, int *counts, int *starts)
{
    if (op == NEIGHBOR_PERSISTENT) {
        neighbors_cut(n);
        memcpy(counts, neighbor_counts, sizeof neighbor_counts);
        memcpy(starts, neighbor_starts, sizeof neighbor_starts);
        MPI_Neighbor_alltoallv_init(out[set], counts, starts, MPI_DOUBLE, in[set], counts, starts, MPI_DOUBLE, graph, MPI_INFO_NULL, request);
    } else MPI_Allreduce_init(out[set], in[set], (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}
#else
static void persistent_make(int op, size_t n, int set, MPI_Request *request, int *counts, int *starts)
{
    (void)op, (void)n, (void)set, (void)request, (void)counts, (void)starts;
}
#endif
static void persistent_start(int op, size_t n, int set)
{
    int at = 0;
    while (persistent[at].made && (persistent[at].n != n || persistent[at].op != op)) at++;
    if (!persistent[at].made) {
        persistent[at].made = 1;
        persistent[at].n = n;
        persistent[at].op = op;
        for (int k = 0; k < MAX_SETS; k++) {
            persistent[at].set[k] = MPI_REQUEST_NULL;
            if (!k || n * 8 <= 16384) persistent_make(op, n, k, &persistent[at].set[k], persistent[at].counts, persistent[at].starts);
        }
    }
    /* a start and its wait, at once: one operation, as the call that blocks */
    MPI_Start(&persistent[at].set[set]);
    MPI_Wait(&persistent[at].set[set], MPI_STATUS_IGNORE);
}
static void persistent_free(void)
{
    for (int at = 0; at < 64 && persistent[at].made; at++)
        for (int k = 0; k < MAX_SETS; k++)
            if (persistent[at].set[k] != MPI_REQUEST_NULL) MPI_Request_free(&persistent[at].set[k]);
}
static void messages(const double *x, double *y, size_t n)
{
    MPI_Request open[8];
    MPI_Status done[8];
    neighbors_cut(n);
    for (int i = 0; i < degree; i++) MPI_Irecv(y + neighbor_starts[i], neighbor_counts[i], MPI_DOUBLE, neighbors[i], 7, MPI_COMM_WORLD, &open[i]);
    for (int i = 0; i < degree; i++) MPI_Isend(x + neighbor_starts[i], neighbor_counts[i], MPI_DOUBLE, neighbors[i], 7, MPI_COMM_WORLD, &open[degree + i]);
    MPI_Waitall(2 * degree, open, done);
}

/* There and back, by pairs of ranks; without a partner: nothing. */
static void ping_pong(double *x, double *y, size_t n)
{
    int partner = rank ^ 1;
    if (partner >= ranks) return;
    for (int turn = 0; turn < 2; turn++)
        if ((rank & 1) == turn) MPI_Send(x, (int)n, MPI_DOUBLE, partner, 8, MPI_COMM_WORLD);
        else MPI_Recv(y, (int)n, MPI_DOUBLE, partner, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* the form with counts is called with equal ones, and what is started is waited for; elsewhere they are as the others */
static int even(int op)
{
    switch (op) {
    case ALLGATHERV: return ALLGATHER;
    case REDUCE_SCATTERV: return REDUCE_SCATTER;
    case ALLTOALLV: return ALLTOALL;
    case SCATTERV: return SCATTER;
    case GATHERV: return GATHER;
    case IBARRIER: return BARRIER;
    case IBCAST: return BCAST;
    case IALLREDUCE: case IALLREDUCE_PERSISTENT: return ALLREDUCE;
    case IALLREDUCE_IN: return ALLREDUCE_IN;
    case IALLGATHER: return ALLGATHER;
    case IALLTOALL: return ALLTOALL;
    default: return op;
    }
}
/* the counts and displacements of every rank's block, for the row that is called */
static int counts[MAX_RANKS], starts[MAX_RANKS];

static void count_blocks(int block)
{
    if (counts[0] == block) return;
    for (int i = 0; i < ranks; i++) { counts[i] = block; starts[i] = i * block; }
}
static int has_blocks(int op) { op = even(op); return op == ALLGATHER || op == REDUCE_SCATTER || op == ALLTOALL || op == SCATTER || op == GATHER; }

/* elements that this rank sends */
static size_t sent(const row *r)
{
    switch (even(r->op)) {
    case BARRIER: return 0;
    case BCAST: return rank == 0 ? r->count : 0;
    case SCATTER: return rank == 0 ? r->count : 0;
    case ALLGATHER: case GATHER: return r->count / (size_t)ranks;
    default: return r->count;
    }
}
static void rewrite(const row *r, int set)
{
    int op = even(r->op);
    double *x = op == ALLREDUCE_IN || op == REDUCE_IN || op == SCAN_IN ? in[set] : out[set];
    for (size_t i = 0, n = sent(r); i < n; i++) x[i] = rank + 1;
}
/* elements that this rank receives, apart from those that it sends in place */
static size_t received_by(const row *r)
{
    switch (even(r->op)) {
    case BARRIER: case REDUCE_IN: case ALLREDUCE_IN: case SCAN_IN: return 0;
    case BCAST: case REDUCE: case GATHER: return (rank == 0) == (even(r->op) != BCAST) ? r->count : 0;
    case SCATTER: case REDUCE_SCATTER: return r->count / (size_t)ranks;
    default: return r->count;
    }
}
static void spans(const row *r, int set, span *to, span *from)
{
    int op = even(r->op), in_place = op == ALLREDUCE_IN || op == REDUCE_IN || op == SCAN_IN;
    *to = (span){in_place ? in[set] : out[set], sent(r) * 8};
    *from = (span){op == BCAST ? out[set] : in[set], received_by(r) * 8};
}
static void call(const row *r, int set)
{
    double *x = out[set], *y = in[set];
    int n = (int)r->count, block = n / ranks;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request started = MPI_REQUEST_NULL;
    switch (r->op) {
    case IBARRIER: MPI_Ibarrier(w, &started); break;
    case IBCAST: MPI_Ibcast(x, n, MPI_DOUBLE, 0, w, &started); break;
    case IALLREDUCE: MPI_Iallreduce(x, y, n, MPI_DOUBLE, MPI_SUM, w, &started); break;
    case IALLREDUCE_IN: MPI_Iallreduce(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, w, &started); break;
    case IALLGATHER: MPI_Iallgather(x, block, MPI_DOUBLE, y, block, MPI_DOUBLE, w, &started); break;
    case IALLTOALL: MPI_Ialltoall(x, block, MPI_DOUBLE, y, block, MPI_DOUBLE, w, &started); break;
    case MESSAGES: messages(x, y, r->count); break;
    case PING_PONG: ping_pong(x, y, r->count); break;
    case IALLREDUCE_PERSISTENT: persistent_start(r->op, r->count, set); break;
    case BARRIER: MPI_Barrier(w); break;
    case BCAST: MPI_Bcast(x, n, MPI_DOUBLE, 0, w); break;
    case REDUCE: MPI_Reduce(x, y, n, MPI_DOUBLE, MPI_SUM, 0, w); break;
    case REDUCE_IN: MPI_Reduce(rank ? y : MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, 0, w); break;
    case ALLREDUCE: MPI_Allreduce(x, y, n, MPI_DOUBLE, MPI_SUM, w); break;
    case ALLREDUCE_IN: MPI_Allreduce(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, w); break;
    case ALLGATHER: MPI_Allgather(x, block, MPI_DOUBLE, y, block, MPI_DOUBLE, w); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(x, y, block, MPI_DOUBLE, MPI_SUM, w); break;
    case ALLTOALL: MPI_Alltoall(x, block, MPI_DOUBLE, y, block, MPI_DOUBLE, w); break;
    case SCAN: MPI_Scan(x, y, n, MPI_DOUBLE, MPI_SUM, w); break;
    case SCAN_IN: MPI_Scan(MPI_IN_PLACE, y, n, MPI_DOUBLE, MPI_SUM, w); break;
    case SCATTER: MPI_Scatter(x, block, MPI_DOUBLE, y, block, MPI_DOUBLE, 0, w); break;
    case GATHER: MPI_Gather(x, block, MPI_DOUBLE, y, block, MPI_DOUBLE, 0, w); break;
    case NEIGHBOR: neighbors_cut(r->count); MPI_Neighbor_alltoallv(x, neighbor_counts, neighbor_starts, MPI_DOUBLE, y, neighbor_counts, neighbor_starts, MPI_DOUBLE, graph); break;
    case NEIGHBOR_PERSISTENT: persistent_start(r->op, r->count, set); break;
    case ALLGATHERV: count_blocks(block); MPI_Allgatherv(x, block, MPI_DOUBLE, y, counts, starts, MPI_DOUBLE, w); break;
    case REDUCE_SCATTERV: count_blocks(block); MPI_Reduce_scatter(x, y, counts, MPI_DOUBLE, MPI_SUM, w); break;
    case ALLTOALLV: count_blocks(block); MPI_Alltoallv(x, counts, starts, MPI_DOUBLE, y, counts, starts, MPI_DOUBLE, w); break;
    case SCATTERV: count_blocks(block); MPI_Scatterv(x, counts, starts, MPI_DOUBLE, y, block, MPI_DOUBLE, 0, w); break;
    case GATHERV: count_blocks(block); MPI_Gatherv(x, block, MPI_DOUBLE, y, counts, starts, MPI_DOUBLE, 0, w); break;
    }
    if (started != MPI_REQUEST_NULL) MPI_Wait(&started, MPI_STATUS_IGNORE);
}

/* the result at index i of n, where this rank has one; else -1 */
static double wanted(int op, size_t i, size_t n)
{
    double all = ranks * (ranks + 1) / 2.0;
    switch (even(op)) {
    case BCAST: case SCATTER: return 1;
    case REDUCE: case REDUCE_IN: return rank == 0 ? all : -1;
    case ALLREDUCE: case ALLREDUCE_IN: case REDUCE_SCATTER: return all;
    case SCAN: case SCAN_IN: return (rank + 1) * (rank + 2) / 2.0;
    case NEIGHBOR: case NEIGHBOR_PERSISTENT: case MESSAGES: return 1 + neighbors[i / (n / (size_t)degree)];
    case PING_PONG: return (rank ^ 1) < ranks ? 1 + (rank ^ 1) : -1;
    case GATHER: if (rank) return -1; /* fall through */
    case ALLGATHER: case ALLTOALL: return 1 + (double)(i / (n / (size_t)ranks));
    default: return -1;
    }
}
/* one call of each row, every element compared */
static void check(const row *r)
{
    size_t n = even(r->op) == SCATTER || even(r->op) == REDUCE_SCATTER ? r->count / (size_t)ranks : r->count;
    const double *got = even(r->op) == BCAST ? out[0] : in[0];
    memset(in[0], 0, r->count * 8);
    if (even(r->op) == BCAST) memset(out[0], 0, r->count * 8);
    rewrite(r, 0);
    call(r, 0);
    for (size_t i = 0; even(r->op) != BARRIER && i < n; i++) {
        double want = wanted(r->op, i, r->count);
        if (want >= 0 && got[i] != want) {
            fprintf(stderr, "# %s of %zu bytes is wrong at rank %d\n", r->name, r->bytes, rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ask_parse(argc, argv);
    if (ask.ranks != ranks) { fprintf(stderr, "# started with %d ranks, not %d\n", ranks, ask.ranks); MPI_Abort(MPI_COMM_WORLD, 2); }
    pin(rank);
    /* the gate's memory: of all ranks, and none of MPI's */
    char name[64];
    long id = getpid();
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/phalanx-peers-%ld", id);
    if (rank == 0) {
        int made = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
        if (made < 0 || ftruncate(made, sizeof(team))) { perror("# shm_open"); MPI_Abort(MPI_COMM_WORLD, 1); }
        close(made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int file = shm_open(name, O_RDWR, 0600);
    team *t = mmap(0, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) shm_unlink(name);
    if (file < 0 || t == MAP_FAILED) { perror("# mmap"); MPI_Abort(MPI_COMM_WORLD, 1); }

    size_t most = largest_size() + 8 * (size_t)ranks;
    for (int set = 0; set < MAX_SETS; set++) {
        size_t bytes = set ? 16384 : most;
        out[set] = memory(bytes);
        in[set] = memory(bytes);
    }
    static rows list;
    for (int op = 0; op < OPS; op++)
        for (int s = 0; s < (even(op) == BARRIER ? 1 : ask.n_sizes); s++) {
            if (!listed(ask.ops, op_name[op]) || (op == IALLREDUCE_PERSISTENT && MPI_VERSION < 4)) continue;
            size_t n = ask.sizes[s] / 8, p = (size_t)ranks;
            n = even(op) == BARRIER ? 0 : has_blocks(op) ? (n / p ? n / p : 1) * p : n ? n : 1;
            row_add(&list, (row){.op = op, .asked = even(op) == BARRIER ? 0 : ask.sizes[s], .count = n, .bytes = n * 8, .rewrite = rewrite, .call = call, .spans = spans}, op_name[op]);
        }
    neighbors_make();
    for (int op = NEIGHBOR; op < ALL_OPS && degree; op++)
        for (int s = 0; s < ask.n_sizes; s++) {
            if (!listed(ask.ops, neighbor_name[op - NEIGHBOR]) || (op == NEIGHBOR_PERSISTENT && MPI_VERSION < 4)) continue;
            size_t parts = op == PING_PONG ? 1 : (size_t)degree, n = ask.sizes[s] / 8 / parts;
            n = (n ? n : 1) * parts;
            row_add(&list, (row){.op = op, .asked = ask.sizes[s], .count = n, .bytes = n * 8, .rewrite = rewrite, .call = call, .spans = spans}, neighbor_name[op - NEIGHBOR]);
        }
    for (int i = 0; i < list.n; i++) check(&list.rows[i]);
    member m = team_join(t, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    peer_turns(&m, &list);
    MPI_Barrier(MPI_COMM_WORLD);
    persistent_free();
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
