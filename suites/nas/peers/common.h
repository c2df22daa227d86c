/* Random numbers and memory, of all kernels. */
#ifndef COMMON_H
#define COMMON_H
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* x' = a x mod 2^46 */
static const uint64_t A = 1220703125, MASK = (1ULL << 46) - 1;

static uint64_t power(uint64_t n)
{
    uint64_t result = 1;
    for (uint64_t a = A; n; n >>= 1, a = a * a & MASK)
        if (n & 1) result = result * a & MASK;
    return result;
}
static double next(uint64_t *x)
{
    *x = *x * A & MASK;
    return (double)*x * 0x1p-46;
}
static void *memory(size_t bytes)
{
    void *m = aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
    if (!m) { fprintf(stderr, "no memory for %zu bytes\n", bytes); exit(1); }
    return m;
}
#endif
