/* MG: V-cycles of multigrid on a periodic cube, a loop over planes for each step on each grid. Planes
 * are n rows of n + 2 numbers, a ghost on either end. Grids of up to 8^3 are thread 0's: a barrier takes longer. */
#include "common.h"

enum { ALONE = 8, KEPT = 10 };
typedef struct { long n; double *u, *r; } cube;
/* Sums over the four rows that touch a row with a face, and with an edge. */
typedef struct { double *faces, *edges; } sums;

static double *plane_of(double *x, long n, long z) { return x + (z + n) % n * n * (n + 2); }
static void close_row(double *row, long n) { row[0] = row[n], row[n + 1] = row[1]; }

static void add_rows(const double *restrict low, const double *restrict mid, const double *restrict high, long n, long y, sums s)
{
    const long w = n + 2, before = (y + n - 1) % n * w, here = y * w, after = (y + 1) % n * w;
    double *restrict faces = s.faces, *restrict edges = s.edges;
    for (long x = 0; x < w; x++) {
        faces[x] = mid[before + x] + mid[after + x] + (low[here + x] + high[here + x]);
        edges[x] = low[before + x] + low[after + x] + (high[before + x] + high[after + x]);
    }
}
/* r = v - A u on planes [first, end); v and r may be the same. */
static void mg_residual(long n, double *u, double *v, double *r, long first, long end, sums s)
{
    for (long z = first; z < end; z++) {
        double *low = plane_of(u, n, z - 1), *mid = plane_of(u, n, z), *high = plane_of(u, n, z + 1), *to = plane_of(r, n, z), *from = plane_of(v, n, z);
        for (long y = 0; y < n; y++, to += n + 2, from += n + 2) {
            const double *row = mid + y * (n + 2), *f = s.faces, *e = s.edges;
            add_rows(low, mid, high, n, y, s);
#pragma GCC ivdep
            for (long x = 1; x <= n; x++)
                to[x] = from[x] + 8.0 / 3 * row[x] - 1.0 / 6 * (e[x] + (f[x - 1] + f[x + 1])) - 1.0 / 12 * (e[x - 1] + e[x + 1]);
            close_row(to, n);
        }
    }
}
/* u += C r */
static void mg_smooth(cube g, const double *c, long first, long end, sums s)
{
    const long n = g.n;
    for (long z = first; z < end; z++) {
        double *low = plane_of(g.r, n, z - 1), *mid = plane_of(g.r, n, z), *high = plane_of(g.r, n, z + 1), *to = plane_of(g.u, n, z);
        for (long y = 0; y < n; y++, to += n + 2) {
            const double *row = mid + y * (n + 2), *f = s.faces, *e = s.edges;
            add_rows(low, mid, high, n, y, s);
#pragma GCC ivdep
            for (long x = 1; x <= n; x++)
                to[x] += c[0] * row[x] + c[1] * (row[x - 1] + row[x + 1] + f[x]) + c[2] * (e[x] + (f[x - 1] + f[x + 1]));
            close_row(to, n);
        }
    }
}
/* coarse.r from fine.r, planes of the coarse one */
static void mg_restrict(cube fine, cube coarse, long first, long end, sums s)
{
    const long n = fine.n, half = coarse.n;
    for (long z = first; z < end; z++) {
        double *low = plane_of(fine.r, n, 2 * z), *mid = plane_of(fine.r, n, 2 * z + 1), *high = plane_of(fine.r, n, 2 * z + 2), *to = plane_of(coarse.r, half, z);
        for (long y = 0; y < half; y++, to += half + 2) {
            const double *row = mid + (2 * y + 1) * (n + 2), *f = s.faces, *e = s.edges;
            add_rows(low, mid, high, n, 2 * y + 1, s);
#pragma GCC ivdep
            for (long x = 1; x <= half; x++)
                to[x] = 0.5 * row[2 * x] + 0.25 * (row[2 * x - 1] + row[2 * x + 1] + f[2 * x]) + 0.125 * (f[2 * x - 1] + f[2 * x + 1] + e[2 * x])
                    + 0.0625 * (e[2 * x - 1] + e[2 * x + 1]);
            close_row(to, half);
        }
    }
}
/* fine.u = keep fine.u + Q coarse.u, planes of the fine one */
static inline __attribute__((always_inline)) void mg_interpolate(cube coarse, cube fine, const int keep, long first, long end, sums s)
{
    const long n = fine.n, half = coarse.n, w = half + 2;
    double *restrict mean = s.faces;
    for (long z = first; z < end; z++) {
        const double *low = plane_of(coarse.u, half, (z + n - 1) % n / 2), *high = plane_of(coarse.u, half, z / 2);
        double *to = plane_of(fine.u, n, z);
        for (long y = 0; y < n; y++, to += n + 2) {
            const long a = (y + n - 1) % n / 2 * w, b = y / 2 * w;
            for (long x = 0; x < w; x++) mean[x] = 0.25 * (low[a + x] + low[b + x] + (high[a + x] + high[b + x]));
#pragma GCC ivdep
            for (long x = 0; x < half; x++) {
                double even = 0.5 * (mean[x] + mean[x + 1]), odd = mean[x + 1];
                to[2 * x + 1] = keep ? to[2 * x + 1] + even : even, to[2 * x + 2] = keep ? to[2 * x + 2] + odd : odd;
            }
            close_row(to, n);
        }
    }
}

static struct { cube grids[16]; int top; double *v, c[3], squares; } mg_of;

