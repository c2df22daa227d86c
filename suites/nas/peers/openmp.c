/* EP, CG, IS, FT and MG of the NAS Parallel Benchmarks in OpenMP, written from their published definition
 * in the usual way: loops over shared arrays, reductions by clause.
 *
 * usage: openmp P EP M | CG N NONZER ITERATIONS SHIFT | IS KEYS MAX_KEY INDEX.. | FT NX NY NZ ITERATIONS | MG N ITERATIONS C0 C1 C2
 * prints: seconds, then EP: sums of X and Y, pairs accepted; CG: zeta; IS: the five keys' ranks in
 * each of ten iterations; FT: the checksum of each iteration; MG: the sum of the squares of the last residual.
 * The caller holds them against the published values. */
#include "common.h"
#include "ft.h"
#include "mg.h"

/* ---- EP ---- */
enum { LANES = 64, RINGS = 10 };
static const uint64_t BATCH = 1 << 16;

typedef struct { double x, y; uint64_t rings[RINGS]; } tally;

/* A batch in 64 streams side by side, so that the compiler can vectorise it, the logarithm too. */
static void add_batch(uint64_t batch, tally *to)
{
    const uint64_t pairs = BATCH / LANES, stride = power(2 * pairs);
    uint64_t state[LANES], inside[LANES] = {0};
    double x[LANES] = {0}, y[LANES] = {0}, u[LANES], v[LANES], t[LANES];
    state[0] = 271828183 * power(2 * BATCH * batch) & MASK;
    for (int i = 1; i < LANES; i++) state[i] = state[i - 1] * stride & MASK;
    uint64_t one[LANES] = {0}, two[LANES] = {0}, three[LANES] = {0}, far[RINGS] = {0};
    for (uint64_t pair = 0; pair < pairs; pair++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t first = state[i] * A & MASK, second = first * A & MASK;
            union { uint64_t bits; double number; } r = {first << 6 | 0x3ff0000000000000}, s = {second << 6 | 0x3ff0000000000000};
            state[i] = second;
            u[i] = 2 * r.number - 3, v[i] = 2 * s.number - 3;
            double square = u[i] * u[i] + v[i] * v[i];
            inside[i] += square <= 1;
            t[i] = square <= 1 ? square : 1;
        }
        for (int i = 0; i < LANES; i++) t[i] = sqrt(-2 * log(t[i]) / t[i]);
        uint64_t beyond = 0;
        double larger[LANES];
        for (int i = 0; i < LANES; i++) {
            double a = u[i] * t[i], b = v[i] * t[i];
            x[i] += a, y[i] += b;
            a = fabs(a), b = fabs(b);
            double m = larger[i] = a > b ? a : b;
            one[i] += m >= 1, two[i] += m >= 2, three[i] += m >= 3;
            beyond |= m >= 4;
        }
        if (beyond)
            for (int i = 0; i < LANES; i++)
                if (larger[i] >= 4) far[(int)larger[i]]++;
    }
    uint64_t at_least[5] = {0};
    for (int i = 0; i < LANES; i++) {
        to->x += x[i], to->y += y[i];
        at_least[0] += inside[i], at_least[1] += one[i], at_least[2] += two[i], at_least[3] += three[i];
    }
    for (int k = 4; k < RINGS; k++) at_least[4] += far[k], to->rings[k] += far[k];
    for (int k = 0; k < 4; k++) to->rings[k] += at_least[k] - at_least[k + 1];
}
static void ep(int p, int m)
{
    double x = 0, y = 0, seconds = -omp_get_wtime();
    uint64_t rings[RINGS] = {0}, accepted = 0;
    long batches = 1L << (m - 16);
#pragma omp parallel for num_threads(p) schedule(dynamic) reduction(+ : x, y, rings)
    for (long batch = 0; batch < batches; batch++) {
        tally mine = {0};
        add_batch((uint64_t)batch, &mine);
        x += mine.x, y += mine.y;
        for (int k = 0; k < RINGS; k++) rings[k] += mine.rings[k];
    }
    seconds += omp_get_wtime();
    for (int k = 0; k < RINGS; k++) accepted += rings[k];
    printf("%.17g %.17g %.17g %.17g\n", seconds, x, y, (double)accepted);
}

/* ---- CG ---- */
typedef struct { int column; double value; } entry;

static int by_column(const void *a, const void *b)
{
    return ((const entry *)a)->column - ((const entry *)b)->column;
}
typedef struct { long *start; int *column; double *value; } matrix;

