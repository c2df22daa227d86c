/* Every function against what it must give, on 1 to 16 ranks, in teams and on threads of its own. */
#include <phalanx.h>

#include "../../../tests/common/cases.h"

#include <complex.h>
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void failed(const char *what, int line, int rank, int p) {
    pthread_mutex_lock(&lock);
    failures++;
    fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, line, rank, p, what);
    pthread_mutex_unlock(&lock);
}

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            failed(#condition, __LINE__, r, p);                                                    \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != PHX_OK) {                                                                    \
            char text_[400];                                                                       \
            phx_last_error(text_, sizeof text_);                                                   \
            failed(text_, __LINE__, r, p);                                                         \
            return;                                                                                \
        }                                                                                          \
    } while (0)

enum { LONGEST = 3000 };
/* Lengths at which the transport changes: in a line, in a slot, copied, by address. */
static const size_t lengths[] = {0, 1, 5, 12, 100, 128, 129, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void fill(double *x, int rank, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = value(rank, i);
}

static void call(phx_comm *c, struct call *it) {
    int r = phx_rank(c), p = phx_size(c), v = it->v;
    double *x = it->input, *y = it->output;
    size_t counts[64], to[64], from[64], n;
    for (int s = 0; s < p; s++)
        counts[s] = (size_t)it->counts[s], to[s] = (size_t)it->to[s], from[s] = (size_t)it->from[s];
    n = counts[r];
    switch (it->operation) {
    case BROADCAST: OK(phx_broadcast(c, y, n, PHX_F64, v)); break;
    case REDUCE: OK(phx_reduce(c, y, n, PHX_F64, PHX_SUM, v)); break;
    case ALL_GATHER:
        OK(phx_all_gather(c, x, n, y, PHX_F64));
        WANT(is_right(it));
        memset(y, 0, (size_t)it->outputs * sizeof *y);
        memcpy(y + (size_t)r * n, x, n * sizeof *x);
        OK(phx_all_gather(c, PHX_IN_PLACE, n, y, PHX_F64));
        break;
    case ALL_GATHER + VARIED: OK(phx_all_gatherv(c, x, y, counts, PHX_F64)); break;
    case REDUCE_SCATTER: OK(phx_reduce_scatter(c, x, y, n, PHX_F64, PHX_SUM)); break;
    case REDUCE_SCATTER + VARIED:
        OK(phx_reduce_scatterv(c, x, y, counts, PHX_F64, PHX_SUM));
        break;
    case ALL_REDUCE: OK(phx_all_reduce(c, y, n, PHX_F64, PHX_SUM)); break;
    case BARRIER: OK(phx_barrier(c)); break;
    case SCAN: OK(phx_scan(c, y, n, PHX_F64, PHX_SUM)); break;
    case EXCLUSIVE_SCAN: OK(phx_exclusive_scan(c, y, n, PHX_F64, PHX_SUM)); break;
    case SCATTER: OK(phx_scatter(c, r == v ? x : NULL, y, n, PHX_F64, v)); break;
    case SCATTER + VARIED: OK(phx_scatterv(c, r == v ? x : NULL, y, counts, PHX_F64, v)); break;
    case GATHER:
        OK(phx_gather(c, x, n, y, PHX_F64, v));
        WANT(is_right(it));
        if (r == v) {
            memset(y, 0, (size_t)it->outputs * sizeof *y);
            memcpy(y + (size_t)r * n, x, n * sizeof *x);
        }
        OK(phx_gather_in_place(c, r == v ? y : x, n, PHX_F64, v));
        break;
    case GATHER + VARIED: OK(phx_gatherv(c, x, r == v ? y : NULL, counts, PHX_F64, v)); break;
    case ALL_TO_ALL: OK(phx_all_to_all(c, x, y, n, PHX_F64)); break;
    case ALL_TO_ALL + VARIED: OK(phx_all_to_allv(c, x, to, y, from, PHX_F64)); break;
    case ALL_TO_ALL_IN_PLACE: OK(phx_all_to_all(c, PHX_IN_PLACE, y, n, PHX_F64)); break;
    case SHIFT: OK(phx_shift(c, y, n, PHX_F64, v)); break;
    default: failed("no such call", it->operation, r, p);
    }
    WANT(is_right(it));
}

/* Every call of the table (cases.rs) in the file CASES, with the oracle's results. */
static void catalogue(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c), calls = 0;
    const char *table = getenv("CASES");
    FILE *file = table != NULL ? fopen(table, "r") : NULL;
    struct call it = {0};
    for (; file != NULL && read_call(file, r, p, &it); calls++) {
        call(c, &it);
        free_call(&it);
    }
    WANT(calls > 0 && calls == it.calls);
    if (file != NULL)
        fclose(file);
}

