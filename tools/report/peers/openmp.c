/* OpenMP: what it has of collectives, between the threads of one parallel region.
 * usage: openmp --ranks P [options, see harness.h]
 *  barrier             #pragma omp barrier
 *  allreduce           #pragma omp for over the elements: sum of all ranks' vectors, into ONE
 *                      shared result (an MPI all-reduce leaves a copy with every rank)
 *  allreduce_clause    #pragma omp for reduction(+: a[:n]), the same; up to 1 MiB, since the
 *                      private copies are on the stacks */
#include "harness.h"
#include <omp.h>

enum { BARRIER, FOR, CLAUSE, OPS };
static const char *const op_name[OPS] = {"barrier", "allreduce", "allreduce_clause"};
static double *in[MAX_SETS][MAX_RANKS], *sum[MAX_SETS];

static void rewrite(const row *r, int set)
{
    int rank = omp_get_thread_num();
    for (size_t i = 0; i < r->count; i++) in[set][rank][i] = rank + 1;
    if (r->op == CLAUSE && rank == 0) memset(sum[set], 0, r->bytes);
}
/* the sum is shared: each rank has its part of it, as `for` deals them */
static void spans(const row *r, int set, span *sent, span *received)
{
    size_t rank = (size_t)omp_get_thread_num(), p = (size_t)ask.ranks, from = r->count * rank / p, to = r->count * (rank + 1) / p;
    *sent = (span){in[set][rank], r->count * 8};
    *received = (span){sum[set] + from, (to - from) * 8};
}
static void barrier(const row *r, int set)
{
    (void)r, (void)set;
#pragma omp barrier
}
static void by_for(const row *r, int set)
{
    double *const *x = in[set], *s = sum[set];
    int p = ask.ranks;
    if (p == 2) { /* a compiler vectorises this one */
        const double *a = x[0], *b = x[1];
#pragma omp for schedule(static)
        for (size_t i = 0; i < r->count; i++) s[i] = a[i] + b[i];
    } else {
#pragma omp for schedule(static)
        for (size_t i = 0; i < r->count; i++) {
            double of_all = x[0][i];
            for (int k = 1; k < p; k++) of_all += x[k][i];
            s[i] = of_all;
        }
    }
}
static void by_clause(const row *r, int set)
{
    size_t n = r->count;
    double *s = sum[set];
#pragma omp for schedule(static, 1) reduction(+ : s[:n])
    for (int k = 0; k < ask.ranks; k++)
        for (size_t i = 0; i < n; i++) s[i] += in[set][k][i];
}

int main(int argc, char **argv)
{
    ask_parse(argc, argv);
    static team shared;
    static rows list;
    size_t most = largest_size();
    for (int set = 0; set < MAX_SETS; set++) sum[set] = memory(set ? 16384 : most);
    void (*const calls[OPS])(const row *, int) = {barrier, by_for, by_clause};
    for (int op = 0; op < OPS; op++)
        for (int s = 0; s < (op == BARRIER ? 1 : ask.n_sizes); s++) {
            size_t n = op == BARRIER ? 0 : ask.sizes[s] / 8 ? ask.sizes[s] / 8 : 1;
            if (!listed(ask.ops, op_name[op]) || (op == CLAUSE && n * 8 > 1 << 20)) continue;
            row_add(&list, (row){.op = op, .asked = op == BARRIER ? 0 : ask.sizes[s], .count = n, .bytes = n * 8, .rewrite = rewrite, .call = calls[op], .spans = spans}, op_name[op]);
        }
    omp_set_dynamic(0);
    int wrong = 0;
#pragma omp parallel num_threads(ask.ranks) reduction(| : wrong)
    {
        int rank = omp_get_thread_num();
        /* Where ranks share processors, pinning would keep a thread from an idle one. */
        int cpus;
        cpu_of(0, &cpus);
        if (ask.ranks <= cpus) pin(rank);
        for (int set = 0; set < MAX_SETS; set++) in[set][rank] = memory(set ? 16384 : most);
        static rows mine[MAX_RANKS];
        mine[rank] = list;
        member m = team_join(&shared, rank);
        for (int i = 0; i < list.n; i++) {
            const row *r = &list.rows[i];
            rewrite(r, 0);
            meet(&m, 0, 0);
            r->call(r, 0);
            meet(&m, 0, 0);
            for (size_t k = 0; k < r->count; k++) wrong |= sum[0][k] != ask.ranks * (ask.ranks + 1) / 2.0;
            meet(&m, 0, 0);
        }
        if (!meet(&m, (uint64_t)wrong, 0)) peer_turns(&m, &mine[rank]);
    }
    if (wrong) fprintf(stderr, "# a sum is wrong\n");
    return wrong;
}
