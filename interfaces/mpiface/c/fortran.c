/* The start of the shim's Fortran part: the addresses that mean something else than themselves,
 * and texts, which Fortran fills with blanks. */
#include <string.h>
/* Common blocks of mpif.h: their addresses mean something. Each file of a rank's copy may have
 * them: the loader says where. By itself, a program has them once, for it and its libraries. */
enum {
  PHX_BOTTOM, PHX_IN_PLACE, PHX_IGNORE, PHX_IGNORES, PHX_UNWEIGHTED, PHX_NO_WEIGHTS, PHX_MARKS
};
extern __attribute__((weak)) char mpi_phx_bottom_[], mpi_phx_in_place_[], mpi_phx_ignore_[],
    mpi_phx_ignores_[], mpi_phx_unweighted_[], mpi_phx_no_weights_[];
static const void *phx_marks[256][PHX_MARKS];
static int phx_files;
__attribute__((visibility("default"))) void phalanx_fortran(const void *const *marks) {
  if (phx_files == sizeof phx_marks / sizeof *phx_marks)
    phx_fail("phalanx: too many libraries with Fortran\n");
  memcpy(phx_marks[phx_files], marks, sizeof *phx_marks);
  __atomic_store_n(&phx_files, phx_files + 1, __ATOMIC_RELEASE);
}
__attribute__((constructor)) static void phx_own_marks(void) {
  const void *marks[PHX_MARKS] = {mpi_phx_bottom_, mpi_phx_in_place_, mpi_phx_ignore_,
                                  mpi_phx_ignores_, mpi_phx_unweighted_, mpi_phx_no_weights_};
  phalanx_fortran(marks);
}
static int phx_is(int mark, const void *given) {
  int files = __atomic_load_n(&phx_files, __ATOMIC_ACQUIRE);
  for (int i = 0; i < files; i++)
    if (phx_marks[i][mark] == given) return 1;
  return 0;
}
static void *phx_weights(void *given) {
  if (!given) return given;
  return phx_is(PHX_UNWEIGHTED, given) ? MPI_UNWEIGHTED
      : phx_is(PHX_NO_WEIGHTS, given) ? MPI_WEIGHTS_EMPTY : given;
}
static void *phx_buffer(void *given) {
  if (!given) return given;
  return phx_is(PHX_IN_PLACE, given) ? MPI_IN_PLACE
      : phx_is(PHX_BOTTOM, given) ? MPI_BOTTOM : given;
}
static MPI_Status *phx_status(void *given) {
  return given && (phx_is(PHX_IGNORE, given) || phx_is(PHX_IGNORES, given)) ? MPI_STATUS_IGNORE
      : given;
}
static void phx_blanks(char *text, size_t room, const char *from, int length) {
  size_t fits = (size_t)length < room ? (size_t)length : room;
  memcpy(text, from, fits);
  memset(text + fits, ' ', room - fits);
}
