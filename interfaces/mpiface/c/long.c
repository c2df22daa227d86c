/* Arithmetic of C's `long double`, which Rust has not: what the predefined operators do with it,
 * with complex numbers of it, and with pairs of it and an index. See src/rt/ops.rs. The operands
 * need no alignment. */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* As a datatype of MPI lays it out: MPI_LONG_DOUBLE_INT. */
struct pair {
  long double value;
  int index;
};

/* Bytes of data in a pair: what lies behind is not the datatype's. */
#define PAIR (offsetof(struct pair, index) + sizeof(int))

/* Lets the x87 round to the nearest, in all bits; returns its control word of before. (That of
 * vectors is the caller's to set; elsewhere there is no other.) */
static unsigned short standard(void) {
  unsigned short before = 0x300;
#ifdef __x86_64__
  __asm__ volatile("fnstcw %0" : "=m"(before) : : "memory");
  unsigned short usual = (before & 0xf0ff) | 0x300;
  if (before != usual)
    __asm__ volatile("fldcw %0" : : "m"(usual) : "memory");
#endif
  return before;
}

static void restore(unsigned short before) {
#ifdef __x86_64__
  if ((before & 0xf00) != 0x300)
    __asm__ volatile("fldcw %0" : : "m"(before) : "memory");
#else
  (void)before;
#endif
}

enum { SUM = 0x21, MIN = 0x22, PROD = 0x24, MINLOC = 0x38 };

/* The smaller (or larger) one by the library's rule (src/op/extremes.rs): -0 before 0, and beside a
 * NaN all bits. */
static long double extreme(int smaller, long double x, long double y) {
  if (isnan(x) || isnan(y)) {
    memset(&y, 0xff, sizeof y);
    return y;
  }
  if (x == y)
    return !signbit(x) == !smaller ? x : y;
  return (smaller ? x < y : x > y) ? x : y;
}

/* b[i] = a[i] op b[i]; the sum, the product, the smaller or the larger. */
void phalanx_long_real(int op, const char *a, char *b, size_t n) {
  unsigned short before = standard();
  for (size_t i = 0; i < n; i++) {
    long double x, y;
    memcpy(&x, a + i * sizeof x, sizeof x);
    memcpy(&y, b + i * sizeof y, sizeof y);
    y = op == SUM ? x + y : op == PROD ? x * y : extreme(op == MIN, x, y);
    memcpy(b + i * sizeof y, &y, sizeof y);
  }
  restore(before);
}

/* The sum or the product. */
void phalanx_long_complex(int op, const char *a, char *b, size_t n) {
  unsigned short before = standard();
  for (size_t i = 0; i < n; i++) {
    long double complex x, y;
    memcpy(&x, a + i * sizeof x, sizeof x);
    memcpy(&y, b + i * sizeof y, sizeof y);
    y = op == SUM ? x + y : x * y;
    memcpy(b + i * sizeof y, &y, sizeof y);
  }
  restore(before);
}

/* The smaller or larger value wins, or a NaN; of equal ones the smaller index. */
void phalanx_long_pair(int op, const char *a, char *b, size_t n) {
  unsigned short before = standard();
  for (size_t i = 0; i < n; i++) {
    struct pair x, y;
    memcpy(&x, a + i * sizeof x, PAIR);
    memcpy(&y, b + i * sizeof y, PAIR);
    int smaller = op == MINLOC, nans = !!isnan(x.value) - !!isnan(y.value);
    int left = nans > 0 || (smaller ? x.value < y.value : x.value > y.value);
    int right = nans < 0 || (smaller ? y.value < x.value : y.value > x.value);
    if (left || (!right && x.index < y.index))
      y.index = x.index;
    y.value = extreme(smaller, x.value, y.value);
    memcpy(b + i * sizeof y, &y, PAIR);
  }
  restore(before);
}