static void reductions(phx_comm *c, double *x, size_t n) {
    int r = phx_rank(c), p = phx_size(c);
    fill(x, r, n);
    OK(phx_all_reduce(c, x, n, PHX_F64, PHX_MAX));
    for (size_t i = 0; i < n; i++)
        WANT(x[i] == value(p - 1, i));
    fill(x, r, n);
    OK(phx_all_reduce(c, x, n, PHX_F64, PHX_MIN));
    for (size_t i = 0; i < n; i++)
        WANT(x[i] == value(0, i));
    int *flags = malloc((n + 1) * sizeof *flags);
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        double sum = 0;
        fill(x, r, n);
        for (size_t i = 0; i < n; i++)
            flags[i] = r != 1 && i % 5 == 2 ? -1 : 0;
        OK(exclusive ? phx_exclusive_segmented_scan(c, x, flags, n, PHX_F64, PHX_SUM)
                     : phx_segmented_scan(c, x, flags, n, PHX_F64, PHX_SUM));
        for (int s = 0; s <= r; s++)
            for (size_t i = 0; i < n; i++) {
                double before = s != 1 && i % 5 == 2 ? 0 : sum;
                sum = before + value(s, i);
                WANT(s < r || x[i] == (exclusive ? before : sum));
            }
    }
    free(flags);
}

static void messages(phx_comm *c, double *x, double *y, size_t n) {
    int r = phx_rank(c), p = phx_size(c);
    if (p > 1) {
        int next = (r + 1) % p, before = (r + p - 1) % p;
        fill(x, r, n);
        OK(phx_exchange(c, x, n, next, y, n, before, PHX_F64));
        for (size_t i = 0; i < n; i++)
            WANT(y[i] == value(before, i));
        if (r == 0) {
            for (int s = 1; s < p; s++) {
                OK(phx_recv(c, y, n, PHX_F64, s));
                for (size_t i = 0; i < n; i++)
                    WANT(y[i] == value(s, i));
            }
        } else {
            OK(phx_send(c, x, n, PHX_F64, 0));
        }
        if (r == 0) {
            int seen = 0;
            for (int s = 1; s < p; s++) {
                phx_status status;
                OK(phx_probe(c, PHX_ANY_SOURCE, 7, &status));
                WANT(status.n == n && status.tag == 7);
                OK(phx_recv_tagged(c, y, n, PHX_F64, status.source, 7, &status));
                for (size_t i = 0; i < n; i++)
                    WANT(y[i] == value(status.source, i));
                seen += status.source;
            }
            WANT(seen == p * (p - 1) / 2);
        } else {
            OK(phx_send_tagged(c, x, n, PHX_F64, 0, 7));
        }
    }
    OK(phx_barrier(c));
    int found = 1;
    OK(phx_try_probe(c, PHX_ANY_SOURCE, PHX_ANY_TAG, &found, NULL));
    WANT(found == 0);
}

/* Affine maps x -> a x + b, composed: associative, and the order matters. */
typedef struct {
    uint64_t a, b, unused;
} map;

static void compose(void *out, const void *left, const void *right, size_t n, void *argument) {
    map *z = out;
    const map *f = left, *g = right;
    for (size_t i = 0; i < n; i++) {
        map h = {f[i].a * g[i].a, f[i].b * g[i].a + g[i].b, f[i].unused};
        z[i] = h;
    }
    *(int volatile *)argument = 1;
}

static map map_of(int rank, size_t i) {
    map it = {(uint64_t)rank * 2 + 3, i + (uint64_t)rank, 42};
    return it;
}

