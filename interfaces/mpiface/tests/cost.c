/* Calls of 8 bytes between two ranks, for `cost`: `cost CALL N` makes N of which rank 0's stand in a
 * function of their own, after 20 that do not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define W MPI_COMM_WORLD
#define D MPI_DOUBLE
#define ANY MPI_STATUS_IGNORE

static double a[2], b[2];
static int counts[2] = {1, 1}, starts[2] = {0, 1};

#define CALLS \
    X(bcast, MPI_Bcast(a, 1, D, 0, W)) \
    X(reduce, MPI_Reduce(a, b, 1, D, MPI_SUM, 0, W)) \
    X(allreduce, MPI_Allreduce(a, b, 1, D, MPI_SUM, W)) \
    X(scan, MPI_Scan(a, b, 1, D, MPI_SUM, W)) \
    X(reduce_scatter, MPI_Reduce_scatter_block(a, b, 1, D, MPI_SUM, W)) \
    X(gather, MPI_Gather(a, 1, D, b, 1, D, 0, W)) \
    X(scatter, MPI_Scatter(a, 1, D, b, 1, D, 0, W)) \
    X(allgather, MPI_Allgather(a, 1, D, b, 1, D, W)) \
    X(alltoall, MPI_Alltoall(a, 1, D, b, 1, D, W)) \
    X(gatherv, MPI_Gatherv(a, 1, D, b, counts, starts, D, 0, W)) \
    X(scatterv, MPI_Scatterv(a, counts, starts, D, b, 1, D, 0, W)) \
    X(allgatherv, MPI_Allgatherv(a, 1, D, b, counts, starts, D, W)) \
    X(alltoallv, MPI_Alltoallv(a, counts, starts, D, b, counts, starts, D, W)) \
    X(send, me ? MPI_Recv(b, 1, D, 0, 0, W, ANY) : MPI_Send(a, 1, D, 1, 0, W)) \
    X(recv, me ? MPI_Send(a, 1, D, 0, 0, W) : MPI_Recv(b, 1, D, 1, 0, W, ANY))

#define X(name, call) \
    __attribute__((noinline)) static void counted_##name(int me) { (void)me, call; } \
    __attribute__((noinline)) static void other_##name(int me) { \
        (void)me, call; \
        __asm__ volatile(""); \
    }
CALLS
#undef X

static const struct {
    const char *name;
    void (*counted)(int), (*other)(int);
} calls[] = {
#define X(name, call) {#name, counted_##name, other_##name},
    CALLS
};

int main(int argc, char **argv) {
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &me);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (argc < 3) {
            if (!me) puts(calls[i].name);
            continue;
        }
        if (strcmp(argv[1], calls[i].name)) continue;
        for (int k = 0; k < 20; k++) calls[i].other(me);
        MPI_Barrier(W);
        for (int k = 0; k < atoi(argv[2]); k++) {
            if (!me) usleep(3000); /* the other rank is in the call before */
            (me ? calls[i].other : calls[i].counted)(me);
        }
        MPI_Barrier(W);
    }
    return MPI_Finalize();
}
