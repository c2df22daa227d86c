/*
 * Made from interfaces/capi/interface.txt: do not edit. Programs include phalanx.h. Functions whose names end
 * in _at take the caller's file, null or a string that stays, and line.
 */
#ifndef PHALANX_FUNCTIONS_H
#define PHALANX_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Names */

/* A rank's hold on a group of ranks. */
typedef struct phx_comm phx_comm;

/* Threads that run functions together. */
typedef struct phx_team phx_team;

/* A grid of ranks. */
typedef struct phx_cart phx_cart;

/* A scope in which calls are started. */
typedef struct phx_requests phx_requests;

/* A plan by which ranks get copies of each other's elements. */
typedef struct phx_plan phx_plan;

/* Memory of all ranks of a communicator. */
typedef struct phx_window phx_window;

/* What a function returns: `PHX_OK`, or one of the errors. */
typedef int phx_err;

/* All is well. */
#define PHX_OK 0
/* An argument cannot be right: a null pointer, a wrong size, type or rank. */
#define PHX_ERR_ARGUMENT 1
/* A handle is null, freed, or of another kind. */
#define PHX_ERR_HANDLE 2
/*
 * A communicator was used by a thread that may not use it: another rank's, or one beside its rank's
 * own.
 */
#define PHX_ERR_THREAD 3
/* The team is running already, or the communicator is in a call already. */
#define PHX_ERR_BUSY 4
/* The run has failed before, or by another rank's fault. */
#define PHX_ERR_DEAD 5
/* Two ranks disagree about what they are doing together. */
#define PHX_ERR_MISMATCH 6
/* A rank returned while another waited for it. */
#define PHX_ERR_LEFT 7
/* Ranks wait for each other in a circle. */
#define PHX_ERR_DEADLOCK 8
/* A rank has waited longer than the team's deadline. */
#define PHX_ERR_DEADLINE 9
/* A message was never received. */
#define PHX_ERR_UNRECEIVED 10
/* A rank has panicked. */
#define PHX_ERR_PANIC 11
/* The run was ended on purpose. */
#define PHX_ERR_CANCELLED 12
/* No team of this many ranks is possible. */
#define PHX_ERR_RANKS 13
/*
 * The machine could not be read, memory not be had, a thread not be started, or ranks not be
 * placed; or a variable of the environment is wrong.
 */
#define PHX_ERR_SYSTEM 14
/* Anything else. */
#define PHX_ERR_OTHER 15

/* An element type: its bytes in the upper bits, its kind in the lower eight. */
typedef uint64_t phx_type;

/* `int8_t` */
#define PHX_I8 ((1 << 8) | 1)
/* `int16_t` */
#define PHX_I16 ((2 << 8) | 2)
/* `int32_t` */
#define PHX_I32 ((4 << 8) | 3)
/* `int64_t` */
#define PHX_I64 ((8 << 8) | 4)
/* `uint8_t` */
#define PHX_U8 ((1 << 8) | 5)
/* `uint16_t` */
#define PHX_U16 ((2 << 8) | 6)
/* `uint32_t` */
#define PHX_U32 ((4 << 8) | 7)
/* `uint64_t` */
#define PHX_U64 ((8 << 8) | 8)
/* `float` */
#define PHX_F32 ((4 << 8) | 9)
/* `double` */
#define PHX_F64 ((8 << 8) | 10)
/* `float complex` */
#define PHX_C32 ((8 << 8) | 11)
/* `double complex` */
#define PHX_C64 ((16 << 8) | 12)
/* `phx_f64_at`, for `PHX_MINLOC` and `PHX_MAXLOC` */
#define PHX_F64_AT ((16 << 8) | 13)
/* `phx_i64_at`, for `PHX_MINLOC` and `PHX_MAXLOC` */
#define PHX_I64_AT ((16 << 8) | 14)
/* The kind of `PHX_BYTES(n)`, elements of `n` bytes each. */
#define PHX_KIND_BYTES 15

/* An operator: one of the library's, or a handle. */
typedef uint64_t phx_op;

/* Sum. */
#define PHX_SUM (1 << 8)
/* Product. */
#define PHX_PROD (2 << 8)
/* The smaller; of floats -0 beside 0, and NaN (all bits set) beside anything. */
#define PHX_MIN (3 << 8)
/* The larger; of floats 0 beside -0, and NaN (all bits set) beside anything. */
#define PHX_MAX (4 << 8)
/* Bitwise and. */
#define PHX_BAND (5 << 8)
/* Bitwise or. */
#define PHX_BOR (6 << 8)
/* Bitwise exclusive or. */
#define PHX_BXOR (7 << 8)
/* Logical and of "is not 0": 0 or 1. */
#define PHX_AND (8 << 8)
/* Logical or. */
#define PHX_OR (9 << 8)
/* Logical exclusive or. */
#define PHX_XOR (10 << 8)
/* Of pairs the smaller value as that of `PHX_MIN`, and the lowest place that has it. */
#define PHX_MINLOC (11 << 8)
/* Of pairs the larger value as that of `PHX_MAX`, and the lowest place that has it. */
#define PHX_MAXLOC (12 << 8)

/* A call that was started, or set up: a number, 0 for none. */
typedef uint64_t phx_request;

/* Reductions combine in an order that the library chooses: the same for all ranks. */
#define PHX_ORDER_ANY 0
/*
 * Reductions combine in one order, whatever the number of ranks, their places and the algorithm.
 */
