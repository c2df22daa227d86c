/* What the OpenMP and the MPI version of the Parallel Research Kernels have in common: the
 * arithmetic, which is also that of the Rust example, so that what differs is how threads,
 * processes and ranks meet.
 *
 * usage: PROGRAM P ITERATIONS KERNEL SIZE..   (`prk ... --peer openmp,mpi` calls it)
 * prints: seconds, what was found, what it should be, how far it may be off.
 * The first iteration is not timed. */
#ifndef PRK_H
#define PRK_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double seconds, found, expected, within; } outcome;
typedef struct { long first, end; } range;

/* part k of n things in p parts, as even as can be, the longer ones first */
static range part(long n, long k, long p)
{
    long first = k * (n / p) + (k < n % p ? k : n % p);
    return (range){first, first + n / p + (k < n % p)};
}
static void *memory(size_t bytes)
{
    void *m = aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
    if (!m) { fprintf(stderr, "no memory for %zu bytes\n", bytes); exit(1); }
    return m;
}
static outcome relative(double seconds, double found, double expected)
{
    return (outcome){seconds, found, expected, 1e-8 * fabs(expected)};
}
static outcome absolute(double seconds, double found, double expected)
{
    return (outcome){seconds, found, expected, 1e-8};
}

/* Stencil: adds the star's sums around n points to out. */
static inline __attribute__((always_inline)) void add_row(const int r, const double *restrict in, double *restrict out, long n, long stride)
{
    for (long j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 1; i <= r; i++)
            sum += 1.0 / (2 * i * r) * (in[j + i] - in[j - i] + (in[j + i * stride] - in[j - i * stride]));
        out[j] += sum;
    }
}
static void add_star(int radius, const double *in, double *out, long n, long stride)
{
    switch (radius) {
    case 1: add_row(1, in, out, n, stride); break;
    case 2: add_row(2, in, out, n, stride); break;
    case 3: add_row(3, in, out, n, stride); break;
    default: add_row(4, in, out, n, stride);
    }
}
static double star_flop(long n, int radius) { return 2.0 * (n - 2 * radius) * (n - 2 * radius); }

/* Transpose: to[r * to_stride + c] += from[c * from_stride + r] for c < width, r < height. */
static void add_transposed(const double *restrict from, long from_stride, double *restrict to, long to_stride, long width, long height, long tile)
{
    for (long c0 = 0; c0 < width; c0 += tile)
        for (long r0 = 0; r0 < height; r0 += tile) {
            long c_end = c0 + tile < width ? c0 + tile : width, r_end = r0 + tile < height ? r0 + tile : height;
            for (long c = c0; c < c_end; c += 8)
                for (long r = r0; r < r_end; r += 8) {
                    const double *f = from + c * from_stride + r;
                    double *t = to + r * to_stride + c;
                    if (c + 8 <= c_end && r + 8 <= r_end) {
                        double block[8][8];
                        for (int i = 0; i < 8; i++) memcpy(block[i], f + i * from_stride, sizeof block[i]);
                        for (int k = 0; k < 8; k++)
                            for (int i = 0; i < 8; i++) t[k * to_stride + i] += block[i][k];
                        continue;
                    }
                    for (long i = 0; i < 8 && c + i < c_end; i++)
                        for (long k = 0; k < 8 && r + k < r_end; k++) t[k * to_stride + i] += f[i * from_stride + k];
                }
        }
}
/* The sum of errors of columns `own` of B, n long, after iterations 0..=last. */
static double transpose_error(const double *b, long n, range own, long last)
{
    double sum = 0, t = last + 1;
    for (long j = own.first; j < own.end; j++)
        for (long i = 0; i < n; i++) sum += fabs(b[(j - own.first) * n + i] - ((double)(i * n + j) * t + t * (t - 1) / 2));
    return sum;
}

/* Synch_p2p: row[i] = row[i - 1] + (above[i] - above[i - 1]); the last one. Sixteen at a time,
 * as prefix sums of fours. */
typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t places __attribute__((vector_size(32)));

static double sweep(const double *restrict above, double *restrict row, long n, double west, double corner)
{
    const four zero = {0};
    double left = row[0] = west + (above[0] - corner);
    four l = {left, left, left, left};
    long i = 1;
    for (; i + 16 <= n; i += 16) {
        four s[4], total[4];
        for (int q = 0; q < 4; q++) {
            four d = *(const four *)(above + i + 4 * q) - *(const four *)(above + i + 4 * q - 1);
            four pairs = d + __builtin_shuffle(zero, d, (places){0, 4, 2, 6}), ends = __builtin_shuffle(pairs, (places){1, 1, 3, 3});
            s[q] = pairs + __builtin_shuffle(zero, ends, (places){0, 1, 4, 5});
            total[q] = ends + __builtin_shuffle(ends, (places){2, 3, 0, 1});
        }
        four two = total[0] + total[1];
        *(four *)(row + i) = l + s[0];
        *(four *)(row + i + 4) = (l + total[0]) + s[1];
        *(four *)(row + i + 8) = (l + two) + s[2];
        *(four *)(row + i + 12) = (l + (two + total[2])) + s[3];
        l += two + (total[2] + total[3]);
    }
    left = l[0];
    for (; i < n; i++) left = row[i] = left + (above[i] - above[i - 1]);
    return left;
}
/* The columns `own` of the m x n matrix, row by row, at the start. */
static void edges(double *a, long n, range own)
{
    long width = own.end - own.first;
    memset(a, 0, sizeof *a * (size_t)(n * width));
    for (long i = 0; i < width; i++) a[i] = own.first + i;
    for (long j = 0; own.first == 0 && j < n; j++) a[j * width] = j;
}

