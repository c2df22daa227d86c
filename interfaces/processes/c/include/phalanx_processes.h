/* Teams of processes in shared memory: the C interface of phalanx-processes.
 *
 * Every function returns 0, or the number of what went wrong (phx_proc_error); the text of this
 * thread's last error is phx_proc_message(). A team whose call has failed is over: each later call
 * has the same error. Wrong arguments end it, too, and the other ranks get their text. A team is
 * used by one thread at a time: two at once end it. A handle that has been left is an error.
 *
 * `file` and `line` are where errors say that the call is: PHX_PROC_HERE in C. */
#ifndef PHALANX_PROCESSES_H
#define PHALANX_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHX_PROC_HERE __FILE__, __LINE__

typedef struct phx_proc_team phx_proc_team;

enum phx_proc_error {
    PHX_PROC_OK = 0,
    PHX_PROC_DISAGREEMENT = 1, /* ranks made different calls */
    PHX_PROC_DIED = 2,         /* a process has died */
    PHX_PROC_LEFT = 3,         /* a rank has left the team */
    PHX_PROC_DEADLINE = 4,     /* a rank has not come in time */
    PHX_PROC_REFUSED = 5,      /* the process may not be this rank of this team */
    PHX_PROC_ARGUMENT = 6,     /* the arguments make no sense */
    PHX_PROC_MEMORY = 7,       /* no memory is left */
    PHX_PROC_SYSTEM = 8,       /* the system said no */
    PHX_PROC_PANICKED = 9,     /* a rank panicked in an operator */
    PHX_PROC_FORKED = 10,      /* the team belongs to the parent of this process */
    PHX_PROC_INTERRUPTED = 11, /* the program has ended a wait (of Python's: a signal) */
    PHX_PROC_DEADLOCK = 12     /* each of some ranks waits for another one of them */
};

enum phx_proc_type {
    PHX_PROC_I8 = 0, PHX_PROC_U8, PHX_PROC_I16, PHX_PROC_U16, PHX_PROC_I32, PHX_PROC_U32,
    PHX_PROC_I64, PHX_PROC_U64, PHX_PROC_F16, PHX_PROC_BF16, PHX_PROC_F32, PHX_PROC_F64,
    PHX_PROC_BOOL, PHX_PROC_COMPLEX64, PHX_PROC_COMPLEX128
};

/* Sums and products of f16 and bf16 are made in f32, and rounded once. The bitwise ones are for
 * integers. Of truth values min and band are `and`, max and bor `or`, bxor `xor`; complex numbers
 * have sum and prod. */
enum phx_proc_op {
    PHX_PROC_SUM = 0, PHX_PROC_PROD, PHX_PROC_MIN, PHX_PROC_MAX, PHX_PROC_BAND, PHX_PROC_BOR,
    PHX_PROC_BXOR
};

/* Joins the team `name` as rank `rank` of `ranks`. A call waits `timeout` seconds for another rank,
 * for ever if it is negative; all ranks may take `attach_timeout` seconds to come. Each rank has
 * `memory` bytes for phx_proc_allocate (rank 0's word counts). */
int phx_proc_join(const char *name, int rank, int ranks, double timeout, double attach_timeout,
                  size_t memory, phx_proc_team **team);
/* Attaches to the memory behind a descriptor, which the team keeps if that succeeds or fails. */
int phx_proc_attach(int fd, int rank, int ranks, double timeout, double attach_timeout,
                    phx_proc_team **team);
/* The memory of a team that is attached to by its descriptor: inherited, or /proc/PID/fd/N. */
int phx_proc_segment(int ranks, size_t memory, int *fd);
/* Leaves the team. Null is none. While another thread is in a call of it, that call ends, and the
 * handle is to be left again. */
int phx_proc_leave(phx_proc_team *team);

int phx_proc_rank(const phx_proc_team *team);
int phx_proc_size(const phx_proc_team *team);
/* The text of this thread's last error, up to its next call here. */
const char *phx_proc_message(void);

int phx_proc_barrier(phx_proc_team *team, const char *file, int line);
int phx_proc_broadcast(phx_proc_team *team, void *data, size_t n, int type, int root,
                       const char *file, int line);
int phx_proc_reduce(phx_proc_team *team, void *data, size_t n, int type, int op, int root,
                    const char *file, int line);
/* In memory of phx_proc_allocate on all ranks: without a copy. */
int phx_proc_all_reduce(phx_proc_team *team, void *data, size_t n, int type, int op,
                        const char *file, int line);
/* `n` elements of each rank; `all` has n * size. */
int phx_proc_all_gather(phx_proc_team *team, const void *mine, void *all, size_t n, int type,
                        const char *file, int line);
int phx_proc_gather(phx_proc_team *team, const void *mine, void *all, size_t n, int type, int root,
                    const char *file, int line);
int phx_proc_scatter(phx_proc_team *team, const void *all, void *mine, size_t n, int type, int root,
                     const char *file, int line);
int phx_proc_reduce_scatter(phx_proc_team *team, const void *all, void *mine, size_t n, int type,
                            int op, const char *file, int line);
int phx_proc_all_to_all(phx_proc_team *team, const void *given, void *taken, size_t n, int type,
                        const char *file, int line);
int phx_proc_scan(phx_proc_team *team, void *data, size_t n, int type, int op, const char *file,
                  int line);
int phx_proc_exclusive_scan(phx_proc_team *team, void *data, size_t n, int type, int op,
                            const char *file, int line);
int phx_proc_send(phx_proc_team *team, const void *data, size_t n, int type, int to, uint64_t tag,
                  const char *file, int line);
int phx_proc_receive(phx_proc_team *team, void *data, size_t n, int type, int from, uint64_t tag,
                     const char *file, int line);
/* A team of the ranks with one colour, from 0, in the order of their keys, then of their ranks; null
 * for the colour PHX_PROC_NO_GROUP. */
#define PHX_PROC_NO_GROUP (-1)
int phx_proc_split(phx_proc_team *team, int color, int64_t key, phx_proc_team **group,
                   const char *file, int line);
/* `bytes` bytes on each rank, all 0, until they are freed or the team ends. All ranks call it. */
int phx_proc_allocate(phx_proc_team *team, size_t bytes, void **memory, const char *file, int line);
int phx_proc_free(phx_proc_team *team, void *memory, const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif
