/* Loads plug-ins, each rank its own: by path, again after dlclose, and itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int state = 100;
int of_host(void) { return state; }

#define CHECK(code, condition) \
  if (!(condition)) { \
    const char *text = dlerror(); \
    printf("rank %d: check %d: %s\n", rank, code, text ? text : ""); \
    MPI_Abort(MPI_COMM_WORLD, code); \
  }

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state += rank;
  for (int round = 0; round < 3; round++) {
    void *plugin = dlopen(argv[1], RTLD_NOW | (round ? RTLD_LOCAL : RTLD_GLOBAL));
    CHECK(2, plugin);
    CHECK(3, dlopen(argv[1], RTLD_NOW) == plugin && !dlclose(plugin));
    int (*bump)(void) = (int (*)(void))dlsym(plugin, "bump"), n = 0;
    int (*who)(void) = (int (*)(void))dlsym(plugin, "who");
    int (*total)(int) = (int (*)(int))dlsym(plugin, "total");
    int (*host)(void) = (int (*)(void))dlsym(plugin, "host_state");
    int (*other)(int) = (int (*)(int))dlsym(plugin, "other_state");
    int *public = dlsym(plugin, "public_counter");
    CHECK(4, bump && who && total && host && other && public);
    for (int i = 0; i <= rank; i++) {
      n = bump();
      other(1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(5, n == rank + 1 && *public == n && other(0) == n);
    CHECK(6, who() == rank && total(1) == ranks && host() == 100 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(7, !dlclose(plugin));
  }
  void *self = dlopen(NULL, RTLD_NOW);
  CHECK(8, self && dlsym(self, "state") == (void *)&state);
  CHECK(9, dlsym(self, "MPI_Init") && dlsym(RTLD_DEFAULT, "of_host") == (void *)of_host);
  CHECK(10, !dlopen("./is_not_there.so", RTLD_NOW) && strstr(dlerror(), "is_not_there"));
  CHECK(11, !dlopen(argv[2], RTLD_NOW));
  const char *text = dlerror();
  CHECK(12, text && strstr(text, "lacking.so: undefined symbol: nowhere"));
  void *math = dlopen("libm.so.6", RTLD_NOW);
  CHECK(13, math && dlsym(math, "cos") && !dlclose(math));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("plugins fine\n");
  MPI_Finalize();
  return 0;
}
