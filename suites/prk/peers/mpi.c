/* The Parallel Research Kernels in MPI: processes with parts of their own, and messages. See prk.h. */
#include "prk.h"
#include <mpi.h>

static int rank;
static const MPI_Comm world = MPI_COMM_WORLD;

/* From when all have done the iteration for nothing until all have ended. */
static void start(double *seconds)
{
    MPI_Barrier(world);
    *seconds = -MPI_Wtime();
}
static void stop(double *seconds)
{
    MPI_Barrier(world);
    *seconds += MPI_Wtime();
}

static double of_all(double mine)
{
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
    return sum;
}

static void add_one(double *row, long n)
{
    for (long j = 0; j < n; j++) row[j] += 1;
}

/* On a grid of processes; faces are packed, sent and unpacked. */
static outcome stencil(int p, long iterations, long n, int radius)
{
    int dims[2] = {0, 0}, periodic[2] = {0, 0}, at[2], up, down, left, right;
    MPI_Comm grid;
    MPI_Dims_create(p, 2, dims);
    MPI_Cart_create(world, 2, dims, periodic, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, at);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    range rows = part(n, at[0], dims[0]), columns = part(n, at[1], dims[1]);
    long height = rows.end - rows.first, width = columns.end - columns.first;
    long stride = width + 2 * radius, across = (long)radius * width, along = (long)radius * height;
    double *field = memory(sizeof *field * (size_t)(stride * (height + 2 * radius)));
    double *out = memory(sizeof *out * (size_t)(height * width));
    /* for each of four neighbours: what goes, what comes */
    int to[4] = {up, down, left, right};
    long face[4] = {across, across, along, along};
    double *goes[4], *comes[4], seconds = 0, sum = 0;
    for (int k = 0; k < 4; k++) goes[k] = memory(sizeof(double) * (size_t)face[k]), comes[k] = memory(sizeof(double) * (size_t)face[k]);
#define AT(i, j) field[((i) + radius) * stride + (j) + radius]
    for (long i = -radius; i < height + radius; i++)
        for (long j = -radius; j < width + radius; j++) AT(i, j) = rows.first + i + columns.first + j;
    memset(out, 0, sizeof *out * (size_t)(height * width));
    long top = rows.first < radius ? radius - rows.first : 0, bottom = rows.end > n - radius ? n - radius - rows.first : height;
    long west = columns.first < radius ? radius - columns.first : 0, east = columns.end > n - radius ? n - radius - columns.first : width;

    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        MPI_Request requests[8];
        for (int k = 0; k < 4; k++) MPI_Irecv(comes[k], (int)face[k], MPI_DOUBLE, to[k], k ^ 1, grid, &requests[k]);
        for (long i = 0; i < radius; i++) {
            memcpy(goes[0] + i * width, &AT(i, 0), sizeof(double) * (size_t)width);
            memcpy(goes[1] + i * width, &AT(height - radius + i, 0), sizeof(double) * (size_t)width);
        }
        for (long i = 0; i < height; i++)
            for (long j = 0; j < radius; j++) {
                goes[2][i * radius + j] = AT(i, j);
                goes[3][i * radius + j] = AT(i, width - radius + j);
            }
        for (int k = 0; k < 4; k++) MPI_Isend(goes[k], (int)face[k], MPI_DOUBLE, to[k], k, grid, &requests[4 + k]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        for (long i = 0; i < radius; i++) {
            if (up >= 0) memcpy(&AT(i - radius, 0), comes[0] + i * width, sizeof(double) * (size_t)width);
            if (down >= 0) memcpy(&AT(height + i, 0), comes[1] + i * width, sizeof(double) * (size_t)width);
        }
        for (long i = 0; i < height; i++)
            for (long j = 0; j < radius; j++) {
                if (left >= 0) AT(i, j - radius) = comes[2][i * radius + j];
                if (right >= 0) AT(i, width + j) = comes[3][i * radius + j];
            }
        /* The halo is a copy: what no row needs any more grows at once. */
        long grown = 0;
        for (long i = top; i < bottom; i++) {
            if (west < east) add_star(radius, &AT(i, west), out + i * width + west, east - west, stride);
            if (i >= radius) add_one(&AT(grown, 0), width), grown++;
        }
        for (; grown < height; grown++) add_one(&AT(grown, 0), width);
    }
    stop(&seconds);
    for (long i = 0; i < height * width; i++) sum += fabs(out[i]);
    return absolute(seconds, of_all(sum) * 2 / star_flop(n, radius), 2.0 * (double)(iterations + 1));
}

