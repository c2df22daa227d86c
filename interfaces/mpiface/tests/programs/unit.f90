! Stops without MPI_FINALIZE, and with an open unit.
program unit
  implicit none
  include 'mpif.h'
  integer :: ierr
  call MPI_INIT(ierr)
  open (unit=10, file='unit.txt')
  write (10, *) 42
  stop
end program
