subroutine in_library(value)
  use mpi
  implicit none
  integer :: value(3), ierr
  call MPI_Allreduce(MPI_IN_PLACE, value, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
end subroutine
