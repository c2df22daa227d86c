! Windows, graphs, communicators between groups, contents and attributes of datatypes, texts.
program chapters
  use mpi
  implicit none
  integer :: rank, ranks, next, last, ierr, win, graph, vector, n, a, t, combiner, i
  integer :: integers(3), types(1), info, class, code, local, both, merged, others, total, comm
  integer :: sources(1), targets(1), weights(1), got(1), length, request, number
  integer :: memory(4), two(2)
  integer(kind=MPI_ADDRESS_KIND) :: addresses(1), size, base, value, position
  integer(kind=MPI_COUNT_KIND) :: many
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  character :: packed(8)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  ! Datatypes.
  call MPI_Type_vector(3, 2, 5, MPI_INTEGER, vector, ierr)
  call MPI_Type_get_envelope(vector, n, a, t, combiner, ierr)
  if (n /= 3 .or. t /= 1 .or. combiner /= MPI_COMBINER_VECTOR) call stop_at(1)
  call MPI_Type_get_contents(vector, 3, 0, 1, integers, addresses, types, ierr)
  if (any(integers /= [3, 2, 5]) .or. types(1) /= MPI_INTEGER) call stop_at(2)
  call MPI_Type_set_name(vector, 'stripes', ierr)
  call MPI_Type_get_name(vector, name, length, ierr)
  if (name /= 'stripes' .or. length /= 7) call stop_at(3)
  call MPI_Type_size_x(vector, many, ierr)
  if (many /= 24) call stop_at(4)
  call MPI_Type_free(vector, ierr)
  call MPI_Type_create_f90_real(10, MPI_UNDEFINED, vector, ierr)
  call MPI_Type_size(vector, n, ierr)
  if (n /= 8) call stop_at(5)
  position = 0
  two = [1, 2]
  call MPI_Pack_external('external32', two, 2, MPI_INTEGER, packed, 8_8, position, ierr)
  if (position /= 8 .or. ichar(packed(4)) /= 1) call stop_at(6)
  ! A graph: from the one before, to the one behind.
  sources = last
  targets = next
  weights = 1
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierr)
  call MPI_Dist_graph_neighbors_count(graph, n, a, flag, ierr)
  if (n /= 1 .or. a /= 1 .or. flag) call stop_at(7)
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, ierr)
  if (got(1) /= last) call stop_at(8)
  call MPI_Ineighbor_alltoall(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  if (got(1) /= last .or. request /= MPI_REQUEST_NULL) call stop_at(9)
  call MPI_Comm_free(graph, ierr)
  ! A window.
  memory = 0
  size = 16
  call MPI_Win_create(memory, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
  if (.not. flag .or. value /= 16) call stop_at(10)
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierr)
  call MPI_Get_address(memory, base, ierr)
  if (.not. flag .or. value /= base) call stop_at(11)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(rank, 1, MPI_INTEGER, next, 2_8, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  if (memory(3) /= last) call stop_at(12)
  do i = 0, ranks - 1
    call MPI_Accumulate(1, 1, MPI_INTEGER, i, 0_8, 1, MPI_INTEGER, MPI_SUM, win, ierr)
  end do
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
  if (memory(1) /= ranks) call stop_at(13)
  call MPI_Win_free(win, ierr)
  if (win /= MPI_WIN_NULL) call stop_at(14)
  ! Groups of the even and the odd ones.
  if (ranks > 1) then
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, local, ierr)
    call MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 3, both, ierr)
    call MPI_Comm_remote_size(both, others, ierr)
    call MPI_Intercomm_merge(both, mod(rank, 2) == 1, merged, ierr)
    call MPI_Comm_size(merged, total, ierr)
    if (others /= ranks / 2 .or. total /= ranks) call stop_at(15)
    call MPI_Comm_free(merged, ierr)
    call MPI_Comm_free(both, ierr)
  end if
  call MPI_Comm_idup(MPI_COMM_WORLD, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Barrier(comm, ierr)
  ! Codes and infos.
  call MPI_Add_error_class(class, ierr)
  call MPI_Add_error_code(class, code, ierr)
  call MPI_Add_error_string(code, 'no cheese', ierr)
  call MPI_Error_string(code, text, length, ierr)
  if (text /= 'no cheese') call stop_at(16)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, value, flag, ierr)
  if (.not. flag .or. value /= code) call stop_at(17)
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true', ierr)
  call MPI_Comm_set_info(comm, info, ierr)
  call MPI_Info_free(info, ierr)
  call MPI_Comm_get_info(comm, info, ierr)
  number = len(name)
  call MPI_Info_get_string(info, 'mpi_assert_no_any_tag', number, name, flag, ierr)
  if (.not. flag .or. name /= 'true') call stop_at(18)
  if (MPI_Aint_add(base, 4_8) /= base + 4) call stop_at(19)
  if (rank == 0) print '(a)', ' chapters fine'
  call MPI_Finalize(ierr)
contains
  subroutine stop_at(place)
    integer, intent(in) :: place
    print *, 'rank', rank, 'place', place
    call MPI_Abort(MPI_COMM_WORLD, place, ierr)
  end subroutine
end program
