/* Three processes, forked before any of them has a team: sums, a group, messages, memory, errors. */
#define _XOPEN_SOURCE 600
#include "phalanx_processes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 3

static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "test.c: %s: %s\n", what, phx_proc_message());
        exit(1);
    }
}

#define CALL(call) check((call) == PHX_PROC_OK, #call)

/* A call that waits, on a thread of its own. */
static int outcome;
static void *waits(void *team)
{
    char text[256];
    double x = 1;
    outcome = phx_proc_receive(team, &x, 1, PHX_PROC_F64, 1, 0, PHX_PROC_HERE);
    strncpy(text, phx_proc_message(), sizeof text - 1);
    check(strstr(text, "in another call") != NULL, text);
    return NULL;
}

/* Two threads with one team: by a call, and by leaving. */
static void two_threads(int leaves)
{
    phx_proc_team *team = NULL;
    pthread_t thread;
    int i, fd;
    check(phx_proc_segment(2, 0, &fd) == 0, "segment");
    i = phx_proc_attach(9999, 0, 2, 1.0, 1.0, &team);
    check(i == PHX_PROC_ARGUMENT && strstr(phx_proc_message(), "no file is open"), "no descriptor");
    if (fork() == 0) {
        CALL(phx_proc_attach(fd, 1, 2, 30.0, 30.0, &team));
        sleep(1);
        i = phx_proc_barrier(team, PHX_PROC_HERE);
        check(i == PHX_PROC_ARGUMENT, "the other rank hears of it");
        _exit(0);
    }
    CALL(phx_proc_attach(fd, 0, 2, 30.0, 30.0, &team));
    check(pthread_create(&thread, NULL, waits, team) == 0, "thread");
    usleep(300000);
    i = leaves ? phx_proc_leave(team) : phx_proc_barrier(team, PHX_PROC_HERE);
    check(i == PHX_PROC_ARGUMENT, "in another call");
    check(strstr(phx_proc_message(), "in another call") != NULL, "its text");
    pthread_join(thread, NULL);
    check(outcome == PHX_PROC_ARGUMENT, "the call that waits has ended");
    CALL(phx_proc_leave(team));
    i = phx_proc_barrier(team, PHX_PROC_HERE);
    check(i == PHX_PROC_ARGUMENT && strstr(phx_proc_message(), "has been left") != NULL, "left");
    check(phx_proc_leave(team) == PHX_PROC_ARGUMENT && phx_proc_size(team) == -1, "left twice");
    wait(&i);
    check(i == 0, "rank 1");
}

/* Ranks of one thread each, which wait for each other in different groups. */
static int in_groups(int fd, int rank)
{
    phx_proc_team *team = NULL, *group = NULL;
    int i;
    CALL(phx_proc_attach(fd, rank, RANKS, 30.0, 30.0, &team));
    CALL(phx_proc_split(team, 0, 0, &group, PHX_PROC_HERE));
    i = phx_proc_barrier(rank == 1 ? group : team, PHX_PROC_HERE);
    check(i == PHX_PROC_DEADLOCK, "deadlock");
    check(strstr(phx_proc_message(), "rank 1 (process") != NULL, "who waits");
    return 0;
}

static int of_all(int (*work)(int, int))
{
    int fd, rank, status, failed = 0;
    check(phx_proc_segment(RANKS, 1 << 20, &fd) == 0, "segment");
    for (rank = 0; rank < RANKS; rank++)
        if (fork() == 0)
            _exit(work(fd, rank));
    for (rank = 0; rank < RANKS; rank++) {
        wait(&status);
        failed |= status != 0;
    }
    return failed;
}

