/* FT: a diffusion equation by 3D Fourier transforms. Sixteen lines at a time stand side by side, so
 * that the compiler vectorises over lines; the transform of a line is Stockham's, by fours and at the
 * end a two. Space is planes z, the spectrum planes y, as NASA's layout of one dimension has them. */
#include "common.h"

enum { LINES = 16 };
typedef double complex_number[2];
/* One place of sixteen lines. */
typedef struct { double re[LINES], im[LINES]; } place;
typedef struct { long n; double *cosine, *sine; } roots;

static roots make_roots(long n)
{
    roots w = {n, memory(sizeof(double) * (size_t)n), memory(sizeof(double) * (size_t)n)};
    for (long k = 0; k < n; k++) w.cosine[k] = cos(2 * M_PI * (double)k / (double)n), w.sine[k] = sin(2 * M_PI * (double)k / (double)n);
    return w;
}

/* x[0..n] transformed, by way of y; where the result is. Sign -1: forward. */
static place *transform(roots w, double sign, place *restrict x, place *restrict y)
{
    long m = 1;
    for (long length = w.n; length > 1;) {
        long l = length % 4 == 0 ? length / 4 : 1;
        if (length % 4 == 0)
            for (long j = 0; j < l; j++) {
                double c1 = w.cosine[j * m], s1 = sign * w.sine[j * m], c2 = w.cosine[2 * j * m], s2 = sign * w.sine[2 * j * m];
                double c3 = w.cosine[3 * j * m], s3 = sign * w.sine[3 * j * m];
                for (long k = 0; k < m; k++) {
                    const place *p = x + k + j * m, *q = p + l * m, *r = q + l * m, *s = r + l * m;
                    place *a = y + k + 4 * j * m, *b = a + m, *c = b + m, *d = c + m;
#pragma GCC ivdep
                    for (int i = 0; i < LINES; i++) {
                        double e = p->re[i] + r->re[i], f = p->im[i] + r->im[i], g = p->re[i] - r->re[i], h = p->im[i] - r->im[i];
                        double t = q->re[i] + s->re[i], u = q->im[i] + s->im[i], v = -sign * (q->im[i] - s->im[i]), z = sign * (q->re[i] - s->re[i]);
                        a->re[i] = e + t, a->im[i] = f + u;
                        b->re[i] = c1 * (g + v) - s1 * (h + z), b->im[i] = c1 * (h + z) + s1 * (g + v);
                        c->re[i] = c2 * (e - t) - s2 * (f - u), c->im[i] = c2 * (f - u) + s2 * (e - t);
                        d->re[i] = c3 * (g - v) - s3 * (h - z), d->im[i] = c3 * (h - z) + s3 * (g - v);
                    }
                }
            }
        else
            for (long k = 0; k < m; k++) {
                const place *p = x + k, *q = p + m;
                place *a = y + k, *b = a + m;
#pragma GCC ivdep
                for (int i = 0; i < LINES; i++) {
                    a->re[i] = p->re[i] + q->re[i], a->im[i] = p->im[i] + q->im[i];
                    b->re[i] = p->re[i] - q->re[i], b->im[i] = p->im[i] - q->im[i];
                }
            }
        place *swapped = x;
        x = y, y = swapped;
        m *= length % 4 == 0 ? 4 : 2, length = length % 4 == 0 ? l : 1;
    }
    return x;
}

/* n rows, `stride` numbers apart, of which sixteen lines are columns from `from` on. */
static void gather(long n, const complex_number *from, long stride, place *to)
{
    for (long k = 0; k < n; k++)
        for (int i = 0; i < LINES; i++) to[k].re[i] = from[k * stride + i][0], to[k].im[i] = from[k * stride + i][1];
}
static void scatter(long n, const place *from, complex_number *to, long stride)
{
    for (long k = 0; k < n; k++)
        for (int i = 0; i < LINES; i++) to[k * stride + i][0] = from[k].re[i], to[k * stride + i][1] = from[k].im[i];
}
/* Sixteen rows, `stride` numbers apart. */
static void transform_rows(roots w, double sign, complex_number *rows, long stride, place *x, place *y)
{
    for (long k = 0; k < w.n; k++)
        for (int i = 0; i < LINES; i++) x[k].re[i] = rows[i * stride + k][0], x[k].im[i] = rows[i * stride + k][1];
    place *done = transform(w, sign, x, y);
    for (int i = 0; i < LINES; i++)
        for (long k = 0; k < w.n; k++) rows[i * stride + k][0] = done[k].re[i], rows[i * stride + k][1] = done[k].im[i];
}

static struct { long n[3]; roots w[3]; complex_number *space, *spectrum, *decayed; double *decay[3]; } ft_of;

