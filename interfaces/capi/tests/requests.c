/* Calls that are started, and calls that are set up and started again, against what they must give;
 * and that memory is the program's own again when a call of a scope has failed. */
#include <phalanx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != PHX_OK) {                                                                    \
            char text_[600];                                                                       \
            phx_last_error(text_, sizeof text_);                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text_);                             \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                    \
            return;                                                                                \
        }                                                                                          \
    } while (0)

enum { MOST = 16, CALLS = 19, ROUNDS = 3 };
/* Few bytes go another way than many. */
static const size_t lengths[] = {0, 1, 3, 700};

static int value(int rank, int round, size_t i) {
    return rank * 10000 + round * 1000 + (int)i % 100;
}

/* Rank 1 has none, so that a segment goes through all of its elements. */
static int flag_of(int rank, size_t i) { return rank != 1 && i % 5 == (size_t)rank % 5; }

static size_t count_of(int rank, size_t n) { return rank % 3 == 1 ? 0 : n + (size_t)rank; }

/* What a rank gives and gets, of each call. */
typedef struct {
    int32_t *in[CALLS], *out[CALLS];
    size_t n, counts[MOST], sent[MOST], received[MOST];
    int *flags;
} buffers;

static void fill(buffers *b, int r, int p, int round) {
    size_t n = b->n, room = (size_t)p * (n + MOST);
    for (int k = 0; k < CALLS; k++)
        for (size_t i = 0; i < room; i++)
            b->in[k][i] = b->out[k][i] = value(r, round, i);
}