#define PHX_ORDER_FIXED 1
/* Ranks of one core. */
#define PHX_LEVEL_CORE 0
/* Ranks of one third-level cache. */
#define PHX_LEVEL_CACHE 1
/* Ranks of one NUMA node. */
#define PHX_LEVEL_NUMA 2
/* Ranks of one package. */
#define PHX_LEVEL_PACKAGE 3
/* Receives from any rank. */
#define PHX_ANY_SOURCE -1
/* Receives any tag. */
#define PHX_ANY_TAG -1
/* Neighbouring ranks on neighbouring cores. */
#define PHX_PLACE_AUTO 0
/* On cores in the machine's order. */
#define PHX_PLACE_COMPACT 1
/* As far apart as possible. */
#define PHX_PLACE_SCATTER 2
/* In the order of the operating system's numbers. */
#define PHX_PLACE_IDENTITY 3
/* Bound to nothing. */
#define PHX_PLACE_UNPINNED 4
/* Shuffled, by `numbers[0]`. */
#define PHX_PLACE_RANDOM 5
/* Rank r on processing unit `numbers[r]`. */
#define PHX_PLACE_LIST 6
/* For exchanges in a ring. */
#define PHX_PLACE_RING 7
/* For exchanges in a row. */
#define PHX_PLACE_LINEAR 8
/* For exchanges between ranks that differ in one bit. */
#define PHX_PLACE_HYPERCUBE 9
/* For exchanges in a mesh with the extents `numbers`. */
#define PHX_PLACE_MESH 10
/* For exchanges in a torus with the extents `numbers`. */
#define PHX_PLACE_TORUS 11
/* For a binomial tree from rank 0. */
#define PHX_PLACE_TREE 12
/* For exchanges between all ranks. */
#define PHX_PLACE_ALL_TO_ALL 13
/* By the machine: spin, yield, park. */
#define PHX_WAIT_AUTO 0
/* Spin. */
#define PHX_WAIT_SPIN 1
/* Yield. */
#define PHX_WAIT_YIELD 2
/* Park. */
#define PHX_WAIT_PARK 3

/* How to build a team. Set to zeros, with `ranks`; zeros are the defaults. */
typedef struct phx_options {
    /* `sizeof(phx_options)`, or 0: what the caller was compiled with. */
    size_t size;
    /* Ranks; 0: as many as there are cores. */
    int ranks;
    /* `PHX_WAIT_AUTO`, `PHX_WAIT_SPIN`, `PHX_WAIT_YIELD` or `PHX_WAIT_PARK`. */
    int wait;
    /*
     * A rank that has waited so many seconds for another ends the run; 0: never. A rank that is in
     * its own code meanwhile keeps `run` from returning until it makes a call or returns.
     */
    double deadline;
    /* Bytes of a worker's stack; 0: the system's. */
    size_t stack;
    /*
     * 1: rank 0, which is the caller of `run`, is bound to its core, too; -1: never; 0: only while
     * a run lasts.
     */
    int pin_caller;
    /* Where ranks run: `PHX_PLACE_AUTO` and its likes. */
    int placement;
    /* What that takes: the list of processing units, the extents of a mesh or torus, or a seed. */
    const size_t *numbers;
    /* How many of them. */
    size_t count;
    /*
     * A rank that has waited so many seconds says once in a run on the standard error which ranks
     * wait for which, and waits on; 0: after those in PHALANX_STALL_WARNING, else 30, or never if
     * there is a deadline; less than 0: never.
     */
    double stall_warning;
} phx_options;

/* What is known of a tagged message. */
typedef struct phx_status {
    /* The rank that sent it. */
    int source;
    /* Its tag. */
    int tag;
    /* Its elements, of the type that the receiver named; of a probe, of the sender's. */
    size_t n;
} phx_status;

/* A rank's part of a view. */
typedef struct phx_part {
    /* Its elements, to be read only. */
    const void *data;
    /* How many. */
    size_t n;
} phx_part;

/* A value and where it is. */
typedef struct phx_f64_at {
    /* The value. */
    double value;
    /* Where it is. */
    int64_t at;
} phx_f64_at;

/* A value and where it is. */
typedef struct phx_i64_at {
    /* The value. */
    int64_t value;
    /* Where it is. */
    int64_t at;
} phx_i64_at;

/*
 * What a rank runs: with its communicator, which is there until it returns, and the argument of the
 * run. It returns as any function does: nothing is thrown out of it, and no `longjmp` or
 * `pthread_exit` leaves it.
 */
typedef void (*phx_rank_fn)(phx_comm *comm, void *argument);

/*
 * What looks at a view: one part for each rank, which are there until it returns. It makes no call
 * on the communicator.
 */
typedef void (*phx_look_fn)(const phx_part *parts, int ranks, void *argument);

/* What starts calls, and waits for them. */
typedef void (*phx_scope_fn)(phx_requests *scope, void *argument);

/* A function that combines elements: see `phx_op_new_at`. */
typedef void (*phx_combine_fn)(void *out, const void *left, const void *right, size_t n,
                               void *argument);

/*
 * What writes the rank's part of a window, `n` elements at `data`. It makes no call on the
 * communicator.
 */
typedef void (*phx_update_fn)(void *data, size_t n, void *argument);

