// The three ways in C++, with callable objects: a program that phalanx-mpicxx linked, or, if PLAIN
// is defined, a library whose function `body` an ordinary executable calls.
#include <cstdio>
#include <mpi.h>
#include <phalanx_mpi.h>
#include <vector>

namespace {
int global = 0;

int rank() {
  int it;
  MPI_Comm_rank(MPI_COMM_WORLD, &it);
  return it;
}
} // namespace

extern "C" int body() {
  const int n = 3;
  global = 100; // the caller's own: no rank of a team sees it
  std::vector<int> seen(n);
  phalanx_mpi::run(n, [&seen] {
    ++global;
    MPI_Allreduce(&global, &seen[rank()], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  std::printf("run: %d %d %d\n", seen[0], seen[1], seen[2]);

  {
    phalanx_mpi::Team team(n);
    for (int i = 0; i < 2; i++)
      team.invoke([&seen] { seen[rank()] = ++global; });
  }
  std::printf("invoke: %d %d %d\n", seen[0], seen[1], seen[2]);

  int sum = 0;
  auto add = [&sum] {
    int mine = rank() + global, *out = rank() == 0 ? &sum : nullptr;
    MPI_Reduce(&mine, out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  };
  phalanx_mpi::Started<decltype(add)> started(n, add);
  add();
  started.join();
  std::printf("started: %d, global %d\n", sum, global);
  return 0;
}

#ifndef PLAIN
int main() { return body(); }
#endif
