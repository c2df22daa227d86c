/* Operators whose results do not round have one result: each call's, whatever its way, is that of
   the operands one after the other. Beside a NaN the smaller and the larger value are the NaN of
   all bits, -0 is before 0, and of equal values the lowest place is found. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 5, LONG = 3000 };

static int rank, size;

#define CHECK(it, ...) ((it) ? (void)0 : (fprintf(stderr, "operators.c:%d: rank %d of %d: %s", __LINE__, rank, size, #it), fprintf(stderr, ": " __VA_ARGS__), fputc('\n', stderr), MPI_Abort(MPI_COMM_WORLD, 1), (void)0))

/* Rank r's element i: one of two zeros, a number, a number or seldom a NaN, or any. */
static double operand(int r, int i) {
  static const double floats[] = {0, -0., 1.5, -2.5, 0x1p-1022, -INFINITY, INFINITY, 1e30};
  unsigned x = (unsigned)(r + 1) * 2654435761u ^ (unsigned)(i + 1) * 2246822519u;
  x ^= x >> 15;
  if (i % 4 == 0) return floats[x % 2];
  if (i % 4 == 1 || (i % 4 == 2 && x % 5)) return floats[x % 8];
  double nan = x % 2 ? NAN : -NAN;
  unsigned long bits;
  memcpy(&bits, &nan, 8);
  bits |= (unsigned long)(x % 7) << 40;
  memcpy(&nan, &bits, 8);
  return i % 4 == 3 && x % 3 ? floats[x % 8] : nan;
}

/* Of the ranks before `end`: the extreme of element i, and the lowest place that it has. */
static double extreme(int smaller, int end, int i, int *place) {
  double best = operand(0, i);
  *place = 0;
  for (int r = 1; r < end; r++) {
    double x = operand(r, i);
    if (isnan(best) || isnan(x)) {
      if (!isnan(best)) *place = r;
      memset(&best, 0xff, 8);
    } else if (x == best) {
      if (!signbit(x) == !smaller) best = x;
    } else if (smaller ? x < best : x > best) {
      best = x, *place = r;
    }
  }
  return best;
}

/* All calls with elements of type T: `set` makes one of a rank's operand, and `is` compares one with
   the wanted value and place. */
