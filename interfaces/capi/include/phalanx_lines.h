! The calls under their short names, with the lines in which they stand: for preprocessed sources.
! PHX_FILE stands among the declarations of each module. Lines get longer by some 20 characters; a call stands in one line.
#define PHX_FILE character(len=*),parameter,private::phx_file=__FILE__//c_null_char
#define PHX_HERE phx_file,__LINE__
#define phx_fail(a,b) phx_fail_at(a,b,PHX_HERE)
#define phx_cancel(a) phx_cancel_at(a,PHX_HERE)
#define phx_barrier(a) phx_barrier_at(a,PHX_HERE)
#define phx_broadcast(a,b,c,d,e) phx_broadcast_at(a,b,c,d,e,PHX_HERE)
#define phx_reduce(a,b,c,d,e,f) phx_reduce_at(a,b,c,d,e,f,PHX_HERE)
#define phx_all_reduce(a,b,c,d,e) phx_all_reduce_at(a,b,c,d,e,PHX_HERE)
#define phx_sum_f64(a,b,c) phx_sum_f64_at(a,b,c,PHX_HERE)
#define phx_scan(a,b,c,d,e) phx_scan_at(a,b,c,d,e,PHX_HERE)
#define phx_exclusive_scan(a,b,c,d,e) phx_exclusive_scan_at(a,b,c,d,e,PHX_HERE)
#define phx_segmented_scan(a,b,c,d,e,f) phx_segmented_scan_at(a,b,c,d,e,f,PHX_HERE)
#define phx_exclusive_segmented_scan(a,b,c,d,e,f) \
    phx_exclusive_segmented_scan_at(a,b,c,d,e,f,PHX_HERE)