/* A thread's planes of a grid. */
static void planes(long n, long *first, long *end)
{
    long me = omp_get_thread_num(), p = n > ALONE ? omp_get_num_threads() : 1;
    *first = me < p ? n * me / p : 0, *end = me < p ? n * (me + 1) / p : 0;
}
/* Between a step on grid k and what needs it, which is on the same grid or the next finer one. */
static void meet(int k)
{
    if (k > mg_of.top || mg_of.grids[k].n > ALONE) {
#pragma omp barrier
    }
}
static void mg_top_residual(sums s)
{
    cube g = mg_of.grids[mg_of.top];
    long first, end;
    planes(g.n, &first, &end);
    mg_residual(g.n, g.u, mg_of.v, g.r, first, end, s);
    meet(mg_of.top);
}
/* All threads of a parallel region call it. */
static void mg_cycle(sums s)
{
    long first, end;
    cube *grids = mg_of.grids;
    for (int k = mg_of.top; k-- > 0;) {
        planes(grids[k].n, &first, &end);
        mg_restrict(grids[k + 1], grids[k], first, end, s);
        meet(k);
    }
    planes(grids[0].n, &first, &end);
    if (end > first) memset(grids[0].u, 0, sizeof(double) * (size_t)(grids[0].n * grids[0].n * (grids[0].n + 2)));
    mg_smooth(grids[0], mg_of.c, first, end, s);
    for (int k = 1; k <= mg_of.top; k++) {
        cube g = grids[k];
        meet(k);
        planes(g.n, &first, &end);
        if (k == mg_of.top) mg_interpolate(grids[k - 1], g, 1, first, end, s);
        else mg_interpolate(grids[k - 1], g, 0, first, end, s);
        meet(k);
        mg_residual(g.n, g.u, k == mg_of.top ? mg_of.v : g.r, g.r, first, end, s);
        meet(k);
        mg_smooth(g, mg_of.c, first, end, s);
    }
    meet(mg_of.top);
    mg_top_residual(s);
}
static void mg_norm(void)
{
    cube g = mg_of.grids[mg_of.top];
    long first, end;
    double mine = 0;
#pragma omp single
    mg_of.squares = 0;
    planes(g.n, &first, &end);
    for (long row = first * g.n; row < end * g.n; row++)
        for (long x = 1; x <= g.n; x++) mine += g.r[row * (g.n + 2) + x] * g.r[row * (g.n + 2) + x];
#pragma omp atomic
    mg_of.squares += mine;
#pragma omp barrier
}
/* The ten largest of the first n^3 numbers are 1, the ten smallest -1. */
static void mg_charge(double *v, long n)
{
    double least[KEPT], most[KEPT];
    long low[KEPT], high[KEPT];
    uint64_t state = 314159265;
    for (int k = 0; k < KEPT; k++) least[k] = 2, most[k] = -2, low[k] = high[k] = 0;
    for (long at = 0; at < n * n * n; at++) {
        double x = next(&state);
        int k;
        if (x < least[KEPT - 1]) {
            for (k = KEPT - 1; k > 0 && least[k - 1] > x; k--) least[k] = least[k - 1], low[k] = low[k - 1];
            least[k] = x, low[k] = at;
        }
        if (x > most[KEPT - 1]) {
            for (k = KEPT - 1; k > 0 && most[k - 1] < x; k--) most[k] = most[k - 1], high[k] = high[k - 1];
            most[k] = x, high[k] = at;
        }
    }
    for (int k = 0; k < KEPT; k++) {
        v[high[k] / n * (n + 2) + high[k] % n + 1] = 1;
        v[low[k] / n * (n + 2) + low[k] % n + 1] = -1;
    }
    for (long row = 0; row < n * n; row++) close_row(v + row * (n + 2), n);
}
static void mg(int p, long n, int iterations, const double *c)
{
    double seconds = 0;
    memcpy(mg_of.c, c, sizeof mg_of.c);
    for (long size = 2; size <= n; size *= 2) {
        size_t bytes = sizeof(double) * (size_t)(size * size * (size + 2));
        mg_of.top = __builtin_ctzl((unsigned long)size) - 1;
        mg_of.grids[mg_of.top] = (cube){size, memory(bytes), memory(bytes)};
    }
    cube top = mg_of.grids[mg_of.top];
    mg_of.v = memory(sizeof(double) * (size_t)(n * n * (n + 2)));
#pragma omp parallel num_threads(p)
    {
        sums s = {memory(sizeof(double) * (size_t)(n + 2)), memory(sizeof(double) * (size_t)(n + 2))};
        long first, end;
        for (int k = 0; k <= mg_of.top; k++) {
            cube g = mg_of.grids[k];
            planes(g.n, &first, &end);
            for (long at = first * g.n * (g.n + 2); at < end * g.n * (g.n + 2); at++) g.u[at] = g.r[at] = 0;
        }
        planes(n, &first, &end);
        for (long at = first * n * (n + 2); at < end * n * (n + 2); at++) mg_of.v[at] = 0;
#pragma omp barrier
#pragma omp single
        mg_charge(mg_of.v, n);
        mg_top_residual(s);
        mg_cycle(s);
        /* What is done in milliseconds is done three times: a process that has just begun is slower. */
        for (int turn = 0, turns = n > 64 ? 1 : 3; turn < turns; turn++) {
            planes(n, &first, &end);
            for (long at = first * n * (n + 2); at < end * n * (n + 2); at++) top.u[at] = 0;
#pragma omp barrier
#pragma omp master
            seconds = -omp_get_wtime();
            mg_top_residual(s);
            mg_norm();
            for (int it = 0; it < iterations; it++) mg_cycle(s);
            mg_norm();
#pragma omp master
            seconds += omp_get_wtime();
        }
    }
    printf("%.17g %.17g\n", seconds, mg_of.squares);
}
