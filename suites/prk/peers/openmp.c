/* The Parallel Research Kernels in OpenMP: one parallel region a kernel, its threads' parts in
 * shared arrays. See prk.h. */
#include "prk.h"
#include <omp.h>

/* The clock starts when all threads have done the iteration for nothing, and stops when all have
 * ended; every thread of a parallel region comes by here. */
static void start(double *seconds)
{
#pragma omp barrier
#pragma omp master
    *seconds = -omp_get_wtime();
}
static void stop(double *seconds)
{
#pragma omp barrier
#pragma omp master
    *seconds += omp_get_wtime();
}

static outcome stencil(int p, long iterations, long n, int radius)
{
    double *in = memory(sizeof *in * (size_t)(n * n)), *out = memory(sizeof *out * (size_t)(n * n));
    double seconds = 0, sum = 0;
#pragma omp parallel num_threads(p) reduction(+ : sum)
    {
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) in[i * n + j] = i + j, out[i * n + j] = 0;
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
#pragma omp for schedule(static)
            for (long i = radius; i < n - radius; i++)
                add_star(radius, in + i * n + radius, out + i * n + radius, n - 2 * radius, n);
#pragma omp for schedule(static)
            for (long i = 0; i < n; i++)
                for (long j = 0; j < n; j++) in[i * n + j] += 1;
        }
        stop(&seconds);
#pragma omp for schedule(static)
        for (long i = radius; i < n - radius; i++)
            for (long j = radius; j < n - radius; j++) sum += fabs(out[i * n + j]);
    }
    return absolute(seconds, sum * 2 / star_flop(n, radius), 2.0 * (double)(iterations + 1));
}

static outcome transpose(int p, long iterations, long n, long tile)
{
    double *a = memory(sizeof *a * (size_t)(n * n)), *b = memory(sizeof *b * (size_t)(n * n));
    double seconds = 0, error = 0;
#pragma omp parallel num_threads(p) reduction(+ : error)
    {
        range own = part(n, omp_get_thread_num(), p);
        for (long at = own.first * n; at < own.end * n; at++) a[at] = at, b[at] = 0;
#pragma omp barrier
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
            add_transposed(a + own.first, n, b + own.first * n, n, n, own.end - own.first, tile);
#pragma omp barrier
            for (long at = own.first * n; at < own.end * n; at++) a[at] += 1;
#pragma omp barrier
        }
        stop(&seconds);
        error += transpose_error(b + own.first * n, n, own, iterations);
    }
    return absolute(seconds, error, 0);
}

/* A thread's last finished row, counted over all iterations; and the one number it shows. */
typedef struct { _Alignas(128) long rows; } progress;

static void await(progress *of, long rows)
{
    for (;;) {
        long now;
#pragma omp atomic read acquire
        now = of->rows;
        if (now >= rows) return;
        __builtin_ia32_pause();
    }
}
static void show(progress *mine, long rows)
{
#pragma omp atomic write release
    mine->rows = rows;
}

static outcome synch_p2p(int p, long iterations, long m, long n, long group)
{
    double *parts[1024], seconds = 0;
    range of[1024];
    progress *at = memory(sizeof *at * (size_t)p);
    memset(at, 0, sizeof *at * (size_t)p);
#pragma omp parallel num_threads(p)
    {
        int rank = omp_get_thread_num();
        range own = of[rank] = part(m, rank, p);
        long width = own.end - own.first;
        double *a = parts[rank] = memory(sizeof *a * (size_t)(n * width));
        edges(a, n, own);
#pragma omp barrier
        const double *left = rank ? parts[rank - 1] : 0;
        long stride = rank ? of[rank - 1].end - of[rank - 1].first : 0, first = !rank;
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
            long before = t * n;
            for (long begin = 1; begin < n; begin += group) {
                long end = begin + group < n ? begin + group : n;
                if (rank) await(&at[rank - 1], before + end);
                for (long j = begin; j < end; j++) {
                    double *row = a + j * width, *above = row - width;
                    double west = rank ? left[(j + 1) * stride - 1] : row[0], corner = rank ? left[j * stride - 1] : above[0];
                    sweep(above + first, row + first, width - first, west, corner);
                }
                show(&at[rank], before + end);
            }
            /* The corner makes the next iteration depend on this one. */
            if (!rank) {
                await(&at[p - 1], before + n);
                a[0] = -parts[p - 1][n * (of[p - 1].end - of[p - 1].first) - 1];
            }
        }
        stop(&seconds);
    }
    double corner = parts[p - 1][n * (of[p - 1].end - of[p - 1].first) - 1];
    return relative(seconds, corner, (double)(iterations + 1) * (double)(m + n - 2));
}

