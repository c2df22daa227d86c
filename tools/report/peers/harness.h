/* What the peers' programs have in common: the method of `phalanx bench` (see
 * tools/tool/src/measure), for other people's libraries.
 *
 *  - Rank r is pinned to the r-th processor of --cpus, and the pin is read back.
 *  - A sample: every rank rewrites what it sends (untimed); all meet at a gate of our
 *    own and leave it at one moment of the monotonic clock; each times its own call, or,
 *    in the rows named OP.b2b, its calls back to back, each on buffers of its own. The
 *    sample is the largest of these times, less what the clock costs, over the calls.
 *  - Every 4 ms ranks 0 and 1 exchange raw flags. What that costs is the place (smt,
 *    ccx, far); samples between two exchanges at one place count for that place.
 *  - More ranks than processors: the gate yields, there is no common moment, no place.
 *
 * A program makes a list of rows, the same on all ranks, and calls peer_rows. It
 * prints, at rank 0: library operation ranks bytes ns_min ns_median gb_s place.
 * Bytes are those of a rank's larger buffer, as in `phalanx bench`. */
#ifndef PEER_HARNESS_H
#define PEER_HARNESS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 64, MAX_SAMPLES = 2048, MAX_ROWS = 1024, MAX_LANES = 32 };
enum place { SMT, CCX, FAR, ANY, PLACES };
static const char *const place_name[PLACES] = {"smt", "ccx", "far", "any"};

/* ---- what is asked for ---- */

static struct {
    const char *library, *ops, *places, *cpus;
    size_t sizes[32];
    int n_sizes, ranks;
    double budget_ns, limit_ns, smt_ns, ccx_ns;
} ask = {.library = "peer", .ops = "", .places = "", .cpus = "0,1", .ranks = 2, .budget_ns = 20e6, .limit_ns = 20e9, .smt_ns = 40, .ccx_ns = 130};

static void ask_parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *key = argv[i], *value = argv[i + 1];
        if (!strcmp(key, "--library")) ask.library = value;
        else if (!strcmp(key, "--ops")) ask.ops = value;
        else if (!strcmp(key, "--places")) ask.places = value;
        else if (!strcmp(key, "--cpus")) ask.cpus = value;
        else if (!strcmp(key, "--ranks")) ask.ranks = atoi(value);
        else if (!strcmp(key, "--budget-ms")) ask.budget_ns = atof(value) * 1e6;
        else if (!strcmp(key, "--limit-s")) ask.limit_ns = atof(value) * 1e9;
        else if (!strcmp(key, "--smt-ns")) ask.smt_ns = atof(value);
        else if (!strcmp(key, "--ccx-ns")) ask.ccx_ns = atof(value);
        else if (!strcmp(key, "--sizes")) {
            char *end;
            for (const char *at = value; *at && ask.n_sizes < 32; at = *end ? end + 1 : end) ask.sizes[ask.n_sizes++] = strtoull(at, &end, 10);
        } else { fprintf(stderr, "# unknown option %s\n", key); exit(2); }
    }
    if (ask.ranks < 1 || ask.ranks > MAX_RANKS) { fprintf(stderr, "# 1 to %d ranks\n", MAX_RANKS); exit(2); }
}

/* whether a comma list has a word; an empty list has all */
static int listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    if (!*list) return 1;
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : 0)
        if (!strncmp(at, word, length) && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

static size_t largest_size(void)
{
    size_t most = 64;
    for (int i = 0; i < ask.n_sizes; i++) if (ask.sizes[i] > most) most = ask.sizes[i];
    return most;
}

/* ---- clock, processors, memory ---- */

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median_of(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n ? (values[(n - 1) / 2] + values[n / 2]) / 2 : 0;
}

/* what two readings show with nothing between them */
static double clock_cost(void)
{
    static double step[1000];
    uint64_t last = now_ns();
    for (int i = 0; i < 1000; i++) { uint64_t t = now_ns(); step[i] = (double)(t - last); last = t; }
    return median_of(step, 1000);
}

static int cpu_of(int rank, int *count)
{
    int cpu = 0, n = 0, list[1024];
    char *end;
    for (const char *at = ask.cpus; *at && n < 1024; at = *end ? end + 1 : end) list[n++] = (int)strtol(at, &end, 10);
    if (n) cpu = list[rank % n];
    if (count) *count = n;
    return cpu;
}

static void pin(int rank)
{
    int cpu = cpu_of(rank, 0);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) || sched_getcpu() != cpu) fprintf(stderr, "# rank %d is not on processor %d\n", rank, cpu);
}

static void *memory(size_t bytes)
{
    void *p = mmap(0, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) { perror("mmap"); exit(1); }
    memset(p, 0, bytes);
    return p;
}

