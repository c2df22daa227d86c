/*
 * The C interface of Phalanx: ranks are threads that run one function and exchange arrays by
 * messages and collectives. docs/c.md has a running example for each function.
 *
 * Each function returns PHX_OK or an error; phx_last_error has the text, which names both ranks,
 * both functions, and the lines of the calls. C99, C11, C++17.
 */
#ifndef PHALANX_H
#define PHALANX_H

#include "phalanx_functions.h"

/* Elements of n bytes each, of any meaning. */
#define PHX_BYTES(n) (((phx_type)(n) << 8) | PHX_KIND_BYTES)
/* For a collective's first buffer: the input is in the output already. */
#define PHX_IN_PLACE ((void *)(intptr_t)-1)

/* Returns from the calling function, which returns phx_err, with the error of `call`, if it is
 * one. */
#define PHX_CHECK(call)                                                                            \
    do {                                                                                           \
        phx_err phx_code_ = (call);                                                                \
        if (phx_code_ != PHX_OK)                                                                   \
            return phx_code_;                                                                      \
    } while (0)

/* The same in a function that returns nothing, such as a rank's: phx_run returns the error. */
#define PHX_CHECK_VOID(call)                                                                       \
    do {                                                                                           \
        if ((call) != PHX_OK)                                                                      \
            return;                                                                                \
    } while (0)

/* The calls, with the line in which each stands. A program that passes lines of its own, or needs
 * a function's address, uses the functions behind them, whose names end in _at. */
#ifndef PHX_NO_MACROS
#define PHX_HERE __FILE__, __LINE__
#define phx_fail(comm, why) phx_fail_at(comm, why, PHX_HERE)
#define phx_cancel(comm) phx_cancel_at(comm, PHX_HERE)
#define phx_barrier(comm) phx_barrier_at(comm, PHX_HERE)
#define phx_broadcast(comm, buf, n, type, root) phx_broadcast_at(comm, buf, n, type, root, PHX_HERE)
#define phx_reduce(comm, inout, n, type, op, root) \
    phx_reduce_at(comm, inout, n, type, op, root, PHX_HERE)
#define phx_all_reduce(comm, inout, n, type, op) \
    phx_all_reduce_at(comm, inout, n, type, op, PHX_HERE)
#define phx_sum_f64(comm, x, n) phx_sum_f64_at(comm, x, n, PHX_HERE)
#define phx_scan(comm, inout, n, type, op) phx_scan_at(comm, inout, n, type, op, PHX_HERE)
#define phx_exclusive_scan(comm, inout, n, type, op) \
    phx_exclusive_scan_at(comm, inout, n, type, op, PHX_HERE)
#define phx_segmented_scan(comm, inout, flags, n, type, op) \
    phx_segmented_scan_at(comm, inout, flags, n, type, op, PHX_HERE)
#define phx_exclusive_segmented_scan(comm, inout, flags, n, type, op) \
    phx_exclusive_segmented_scan_at(comm, inout, flags, n, type, op, PHX_HERE)
#define phx_reduce_scatter(comm, all, mine, n, type, op) \
    phx_reduce_scatter_at(comm, all, mine, n, type, op, PHX_HERE)
#define phx_reduce_scatterv(comm, all, mine, counts, type, op) \
    phx_reduce_scatterv_at(comm, all, mine, counts, type, op, PHX_HERE)
#define phx_gather(comm, mine, n, all, type, root) \
    phx_gather_at(comm, mine, n, all, type, root, PHX_HERE)
#define phx_gatherv(comm, mine, all, counts, type, root) \
    phx_gatherv_at(comm, mine, all, counts, type, root, PHX_HERE)
#define phx_gather_in_place(comm, data, n, type, root) \
    phx_gather_in_place_at(comm, data, n, type, root, PHX_HERE)
#define phx_scatter(comm, all, mine, n, type, root) \
    phx_scatter_at(comm, all, mine, n, type, root, PHX_HERE)
#define phx_scatterv(comm, all, mine, counts, type, root) \
    phx_scatterv_at(comm, all, mine, counts, type, root, PHX_HERE)
#define phx_all_gather(comm, mine, n, all, type) \
    phx_all_gather_at(comm, mine, n, all, type, PHX_HERE)
#define phx_all_gatherv(comm, mine, all, counts, type) \
    phx_all_gatherv_at(comm, mine, all, counts, type, PHX_HERE)
#define phx_all_to_all(comm, send, recv, n, type) \
    phx_all_to_all_at(comm, send, recv, n, type, PHX_HERE)
