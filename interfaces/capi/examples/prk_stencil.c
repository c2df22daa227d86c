/* The stencil of the Parallel Research Kernels: a star of radius 2 on an n x n grid, in blocks on a
 * grid of ranks. Each iteration fetches the halo, adds the star's sum to `out`, and 1 to `in`.
 *     prk_stencil [RANKS [N [ITERATIONS]]] */
#include <phalanx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { R = 2 };

typedef struct {
    size_t n;
    int iterations;
    double seconds, norm;
} problem;

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The points of part `at` of `parts`: the first parts have one more where n does not divide. */
static size_t first_of(size_t n, int parts, int at) {
    size_t each = n / (size_t)parts, more = n % (size_t)parts, k = (size_t)at;
    return k * each + (k < more ? k : more);
}

static phx_err star(phx_comm *comm, problem *it) {
    int extents[2] = {0, 0}, periodic[2] = {0, 0}, at[2];
    size_t first[2], own[2], n = it->n;
    phx_cart *cart;
    PHX_CHECK(phx_cart(comm, 2, extents, periodic, &cart));
    PHX_CHECK(phx_cart_extents(cart, extents));
    PHX_CHECK(phx_cart_coordinates(cart, -1, at));
    for (int d = 0; d < 2; d++) {
        first[d] = first_of(n, extents[d], at[d]);
        own[d] = first_of(n, extents[d], at[d] + 1) - first[d];
        if (n / (size_t)extents[d] < R)
            return phx_fail(comm, "a block is smaller than the star");
    }
    size_t stride = own[1] + 2 * R, cells = (own[0] + 2 * R) * stride;
    double *in = calloc(cells, sizeof *in), *out = calloc(cells, sizeof *out);
    double weight[R + 1], start = 0, sums[2] = {0, 0};
    if (!in || !out) {
        free(in);
        free(out);
        return phx_fail(comm, "no memory");
    }
    for (int k = 1; k <= R; k++)
        weight[k] = 1.0 / (2.0 * k * R);
    for (size_t i = 0; i < own[0]; i++)
        for (size_t j = 0; j < own[1]; j++)
            in[(i + R) * stride + j + R] = (double)(first[0] + i + first[1] + j);
    phx_err code = PHX_OK;
    for (int iteration = 0; iteration <= it->iterations && code == PHX_OK; iteration++) {
        if (iteration == 1) {
            code = phx_barrier(comm);
            start = now();
        }
        if (code == PHX_OK)
            code = phx_exchange_halo(cart, in, PHX_F64, own, R, 0);
        for (size_t i = 0; i < own[0] && code == PHX_OK; i++) {
            if (first[0] + i < R || first[0] + i >= n - R)
                continue;
            for (size_t j = 0; j < own[1]; j++) {
                if (first[1] + j < R || first[1] + j >= n - R)
                    continue;
                const double *x = in + (i + R) * stride + j + R;
                double sum = 0;
                for (size_t k = 1; k <= R; k++)
                    sum += weight[k] * (x[k * stride] - x[-(ptrdiff_t)(k * stride)] + x[k] -
                                        x[-(ptrdiff_t)k]);
                out[(i + R) * stride + j + R] += sum;
            }
        }
        for (size_t i = 0; i < own[0]; i++)
            for (size_t j = 0; j < own[1]; j++)
                in[(i + R) * stride + j + R] += 1;
    }
    for (size_t k = 0; k < cells; k++)
        sums[0] += fabs(out[k]);
    sums[1] = now() - start;
    free(in);
    free(out);
    PHX_CHECK(code);
    PHX_CHECK(phx_all_reduce(comm, &sums[0], 1, PHX_F64, PHX_SUM));
    PHX_CHECK(phx_all_reduce(comm, &sums[1], 1, PHX_F64, PHX_MAX));
    if (phx_rank(comm) == 0) {
        it->norm = sums[0] / ((double)(n - 2 * R) * (double)(n - 2 * R));
        it->seconds = sums[1];
    }
    return phx_cart_free(cart);
}

static void rank(phx_comm *comm, void *argument) { star(comm, argument); }

int main(int argc, char **argv) {
    int ranks = argc > 1 ? atoi(argv[1]) : 4;
    problem it = {argc > 2 ? (size_t)atol(argv[2]) : 300, argc > 3 ? atoi(argv[3]) : 20, 0, 0};
    if (it.n <= 2 * R || it.iterations < 1)
        return 2;
    if (phx_run(ranks, rank, &it) != PHX_OK) {
        char text[600];
        phx_last_error(text, sizeof text);
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    /* The star is the derivative of i + j in both directions. */
    double wanted = 2.0 * (it.iterations + 1), side = (double)(it.n - 2 * R);
    double flops = side * side * (2 * (4 * R + 1) + 1) * it.iterations;
    int good = fabs(it.norm - wanted) < 1e-8;
    printf("prk stencil %zu, %d ranks: norm %.12g, %s; %.0f MFlop/s\n", it.n, ranks, it.norm,
           good ? "validates" : "WRONG", flops / it.seconds / 1e6);
    return !good;
}
