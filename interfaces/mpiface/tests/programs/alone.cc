// What a process owes to an ordinary program: constructors before main, functions of atexit and
// destructors after it, once each; its arguments; its code.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>

struct Noted {
  int made;
  Noted() : made(1) { std::puts("constructed"); }
  ~Noted() { std::puts("destroyed"); }
};
static Noted noted;

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::printf("main: %d of %d arguments, %d\n", size, argc, noted.made);
  std::atexit([] { std::puts("at exit"); });
  if (!std::strcmp(how, "leave")) std::exit(0);
  if (!std::strcmp(how, "return")) return 4;
  if (!std::strcmp(how, "fault")) *(volatile int *)8 = 1;
  if (!std::strcmp(how, "wait")) MPI_Recv(&size, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, nullptr);
  MPI_Finalize();
  std::exit(3);
}
