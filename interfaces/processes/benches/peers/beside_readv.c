/* All-reduces of two processes through the segment, and by process_vm_readv, in turns: `beside`
 * builds and runs it. A process writes its vector before each call, which is in the time.
 *
 * By process_vm_readv each process reads the other's part of its half, 64 KiB at a time, combines,
 * and reads the other's half of the result: three meetings by flags, and nothing is compared. Lower
 * quartiles of the turns, in microseconds. */
#define _GNU_SOURCE
#include "phalanx_processes.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 41, BLOCK = 64 << 10 };

static struct shared {
    _Alignas(128) _Atomic unsigned long met[2][16];
    void *vectors[2];
    pid_t processes[2];
} *shared;

static int rank;
static phx_proc_team *team;
static unsigned long meetings;

static void meet(void)
{
    atomic_store_explicit(&shared->met[rank][0], ++meetings, memory_order_release);
    while (atomic_load_explicit(&shared->met[1 - rank][0], memory_order_acquire) < meetings)
        ;
}

static void fetch(void *to, const char *from, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)from, bytes};
    if (process_vm_readv(shared->processes[1 - rank], &here, 1, &there, 1, 0) != (ssize_t)bytes) {
        perror("process_vm_readv");
        exit(1);
    }
}

static void by_readv(float *x, size_t n)
{
    static float block[BLOCK / sizeof(float)];
    const float *theirs = shared->vectors[1 - rank];
    size_t mine = rank * (n / 2), others = (1 - rank) * (n / 2);
    meet();
    for (size_t i = mine; i < mine + n / 2; i += BLOCK / sizeof(float)) {
        size_t rest = mine + n / 2 - i, some = rest < BLOCK / sizeof(float) ? rest : BLOCK / 4;
        fetch(block, (const char *)(theirs + i), some * sizeof(float));
        for (size_t j = 0; j < some; j++)
            x[i + j] += block[j];
    }
    meet();
    fetch(x + others, (const char *)(theirs + others), n / 2 * sizeof(float));
    meet();
}

static void by_phalanx(float *x, size_t n)
{
    if (phx_proc_all_reduce(team, x, n, PHX_PROC_F32, PHX_PROC_SUM, PHX_PROC_HERE)) {
        fprintf(stderr, "%s\n", phx_proc_message());
        exit(1);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double turn(void (*call)(float *, size_t), float *x, size_t n, int calls)
{
    phx_proc_barrier(team, PHX_PROC_HERE);
    double since = seconds();
    for (int i = 0; i < calls; i++) {
        memset(x, 0, n * sizeof(float));
        call(x, n);
    }
    double took = (seconds() - since) * 1e6 / calls;
    phx_proc_all_reduce(team, &took, 1, PHX_PROC_F64, PHX_PROC_MAX, PHX_PROC_HERE);
    return took;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int work(int fd)
{
    size_t most = 32 << 20;
    double times[2][TURNS];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank, &set);
    sched_setaffinity(0, sizeof set, &set);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    float *x = aligned_alloc(4096, most);
    memset(x, 0, most);
    shared->vectors[rank] = x;
    shared->processes[rank] = getpid();
    if (phx_proc_attach(fd, rank, 2, 60, 60, &team)) {
        fprintf(stderr, "%s\n", phx_proc_message());
        return 1;
    }
    phx_proc_barrier(team, PHX_PROC_HERE);
    if (rank == 0)
        puts("bytes\tsegment\treadv\tratio");
    for (size_t bytes = 16 << 10; bytes <= most; bytes *= 2) {
        double once = turn(by_phalanx, x, bytes / 4, 3);
        int calls = once > 600 ? 3 : (int)(2000 / once);
        for (int i = 0; i < TURNS; i++) {
            times[0][i] = turn(by_phalanx, x, bytes / 4, calls);
            times[1][i] = turn(by_readv, x, bytes / 4, calls);
        }
        for (int i = 0; i < 2; i++)
            qsort(times[i], TURNS, sizeof(double), compare);
        if (rank == 0)
            printf("%zu\t%.2f\t%.2f\t%.2f\n", bytes, times[0][TURNS / 4], times[1][TURNS / 4],
                   times[1][TURNS / 4] / times[0][TURNS / 4]);
        fflush(stdout);
    }
    phx_proc_leave(team);
    return 0;
}

int main(void)
{
    int fd, status;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (phx_proc_segment(2, 0, &fd))
        return 1;
    for (rank = 0; rank < 2; rank++)
        if (fork() == 0)
            _exit(work(fd));
    wait(&status);
    wait(&status);
    return status != 0;
}