#ifdef __cplusplus
extern "C" {
#endif

/* Teams and errors */

/*
 * Runs `f` on `ranks` ranks (0: as many as there are cores) of a team that is built for it.
 *
 * Safety: `f` may be called with `argument` on several threads at once.
 */
phx_err phx_run(int ranks, phx_rank_fn f, void *argument);

/* The rank's number, from 0 on; -1 for a wrong handle. */
int phx_rank(const phx_comm *comm);

/* The number of ranks; -1 for a wrong handle. */
int phx_size(const phx_comm *comm);

/* The library's version, such as "0.1.0". */
const char *phx_version(void);

/*
 * Builds a team: starts its threads and binds them to cores. Null options are the defaults.
 *
 * Safety: `options` is null or valid; `team` is null or valid.
 */
phx_err phx_team_new(const phx_options *options, phx_team **team);

/*
 * Runs `f` once on every rank, at the same time, and returns when all have returned. The caller is
 * rank 0; all ranks compute with its floating-point control (rounding, flushing of subnormal
 * numbers). Returns the first cause if the run has failed; the team can be used again.
 *
 * Safety: `f` may be called with `argument` on several threads at once.
 */
phx_err phx_team_run(phx_team *team, phx_rank_fn f, void *argument);

/* The number of ranks; -1 for a wrong handle. */
int phx_team_size(const phx_team *team);

/* Ends a team's threads. */
phx_err phx_team_free(phx_team *team);

/*
 * Ends the run that is under way, and all later ones until `phx_team_clear_cancel` is called. From
 * any thread.
 */
phx_err phx_team_cancel(const phx_team *team);

/* Takes `phx_team_cancel` back. */
phx_err phx_team_clear_cancel(const phx_team *team);

/*
 * Makes communicators for threads that are there already (of OpenMP, pthreads, or any other), one a
 * thread: `comms[r]` is rank `r`'s. Its calls may come from any thread, one after the other. Each
 * is to be freed by `phx_comm_free`.
 *
 * Safety: `options` is null or valid. `comms` is null or has room for a pointer for each rank.
 */
phx_err phx_external(int ranks, const phx_options *options, phx_comm **comms);

/*
 * Frees a communicator that was split off, or one of a thread of one's own. On such a thread the
 * ones that were split off it go with it.
 */
phx_err phx_comm_free(phx_comm *comm);

/*
 * Copies the text of the calling thread's latest error to `text`, as far as it fits into `room`
 * bytes with the zero at its end, and returns the bytes that it takes without the zero.
 *
 * Safety: `text` is null, or has `room` bytes.
 */
size_t phx_last_error(char *text, size_t room);

/* The code in a few words. The text is there for ever. */
const char *phx_error_name(phx_err code);

/*
 * Ends the run for a reason of the program's own: all ranks' calls fail, and `phx_run` returns
 * `PHX_ERR_ARGUMENT` with this text, unless another cause came first.
 *
 * Safety: `why` is null or a string.
 */
phx_err phx_fail_at(phx_comm *comm, const char *why, const char *file, int line);

/*
 * Ends the run on purpose: the next call of every rank fails, and `phx_run` returns
 * `PHX_ERR_CANCELLED`.
 */
phx_err phx_cancel_at(phx_comm *comm, const char *file, int line);

/* Collectives */

/* Returns when all ranks have called it: what they did before is seen by all. */
phx_err phx_barrier_at(phx_comm *comm, const char *file, int line);

/*
 * Copies `root`'s `n` elements to all.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_broadcast_at(phx_comm *comm, void *buf, size_t n, phx_type ty, int root,
                         const char *file, int line);

/*
 * Combines the ranks' `n` elements, element by element in rank order, into `root`'s.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_reduce_at(phx_comm *comm, void *inout, size_t n, phx_type ty, phx_op op, int root,
                      const char *file, int line);

/*
 * Combines the ranks' `n` elements, element by element in rank order, and leaves the result in
 * everybody's buffer, the same bits.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_all_reduce_at(phx_comm *comm, void *inout, size_t n, phx_type ty, phx_op op,
                          const char *file, int line);

/*
 * Sums each of a few doubles over the ranks: `phx_all_reduce` of `PHX_F64` by `PHX_SUM`.
 *
 * Safety: `x` has `n` elements, which nobody else uses meanwhile.
 */
phx_err phx_sum_f64_at(phx_comm *comm, double *x, size_t n, const char *file, int line);

/*
 * Makes an operator of a function: `combine(out, left, right, n, argument)` stores `left[i] (+)
 * right[i]` in `out[i]` for `n` elements, where `out` may be `left` or `right`. It must be
 * associative. It is called by all ranks at the same time, each on elements of its own. Ranks that
 * reduce together must have the same function; one that is not `commutative` is applied in rank
 * order. Nothing may be thrown out of it.
 *
 * Safety: `name` is null or a string; `op` is null or valid. `combine` is such a function as long
 * as the operator is used.
 */
phx_err phx_op_new_at(phx_combine_fn combine, void *argument, int commutative, const char *name,
                      phx_op *op);

/* Frees an operator of one's own. */
phx_err phx_op_free(phx_op op);

/*
 * Leaves in rank r's buffer the combination of those of ranks 0 to r.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_scan_at(phx_comm *comm, void *inout, size_t n, phx_type ty, phx_op op, const char *file,
                    int line);

/*
 * Leaves in rank r's buffer the combination of those of ranks 0 to r-1; in rank 0's what changes
 * nothing (0 for a sum), or what it was where there is no such element.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_exclusive_scan_at(phx_comm *comm, void *inout, size_t n, phx_type ty, phx_op op,
                              const char *file, int line);

/*
 * Leaves in each element the combination of those from the last flagged one up to itself, in the
 * sequence of all ranks' elements, one rank's after the other's. There is a flag for each element;
 * one that is not 0 starts a segment. `n` may differ; elements are of a type of their own, not
 * bytes.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses meanwhile; `flags` has `n`
 * elements.
 */
phx_err phx_segmented_scan_at(phx_comm *comm, void *inout, const int *flags, size_t n, phx_type ty,
                              phx_op op, const char *file, int line);

/*
 * Leaves in each element the combination of those from the last flagged one up to the one before
 * it, as `phx_segmented_scan`; in the first of a segment what changes nothing, or what it was where
 * there is no such element.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses meanwhile; `flags` has `n`
 * elements.
 */
phx_err phx_exclusive_segmented_scan_at(phx_comm *comm, void *inout, const int *flags, size_t n,
                                        phx_type ty, phx_op op, const char *file, int line);

/*
 * Combines the ranks' `all`, of `n` elements for each rank, and leaves block r of the result in
 * rank r's `mine`.
 *
 * Safety: `all` has `n` elements of `ty` for each rank, which nobody changes meanwhile; `mine` has
 * `n` elements of `ty`, which nobody else uses meanwhile; the buffers do not overlap.
 */
phx_err phx_reduce_scatter_at(phx_comm *comm, const void *all, void *mine, size_t n, phx_type ty,
                              phx_op op, const char *file, int line);

/*
 * Combines the ranks' `all`, of `counts[r]` elements for rank r, and leaves block r of the result
 * in rank r's `mine`.
 *
 * Safety: `all` has as many elements of `ty` as `counts` sum to, which nobody changes meanwhile;
 * `mine` has as many elements of `ty` as the rank's of `counts`, which nobody else uses meanwhile;
 * `counts` has one number for each rank; the buffers do not overlap.
 */
phx_err phx_reduce_scatterv_at(phx_comm *comm, const void *all, void *mine, const size_t *counts,
                               phx_type ty, phx_op op, const char *file, int line);

/*
 * Collects the ranks' `n` elements in `root`'s `all`, in rank order. Elsewhere `all` may be null.
 * `phx_gather_in_place` does it in place.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes meanwhile; on the root, `all` has
 * `n` elements of `ty` for each rank, which nobody else uses meanwhile; the buffers do not overlap.
 */
phx_err phx_gather_at(phx_comm *comm, const void *mine, size_t n, void *all, phx_type ty, int root,
                      const char *file, int line);

/*
 * Collects the ranks' elements, `counts[r]` of rank r, in `root`'s `all`, in rank order. Elsewhere
 * `all` may be null. `counts` are the same on all ranks.
 *
 * Safety: `mine` has as many elements of `ty` as the rank's of `counts`, which nobody changes
 * meanwhile; on the root, `all` has as many elements of `ty` as `counts` sum to, which nobody else
 * uses meanwhile; `counts` has one number for each rank; the buffers do not overlap.
 */
phx_err phx_gatherv_at(phx_comm *comm, const void *mine, void *all, const size_t *counts,
                       phx_type ty, int root, const char *file, int line);

/*
 * Collects the ranks' `n` elements in `root`'s `data`, which has all blocks, its own where it
 * belongs already; the others' has their `n` elements.
 *
 * Safety: `data` has `n` elements of `ty`, which nobody else uses meanwhile. Or, on the root, `n`
 * for each rank.
 */
phx_err phx_gather_in_place_at(phx_comm *comm, void *data, size_t n, phx_type ty, int root,
                               const char *file, int line);

/*
 * Hands `root`'s `all`, of `n` elements for each rank, out: block r to rank r's `mine`. Elsewhere
 * `all` may be null.
 *
 * Safety: On the root, `all` has `n` elements of `ty` for each rank, which nobody changes
 * meanwhile; `mine` has `n` elements of `ty`, which nobody else uses meanwhile; the buffers do not
 * overlap.
 */
phx_err phx_scatter_at(phx_comm *comm, const void *all, void *mine, size_t n, phx_type ty, int root,
                       const char *file, int line);

/*
 * Hands `root`'s `all`, of `counts[r]` elements for rank r, out: block r to rank r's `mine`.
 * Elsewhere `all` may be null; `counts` are the same on all ranks.
 *
 * Safety: On the root, `all` has as many elements of `ty` as `counts` sum to, which nobody changes
 * meanwhile; `mine` has as many elements of `ty` as the rank's of `counts`, which nobody else uses
 * meanwhile; `counts` has one number for each rank; the buffers do not overlap.
 */
phx_err phx_scatterv_at(phx_comm *comm, const void *all, void *mine, const size_t *counts,
                        phx_type ty, int root, const char *file, int line);

/*
 * Collects the ranks' `n` elements in everybody's `all`, in rank order. With `PHX_IN_PLACE` for
 * `mine`, on all ranks, the own block is in `all` already, where it belongs.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes meanwhile; `all` has `n` elements
 * of `ty` for each rank, which nobody else uses meanwhile; the buffers do not overlap.
 */
phx_err phx_all_gather_at(phx_comm *comm, const void *mine, size_t n, void *all, phx_type ty,
                          const char *file, int line);

/*
 * Collects the ranks' elements, `counts[r]` of rank r, in everybody's `all`, in rank order.
 *
 * Safety: `mine` has as many elements of `ty` as the rank's of `counts`, which nobody changes
 * meanwhile; `all` has as many elements of `ty` as `counts` sum to, which nobody else uses
 * meanwhile; `counts` has one number for each rank; the buffers do not overlap.
 */
phx_err phx_all_gatherv_at(phx_comm *comm, const void *mine, void *all, const size_t *counts,
                           phx_type ty, const char *file, int line);

/*
 * Sends block r of `send` to rank r, and receives rank r's as block r of `recv`, of `n` elements
 * each. With `PHX_IN_PLACE` for `send`, on all ranks, the blocks of `recv` change places.
 *
 * Safety: `send` has `n` elements of `ty` for each rank, which nobody changes meanwhile; `recv` has
 * `n` elements of `ty` for each rank, which nobody else uses meanwhile; the buffers do not overlap.
 */
phx_err phx_all_to_all_at(phx_comm *comm, const void *send, void *recv, size_t n, phx_type ty,
                          const char *file, int line);

/*
 * Sends `send_counts[r]` elements of `send` to rank r, and receives `recv_counts[r]` from it in
 * `recv`. Blocks lie one after the other.
 *
 * Safety: `send` has as many elements of `ty` as `send_counts` sum to, which nobody changes
 * meanwhile; `send_counts` has one number for each rank; `recv` has as many elements of `ty` as
 * `recv_counts` sum to, which nobody else uses meanwhile; `recv_counts` has one number for each
 * rank; the buffers do not overlap.
 */
phx_err phx_all_to_allv_at(phx_comm *comm, const void *send, const size_t *send_counts, void *recv,
                           const size_t *recv_counts, phx_type ty, const char *file, int line);

/*
 * Passes `n` elements on by `by` ranks, in a circle: rank r's go to rank r + by.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_shift_at(phx_comm *comm, void *buf, size_t n, phx_type ty, int by, const char *file,
                     int line);

/*
 * The sum of a vector of which this rank has `n` elements, from number `first` on: the same bits
 * however many ranks there are.
 *
 * Safety: `x` has `n` elements; `sum` is null or valid.
 */
phx_err phx_fixed_sum_at(phx_comm *comm, const double *x, size_t n, size_t first, double *sum,
                         const char *file, int line);

/*
 * The dot product of two vectors, as `phx_fixed_sum_at`.
 *
 * Safety: `x` has `n` elements; `y` has `n` elements; `dot` is null or valid.
 */
phx_err phx_fixed_dot_at(phx_comm *comm, const double *x, const double *y, size_t n, size_t first,
                         double *dot, const char *file, int line);

/* Messages */

/*
 * Sends `n` elements to rank `to`, which receives as many of the same type by `phx_recv`. Up to
 * 1024 bytes are copied; with more, or with eight messages unread, the call waits for the receiver.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody changes meanwhile.
 */
phx_err phx_send_at(phx_comm *comm, const void *buf, size_t n, phx_type ty, int to,
                    const char *file, int line);

/*
 * Receives `n` elements from rank `source`: exactly as many as it sends.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_recv_at(phx_comm *comm, void *buf, size_t n, phx_type ty, int source, const char *file,
                    int line);

/*
 * Sends `sent` elements to rank `to` and receives `received` from rank `source`, at the same time.
 *
 * Safety: `send` has `sent` elements of `ty`, which nobody changes meanwhile; `recv` has `received`
 * elements of `ty`, which nobody else uses meanwhile; the buffers do not overlap.
 */
phx_err phx_exchange_at(phx_comm *comm, const void *send, size_t sent, int to, void *recv,
                        size_t received, int source, phx_type ty, const char *file, int line);

/*
 * Sends `n` elements to rank `to` under a tag of 0 or more; any number may be under way. Up to 16
 * KiB are kept until they are received, unless 64 MiB wait at the receiver; with more, the call
 * waits for the receiver.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody changes meanwhile.
 */
phx_err phx_send_tagged_at(phx_comm *comm, const void *buf, size_t n, phx_type ty, int to, int tag,
                           const char *file, int line);

/*
 * Receives a message of at most `n` elements by source (or `PHX_ANY_SOURCE`) and tag (or
 * `PHX_ANY_TAG`). What it was is in `status`, if that is not null.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses meanwhile; `status` is null or
 * valid.
 */
phx_err phx_recv_tagged_at(phx_comm *comm, void *buf, size_t n, phx_type ty, int source, int tag,
                           phx_status *status, const char *file, int line);

/*
 * Waits until there is a message of this source and tag, and says what it is, without receiving it.
 * Of `PHX_BYTES(n)`, its elements are bytes.
 *
 * Safety: `status` is null or valid.
 */
phx_err phx_probe_at(phx_comm *comm, int source, int tag, phx_status *status, const char *file,
                     int line);

/*
 * Whether there is a message of this source and tag: `found` is 1 or 0; `status` says what it is,
 * if there is. Does not wait, and receives nothing.
 *
 * Safety: `found` is null or valid; `status` is null or valid.
 */
phx_err phx_try_probe_at(phx_comm *comm, int source, int tag, int *found, phx_status *status,
                         const char *file, int line);

/* Groups, grids, views */

/*
 * Splits the ranks into groups of one color each (-1: none, and a null part); a rank's number in
 * its group is by key, then by its number here. Freed by `phx_comm_free`, or with this one.
 *
 * Safety: `part` is null or valid.
 */
phx_err phx_split_at(phx_comm *comm, int color, int key, phx_comm **part, const char *file,
                     int line);

/*
 * Splits the ranks by where they run: `PHX_LEVEL_CORE`, `_CACHE`, `_NUMA` or `_PACKAGE`. Of threads
 * of the user's own it is not known, and all stay together.
 *
 * Safety: `part` is null or valid.
 */
phx_err phx_split_level_at(phx_comm *comm, int level, phx_comm **part, const char *file, int line);

/*
 * The communicator as a grid of `dimensions` dimensions with the extents `extents` (0: chosen), the
 * last the fastest; `periodic` says which wrap around. Ranks keep their numbers; nothing is sent.
 *
 * Safety: `extents` has `dimensions` elements; `periodic` has `dimensions` elements; `cart` is null
 * or valid.
 */
phx_err phx_cart_at(phx_comm *comm, int dimensions, const int *extents, const int *periodic,
                    phx_cart **cart, const char *file, int line);

/*
 * The extents of the grid, one for each of its dimensions.
 *
 * Safety: `extents` is null or has room for one number for each dimension.
 */
phx_err phx_cart_extents(const phx_cart *cart, int *extents);

/*
 * Where a rank is in the grid; the own one for rank -1.
 *
 * Safety: `coordinates` is null or has room for one number for each dimension.
 */
phx_err phx_cart_coordinates(const phx_cart *cart, int rank, int *coordinates);

/*
 * The rank that is `by` steps from this one in a dimension; -1 if there is none, or for a wrong
 * handle or dimension.
 */
int phx_cart_neighbour(const phx_cart *cart, int dimension, int by);

/* Frees a grid. Its communicator stays. Those that are left are freed with their communicator. */
phx_err phx_cart_free(phx_cart *cart);

/*
 * Fills the halo of the rank's part of a field from its neighbours. The part has `extents` own
 * cells, in row-major order, with `width` cells of halo around them in every dimension; `corners`:
 * the corners, too. All ranks call it.
 *
 * Safety: `field` has as many elements of `ty` as the cart has cells, which nobody else uses
 * meanwhile; `extents` has as many elements as the cart has dimensions. Those are the cells of own
 * part and halo.
 */
phx_err phx_exchange_halo_at(const phx_cart *cart, void *field, phx_type ty, const size_t *extents,
                             size_t width, int corners, const char *file, int line);

/*
 * Fills the halos of several fields of one shape at once, as `phx_exchange_halo` that of one, with
 * a width of its own in each dimension.
 *
 * Safety: `fields` has `n` elements, which nobody else uses meanwhile; `extents` has as many
 * elements as the cart has dimensions; `widths` has as many elements as the cart has dimensions.
 * Each field has the cells of own part and halo, of `ty`, which nobody else uses meanwhile.
 */
phx_err phx_exchange_halos_at(const phx_cart *cart, void *const *fields, int n, phx_type ty,
                              const size_t *extents, const size_t *widths, int corners,
                              const char *file, int line);

/*
 * The part of the grid's ranks that differ from this one in the dimensions with `keep[d]` only, as
 * a communicator of its own, to be freed by `phx_comm_free`. All ranks call it.
 *
 * Safety: `keep` has as many elements as the cart has dimensions; `part` is null or valid.
 */
phx_err phx_cart_sub_at(const phx_cart *cart, const int *keep, phx_comm **part, const char *file,
                        int line);

/*
 * Shows `n` elements to all ranks, and calls `look` with everybody's, where they are: an all-gather
 * that copies nothing. Returns when all ranks' functions have returned. Lengths may differ.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes meanwhile. `look` may be called
 * with `argument`.
 */
phx_err phx_with_peers_at(phx_comm *comm, const void *mine, size_t n, phx_type ty, phx_look_fn look,
                          void *argument, const char *file, int line);

/*
 * Shows `root`'s `n` elements to all ranks: `look` gets one part, the root's, where it is. A
 * broadcast that copies nothing. Elsewhere `data` and `n` are not looked at.
 *
 * Safety: On the root, `data` has `n` elements of `ty`, which nobody changes meanwhile. `look` may
 * be called with `argument`.
 */
phx_err phx_with_root_at(phx_comm *comm, const void *data, size_t n, phx_type ty, int root,
                         phx_look_fn look, void *argument, const char *file, int line);

/* Neighbourhoods */

/*
 * Makes the plan by which this rank gets the elements `indices` of a vector of `total` elements,
 * which the ranks have in blocks: rank r those from r total / p on, the first ranks one more where
 * that does not divide. Ghost k is a copy of element `indices[k]`. All ranks call it.
 *
 * Safety: `indices` has `n` elements; `plan` is null or valid.
 */
phx_err phx_plan_blocks_at(phx_comm *comm, size_t total, const size_t *indices, size_t n,
                           phx_plan **plan, const char *file, int line);

/*
 * Makes the plan by lists: of this rank's `owned` elements, those that each of `givers` ranks reads
 * (`give_counts[k]` numbers in `give` for rank `give_ranks[k]`, one list after the other); and of
 * its `ghosts` the places to which the elements of each of `wanters` ranks go, in the order in
 * which that rank lists them. All ranks call it.
 *
 * Safety: `give_ranks` has `givers` elements; `give_counts` has `givers` elements; `want_ranks` has
 * `wanters` elements; `want_counts` has `wanters` elements; `plan` is null or valid. `give` and
 * `want` have as many numbers as their counts sum to.
 */
phx_err phx_plan_lists_at(phx_comm *comm, size_t owned, int givers, const int *give_ranks,
                          const size_t *give_counts, const size_t *give, size_t ghosts, int wanters,
                          const int *want_ranks, const size_t *want_counts, const size_t *want,
                          phx_plan **plan, const char *file, int line);

/*
 * Fills `ghosts` with copies of the owners' elements. All ranks call it.
 *
 * Safety: `owned` has as many elements of `ty` as the plan has owned, which nobody changes
 * meanwhile; `ghosts` has as many elements of `ty` as the plan has ghosts, which nobody else uses
 * meanwhile; the buffers do not overlap.
 */
phx_err phx_plan_gather_at(const phx_plan *plan, const void *owned, void *ghosts, phx_type ty,
                           const char *file, int line);

/*
 * Adds the ghosts to the owners' elements: of `PHX_F64`, `PHX_F32`, `PHX_I32` or `PHX_I64`. All
 * ranks call it.
 *
 * Safety: `ghosts` has as many elements of `ty` as the plan has ghosts, which nobody changes
 * meanwhile; `owned` has as many elements of `ty` as the plan has owned, which nobody else uses
 * meanwhile; the buffers do not overlap.
 */
phx_err phx_plan_scatter_add_at(const phx_plan *plan, const void *ghosts, void *owned, phx_type ty,
                                const char *file, int line);

/* How many elements the rank owns, by a plan; 0 for a wrong handle. */
size_t phx_plan_owned(const phx_plan *plan);

/* How many ghosts the rank has, by a plan; 0 for a wrong handle. */
size_t phx_plan_ghosts(const phx_plan *plan);

/* Frees a plan. Those that are left are freed with their communicator. */
phx_err phx_plan_free(phx_plan *plan);

/* Requests */

/*
 * Runs `f` with a scope, in which calls on the communicator are started and waited for; what it has
 * not waited for is complete when this returns. Buffers of started calls are not touched before;
 * after a failed call no other rank reaches them.
 *
 * Safety: `f` may be called with `argument`; buffers of the calls that it starts are valid until
 * they were waited for, or this has returned, or a call has failed.
 */
phx_err phx_requests_at(phx_comm *comm, phx_scope_fn f, void *argument, const char *file, int line);

/*
 * Starts `phx_barrier`, which returns when all ranks have called it: what they did before is seen
 * by all. If `persistent`, sets it up.
 *
 * Safety: `request` is null or valid.
 */
phx_err phx_start_barrier_at(phx_requests *scope, int persistent, phx_request *request,
                             const char *file, int line);

/*
 * Starts `phx_broadcast`, which copies `root`'s `n` elements to all. If `persistent`, sets it up.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_broadcast_at(phx_requests *scope, void *buf, size_t n, phx_type ty, int root,
                               int persistent, phx_request *request, const char *file, int line);

/*
 * Starts `phx_reduce`, which combines the ranks' `n` elements, element by element in rank order,
 * into `root`'s. If `persistent`, sets it up.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_reduce_at(phx_requests *scope, void *inout, size_t n, phx_type ty, phx_op op,
                            int root, int persistent, phx_request *request, const char *file,
                            int line);

/*
 * Starts `phx_all_reduce`, which combines the ranks' `n` elements, element by element in rank
 * order, and leaves the result in everybody's buffer, the same bits. If `persistent`, sets it up.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_all_reduce_at(phx_requests *scope, void *inout, size_t n, phx_type ty, phx_op op,
                                int persistent, phx_request *request, const char *file, int line);

/*
 * Starts `phx_scan`, which leaves in rank r's buffer the combination of those of ranks 0 to r. If
 * `persistent`, sets it up.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_scan_at(phx_requests *scope, void *inout, size_t n, phx_type ty, phx_op op,
                          int persistent, phx_request *request, const char *file, int line);

/*
 * Starts `phx_exclusive_scan`, which leaves in rank r's buffer the combination of those of ranks 0
 * to r-1; in rank 0's what changes nothing (0 for a sum), or what it was where there is no such
 * element. If `persistent`, sets it up.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_exclusive_scan_at(phx_requests *scope, void *inout, size_t n, phx_type ty,
                                    phx_op op, int persistent, phx_request *request,
                                    const char *file, int line);

/*
 * Starts `phx_segmented_scan`, which leaves in each element the combination of those from the last
 * flagged one up to itself, in the sequence of all ranks' elements, one rank's after the other's.
 * If `persistent`, sets it up.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `flags` has `n` elements; `request` is null or valid.
 */
phx_err phx_start_segmented_scan_at(phx_requests *scope, void *inout, const int *flags, size_t n,
                                    phx_type ty, phx_op op, int persistent, phx_request *request,
                                    const char *file, int line);

/*
 * Starts `phx_exclusive_segmented_scan`, which leaves in each element the combination of those from
 * the last flagged one up to the one before it, as `phx_segmented_scan`; in the first of a segment
 * what changes nothing, or what it was where there is no such element. If `persistent`, sets it up.
 *
 * Safety: `inout` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `flags` has `n` elements; `request` is null or valid.
 */
phx_err phx_start_exclusive_segmented_scan_at(phx_requests *scope, void *inout, const int *flags,
                                              size_t n, phx_type ty, phx_op op, int persistent,
                                              phx_request *request, const char *file, int line);

/*
 * Starts `phx_reduce_scatter`, which combines the ranks' `all`, of `n` elements for each rank, and
 * leaves block r of the result in rank r's `mine`. If `persistent`, sets it up. If `counts` is not
 * null, it is copied, and blocks are of `counts[r]` elements.
 *
 * Safety: `all` has `n` elements of `ty` for each rank, which nobody changes until the call was
 * waited for; `mine` has `n` elements of `ty`, which nobody else uses until the call was waited
 * for; `counts` is null or has one number for each rank; `request` is null or valid; the buffers do
 * not overlap.
 */
phx_err phx_start_reduce_scatter_at(phx_requests *scope, const void *all, void *mine, size_t n,
                                    const size_t *counts, phx_type ty, phx_op op, int persistent,
                                    phx_request *request, const char *file, int line);

/*
 * Starts `phx_gather`, which collects the ranks' `n` elements in `root`'s `all`, in rank order. If
 * `persistent`, sets it up. If `counts` is not null, it is copied, and blocks are of `counts[r]`
 * elements.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes until the call was waited for; on
 * the root, `all` has `n` elements of `ty` for each rank, which nobody else uses until the call was
 * waited for; `counts` is null or has one number for each rank; `request` is null or valid; the
 * buffers do not overlap.
 */
phx_err phx_start_gather_at(phx_requests *scope, const void *mine, size_t n, void *all,
                            const size_t *counts, phx_type ty, int root, int persistent,
                            phx_request *request, const char *file, int line);

/*
 * Starts `phx_scatter`, which hands `root`'s `all`, of `n` elements for each rank, out: block r to
 * rank r's `mine`. If `persistent`, sets it up. If `counts` is not null, it is copied, and blocks
 * are of `counts[r]` elements.
 *
 * Safety: On the root, `all` has `n` elements of `ty` for each rank, which nobody changes until the
 * call was waited for; `mine` has `n` elements of `ty`, which nobody else uses until the call was
 * waited for; `counts` is null or has one number for each rank; `request` is null or valid; the
 * buffers do not overlap.
 */
phx_err phx_start_scatter_at(phx_requests *scope, const void *all, void *mine, size_t n,
                             const size_t *counts, phx_type ty, int root, int persistent,
                             phx_request *request, const char *file, int line);

/*
 * Starts `phx_all_gather`, which collects the ranks' `n` elements in everybody's `all`, in rank
 * order. If `persistent`, sets it up. If `counts` is not null, it is copied, and blocks are of
 * `counts[r]` elements.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes until the call was waited for;
 * `all` has `n` elements of `ty` for each rank, which nobody else uses until the call was waited
 * for; `counts` is null or has one number for each rank; `request` is null or valid; the buffers do
 * not overlap.
 */
phx_err phx_start_all_gather_at(phx_requests *scope, const void *mine, size_t n, void *all,
                                const size_t *counts, phx_type ty, int persistent,
                                phx_request *request, const char *file, int line);

/*
 * Starts `phx_all_to_all`, which sends block r of `send` to rank r, and receives rank r's as block
 * r of `recv`, of `n` elements each. If `persistent`, sets it up.
 *
 * Safety: `send` has `n` elements of `ty` for each rank, which nobody changes until the call was
 * waited for; `recv` has `n` elements of `ty` for each rank, which nobody else uses until the call
 * was waited for; `request` is null or valid; the buffers do not overlap.
 */
phx_err phx_start_all_to_all_at(phx_requests *scope, const void *send, void *recv, size_t n,
                                phx_type ty, int persistent, phx_request *request, const char *file,
                                int line);

/*
 * Starts `phx_all_to_allv`, which sends `send_counts[r]` elements of `send` to rank r, and receives
 * `recv_counts[r]` from it in `recv`. If `persistent`, sets it up.
 *
 * Safety: `send` has as many elements of `ty` as `send_counts` sum to, which nobody changes until
 * the call was waited for; `send_counts` has one number for each rank; `recv` has as many elements
 * of `ty` as `recv_counts` sum to, which nobody else uses until the call was waited for;
 * `recv_counts` has one number for each rank; `request` is null or valid; the buffers do not
 * overlap.
 */
phx_err phx_start_all_to_allv_at(phx_requests *scope, const void *send, const size_t *send_counts,
                                 void *recv, const size_t *recv_counts, phx_type ty, int persistent,
                                 phx_request *request, const char *file, int line);

/*
 * Starts `phx_shift`, which passes `n` elements on by `by` ranks, in a circle: rank r's go to rank
 * r + by. If `persistent`, sets it up.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_shift_at(phx_requests *scope, void *buf, size_t n, phx_type ty, int by,
                           int persistent, phx_request *request, const char *file, int line);

/*
 * Starts a tagged send; if `persistent`, sets it up.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody changes until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_send_at(phx_requests *scope, const void *buf, size_t n, phx_type ty, int to,
                          int tag, int persistent, phx_request *request, const char *file,
                          int line);

/*
 * Starts a tagged receive; if `persistent`, sets it up.
 *
 * Safety: `buf` has `n` elements of `ty`, which nobody else uses until the call was waited for;
 * `request` is null or valid.
 */
phx_err phx_start_recv_at(phx_requests *scope, void *buf, size_t n, phx_type ty, int source,
                          int tag, int persistent, phx_request *request, const char *file,
                          int line);

/*
 * Starts a call that was set up, and is not under way.
 *
 * Safety: As the call that set it up says.
 */
phx_err phx_start_at(phx_requests *scope, phx_request request, const char *file, int line);

/*
 * Waits until a started call is complete. Of a receive, `status` says what has come. One that was
 * set up may be started again; if it is not under way this returns at once.
 *
 * Safety: `status` is null or valid.
 */
phx_err phx_wait_at(phx_requests *scope, phx_request request, phx_status *status, const char *file,
                    int line);

/*
 * Waits for `n` requests.
 *
 * Safety: `requests` has `n` elements.
 */
phx_err phx_wait_all_at(phx_requests *scope, const phx_request *requests, size_t n,
                        const char *file, int line);

/*
 * Waits until one of `n` requests is complete, completes it, and says which: its place in the list,
 * or `n` if none of them is under way (numbers that are 0 are passed over).
 *
 * Safety: `requests` has `n` elements; `which` is null or valid; `status` is null or valid.
 */
phx_err phx_wait_any_at(phx_requests *scope, const phx_request *requests, size_t n, size_t *which,
                        phx_status *status, const char *file, int line);

/*
 * Whether a started call is complete: `complete` is 1 or 0. It is still to be waited for. As any
 * call, it moves all that the rank has started: ranks may test in different orders.
 *
 * Safety: `complete` is null or valid.
 */
phx_err phx_test_at(phx_requests *scope, phx_request request, int *complete, const char *file,
                    int line);

/*
 * The scope's communicator, for calls that wait: a handle of its own, until the scope ends. (That
 * with which the scope was begun is in use by it.) Null for a wrong handle.
 */
phx_comm *phx_requests_comm(phx_requests *scope);

/* Windows */

/*
 * Makes a window of which this rank's part has `n` elements, all zero bits. Lengths may differ. All
 * ranks call it.
 *
 * Safety: `window` is null or valid.
 */
phx_err phx_window_new_at(phx_comm *comm, size_t n, phx_type ty, phx_window **window,
                          const char *file, int line);

/*
 * Where `rank`'s part of a window is, to be read only (rank -1: the own one): until the window's
 * next update, or its end.
 *
 * Safety: `data` is null or valid; `n` is null or valid.
 */
phx_err phx_window_part(const phx_window *window, int rank, const void **data, size_t *n);

/*
 * Calls `f` with the rank's part of a window, which it writes, when all ranks have come: nobody
 * reads any part then. Returns when all ranks' functions have returned. All ranks call it.
 *
 * Safety: `f` may be called with `argument`; nobody uses what `phx_window_part` has given any more.
 */
phx_err phx_window_update_at(phx_window *window, phx_update_fn f, void *argument, const char *file,
                             int line);

/*
 * Frees the rank's hold on a window: its memory stays as long as another rank has one. Those that
 * are left are freed with their communicator.
 */
phx_err phx_window_free(phx_window *window);

/* Lengths that others know */

/*
 * Collects all ranks' elements, of any lengths, in rank order. `all` is freed by `phx_free`;
 * `counts[r]` is the number of rank r's.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes meanwhile; `all` is null or valid;
 * `counts` is null or has room for one number for each rank.
 */
phx_err phx_all_gather_vec_at(phx_comm *comm, const void *mine, size_t n, phx_type ty, void **all,
                              size_t *counts, const char *file, int line);

/*
 * Collects all ranks' elements, of any lengths, in rank order on `root`. `all` is freed by
 * `phx_free`; `counts[r]` is the number of rank r's. Elsewhere `all` is null afterwards.
 *
 * Safety: `mine` has `n` elements of `ty`, which nobody changes meanwhile; `all` is null or valid;
 * `counts` is null or has room for one number for each rank.
 */
phx_err phx_gather_vec_at(phx_comm *comm, const void *mine, size_t n, phx_type ty, int root,
                          void **all, size_t *counts, const char *file, int line);

/*
 * Sends `counts[r]` elements to each rank r, and collects what all send to this one. `all` is freed
 * by `phx_free`; `received[r]` is the number of rank r's.
 *
 * Safety: `send` has as many elements of `ty` as `counts` sum to, which nobody changes meanwhile;
 * `counts` has one number for each rank; `all` is null or valid; `received` is null or has room for
 * one number for each rank.
 */
phx_err phx_all_to_all_vec_at(phx_comm *comm, const void *send, const size_t *counts, phx_type ty,
                              void **all, size_t *received, const char *file, int line);

/*
 * Receives a tagged message of any length. `data` is freed by `phx_free`; `status` has the number
 * of its elements.
 *
 * Safety: `data` is null or valid; `status` is null or valid.
 */
phx_err phx_recv_vec_at(phx_comm *comm, phx_type ty, int source, int tag, void **data,
                        phx_status *status, const char *file, int line);

/* Frees what `phx_gather_vec` and its likes have allocated. Null is nothing. */
phx_err phx_free(void *data);

/* Choices */

/*
 * Chooses how later collectives of the communicator are done. `name`: null or "auto", the library's
 * choice; "ring", "tree", "hypercube"; "mesh", of so many `extents`, which multiply to the number
 * of ranks; or the name of an algorithm, which takes extents if it is on a mesh. Nothing is sent;
 * all ranks choose the same. Started calls are done as ever.
 *
 * Safety: `name` is null or a string; `extents` has `dimensions` elements.
 */
phx_err phx_choose_at(phx_comm *comm, const char *name, int dimensions, const int *extents,
                      const char *file, int line);

/*
 * Chooses the order in which later reductions of the communicator combine: `PHX_ORDER_ANY` or
 * `PHX_ORDER_FIXED`. Nothing is sent; all ranks choose the same.
 */
phx_err phx_order_at(phx_comm *comm, int order, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
