/* Ranks of MPI inside an ordinary program, without a launcher.
 *
 * Outside a team each call of MPI sees a world of one rank, with or without MPI_Init. A team's
 * ranks are threads; each has its own copy of the shared library in which the function lies that it is to
 * run, and of that library's own libraries: globals, statics and thread-locals are private. In the
 * function MPI_COMM_WORLD is the team. The function and what it calls therefore lie in a shared
 * library (linked by phalanx-mpicc -shared), or in a program that phalanx-mpicc linked; not in an
 * executable of another linker. The argument is shared by all ranks.
 *
 * A number of ranks of 0 asks for PHALANX_RANKS of the environment, else for one a core. What can
 * fail gives 0, or -1 and a text by phalanx_mpi_message. Errors of MPI, and `exit` in a rank, end
 * the process. Handles of MPI (communicators, types ..) belong to the team that made them. */
#ifndef PHALANX_MPI_TEAMS_H
#define PHALANX_MPI_TEAMS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*phalanx_mpi_function)(void *argument);
typedef struct phalanx_mpi_team phalanx_mpi_team;
typedef struct phalanx_mpi_started phalanx_mpi_started;

/* The number of ranks that n asks for. */
int phalanx_mpi_ranks(int n);

/* The text of this thread's last failure, until the next. */
const char *phalanx_mpi_message(void);

/* First way: n ranks with fresh copies run f; returns when all have returned. */
int phalanx_mpi_run(int n, phalanx_mpi_function f, void *argument);

/* Second way: a team whose ranks and copies stay until it is destroyed. One call at a time. */
int phalanx_mpi_create(int n, phalanx_mpi_team **team);
int phalanx_mpi_invoke(phalanx_mpi_team *team, phalanx_mpi_function f, void *argument);
void phalanx_mpi_destroy(phalanx_mpi_team *team);

/* Third way: until the join, the caller is rank 0 and goes on with its own copy; n - 1 others run
 * f. The same thread joins. */
int phalanx_mpi_start(int n, phalanx_mpi_function f, void *argument, phalanx_mpi_started **team);
void phalanx_mpi_join(phalanx_mpi_started *team);

#ifdef __cplusplus
}

#include <stdexcept>

/* The same with callable objects, which all ranks share; failures are exceptions. An exception must
 * not leave a rank's call. */
namespace phalanx_mpi {

namespace detail {
inline void check(int code) {
  if (code != 0)
    throw std::runtime_error(phalanx_mpi_message());
}
/* Hidden: it is called in the copy of the library whose code the object is. */
template <class F> __attribute__((visibility("hidden"))) void call(void *f) noexcept {
  (*static_cast<F *>(f))();
}
} // namespace detail

/* First way. */
template <class F> __attribute__((visibility("hidden"))) void run(int n, F f) {
  detail::check(phalanx_mpi_run(n, detail::call<F>, &f));
}

/* Second way. */
class __attribute__((visibility("hidden"))) Team {
public:
  explicit Team(int n = 0) { detail::check(phalanx_mpi_create(n, &team)); }
  ~Team() { phalanx_mpi_destroy(team); }
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  template <class F> void invoke(F f) {
    detail::check(phalanx_mpi_invoke(team, detail::call<F>, &f));
  }

private:
  phalanx_mpi_team *team = nullptr;
};

/* Third way: the caller is rank 0 until the join, or until this ends. */
template <class F> class __attribute__((visibility("hidden"))) Started {
public:
  Started(int n, F f) : f(f) {
    detail::check(phalanx_mpi_start(n, detail::call<F>, &this->f, &team));
  }
  ~Started() { join(); }
  Started(const Started &) = delete;
  Started &operator=(const Started &) = delete;
  void join() {
    phalanx_mpi_join(team);
    team = nullptr;
  }

private:
  F f;
  phalanx_mpi_started *team = nullptr;
};

} // namespace phalanx_mpi
#endif

#endif
