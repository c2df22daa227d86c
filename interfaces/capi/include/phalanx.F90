! The Fortran 2008 interface of Phalanx, over phalanx.h. Compile it with your own compiler: a module
! file is the compiler's. Arrays are contiguous; ranks and counts are C integers.
!
! Each function returns phx_ok or an error. To have the lines of your calls in error messages, and
! shorter names, begin a preprocessed source (.F90) with `#include "phalanx_lines.h"`, and write
! PHX_FILE among the declarations of each module.
module phalanx
    use, intrinsic :: iso_c_binding
    implicit none
    public
    private :: string

    integer(c_int), parameter :: phx_ok = 0, phx_err_argument = 1, phx_err_handle = 2, &
                                 phx_err_thread = 3, phx_err_busy = 4, phx_err_dead = 5, &
                                 phx_err_mismatch = 6, phx_err_left = 7, phx_err_deadlock = 8, &
                                 phx_err_deadline = 9, phx_err_unreceived = 10, &
                                 phx_err_panic = 11, phx_err_cancelled = 12, phx_err_ranks = 13, &
                                 phx_err_system = 14, phx_err_other = 15
    integer(c_int64_t), parameter :: phx_i8 = 257, phx_i16 = 514, phx_i32 = 1027, phx_i64 = 2052, &
                                     phx_u8 = 261, phx_u16 = 518, phx_u32 = 1031, phx_u64 = 2056, &
                                     phx_f32 = 1033, phx_f64 = 2058, phx_c32 = 2059, &
                                     phx_c64 = 4108, phx_f64_at = 4109, phx_i64_at = 4110, &
                                     phx_kind_bytes = 15
    integer(c_int64_t), parameter :: phx_sum = 256, phx_prod = 512, phx_min = 768, phx_max = 1024, &
                                     phx_band = 1280, phx_bor = 1536, phx_bxor = 1792, &
                                     phx_and = 2048, phx_or = 2304, phx_xor = 2560, &
                                     phx_minloc = 2816, phx_maxloc = 3072
    integer(c_int), parameter :: phx_order_any = 0, phx_order_fixed = 1, phx_level_core = 0, &
                                 phx_level_cache = 1, phx_level_numa = 2, phx_level_package = 3, &
                                 phx_any_source = -1, phx_any_tag = -1, phx_place_auto = 0, &
                                 phx_place_compact = 1, phx_place_scatter = 2, &
                                 phx_place_identity = 3, phx_place_unpinned = 4, &
                                 phx_place_random = 5, phx_place_list = 6, phx_place_ring = 7, &
                                 phx_place_linear = 8, phx_place_hypercube = 9, &
                                 phx_place_mesh = 10, phx_place_torus = 11, phx_place_tree = 12, &
                                 phx_place_all_to_all = 13, phx_wait_auto = 0, phx_wait_spin = 1, &
                                 phx_wait_yield = 2, phx_wait_park = 3

    ! Of phx_options the address is passed: c_loc(options).
    ! How to build a team. Set to zeros, with `ranks`; zeros are the defaults.
    type, bind(C) :: phx_options
        integer(c_size_t) :: size = 0
        integer(c_int) :: ranks = 0
        integer(c_int) :: wait = 0
        real(c_double) :: deadline = 0
        integer(c_size_t) :: stack = 0
        integer(c_int) :: pin_caller = 0
        integer(c_int) :: placement = 0
        type(c_ptr) :: numbers = c_null_ptr
        integer(c_size_t) :: count = 0
        real(c_double) :: stall_warning = 0
    end type
    ! What is known of a tagged message.
    type, bind(C) :: phx_status
        integer(c_int) :: source = 0
        integer(c_int) :: tag = 0
        integer(c_size_t) :: n = 0
    end type
    ! A rank's part of a view.
    type, bind(C) :: phx_part
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: n = 0
    end type

    abstract interface
        ! What a rank runs, with its communicator and the argument of the run.
        subroutine phx_rank_fn(comm, argument) bind(C)
            import :: c_ptr
            type(c_ptr), value :: comm, argument
        end subroutine
    end interface

    ! What the module's functions call. `buf` is any array: its first element's address.
    interface
        function phx_run_c(ranks, f, argument) result(res) bind(C, name="phx_run")
            import :: c_funptr, c_int, c_ptr
            integer(c_int), value :: ranks
            type(c_funptr), value :: f
            type(c_ptr), value :: argument
            integer(c_int) :: res
        end function
        function phx_rank(comm) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int) :: res
        end function
        function phx_size(comm) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int) :: res
        end function
        function phx_version_c() result(res) bind(C, name="phx_version")
            import :: c_ptr
            type(c_ptr) :: res
        end function
        function phx_team_new(options, team) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: options
            type(c_ptr) :: team
            integer(c_int) :: res
        end function
        function phx_team_run(team, f, argument) result(res) bind(C)
            import :: c_funptr, c_int, c_ptr
            type(c_ptr), value :: team, argument
            type(c_funptr), value :: f
            integer(c_int) :: res
        end function
        function phx_team_size(team) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: team
            integer(c_int) :: res
        end function
        function phx_team_free(team) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: team
            integer(c_int) :: res
        end function
        function phx_team_cancel(team) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: team
            integer(c_int) :: res
        end function
        function phx_team_clear_cancel(team) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: team
            integer(c_int) :: res
        end function
        function phx_external_c(ranks, options, comms) result(res) bind(C, name="phx_external")
            import :: c_int, c_ptr
            integer(c_int), value :: ranks
            type(c_ptr), value :: options
            type(c_ptr) :: comms(*)
            integer(c_int) :: res
        end function
        function phx_comm_free(comm) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int) :: res
        end function
        function phx_last_error_c(text, room) result(res) bind(C, name="phx_last_error")
            import :: c_char, c_size_t
            character(kind=c_char) :: text(*)
            integer(c_size_t), value :: room
            integer(c_size_t) :: res
        end function
        function phx_error_name_c(code) result(res) bind(C, name="phx_error_name")
            import :: c_int, c_ptr
            integer(c_int), value :: code
            type(c_ptr) :: res
        end function
        function phx_fail_at(comm, why, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: why(*), file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_cancel_at(comm, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_barrier_at(comm, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_broadcast_at(comm, buf, n, ty, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_reduce_at(comm, inout, n, ty, op, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_all_reduce_at(comm, inout, n, ty, op, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_sum_f64_at(comm, x, n, file, line) result(res) bind(C)
            import :: c_char, c_double, c_int, c_ptr, c_size_t
            type(c_ptr), value :: comm
            real(c_double) :: x(*)
            integer(c_size_t), value :: n
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_op_new_at(combine, argument, commutative, name, op) result(res) bind(C)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            type(c_funptr), value :: combine
            type(c_ptr), value :: argument
            integer(c_int), value :: commutative
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t) :: op
            integer(c_int) :: res
        end function
        function phx_op_free(op) result(res) bind(C)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: op
            integer(c_int) :: res
        end function
        function phx_scan_at(comm, inout, n, ty, op, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_exclusive_scan_at(comm, inout, n, ty, op, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_segmented_scan_at(comm, inout, flags, n, ty, op, file, &
                                       line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, inout
            integer(c_int), intent(in) :: flags(*)
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_exclusive_segmented_scan_at(comm, inout, flags, n, ty, op, file, &
                                                 line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, inout
            integer(c_int), intent(in) :: flags(*)
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_reduce_scatter_at(comm, all, mine, n, ty, op, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, all, mine
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_reduce_scatterv_at(comm, all, mine, counts, ty, op, file, &
                                        line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, all, mine
            integer(c_size_t), intent(in) :: counts(*)
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_gather_at(comm, mine, n, all, ty, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine, all
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_gatherv_at(comm, mine, all, counts, ty, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine, all
            integer(c_size_t), intent(in) :: counts(*)
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_gather_in_place_at(comm, data, n, ty, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, data
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_scatter_at(comm, all, mine, n, ty, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, all, mine
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_scatterv_at(comm, all, mine, counts, ty, root, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, all, mine
            integer(c_size_t), intent(in) :: counts(*)
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_all_gather_at(comm, mine, n, all, ty, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine, all
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_all_gatherv_at(comm, mine, all, counts, ty, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine, all
            integer(c_size_t), intent(in) :: counts(*)
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_all_to_all_at(comm, send, recv, n, ty, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, send, recv
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_all_to_allv_at(comm, send, send_counts, recv, recv_counts, ty, file, &
                                    line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, send, recv
            integer(c_size_t), intent(in) :: send_counts(*), recv_counts(*)
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_shift_at(comm, buf, n, ty, by, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: by, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_fixed_sum_at(comm, x, n, first, sum, file, line) result(res) bind(C)
            import :: c_char, c_double, c_int, c_ptr, c_size_t
            type(c_ptr), value :: comm
            real(c_double), intent(in) :: x(*)
            integer(c_size_t), value :: n, first
            real(c_double) :: sum
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_fixed_dot_at(comm, x, y, n, first, dot, file, line) result(res) bind(C)
            import :: c_char, c_double, c_int, c_ptr, c_size_t
            type(c_ptr), value :: comm
            real(c_double), intent(in) :: x(*), y(*)
            integer(c_size_t), value :: n, first
            real(c_double) :: dot
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_send_at(comm, buf, n, ty, to, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: to, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_recv_at(comm, buf, n, ty, source, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: source, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_exchange_at(comm, send, sent, to, recv, received, source, ty, file, &
                                 line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, send, recv
            integer(c_size_t), value :: sent, received
            integer(c_int), value :: to, source, line
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_send_tagged_at(comm, buf, n, ty, to, tag, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: to, tag, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_recv_tagged_at(comm, buf, n, ty, source, tag, status, file, &
                                    line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t, phx_status
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: source, tag, line
            type(phx_status) :: status
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_probe_at(comm, source, tag, status, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr, phx_status
            type(c_ptr), value :: comm
            integer(c_int), value :: source, tag, line
            type(phx_status) :: status
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_try_probe_at(comm, source, tag, found, status, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr, phx_status
            type(c_ptr), value :: comm
            integer(c_int), value :: source, tag, line
            integer(c_int) :: found
            type(phx_status) :: status
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_split_at(comm, color, key, part, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int), value :: color, key, line
            type(c_ptr) :: part
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_split_level_at(comm, level, part, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int), value :: level, line
            type(c_ptr) :: part
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_cart_at(comm, dimensions, extents, periodic, cart, file, &
                             line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int), value :: dimensions, line
            integer(c_int), intent(in) :: extents(*), periodic(*)
            type(c_ptr) :: cart
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_cart_extents(cart, extents) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int) :: extents(*)
            integer(c_int) :: res
        end function
        function phx_cart_coordinates(cart, rank, coordinates) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int), value :: rank
            integer(c_int) :: coordinates(*)
            integer(c_int) :: res
        end function
        function phx_cart_neighbour(cart, dimension, by) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int), value :: dimension, by
            integer(c_int) :: res
        end function
        function phx_cart_free(cart) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int) :: res
        end function
        function phx_exchange_halo_at(cart, field, ty, extents, width, corners, file, &
                                      line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: cart, field
            integer(c_int64_t), value :: ty
            integer(c_size_t), intent(in) :: extents(*)
            integer(c_size_t), value :: width
            integer(c_int), value :: corners, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_exchange_halos_at(cart, fields, n, ty, extents, widths, corners, file, &
                                       line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: cart
            type(c_ptr), intent(in) :: fields(*)
            integer(c_int), value :: n, corners, line
            integer(c_int64_t), value :: ty
            integer(c_size_t), intent(in) :: extents(*), widths(*)
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_cart_sub_at(cart, keep, part, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int), intent(in) :: keep(*)
            type(c_ptr) :: part
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_with_peers_at(comm, mine, n, ty, look, argument, file, &
                                   line) result(res) bind(C)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine, argument
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            type(c_funptr), value :: look
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_with_root_at(comm, data, n, ty, root, look, argument, file, &
                                  line) result(res) bind(C)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, data, argument
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            type(c_funptr), value :: look
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_plan_blocks_at(comm, total, indices, n, plan, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr, c_size_t
            type(c_ptr), value :: comm
            integer(c_size_t), value :: total, n
            integer(c_size_t), intent(in) :: indices(*)
            type(c_ptr) :: plan
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_plan_lists_at(comm, owned, givers, give_ranks, give_counts, give, ghosts, &
                                   wanters, want_ranks, want_counts, want, plan, file, &
                                   line) result(res) bind(C)
            import :: c_char, c_int, c_ptr, c_size_t
            type(c_ptr), value :: comm
            integer(c_size_t), value :: owned, ghosts
            integer(c_int), value :: givers, wanters, line
            integer(c_int), intent(in) :: give_ranks(*), want_ranks(*)
            integer(c_size_t), intent(in) :: give_counts(*), give(*), want_counts(*), want(*)
            type(c_ptr) :: plan
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_plan_gather_at(plan, owned, ghosts, ty, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan, owned, ghosts
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_plan_scatter_add_at(plan, ghosts, owned, ty, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan, ghosts, owned
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_plan_owned(plan) result(res) bind(C)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: plan
            integer(c_size_t) :: res
        end function
        function phx_plan_ghosts(plan) result(res) bind(C)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: plan
            integer(c_size_t) :: res
        end function
        function phx_plan_free(plan) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int) :: res
        end function
        function phx_requests_at(comm, f, argument, file, line) result(res) bind(C)
            import :: c_char, c_funptr, c_int, c_ptr
            type(c_ptr), value :: comm, argument
            type(c_funptr), value :: f
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_start_barrier_at(scope, persistent, request, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: scope
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_broadcast_at(scope, buf, n, ty, root, persistent, request, file, &
                                        line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_reduce_at(scope, inout, n, ty, op, root, persistent, request, file, &
                                     line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: root, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_all_reduce_at(scope, inout, n, ty, op, persistent, request, file, &
                                         line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_scan_at(scope, inout, n, ty, op, persistent, request, file, &
                                   line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_exclusive_scan_at(scope, inout, n, ty, op, persistent, request, file, &
                                             line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, inout
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_segmented_scan_at(scope, inout, flags, n, ty, op, persistent, request, &
                                             file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, inout
            integer(c_int), intent(in) :: flags(*)
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_exclusive_segmented_scan_at(scope, inout, flags, n, ty, op, persistent, &
                                                       request, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, inout
            integer(c_int), intent(in) :: flags(*)
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_reduce_scatter_at(scope, all, mine, n, counts, ty, op, persistent, &
                                             request, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, all, mine, counts
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_gather_at(scope, mine, n, all, counts, ty, root, persistent, request, &
                                     file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, mine, all, counts
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_scatter_at(scope, all, mine, n, counts, ty, root, persistent, request, &
                                      file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, all, mine, counts
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_all_gather_at(scope, mine, n, all, counts, ty, persistent, request, &
                                         file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, mine, all, counts
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_all_to_all_at(scope, send, recv, n, ty, persistent, request, file, &
                                         line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, send, recv
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_all_to_allv_at(scope, send, send_counts, recv, recv_counts, ty, &
                                          persistent, request, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, send, recv
            integer(c_size_t), intent(in) :: send_counts(*), recv_counts(*)
            integer(c_int64_t), value :: ty
            integer(c_int), value :: persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_shift_at(scope, buf, n, ty, by, persistent, request, file, &
                                    line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: by, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_send_at(scope, buf, n, ty, to, tag, persistent, request, file, &
                                   line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: to, tag, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_recv_at(scope, buf, n, ty, source, tag, persistent, request, file, &
                                   line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: source, tag, persistent, line
            integer(c_int64_t) :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_start_at(scope, request, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: scope
            integer(c_int64_t), value :: request
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_wait_at(scope, request, status, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, phx_status
            type(c_ptr), value :: scope
            integer(c_int64_t), value :: request
            type(phx_status) :: status
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_wait_all_at(scope, requests, n, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: scope
            integer(c_int64_t), intent(in) :: requests(*)
            integer(c_size_t), value :: n
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_wait_any_at(scope, requests, n, which, status, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t, phx_status
            type(c_ptr), value :: scope
            integer(c_int64_t), intent(in) :: requests(*)
            integer(c_size_t), value :: n
            integer(c_size_t) :: which
            type(phx_status) :: status
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_test_at(scope, request, complete, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: scope
            integer(c_int64_t), value :: request
            integer(c_int) :: complete
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_requests_comm(scope) result(res) bind(C)
            import :: c_ptr
            type(c_ptr), value :: scope
            type(c_ptr) :: res
        end function
        function phx_window_new_at(comm, n, ty, window, file, line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            type(c_ptr) :: window
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_window_part(window, rank, data, n) result(res) bind(C)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: window
            integer(c_int), value :: rank
            type(c_ptr) :: data
            integer(c_size_t) :: n
            integer(c_int) :: res
        end function
        function phx_window_update_at(window, f, argument, file, line) result(res) bind(C)
            import :: c_char, c_funptr, c_int, c_ptr
            type(c_ptr), value :: window, argument
            type(c_funptr), value :: f
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_window_free(window) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: window
            integer(c_int) :: res
        end function
        function phx_all_gather_vec_at(comm, mine, n, ty, all, counts, file, &
                                       line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            type(c_ptr) :: all
            integer(c_size_t) :: counts(*)
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_gather_vec_at(comm, mine, n, ty, root, all, counts, file, &
                                   line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, mine
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root, line
            type(c_ptr) :: all
            integer(c_size_t) :: counts(*)
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_all_to_all_vec_at(comm, send, counts, ty, all, received, file, &
                                       line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: comm, send
            integer(c_size_t), intent(in) :: counts(*)
            integer(c_int64_t), value :: ty
            type(c_ptr) :: all
            integer(c_size_t) :: received(*)
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: res
        end function
        function phx_recv_vec_at(comm, ty, source, tag, data, status, file, &
                                 line) result(res) bind(C)
            import :: c_char, c_int, c_int64_t, c_ptr, phx_status
            type(c_ptr), value :: comm
            integer(c_int64_t), value :: ty
            integer(c_int), value :: source, tag, line
            type(c_ptr) :: data
            type(phx_status) :: status
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
        function phx_free(data) result(res) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: data
            integer(c_int) :: res
        end function
        function phx_choose_at(comm, name, dimensions, extents, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: name(*), file(*)
            integer(c_int), value :: dimensions, line
            integer(c_int), intent(in) :: extents(*)
            integer(c_int) :: res
        end function
        function phx_order_at(comm, order, file, line) result(res) bind(C)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int), value :: order, line
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int) :: res
        end function
    end interface

contains

    ! Runs `f` on so many ranks; 0: one for each core.
    function phx_run(ranks, f, argument) result(code)
        integer(c_int), intent(in) :: ranks
        procedure(phx_rank_fn) :: f
        type(c_ptr), intent(in), optional :: argument
        integer(c_int) :: code
        type(c_ptr) :: given
        given = c_null_ptr
        if (present(argument)) given = argument
        code = phx_run_c(ranks, c_funloc(f), given)
    end function

    ! The text of the calling thread's latest error.
    function phx_last_error() result(text)
        character(:), allocatable :: text
        character(kind=c_char) :: none(1)
        character(kind=c_char), allocatable, target :: chars(:)
        integer(c_size_t) :: length
        length = phx_last_error_c(none, 0_c_size_t)
        allocate (chars(length + 1))
        length = phx_last_error_c(chars, length + 1)
        text = string(c_loc(chars))
    end function

    ! The library's version, such as "0.1.0".
    function phx_version() result(text)
        character(:), allocatable :: text
        text = string(phx_version_c())
    end function

    ! The code in a few words.
    function phx_error_name(code) result(text)
        integer(c_int), intent(in) :: code
        character(:), allocatable :: text
        text = string(phx_error_name_c(code))
    end function

    ! What C has at an address, up to its zero.
    function string(at) result(text)
        type(c_ptr), intent(in) :: at
        character(:), allocatable :: text
        character(kind=c_char), pointer :: chars(:)
        integer :: i, length
        call c_f_pointer(at, chars, [huge(0)])
        length = 0
        do while (chars(length + 1) /= c_null_char)
            length = length + 1
        end do
        text = repeat(' ', length)
        do i = 1, length
            text(i:i) = chars(i)
        end do
    end function
end module