static void user_operators(phx_comm *c, size_t n) {
    static int called[16];
    int r = phx_rank(c), p = phx_size(c);
    phx_op op;
    OK(phx_op_new(compose, &called[r % 16], 0, &op));
    phx_type type = PHX_BYTES(sizeof(map));
    map *x = malloc((n * (size_t)p + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    for (size_t i = 0; i < n; i++)
        x[i] = map_of(r, i);
    OK(phx_all_reduce(c, x, n, type, op));
    for (int upto = 0; upto < 2; upto++) {
        int last = upto == 0 ? p - 1 : r;
        for (size_t i = 0; i < n; i++) {
            map want = map_of(0, i);
            for (int s = 1; s <= last; s++) {
                map next = map_of(s, i);
                compose(&want, &want, &next, 1, &called[r % 16]);
            }
            WANT(x[i].a == want.a && x[i].b == want.b && x[i].unused == 42);
        }
        for (size_t i = 0; i < n; i++)
            x[i] = map_of(r, i);
        if (upto == 0)
            OK(phx_scan(c, x, n, type, op));
    }
    for (size_t i = 0; i < n; i++)
        x[i] = map_of(r, i);
    OK(phx_exclusive_scan(c, x, n, type, op));
    for (size_t i = 0; i < n; i++) {
        map want = map_of(0, i);
        for (int s = 1; s < r; s++) {
            map next = map_of(s, i);
            compose(&want, &want, &next, 1, &called[r % 16]);
        }
        WANT(x[i].a == want.a && x[i].b == want.b);
    }
    for (int s = 0; s < p; s++)
        for (size_t i = 0; i < n; i++)
            x[(size_t)s * n + i] = map_of(r, i + (size_t)s);
    OK(phx_reduce_scatter(c, x, y, n, type, op));
    for (size_t i = 0; i < n; i++) {
        map want = map_of(0, i + (size_t)r);
        for (int s = 1; s < p; s++) {
            map next = map_of(s, i + (size_t)r);
            compose(&want, &want, &next, 1, &called[r % 16]);
        }
        WANT(y[i].a == want.a && y[i].b == want.b);
    }
    WANT(p == 1 || n == 0 || called[r % 16] == 1);
    free(x);
    free(y);
    OK(phx_op_free(op));
    WANT(phx_op_free(op) == PHX_ERR_HANDLE);
}

#define INTEGER(TYPE, NAME)                                                                        \
    do {                                                                                           \
        TYPE x_[3], want_;                                                                         \
        static const phx_op ops_[] = {PHX_SUM,  PHX_PROD, PHX_MIN, PHX_MAX, PHX_BAND,              \
                                      PHX_BOR,  PHX_BXOR, PHX_AND, PHX_OR,  PHX_XOR};              \
        for (int o_ = 0; o_ < 10; o_++) {                                                          \
            for (int i_ = 0; i_ < 3; i_++)                                                         \
                x_[i_] = (TYPE)(r % 3 + i_);                                                       \
            OK(phx_all_reduce(c, x_, 3, NAME, ops_[o_]));                                          \
            for (int i_ = 0; i_ < 3; i_++) {                                                       \
                want_ = (TYPE)i_;                                                                  \
                for (int s_ = 1; s_ < p; s_++) {                                                   \
                    TYPE a_ = want_, b_ = (TYPE)(s_ % 3 + i_);                                     \
                    want_ = (TYPE)(o_ == 0   ? (uint64_t)a_ + (uint64_t)b_                         \
                                   : o_ == 1 ? (uint64_t)a_ * (uint64_t)b_                         \
                                   : o_ == 2 ? (uint64_t)(b_ < a_ ? b_ : a_)                       \
                                   : o_ == 3 ? (uint64_t)(b_ > a_ ? b_ : a_)                       \
                                   : o_ == 4 ? (uint64_t)(a_ & b_)                                 \
                                   : o_ == 5 ? (uint64_t)(a_ | b_)                                 \
                                   : o_ == 6 ? (uint64_t)(a_ ^ b_)                                 \
                                   : o_ == 7 ? (uint64_t)(a_ && b_)                                \
                                   : o_ == 8 ? (uint64_t)(a_ || b_)                                \
                                             : (uint64_t)(!a_ != !b_));                            \
                }                                                                                  \
                WANT(p == 1 || x_[i_] == want_);                                                   \
            }                                                                                      \
        }                                                                                          \
        TYPE all_[2 * 64];                                                                         \
        x_[0] = (TYPE)r, x_[1] = (TYPE)(r + 1);                                                    \
        OK(phx_all_gather(c, x_, 2, all_, NAME));                                                  \
        for (int i_ = 0; i_ < 2 * p; i_++)                                                         \
            WANT(all_[i_] == (TYPE)(i_ / 2 + i_ % 2));                                             \
        OK(phx_broadcast(c, x_, 2, NAME, p - 1));                                                  \
        WANT(x_[0] == (TYPE)(p - 1) && x_[1] == (TYPE)p);                                          \
    } while (0)

/* Rank `r`'s element `i`: one of two zeros, a number, or a NaN of one of several bits. */
static double rough(int r, size_t i) {
    static const uint64_t bits[] = {
        0, 1ull << 63, 0x3ff8000000000000, 0xc004000000000000, 0x7ff0000000000000,
        0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000077, 0x7ffc000000000001,
    };
    unsigned x = (unsigned)(r + 1) * 2654435761u ^ (unsigned)(i + 1) * 2246822519u;
    x ^= x >> 15;
    double value;
    memcpy(&value, &bits[i % 3 == 0 ? x % 2 : i % 3 == 1 ? x % 6 : x % 9], 8);
    return value;
}

/* Of the ranks before `end` the lower or higher one of element `i`, and the first place of it. */
static phx_f64_at extreme(int low, int end, size_t i) {
    phx_f64_at best = {rough(0, i), 0};
    for (int s = 1; s < end; s++) {
        double x = rough(s, i);
        if (x != x || best.value != best.value) {
            best.at = best.value != best.value ? best.at : s;
            memset(&best.value, 0xff, 8);
        } else if (x == best.value) {
            int64_t sign;
            memcpy(&sign, &x, 8);
            best.value = (sign < 0) == low ? x : best.value;
        } else if (low ? x < best.value : x > best.value) {
            best = (phx_f64_at){x, s};
        }
    }
    return best;
}

typedef struct {
    double *x;
    phx_f64_at *z;
    size_t n;
    phx_op op, of_pairs;
} extreme_data;

static void start_extremes(phx_requests *scope, void *argument) {
    extreme_data *it = argument;
    phx_comm *c = phx_requests_comm(scope);
    int r = phx_rank(c), p = phx_size(c);
    phx_request values, pairs;
    OK(phx_start_all_reduce(scope, it->x, it->n, PHX_F64, it->op, &values));
    OK(phx_start_all_reduce(scope, it->z, it->n, PHX_F64_AT, it->of_pairs, &pairs));
    OK(phx_wait(scope, values, NULL));
    OK(phx_wait(scope, pairs, NULL));
}

/* Minima and maxima have the same bits, whatever the call. */
static void extremes(phx_comm *c, size_t n) {
    int r = phx_rank(c), p = phx_size(c), root = (int)(n % (size_t)p);
    double *x = malloc(8 * n);
    phx_f64_at *z = malloc(n * sizeof *z);
    for (int low = 0; low < 2; low++) {
        phx_op op = low ? PHX_MIN : PHX_MAX, of_pairs = low ? PHX_MINLOC : PHX_MAXLOC;
        for (int way = 0; way < 4; way++) {
            for (size_t i = 0; i < n; i++) {
                x[i] = rough(r, i);
                z[i] = (phx_f64_at){x[i], r};
            }
            extreme_data it = {x, z, n, op, of_pairs};
            int end = p;
            switch (way) {
            case 0:
                OK(phx_all_reduce(c, x, n, PHX_F64, op));
                OK(phx_all_reduce(c, z, n, PHX_F64_AT, of_pairs));
                break;
            case 1:
                OK(phx_requests(c, start_extremes, &it));
                break;
            case 2:
                OK(phx_scan(c, x, n, PHX_F64, op));
                OK(phx_scan(c, z, n, PHX_F64_AT, of_pairs));
                end = r + 1;
                break;
            default:
                OK(phx_reduce(c, x, n, PHX_F64, op, root));
                OK(phx_reduce(c, z, n, PHX_F64_AT, of_pairs, root));
            }
            for (size_t i = 0; i < n && (way < 3 || r == root); i++) {
                phx_f64_at want = extreme(low, end, i);
                WANT(memcmp(&x[i], &want.value, 8) == 0);
                WANT(memcmp(&z[i].value, &want.value, 8) == 0 && z[i].at == want.at);
            }
        }
    }
    free(x);
    free(z);
}

static void types(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    INTEGER(int8_t, PHX_I8);
    INTEGER(int16_t, PHX_I16);
    INTEGER(int32_t, PHX_I32);
    INTEGER(int64_t, PHX_I64);
    INTEGER(uint8_t, PHX_U8);
    INTEGER(uint16_t, PHX_U16);
    INTEGER(uint32_t, PHX_U32);
    INTEGER(uint64_t, PHX_U64);
    float f = (float)r + 1;
    OK(phx_all_reduce(c, &f, 1, PHX_F32, PHX_SUM));
    WANT(f == (float)(p * (p + 1) / 2));
    double complex z = r + 1 + 2 * r * I;
    OK(phx_all_reduce(c, &z, 1, PHX_C64, PHX_SUM));
    WANT(creal(z) == p * (p + 1) / 2 && cimag(z) == p * (p - 1));
    float complex w = I;
    OK(phx_all_reduce(c, &w, 1, PHX_C32, PHX_PROD));
    static const float real[] = {1, 0, -1, 0}, imaginary[] = {0, 1, 0, -1};
    WANT(crealf(w) == real[p % 4] && cimagf(w) == imaginary[p % 4]);
    phx_f64_at low = {r == p / 2 ? -1.5 : r, r};
    OK(phx_all_reduce(c, &low, 1, PHX_F64_AT, PHX_MINLOC));
    WANT(low.value == -1.5 && low.at == p / 2);
    phx_i64_at high = {7, r + 3};
    OK(phx_all_reduce(c, &high, 1, PHX_I64_AT, PHX_MAXLOC));
    WANT(high.value == 7 && high.at == 3);
    char text[12] = "-----------";
    if (r == 0)
        memcpy(text, "hello ranks", 12);
    OK(phx_broadcast(c, text, 1, PHX_BYTES(12), 0));
    WANT(strcmp(text, "hello ranks") == 0);
}

static void sum_all(const phx_part *parts, int ranks, void *argument) {
    double sum = 0;
    for (int s = 0; s < ranks; s++)
        for (size_t i = 0; i < parts[s].n; i++)
            sum += ((const double *)parts[s].data)[i];
    *(double *)argument = sum;
}

typedef struct {
    phx_comm *comm;
    phx_err code;
} inner_call;

static void call_inside(const phx_part *parts, int ranks, void *argument) {
    inner_call *inner = argument;
    (void)parts;
    (void)ranks;
    inner->code = phx_barrier(inner->comm);
}

static void rest(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    double mine[20], sum = 0, want = 0;
    for (int s = 0; s < p; s++)
        for (int i = 0; i < s + 1; i++)
            want += s * i;
    for (int i = 0; i < r + 1; i++)
        mine[i] = r * i;
    OK(phx_with_peers(c, mine, (size_t)r + 1, PHX_F64, sum_all, &sum));
    WANT(sum == want);
    inner_call inner = {c, PHX_OK};
    OK(phx_with_peers(c, mine, 1, PHX_F64, call_inside, &inner));
    WANT(inner.code == PHX_ERR_BUSY);
    /* The same bits as of one rank. */
    double x[1000], y[1000], alone = 0, dot;
    for (int i = 0; i < 1000; i++) {
        x[i] = 1.0 / (i + 1);
        y[i] = i % 2 ? -1.0 : 3.0;
    }
    size_t from = (size_t)(1000 * r / p), to = (size_t)(1000 * (r + 1) / p);
    OK(phx_fixed_dot(c, x + from, y + from, to - from, from, &dot));
    OK(phx_fixed_sum(c, x + from, to - from, from, &sum));
    phx_comm *single;
    OK(phx_split(c, r, 0, &single));
    WANT(phx_size(single) == 1 && phx_rank(single) == 0);
    OK(phx_fixed_dot(single, x, y, 1000, 0, &alone));
    WANT(memcmp(&alone, &dot, sizeof dot) == 0);
    OK(phx_fixed_sum(single, x, 1000, 0, &alone));
    WANT(memcmp(&alone, &sum, sizeof sum) == 0);
    OK(phx_comm_free(single));
    WANT(phx_barrier(single) == PHX_ERR_HANDLE);
    double few[3] = {r, 1, -r};
    OK(phx_sum_f64(c, few, 3));
    WANT(few[0] == p * (p - 1) / 2 && few[1] == p && few[2] == -few[0]);
    /* Groups in the other order, which are freed with the communicator. */
    phx_comm *half;
    OK(phx_split(c, r % 2, -r, &half));
    int members = r % 2 ? p / 2 : (p + 1) / 2;
    WANT(phx_size(half) == members && phx_rank(half) == members - 1 - r / 2);
    int64_t ranks = r;
    OK(phx_all_reduce(half, &ranks, 1, PHX_I64, PHX_SUM));
    int64_t wanted = 0;
    for (int s = r % 2; s < p; s += 2)
        wanted += s;
    WANT(ranks == wanted);
    /* The last rank is in no group. */
    phx_comm *some = half;
    OK(phx_split(c, r == p - 1 ? -1 : 3, r, &some));
    WANT(r == p - 1 ? !some : phx_size(some) == p - 1);
    phx_comm *near;
    OK(phx_split_level(c, PHX_LEVEL_PACKAGE, &near));
    WANT(phx_size(near) >= 1);
    OK(phx_comm_free(near));
}

/* More communicators than the first places of the table of handles. */
static void many_handles(phx_comm *c) {
    enum { MANY = 150 };
    phx_comm *parts[MANY];
    int r = phx_rank(c), p = phx_size(c);
    for (int k = 0; k < MANY; k++)
        OK(phx_split(c, k % 2 ? 0 : r, 0, &parts[k]));
    for (int k = 0; k < MANY; k++) {
        double x = k, all[16];
        OK(phx_barrier(parts[k]));
        OK(phx_all_reduce(parts[k], &x, 1, PHX_F64, PHX_SUM));
        WANT(x == (k % 2 ? p * k : k));
        x = r;
        OK(phx_broadcast(parts[k], &x, 1, PHX_F64, 0));
        WANT(x == (k % 2 ? 0 : r));
        OK(phx_all_gather(parts[k], &x, 1, all, PHX_F64));
        WANT(all[k % 2 ? p - 1 : 0] == x);
    }
    for (int k = MANY - 1; k >= 0; k -= 2)
        OK(phx_comm_free(parts[k]));
    for (int k = 0; k < MANY; k++)
        WANT(phx_barrier(parts[k]) == (k % 2 ? PHX_ERR_HANDLE : PHX_OK));
}

static void write_own(void *data, size_t n, void *argument) {
    for (size_t i = 0; i < n; i++)
        ((double *)data)[i] = *(const int *)argument * 100 + (int)i;
}

static void windows(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    phx_window *window;
    const void *part;
    size_t n;
    OK(phx_window_new(c, (size_t)r + 1, PHX_F64, &window));
    for (int round = 0; round < 3; round++) {
        int number = r + round;
        OK(phx_window_update(window, write_own, &number));
        for (int s = 0; s < p; s++) {
            OK(phx_window_part(window, s, &part, &n));
            WANT(n == (size_t)s + 1);
            for (size_t i = 0; i < n; i++)
                WANT(((const double *)part)[i] == (s + round) * 100 + (int)i);
        }
        OK(phx_window_part(window, -1, &part, NULL));
        WANT(((const double *)part)[0] == number * 100);
    }
    WANT(phx_window_part(window, p, &part, &n) == PHX_ERR_ARGUMENT);
    OK(phx_window_free(window));
    WANT(phx_window_free(window) == PHX_ERR_HANDLE);
    WANT(phx_window_update(window, write_own, &r) == PHX_ERR_HANDLE);
    /* The rest is freed with the communicator. */
    OK(phx_window_new(c, 2, PHX_BYTES(24), &window));
    OK(phx_window_part(window, 0, &part, &n));
    WANT(n == 2 && ((const char *)part)[47] == 0);
}

static void collected(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    int32_t mine[3 * 64], *all;
    size_t counts[64], received[64], at = 0;
    void *data;
    for (int i = 0; i < 3 * 64; i++)
        mine[i] = 1000 * r + i;
    OK(phx_all_gather_vec(c, mine, (size_t)(r % 3), PHX_I32, &data, counts));
    all = data;
    for (int s = 0; s < p; s++) {
        WANT(counts[s] == (size_t)(s % 3));
        for (size_t i = 0; i < counts[s]; i++)
            WANT(all[at++] == 1000 * s + (int)i);
    }
    WANT(phx_free(data) == PHX_OK);
    WANT(data == NULL || phx_free(data) == PHX_ERR_ARGUMENT);
    OK(phx_gather_vec(c, mine, 2, PHX_BYTES(4), p - 1, &data, counts));
    WANT((data != NULL) == (r == p - 1));
    if (r == p - 1)
        WANT(((int32_t *)data)[2 * p - 1] == 1000 * (p - 1) + 1 && counts[0] == 2);
    WANT(phx_free(data) == PHX_OK);
    for (int s = 0; s < p; s++)
        counts[s] = (size_t)((r + s) % 3);
    OK(phx_all_to_all_vec(c, mine, counts, PHX_I32, &data, received));
    at = 0;
    for (int s = 0; s < p; s++) {
        size_t first = 0;
        for (int t = 0; t < r; t++)
            first += (size_t)((s + t) % 3);
        WANT(received[s] == (size_t)((r + s) % 3));
        for (size_t i = 0; i < received[s]; i++)
            WANT(((int32_t *)data)[at++] == 1000 * s + (int)(first + i));
    }
    WANT(phx_free(data) == PHX_OK);
    phx_status status;
    OK(phx_send_tagged(c, mine, 5, PHX_I32, (r + 1) % p, 8));
    OK(phx_recv_vec(c, PHX_I32, PHX_ANY_SOURCE, 8, &data, &status));
    WANT(status.n == 5 && ((int32_t *)data)[4] == 1000 * ((r + p - 1) % p) + 4);
    WANT(phx_free(data) == PHX_OK);
}

static void choices(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    const char *names[] = {"ring", "tree", "auto", "mesh", NULL};
    double x[100];
    for (int k = 0; k < 5; k++) {
        OK(phx_choose(c, names[k], k == 3 ? 2 : 0, k == 3 ? ((int[2]){1, p}) : NULL));
        for (int i = 0; i < 100; i++)
            x[i] = r + i;
        OK(phx_all_reduce(c, x, 100, PHX_F64, PHX_SUM));
        for (int i = 0; i < 100; i++)
            WANT(x[i] == p * (p - 1) / 2 + p * i);
    }
    /* The same bits as of the sum of the ranks in another order of themselves. */
    phx_comm *other;
    OK(phx_split(c, 0, -r, &other));
    OK(phx_order(c, PHX_ORDER_FIXED));
    double sum = 1.0 / (r + 3), again = 1.0 / (phx_rank(other) + 3);
    OK(phx_all_reduce(c, &sum, 1, PHX_F64, PHX_SUM));
    OK(phx_order(c, PHX_ORDER_ANY));
    OK(phx_order(other, PHX_ORDER_FIXED));
    OK(phx_choose(other, "ring", 0, NULL));
    OK(phx_all_reduce(other, &again, 1, PHX_F64, PHX_SUM));
    WANT(memcmp(&sum, &again, sizeof sum) == 0);
    OK(phx_comm_free(other));
    /* So are the bits of products, of other types, and of what the root alone gets. */
    OK(phx_order(c, PHX_ORDER_FIXED));
    double bits[2][3];
    for (int k = 0; k < 2; k++) {
        if (k == 1)
            OK(phx_choose(c, "ring", 0, NULL));
        float few[2] = {0.1f * (float)(r + 1), 0.7f};
        bits[k][0] = 1.0 + 1.0 / (r + 3), bits[k][1] = 1.0 / (r + 3);
        OK(phx_all_reduce(c, &bits[k][0], 1, PHX_F64, PHX_PROD));
        OK(phx_all_reduce(c, few, 2, PHX_F32, PHX_SUM));
        OK(phx_reduce(c, &bits[k][1], 1, PHX_F64, PHX_SUM, 0));
        bits[k][2] = few[0];
    }
    OK(phx_choose(c, "auto", 0, NULL));
    OK(phx_order(c, PHX_ORDER_ANY));
    WANT(bits[0][0] == bits[1][0] && bits[0][2] == bits[1][2]);
    WANT(r != 0 || bits[0][1] == bits[1][1]);
}

static void root_seen(const phx_part *parts, int ranks, void *argument) {
    if (ranks == 1 && parts[0].n == 3)
        *(double *)argument = ((const double *)parts[0].data)[2];
}

static void several_halos(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c), extents[2] = {1, 0}, periodic[2] = {0, 1};
    phx_cart *cart;
    OK(phx_cart(c, 2, extents, periodic, &cart));
    /* Two fields of 1 x 3 own cells, with one cell of halo in rows and two in columns. */
    double a[3][7] = {{0}}, b[3][7] = {{0}};
    const size_t own[2] = {1, 3}, widths[2] = {1, 2};
    void *fields[2] = {a, b};
    for (int j = 0; j < 3; j++) {
        a[1][2 + j] = 10 * r + j;
        b[1][2 + j] = -10 * r - j;
    }
    OK(phx_exchange_halos(cart, fields, 2, PHX_F64, own, widths, 0));
    int left = (r + p - 1) % p, right = (r + 1) % p;
    WANT(a[1][0] == 10 * left + 1 && a[1][1] == 10 * left + 2 && a[1][6] == 10 * right + 1);
    WANT(b[1][0] == -10 * left - 1 && b[1][5] == -10 * right && b[0][3] == 0);
    phx_comm *row;
    OK(phx_cart_sub(cart, ((int[2]){0, 1}), &row));
    WANT(phx_size(row) == p && phx_rank(row) == r);
    OK(phx_comm_free(row));
    OK(phx_cart_free(cart));
    double three[3] = {r, r, r + 0.5}, seen = 0;
    OK(phx_with_root(c, r == p - 1 ? three : NULL, 3, PHX_F64, p - 1, root_seen, &seen));
    WANT(seen == p - 1 + 0.5);
}

static void grids(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    int extents[2] = {0, 0}, periodic[2] = {1, 0}, at[2];
    phx_cart *cart;
    OK(phx_cart(c, 2, extents, periodic, &cart));
    OK(phx_cart_extents(cart, extents));
    WANT(extents[0] * extents[1] == p);
    OK(phx_cart_coordinates(cart, -1, at));
    WANT(at[0] * extents[1] + at[1] == r);
    int up = phx_cart_neighbour(cart, 0, -1), right = phx_cart_neighbour(cart, 1, 1);
    WANT(up == ((at[0] + extents[0] - 1) % extents[0]) * extents[1] + at[1]);
    WANT(right == (at[1] + 1 < extents[1] ? r + 1 : -1));
    double field[5][6];
    const size_t own[2] = {3, 4};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++)
            field[i][j] = i > 0 && i < 4 && j > 0 && j < 5 ? r * 100 + i * 10 + j : -1;
    OK(phx_exchange_halo(cart, field, PHX_F64, own, 1, 0));
    for (int j = 1; j < 5; j++)
        WANT(field[0][j] == up * 100 + 30 + j);
    for (int i = 1; i < 4; i++)
        WANT(field[i][5] == (right < 0 ? -1 : right * 100 + i * 10 + 1));
    OK(phx_cart_free(cart));
    WANT(phx_cart_free(cart) == PHX_ERR_HANDLE);
    WANT(phx_exchange_halo(cart, field, PHX_F64, own, 1, 0) == PHX_ERR_HANDLE);
}

