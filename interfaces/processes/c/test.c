/* Three processes, forked before any of them has a team: sums, a group, messages, memory, errors. */
#define _POSIX_C_SOURCE 200809L
#include "phalanx_processes.h"

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

static int rank_of(int fd, int rank)
{
    phx_proc_team *team = NULL, *group = NULL;
    float x[3] = {1.0f, 2.0f, (float)rank}, all[3 * RANKS];
    uint16_t half[1] = {0x4380}; /* 256 as bfloat16 */
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
    CALL(phx_proc_split(team, rank % 2, 0, &group, PHX_PROC_HERE));
    check(phx_proc_size(group) == (rank % 2 ? 1 : 2), "split");
    phx_proc_leave(group);
    CALL(phx_proc_send(team, &rank, 1, PHX_PROC_I32, (rank + 1) % RANKS, 5, PHX_PROC_HERE));
    CALL(phx_proc_receive(team, &i, 1, PHX_PROC_I32, (rank + 2) % RANKS, 5, PHX_PROC_HERE));
    check(i == (rank + 2) % RANKS, "message");
    CALL(phx_proc_allocate(team, 1000 * sizeof(double), (void **)&shared, PHX_PROC_HERE));
    for (i = 0; i < 1000; i++)
        shared[i] = rank;
    CALL(phx_proc_all_reduce(team, shared, 1000, PHX_PROC_F64, PHX_PROC_MAX, PHX_PROC_HERE));
    check(shared[999] == RANKS - 1, "symmetric");
    CALL(phx_proc_free(team, shared, PHX_PROC_HERE));
    i = phx_proc_all_reduce(team, x, 3, 99, PHX_PROC_SUM, PHX_PROC_HERE);
    check(i == PHX_PROC_ARGUMENT && strstr(phx_proc_message(), "no type 99") != NULL, "type");
    i = phx_proc_broadcast(team, x, 1, PHX_PROC_F32, rank == 1, PHX_PROC_HERE);
    check(i == PHX_PROC_DISAGREEMENT && strstr(phx_proc_message(), "test.c:") != NULL, "error");
    check(phx_proc_barrier(team, PHX_PROC_HERE) == PHX_PROC_DISAGREEMENT, "the team is over");
    phx_proc_leave(team);
    phx_proc_leave(NULL);
    return 0;
}

int main(void)
{
    int fd, rank, status, failed = 0;
    check(phx_proc_segment(RANKS, 1 << 20, &fd) == 0, "segment");
    for (rank = 0; rank < RANKS; rank++)
        if (fork() == 0)
            _exit(rank_of(fd, rank));
    for (rank = 0; rank < RANKS; rank++) {
        wait(&status);
        failed |= status != 0;
    }
    if (!failed)
        puts("C: 3 processes: right");
    return failed;
}
