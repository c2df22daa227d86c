/* All-reduces of MPI's processes, by MPI and by phalanx-processes, in turns: `beside` builds and
 * runs it. A turn makes as many calls as take about 1 ms; its time is that of the slowest rank;
 * the lower quartile of the turns counts, since other programs disturb some. Before each pair of turns ranks 0 and 1 exchange two flags: two cores below 130 ns are near.
 *
 *     beside_mpi TYPE(f32|bf16) TURNS LEAST MOST */
#define _GNU_SOURCE
#include "phalanx_processes.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 400, PLACES = 2 };

static int rank, ranks, is_half;
static phx_proc_team *team;
static MPI_Datatype type = MPI_FLOAT;
static MPI_Op sum = MPI_SUM;
static _Atomic unsigned *flags;

/* MPI has no bfloat16: a program brings its own operator. It rounds to even, and keeps NaN. */
static float widened(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static void add(void *from, void *to, int *n, MPI_Datatype *what)
{
    const uint16_t *restrict a = from;
    uint16_t *restrict b = to;
    (void)what;
    for (int i = 0; i < *n; i++) {
        float value = widened(a[i]) + widened(b[i]);
        uint32_t bits;
        memcpy(&bits, &value, 4);
        uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
        b[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
    }
}

static void by_mpi(void *x, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, type, sum, MPI_COMM_WORLD);
}

static void by_phalanx(void *x, size_t n)
{
    int number = is_half ? PHX_PROC_BF16 : PHX_PROC_F32;
    if (phx_proc_all_reduce(team, x, n, number, PHX_PROC_SUM, PHX_PROC_HERE)) {
        fprintf(stderr, "%s\n", phx_proc_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Microseconds a call, of so many calls, of the slowest rank. A turn begins and ends with calls of
 * its own library, so that nobody waits in the other one. */
static double turn(int is_phalanx, void *x, size_t n, int calls)
{
    void (*call)(void *, size_t) = is_phalanx ? by_phalanx : by_mpi;
    double took;
    for (int i = 0; i < 3; i++)
        call(x, n);
    double since = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        call(x, n);
    took = (MPI_Wtime() - since) * 1e6 / calls;
    if (is_phalanx)
        phx_proc_all_reduce(team, &took, 1, PHX_PROC_F64, PHX_PROC_MAX, PHX_PROC_HERE);
    else
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

/* As many calls as take about a millisecond, or four of ranks that share cores. */
static int calls_of(int is_phalanx, void *x, size_t n)
{
    int calls = 3;
    while (calls < 10000 && turn(is_phalanx, x, n, calls) * calls < (ranks > 2 ? 4000 : 700))
        calls *= 2;
    return calls;
}

static int is_far(void)
{
    static unsigned seen;
    double took = 0;
    phx_proc_barrier(team, PHX_PROC_HERE);
    if (rank < 2 && ranks == 2) {
        double since = MPI_Wtime();
        for (unsigned i = 1; i <= 1000; i++) {
            if (rank == 0)
                atomic_store(&flags[0], seen + i);
            while (atomic_load(&flags[rank == 0 ? 64 : 0]) != seen + i)
                ;
            if (rank == 1)
                atomic_store(&flags[64], seen + i);
        }
        took = (MPI_Wtime() - since) * 1e9 / 2000;
    }
    seen += 1000;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return took > 130;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quartile(double *all, int n)
{
    qsort(all, (size_t)n, sizeof *all, compare);
    return all[n / 4];
}

int main(int arguments, char **argument)
{
    static double times[PLACES][2][TURNS];
    const char *name = getenv("BESIDE_NAME");
    MPI_Init(&arguments, &argument);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    is_half = strcmp(argument[1], "bf16") == 0;
    int turns = atoi(argument[2]);
    size_t least = strtoul(argument[3], NULL, 10), most = strtoul(argument[4], NULL, 10);
    if (is_half) {
        type = MPI_UINT16_T;
        MPI_Op_create(add, 1, &sum);
    }
    if (ranks <= (int)sysconf(_SC_NPROCESSORS_ONLN)) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(rank, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    if (phx_proc_join(name, rank, ranks, 120, 60, 0, &team)) {
        fprintf(stderr, "%s\n", phx_proc_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Win window;
    void *base, *first;
    MPI_Aint bytes;
    int unit;
    MPI_Win_allocate_shared(rank ? 0 : 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &first);
    flags = first;
    void *x = aligned_alloc(4096, most + 4096);
    memset(x, 0, most + 4096);
    for (size_t size = least; size <= most;
         size = size < most && size * 4 > most ? most : size * 4) {
        size_t n = size / (is_half ? 2 : 4);
        int calls[2], count[PLACES] = {0, 0};
        for (int which = 0; which < 2; which++)
            calls[which] = calls_of(which, x, n);
        for (int i = 0; i < turns && i < TURNS; i++) {
            int place = is_far();
            times[place][0][count[place]] = turn(0, x, n, calls[0]);
            times[place][1][count[place]++] = turn(1, x, n, calls[1]);
        }
        for (int place = 0; place < PLACES && rank == 0; place++)
            if (count[place] >= 3) {
                double mpi = quartile(times[place][0], count[place]);
                double own = quartile(times[place][1], count[place]);
                printf("%d\t%s\t%s\t%zu\t%d\t%.2f\t%.2f\t%.2f\n", ranks, argument[1],
                       ranks > 2 ? "-" : place ? "far" : "near", size, count[place], mpi, own,
                       own / mpi);
                fflush(stdout);
            }
    }
    phx_proc_leave(team);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