#define WAYS(T, type, smaller, op, set, is)                                                        \
  do {                                                                                             \
    T *own = calloc(LONG * size, sizeof *own), *got = calloc(LONG * size, sizeof *got);            \
    for (int n = 1; n <= LONG; n += n == 1 ? FEW - 1 : LONG - FEW) {                               \
      MPI_Request request;                                                                         \
      for (int way = 0; way < 14; way++) {                                                         \
        int end = size, shift = 0, has = 1, blocks = way >= 8 && way <= 10 ? size : 1;             \
        for (int i = 0; i < n * blocks; i++) set(own[i], rank, i);                                 \
        memset((void *)got, 0x11, (size_t)(n * blocks) * sizeof *got);                             \
        request = MPI_REQUEST_NULL;                                                                \
        switch (way) {                                                                             \
        case 0: MPI_Allreduce(own, got, n, type, op, MPI_COMM_WORLD); break;                       \
        case 1: MPI_Iallreduce(own, got, n, type, op, MPI_COMM_WORLD, &request); break;            \
        case 2: MPI_Reduce(own, got, n, type, op, size - 1, MPI_COMM_WORLD); has = rank == size - 1; break; \
        case 3: MPI_Ireduce(own, got, n, type, op, 0, MPI_COMM_WORLD, &request); has = !rank; break; \
        case 4: MPI_Scan(own, got, n, type, op, MPI_COMM_WORLD); end = rank + 1; break;            \
        case 5: MPI_Iscan(own, got, n, type, op, MPI_COMM_WORLD, &request); end = rank + 1; break; \
        case 6: MPI_Exscan(own, got, n, type, op, MPI_COMM_WORLD); end = rank, has = rank; break;  \
        case 7: MPI_Iexscan(own, got, n, type, op, MPI_COMM_WORLD, &request); end = rank, has = rank; break; \
        case 8: MPI_Reduce_scatter_block(own, got, n, type, op, MPI_COMM_WORLD); shift = rank * n; break; \
        case 9: MPI_Ireduce_scatter_block(own, got, n, type, op, MPI_COMM_WORLD, &request); shift = rank * n; break; \
        case 10: {                                                                                 \
          int *counts = malloc(size * sizeof *counts);                                             \
          for (int r = 0; r < size; r++) counts[r] = n;                                            \
          MPI_Reduce_scatter(own, got, counts, type, op, MPI_COMM_WORLD);                          \
          free(counts), shift = rank * n;                                                          \
          break;                                                                                   \
        }                                                                                          \
        case 11:                                                                                   \
          MPI_Allreduce_init(own, got, n, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);      \
          MPI_Start(&request);                                                                     \
          MPI_Wait(&request, MPI_STATUS_IGNORE);                                                   \
          MPI_Request_free(&request);                                                              \
          break;                                                                                   \
        case 12:                                                                                   \
          memcpy((void *)got, own, (size_t)n * sizeof *got);                                       \
          MPI_Allreduce(MPI_IN_PLACE, got, n, type, op, MPI_COMM_WORLD);                           \
          break;                                                                                   \
        case 13: /* In any order of ranks: here from the last to the first. */                     \
          for (int i = 0; i < n; i++) set(got[i], size - 1, i);                                    \
          for (int r = size - 2; r >= 0; r--) {                                                    \
            for (int i = 0; i < n; i++) set(own[i], r, i);                                         \
            MPI_Reduce_local(own, got, n, type, op);                                               \
          }                                                                                        \
          break;                                                                                   \
        }                                                                                          \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        for (int i = 0; has && i < n; i++) {                                                       \
          int place;                                                                               \
          double want = extreme(smaller, end, i + shift, &place);                                  \
          CHECK(is(got[i], want, place), "%s, %s, way %d, %d of %d", #type, #op, way, i, n);        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    free(own), free(got);                                                                          \
  } while (0)

#define BOTH(T, type, set, is)                                                                     \
  do {                                                                                             \
    WAYS(T, type, 1, MPI_MIN, set, is);                                                            \
    WAYS(T, type, 0, MPI_MAX, set, is);                                                            \
  } while (0)
#define BOTH_PLACES(T, type, set, is)                                                              \
  do {                                                                                             \
    WAYS(T, type, 1, MPI_MINLOC, set, is);                                                         \
    WAYS(T, type, 0, MPI_MAXLOC, set, is);                                                         \
  } while (0)

#define SET(x, r, i) ((x) = operand(r, i))
#define SET_PAIR(x, r, i) ((x).value = operand(r, i), (x).place = (r))

/* The same bits: a NaN of all bits stays one in a narrower type. */
static int is_double(double x, double want) { return !memcmp(&x, &want, 8); }
static int is_float(float x, double want) { return is_double(x, (float)want); }
static double all_bits(void) {
  double x;
  memset(&x, 0xff, 8);
  return x;
}
static int is_long(long double x, double want) {
  static const unsigned char all[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  if (isnan(want)) return isnan(x) && !memcmp(&x, all, 10) == is_double(want, all_bits());
  return x == want && !signbit(x) == !signbit(want);
}

#define IS_DOUBLE(x, want, at) is_double(x, want)
#define IS_FLOAT(x, want, at) is_float(x, want)
#define IS_LONG(x, want, at) is_long(x, want)
#define IS_DOUBLE_PAIR(x, want, at) (is_double((x).value, want) && (x).place == (at))
#define IS_FLOAT_PAIR(x, want, at) (is_float((x).value, want) && (x).place == (at))
#define IS_LONG_PAIR(x, want, at) (is_long((x).value, want) && (x).place == (at))

/* "Is not 0" of any bits; of two operands and more the result is 0 or 1. */
#define LOGICAL(T, type)                                                                           \
  do {                                                                                             \
    static const MPI_Op ops[] = {MPI_LAND, MPI_LOR, MPI_LXOR};                                     \
    for (int o = 0; o < 3; o++)                                                                    \
      for (int i = 0; i < 30; i++) {                                                               \
        T x = 0, blocking, started;                                                                \
        int want = 0;                                                                              \
        for (int r = 0; r < size; r++) {                                                           \
          T it = (T)((r * 7 + i * 5) % 6 * (r % 2 ? 64 : -127));                                   \
          if (r == rank) x = it;                                                                   \
          want = !r ? !!it : o == 0 ? want && it : o == 1 ? want || it : want != !!it;             \
        }                                                                                          \
        MPI_Request request;                                                                       \
        MPI_Allreduce(&x, &blocking, 1, type, ops[o], MPI_COMM_WORLD);                             \
        MPI_Iallreduce(&x, &started, 1, type, ops[o], MPI_COMM_WORLD, &request);                   \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        CHECK(size == 1 || (blocking == (T)want && started == (T)want), "%s %d %d", #type, o, i);  \
      }                                                                                            \
  } while (0)

/* In whatever order the ranks come. */
static void accumulated(void) {
  MPI_Win window;
  double *at, x[64];
  MPI_Win_allocate(sizeof x, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
  for (int smaller = 0; smaller < 2; smaller++) {
    for (int i = 0; i < 64; i++) at[i] = smaller ? INFINITY : -INFINITY, x[i] = operand(rank, i);
    MPI_Win_fence(0, window);
    MPI_Accumulate(x, 64, MPI_DOUBLE, 0, 0, 64, MPI_DOUBLE, smaller ? MPI_MIN : MPI_MAX, window);
    MPI_Win_fence(0, window);
    for (int i = 0; !rank && i < 64; i++) {
      int place;
      double want = extreme(smaller, size, i, &place);
      if (isnan(want)) memset(&want, 0xff, 8);
      CHECK(is_double(at[i], want), "accumulated %d, %d", smaller, i);
    }
    MPI_Win_fence(0, window);
  }
  MPI_Win_free(&window);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  BOTH(double, MPI_DOUBLE, SET, IS_DOUBLE);
  BOTH(float, MPI_FLOAT, SET, IS_FLOAT);
  BOTH(long double, MPI_LONG_DOUBLE, SET, IS_LONG);
  struct double_int { double value; int place; };
  struct float_int { float value; int place; };
  struct long_int { long double value; int place; };
  struct doubles { double value, place; };
  struct reals { float value, place; };
  BOTH_PLACES(struct double_int, MPI_DOUBLE_INT, SET_PAIR, IS_DOUBLE_PAIR);
  BOTH_PLACES(struct float_int, MPI_FLOAT_INT, SET_PAIR, IS_FLOAT_PAIR);
  BOTH_PLACES(struct long_int, MPI_LONG_DOUBLE_INT, SET_PAIR, IS_LONG_PAIR);
  BOTH_PLACES(struct doubles, MPI_2DOUBLE_PRECISION, SET_PAIR, IS_DOUBLE_PAIR);
  BOTH_PLACES(struct reals, MPI_2REAL, SET_PAIR, IS_FLOAT_PAIR);
  LOGICAL(int, MPI_INT);
  LOGICAL(long, MPI_LONG);
  LOGICAL(signed char, MPI_SIGNED_CHAR);
  LOGICAL(unsigned short, MPI_UNSIGNED_SHORT);
  accumulated();
  if (!rank) puts("operators fine");
  MPI_Finalize();
  return 0;
}
