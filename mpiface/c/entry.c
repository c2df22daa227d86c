/* Linked into each program: what makes the shared object a program.
 *
 * A program is linked as a shared object, of which each rank loads a copy. With an interpreter and
 * an entry point it can be executed by itself all the same (./prog, the run tests of configure and
 * CMake): it then becomes the launcher with one rank. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define INTERPRETER "/lib64/ld-linux-x86-64.so.2"
#define REALIGN __attribute__((force_align_arg_pointer))
#elif defined(__aarch64__)
#define INTERPRETER "/lib/ld-linux-aarch64.so.1"
#define REALIGN
#else
#error "the interpreter of this architecture is not known here"
#endif

const char phalanx_interpreter[] __attribute__((section(".interp"), used)) = INTERPRETER;

extern char **environ;
extern int PMPI_Initialized(int *);

static void try_launcher(const char *directory, const char *below, char **argv) {
  char path[4096];
  int n = snprintf(path, sizeof path, "%s%sphalanx-mpirun", directory, below);
  if (n > 0 && n < (int)sizeof path && access(path, X_OK) == 0) {
    argv[0] = path;
    execve(path, argv, environ);
  }
}

__attribute__((noreturn, visibility("default"))) REALIGN void ph_entry(void) {
  static char self[4096], line[1 << 17];
  static char *argv[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  int file = open("/proc/self/cmdline", O_RDONLY);
  size_t length = 0;
  if (n > 0 && file >= 0) {
    ssize_t got;
    while (length < sizeof line - 1 && (got = read(file, line + length, sizeof line - 1 - length)) > 0)
      length += (size_t)got;
    close(file);
    /* phalanx-mpirun -n 1 --as NAME FILE arguments.. */
    int count = 0;
    argv[count++] = self;
    argv[count++] = "-n";
    argv[count++] = "1";
    argv[count++] = "--as";
    argv[count++] = line;
    argv[count++] = self;
    for (size_t at = strlen(line) + 1; at < length && count < 4095; at += strlen(line + at) + 1)
      argv[count++] = line + at;
    const char *given = getenv("PHALANX_MPIRUN");
    if (given) {
      argv[0] = (char *)given;
      execve(given, argv, environ);
    }
    /* The launcher stands near the library: in ../bin, or beside, or where Cargo puts it. */
    Dl_info info;
    char directory[4096];
    if (dladdr((void *)PMPI_Initialized, &info) && info.dli_fname &&
        strlen(info.dli_fname) < sizeof directory) {
      strcpy(directory, info.dli_fname);
      char *slash = strrchr(directory, '/');
      if (slash) {
        slash[1] = 0;
        try_launcher(directory, "", argv);
        try_launcher(directory, "../bin/", argv);
        try_launcher(directory, "../../bin/", argv);
        try_launcher(directory, "../../../", argv);
      }
    }
  }
  static const char text[] = "phalanx: phalanx-mpirun was not found: name it in PHALANX_MPIRUN\n";
  n = write(2, text, sizeof text - 1);
  _exit(127);
}

/* The program's main, of which the name itself is not to be had under -fvisibility=hidden. */
typedef int main_function(int, char **, char **);
extern main_function main;
__attribute__((visibility("default"))) main_function *phalanx_main(void) { return main; }

extern void *__dso_handle;
extern void __cxa_finalize(void *);

/* What exit does for a process: the functions of this copy given to atexit, and its destructors. */
__attribute__((visibility("default"))) void phalanx_finish(void) { __cxa_finalize(&__dso_handle); }

/* Fortran's addresses that mean something: common blocks of mpif.h, if the program has them. */
extern int mpi_phx_in_place_ __attribute__((weak));
extern int mpi_phx_bottom_ __attribute__((weak));
extern int mpi_phx_ignore_ __attribute__((weak));
extern int mpi_phx_ignores_ __attribute__((weak));
extern int mpi_phx_unweighted_ __attribute__((weak));
extern int mpi_phx_no_weights_ __attribute__((weak));
extern void phalanx_fortran(const void *, const void *, const void *, const void *, const void *,
                            const void *);

__attribute__((constructor)) static void tell_addresses(void) {
  phalanx_fortran(&mpi_phx_in_place_, &mpi_phx_bottom_, &mpi_phx_ignore_, &mpi_phx_ignores_,
                  &mpi_phx_unweighted_, &mpi_phx_no_weights_);
}
