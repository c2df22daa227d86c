/* Many messages at once between two ranks, in nanoseconds a message: as many MPI_Irecv and
   MPI_Isend as the window says, on both ranks, and one MPI_Waitall; and one way, with an answer
   after each window. Blocks are filed by the place of the cores: `near` if an exchange of two flags
   takes less than 190 ns before and after. Of each the least and the median, and the number of
   blocks. Run beside another MPI, in turns, by `tools/mpi-programs BIN DIRECTORY latency`.
     many [WINDOW..]    windows instead of 1, 8 and 64 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 60, MESSAGES = 16384, LONGEST = 8192, MOST = 4096 };

static int rank;
static _Atomic long *flags[2];
static char *from, *to;
static MPI_Request open[2 * MOST];

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* An exchange of two flags. */
static double exchange(void) {
  static long number;
  enum { ROUNDS = 300 };
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < ROUNDS; i++) {
    number++;
    atomic_store_explicit(flags[rank], number, memory_order_release);
    while (atomic_load_explicit(flags[1 - rank], memory_order_acquire) < number) {}
  }
  return (MPI_Wtime() - start) * 1e9 / ROUNDS;
}

static void both_ways(int window, int bytes) {
  for (int i = 0; i < window; i++)
    MPI_Irecv(to + (size_t)i * bytes, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &open[i]);
  for (int i = 0; i < window; i++)
    MPI_Isend(from + (size_t)i * bytes, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD,
              &open[window + i]);
  MPI_Waitall(2 * window, open, MPI_STATUSES_IGNORE);
}

static void one_way(int window, int bytes) {
  for (int i = 0; i < window; i++)
    if (rank == 0)
      MPI_Isend(from + (size_t)i * bytes, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &open[i]);
    else
      MPI_Irecv(to + (size_t)i * bytes, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &open[i]);
  MPI_Waitall(window, open, MPI_STATUSES_IGNORE);
  if (rank == 0)
    MPI_Recv(to, 4, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(from, 4, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

static void report(double *times, int count, const char *place) {
  if (count == 0) return;
  qsort(times, count, sizeof *times, by_size);
  printf("  %s: least %.0f median %.0f of %d", place, times[0], times[count / 2], count);
}

static void measure(const char *name, void (*run)(int, int), int window, int bytes) {
  double times[2][BLOCKS];
  int found[2] = {0, 0}, rounds = MESSAGES / window / (bytes > 1024 ? 8 : 1);
  if (rounds < 4) rounds = 4;
  double before = exchange();
  for (int block = 0; block < BLOCKS; block++) {
    run(window, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; i++) run(window, bytes);
    double time = (MPI_Wtime() - start) * 1e9 / rounds / window;
    double after = exchange();
    int is_far = before > 190 && after > 190;
    if (is_far || (before < 190 && after < 190)) times[is_far][found[is_far]++] = time;
    before = after;
  }
  if (rank) return;
  printf("%s, window %d, %d bytes:", name, window, bytes);
  report(times[0], found[0], "near");
  report(times[1], found[1], "far");
  printf("\n");
}

int main(int argc, char **argv) {
  static const int sizes[] = {8, 1024, 8192};
  int windows[16] = {1, 8, 64}, count = 3;
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    count = 0;
    for (int i = 1; i < argc && count < 16; i++) {
      windows[count] = atoi(argv[i]);
      if (windows[count] > 0 && windows[count] <= MOST) count++;
    }
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win shared;
  void *own;
  MPI_Win_allocate_shared(256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &shared);
  for (int i = 0; i < 2; i++) {
    MPI_Aint size;
    int unit;
    void *at;
    MPI_Win_shared_query(shared, i, &size, &unit, &at);
    flags[i] = (_Atomic long *)((char *)at + 64);
  }
  atomic_store(flags[rank], 0);
  from = calloc(MOST, LONGEST);
  to = calloc(MOST, LONGEST);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    for (int j = 0; j < 3; j++) {
      measure("both ways", both_ways, windows[i], sizes[j]);
      measure("one way", one_way, windows[i], sizes[j]);
    }
  MPI_Win_free(&shared);
  MPI_Finalize();
  return 0;
}
