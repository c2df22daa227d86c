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

    integer(c_int), parameter :: phx_ok = 0, phx_err_argument = 1, phx_err_handle = 2
    integer(c_int), parameter :: phx_err_thread = 3, phx_err_busy = 4, phx_err_dead = 5
    integer(c_int), parameter :: phx_err_mismatch = 6, phx_err_left = 7, phx_err_deadlock = 8
    integer(c_int), parameter :: phx_err_deadline = 9, phx_err_unreceived = 10
    integer(c_int), parameter :: phx_err_panic = 11, phx_err_cancelled = 12
    integer(c_int), parameter :: phx_err_ranks = 13, phx_err_system = 14, phx_err_other = 15

    integer(c_int64_t), parameter :: phx_i32 = 4 * 256 + 3, phx_i64 = 8 * 256 + 4
    integer(c_int64_t), parameter :: phx_f32 = 4 * 256 + 9, phx_f64 = 8 * 256 + 10
    integer(c_int64_t), parameter :: phx_c32 = 8 * 256 + 11, phx_c64 = 16 * 256 + 12

    integer(c_int64_t), parameter :: phx_sum = 256, phx_prod = 2 * 256, phx_min = 3 * 256
    integer(c_int64_t), parameter :: phx_max = 4 * 256, phx_band = 5 * 256, phx_bor = 6 * 256
    integer(c_int64_t), parameter :: phx_bxor = 7 * 256

    integer(c_int), parameter :: phx_any_source = -1, phx_any_tag = -1

    type, bind(C) :: phx_status
        integer(c_int) :: source
        integer(c_int) :: tag
        integer(c_size_t) :: n
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
        function phx_run_c(ranks, f, argument) result(code) bind(C, name="phx_run")
            import :: c_int, c_ptr, c_funptr
            integer(c_int), value :: ranks
            type(c_funptr), value :: f
            type(c_ptr), value :: argument
            integer(c_int) :: code
        end function
        function phx_rank(comm) result(rank) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int) :: rank
        end function
        function phx_size(comm) result(ranks) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int) :: ranks
        end function
        function phx_comm_free(comm) result(code) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            integer(c_int) :: code
        end function
        function phx_cart_free(cart) result(code) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int) :: code
        end function
        function phx_cart_neighbour(cart, dimension, by) result(rank) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int), value :: dimension, by
            integer(c_int) :: rank
        end function
        function phx_cart_extents(cart, extents) result(code) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int) :: extents(*)
            integer(c_int) :: code
        end function
        function phx_cart_coordinates(cart, rank, coordinates) result(code) bind(C)
            import :: c_int, c_ptr
            type(c_ptr), value :: cart
            integer(c_int), value :: rank
            integer(c_int) :: coordinates(*)
            integer(c_int) :: code
        end function
        function phx_last_error_c(text, room) result(length) bind(C, name="phx_last_error")
            import :: c_char, c_size_t
            character(kind=c_char) :: text(*)
            integer(c_size_t), value :: room
            integer(c_size_t) :: length
        end function
        function phx_external_c(ranks, options, comms) result(code) bind(C, name="phx_external")
            import :: c_int, c_ptr
            integer(c_int), value :: ranks
            type(c_ptr), value :: options
            type(c_ptr) :: comms(*)
            integer(c_int) :: code
        end function
        function phx_barrier_at(comm, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_broadcast_at(comm, buf, n, ty, root, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: root
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_reduce_at(comm, buf, n, ty, op, root, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            integer(c_int), value :: root
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_all_reduce_at(comm, buf, n, ty, op, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty, op
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_all_gather_at(comm, mine, n, all, ty, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, mine, all
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_send_at(comm, buf, n, ty, peer, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: peer
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_recv_at(comm, buf, n, ty, peer, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, buf
            integer(c_size_t), value :: n
            integer(c_int64_t), value :: ty
            integer(c_int), value :: peer
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_exchange_at(comm, s, ns, to, r, nr, from, ty, file, line) &
            result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: comm, s, r
            integer(c_size_t), value :: ns, nr
            integer(c_int64_t), value :: ty
            integer(c_int), value :: to, from
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_fixed_dot_at(comm, x, y, n, first, dot, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_double
            type(c_ptr), value :: comm
            real(c_double), intent(in) :: x(*), y(*)
            integer(c_size_t), value :: n, first
            real(c_double) :: dot
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_split_at(comm, color, key, part, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char
            type(c_ptr), value :: comm
            integer(c_int), value :: color, key
            type(c_ptr) :: part
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_cart_at(comm, nd, extents, periodic, cart, file, line) result(code) bind(C)
            import :: c_int, c_ptr, c_char
            type(c_ptr), value :: comm
            integer(c_int), value :: nd
            integer(c_int), intent(in) :: extents(*), periodic(*)
            type(c_ptr) :: cart
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
        end function
        function phx_exchange_halo_at(cart, field, ty, extents, width, corners, file, line) &
            result(code) bind(C)
            import :: c_int, c_ptr, c_char, c_size_t, c_int64_t
            type(c_ptr), value :: cart, field
            integer(c_int64_t), value :: ty
            integer(c_size_t), intent(in) :: extents(*)
            integer(c_size_t), value :: width
            integer(c_int), value :: corners
            character(kind=c_char), intent(in) :: file(*)
            integer(c_int), value :: line
            integer(c_int) :: code
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
        character(kind=c_char), allocatable :: chars(:)
        integer(c_size_t) :: length, i
        length = phx_last_error_c(none, 0_c_size_t)
        allocate (chars(length + 1))
        text = repeat(' ', int(length))
        length = phx_last_error_c(chars, length + 1)
        do i = 1, min(length, len(text, c_size_t))
            text(i:i) = chars(i)
        end do
    end function
end module
