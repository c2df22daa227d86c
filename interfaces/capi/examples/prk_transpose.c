/* The transpose of the Parallel Research Kernels: `B += A'`, then `A += 1`, the matrices of order n
 * in blocks of columns. Each rank reads what it needs from the columns of all others, where they
 * are; all have read before A changes.
 *     prk_transpose [RANKS [N [ITERATIONS]]] */
#include <phalanx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    size_t n;
    int iterations;
    double seconds, error;
} problem;

/* A rank's columns, column by column. */
typedef struct {
    size_t n, first, columns;
    double *a, *b;
} block;

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t first_of(size_t n, int parts, int at) {
    size_t each = n / (size_t)parts, more = n % (size_t)parts, k = (size_t)at;
    return k * each + (k < more ? k : more);
}

/* B of mine += the transpose of A of all, in tiles. */
static void add_transposed(const phx_part *parts, int ranks, void *argument) {
    enum { TILE = 32 };
    const block *own = argument;
    size_t n = own->n;
    for (int r = 0; r < ranks; r++) {
        size_t first = first_of(n, ranks, r), end = first_of(n, ranks, r + 1);
        const double *a = parts[r].data;
        for (size_t i0 = first; i0 < end; i0 += TILE)
            for (size_t j0 = 0; j0 < own->columns; j0 += TILE)
                for (size_t j = j0; j < own->columns && j < j0 + TILE; j++)
                    for (size_t i = i0; i < end && i < i0 + TILE; i++)
                        own->b[j * n + i] += a[(i - first) * n + own->first + j];
    }
}

static phx_err transpose(phx_comm *comm, problem *it) {
    int r = phx_rank(comm), p = phx_size(comm);
    size_t n = it->n, first = first_of(n, p, r), columns = first_of(n, p, r + 1) - first;
    size_t cells = columns * n;
    block own = {n, first, columns, calloc(cells + 1, 8), calloc(cells + 1, 8)};
    double start = 0, result[2] = {0, 0}, t = it->iterations + 1;
    phx_err code = PHX_OK;
    if (!own.a || !own.b)
        code = phx_fail(comm, "no memory");
    for (size_t k = 0; k < cells && code == PHX_OK; k++)
        own.a[k] = (double)(first * n + k);
    for (int iteration = 0; iteration <= it->iterations && code == PHX_OK; iteration++) {
        if (iteration == 1) {
            code = phx_barrier(comm);
            start = now();
        }
        if (code == PHX_OK)
            code = phx_with_peers(comm, own.a, cells, PHX_F64, add_transposed, &own);
        for (size_t k = 0; k < cells && code == PHX_OK; k++)
            own.a[k] += 1;
    }
    result[1] = now() - start;
    for (size_t k = 0; k < cells && code == PHX_OK; k++) {
        double at = (double)(k % n * n + first + k / n);
        result[0] += fabs(own.b[k] - (at * t + t * (t - 1) / 2));
    }
    free(own.a);
    free(own.b);
    PHX_CHECK(code);
    PHX_CHECK(phx_all_reduce(comm, &result[0], 1, PHX_F64, PHX_SUM));
    PHX_CHECK(phx_all_reduce(comm, &result[1], 1, PHX_F64, PHX_MAX));
    if (r == 0) {
        it->error = result[0];
        it->seconds = result[1];
    }
    return PHX_OK;
}

static void rank(phx_comm *comm, void *argument) { transpose(comm, argument); }

int main(int argc, char **argv) {
    int ranks = argc > 1 ? atoi(argv[1]) : 4;
    problem it = {argc > 2 ? (size_t)atol(argv[2]) : 400, argc > 3 ? atoi(argv[3]) : 10, 0, 1};
    if (it.n < 1 || it.iterations < 1)
        return 2;
    if (phx_run(ranks, rank, &it) != PHX_OK) {
        char text[600];
        phx_last_error(text, sizeof text);
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    double bytes = 16.0 * (double)(it.n * it.n) * it.iterations;
    int good = it.error < 1e-8;
    printf("prk transpose %zu, %d ranks: error %.3g, %s; %.0f MB/s\n", it.n, ranks, it.error,
           good ? "validates" : "WRONG", bytes / it.seconds / 1e6);
    return !good;
}
