! mpi_f08: handles and statuses as types, errors left out, places from one, operators, both ways of
! calling what is ignored.
program f08_form
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Request) :: request(3), null(2)
  type(MPI_Status) :: status, statuses(3)
  type(MPI_Comm) :: twin, row
  type(MPI_Datatype) :: column
  type(MPI_Op) :: op
  type(MPI_Group) :: group
  integer :: rank, ranks, next, last, place, i, n, ierr, old(MPI_STATUS_SIZE), value(3), got(3)
  integer(MPI_ADDRESS_KIND) :: bound
  double precision :: matrix(4, 3), line(3)
  double precision, pointer :: memory(:)
  type(C_PTR) :: address
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: title
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 2)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  null = MPI_REQUEST_NULL
  call MPI_Waitany(2, null, place, status)
  if (place /= MPI_UNDEFINED) call MPI_Abort(MPI_COMM_WORLD, 3)
  matrix = rank
  call MPI_Type_vector(3, 1, 4, MPI_DOUBLE_PRECISION, column)
  call MPI_Type_commit(column)
  call MPI_Sendrecv(matrix(2, 1), 1, column, next, 1, line, 3, MPI_DOUBLE_PRECISION, last, 1, &
                    MPI_COMM_WORLD, status)
  if (any(line /= last) .or. status%MPI_SOURCE /= last .or. status%MPI_TAG /= 1) &
    call MPI_Abort(MPI_COMM_WORLD, 4)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, n)
  if (n /= 3) call MPI_Abort(MPI_COMM_WORLD, 5)
  call MPI_Status_f082f(status, old)
  if (old(MPI_SOURCE) /= last) call MPI_Abort(MPI_COMM_WORLD, 6)
  call MPI_Status_f2f08(old, statuses(2))
  if (statuses(2)%MPI_TAG /= 1) call MPI_Abort(MPI_COMM_WORLD, 7)
  call MPI_Type_free(column)
  if (column /= MPI_DATATYPE_NULL) call MPI_Abort(MPI_COMM_WORLD, 8)
  do i = 1, 3
    value(i) = rank * 10 + i
    call MPI_Irecv(got(i), 1, MPI_INTEGER, last, i, MPI_COMM_WORLD, request(i))
  end do
  do i = 3, 1, -1
    call MPI_Send(value(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD)
  end do
  call MPI_Waitall(3, request, statuses)
  if (any(got /= last * 10 + [1, 2, 3]) .or. statuses(3)%MPI_TAG /= 3) &
    call MPI_Abort(MPI_COMM_WORLD, 9)
  if (any(request /= MPI_REQUEST_NULL)) call MPI_Abort(MPI_COMM_WORLD, 10)
  call MPI_Irecv(got, 3, MPI_INTEGER, last, 7, MPI_COMM_WORLD, request(1))
  call MPI_Isend(value, 3, MPI_INTEGER, next, 7, MPI_COMM_WORLD, request(2))
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
  call MPI_Op_create(smallest, .true., op)
  value = rank + 5
  call MPI_Allreduce(MPI_IN_PLACE, value, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (any(value /= 5)) call MPI_Abort(MPI_COMM_WORLD, 11)
  call MPI_Op_free(op)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, row)
  call MPI_Comm_dup(row, twin)
  if (row == twin .or. .not. row == row) call MPI_Abort(MPI_COMM_WORLD, 12)
  call MPI_Comm_set_name(twin, 'a twin  ')
  call MPI_Comm_get_name(twin, title, n, ierror=ierr)
  if (n /= 6 .or. title /= 'a twin') call MPI_Abort(MPI_COMM_WORLD, 13)
  call MPI_Comm_group(twin, group)
  call MPI_Group_size(group, n)
  call MPI_Group_free(group)
  call MPI_Comm_free(twin)
  if (n < 1 .or. twin /= MPI_COMM_NULL) call MPI_Abort(MPI_COMM_WORLD, 14)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bound, flag)
  if (.not. flag .or. bound < 32767) call MPI_Abort(MPI_COMM_WORLD, 15)
  call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, address)
  call c_f_pointer(address, memory, [10])
  memory = rank
  call MPI_Bcast(memory, 10, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  if (any(memory /= 0d0)) call MPI_Abort(MPI_COMM_WORLD, 16)
  call MPI_Free_mem(memory)
  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
  if (flag .or. MPI_Wtime() < 0d0) call MPI_Abort(MPI_COMM_WORLD, 17)
  call MPI_Barrier(MPI_COMM_WORLD)
  call PMPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print *, 'f08 fine'
  call MPI_Finalize()
contains
  subroutine smallest(a, b, n, type)
    type(C_PTR), value :: a, b
    integer :: n
    type(MPI_Datatype) :: type
    integer, pointer :: x(:), y(:)
    if (type /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 18)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    y = min(x, y)
  end subroutine
end program