/* p - 1 rounds of exchanges; blocks are transposed while they are packed. */
static outcome transpose(int p, long iterations, long n, long tile)
{
    range own = part(n, rank, p);
    long width = own.end - own.first, most = n / p + 1;
    double *a = memory(sizeof *a * (size_t)(n * width)), *b = memory(sizeof *b * (size_t)(n * width));
    double *goes = memory(sizeof *goes * (size_t)(most * most)), *comes = memory(sizeof *comes * (size_t)(most * most)), seconds = 0;
    for (long at = 0; at < n * width; at++) a[at] = (double)(own.first * n + at), b[at] = 0;
    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        add_transposed(a + own.first, n, b + own.first, n, width, width, tile);
        for (int round = 1; round < p; round++) {
            int to = (rank + round) % p, from = (rank + p - round) % p;
            range there = part(n, to, p), here = part(n, from, p);
            long height = there.end - there.first, length = here.end - here.first;
            memset(goes, 0, sizeof *goes * (size_t)(height * width));
            add_transposed(a + there.first, n, goes, width, width, height, tile);
            MPI_Sendrecv(goes, (int)(height * width), MPI_DOUBLE, to, 0, comes, (int)(width * length), MPI_DOUBLE, from, 0, world, MPI_STATUS_IGNORE);
            for (long j = 0; j < width; j++)
                for (long i = 0; i < length; i++) b[j * n + here.first + i] += comes[j * length + i];
        }
        for (long at = 0; at < n * width; at++) a[at] += 1;
    }
    stop(&seconds);
    return absolute(seconds, of_all(transpose_error(b, n, own, iterations)), 0);
}

static outcome synch_p2p(int p, long iterations, long m, long n, long group)
{
    range own = part(m, rank, p);
    long width = own.end - own.first, first = !rank;
    int last = p - 1;
    double *a = memory(sizeof *a * (size_t)(n * width)), *left = memory(sizeof *left * (size_t)n), *ends = memory(sizeof *ends * (size_t)group), seconds = 0;
    edges(a, n, own);
    left[0] = (double)(own.first - 1);
    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        for (long begin = 1; begin < n; begin += group) {
            long end = begin + group < n ? begin + group : n;
            if (rank) MPI_Recv(left + begin, (int)(end - begin), MPI_DOUBLE, rank - 1, 0, world, MPI_STATUS_IGNORE);
            for (long j = begin; j < end; j++) {
                double *row = a + j * width, *above = row - width;
                ends[j - begin] = sweep(above + first, row + first, width - first, rank ? left[j] : row[0], rank ? left[j - 1] : above[0]);
            }
            if (rank < last) MPI_Send(ends, (int)(end - begin), MPI_DOUBLE, rank + 1, 0, world);
        }
        double corner = -a[n * width - 1];
        if (!last) a[0] = corner;
        else if (!rank) MPI_Recv(a, 1, MPI_DOUBLE, last, 1, world, MPI_STATUS_IGNORE);
        else if (rank == last) MPI_Send(&corner, 1, MPI_DOUBLE, 0, 1, world);
    }
    stop(&seconds);
    double corner = a[n * width - 1];
    MPI_Bcast(&corner, 1, MPI_DOUBLE, last, world);
    return relative(seconds, corner, (double)(iterations + 1) * (double)(m + n - 2));
}

