
/* The part of the shim for ordinary programs (phalanx_mpi.h): the same text for each copy. */
#include <dlfcn.h>
#include <phalanx_mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef void phx_guest(void (*bind)(const void *const *, const void *));

static __attribute__((noreturn, cold)) void phx_fail(const char *text) {
  ssize_t n = write(2, text, strlen(text));
  (void)n;
  _Exit(1);
}

static void *phx_runtime(const char *directory, int length, const char *below) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%.*s%slibphalanx_mpi_abi.so", length, directory, below);
  return n > 0 && n < (int)sizeof path && access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW) : 0;
}

/* A function of the runtime, which stands beside this library, or where Cargo puts it. */
static void *phx_of_runtime(const char *name) {
  if (dlsym(RTLD_DEFAULT, "phalanx_bar_exit"))
    phx_fail("phalanx: a library of the system that has no copy a rank calls MPI: name it in "
             "PHALANX_MPI_PRIVATE\n");
  Dl_info info;
  void *runtime = 0;
  if (dladdr((void *)phalanx_bind, &info) && info.dli_fname) {
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    static const char *const below[] = {"", "../../../deps/", "../../../"};
    for (size_t i = 0; !runtime && i < sizeof below / sizeof *below; i++)
      runtime = phx_runtime(info.dli_fname, length, below[i]);
  }
  void *function = runtime ? dlsym(runtime, name) : 0;
  if (!function)
    phx_fail("phalanx: libphalanx_mpi_abi.so was not found beside libmpi_abi.so.0\n");
  return function;
}

/* No loader bound this shim, so the program is an ordinary one: it is a world of one rank. */
static void phx_enter(void) {
  ((phx_guest *)phx_of_runtime("phalanx_mpi_guest"))(phalanx_bind);
}

/* For entry.c and start.c: a program was started by itself. */
typedef int phx_main(int, char **, char **);
typedef int phx_alone(void (*bind)(const void *const *, const void *), phx_main *constructors,
                      phx_main *, int, char **, char **);
__attribute__((visibility("default"))) int phalanx_alone(phx_main *constructors, phx_main *main,
                                                         int argc, char **argv, char **envp) {
  /* A constructor has called MPI: the world of one is there. */
  if (phx_table) {
    constructors(argc, argv, envp);
    return main(argc, argv, envp);
  }
  phx_alone *alone = (phx_alone *)phx_of_runtime("phalanx_mpi_alone");
  return alone(phalanx_bind, constructors, main, argc, argv, envp);
}

static __attribute__((cold, noinline)) void unbound(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, phx_enter);
}

/* An entry of the table after those of MPI, as a function of this type. */
#define PHX_CALL(number, type) \
  if (__builtin_expect(!phx_table, 0)) \
    unbound(); \
  return ((type)phx_table[PHX_TEAMS + number])
#define PHX_SITE phx_rank, __builtin_return_address(0)
#define PHX_HEAD const void *, void *

int phalanx_mpi_ranks(int n) { PHX_CALL(0, int (*)(PHX_HEAD, int))(PHX_SITE, n); }

const char *phalanx_mpi_message(void) { PHX_CALL(1, const char *(*)(PHX_HEAD))(PHX_SITE); }

int phalanx_mpi_run(int n, phalanx_mpi_function f, void *argument) {
  PHX_CALL(2, int (*)(PHX_HEAD, int, phalanx_mpi_function, void *))(PHX_SITE, n, f, argument);
}

int phalanx_mpi_create(int n, phalanx_mpi_team **team) {
  PHX_CALL(3, int (*)(PHX_HEAD, int, phalanx_mpi_team **))(PHX_SITE, n, team);
}

int phalanx_mpi_invoke(phalanx_mpi_team *team, phalanx_mpi_function f, void *argument) {
  PHX_CALL(4, int (*)(PHX_HEAD, phalanx_mpi_team *, phalanx_mpi_function, void *))
  (PHX_SITE, team, f, argument);
}

void phalanx_mpi_destroy(phalanx_mpi_team *team) {
  PHX_CALL(5, void (*)(PHX_HEAD, phalanx_mpi_team *))(PHX_SITE, team);
}

int phalanx_mpi_start(int n, phalanx_mpi_function f, void *argument, phalanx_mpi_started **team) {
  PHX_CALL(6, int (*)(PHX_HEAD, void *, int, phalanx_mpi_function, void *, phalanx_mpi_started **))
  (PHX_SITE, (void *)phalanx_bind, n, f, argument, team);
}

void phalanx_mpi_join(phalanx_mpi_started *team) {
  PHX_CALL(7, void (*)(PHX_HEAD, phalanx_mpi_started *))(PHX_SITE, team);
}