/* All threads of a parallel region call it: the start, and its spectrum. */
static void ft_forward(place *x, place *y)
{
    const long nx = ft_of.n[0], ny = ft_of.n[1], nz = ft_of.n[2];
#pragma omp for schedule(static)
    for (long z = 0; z < nz; z++) {
        complex_number *plane = ft_of.space + z * nx * ny;
        uint64_t row = 314159265 * power((uint64_t)(2 * nx * ny * z)) & MASK;
        const uint64_t further = power((uint64_t)(2 * nx));
        for (long j = 0; j < ny; j += 4) {
            uint64_t four[4];
            for (int k = 0; k < 4; k++) four[k] = row, row = row * further & MASK;
            for (long i = 0; i < nx; i++)
                for (int k = 0; k < 4; k++) plane[(j + k) * nx + i][0] = next(&four[k]), plane[(j + k) * nx + i][1] = next(&four[k]);
        }
        for (long j = 0; j < ny; j += LINES) transform_rows(ft_of.w[0], -1, plane + j * nx, nx, x, y);
        for (long i = 0; i < nx; i += LINES) {
            gather(ny, plane + i, nx, x);
            scatter(ny, transform(ft_of.w[1], -1, x, y), plane + i, nx);
        }
    }
#pragma omp for schedule(static)
    for (long j = 0; j < ny; j++)
        for (long i = 0; i < nx; i += LINES) {
            gather(nz, ft_of.space + j * nx + i, nx * ny, x);
            scatter(nz, transform(ft_of.w[2], -1, x, y), ft_of.spectrum + j * nx * nz + i, nx);
        }
}
/* All threads call it: step t, and what its checksum is. */
static void ft_backward(int t, complex_number *sum, place *x, place *y)
{
    const long nx = ft_of.n[0], ny = ft_of.n[1], nz = ft_of.n[2];
    const double rate = -4e-6 * M_PI * M_PI * t;
#pragma omp single
    {
        (*sum)[0] = (*sum)[1] = 0;
        for (int axis = 0; axis < 3; axis++)
            for (long n = ft_of.n[axis], i = 0; i < n; i++) {
                double mode = (double)((i + n / 2) % n - n / 2);
                ft_of.decay[axis][i] = exp(rate * mode * mode);
            }
    }
#pragma omp for schedule(static)
    for (long j = 0; j < ny; j++)
        for (long i = 0; i < nx; i += LINES) {
            const complex_number *from = ft_of.spectrum + j * nx * nz + i;
            for (long k = 0; k < nz; k++)
                for (int l = 0; l < LINES; l++) {
                    double decay = ft_of.decay[1][j] * ft_of.decay[2][k] * ft_of.decay[0][i + l];
                    x[k].re[l] = decay * from[k * nx + l][0], x[k].im[l] = decay * from[k * nx + l][1];
                }
            scatter(nz, transform(ft_of.w[2], 1, x, y), ft_of.decayed + j * nx * nz + i, nx);
        }
    double re = 0, im = 0;
#pragma omp for schedule(static) nowait
    for (long z = 0; z < nz; z++) {
        complex_number *plane = ft_of.space + z * nx * ny;
        for (long i = 0; i < nx; i += LINES) {
            gather(ny, ft_of.decayed + z * nx + i, nx * nz, x);
            scatter(ny, transform(ft_of.w[1], 1, x, y), plane + i, nx);
        }
        for (long j = 0; j < ny; j += LINES) transform_rows(ft_of.w[0], 1, plane + j * nx, nx, x, y);
        for (long j = 1; j <= 1024; j++)
            if (5 * j % nz == z) re += plane[3 * j % ny * nx + j % nx][0], im += plane[3 * j % ny * nx + j % nx][1];
    }
#pragma omp atomic
    (*sum)[0] += re / (double)(nx * ny * nz);
#pragma omp atomic
    (*sum)[1] += im / (double)(nx * ny * nz);
#pragma omp barrier
}
static void ft(int p, const long *n, int iterations)
{
    const long points = n[0] * n[1] * n[2];
    long longest = 0;
    double seconds = 0;
    complex_number *sums = memory(sizeof *sums * (size_t)(iterations + 1));
    for (int axis = 0; axis < 3; axis++) {
        ft_of.n[axis] = n[axis], ft_of.w[axis] = make_roots(n[axis]), ft_of.decay[axis] = memory(sizeof(double) * (size_t)n[axis]);
        if (n[axis] > longest) longest = n[axis];
    }
    ft_of.space = memory(sizeof(complex_number) * (size_t)points);
    ft_of.spectrum = memory(sizeof(complex_number) * (size_t)points), ft_of.decayed = memory(sizeof(complex_number) * (size_t)points);
#pragma omp parallel num_threads(p)
    {
        place *x = memory(sizeof *x * (size_t)longest), *y = memory(sizeof *y * (size_t)longest);
        /* Once for nothing, so that all memory is there. */
        ft_forward(x, y);
        ft_backward(0, &sums[0], x, y);
#pragma omp master
        seconds = -omp_get_wtime();
        ft_forward(x, y);
        for (int t = 1; t <= iterations; t++) ft_backward(t, &sums[t], x, y);
#pragma omp master
        seconds += omp_get_wtime();
    }
    printf("%.17g", seconds);
    for (int t = 1; t <= iterations; t++) printf(" %.17g %.17g", sums[t][0], sums[t][1]);
    printf("\n");
}