/* What a communicator's objects are freed with: not only with the run's. */
static void freed_with_theirs(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c), extent = 0, periodic = 0;
    phx_comm *part;
    phx_cart *cart;
    phx_plan *plan, *other;
    phx_window *window;
    OK(phx_split(c, 0, 0, &part));
    OK(phx_cart(part, 1, &extent, &periodic, &cart));
    OK(phx_plan_blocks(part, 8, NULL, 0, &plan));
    OK(phx_window_new(part, 1, PHX_F64, &window));
    OK(phx_plan_blocks(c, 8, NULL, 0, &other));
    OK(phx_comm_free(part));
    WANT(phx_cart_extents(cart, &extent) == PHX_ERR_HANDLE);
    WANT(phx_plan_free(plan) == PHX_ERR_HANDLE);
    WANT(phx_window_free(window) == PHX_ERR_HANDLE);
    OK(phx_plan_free(other));
}

/* What is under way in a scope: its buffers, and what they hold at the end. */
typedef struct {
    phx_comm *comm;
    double *x, *y;
    size_t n;
} underway;

static void started(phx_requests *scope, void *argument) {
    underway *it = argument;
    phx_comm *c = phx_requests_comm(scope);
    int r = phx_rank(c), p = phx_size(c), complete = 0;
    size_t n = it->n;
    double *x = it->x, *y = it->y;
    double sum[2] = {r, 1}, ring = r, got = -1;
    phx_request requests[5];
    phx_status status;
    WANT(phx_barrier(it->comm) == PHX_ERR_BUSY);
    fill(x, r, n);
    OK(phx_start_all_reduce(scope, x, n, PHX_F64, PHX_SUM, &requests[0]));
    OK(phx_start_all_reduce(scope, sum, 2, PHX_F64, PHX_SUM, &requests[1]));
    OK(phx_start_recv(scope, &got, 1, PHX_F64, PHX_ANY_SOURCE, 5, &requests[2]));
    OK(phx_start_send(scope, &ring, 1, PHX_F64, (r + 1) % p, 5, NULL));
    if (r == 0)
        fill(y, 3, n);
    OK(phx_start_broadcast(scope, y, n, PHX_F64, 0, &requests[3]));
    OK(phx_start_barrier(scope, &requests[4]));
    OK(phx_barrier(c));
    OK(phx_wait(scope, requests[1], NULL));
    WANT(sum[0] == p * (p - 1) / 2 && sum[1] == p);
    OK(phx_wait(scope, requests[2], &status));
    WANT(got == (r + p - 1) % p && status.source == (r + p - 1) % p && status.n == 1);
    while (!complete)
        OK(phx_test(scope, requests[3], &complete));
    OK(phx_wait(scope, requests[3], NULL));
    for (size_t i = 0; i < n; i++)
        WANT(y[i] == value(3, i));
    OK(phx_wait(scope, requests[4], NULL));
}