/* ---- the gate ---- */

typedef struct {
    _Alignas(256) _Atomic uint64_t arrived; /* meetings; written by its rank only, as all here */
    _Atomic uint64_t at[2], word[2];        /* by the meeting's parity: when, and what rank 0 says */
    _Alignas(256) _Atomic uint64_t flag;    /* of the raw exchange */
} seat;

typedef struct {
    seat seats[MAX_RANKS];
    float ns[MAX_RANKS][MAX_SAMPLES];
} team; /* in memory that all ranks share; zeroed */

typedef struct { team *t; int rank, ranks, crowded; uint64_t meetings, exchanges; double clock; } member;

static member team_join(team *t, int rank)
{
    int cpus;
    cpu_of(0, &cpus);
    return (member){t, rank, ask.ranks, ask.ranks > cpus, 0, 0, clock_cost()};
}

/* all ranks come; each returns the word of rank 0; with `together` at one moment */
static uint64_t meet(member *m, uint64_t word, int together)
{
    uint64_t k = ++m->meetings, last = 0;
    int side = k & 1;
    seat *own = &m->t->seats[m->rank];
    atomic_store_explicit(&own->at[side], now_ns(), memory_order_relaxed);
    atomic_store_explicit(&own->word[side], word, memory_order_relaxed);
    atomic_store_explicit(&own->arrived, k, memory_order_release);
    for (int r = 0; r < m->ranks; r++) {
        seat *other = &m->t->seats[r];
        while (atomic_load_explicit(&other->arrived, memory_order_acquire) < k)
            if (m->crowded) sched_yield();
        uint64_t at = atomic_load_explicit(&other->at[side], memory_order_relaxed);
        if (at > last) last = at;
    }
    uint64_t said = atomic_load_explicit(&m->t->seats[0].word[side], memory_order_relaxed);
    if (together && !m->crowded) {
        last += 1000 + 300 * (uint64_t)m->ranks;
        while (now_ns() < last) ;
    }
    return said;
}

/* ---- places ---- */

/* one exchange of a flag each between ranks 0 and 1, ns: the best of five batches */
static double exchange(member *m)
{
    double best = 1e12;
    if (m->rank > 1) return best;
    for (int batch = 0; batch < 5; batch++) {
        uint64_t start = now_ns();
        for (int i = 0; i < 100; i++) {
            uint64_t k = ++m->exchanges;
            atomic_store_explicit(&m->t->seats[m->rank].flag, k, memory_order_release);
            while (atomic_load_explicit(&m->t->seats[1 - m->rank].flag, memory_order_acquire) < k) ;
        }
        double ns = (double)(now_ns() - start) / 100;
        if (ns < best) best = ns;
    }
    return best;
}

static int is_placed(const member *m) { return m->ranks > 1 && !m->crowded; }

/* where the processors are now, as rank 0 says */
static int where(member *m)
{
    if (!is_placed(m)) return ANY;
    meet(m, 0, 0);
    double ns = exchange(m);
    return (int)meet(m, ns < ask.smt_ns ? SMT : ns < ask.ccx_ns ? CCX : FAR, 0);
}

/* ---- rows ---- */

typedef struct row row;
struct row {
    char name[48];
    size_t bytes, count;              /* of the larger buffer; what `call` makes of it */
    int op, lanes;                    /* calls in a sample, each on buffers of its own */
    void (*rewrite)(const row *, int lane);
    void (*call)(const row *, int lane);
    char done[PLACES];
};
typedef struct { row rows[MAX_ROWS]; int n; } rows;

/* lanes of OP.b2b: as many buffers as 16 KiB hold, as in `phalanx bench` */
static int lanes_for(size_t bytes)
{
    size_t padded = (bytes + 127) / 128 * 128, n = 16384 / (padded ? padded : 128);
    return n < 1 ? 1 : n > MAX_LANES ? MAX_LANES : (int)n;
}

static void row_add(rows *list, row r, const char *op)
{
    for (int b2b = 0; b2b < 2; b2b++) {
        r.lanes = b2b ? lanes_for(r.bytes) : 1;
        if ((b2b && r.lanes == 1) || list->n == MAX_ROWS) continue;
        snprintf(r.name, sizeof r.name, "%s%s", op, b2b ? ".b2b" : "");
        list->rows[list->n++] = r;
    }
}