#define phx_all_to_allv(comm, send, send_counts, recv, recv_counts, type) \
    phx_all_to_allv_at(comm, send, send_counts, recv, recv_counts, type, PHX_HERE)
#define phx_shift(comm, buf, n, type, by) phx_shift_at(comm, buf, n, type, by, PHX_HERE)
#define phx_fixed_sum(comm, x, n, first, sum) phx_fixed_sum_at(comm, x, n, first, sum, PHX_HERE)
#define phx_fixed_dot(comm, x, y, n, first, dot) \
    phx_fixed_dot_at(comm, x, y, n, first, dot, PHX_HERE)
#define phx_send(comm, buf, n, type, to) phx_send_at(comm, buf, n, type, to, PHX_HERE)
#define phx_recv(comm, buf, n, type, source) phx_recv_at(comm, buf, n, type, source, PHX_HERE)
#define phx_exchange(comm, send, sent, to, recv, received, source, type) \
    phx_exchange_at(comm, send, sent, to, recv, received, source, type, PHX_HERE)
#define phx_send_tagged(comm, buf, n, type, to, tag) \
    phx_send_tagged_at(comm, buf, n, type, to, tag, PHX_HERE)
#define phx_recv_tagged(comm, buf, n, type, source, tag, status) \
    phx_recv_tagged_at(comm, buf, n, type, source, tag, status, PHX_HERE)
#define phx_probe(comm, source, tag, status) phx_probe_at(comm, source, tag, status, PHX_HERE)
#define phx_try_probe(comm, source, tag, found, status) \
    phx_try_probe_at(comm, source, tag, found, status, PHX_HERE)
#define phx_split(comm, color, key, part) phx_split_at(comm, color, key, part, PHX_HERE)
#define phx_split_level(comm, level, part) phx_split_level_at(comm, level, part, PHX_HERE)
#define phx_cart(comm, dimensions, extents, periodic, cart) \
    phx_cart_at(comm, dimensions, extents, periodic, cart, PHX_HERE)
#define phx_exchange_halo(cart, field, type, extents, width, corners) \
    phx_exchange_halo_at(cart, field, type, extents, width, corners, PHX_HERE)
#define phx_exchange_halos(cart, fields, n, type, extents, widths, corners) \
    phx_exchange_halos_at(cart, fields, n, type, extents, widths, corners, PHX_HERE)
#define phx_cart_sub(cart, keep, part) phx_cart_sub_at(cart, keep, part, PHX_HERE)
#define phx_with_peers(comm, mine, n, type, look, argument) \
    phx_with_peers_at(comm, mine, n, type, look, argument, PHX_HERE)
#define phx_with_root(comm, data, n, type, root, look, argument) \
    phx_with_root_at(comm, data, n, type, root, look, argument, PHX_HERE)
#define phx_plan_blocks(comm, total, indices, n, plan) \
    phx_plan_blocks_at(comm, total, indices, n, plan, PHX_HERE)
#define phx_plan_lists(comm, owned, givers, give_ranks, give_counts, give, ghosts, wanters, \
                       want_ranks, want_counts, want, plan) \
    phx_plan_lists_at(comm, owned, givers, give_ranks, give_counts, give, ghosts, wanters, \
                      want_ranks, want_counts, want, plan, PHX_HERE)
#define phx_plan_gather(plan, owned, ghosts, type) \
    phx_plan_gather_at(plan, owned, ghosts, type, PHX_HERE)
#define phx_plan_scatter_add(plan, ghosts, owned, type) \
    phx_plan_scatter_add_at(plan, ghosts, owned, type, PHX_HERE)
#define phx_requests(comm, f, argument) phx_requests_at(comm, f, argument, PHX_HERE)
#define phx_start_barrier(scope, request) phx_start_barrier_at(scope, 0, request, PHX_HERE)
#define phx_persistent_barrier(scope, request) phx_start_barrier_at(scope, 1, request, PHX_HERE)
#define phx_start_broadcast(scope, buf, n, type, root, request) \
    phx_start_broadcast_at(scope, buf, n, type, root, 0, request, PHX_HERE)
#define phx_persistent_broadcast(scope, buf, n, type, root, request) \
    phx_start_broadcast_at(scope, buf, n, type, root, 1, request, PHX_HERE)
#define phx_start_reduce(scope, inout, n, type, op, root, request) \
    phx_start_reduce_at(scope, inout, n, type, op, root, 0, request, PHX_HERE)
