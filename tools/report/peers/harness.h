/* What the peers' programs have in common: the method of `phalanx bench` (see
 * tools/bench/src/measure), for other people's libraries.
 *
 *  - Rank r is pinned to the r-th processor of --cpus, and the pin is read back.
 *  - A sample: every rank rewrites what it sends and brings its buffers to the stated state
 *    of the caches (untimed); all meet at a gate of our own and leave it at one moment of the
 *    monotonic clock; each times its own call, or, in the rows named OP.b2b, its calls back
 *    to back, each on buffers of its own. The sample is the largest of these times, less what
 *    the clock costs, over the calls.
 *  - Before and after a slice of samples ranks 0 and 1 exchange raw flags. What that costs is
 *    the place (smt, ccx, far); a slice between two exchanges at one place counts for it.
 *  - More ranks than processors: the gate yields, there is no common moment, no place.
 *
 * A program makes a list of rows, the same on all ranks, and calls peer_turns. It then does as
 * tools/bench/src/bench/turn_protocol.rs says: rank 0 reads a line, the others sleep; all
 * measure the slice that the line asks for; rank 0 prints one line.
 * Bytes are those of a rank's larger buffer, as in `phalanx bench`. */
#ifndef PEER_HARNESS_H
#define PEER_HARNESS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/futex.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 64, MAX_SAMPLES = 2048, MAX_ROWS = 1024, MAX_SETS = 32 };
enum place { SMT, CCX, FAR, ANY, PLACES };
static const char *const place_name[PLACES] = {"smt", "ccx", "far", "any"};

/* ---- what is asked for ---- */

static struct {
    const char *ops, *cpus;
    size_t sizes[32];
    int n_sizes, ranks;
    double smt_ns, ccx_ns;
} ask = {.ops = "", .cpus = "0,1", .ranks = 2, .smt_ns = 40, .ccx_ns = 130};

static void ask_parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *key = argv[i], *value = argv[i + 1];
        if (!strcmp(key, "--ops")) ask.ops = value;
        else if (!strcmp(key, "--cpus")) ask.cpus = value;
        else if (!strcmp(key, "--ranks")) ask.ranks = atoi(value);
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

/* processor time of the calling thread */
static double used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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

/* what rank 0 was told, for the others */
enum { END, PLACE, SLICE };
typedef struct { int what, row, cold; double ns; } order;

typedef struct {
    seat seats[MAX_RANKS];
    _Alignas(256) _Atomic uint32_t given; /* orders; the others sleep on it */
    order next;
    float ns[MAX_RANKS][MAX_SAMPLES];
    double used[MAX_RANKS]; /* processor time of the last slice */
} team; /* in memory that all ranks share; zeroed */

typedef struct { team *t; int rank, ranks, crowded; uint32_t orders; uint64_t meetings, exchanges; double clock, took; } member;