/* n samples, to index `from` on */
static void samples(member *m, const row *r, int from, int n)
{
    for (int i = from; i < from + n; i++) {
        for (int lane = 0; lane < r->lanes; lane++) r->rewrite(r, lane);
        atomic_signal_fence(memory_order_seq_cst);
        meet(m, 0, 1);
        uint64_t start = now_ns();
        for (int lane = 0; lane < r->lanes; lane++) r->call(r, lane);
        double ns = (double)(now_ns() - start);
        double net = ns - m->clock > ns / 2 ? ns - m->clock : ns / 2;
        m->t->ns[m->rank][i % MAX_SAMPLES] = (float)(net / r->lanes);
        meet(m, 0, 0); /* what follows must not disturb a rank that is not done */
    }
}

static double slowest(const member *m, int i)
{
    double most = 0;
    for (int r = 0; r < m->ranks; r++) if (m->t->ns[r][i % MAX_SAMPLES] > most) most = m->t->ns[r][i % MAX_SAMPLES];
    return most;
}

/* Measures a row for as long as the processors stay at `here`. Returns where they are
 * afterwards; sets the row done, and prints it, if there were samples enough. */
static int measure(member *m, row *r, int here)
{
    static double ns[MAX_SAMPLES];
    int n = 0, chunk = 1, enough = 0, after = here;
    samples(m, r, 0, 3);
    samples(m, r, 0, 2);
    double cost = m->rank ? 0 : slowest(m, 1) * r->lanes;
    if (meet(m, cost < 1e6, 0)) samples(m, r, 0, 10);
    /* what a sample takes with its rewriting and its gates, as rank 0 sees it */
    uint64_t start = now_ns();
    samples(m, r, 0, 3);
    double per = (double)(now_ns() - start) / 3;
    double wanted = ask.budget_ns / per, at_once = 4e6 / per;
    enough = (int)meet(m, wanted < 5 ? 5 : wanted > MAX_SAMPLES ? MAX_SAMPLES : (uint64_t)wanted, 0);
    chunk = (int)meet(m, at_once < 1 ? 1 : at_once > enough ? (uint64_t)enough : (uint64_t)at_once, 0);
    if (here != where(m)) return where(m);
    while (n < enough && after == here) {
        int take = chunk < enough - n ? chunk : enough - n;
        samples(m, r, n, take);
        after = where(m);
        if (after == here) n += take;
    }
    /* a place that was left too early is tried again */
    if (n < 5 || n < enough / 4) return after;
    r->done[here] = 1;
    if (m->rank == 0) {
        for (int i = 0; i < n; i++) ns[i] = slowest(m, i);
        double middle = median_of(ns, n);
        printf("%s\t%s\t%d\t%zu\t%.1f\t%.1f\t%.4g\t%s\n", ask.library, r->name, m->ranks, r->bytes, ns[0], middle, (double)r->bytes / middle, place_name[here]);
        fflush(stdout);
    }
    return after;
}

/* Every row once at every wanted place, in the order in which the places come; --limit-s
 * bounds it. With --places empty a row is done at the first place that holds. */
static void peer_rows(member *m, rows *list)
{
    enum { STOP = MAX_ROWS, SEEK };
    static const char *const names[PLACES] = {"smt", "ccx", "far", "any"};
    uint64_t start = now_ns();
    unsigned dice = 1;
    int tries[MAX_ROWS] = {0}, here = where(m), missing = 0;
    for (;;) {
        uint64_t next = STOP;
        missing = 0;
        for (int i = 0; i < list->n; i++) {
            const char *done = list->rows[i].done;
            int left = 0, can = 0;
            for (int q = 0; q < PLACES; q++) {
                int wanted = !is_placed(m) ? q == ANY : *ask.places ? listed(ask.places, names[q]) && q != ANY : !(done[0] | done[1] | done[2]) && q == here;
                if (wanted && !done[q]) { left = 1; if (q == here && tries[i] < 8) can = 1; }
            }
            missing += left;
            if (left && can && next == STOP) next = (uint64_t)i;
            else if (left && next == STOP && *ask.places && is_placed(m) && i == list->n - 1) next = SEEK;
        }
        if (missing && next == STOP && *ask.places && is_placed(m)) next = SEEK;
        if ((double)(now_ns() - start) > ask.limit_ns) next = STOP;
        next = meet(m, next, 0);
        if (next == STOP) break;
        if (next == SEEK) { /* a sleep lets the host move the processors */
            dice = dice * 1103515245u + 12345u;
            struct timespec nap = {0, 100000 + (long)(dice >> 8) % 8000000};
            nanosleep(&nap, 0);
            here = where(m);
            continue;
        }
        tries[next]++;
        here = measure(m, &list->rows[next], here);
    }
    if (m->rank == 0 && missing) fprintf(stderr, "# %s: %d of %d rows not at all places (place or time ran out)\n", ask.library, missing, list->n);
}
#endif