#define phx_persistent_reduce(scope, inout, n, type, op, root, request) \
    phx_start_reduce_at(scope, inout, n, type, op, root, 1, request, PHX_HERE)
#define phx_start_all_reduce(scope, inout, n, type, op, request) \
    phx_start_all_reduce_at(scope, inout, n, type, op, 0, request, PHX_HERE)
#define phx_persistent_all_reduce(scope, inout, n, type, op, request) \
    phx_start_all_reduce_at(scope, inout, n, type, op, 1, request, PHX_HERE)
#define phx_start_scan(scope, inout, n, type, op, request) \
    phx_start_scan_at(scope, inout, n, type, op, 0, request, PHX_HERE)
#define phx_persistent_scan(scope, inout, n, type, op, request) \
    phx_start_scan_at(scope, inout, n, type, op, 1, request, PHX_HERE)
#define phx_start_exclusive_scan(scope, inout, n, type, op, request) \
    phx_start_exclusive_scan_at(scope, inout, n, type, op, 0, request, PHX_HERE)
#define phx_persistent_exclusive_scan(scope, inout, n, type, op, request) \
    phx_start_exclusive_scan_at(scope, inout, n, type, op, 1, request, PHX_HERE)
#define phx_start_segmented_scan(scope, inout, flags, n, type, op, request) \
    phx_start_segmented_scan_at(scope, inout, flags, n, type, op, 0, request, PHX_HERE)
#define phx_persistent_segmented_scan(scope, inout, flags, n, type, op, request) \
    phx_start_segmented_scan_at(scope, inout, flags, n, type, op, 1, request, PHX_HERE)
#define phx_start_exclusive_segmented_scan(scope, inout, flags, n, type, op, request) \
    phx_start_exclusive_segmented_scan_at(scope, inout, flags, n, type, op, 0, request, PHX_HERE)
#define phx_persistent_exclusive_segmented_scan(scope, inout, flags, n, type, op, request) \
    phx_start_exclusive_segmented_scan_at(scope, inout, flags, n, type, op, 1, request, PHX_HERE)
#define phx_start_reduce_scatter(scope, all, mine, n, type, op, request) \
    phx_start_reduce_scatter_at(scope, all, mine, n, NULL, type, op, 0, request, PHX_HERE)
#define phx_persistent_reduce_scatter(scope, all, mine, n, type, op, request) \
    phx_start_reduce_scatter_at(scope, all, mine, n, NULL, type, op, 1, request, PHX_HERE)
#define phx_start_reduce_scatterv(scope, all, mine, counts, type, op, request) \
    phx_start_reduce_scatter_at(scope, all, mine, (size_t)-1, counts, type, op, 0, request, \
                                PHX_HERE)
#define phx_persistent_reduce_scatterv(scope, all, mine, counts, type, op, request) \
    phx_start_reduce_scatter_at(scope, all, mine, (size_t)-1, counts, type, op, 1, request, \
                                PHX_HERE)
#define phx_start_gather(scope, mine, n, all, type, root, request) \
    phx_start_gather_at(scope, mine, n, all, NULL, type, root, 0, request, PHX_HERE)
#define phx_persistent_gather(scope, mine, n, all, type, root, request) \
    phx_start_gather_at(scope, mine, n, all, NULL, type, root, 1, request, PHX_HERE)
#define phx_start_gatherv(scope, mine, all, counts, type, root, request) \
    phx_start_gather_at(scope, mine, (size_t)-1, all, counts, type, root, 0, request, PHX_HERE)
#define phx_persistent_gatherv(scope, mine, all, counts, type, root, request) \
    phx_start_gather_at(scope, mine, (size_t)-1, all, counts, type, root, 1, request, PHX_HERE)
#define phx_start_scatter(scope, all, mine, n, type, root, request) \
    phx_start_scatter_at(scope, all, mine, n, NULL, type, root, 0, request, PHX_HERE)
#define phx_persistent_scatter(scope, all, mine, n, type, root, request) \
    phx_start_scatter_at(scope, all, mine, n, NULL, type, root, 1, request, PHX_HERE)
#define phx_start_scatterv(scope, all, mine, counts, type, root, request) \
    phx_start_scatter_at(scope, all, mine, (size_t)-1, counts, type, root, 0, request, PHX_HERE)
#define phx_persistent_scatterv(scope, all, mine, counts, type, root, request) \
    phx_start_scatter_at(scope, all, mine, (size_t)-1, counts, type, root, 1, request, PHX_HERE)
