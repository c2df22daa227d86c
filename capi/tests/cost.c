/* Small calls of a rank alone, for capi/tests/cost: `cost CASE CALLS`. */
#include <phalanx.h>

#include <stdlib.h>
#include <string.h>

static double x[2], y[2];
static const char *name;
static int calls;

__attribute__((noinline)) static phx_err counted_barrier(phx_comm *comm) { return phx_barrier(comm); }
__attribute__((noinline)) static phx_err counted_all_reduce(phx_comm *comm) {
    return phx_all_reduce(comm, x, 1, PHX_F64, PHX_SUM);
}
__attribute__((noinline)) static phx_err counted_broadcast(phx_comm *comm) {
    return phx_broadcast(comm, x, 1, PHX_F64, 0);
}
__attribute__((noinline)) static phx_err counted_all_gather(phx_comm *comm) {
    return phx_all_gather(comm, x, 1, y, PHX_F64);
}

static void count(phx_comm *comm, void *argument) {
    phx_err (*call)(phx_comm *) = strcmp(name, "barrier-alone") == 0        ? counted_barrier
                                  : strcmp(name, "all-reduce-8-alone") == 0 ? counted_all_reduce
                                  : strcmp(name, "broadcast-8-alone") == 0  ? counted_broadcast
                                                                            : counted_all_gather;
    (void)argument;
    for (int k = 0; k < calls; k++)
        if (call(comm) != PHX_OK)
            abort();
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    name = argv[1];
    calls = atoi(argv[2]);
    return phx_run(1, count, NULL);
}
