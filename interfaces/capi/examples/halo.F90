! Laplace's equation on a square, by Jacobi's method: each rank has a block of the cells, and halos
! come from its neighbours. Compared with the same on one rank.
!     gfortran -o halo $(pkg-config --variable=fortran phalanx) halo.F90 \
!         $(pkg-config --cflags --libs phalanx)
#include "phalanx_lines.h"
module solver
    use phalanx
    implicit none
    integer, parameter :: n = 24, steps = 200
    real(c_double), target :: whole(n, n)
    PHX_FILE
contains
    ! Ends the run with the call's error, if it has one.
    logical function failed(code)
        integer(c_int), intent(in) :: code
        failed = code /= phx_ok
        if (failed) print *, phx_last_error()
    end function

    subroutine relax(comm, argument) bind(C)
        type(c_ptr), value :: comm, argument
        type(c_ptr) :: cart
        integer(c_int) :: extents(2), at(2), periodic(2)
        integer(c_size_t) :: own(2)
        integer :: rows, columns, row0, column0, i, j, step
        real(c_double), allocatable, target :: u(:, :), v(:, :)
        if (c_associated(argument)) return
        extents = 0
        periodic = 0
        if (failed(phx_cart(comm, 2, extents, periodic, cart))) return
        if (failed(phx_cart_extents(cart, extents))) return
        if (failed(phx_cart_coordinates(cart, -1, at))) return
        ! The last dimension is the fastest there, and the first one here.
        columns = n * (at(1) + 1) / extents(1) - n * at(1) / extents(1)
        column0 = n * at(1) / extents(1)
        rows = n * (at(2) + 1) / extents(2) - n * at(2) / extents(2)
        row0 = n * at(2) / extents(2)
        own = [int(columns, c_size_t), int(rows, c_size_t)]
        allocate (u(0:rows + 1, 0:columns + 1), v(0:rows + 1, 0:columns + 1))
        u = 0
        ! The upper side is held at 1.
        if (at(2) == 0) u(0, :) = 1
        do step = 1, steps
            if (failed(phx_exchange_halo(cart, c_loc(u), phx_f64, own, 1_c_size_t, 0))) return
            do j = 1, columns
                do i = 1, rows
                    v(i, j) = (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1)) / 4
                end do
            end do
            u(1:rows, 1:columns) = v(1:rows, 1:columns)
        end do
        ! Ranks are threads: each writes its part of the array that they share.
        whole(row0 + 1:row0 + rows, column0 + 1:column0 + columns) = u(1:rows, 1:columns)
        if (failed(phx_barrier(comm))) return
        if (failed(phx_cart_free(cart))) return
    end subroutine

    ! Ranks that disagree.
    subroutine disagree(comm, argument) bind(C)
        type(c_ptr), value :: comm, argument
        real(c_double), target :: x(3)
        integer(c_int) :: code
        if (c_associated(argument)) return
        x = 1
        code = phx_all_reduce(comm, c_loc(x), int(2 + phx_rank(comm), c_size_t), phx_f64, phx_sum)
    end subroutine
end module

program halo
    use solver
    implicit none
    real(c_double) :: alone(n, n)
    character(:), allocatable :: text
    integer :: p
    do p = 1, 6
        whole = -1
        if (phx_run(p, relax) /= phx_ok) then
            print *, phx_last_error()
            stop 1
        end if
        if (p == 1) alone = whole
        if (maxval(abs(alone - whole)) > 0) stop 2
        print '(i2, a, f12.9)', p, ' ranks: in the middle', whole(n / 2, n / 2)
    end do
    if (alone(1, n / 2) <= alone(n, n / 2)) stop 3
    if (phx_run(2, disagree) /= phx_err_mismatch) stop 4
    text = phx_last_error()
    print *, text
    if (index(text, 'halo.F90:') == 0) stop 5
end program