/* Sparse: rows `own` of the star on a periodic square, columns in bit-reversed order. */
typedef struct { uint32_t *column; double *value; long width; } sparse_rows;

static uint32_t bits_reversed(uint32_t x, int bits)
{
    uint32_t y = 0;
    for (int i = 0; i < bits; i++) y |= (x >> i & 1) << (bits - 1 - i);
    return y;
}
static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
static sparse_rows star_matrix(int log_side, int radius, range own)
{
    long n = 1L << log_side, width = 4 * radius + 1, rows = own.end - own.first;
    sparse_rows m = {memory(sizeof(uint32_t) * (size_t)(rows * width)), memory(sizeof(double) * (size_t)(rows * width)), width};
    for (long row = own.first; row < own.end; row++) {
        long i = row % n, j = row / n;
        uint32_t *to = m.column + (row - own.first) * width;
        double *value = m.value + (row - own.first) * width;
        *to++ = bits_reversed((uint32_t)row, 2 * log_side);
        for (long k = 1; k <= radius; k++) {
            *to++ = bits_reversed((uint32_t)((i + k) % n + j * n), 2 * log_side);
            *to++ = bits_reversed((uint32_t)((i + n - k) % n + j * n), 2 * log_side);
            *to++ = bits_reversed((uint32_t)(i + (j + k) % n * n), 2 * log_side);
            *to++ = bits_reversed((uint32_t)(i + (j + n - k) % n * n), 2 * log_side);
        }
        to -= width;
        qsort(to, (size_t)width, sizeof *to, ascending);
        for (long k = 0; k < width; k++) value[k] = 1.0 / (to[k] + 1);
    }
    return m;
}
static void add_product(sparse_rows m, long rows, const double *restrict x, double *restrict y)
{
    for (long i = 0; i < rows; i++) {
        const uint32_t *column = m.column + i * m.width;
        const double *value = m.value + i * m.width;
        double sum = 0;
        for (long k = 0; k < m.width; k++) sum += value[k] * x[column[k]];
        y[i] += sum;
    }
}

/* Synch_global: rank's letters at the start. */
static void letters(char *mine, long n, long rank)
{
    for (long i = 0; i < n; i++) mine[i] = (char)('0' + (i * 27 + rank) % 10);
}
/* Every p-th letter; for two with vectors. */
static void take(const char *restrict all, char *restrict mine, long n, int p)
{
    if (p == 2) for (long i = 0; i < n; i++) mine[i] = all[2 * i];
    else for (long i = 0; i < n; i++) mine[i] = all[p * i];
}
static double digits(const char *mine, long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++) sum += mine[i] - '0';
    return (double)sum;
}

/* ---- the two programs' part ---- */
static outcome stencil(int p, long iterations, long n, int radius);
static outcome transpose(int p, long iterations, long n, long tile);
static outcome synch_p2p(int p, long iterations, long m, long n, long group);
static outcome nstream(int p, long iterations, long length);
static outcome reduce(int p, long iterations, long length, long block);
static outcome sparse(int p, long iterations, int log_side, int radius);
static outcome synch_global(int p, long iterations, long length);

static outcome called(int argc, char **argv)
{
    long size[3] = {0};
    for (int i = 4; i < argc && i < 7; i++) size[i - 4] = atol(argv[i]);
    int p = argc > 4 ? atoi(argv[1]) : 0;
    long iterations = p > 0 ? atol(argv[2]) : 0;
    const char *name = iterations > 0 ? argv[3] : "";
    if (!strcmp(name, "stencil")) return stencil(p, iterations, size[0], (int)size[1]);
    if (!strcmp(name, "transpose")) return transpose(p, iterations, size[0], size[1]);
    if (!strcmp(name, "synch_p2p")) return synch_p2p(p, iterations, size[0], size[1], size[2]);
    if (!strcmp(name, "nstream")) return nstream(p, iterations, size[0]);
    if (!strcmp(name, "reduce")) return reduce(p, iterations, size[0], size[1]);
    if (!strcmp(name, "sparse")) return sparse(p, iterations, (int)size[0], (int)size[1]);
    if (!strcmp(name, "synch_global")) return synch_global(p, iterations, size[0]);
    fprintf(stderr, "usage: %s P ITERATIONS KERNEL SIZE..\n", argv[0]);
    exit(2);
}
static void tell(outcome o) { printf("%.17g %.17g %.17g %.17g\n", o.seconds, o.found, o.expected, o.within); }
#endif
