! Addresses that mean something, in a program and in a library of it.
program builds
  use mpi
  implicit none
  integer :: rank, ierr, value(3), total(3)
  integer, save :: here = 7
  external :: in_library
!$omp threadprivate(here)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  here = here + rank
  value = here
  call MPI_Allreduce(MPI_IN_PLACE, value, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  total = here
  call in_library(total)
  print '(a,i0,a,i0,a,i0)', 'rank ', rank, ' has ', value(2), ' and ', total(3)
  call MPI_Finalize(ierr)
end program
