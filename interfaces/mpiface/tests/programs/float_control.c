/* One rank's thread rounds upward, or takes subnormal numbers for 0: every reduction gives the bits
   that it gives without, and the rank keeps its control. */
#include <complex.h>
#include <fenv.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#if defined __x86_64__
#define FLUSH() __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040)
#define NO_FLUSH() __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x8040u)
#else
#define FLUSH() (void)0
#define NO_FLUSH() (void)0
#endif

enum { LONG = 2000 };
static int rank, size;

#define CHECK(it, ...) ((it) ? (void)0 : (fprintf(stderr, "float_control.c:%d: rank %d of %d: %s", __LINE__, rank, size, #it), fprintf(stderr, ": " __VA_ARGS__), fputc('\n', stderr), MPI_Abort(MPI_COMM_WORLD, 1), (void)0))

static void add(void *a, void *b, int *n, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *n; i++) ((volatile double *)b)[i] += ((double *)a)[i];
}

/* Rank 0 gives 1, the rest so little that 1 stays 1, to the nearest. */
#define ROUNDED(T, type, op)                                                                       \
  do {                                                                                             \
    static __thread T given[LONG], got[LONG];                                                      \
    for (int n = 1; n <= LONG; n += n == 1 ? 9 : LONG - 10)                                        \
      for (int way = 0; way < 7; way++) {                                                          \
        T one = 1, little = (T)0x1p-80L, zero = 0;                                                 \
        for (int i = 0; i < n; i++) given[i] = rank ? little : one, got[i] = zero;                 \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        int has = 1;                                                                               \
        MPI_Win window;                                                                            \
        switch (way) {                                                                             \
        case 0: MPI_Allreduce(given, got, n, type, op, MPI_COMM_WORLD); break;                     \
        case 1: MPI_Iallreduce(given, got, n, type, op, MPI_COMM_WORLD, &request); break;          \
        case 2: MPI_Reduce(given, got, n, type, op, 0, MPI_COMM_WORLD); has = !rank; break;        \
        case 3: MPI_Scan(given, got, n, type, op, MPI_COMM_WORLD); break;                          \
        case 4: MPI_Iexscan(given, got, n, type, op, MPI_COMM_WORLD, &request); has = rank; break; \
        case 5:                                                                                    \
          for (int i = 0; i < n; i++) got[i] = one, given[i] = little;                             \
          MPI_Reduce_local(given, got, n, type, op);                                               \
          break;                                                                                   \
        case 6:                                                                                    \
          if (op != MPI_SUM) continue;                                                             \
          MPI_Win_create(got, rank ? 0 : n * sizeof(T), sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &window); \
          for (int i = 0; i < n; i++) got[i] = one, given[i] = little;                             \
          MPI_Win_fence(0, window);                                                                \
          MPI_Accumulate(given, n, type, 0, 0, n, type, op, window);                               \
          MPI_Win_fence(0, window);                                                                \
          MPI_Win_free(&window), has = !rank;                                                      \
          break;                                                                                   \
        }                                                                                          \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        for (int i = 0; has && i < n; i++) CHECK(got[i] == one, "%s, way %d, %d of %d", #type, way, i, n); \
      }                                                                                            \
  } while (0)

static void subnormal(MPI_Op op, unsigned long want) {
  static __thread double own[LONG], got[LONG];
  for (int n = 1; n <= LONG; n += n == 1 ? 9 : LONG - 10) {
    unsigned long bits = 3 + (unsigned long)rank, had;
    for (int i = 0; i < n; i++) memcpy(own + i, &bits, 8);
    MPI_Allreduce(own, got, n, MPI_DOUBLE, op, MPI_COMM_WORLD);
    memcpy(&had, got + n - 1, 8);
    CHECK(had == want, "%lu, not %lu of %d", had, want, n);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  for (int odd = 0; odd < size; odd++) {
    int round = rank == odd ? FE_UPWARD : FE_TONEAREST;
    fesetround(round);
    ROUNDED(double, MPI_DOUBLE, MPI_SUM);
    ROUNDED(float, MPI_FLOAT, MPI_SUM);
    ROUNDED(long double, MPI_LONG_DOUBLE, MPI_SUM);
    ROUNDED(double complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM);
    ROUNDED(double, MPI_DOUBLE, own);
    CHECK(fegetround() == round, "its control has changed");
    volatile double one = 1, more = one + 0x1p-80;
    CHECK((more > one) == (rank == odd), "its control has changed");
    fesetround(FE_TONEAREST);
    if (rank == odd) FLUSH();
    unsigned long p = (unsigned long)size;
    subnormal(MPI_SUM, 3 * p + p * (p - 1) / 2);
    subnormal(MPI_MAX, 2 + p);
    subnormal(own, 3 * p + p * (p - 1) / 2);
    NO_FLUSH();
  }
  MPI_Op_free(&own);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!rank) puts("float control fine");
  MPI_Finalize();
  return 0;
}
