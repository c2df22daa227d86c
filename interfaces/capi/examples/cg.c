/* Conjugate gradients for -u'' = f on OpenMP's threads: each thread is a rank, with its part of the
 * vectors and of the rows.
 *     cc -std=c11 -fopenmp cg.c $(pkg-config --cflags --libs phalanx) -lm
 */
#include <phalanx.h>

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2000 };

/* y = A x for the rank's rows [from, to); what it needs of its neighbours' parts comes by
 * messages. x has a ghost before and one behind. */
static phx_err multiply(phx_comm *comm, double *x, double *y, size_t n) {
    int rank = phx_rank(comm), last = phx_size(comm) - 1;
    x[0] = x[n + 1] = 0;
    /* To the right, then to the left. */
    if (rank > 0 && rank < last) {
        PHX_CHECK(phx_exchange(comm, x + n, 1, rank + 1, x, 1, rank - 1, PHX_F64));
        PHX_CHECK(phx_exchange(comm, x + 1, 1, rank - 1, x + n + 1, 1, rank + 1, PHX_F64));
    } else if (rank < last) {
        PHX_CHECK(phx_send(comm, x + n, 1, PHX_F64, rank + 1));
        PHX_CHECK(phx_recv(comm, x + n + 1, 1, PHX_F64, rank + 1));
    } else if (rank > 0) {
        PHX_CHECK(phx_recv(comm, x, 1, PHX_F64, rank - 1));
        PHX_CHECK(phx_send(comm, x + 1, 1, PHX_F64, rank - 1));
    }
    for (size_t i = 1; i <= n; i++)
        y[i] = 2 * x[i] - x[i - 1] - x[i + 1];
    return PHX_OK;
}

static phx_err solve(phx_comm *comm, int *iterations, double *error) {
    size_t rank = (size_t)phx_rank(comm), p = (size_t)phx_size(comm);
    size_t from = N * rank / p, n = N * (rank + 1) / p - from;
    double *memory = calloc(4 * (n + 2), sizeof *memory);
    if (memory == NULL)
        return phx_fail(comm, "no memory");
    double *u = memory, *r = u + n + 2, *d = r + n + 2, *q = d + n + 2;
    double h = 1.0 / (N + 1), rho, first, alpha, dq;
    phx_err code = PHX_OK;
    for (size_t i = 1; i <= n; i++)
        d[i] = r[i] = h * h;
    code = phx_fixed_dot(comm, r + 1, r + 1, n, from, &rho);
    first = rho;
    for (*iterations = 0; code == PHX_OK && rho > 1e-24 * first; ++*iterations) {
        double before = rho;
        if ((code = multiply(comm, d, q, n)) != PHX_OK)
            break;
        if ((code = phx_fixed_dot(comm, d + 1, q + 1, n, from, &dq)) != PHX_OK)
            break;
        alpha = rho / dq;
        for (size_t i = 1; i <= n; i++) {
            u[i] += alpha * d[i];
            r[i] -= alpha * q[i];
        }
        if ((code = phx_fixed_dot(comm, r + 1, r + 1, n, from, &rho)) != PHX_OK)
            break;
        for (size_t i = 1; i <= n; i++)
            d[i] = r[i] + rho / before * d[i];
    }
    *error = 0;
    for (size_t i = 1; i <= n; i++) {
        double x = (double)(from + i) * h;
        *error = fmax(*error, fabs(u[i] - x * (1 - x) / 2));
    }
    free(memory);
    if (code != PHX_OK)
        return code;
    return phx_all_reduce(comm, error, 1, PHX_F64, PHX_MAX);
}

int main(void) {
    int wanted = -1, bad = 0;
    for (int p = 1; p <= 4; p++) {
        phx_comm *comms[4];
        int iterations = 0;
        double worst = 0;
        if (phx_external(p, NULL, comms) != PHX_OK)
            return 1;
        omp_set_dynamic(0);
#pragma omp parallel num_threads(p)
        {
            phx_comm *comm = comms[omp_get_thread_num()];
            int mine;
            double error;
            phx_err code = solve(comm, &mine, &error);
            if (code != PHX_OK) {
                char text[500];
                phx_last_error(text, sizeof text);
                fprintf(stderr, "rank %d: %s\n", phx_rank(comm), text);
#pragma omp atomic
                bad++;
            } else if (phx_rank(comm) == 0) {
                iterations = mine;
                worst = error;
            }
            phx_comm_free(comm);
        }
        printf("%d threads: %d iterations, error %.1e\n", p, iterations, worst);
        if (wanted < 0)
            wanted = iterations;
        /* The dot products have the same bits for any number of ranks, and so have the steps. */
        if (iterations != wanted || worst > 1e-9)
            bad++;
    }
    return bad != 0;
}
