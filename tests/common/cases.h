/* Reads the table of calls, and of their results, that the oracle makes (cases.rs). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the catalogue; `VARIED` with blocks of different lengths. */
enum {
    BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, BARRIER, SCAN, EXCLUSIVE_SCAN,
    SCATTER, GATHER, ALL_TO_ALL, ALL_TO_ALL_IN_PLACE, SHIFT, VARIED = 100
};

struct call {
    int calls, operation, v, counts[64], to[64], from[64];
    double *input, *output, *wanted;
    int inputs, outputs;
};

/* A sum of integers in doubles: exact in any order. */
static double value(int rank, size_t i) { return (double)((rank + 1) * 1000 + (int)(i % 97)); }

static int next(FILE *file) {
    int x = -1;
    return fscanf(file, "%d", &x) == 1 ? x : -1;
}

static double *spans(FILE *file, int *n) {
    double *all = malloc(sizeof *all);
    int spans = next(file);
    *n = 0;
    while (spans-- > 0) {
        int kind = next(file), rank = next(file), from = next(file), count = next(file);
        all = realloc(all, (size_t)(*n + count + 1) * sizeof *all);
        for (int i = from; i < from + count; i++) {
            double sum = kind == 0 ? -1 : kind == 1 ? value(rank, (size_t)i) : 0;
            for (int r = 0; kind == 2 && r < rank; r++)
                sum += value(r, (size_t)i);
            all[(*n)++] = sum;
        }
    }
    return all;
}

/* The next call of a rank of `p`, or 0. */
static int read_call(FILE *file, int rank, int p, struct call *it) {
    for (int ranks; (ranks = next(file)) != -1 && ranks <= p;) {
        if (next(file) != rank || ranks != p) {
            while ((ranks = getc_unlocked(file)) != '\n' && ranks != EOF)
                ;
            continue;
        }
        it->calls = next(file);
        it->operation = next(file);
        it->operation += VARIED * next(file);
        it->v = next(file);
        for (int k = 0; k < 3 * p; k++)
            (k < p ? it->counts : k < 2 * p ? it->to : it->from)[k % p] = next(file);
        it->input = spans(file, &it->inputs);
        it->output = spans(file, &it->outputs);
        it->wanted = spans(file, &it->outputs);
        return 1;
    }
    return 0;
}

static int is_right(const struct call *it) {
    return memcmp(it->output, it->wanted, (size_t)it->outputs * sizeof(double)) == 0;
}

static void free_call(struct call *it) {
    free(it->input);
    free(it->output);
    free(it->wanted);
}