static void requests(phx_comm *c, double *x, double *y, size_t n) {
    int r = phx_rank(c), p = phx_size(c);
    underway it;
    it.comm = c;
    it.x = x;
    it.y = y;
    it.n = n;
    OK(phx_requests(c, started, &it));
    for (size_t i = 0; i < n; i++)
        WANT(x[i] == 1000.0 * p * (p + 1) / 2 + p * (double)(i % 97));
}

static void plans(phx_comm *c) {
    int r = phx_rank(c), p = phx_size(c);
    size_t total = 3 * (size_t)p, n = 3;
    size_t indices[2] = {(3 * (size_t)r + total - 1) % total, (3 * (size_t)r + 3) % total};
    double own[3], ghosts[2] = {0, 0};
    phx_plan *plan, *lists;
    OK(phx_plan_blocks(c, total, indices, 2, &plan));
    WANT(phx_plan_owned(plan) == n && phx_plan_ghosts(plan) == 2);
    for (size_t i = 0; i < n; i++)
        own[i] = (double)(3 * (size_t)r + i);
    OK(phx_plan_gather(plan, own, ghosts, PHX_F64));
    WANT(ghosts[0] == (double)indices[0] && ghosts[1] == (double)indices[1]);
    /* Each end is the ghost of one neighbour. */
    OK(phx_plan_scatter_add(plan, ghosts, own, PHX_F64));
    WANT(own[0] == 2 * 3.0 * r && own[1] == 3.0 * r + 1 && own[2] == 2 * (3.0 * r + 2));
    OK(phx_plan_free(plan));
    WANT(phx_plan_free(plan) == PHX_ERR_HANDLE);
    WANT(phx_plan_gather(plan, own, ghosts, PHX_F64) == PHX_ERR_HANDLE);
    int right = (r + 1) % p, left = (r + p - 1) % p;
    size_t two = 2, give[2] = {2, 1}, want[2] = {0, 1};
    int32_t mine[3] = {r, r + 100, r + 200}, got[2];
    OK(phx_plan_lists(c, 3, 1, &right, &two, give, 2, 1, &left, &two, want, &lists));
    OK(phx_plan_gather(lists, mine, got, PHX_I32));
    WANT(got[0] == left + 200 && got[1] == left + 100);
    /* The rest is freed with the communicator. */
}