static matrix make_matrix(long n, int nonzer, double shift)
{
    uint64_t x = 314159265;
    next(&x);
    long width = nonzer + 1, size = 1;
    while (size < n) size *= 2;
    entry *vectors = memory(sizeof(entry) * (size_t)(n * width));
    int *lengths = memory(sizeof(int) * (size_t)n);
    long *start = memory(sizeof(long) * (size_t)(n + 1)), *end = memory(sizeof(long) * (size_t)(n + 1));
    memset(start, 0, sizeof(long) * (size_t)(n + 1));
    for (long i = 0; i < n; i++) {
        entry *v = vectors + i * width;
        int length = 0, k;
        while (length < nonzer) {
            double element = next(&x);
            int j = (int)((double)size * next(&x));
            for (k = 0; k < length && v[k].column != j; k++) {}
            if (j < n && k == length) v[length++] = (entry){j, element};
        }
        for (k = 0; k < length && v[k].column != i; k++) {}
        v[k] = (entry){(int)i, 0.5};
        lengths[i] = k == length ? length + 1 : length;
        for (k = 0; k < lengths[i]; k++) start[v[k].column + 1] += lengths[i];
        start[i + 1]++; /* for the diagonal */
    }
    for (long i = 0; i < n; i++) start[i + 1] += start[i];
    memcpy(end, start, sizeof(long) * (size_t)(n + 1));
    entry *all = memory(sizeof(entry) * (size_t)start[n]);
    for (long i = 0; i < n; i++) {
        entry *v = vectors + i * width;
        double weight = pow(0.1, (double)i / (double)n);
        for (int k = 0; k < lengths[i]; k++)
            for (int l = 0; l < lengths[i]; l++)
                all[end[v[k].column]++] = (entry){v[l].column, weight * v[k].value * v[l].value};
        all[end[i]++] = (entry){(int)i, 0.1 - shift};
    }
    matrix a = {memory(sizeof(long) * (size_t)(n + 1)), memory(sizeof(int) * (size_t)start[n]), memory(sizeof(double) * (size_t)start[n])};
    long at = 0;
    for (long i = 0; i < n; i++) {
        qsort(all + start[i], (size_t)(start[i + 1] - start[i]), sizeof(entry), by_column);
        a.start[i] = at;
        for (long k = start[i]; k < start[i + 1]; k++) {
            if (at > a.start[i] && a.column[at - 1] == all[k].column) a.value[at - 1] += all[k].value;
            else a.column[at] = all[k].column, a.value[at++] = all[k].value;
        }
    }
    a.start[n] = at;
    free(all), free(end), free(start), free(vectors), free(lengths);
    return a;
}

/* Shared by the threads of the parallel region. */
static struct { long n; matrix a; double *x, *z, *p, *q, *r, pq, rho, distance, xz, zz; } cg_of;

/* All threads of a parallel region call it. An outer step: x.z */
static void outer_step(void)
{
    const long n = cg_of.n, *restrict start = cg_of.a.start;
    const int *restrict column = cg_of.a.column;
    const double *restrict value = cg_of.a.value;
    double *restrict x = cg_of.x, *restrict z = cg_of.z, *restrict p = cg_of.p, *restrict q = cg_of.q, *restrict r = cg_of.r;
#pragma omp single
    cg_of.rho = cg_of.pq = 0;
    double rho = 0;
#pragma omp for schedule(static) nowait
    for (long i = 0; i < n; i++) z[i] = 0, r[i] = p[i] = x[i], rho += x[i] * x[i];
#pragma omp atomic
    cg_of.rho += rho;
#pragma omp barrier
    for (int step = 0; step < 25; step++) {
        rho = cg_of.rho;
        double pq = 0;
#pragma omp for schedule(static) nowait
        for (long i = 0; i < n; i++) {
            double sum = 0;
            for (long k = start[i]; k < start[i + 1]; k++) sum += value[k] * p[column[k]];
            q[i] = sum, pq += sum * p[i];
        }
#pragma omp atomic
        cg_of.pq += pq;
#pragma omp barrier
        double alpha = rho / cg_of.pq, mine = 0;
#pragma omp single nowait
        cg_of.rho = 0;
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            mine += r[i] * r[i];
        }
#pragma omp atomic
        cg_of.rho += mine;
#pragma omp barrier
#pragma omp single nowait
        cg_of.pq = 0;
        double beta = cg_of.rho / rho;
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
    }
#pragma omp single
    cg_of.distance = cg_of.xz = cg_of.zz = 0;
    double distance = 0, xz = 0, zz = 0;
#pragma omp for schedule(static) nowait
    for (long i = 0; i < n; i++) {
        double sum = 0;
        for (long k = start[i]; k < start[i + 1]; k++) sum += value[k] * z[column[k]];
        distance += (x[i] - sum) * (x[i] - sum), xz += x[i] * z[i], zz += z[i] * z[i];
    }
#pragma omp atomic
    cg_of.distance += distance;
#pragma omp atomic
    cg_of.xz += xz;
#pragma omp atomic
    cg_of.zz += zz;
#pragma omp barrier
    double scale = 1 / sqrt(cg_of.zz);
