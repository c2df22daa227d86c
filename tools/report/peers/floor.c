/* The floor: the least that two threads in one memory have to do, by hand, without any
 * promise (nobody checks arguments, no rank may fail). usage: floor [options, see harness.h]
 *  barrier    a flag each, on its own line: store, then wait for the other's
 *  bcast      rank 1 copies out of rank 0's buffer, between two exchanges of flags
 *  allreduce  each adds half and stores it to both buffers, in place; up to 56 bytes travel
 *             beside the flag
 *  allgather  each copies both blocks, between two exchanges */
#include "harness.h"
#include <pthread.h>

enum { BARRIER, BCAST, ALLREDUCE, ALLGATHER, OPS };
static const char *const op_name[OPS] = {"barrier", "bcast", "allreduce", "allgather"};
/* two lines a rank in turn: who writes one has seen that the other read the one before */
typedef struct { _Alignas(128) _Atomic uint64_t number; double data[7]; } line;
static line lines[2][2];
static double *x[MAX_SETS][2], *y[MAX_SETS][2];
static _Thread_local uint64_t number;
static _Thread_local int rank;

static inline const line *swap(const double *data, size_t n)
{
    uint64_t k = ++number;
    line *own = &lines[rank][k & 1], *other = &lines[1 - rank][k & 1];
    for (size_t i = 0; i < n; i++) own->data[i] = data[i];
    atomic_store_explicit(&own->number, k, memory_order_release);
    while (atomic_load_explicit(&other->number, memory_order_acquire) < k) ;
    return other;
}
static void rewrite(const row *r, int set)
{
    size_t n = r->op == ALLGATHER ? r->count / 2 : r->op == BCAST && rank ? 0 : r->count;
    for (size_t i = 0; i < n; i++) x[set][rank][i] = rank + 1;
}
static void call(const row *r, int set)
{
    double *mine = x[set][rank], *theirs = x[set][1 - rank];
    size_t n = r->count, half = n / 2, from = rank ? half : 0, to = rank ? n : half;
    switch (r->op) {
    case BARRIER: swap(0, 0); break;
    case BCAST:
        swap(0, 0);
        if (rank) memcpy(mine, theirs, n * 8);
        swap(0, 0);
        break;
    case ALLREDUCE:
        if (n <= 7) {
            const line *other = swap(mine, n);
            for (size_t i = 0; i < n; i++) mine[i] += other->data[i];
            break;
        }
        swap(0, 0);
        for (size_t i = from; i < to; i++) { double s = mine[i] + theirs[i]; mine[i] = s; theirs[i] = s; }
        swap(0, 0);
        break;
    case ALLGATHER:
        swap(0, 0);
        memcpy(y[set][rank] + (rank ? half : 0), mine, half * 8);
        memcpy(y[set][rank] + (rank ? 0 : half), theirs, half * 8);
        swap(0, 0);
        break;
    }
}
static void spans(const row *r, int set, span *sent, span *received)
{
    size_t bytes = r->count * 8;
    if (r->op == ALLGATHER) *sent = (span){x[set][rank], bytes / 2}, *received = (span){y[set][rank], bytes};
    else *(r->op == BCAST && rank ? received : sent) = (span){x[set][rank], bytes};
}
static int is_wrong(const row *r)
{
    const double *got = r->op == ALLGATHER ? y[0][rank] : x[0][rank];
    for (size_t i = 0; i < r->count; i++) {
        double want = r->op == BCAST ? 1 : r->op == ALLREDUCE ? 3 : i < r->count / 2 ? 1 : 2;
        if (got[i] != want) return 1;
    }
    return 0;
}

static team shared;
static rows lists[2];
static int wrong;
static void *work(void *arg)
{
    rank = (int)(intptr_t)arg;
    pin(rank);
    member m = team_join(&shared, rank);
    for (int set = 0; set < MAX_SETS; set++) {
        size_t bytes = set ? 16384 : largest_size() + 16;
        x[set][rank] = memory(bytes);
        y[set][rank] = memory(bytes);
    }
    meet(&m, 0, 0);
    for (int i = 0; i < lists[rank].n; i++) {
        rewrite(&lists[rank].rows[i], 0);
        meet(&m, 0, 0);
        call(&lists[rank].rows[i], 0);
        if (is_wrong(&lists[rank].rows[i])) wrong = 1;
        meet(&m, 0, 0);
    }
    if (!meet(&m, (uint64_t)wrong, 0)) peer_turns(&m, &lists[rank]);
    return 0;
}

int main(int argc, char **argv)
{
    ask_parse(argc, argv);
    int cpus;
    cpu_of(0, &cpus);
    if (ask.ranks != 2 || cpus < 2) { fprintf(stderr, "# the floor is of two ranks with a processor each\n"); return 0; }
    for (int op = 0; op < OPS; op++)
        for (int s = 0; s < (op == BARRIER ? 1 : ask.n_sizes); s++) {
            size_t n = ask.sizes[s] / 8;
            if (!listed(ask.ops, op_name[op])) continue;
            n = op == BARRIER ? 0 : op == ALLGATHER ? (n / 2 ? n / 2 : 1) * 2 : n ? n : 1;
            row_add(&lists[0], (row){.op = op, .asked = op == BARRIER ? 0 : ask.sizes[s], .count = n, .bytes = n * 8, .rewrite = rewrite, .call = call, .spans = spans}, op_name[op]);
        }
    lists[1] = lists[0];
    pthread_t other;
    pthread_create(&other, 0, work, (void *)1);
    work(0);
    pthread_join(other, 0);
    if (wrong) fprintf(stderr, "# a result is wrong\n");
    return wrong;
}