#define phx_start_all_gather(scope, mine, n, all, type, request) \
    phx_start_all_gather_at(scope, mine, n, all, NULL, type, 0, request, PHX_HERE)
#define phx_persistent_all_gather(scope, mine, n, all, type, request) \
    phx_start_all_gather_at(scope, mine, n, all, NULL, type, 1, request, PHX_HERE)
#define phx_start_all_gatherv(scope, mine, all, counts, type, request) \
    phx_start_all_gather_at(scope, mine, (size_t)-1, all, counts, type, 0, request, PHX_HERE)
#define phx_persistent_all_gatherv(scope, mine, all, counts, type, request) \
    phx_start_all_gather_at(scope, mine, (size_t)-1, all, counts, type, 1, request, PHX_HERE)
#define phx_start_all_to_all(scope, send, recv, n, type, request) \
    phx_start_all_to_all_at(scope, send, recv, n, type, 0, request, PHX_HERE)
#define phx_persistent_all_to_all(scope, send, recv, n, type, request) \
    phx_start_all_to_all_at(scope, send, recv, n, type, 1, request, PHX_HERE)
#define phx_start_all_to_allv(scope, send, send_counts, recv, recv_counts, type, request) \
    phx_start_all_to_allv_at(scope, send, send_counts, recv, recv_counts, type, 0, request, \
                             PHX_HERE)
#define phx_persistent_all_to_allv(scope, send, send_counts, recv, recv_counts, type, request) \
    phx_start_all_to_allv_at(scope, send, send_counts, recv, recv_counts, type, 1, request, \
                             PHX_HERE)
#define phx_start_shift(scope, buf, n, type, by, request) \
    phx_start_shift_at(scope, buf, n, type, by, 0, request, PHX_HERE)
#define phx_persistent_shift(scope, buf, n, type, by, request) \
    phx_start_shift_at(scope, buf, n, type, by, 1, request, PHX_HERE)
#define phx_start_send(scope, buf, n, type, to, tag, request) \
    phx_start_send_at(scope, buf, n, type, to, tag, 0, request, PHX_HERE)
#define phx_persistent_send(scope, buf, n, type, to, tag, request) \
    phx_start_send_at(scope, buf, n, type, to, tag, 1, request, PHX_HERE)
#define phx_start_recv(scope, buf, n, type, source, tag, request) \
    phx_start_recv_at(scope, buf, n, type, source, tag, 0, request, PHX_HERE)
#define phx_persistent_recv(scope, buf, n, type, source, tag, request) \
    phx_start_recv_at(scope, buf, n, type, source, tag, 1, request, PHX_HERE)
#define phx_start(scope, request) phx_start_at(scope, request, PHX_HERE)
#define phx_wait(scope, request, status) phx_wait_at(scope, request, status, PHX_HERE)
#define phx_wait_all(scope, requests, n) phx_wait_all_at(scope, requests, n, PHX_HERE)
#define phx_wait_any(scope, requests, n, which, status) \
    phx_wait_any_at(scope, requests, n, which, status, PHX_HERE)
#define phx_test(scope, request, complete) phx_test_at(scope, request, complete, PHX_HERE)
#define phx_window_new(comm, n, type, window) phx_window_new_at(comm, n, type, window, PHX_HERE)
#define phx_window_update(window, f, argument) phx_window_update_at(window, f, argument, PHX_HERE)
#define phx_all_gather_vec(comm, mine, n, type, all, counts) \
    phx_all_gather_vec_at(comm, mine, n, type, all, counts, PHX_HERE)
#define phx_gather_vec(comm, mine, n, type, root, all, counts) \
    phx_gather_vec_at(comm, mine, n, type, root, all, counts, PHX_HERE)
#define phx_all_to_all_vec(comm, send, counts, type, all, received) \
    phx_all_to_all_vec_at(comm, send, counts, type, all, received, PHX_HERE)
#define phx_recv_vec(comm, type, source, tag, data, status) \
    phx_recv_vec_at(comm, type, source, tag, data, status, PHX_HERE)
#define phx_choose(comm, name, dimensions, extents) \
    phx_choose_at(comm, name, dimensions, extents, PHX_HERE)
#define phx_order(comm, order) phx_order_at(comm, order, PHX_HERE)
#define phx_op_new(combine, argument, commutative, op)                                             \
    phx_op_new_at(combine, argument, commutative, #combine, op)
#endif

#endif
