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

    ! @constants@

    ! Of phx_options the address is passed: c_loc(options).
    ! @structs@

    abstract interface
        ! What a rank runs, with its communicator and the argument of the run.
        subroutine phx_rank_fn(comm, argument) bind(C)
            import :: c_ptr
            type(c_ptr), value :: comm, argument
        end subroutine
    end interface

    ! What the module's functions call. `buf` is any array: its first element's address.
    interface
        ! @interfaces@
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