static void all(phx_comm *c, void *argument) {
    size_t room = (size_t)(phx_size(c) + 1) * (LONGEST + 16);
    double *x = malloc(room * sizeof *x), *y = malloc(room * sizeof *y);
    int quick = argument != NULL;
    for (int k = 0; k < LENGTHS; k += quick ? 3 : 1) {
        size_t n = lengths[k];
        reductions(c, x, n);
        messages(c, x, y, n);
        user_operators(c, n);
        requests(c, x, y, n);
    }
    catalogue(c);
    types(c);
    extremes(c, 1);
    extremes(c, 9);
    extremes(c, 300);
    rest(c);
    plans(c);
    grids(c);
    freed_with_theirs(c);
    windows(c);
    collected(c);
    choices(c);
    several_halos(c);
    if (phx_size(c) <= 4)
        many_handles(c);
    free(x);
    free(y);
}

static void *on_own_thread(void *comm) {
    all(comm, comm);
    if (phx_comm_free(comm) != PHX_OK)
        failed("phx_comm_free", __LINE__, -1, -1);
    return NULL;
}

/* As the vector unit has it: fegetround may ask the x87, which no reduction uses, and valgrind does
 * not round as it is told. */
static int rounds_upward(void) {
#ifdef __SSE2__
    return (__builtin_ia32_stmxcsr() >> 13 & 3) == 2;
#else
    return fegetround() == FE_UPWARD;
#endif
}

