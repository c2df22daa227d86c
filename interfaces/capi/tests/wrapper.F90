! The Fortran module's functions against what they must give: collectives, messages, groups, halos,
! plans, requests, windows.
#include "phalanx_lines.h"
module checks
    use phalanx
    implicit none
    integer :: failures = 0
    PHX_FILE
contains
    subroutine want(condition, what)
        logical, intent(in) :: condition
        integer, intent(in) :: what
        if (condition) return
        failures = failures + 1
        print *, 'wrapper.F90: check', what, 'has failed'
    end subroutine

    subroutine ok(code, what)
        integer(c_int), intent(in) :: code
        integer, intent(in) :: what
        if (code /= phx_ok) print *, phx_last_error()
        call want(code == phx_ok, what)
    end subroutine

    subroutine collectives(comm, argument) bind(C)
        type(c_ptr), value :: comm, argument
        integer(c_int), target :: mine(2), sums(2), word(2)
        integer(c_int), allocatable, target :: all(:), back(:)
        integer(c_size_t), allocatable, target :: counts(:)
        integer(c_size_t) :: two
        integer(c_int) :: r, p
        type(c_ptr) :: part
        type(phx_status) :: status
        if (c_associated(argument)) return
        r = phx_rank(comm)
        p = phx_size(comm)
        two = 2
        allocate (all(2 * p), back(2 * p), counts(p))
        counts = 2
        mine = r
        call ok(phx_all_gather(comm, c_loc(mine), two, c_loc(all), phx_i32), 1)
        call want(all(1) == 0 .and. all(2 * p) == p - 1, 2)
        call ok(phx_gatherv(comm, c_loc(mine), c_loc(all), counts, phx_i32, 0), 3)
        call ok(phx_scatter(comm, c_loc(all), c_loc(mine), two, phx_i32, 0), 4)
        call want(all(2 * p) == p - 1 .and. mine(2) == r, 5)
        call ok(phx_all_to_all(comm, c_loc(all), c_loc(back), two, phx_i32), 6)
        call want(back(1) == r .and. back(2 * p) == r, 7)
        call ok(phx_all_to_allv(comm, c_loc(back), counts, c_loc(all), counts, phx_i32), 8)
        call want(all(2 * p) == p - 1, 9)
        call ok(phx_reduce_scatter(comm, c_loc(all), c_loc(sums), two, phx_i32, phx_max), 10)
        call want(sums(1) == r, 11)
        call ok(phx_scan(comm, c_loc(mine), two, phx_i32, phx_sum), 12)
        call want(mine(1) == r * (r + 1) / 2, 13)
        call ok(phx_exclusive_scan(comm, c_loc(sums), two, phx_i32, phx_sum), 14)
        call want(sums(1) == r * (r - 1) / 2, 15)
        mine = r
        call ok(phx_shift(comm, c_loc(mine), two, phx_i32, 1), 16)
        call want(mine(1) == mod(r + p - 1, p), 17)
        call ok(phx_send_tagged(comm, c_loc(mine), two, phx_i32, mod(r + 1, p), 5), 18)
        call ok(phx_recv_tagged(comm, c_loc(word), two, phx_i32, phx_any_source, 5, status), 19)
        call want(word(1) == mod(r + 2 * p - 2, p) .and. status%n == 2, 20)
        call ok(phx_split(comm, mod(r, 2), r, part), 21)
        call want(phx_rank(part) == r / 2, 22)
        call ok(phx_comm_free(part), 23)
        call ok(phx_choose(comm, 'ring'//c_null_char, 0, [0]), 24)
        call ok(phx_order(comm, phx_order_fixed), 25)
        call ok(phx_requests(comm, c_funloc(started), c_null_ptr), 26)
        call plans(comm, r, p)
    end subroutine

    subroutine started(scope, argument) bind(C)
        type(c_ptr), value :: scope, argument
        type(c_ptr) :: comm
        real(c_double), target :: x(50), out, in
        integer(c_int64_t) :: requests(3)
        integer(c_size_t) :: which, n, one
        integer(c_int) :: r, p, k, left, code
        type(phx_status) :: status
        if (c_associated(argument)) return
        comm = phx_requests_comm(scope)
        r = phx_rank(comm)
        p = phx_size(comm)
        left = mod(r + p - 1, p)
        n = 50
        one = 1
        x = r
        out = r
        ! A call of a macro stands in one line.
        code = phx_start_all_reduce(scope, c_loc(x), n, phx_f64, phx_sum, requests(1))
        call ok(code, 30)
        code = phx_start_recv(scope, c_loc(in), one, phx_f64, left, 2, requests(2))
        call ok(code, 31)
        code = phx_start_send(scope, c_loc(out), one, phx_f64, mod(r + 1, p), 2, requests(3))
        call ok(code, 32)
        call ok(phx_wait_any(scope, requests, 3_c_size_t, which, status), 33)
        call want(which < 3, 34)
        requests(which + 1) = 0
        do k = 1, 3
            if (requests(k) /= 0) call ok(phx_wait(scope, requests(k), status), 35)
        end do
        call want(abs(x(50) - p * (p - 1) / 2) < 1e-12 .and. int(in) == left, 36)
        code = phx_persistent_broadcast(scope, c_loc(out), one, phx_f64, 0, requests(1))
        call ok(code, 37)
        do k = 1, 3
            out = r + k
            call ok(phx_start(scope, requests(1)), 38)
            call ok(phx_wait(scope, requests(1), status), 39)
            call want(int(out) == k, 40)
        end do
    end subroutine

    subroutine plans(comm, r, p)
        type(c_ptr), intent(in) :: comm
        integer(c_int), intent(in) :: r, p
        type(c_ptr) :: plan, window, part
        real(c_double), target :: own(2), ghost(1)
        real(c_double), pointer :: seen(:)
        integer(c_size_t) :: next(1), n
        next = mod(2 * r + 2, 2 * p)
        own = [2 * r, 2 * r + 1]
        call ok(phx_plan_blocks(comm, int(2 * p, c_size_t), next, 1_c_size_t, plan), 50)
        call ok(phx_plan_gather(plan, c_loc(own), c_loc(ghost), phx_f64), 51)
        call want(int(ghost(1)) == int(next(1)), 52)
        call ok(phx_plan_free(plan), 53)
        call ok(phx_window_new(comm, 2_c_size_t, phx_f64, window), 54)
        call ok(phx_window_update(window, c_funloc(write_three), c_null_ptr), 55)
        call ok(phx_window_part(window, p - 1, part, n), 56)
        call c_f_pointer(part, seen, [n])
        call want(n == 2 .and. int(seen(2)) == 3, 57)
        call ok(phx_window_free(window), 58)
    end subroutine

    subroutine write_three(data, n, argument) bind(C)
        type(c_ptr), value :: data, argument
        integer(c_size_t), value :: n
        real(c_double), pointer :: own(:)
        if (c_associated(argument)) return
        call c_f_pointer(data, own, [n])
        own = 3
    end subroutine
end module

program wrapper
    use checks
    implicit none
    integer(c_int) :: ranks
    call want(phx_version() == '0.1.0', 61)
    call want(phx_error_name(phx_err_deadlock) == 'deadlock', 62)
    call want(phx_run(-1, collectives) == phx_err_argument, 63)
    call want(index(phx_last_error(), '-1 ranks are too few') > 0, 64)
    do ranks = 1, 5
        call ok(phx_run(ranks, collectives), 60)
    end do
    if (failures > 0) error stop
    print '(a)', 'Fortran wrapper: ok, 1 to 5 ranks'
end program