static member team_join(team *t, int rank)
{
    int cpus;
    cpu_of(0, &cpus);
    return (member){t, rank, ask.ranks, ask.ranks > cpus, 0, 0, 0, clock_cost(), 0};
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

/* ---- caches ---- */

typedef struct { void *at; size_t bytes; } span;
enum { LINE = 64, SWEEP = 64 << 20 };

/* reads and writes each line, as tools/bench/src/measure/caches.rs does */
static void touch(span s)
{
    volatile double *words = s.at;
    for (size_t i = 0; i < s.bytes / 8; i += LINE / 8) words[i] = words[i];
}

/* throws each line out of all caches; where lines cannot be named, by reading much else */
static void throw_out(span s)
{
#if defined(__x86_64__)
    for (size_t i = 0; i < s.bytes; i += LINE) __builtin_ia32_clflush((char *)s.at + i);
    __builtin_ia32_mfence();
#else
    static _Thread_local volatile char *others;
    if (!others) others = memory(SWEEP);
    for (size_t i = 0; s.bytes && i < SWEEP; i += LINE) (void)others[i];
#endif
}

/* ---- rows ---- */

typedef struct row row;
struct row {
    char name[48];
    size_t asked, bytes, count;       /* the size asked for; of the larger buffer; what `call` makes of it */
    int op, sets;                    /* calls in a sample, each on buffers of its own */
    void (*rewrite)(const row *, int set);
    void (*call)(const row *, int set);
    void (*spans)(const row *, int set, span *sent, span *received); /* of this rank */
};
typedef struct { row rows[MAX_ROWS]; int n; } rows;

/* sets of OP.b2b: as many buffers as 16 KiB hold, as in `phalanx bench` */
static int sets_for(size_t bytes)
{
    size_t padded = (bytes + 127) / 128 * 128, n = 16384 / (padded ? padded : 128);
    return n < 1 ? 1 : n > MAX_SETS ? MAX_SETS : (int)n;
}

static void row_add(rows *list, row r, const char *op)
{
    for (int b2b = 0; b2b < 2; b2b++) {
        r.sets = b2b ? sets_for(r.bytes) : 1;
        if ((b2b && r.sets == 1) || list->n == MAX_ROWS) continue;
        snprintf(r.name, sizeof r.name, "%s%s", op, b2b ? ".b2b" : "");
        list->rows[list->n++] = r;
    }
}

/* before a sample: the inputs are written, and the caches have what they are said to have */
static void prepare(const row *r, int cold)
{
    span sent[MAX_SETS], received[MAX_SETS];
    for (int set = 0; set < r->sets; set++) {
        r->rewrite(r, set);
        sent[set] = received[set] = (span){0, 0};
        r->spans(r, set, &sent[set], &received[set]);
    }
    atomic_signal_fence(memory_order_seq_cst);
    for (int set = 0; set < r->sets; set++) touch(received[set]);
    for (int set = 0; set < r->sets; set++) touch(sent[set]);
    for (int set = 0; cold && set < r->sets; set++) throw_out(received[set]), throw_out(sent[set]);
    atomic_signal_fence(memory_order_seq_cst);
}

/* Samples for so many ns, three at least, after one to three that do not count; returns their number. */
static int samples(member *m, const row *r, int cold, double budget_ns)
{
    enum { STOP, WARM, GO, FEWEST = 3, WARM_UPS = 3 };
    uint64_t start = now_ns();
    double used = used_ns();
    for (int n = 0, warm = 0;;) {
        prepare(r, cold);
        double past = m->took = (double)(now_ns() - start);
        m->t->used[m->rank] = used_ns() - used;
        uint64_t word = n == 0 && warm < WARM_UPS && (warm == 0 || past < 1e6) ? WARM : n == MAX_SAMPLES || (n >= FEWEST && past > budget_ns) ? STOP : GO;
        word = meet(m, word, 1);
        if (word == STOP) return n;
        uint64_t from = now_ns();
        for (int set = 0; set < r->sets; set++) r->call(r, set);
        double ns = (double)(now_ns() - from);
        double net = ns - m->clock > ns / 2 ? ns - m->clock : ns / 2;
        if (word == GO) m->t->ns[m->rank][n++] = (float)(net / r->sets);
        else warm++;
        meet(m, 0, 0); /* what follows must not disturb a rank that is not done */
    }
}

static double slowest(const member *m, int i)
{
    double most = 0;
    for (int r = 0; r < m->ranks; r++) if (m->t->ns[r][i] > most) most = m->t->ns[r][i];
    return most;
}

/* ---- turns ---- */

/* sleeps until there is an order after the last one, which rank 0 gives by `give` */
static order take(member *m)
{
    team *t = m->t;
    uint32_t last = m->orders++;
    while (atomic_load_explicit(&t->given, memory_order_acquire) == last) syscall(SYS_futex, &t->given, FUTEX_WAIT, last, 0, 0, 0);
    return t->next;
}
static void give(member *m, order next)
{
    team *t = m->t;
    t->next = next;
    atomic_fetch_add_explicit(&t->given, 1, memory_order_release);
    syscall(SYS_futex, &t->given, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* reads until there is something for all ranks to do */
static order told(const rows *list)
{
    char line[256], op[64], caches[8];
    while (fgets(line, sizeof line, stdin)) {
        size_t bytes;
        double ms;
        if (!strncmp(line, "place", 5)) return (order){.what = PLACE};
        if (!strncmp(line, "end", 3)) break;
        if (sscanf(line, "row %63s %zu %7s %lf", op, &bytes, caches, &ms) != 4) { fprintf(stderr, "# no command: %s", line); break; }
        for (int i = 0; i < list->n; i++)
            if (list->rows[i].asked == bytes && !strcmp(list->rows[i].name, op)) return (order){.what = SLICE, .row = i, .cold = !strcmp(caches, "cold"), .ns = ms * 1e6};
        printf("absent %s %zu %s\n", op, bytes, caches);
        fflush(stdout);
    }
    return (order){.what = END};
}

/* Takes turns with other programs until rank 0 is told to end. Between two turns nobody spins. */
static void peer_turns(member *m, const rows *list)
{
    static double ns[MAX_SAMPLES];
    if (m->rank == 0) { printf("ready\n"); fflush(stdout); }
    for (;;) {
        order o;
        if (m->rank == 0) give(m, o = told(list));
        else o = take(m);
        if (o.what == END) return;
        int here = where(m);
        const row *r = &list->rows[o.row];
        int n = o.what == SLICE ? samples(m, r, o.cold, o.ns) : 0;
        int after = n ? where(m) : here;
        if (m->rank == 0) {
            const char *caches = o.cold ? "cold" : "warm";
            for (int i = 0; i < n; i++) ns[i] = slowest(m, i);
            double middle = median_of(ns, n), used = 0;
            for (int i = 0; i < m->ranks; i++) used += m->t->used[i];
            if (o.what == PLACE) printf("place %s\n", place_name[here]);
            else if (here != after) printf("moved %s %zu %s\n", r->name, r->asked, caches);
            else printf("slice %s %zu %s %s %d %zu %.1f %.1f %.2f\n", r->name, r->asked, caches, place_name[here], n, r->bytes, ns[0], middle, used / m->took);
            fflush(stdout);
        }
        meet(m, 0, 0); /* the times are read */
    }
}
#endif
