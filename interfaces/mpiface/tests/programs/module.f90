! The module, a derived type, Waitany's places from one, a user's operator, texts with blanks.
program module_form
  use mpi
  implicit none
  integer :: rank, ranks, ierr, i, place, column, op, request(3), status(MPI_STATUS_SIZE), n
  integer :: value(3), got(3), next, last
  double precision :: matrix(4, 3), row(3)
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  integer(kind=MPI_ADDRESS_KIND) :: bound
  integer :: old_bound, info, comm
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: title
  character(len=20) :: text
  external smallest
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  call MPI_Get_processor_name(name, n, ierr)
  if (len_trim(name) /= n) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
  matrix = rank
  call MPI_Type_vector(3, 1, 4, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Sendrecv(matrix(2, 1), 1, column, next, 1, row, 3, MPI_DOUBLE_PRECISION, last, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (any(row /= last)) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  call MPI_Type_free(column, ierr)
  do i = 1, 3
    value(i) = rank * 10 + i
    call MPI_Irecv(got(i), 1, MPI_INTEGER, last, i, MPI_COMM_WORLD, request(i), ierr)
  end do
  do i = 3, 1, -1
    call MPI_Send(value(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, ierr)
  end do
  do i = 1, 3
    call MPI_Waitany(3, request, place, status, ierr)
    if (place < 1 .or. place > 3) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
    if (got(place) /= last * 10 + place) call MPI_Abort(MPI_COMM_WORLD, 5, ierr)
    if (request(place) /= MPI_REQUEST_NULL) call MPI_Abort(MPI_COMM_WORLD, 6, ierr)
  end do
  call MPI_Op_create(smallest, .true., op, ierr)
  value = rank + 5
  call MPI_Allreduce(value, got, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  if (any(got /= 5)) call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
  call MPI_Op_free(op, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bound, flag, ierr)
  if (.not. flag .or. bound < 32767) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, old_bound, flag, ierr)
  if (.not. flag .or. old_bound /= bound) call MPI_Abort(MPI_COMM_WORLD, 10, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_set_name(comm, 'a twin  ', ierr)
  call MPI_Comm_get_name(comm, title, n, ierr)
  if (n /= 6 .or. title /= 'a twin') call MPI_Abort(MPI_COMM_WORLD, 11, ierr)
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'key', 'a value', ierr)
  call MPI_Info_get(info, 'key ', 20, text, flag, ierr)
  if (.not. flag .or. text /= 'a value') call MPI_Abort(MPI_COMM_WORLD, 12, ierr)
  call MPI_Info_free(info, ierr)
  call MPI_Recv_init(got, 3, MPI_INTEGER, last, 9, comm, request(1), ierr)
  call MPI_Send_init(value, 3, MPI_INTEGER, next, 9, comm, request(2), ierr)
  do i = 1, 4
    value = rank + i
    call MPI_Startall(2, request, ierr)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
    if (any(got /= last + i)) call MPI_Abort(MPI_COMM_WORLD, 13, ierr)
  end do
  call MPI_Request_free(request(1), ierr)
  call MPI_Request_free(request(2), ierr)
  call MPI_Comm_free(comm, ierr)
  if (MPI_Wtime() < 0d0) call MPI_Abort(MPI_COMM_WORLD, 8, ierr)
  if (rank == 0) print *, 'module fine'
  call MPI_Finalize(ierr)
end program

subroutine smallest(a, b, n, type)
  implicit none
  integer :: n, type, a(n), b(n)
  b = min(a, b)
end subroutine
