/* Small calls of a rank alone, for interfaces/capi/tests/cost: `cost CASE CALLS`. */
#include <phalanx.h>

#include <stdlib.h>
#include <string.h>

static double x[2], y[2];
static const char *name;
static int calls;

/* Types with a body of their own, and others, whose calls all go one way. */
#define CASES(CASE)                                                                                \
    CASE("barrier-alone", barrier, phx_barrier(comm))                                              \
    CASE("all-reduce-8-alone", all_reduce, phx_all_reduce(comm, x, 1, PHX_F64, PHX_SUM))           \
    CASE("broadcast-8-alone", broadcast, phx_broadcast(comm, x, 1, PHX_F64, 0))                    \
    CASE("all-gather-8-alone", all_gather, phx_all_gather(comm, x, 1, y, PHX_F64))                 \
    CASE("all-reduce-8-u64", all_reduce_u64, phx_all_reduce(comm, x, 1, PHX_U64, PHX_SUM))         \
    CASE("broadcast-8-u64", broadcast_u64, phx_broadcast(comm, x, 1, PHX_U64, 0))                  \
    CASE("all-gather-8-u64", all_gather_u64, phx_all_gather(comm, x, 1, y, PHX_U64))

#define COUNTED(text, function, call)                                                              \
    __attribute__((noinline)) static phx_err counted_##function(phx_comm *comm) { return call; }
CASES(COUNTED)

static const struct {
    const char *name;
    phx_err (*call)(phx_comm *);
} cases[] = {
#define ROW(text, function, call) {text, counted_##function},
    CASES(ROW)
};

static void count(phx_comm *comm, void *argument) {
    size_t k = 0;
    (void)argument;
    while (k < sizeof cases / sizeof *cases && strcmp(name, cases[k].name) != 0)
        k++;
    if (k == sizeof cases / sizeof *cases)
        abort();
    for (int i = 0; i < calls; i++)
        if (cases[k].call(comm) != PHX_OK)
            abort();
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    name = argv[1];
    calls = atoi(argv[2]);
    return phx_run(1, count, NULL);
}