static outcome nstream(int p, long iterations, long length)
{
    double *a = memory(sizeof *a * (size_t)length), *b = memory(sizeof *b * (size_t)length), *c = memory(sizeof *c * (size_t)length);
    double seconds = 0, sum = 0;
#pragma omp parallel num_threads(p) reduction(+ : sum)
    {
#pragma omp for schedule(static)
        for (long i = 0; i < length; i++) a[i] = 0, b[i] = c[i] = 2;
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
#pragma omp for schedule(static)
            for (long i = 0; i < length; i++) a[i] += b[i] + 3 * c[i];
        }
        stop(&seconds);
#pragma omp for schedule(static)
        for (long i = 0; i < length; i++) sum += a[i];
    }
    return relative(seconds, sum, 8.0 * (double)(iterations + 1) * (double)length);
}

/* Each thread its own sum, then a piece of all threads' sums: PRK's "long-optimal", without its
 * copy to thread 0, since the result is shared. */
static outcome reduce(int p, long iterations, long length, long block)
{
    double *first[1024], *second[1024], *sum[1024], seconds = 0, worst = 0, expected = (double)p * (2 * p + 1);
#pragma omp parallel num_threads(p)
    {
        int rank = omp_get_thread_num();
        double *u = first[rank] = memory(sizeof *u * (size_t)length), *v = second[rank] = memory(sizeof *v * (size_t)length);
        double *restrict s = sum[rank] = memory(sizeof *s * (size_t)length);
        for (long i = 0; i < length; i++) u[i] = rank + 1, v[i] = rank + 1 + p, s[i] = 0;
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
            for (long begin = 0; begin < length; begin += block) {
                long size = begin + block < length ? block : length - begin;
                for (long i = begin; i < begin + size; i++) s[i] = u[i] + v[i];
#pragma omp barrier
                range own = part(size, rank, p);
                for (int other = 1; other < p; other++) {
                    double *restrict all = sum[0] + begin;
                    const double *restrict theirs = sum[other] + begin;
                    for (long i = own.first; i < own.end; i++) all[i] += theirs[i];
                }
            }
            /* The next iteration writes what others may still read. */
#pragma omp barrier
        }
        stop(&seconds);
    }
    for (long i = 0; i < length; i++) worst = fmax(worst, fabs(sum[0][i] - expected));
    return absolute(seconds, expected + worst, expected);
}

static outcome sparse(int p, long iterations, int log_side, int radius)
{
    long n = 1L << 2 * log_side;
    double *x = memory(sizeof *x * (size_t)n), seconds = 0, sum = 0;
#pragma omp parallel num_threads(p) reduction(+ : sum)
    {
        range own = part(n, omp_get_thread_num(), p);
        long rows = own.end - own.first;
        sparse_rows matrix = star_matrix(log_side, radius, own);
        double *y = memory(sizeof *y * (size_t)rows);
        for (long i = 0; i < rows; i++) y[i] = x[own.first + i] = 0;
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
            for (long row = own.first; row < own.end; row++) x[row] += row + 1;
#pragma omp barrier
            add_product(matrix, rows, x, y);
#pragma omp barrier
        }
        stop(&seconds);
        for (long i = 0; i < rows; i++) sum += y[i];
    }
    double all = iterations + 1;
    return relative(seconds, sum, (double)(4 * radius + 1) * (double)n * all * (all + 1) / 2);
}

/* By turns on two strings, so that one barrier an iteration is enough. */
static outcome synch_global(int p, long iterations, long length)
{
    char *whole[2] = {memory((size_t)length), memory((size_t)length)};
    double seconds = 0, before = 0, after = 0;
#pragma omp parallel num_threads(p) reduction(+ : before, after)
    {
        int rank = omp_get_thread_num();
        range own = part(length, rank, p);
        long count = own.end - own.first;
        char *mine = memory((size_t)count);
        letters(mine, count, rank);
        before += digits(mine, count);
        for (long t = 0; t <= iterations; t++) {
            if (t == 1) start(&seconds);
            char *all = whole[t % 2];
            memcpy(all + own.first, mine, (size_t)count);
#pragma omp barrier
            take(all + rank, mine, count, p);
        }
        stop(&seconds);
        after += digits(mine, count);
    }
    return (outcome){seconds, after, before, 0};
}

int main(int argc, char **argv)
{
    omp_set_dynamic(0);
    tell(called(argc, argv));
    return 0;
}
