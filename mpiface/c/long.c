/* Arithmetic of C's `long double`, which Rust has not: what the predefined operators do with it,
 * with complex numbers of it, and with pairs of it and an index. See src/rt/ops.rs. The operands
 * need no alignment. */
#include <complex.h>
#include <stddef.h>
#include <string.h>

/* As a datatype of MPI lays it out: MPI_LONG_DOUBLE_INT. */
struct pair {
  long double value;
  int index;
};

/* Bytes of data in a pair: what lies behind is not the datatype's. */
#define PAIR (offsetof(struct pair, index) + sizeof(int))

enum { SUM = 0x21, MIN = 0x22, PROD = 0x24, MINLOC = 0x38 };

/* b[i] = a[i] op b[i]; the sum, the product, the smaller or the larger. */
void phalanx_long_real(int op, const char *a, char *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    long double x, y;
    memcpy(&x, a + i * sizeof x, sizeof x);
    memcpy(&y, b + i * sizeof y, sizeof y);
    y = op == SUM ? x + y : op == PROD ? x * y : op == MIN ? (y < x ? y : x) : (y > x ? y : x);
    memcpy(b + i * sizeof y, &y, sizeof y);
  }
}

/* The sum or the product. */
void phalanx_long_complex(int op, const char *a, char *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    long double complex x, y;
    memcpy(&x, a + i * sizeof x, sizeof x);
    memcpy(&y, b + i * sizeof y, sizeof y);
    y = op == SUM ? x + y : x * y;
    memcpy(b + i * sizeof y, &y, sizeof y);
  }
}

/* The smaller or larger value wins; of equal ones the smaller index. */
void phalanx_long_pair(int op, const char *a, char *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    struct pair x, y;
    memcpy(&x, a + i * sizeof x, PAIR);
    memcpy(&y, b + i * sizeof y, PAIR);
    int wins = op == MINLOC ? x.value < y.value : x.value > y.value;
    if (wins || (x.value == y.value && x.index < y.index))
      memcpy(b + i * sizeof y, &x, PAIR);
  }
}
