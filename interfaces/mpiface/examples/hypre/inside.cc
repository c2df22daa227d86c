// An ordinary program, in three ways: see ../../include/phalanx_mpi.h. Arguments: numbers of ranks.
#include "amg.h"
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <phalanx_mpi.h>

static void check(int code) {
  if (code != 0) {
    std::fprintf(stderr, "%s\n", phalanx_mpi_message());
    std::exit(1);
  }
}

static void solve(int ranks, int n, phalanx_mpi_team *team) {
  amg it = {n, 0, 0, 0, 0};
  check(team ? phalanx_mpi_invoke(team, amg_solve, &it) : phalanx_mpi_run(ranks, amg_solve, &it));
  amg_show(&it);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const int ranks = std::atoi(argv[i]);
    solve(ranks, 12, nullptr);
    solve(ranks, 17, nullptr);
    phalanx_mpi_team *team;
    check(phalanx_mpi_create(ranks, &team));
    solve(ranks, 12, team);
    solve(ranks, 17, team);
    phalanx_mpi_destroy(team);
    for (int n : {12, 17}) {
      amg it = {n, 0, 0, 0, 0};
      amg theirs = it;
      phalanx_mpi_started *started;
      check(phalanx_mpi_start(ranks, amg_solve, &theirs, &started));
      amg_solve(&it); // as rank 0
      phalanx_mpi_join(started);
      amg_show(&it);
    }
  }
  // Without a team: a world of one.
  amg it = {12, 0, 0, 0, 0};
  amg_solve(&it);
  amg_show(&it);
}