static int rank_of(int fd, int rank)
{
    phx_proc_team *team = NULL, *group = NULL;
    float x[3] = {1.0f, 2.0f, (float)rank}, all[3 * RANKS];
    uint16_t half[1] = {0x4380}; /* 256 as bfloat16 */
    uint8_t truth[2];
    double complex[2] = {0, 1}; /* i */
    double *shared = NULL;
    int i;
    CALL(phx_proc_attach(fd, rank, RANKS, 30.0, 30.0, &team));
    check(phx_proc_rank(team) == rank && phx_proc_size(team) == RANKS, "rank");
    CALL(phx_proc_barrier(team, PHX_PROC_HERE));
    CALL(phx_proc_all_reduce(team, x, 3, PHX_PROC_F32, PHX_PROC_SUM, PHX_PROC_HERE));
    check(x[0] == 3.0f && x[1] == 6.0f && x[2] == 3.0f, "sum");
    if (rank > 0)
        half[0] = 0x3f80; /* 1 */
    CALL(phx_proc_all_reduce(team, half, 1, PHX_PROC_BF16, PHX_PROC_SUM, PHX_PROC_HERE));
    check(half[0] == 0x4381, "256 + 1 + 1 is 258");
    x[0] = (float)rank;
    CALL(phx_proc_all_gather(team, x, all, 3, PHX_PROC_F32, PHX_PROC_HERE));
    for (i = 0; i < RANKS; i++)
        check(all[3 * i] == (float)i, "all_gather");
#ifdef __SSE2__
    /* One rank's rounding is upward, and its subnormal numbers are 0. */
    if (rank == 1)
        __builtin_ia32_ldmxcsr(0xdfc0);
    for (i = 1; i <= 100; i += 33) {
        double y[100];
        uint64_t bits = 3;
        int k;
        for (k = 0; k < i; k++)
            memcpy(y + k, &bits, sizeof bits);
        CALL(phx_proc_all_reduce(team, y, i, PHX_PROC_F64, PHX_PROC_SUM, PHX_PROC_HERE));
        memcpy(&bits, y + i - 1, sizeof bits);
        check(bits == 9, "a sum of subnormal numbers");
    }
    check(rank != 1 || (__builtin_ia32_stmxcsr() & 0xffc0) == 0xdfc0, "its control");
    __builtin_ia32_ldmxcsr(0x1f80);
#endif
    CALL(phx_proc_split(team, rank % 2, -rank, &group, PHX_PROC_HERE));
    check(phx_proc_size(group) == (rank % 2 ? 1 : 2), "split");
    check(rank != 0 || phx_proc_rank(group) == 1, "keys have a sign");
    phx_proc_leave(group);
    CALL(phx_proc_split(team, rank ? 7 : PHX_PROC_NO_GROUP, 0, &group, PHX_PROC_HERE));
    check((rank == 0) == (group == NULL), "no group");
    phx_proc_leave(group);
    truth[0] = rank == 1;
    truth[1] = 1;
    CALL(phx_proc_all_reduce(team, truth, 2, PHX_PROC_BOOL, PHX_PROC_BAND, PHX_PROC_HERE));
    check(truth[0] == 0 && truth[1] == 1, "and");
    CALL(phx_proc_all_reduce(team, complex, 1, PHX_PROC_COMPLEX128, PHX_PROC_PROD, PHX_PROC_HERE));
    check(complex[0] == 0 && complex[1] == -1, "i * i * i is -i");
    CALL(phx_proc_send(team, &rank, 1, PHX_PROC_I32, (rank + 1) % RANKS, 5, PHX_PROC_HERE));
    CALL(phx_proc_receive(team, &i, 1, PHX_PROC_I32, (rank + 2) % RANKS, 5, PHX_PROC_HERE));
    check(i == (rank + 2) % RANKS, "message");
    CALL(phx_proc_allocate(team, 1000 * sizeof(double), (void **)&shared, PHX_PROC_HERE));
    for (i = 0; i < 1000; i++)
        shared[i] = rank;
    CALL(phx_proc_all_reduce(team, shared, 1000, PHX_PROC_F64, PHX_PROC_MAX, PHX_PROC_HERE));
    check(shared[999] == RANKS - 1, "symmetric");
    for (i = 0; i < 1000; i++)
        shared[i] = i;
    i = rank * 100; /* a part of it, elsewhere on each rank */
    CALL(phx_proc_all_reduce(team, shared + i, 2, PHX_PROC_F64, PHX_PROC_SUM, PHX_PROC_HERE));
    check(shared[i] == 300 && shared[i + 1] == 303, "parts of memory");
    CALL(phx_proc_free(team, shared, PHX_PROC_HERE));
    i = phx_proc_broadcast(team, x, 1, PHX_PROC_F32, rank == 1, PHX_PROC_HERE);
    check(i == PHX_PROC_DISAGREEMENT && strstr(phx_proc_message(), "test.c:") != NULL, "error");
    check(phx_proc_barrier(team, PHX_PROC_HERE) == PHX_PROC_DISAGREEMENT, "the team is over");
    CALL(phx_proc_leave(team));
    CALL(phx_proc_leave(NULL));
    return 0;
}

int main(void)
{
    int failed = of_all(rank_of) | of_all(in_groups);
    two_threads(0);
    two_threads(1);
    if (!failed)
        puts("C: 3 processes: right");
    return failed;
}