#pragma omp for schedule(static)
    for (long i = 0; i < n; i++) x[i] = scale * z[i];
}
static void cg(int p, long n, int nonzer, int iterations, double shift)
{
    double seconds = 0;
    cg_of.n = n;
    matrix made = make_matrix(n, nonzer, shift);
    double **vectors[] = {&cg_of.x, &cg_of.z, &cg_of.p, &cg_of.q, &cg_of.r};
    for (int k = 0; k < 5; k++) *vectors[k] = memory(sizeof(double) * (size_t)n);
    /* Copies, so that each thread's rows are written by it first. */
    size_t entries = (size_t)made.start[n];
    cg_of.a = (matrix){made.start, memory(sizeof(int) * entries), memory(sizeof(double) * entries)};
#pragma omp parallel num_threads(p)
    {
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++) {
            cg_of.x[i] = 1, cg_of.z[i] = cg_of.p[i] = cg_of.q[i] = cg_of.r[i] = 0;
            for (long k = made.start[i]; k < made.start[i + 1]; k++) cg_of.a.column[k] = made.column[k], cg_of.a.value[k] = made.value[k];
        }
        outer_step();
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++) cg_of.x[i] = 1;
#pragma omp master
        seconds = -omp_get_wtime();
        for (int it = 0; it < iterations; it++) outer_step();
#pragma omp master
        seconds += omp_get_wtime();
    }
    printf("%.17g %.17g\n", seconds, shift + 1 / cg_of.xz);
}

/* ---- IS ---- */
static void is(int p, long n, long max_key, const long *watched)
{
    int *keys = memory(sizeof(int) * (size_t)n), *ranks = memory(sizeof(int) * (size_t)max_key), **counts = memory(sizeof(int *) * (size_t)p);
    long *before = memory(sizeof(long) * (size_t)(p + 1));
    double seconds = 0;
    uint64_t x = 314159265;
    for (long i = 0; i < n; i++) {
        double sum = next(&x);
        for (int k = 1; k < 4; k++) sum += next(&x);
        keys[i] = (int)((double)(max_key / 4) * sum);
    }
    int found[10][5], key[5], start[21];
    memcpy(start, keys, sizeof start);
    for (int k = 0; k < 5; k++) key[k] = keys[watched[k]];
#pragma omp parallel num_threads(p)
    {
        int me = omp_get_thread_num();
        int *restrict mine = counts[me] = memory(sizeof(int) * (size_t)max_key);
        long first = max_key * me / p, end = max_key * (me + 1) / p;
        /* Three times, of which the last counts: in a process that has just begun it is slower. */
        for (int turn = 0; turn < 33; turn++) {
            int t = turn % 11;
            if (t == 1) {
#pragma omp barrier
#pragma omp master
                seconds = -omp_get_wtime();
            }
#pragma omp single
            {
                int place = t ? t : 1;
                if (!t) memcpy(keys, start, sizeof start);
                keys[place] = place, keys[place + 10] = (int)max_key - place;
            }
            memset(mine, 0, sizeof(int) * (size_t)max_key);
#pragma omp for schedule(static)
            for (long i = 0; i < n; i++) mine[keys[i]]++;
            long total = 0;
            for (long k = first; k < end; k++) {
                int sum = 0;
                for (int other = 0; other < p; other++) sum += counts[other][k];
                ranks[k] = sum, total += sum;
            }
            before[me] = total;
#pragma omp barrier
            int smaller = 0;
            for (int other = 0; other < me; other++) smaller += (int)before[other];
            for (long k = first; k < end; k++) {
                int here = ranks[k];
                ranks[k] = smaller, smaller += here;
            }
#pragma omp barrier
#pragma omp single
            for (int k = 0; t && k < 5; k++) found[t - 1][k] = ranks[key[k]];
            if (t == 10) {
#pragma omp master
                seconds += omp_get_wtime();
            }
        }
    }
    printf("%.17g", seconds);
    for (int t = 0; t < 10; t++)
        for (int k = 0; k < 5; k++) printf(" %d", found[t][k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    int p = argc > 2 ? atoi(argv[1]) : 0;
    omp_set_dynamic(0);
    if (p > 0 && argc == 4 && !strcmp(argv[2], "EP")) ep(p, atoi(argv[3]));
    else if (p > 0 && argc == 7 && !strcmp(argv[2], "CG")) cg(p, atol(argv[3]), atoi(argv[4]), atoi(argv[5]), atof(argv[6]));
    else if (p > 0 && argc == 10 && !strcmp(argv[2], "IS")) {
        long watched[5];
        for (int k = 0; k < 5; k++) watched[k] = atol(argv[5 + k]);
        is(p, atol(argv[3]), atol(argv[4]), watched);
    } else if (p > 0 && argc == 7 && !strcmp(argv[2], "FT")) ft(p, (const long[]){atol(argv[3]), atol(argv[4]), atol(argv[5])}, atoi(argv[6]));
    else if (p > 0 && argc == 8 && !strcmp(argv[2], "MG")) mg(p, atol(argv[3]), atoi(argv[4]), (const double[]){atof(argv[5]), atof(argv[6]), atof(argv[7])});
    else {
        fprintf(stderr, "usage: %s P EP M | CG N NONZER ITERATIONS SHIFT | IS KEYS MAX_KEY INDEX.. | FT NX NY NZ ITERATIONS | MG N ITERATIONS C0 C1 C2\n", argv[0]);
        return 2;
    }
    return 0;
}