/* The ranks of a run have the rounding of its caller; a rank that changes its own gets the same bits
 * from every reduction. */
static void rounding(phx_comm *c, void *of_caller) {
    int r = phx_rank(c), p = phx_size(c), round[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD};
    static const size_t some[] = {1, 12, 1000};
    WANT(rounds_upward() == (*(int *)of_caller == FE_UPWARD));
    for (int k = 0; k < 9; k++) {
        double x[1000], y = r ? 0x1p-60 : 1;
        size_t n = some[k % 3];
        fesetround(r == p - 1 ? round[k / 3] : FE_TONEAREST);
        for (size_t i = 0; i < n; i++)
            x[i] = y;
        OK(phx_all_reduce(c, x, n, PHX_F64, PHX_SUM));
        WANT(x[0] == 1 && x[n - 1] == 1);
        OK(phx_sum_f64(c, &y, 1));
        WANT(y == 1);
        WANT(fegetround() == (r == p - 1 ? round[k / 3] : FE_TONEAREST));
    }
    fesetround(r == 0 ? *(int *)of_caller : FE_TOWARDZERO);
}

int main(int argc, char **argv) {
    int most = argc > 1 ? atoi(argv[1]) : 16;
    int r = -1, p;
    for (p = 1; p <= most; p++) {
        phx_options options = {0};
        phx_team *team = NULL;
        options.size = sizeof options;
        options.ranks = p;
        options.deadline = 120;
        if (phx_team_new(&options, &team) != PHX_OK || phx_team_size(team) != p)
            failed("phx_team_new", __LINE__, r, p);
        for (int k = 0; k < 2; k++) {
            phx_err code = phx_team_run(team, all, k ? team : NULL);
            char text[400];
            phx_last_error(text, sizeof text);
            if (code != PHX_OK)
                failed(text, __LINE__, r, p);
        }
        for (int k = 0, round[] = {FE_UPWARD, FE_TONEAREST}; k < 4; k++) {
            fesetround(round[k % 2]);
            WANT(phx_team_run(team, rounding, &round[k % 2]) == PHX_OK);
            WANT(fegetround() == round[k % 2]);
        }
        fesetround(FE_TONEAREST);
        WANT(phx_team_free(team) == PHX_OK);
        WANT(phx_team_free(team) == PHX_ERR_HANDLE);
        phx_comm *comms[64];
        pthread_t threads[64];
        WANT(phx_external(p, &options, comms) == PHX_OK);
        for (int k = 0; k < p; k++)
            pthread_create(&threads[k], NULL, on_own_thread, comms[k]);
        for (int k = 0; k < p; k++)
            pthread_join(threads[k], NULL);
        if (failures)
            return 1;
    }
    printf("oracle: ok, 1 to %d ranks\n", most);
    return 0;
}
