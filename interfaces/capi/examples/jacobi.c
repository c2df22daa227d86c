/* Laplace's equation on a line by Jacobi's method, one end held at 1: each rank has a part, and its
 * halo comes from its neighbours. Any number of ranks has the same bits. */
#include <phalanx.h>
#include <stdio.h>
#include <string.h>

enum { N = 60, STEPS = 500 };

static void relax(phx_comm *comm, void *result) {
    size_t n = N / (size_t)phx_size(comm), first = (size_t)phx_rank(comm) * n;
    double u[N + 2] = {0}, v[N + 2];
    int extents[1] = {0}, periodic[1] = {0};
    phx_cart *line;
    PHX_CHECK_VOID(phx_cart(comm, 1, extents, periodic, &line));
    for (int step = 0; step < STEPS; step++) {
        PHX_CHECK_VOID(phx_exchange_halo(line, u, PHX_F64, &n, 1, 0));
        if (first == 0) u[0] = 1;
        for (size_t i = 1; i <= n; i++) v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        memcpy(u + 1, v + 1, n * sizeof *u);
    }
    /* Ranks are threads: each writes its part of the array that they share. */
    memcpy((double *)result + first, u + 1, n * sizeof *u);
    PHX_CHECK_VOID(phx_cart_free(line));
}

int main(void) {
    double alone[N], all[N];
    for (int ranks = 1; ranks <= 4; ranks++) {
        if (phx_run(ranks, relax, ranks == 1 ? alone : all) != PHX_OK) {
            char text[1000];
            phx_last_error(text, sizeof text);
            return fprintf(stderr, "%s\n", text), 1;
        }
        if (ranks > 1 && memcmp(alone, all, sizeof all)) return 2;
    }
    printf("in the middle %g, with 1 to 4 ranks\n", alone[N / 2]);
    return 0;
}
