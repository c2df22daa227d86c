! Each rank's unit 10 is a file of its own; module variables, SAVE and COMMON are its own, too.
module state
  implicit none
  integer :: counter = 5
end module

program units
  use state
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, ierr, got, total, shared_by_common
  common /block/ shared_by_common
  character(len=20) :: name
  double precision :: mine(3), sums(3)
  integer :: status(MPI_STATUS_SIZE), next, last
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  counter = counter + rank
  shared_by_common = 100 * rank
  write (name, '(a,i0)') 'unit.', rank
  open (unit=10, file=name)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  write (10, *) rank * 7
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  rewind (10)
  read (10, *) got
  close (10, status='delete')
  if (got /= rank * 7 .or. counter /= 5 + rank .or. shared_by_common /= 100 * rank) then
    call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
  end if
  mine = rank + 0.5d0
  call MPI_ALLREDUCE(mine, sums, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (abs(sums(3) - ranks * (ranks - 1) / 2 - 0.5d0 * ranks) > 1d-12) call MPI_ABORT(MPI_COMM_WORLD, 4, ierr)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  call MPI_SENDRECV(rank, 1, MPI_INTEGER, next, 1, got, 1, MPI_INTEGER, last, 1, MPI_COMM_WORLD, status, ierr)
  if (got /= last .or. status(MPI_SOURCE) /= last) call MPI_ABORT(MPI_COMM_WORLD, 5, ierr)
  total = 1
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (total /= ranks) call MPI_ABORT(MPI_COMM_WORLD, 6, ierr)
  if (rank == 0) print *, 'own units'
  call MPI_FINALIZE(ierr)
end program