/* Starts (0) or sets up (1) all calls. */
#define EACH(kind)                                                                                 \
    OK(phx_##kind##_barrier(s, &q[0]));                                                            \
    OK(phx_##kind##_broadcast(s, b->out[1], n, PHX_I32, p - 1, &q[1]));                            \
    OK(phx_##kind##_shift(s, b->out[2], n, PHX_I32, 1, &q[2]));                                    \
    OK(phx_##kind##_reduce(s, b->out[3], n, PHX_I32, PHX_SUM, 0, &q[3]));                          \
    OK(phx_##kind##_all_reduce(s, b->out[4], n, PHX_I32, PHX_MAX, &q[4]));                         \
    OK(phx_##kind##_scan(s, b->out[5], n, PHX_I32, PHX_SUM, &q[5]));                               \
    OK(phx_##kind##_exclusive_scan(s, b->out[6], n, PHX_I32, PHX_SUM, &q[6]));                     \
    OK(phx_##kind##_reduce_scatter(s, b->in[7], b->out[7], n, PHX_I32, PHX_SUM, &q[7]));           \
    OK(phx_##kind##_all_gather(s, b->in[8], n, b->out[8], PHX_I32, &q[8]));                        \
    OK(phx_##kind##_gather(s, b->in[9], n, b->out[9], PHX_I32, 0, &q[9]));                         \
    OK(phx_##kind##_scatter(s, b->in[10], b->out[10], n, PHX_I32, p - 1, &q[10]));                 \
    OK(phx_##kind##_all_to_all(s, b->in[11], b->out[11], n, PHX_I32, &q[11]));                     \
    OK(phx_##kind##_all_gatherv(s, b->in[12], b->out[12], b->counts, PHX_I32, &q[12]));            \
    OK(phx_##kind##_all_to_allv(s, b->in[13], b->sent, b->out[13], b->received, PHX_I32, &q[13])); \
    OK(phx_##kind##_reduce_scatterv(s, b->in[14], b->out[14], b->counts, PHX_I32, op, &q[14]));    \
    OK(phx_##kind##_gatherv(s, b->in[15], b->out[15], b->counts, PHX_I32, p - 1, &q[15]));         \
    OK(phx_##kind##_scatterv(s, b->in[16], b->out[16], b->counts, PHX_I32, 0, &q[16]));            \
    OK(phx_##kind##_segmented_scan(s, b->out[17], b->flags, n, PHX_I32, op, &q[17]));              \
    OK(phx_##kind##_exclusive_segmented_scan(s, b->out[18], b->flags, n, PHX_I32, PHX_SUM, &q[18]))

static void add(void *out, const void *left, const void *right, size_t n, void *argument) {
    (void)argument;
    for (size_t i = 0; i < n; i++)
        ((int32_t *)out)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
}

static void check(const buffers *b, int r, int p, int round) {
    size_t n = b->n, at = 0, own = count_of(r, n), before = 0;
    int ranks = 0; /* The sum of the ranks' numbers. */
    for (int s = 0; s < p; s++)
        ranks += s;
    for (size_t i = 0; i < n; i++) {
        int all = ranks * 10000 + p * (round * 1000 + (int)i % 100), upto = 0, below = 0;
        for (int s = 0; s <= r; s++)
            upto += value(s, round, i);
        below = upto - value(r, round, i);
        WANT(b->out[1][i] == value(p - 1, round, i));
        WANT(b->out[2][i] == value((r + p - 1) % p, round, i));
        WANT(b->out[3][i] == (r == 0 ? all : value(r, round, i)));
        WANT(b->out[4][i] == value(p - 1, round, i));
        WANT(b->out[5][i] == upto);
        WANT(b->out[6][i] == below);
        WANT(b->out[7][i] == ranks * 10000 + p * (round * 1000 + (int)((size_t)r * n + i) % 100));
        WANT(b->out[10][i] == value(p - 1, round, (size_t)r * n + i));
        for (int s = 0; s < p; s++) {
            WANT(b->out[8][(size_t)s * n + i] == value(s, round, i));
            if (r == 0)
                WANT(b->out[9][(size_t)s * n + i] == value(s, round, i));
            WANT(b->out[11][(size_t)s * n + i] == value(s, round, (size_t)r * n + i));
        }
    }
    for (int s = 0, sum = 0; s <= r; s++)
        for (size_t i = 0; i < n; i++) {
            sum = flag_of(s, i) ? 0 : sum;
            WANT(s < r || b->out[18][i] == sum);
            sum += value(s, round, i);
            WANT(s < r || b->out[17][i] == sum);
        }
    for (int s = 0; s < p; s++)
        for (size_t i = 0; i < count_of(s, n); i++)
            WANT(b->out[12][at++] == value(s, round, i));
    at = 0;
    for (int s = 0; s < p; s++)
        for (size_t i = 0; i < b->received[s]; i++)
            WANT(b->out[13][at++] == value(s, round, (size_t)r * (n / 2 + (size_t)s) + i));
    at = 0;
    for (int s = 0; s < p; s++)
        for (size_t i = 0; i < count_of(s, n); i++, at++)
            WANT(b->out[15][at] == (r == p - 1 ? value(s, round, i) : value(r, round, at)));
    for (int s = 0; s < r; s++)
        before += count_of(s, n);
    for (size_t i = 0; i < own; i++)
        WANT(b->out[16][i] == value(0, round, before + i));
    WANT(b->out[16][own] == value(r, round, own));
    for (size_t i = 0; i < own; i++)
        WANT(b->out[14][i] == ranks * 10000 + p * (round * 1000 + (int)(before + i) % 100));
}

static void all_calls(phx_requests *s, void *argument) {
    buffers *b = argument;
    phx_comm *c = phx_requests_comm(s);
    int r = phx_rank(c), p = phx_size(c), done = 0;
    size_t n = b->n, which;
    phx_request q[CALLS];
    phx_op op;
    OK(phx_op_new(add, NULL, 1, &op));
    fill(b, r, p, 0);
    OK(phx_barrier(c));
    EACH(start);
    /* One after the other, as they come; those that were waited for are no requests any more. */
    for (; done < CALLS; done++) {
        OK(phx_wait_any(s, q, CALLS, &which, NULL));
        WANT(which < CALLS && q[which] != 0);
        q[which] = 0;
    }
    OK(phx_wait_any(s, q, CALLS, &which, NULL));
    WANT(which == CALLS);
    check(b, r, p, 0);
    EACH(persistent);
    for (int round = 1; round <= ROUNDS; round++) {
        fill(b, r, p, round);
        OK(phx_barrier(c));
        for (int k = 0; k < CALLS; k++)
            OK(phx_start(s, q[k]));
        if (round == 1)
            OK(phx_wait_all(s, q, CALLS));
        else
            for (int k = CALLS - 1; k >= 0; k--)
                OK(phx_wait(s, q[k], NULL));
        check(b, r, p, round);
        OK(phx_wait(s, q[0], NULL)); /* Not under way: at once. */
        OK(phx_test(s, q[1], &done));
        WANT(done == 1);
    }
    OK(phx_op_free(op));
}

/* Messages in a circle, set up once. */
static void messages(phx_requests *s, void *argument) {
    phx_comm *c = phx_requests_comm(s);
    int r = phx_rank(c), p = phx_size(c);
    double out = 0, in = -1;
    phx_request send, recv;
    phx_status status;
    (void)argument;
    OK(phx_persistent_send(s, &out, 1, PHX_F64, (r + 1) % p, 3, &send));
    OK(phx_persistent_recv(s, &in, 1, PHX_F64, PHX_ANY_SOURCE, 3, &recv));
    for (int round = 0; round < ROUNDS; round++) {
        out = value(r, round, 0);
        OK(phx_start(s, recv));
        OK(phx_start(s, send));
        OK(phx_wait(s, recv, &status));
        OK(phx_wait(s, send, NULL));
        WANT(in == value((r + p - 1) % p, round, 0));
        WANT(status.source == (r + p - 1) % p && status.tag == 3 && status.n == 1);
    }
}

/* Any call moves what was started: each rank tests in an order of its own, rank 1 only probes until
 * it may go on, and rank 0 waits. */
static void orders(phx_requests *s, void *argument) {
    enum { OPEN = 4, LENGTH = 2000 };
    phx_comm *c = phx_requests_comm(s);
    int r = phx_rank(c), p = phx_size(c), done = 0;
    int32_t(*x)[LENGTH] = calloc(OPEN, sizeof *x), word = 0;
    phx_request q[OPEN];
    (void)argument;
    for (int k = 0; k < OPEN; k++) {
        x[k][LENGTH - 1] = 1;
        OK(phx_start_all_reduce(s, x[k], LENGTH, PHX_I32, PHX_SUM, &q[k]));
    }
    if (r == 0 && p > 1) {
        OK(phx_wait(s, q[2], NULL));
        q[2] = 0;
        OK(phx_send_tagged(c, &word, 1, PHX_I32, 1, 5));
    } else if (r == 1) {
        for (phx_status status; !done;)
            OK(phx_try_probe(c, 0, 5, &done, &status));
        OK(phx_recv_tagged(c, &word, 1, PHX_I32, 0, 5, NULL));
    }
    for (int k = 0; k < OPEN; k++)
        for (done = q[(k + r) % OPEN] == 0; !done;)
            OK(phx_test(s, q[(k + r) % OPEN], &done));
    for (int k = 0; k < OPEN; k++) {
        if (q[k] != 0)
            OK(phx_wait(s, q[k], NULL));
        WANT(x[k][LENGTH - 1] == p);
    }
    free(x);
}

static void rank(phx_comm *c, void *argument) {
    int p = phx_size(c), r = phx_rank(c);
    (void)argument;
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        buffers b;
        b.n = lengths[k];
        size_t room = ((size_t)p * (b.n + MOST) + 1) * sizeof(int32_t);
        for (int i = 0; i < CALLS; i++) {
            b.in[i] = malloc(room);
            b.out[i] = malloc(room);
        }
        b.flags = malloc((b.n + 1) * sizeof *b.flags);
        for (size_t i = 0; i < b.n; i++)
            b.flags[i] = flag_of(r, i);
        for (int s = 0; s < p; s++) {
            b.counts[s] = count_of(s, b.n);
            /* Of every rank's list block r has as many as its own number says. */
            b.sent[s] = b.n / 2 + (size_t)r;
            b.received[s] = b.n / 2 + (size_t)s;
        }
        OK(phx_requests(c, all_calls, &b));
        for (int i = 0; i < CALLS; i++) {
            free(b.in[i]);
            free(b.out[i]);
        }
        free(b.flags);
    }
    OK(phx_requests(c, messages, NULL));
    OK(phx_requests(c, orders, NULL));
}

/* A rank whose call fails while another copies its message: it may change its buffer at once. */
enum { LONG = 48 << 20 };
static volatile char *arriving;
static int whole;

static void fails_meanwhile(phx_requests *s, void *argument) {
    phx_comm *c = phx_requests_comm(s);
    int r = phx_rank(c), to_itself = 99;
    (void)argument;
    if (r == 0) {
        char *mine = malloc(LONG);
        memset(mine, 1, LONG);
        OK(phx_start_send(s, mine, LONG, PHX_I8, 1, 7, NULL));
        OK(phx_barrier(c)); /* It is there: the receiver copies. */
        while (arriving[0] != 1)
            phx_version();
        WANT(phx_start_send(s, mine, 1, PHX_I8, to_itself, 7, NULL) == PHX_ERR_DEAD);
        /* From the end, where the other is not yet. */
        memset(mine + LONG - (LONG >> 2), 2, LONG >> 2);
        WANT(phx_wait(s, 1, NULL) == PHX_ERR_DEAD);
        free(mine);
    }
}

static void receives(phx_comm *c, void *argument) {
    if (phx_rank(c) != 1) {
        WANT(phx_requests(c, fails_meanwhile, argument) == PHX_ERR_ARGUMENT);
        return;
    }
    OK(phx_barrier(c));
    phx_status status;
    phx_err code = phx_recv_tagged(c, (void *)arriving, LONG, PHX_I8, 0, 7, &status);
    /* Whatever it returns: what has come is what was sent. */
    whole = memchr((void *)arriving, 2, LONG) == NULL;
    (void)code;
}

/* The forms by counts need them. */
static void without_counts(phx_requests *s, void *argument) {
    int32_t mine[1] = {0}, all[1];
    (void)argument;
    WANT(phx_start_gatherv(s, mine, all, NULL, PHX_I32, 0, NULL) == PHX_ERR_DEAD);
}

static void lacks_counts(phx_comm *c, void *argument) {
    WANT(phx_requests(c, without_counts, argument) == PHX_ERR_ARGUMENT);
}

/* A race, for the check that ThreadSanitizer looks: only if it is asked for. */
static volatile int raced;

static void race(phx_comm *c, void *argument) {
    static int here;
    (void)c, (void)argument;
    /* Both are here, and by nothing that would order what one does after this before the other. */
    __atomic_fetch_add(&here, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&here, __ATOMIC_RELAXED) < 2)
        ;
    for (int k = 0; k < 1000; k++)
        raced++;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "race") == 0)
        return phx_run(2, race, NULL);
    int most = argc > 1 ? atoi(argv[1]) : 6;
    char text[600];
    for (int p = 1; p <= most && p <= MOST; p++) {
        if (phx_run(p, rank, NULL) != PHX_OK) {
            phx_last_error(text, sizeof text);
            fprintf(stderr, "%d ranks: %s\n", p, text);
            return 1;
        }
        if (failures)
            return 1;
    }
    WANT(phx_run(1, lacks_counts, NULL) == PHX_ERR_ARGUMENT);
    phx_last_error(text, sizeof text);
    WANT(strstr(text, "the list of counts is null"));
    if (argc <= 2) { /* With another argument: not this one, which looks at memory that changes. */
        arriving = calloc(LONG, 1);
        WANT(phx_run(2, receives, NULL) == PHX_ERR_ARGUMENT);
        WANT(whole);
        free((void *)arriving);
    }
    if (failures)
        return 1;
    printf("requests: ok, 1 to %d ranks\n", most);
    return 0;
}