#define phx_reduce_scatter(a,b,c,d,e,f) phx_reduce_scatter_at(a,b,c,d,e,f,PHX_HERE)
#define phx_reduce_scatterv(a,b,c,d,e,f) phx_reduce_scatterv_at(a,b,c,d,e,f,PHX_HERE)
#define phx_gather(a,b,c,d,e,f) phx_gather_at(a,b,c,d,e,f,PHX_HERE)
#define phx_gatherv(a,b,c,d,e,f) phx_gatherv_at(a,b,c,d,e,f,PHX_HERE)
#define phx_gather_in_place(a,b,c,d,e) phx_gather_in_place_at(a,b,c,d,e,PHX_HERE)
#define phx_scatter(a,b,c,d,e,f) phx_scatter_at(a,b,c,d,e,f,PHX_HERE)
#define phx_scatterv(a,b,c,d,e,f) phx_scatterv_at(a,b,c,d,e,f,PHX_HERE)
#define phx_all_gather(a,b,c,d,e) phx_all_gather_at(a,b,c,d,e,PHX_HERE)
#define phx_all_gatherv(a,b,c,d,e) phx_all_gatherv_at(a,b,c,d,e,PHX_HERE)
#define phx_all_to_all(a,b,c,d,e) phx_all_to_all_at(a,b,c,d,e,PHX_HERE)
#define phx_all_to_allv(a,b,c,d,e,f) phx_all_to_allv_at(a,b,c,d,e,f,PHX_HERE)
#define phx_shift(a,b,c,d,e) phx_shift_at(a,b,c,d,e,PHX_HERE)
#define phx_fixed_sum(a,b,c,d,e) phx_fixed_sum_at(a,b,c,d,e,PHX_HERE)
#define phx_fixed_dot(a,b,c,d,e,f) phx_fixed_dot_at(a,b,c,d,e,f,PHX_HERE)
#define phx_send(a,b,c,d,e) phx_send_at(a,b,c,d,e,PHX_HERE)
#define phx_recv(a,b,c,d,e) phx_recv_at(a,b,c,d,e,PHX_HERE)
#define phx_exchange(a,b,c,d,e,f,g,h) phx_exchange_at(a,b,c,d,e,f,g,h,PHX_HERE)
#define phx_send_tagged(a,b,c,d,e,f) phx_send_tagged_at(a,b,c,d,e,f,PHX_HERE)
#define phx_recv_tagged(a,b,c,d,e,f,g) phx_recv_tagged_at(a,b,c,d,e,f,g,PHX_HERE)
#define phx_probe(a,b,c,d) phx_probe_at(a,b,c,d,PHX_HERE)
#define phx_try_probe(a,b,c,d,e) phx_try_probe_at(a,b,c,d,e,PHX_HERE)
#define phx_split(a,b,c,d) phx_split_at(a,b,c,d,PHX_HERE)
#define phx_split_level(a,b,c) phx_split_level_at(a,b,c,PHX_HERE)
#define phx_cart(a,b,c,d,e) phx_cart_at(a,b,c,d,e,PHX_HERE)
#define phx_exchange_halo(a,b,c,d,e,f) phx_exchange_halo_at(a,b,c,d,e,f,PHX_HERE)
#define phx_exchange_halos(a,b,c,d,e,f,g) phx_exchange_halos_at(a,b,c,d,e,f,g,PHX_HERE)
#define phx_cart_sub(a,b,c) phx_cart_sub_at(a,b,c,PHX_HERE)
#define phx_with_peers(a,b,c,d,e,f) phx_with_peers_at(a,b,c,d,e,f,PHX_HERE)
#define phx_with_root(a,b,c,d,e,f,g) phx_with_root_at(a,b,c,d,e,f,g,PHX_HERE)
#define phx_plan_blocks(a,b,c,d,e) phx_plan_blocks_at(a,b,c,d,e,PHX_HERE)
#define phx_plan_lists(a,b,c,d,e,f,g,h,i,j,k,l) phx_plan_lists_at(a,b,c,d,e,f,g,h,i,j,k,l,PHX_HERE)
#define phx_plan_gather(a,b,c,d) phx_plan_gather_at(a,b,c,d,PHX_HERE)
#define phx_plan_scatter_add(a,b,c,d) phx_plan_scatter_add_at(a,b,c,d,PHX_HERE)
#define phx_requests(a,b,c) phx_requests_at(a,b,c,PHX_HERE)
#define phx_start_barrier(a,b) phx_start_barrier_at(a,0_c_int,b,PHX_HERE)
#define phx_persistent_barrier(a,b) phx_start_barrier_at(a,1_c_int,b,PHX_HERE)
#define phx_start_broadcast(a,b,c,d,e,f) phx_start_broadcast_at(a,b,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_broadcast(a,b,c,d,e,f) phx_start_broadcast_at(a,b,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_reduce(a,b,c,d,e,f,g) phx_start_reduce_at(a,b,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_reduce(a,b,c,d,e,f,g) phx_start_reduce_at(a,b,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_all_reduce(a,b,c,d,e,f) phx_start_all_reduce_at(a,b,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_all_reduce(a,b,c,d,e,f) phx_start_all_reduce_at(a,b,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_scan(a,b,c,d,e,f) phx_start_scan_at(a,b,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_scan(a,b,c,d,e,f) phx_start_scan_at(a,b,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_exclusive_scan(a,b,c,d,e,f) \
    phx_start_exclusive_scan_at(a,b,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_exclusive_scan(a,b,c,d,e,f) \
    phx_start_exclusive_scan_at(a,b,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_segmented_scan(a,b,c,d,e,f,g) \
    phx_start_segmented_scan_at(a,b,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_segmented_scan(a,b,c,d,e,f,g) \
    phx_start_segmented_scan_at(a,b,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_exclusive_segmented_scan(a,b,c,d,e,f,g) \
    phx_start_exclusive_segmented_scan_at(a,b,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_exclusive_segmented_scan(a,b,c,d,e,f,g) \
    phx_start_exclusive_segmented_scan_at(a,b,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_reduce_scatter(a,b,c,d,e,f,g) \
    phx_start_reduce_scatter_at(a,b,c,d,c_null_ptr,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_reduce_scatter(a,b,c,d,e,f,g) \
    phx_start_reduce_scatter_at(a,b,c,d,c_null_ptr,e,f,1_c_int,g,PHX_HERE)
#define phx_start_reduce_scatterv(a,b,c,d,e,f,g) \
    phx_start_reduce_scatter_at(a,b,c,-1_c_size_t,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_reduce_scatterv(a,b,c,d,e,f,g) \
    phx_start_reduce_scatter_at(a,b,c,-1_c_size_t,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_gather(a,b,c,d,e,f,g) \
    phx_start_gather_at(a,b,c,d,c_null_ptr,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_gather(a,b,c,d,e,f,g) \
    phx_start_gather_at(a,b,c,d,c_null_ptr,e,f,1_c_int,g,PHX_HERE)
#define phx_start_gatherv(a,b,c,d,e,f,g) \
    phx_start_gather_at(a,b,-1_c_size_t,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_gatherv(a,b,c,d,e,f,g) \
    phx_start_gather_at(a,b,-1_c_size_t,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_scatter(a,b,c,d,e,f,g) \
    phx_start_scatter_at(a,b,c,d,c_null_ptr,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_scatter(a,b,c,d,e,f,g) \
    phx_start_scatter_at(a,b,c,d,c_null_ptr,e,f,1_c_int,g,PHX_HERE)
#define phx_start_scatterv(a,b,c,d,e,f,g) \
    phx_start_scatter_at(a,b,c,-1_c_size_t,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_scatterv(a,b,c,d,e,f,g) \
    phx_start_scatter_at(a,b,c,-1_c_size_t,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_all_gather(a,b,c,d,e,f) \
    phx_start_all_gather_at(a,b,c,d,c_null_ptr,e,0_c_int,f,PHX_HERE)
#define phx_persistent_all_gather(a,b,c,d,e,f) \
    phx_start_all_gather_at(a,b,c,d,c_null_ptr,e,1_c_int,f,PHX_HERE)
#define phx_start_all_gatherv(a,b,c,d,e,f) \
    phx_start_all_gather_at(a,b,-1_c_size_t,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_all_gatherv(a,b,c,d,e,f) \
    phx_start_all_gather_at(a,b,-1_c_size_t,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_all_to_all(a,b,c,d,e,f) phx_start_all_to_all_at(a,b,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_all_to_all(a,b,c,d,e,f) phx_start_all_to_all_at(a,b,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_all_to_allv(a,b,c,d,e,f,g) \
    phx_start_all_to_allv_at(a,b,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_all_to_allv(a,b,c,d,e,f,g) \
    phx_start_all_to_allv_at(a,b,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_shift(a,b,c,d,e,f) phx_start_shift_at(a,b,c,d,e,0_c_int,f,PHX_HERE)
#define phx_persistent_shift(a,b,c,d,e,f) phx_start_shift_at(a,b,c,d,e,1_c_int,f,PHX_HERE)
#define phx_start_send(a,b,c,d,e,f,g) phx_start_send_at(a,b,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_send(a,b,c,d,e,f,g) phx_start_send_at(a,b,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start_recv(a,b,c,d,e,f,g) phx_start_recv_at(a,b,c,d,e,f,0_c_int,g,PHX_HERE)
#define phx_persistent_recv(a,b,c,d,e,f,g) phx_start_recv_at(a,b,c,d,e,f,1_c_int,g,PHX_HERE)
#define phx_start(a,b) phx_start_at(a,b,PHX_HERE)
#define phx_wait(a,b,c) phx_wait_at(a,b,c,PHX_HERE)
#define phx_wait_all(a,b,c) phx_wait_all_at(a,b,c,PHX_HERE)
#define phx_wait_any(a,b,c,d,e) phx_wait_any_at(a,b,c,d,e,PHX_HERE)
#define phx_test(a,b,c) phx_test_at(a,b,c,PHX_HERE)
#define phx_window_new(a,b,c,d) phx_window_new_at(a,b,c,d,PHX_HERE)
#define phx_window_update(a,b,c) phx_window_update_at(a,b,c,PHX_HERE)
#define phx_all_gather_vec(a,b,c,d,e,f) phx_all_gather_vec_at(a,b,c,d,e,f,PHX_HERE)
#define phx_gather_vec(a,b,c,d,e,f,g) phx_gather_vec_at(a,b,c,d,e,f,g,PHX_HERE)
#define phx_all_to_all_vec(a,b,c,d,e,f) phx_all_to_all_vec_at(a,b,c,d,e,f,PHX_HERE)
#define phx_recv_vec(a,b,c,d,e,f) phx_recv_vec_at(a,b,c,d,e,f,PHX_HERE)
#define phx_choose(a,b,c,d) phx_choose_at(a,b,c,d,PHX_HERE)
#define phx_order(a,b) phx_order_at(a,b,PHX_HERE)