static outcome nstream(int p, long iterations, long length)
{
    range own = part(length, rank, p);
    long n = own.end - own.first;
    double *restrict a = memory(sizeof *a * (size_t)n), *restrict b = memory(sizeof *b * (size_t)n), *restrict c = memory(sizeof *c * (size_t)n), seconds = 0, sum = 0;
    for (long i = 0; i < n; i++) a[i] = 0, b[i] = c[i] = 2;
    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        for (long i = 0; i < n; i++) a[i] += b[i] + 3 * c[i];
        MPI_Barrier(world);
    }
    stop(&seconds);
    for (long i = 0; i < n; i++) sum += a[i];
    return relative(seconds, of_all(sum), 8.0 * (double)(iterations + 1) * (double)length);
}

static outcome reduce(int p, long iterations, long length, long block)
{
    size_t bytes = sizeof(double) * (size_t)length;
    double *restrict u = memory(bytes), *restrict v = memory(bytes), *restrict sum = memory(bytes);
    double seconds = 0, worst = 0, expected = (double)p * (2 * p + 1);
    for (long i = 0; i < length; i++) u[i] = rank + 1, v[i] = rank + 1 + p, sum[i] = 0;
    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        for (long begin = 0; begin < length; begin += block) {
            long size = begin + block < length ? block : length - begin;
            for (long i = begin; i < begin + size; i++) sum[i] = u[i] + v[i];
            MPI_Reduce(rank ? sum + begin : MPI_IN_PLACE, sum + begin, (int)size, MPI_DOUBLE, MPI_SUM, 0, world);
        }
    }
    stop(&seconds);
    for (long i = 0; !rank && i < length; i++) worst = fmax(worst, fabs(sum[i] - expected));
    return absolute(seconds, expected + worst, expected);
}

static void gather_counts(long n, int p, int *counts, int *starts)
{
    for (int k = 0; k < p; k++) {
        range of = part(n, k, p);
        starts[k] = (int)of.first, counts[k] = (int)(of.end - of.first);
    }
}

static outcome sparse(int p, long iterations, int log_side, int radius)
{
    long n = 1L << 2 * log_side;
    range own = part(n, rank, p);
    long rows = own.end - own.first;
    int counts[1024], starts[1024];
    gather_counts(n, p, counts, starts);
    sparse_rows matrix = star_matrix(log_side, radius, own);
    double *x = memory(sizeof *x * (size_t)n), *mine = memory(sizeof *mine * (size_t)rows), *y = memory(sizeof *y * (size_t)rows), seconds = 0, sum = 0;
    for (long i = 0; i < rows; i++) mine[i] = y[i] = 0;
    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        for (long i = 0; i < rows; i++) mine[i] += (double)(own.first + i + 1);
        MPI_Allgatherv(mine, (int)rows, MPI_DOUBLE, x, counts, starts, MPI_DOUBLE, world);
        add_product(matrix, rows, x, y);
    }
    stop(&seconds);
    for (long i = 0; i < rows; i++) sum += y[i];
    double all = iterations + 1;
    return relative(seconds, of_all(sum), (double)(4 * radius + 1) * (double)n * all * (all + 1) / 2);
}

static outcome synch_global(int p, long iterations, long length)
{
    range own = part(length, rank, p);
    long count = own.end - own.first;
    int counts[1024], starts[1024];
    gather_counts(length, p, counts, starts);
    char *mine = memory((size_t)count), *all = memory((size_t)length);
    double seconds = 0;
    letters(mine, count, rank);
    double before = of_all(digits(mine, count));
    for (long t = 0; t <= iterations; t++) {
        if (t == 1) start(&seconds);
        MPI_Allgatherv(mine, (int)count, MPI_CHAR, all, counts, starts, MPI_CHAR, world);
        take(all + rank, mine, count, p);
    }
    stop(&seconds);
    return (outcome){seconds, of_all(digits(mine, count)), before, 0};
}

int main(int argc, char **argv)
{
    int started;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &started);
    if (argc > 1 && atoi(argv[1]) != started) {
        fprintf(stderr, "started with %d processes, not %s\n", started, argv[1]);
        MPI_Abort(world, 2);
    }
    outcome o = called(argc, argv);
    if (!rank) tell(o);
    MPI_Finalize();
    return 0;
}
