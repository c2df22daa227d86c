/* EP of the NAS Parallel Benchmarks: pairs of Gaussian deviates by the polar method, counted by
 * square rings. The stream of random numbers is jumped to batches of 2^16 pairs, of which each rank
 * has every p-th; the batches are added in their order, so that the sums are the same bits on any
 * number of ranks.
 *     nas_ep [RANKS [CLASS]]     S, W or A */
#include <phalanx.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RINGS = 10, BATCH = 1 << 16 };
#define MASK ((UINT64_C(1) << 46) - 1)
#define MULTIPLIER UINT64_C(1220703125) /* 5^13 */
#define SEED UINT64_C(271828183)

typedef struct {
    double sum[2];
    double rings[RINGS]; /* Counts, exact. */
} tally;

typedef struct {
    char name;
    int log2_pairs;
    double x, y, accepted;
} size_class;

static const size_class classes[] = {
    {'S', 24, -3.24783465203474e3, -6.958407078382297e3, 13176389},
    {'W', 25, -2.863319731645753e3, -6.320053679109499e3, 26354769},
    {'A', 28, -4.295875165629892e3, -1.580732573678431e4, 210832767},
};

typedef struct {
    const size_class *of;
    double seconds;
    tally total;
} problem;

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The state after n more numbers: s a^n mod 2^46. */
static uint64_t jumped(uint64_t state, uint64_t n) {
    for (uint64_t a = MULTIPLIER; n > 0; n >>= 1, a = a * a & MASK)
        if (n & 1)
            state = state * a & MASK;
    return state;
}

static double next(uint64_t *state) {
    *state = *state * MULTIPLIER & MASK;
    return 2 * ldexp((double)*state, -46) - 1;
}

static tally batch(uint64_t number) {
    tally it = {{0, 0}, {0}};
    uint64_t state = jumped(SEED, 2 * BATCH * number);
    for (int k = 0; k < BATCH; k++) {
        double u = next(&state), v = next(&state), t = u * u + v * v;
        if (t > 1)
            continue;
        double f = sqrt(-2 * log(t) / t), x = u * f, y = v * f;
        double larger = fmax(fabs(x), fabs(y));
        it.sum[0] += x;
        it.sum[1] += y;
        it.rings[(int)larger] += 1;
    }
    return it;
}

/* Adds all batches in their order: rank r has those from r on, in steps of the ranks. */
static void add_all(const phx_part *parts, int ranks, void *argument) {
    tally *total = argument;
    size_t batches = 0;
    for (int r = 0; r < ranks; r++)
        batches += parts[r].n;
    for (size_t k = 0; k < batches; k++) {
        const tally *it = (const tally *)parts[k % (size_t)ranks].data + k / (size_t)ranks;
        for (int i = 0; i < 2; i++)
            total->sum[i] += it->sum[i];
        for (int i = 0; i < RINGS; i++)
            total->rings[i] += it->rings[i];
    }
}

static void rank(phx_comm *comm, void *argument) {
    problem *it = argument;
    int r = phx_rank(comm), p = phx_size(comm);
    size_t batches = (size_t)1 << (it->of->log2_pairs - 16);
    size_t own = (batches + (size_t)(p - 1 - r)) / (size_t)p;
    tally *mine = malloc((own + 1) * sizeof *mine), total = {{0, 0}, {0}};
    if (!mine) {
        phx_fail(comm, "no memory");
        return;
    }
    double start = now();
    for (size_t k = 0; k < own; k++)
        mine[k] = batch((size_t)r + k * (size_t)p);
    phx_err code = phx_with_peers(comm, mine, own, PHX_BYTES(sizeof *mine), add_all, &total);
    free(mine);
    if (code == PHX_OK && r == 0) {
        it->seconds = now() - start;
        it->total = total;
    }
}

int main(int argc, char **argv) {
    int ranks = argc > 1 ? atoi(argv[1]) : 4, known = 0;
    problem it = {&classes[0], 0, {{0, 0}, {0}}};
    for (size_t k = 0; k < sizeof classes / sizeof classes[0]; k++)
        if (classes[k].name == (argc > 2 ? argv[2][0] : 'S')) {
            it.of = &classes[k];
            known = 1;
        }
    if (!known)
        return 2;
    if (phx_run(ranks, rank, &it) != PHX_OK) {
        char text[600];
        phx_last_error(text, sizeof text);
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    double accepted = 0;
    for (int i = 0; i < RINGS; i++)
        accepted += it.total.rings[i];
    const size_class *of = it.of;
    int good = fabs(it.total.sum[0] / of->x - 1) < 1e-8 &&
               fabs(it.total.sum[1] / of->y - 1) < 1e-8 && accepted == of->accepted;
    printf("nas EP class %c, %d ranks: sums %.15g %.15g, %.0f pairs, %s; %.1f Mop/s\n", of->name,
           ranks, it.total.sum[0], it.total.sum[1], accepted,
           good ? "verification successful" : "WRONG",
           ldexp(1, of->log2_pairs + 1) / it.seconds / 1e6);
    return !good;
}
