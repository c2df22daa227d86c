/* Every kind of failure: its code, its text with both ranks, both functions and both lines, the
 * codes of calls after it, and a team that works again. */
#include <phalanx.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, name, #condition);              \
        }                                                                                          \
    } while (0)

/* The lines in which the ranks disagree, and what each rank's call returned. */
static int lines[2];
static phx_err codes[16];

/* Several ranks are in one line. */
#define HERE(k) __atomic_store_n(&lines[k], __LINE__, __ATOMIC_RELAXED)

static void other_operation(phx_comm *c, void *argument) {
    double x[4] = {0};
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_broadcast(c, x, 4, PHX_F64, 0);
    else
        HERE(0), codes[phx_rank(c)] = phx_all_reduce(c, x, 4, PHX_F64, PHX_SUM);
}

static void other_type(phx_comm *c, void *argument) {
    double x[4] = {0};
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_broadcast(c, x, 4, PHX_I64, 0);
    else
        HERE(0), codes[phx_rank(c)] = phx_broadcast(c, x, 4, PHX_F64, 0);
}

static void other_length(phx_comm *c, void *argument) {
    static double x[2][3000];
    double mine[3000];
    (void)argument;
    (void)x;
    memset(mine, 0, sizeof mine);
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_all_reduce(c, mine, 2999, PHX_F64, PHX_SUM);
    else
        HERE(0), codes[phx_rank(c)] = phx_all_reduce(c, mine, 3000, PHX_F64, PHX_SUM);
}

static void other_root(phx_comm *c, void *argument) {
    double x[4] = {0};
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_reduce(c, x, 4, PHX_F64, PHX_SUM, 1);
    else
        HERE(0), codes[phx_rank(c)] = phx_reduce(c, x, 4, PHX_F64, PHX_SUM, 0);
}

static void other_operator(phx_comm *c, void *argument) {
    int64_t x[4] = {0};
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_all_reduce(c, x, 4, PHX_I64, PHX_BXOR);
    else
        HERE(0), codes[phx_rank(c)] = phx_all_reduce(c, x, 4, PHX_I64, PHX_PROD);
}

static void add(void *out, const void *left, const void *right, size_t n, void *argument) {
    (void)argument;
    for (size_t i = 0; i < n; i++)
        ((double *)out)[i] = ((const double *)left)[i] + ((const double *)right)[i];
}

static void multiply(void *out, const void *left, const void *right, size_t n, void *argument) {
    (void)argument;
    for (size_t i = 0; i < n; i++)
        ((double *)out)[i] = ((const double *)left)[i] * ((const double *)right)[i];
}

static void other_function(phx_comm *c, void *argument) {
    const char *name = "other_function";
    double x[4] = {0};
    phx_op op;
    (void)argument;
    if (phx_rank(c) == 1) {
        WANT(phx_op_new(multiply, NULL, 1, &op) == PHX_OK);
        HERE(1), codes[1] = phx_all_reduce(c, x, 4, PHX_F64, op);
    } else {
        WANT(phx_op_new(add, NULL, 1, &op) == PHX_OK);
        HERE(0), codes[phx_rank(c)] = phx_all_reduce(c, x, 4, PHX_F64, op);
    }
    phx_op_free(op);
}

static void other_counts(phx_comm *c, void *argument) {
    double mine[4] = {0}, all[16];
    size_t counts[16];
    (void)argument;
    for (int r = 0; r < phx_size(c); r++)
        counts[r] = 1;
    if (phx_rank(c) == 1) {
        counts[0] = 2;
        HERE(1), codes[1] = phx_all_gatherv(c, mine, all, counts, PHX_F64);
    } else {
        HERE(0), codes[phx_rank(c)] = phx_all_gatherv(c, mine, all, counts, PHX_F64);
    }
}

static void other_message(phx_comm *c, void *argument) {
    double x[4] = {0};
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_send(c, x, 3, PHX_F64, 0);
    else if (phx_rank(c) == 0)
        HERE(0), codes[0] = phx_recv(c, x, 4, PHX_F64, 1);
}

static void too_long_message(phx_comm *c, void *argument) {
    double x[4] = {0};
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(1), codes[1] = phx_send_tagged(c, x, 4, PHX_F64, 0, 9);
    else if (phx_rank(c) == 0)
        HERE(0), codes[0] = phx_recv_tagged(c, x, 2, PHX_F64, 1, 9, NULL);
}

/* Both send before they receive: what is kept (16 KiB) comes, more is a circle. */
static void kept_message(phx_comm *c, void *argument) {
    static char out[2][(16 << 10) + 1], in[2][(16 << 10) + 1];
    size_t n = *(size_t *)argument;
    int me = phx_rank(c);
    codes[me] = phx_send_tagged(c, out[me], n, PHX_U8, 1 - me, 3);
    if (codes[me] == PHX_OK) codes[me] = phx_recv_tagged(c, in[me], n, PHX_U8, 1 - me, 3, NULL);
}

static void early_return(phx_comm *c, void *argument) {
    (void)argument;
    HERE(1), phx_barrier(c);
    if (phx_rank(c) != 1)
        HERE(0), codes[phx_rank(c)] = phx_barrier(c);
}

static void circle(phx_comm *c, void *argument) {
    double x;
    int p = phx_size(c), r = phx_rank(c);
    (void)argument;
    HERE(0), HERE(1), codes[r] = phx_recv(c, &x, 1, PHX_F64, (r + 1) % p);
}

/* More calls than are kept on record, all of them left to the end of their scope. */
static void starts_receives(phx_requests *s, void *argument) {
    static double x[16][40];
    phx_comm *c = phx_requests_comm(s);
    int p = phx_size(c), r = phx_rank(c);
    (void)argument;
    for (int k = 0; k < 40; k++)
        HERE(0), HERE(1), phx_start_recv(s, &x[r][k], 1, PHX_F64, (r + 1) % p, 3, NULL);
}

static void left_open(phx_comm *c, void *argument) {
    codes[phx_rank(c)] = phx_requests(c, starts_receives, argument);
}

static void unread(phx_comm *c, void *argument) {
    double x = 0;
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(0), lines[1] = lines[0], codes[1] = phx_send(c, &x, 1, PHX_F64, 0);
}

static void stuck(phx_comm *c, void *argument) {
    (void)argument;
    if (phx_rank(c) == 1) {
        const struct timespec longer = {0, 900000000};
        nanosleep(&longer, NULL);
    } else {
        HERE(0), codes[phx_rank(c)] = phx_barrier(c);
    }
}

static void on_purpose(phx_comm *c, void *argument) {
    (void)argument;
    if (phx_rank(c) == 1)
        HERE(0), lines[1] = lines[0], codes[1] = phx_fail(c, "the matrix is singular");
    else
        codes[phx_rank(c)] = phx_barrier(c);
}

static void cancelled(phx_comm *c, void *argument) {
    (void)argument;
    if (phx_rank(c) == 1)
        phx_cancel(c);
    codes[phx_rank(c)] = phx_barrier(c);
}

/* Wrong arguments of rank 1. The others wait in the same call. */
static int which;
static const char *const wrong[] = {"null", "is no rank", "is no element type", "overlap",
                                    "aligned", "more than memory", "is none", "no such operator",
                                    "is no rank", "itself", "more than memory", "aligned",
                                    "null", "is no rank", "and -1 is none"};
enum { WRONG = sizeof wrong / sizeof wrong[0] };

static void wrong_argument(phx_comm *c, void *argument) {
    static double x[16][64];
    int r = phx_rank(c);
    char *bytes = (char *)x[r];
    phx_comm *part;
    (void)argument;
    if (r != 1) {
        codes[r] = phx_barrier(c);
        return;
    }
    switch (which) {
    case 0: codes[1] = phx_all_reduce(c, NULL, 4, PHX_F64, PHX_SUM); break;
    case 1: codes[1] = phx_broadcast(c, x[1], 4, PHX_F64, phx_size(c)); break;
    case 2: codes[1] = phx_broadcast(c, x[1], 4, 12345, 0); break;
    case 3: codes[1] = phx_all_gather(c, x[1] + 1, 1, x[1], PHX_F64); break;
    case 4: codes[1] = phx_all_reduce(c, bytes + 1, 4, PHX_F64, PHX_SUM); break;
    case 5: codes[1] = phx_all_reduce(c, x[1], (size_t)-1 / 2, PHX_F64, PHX_PROD); break;
    case 6: codes[1] = phx_all_reduce(c, x[1], 4, PHX_F64, PHX_BAND); break;
    case 7: codes[1] = phx_all_reduce(c, x[1], 4, PHX_F64, (phx_op)77 << 32 | 3); break;
    case 8: codes[1] = phx_send(c, x[1], 4, PHX_F64, -3); break;
    case 9: codes[1] = phx_send(c, x[1], 4, PHX_F64, 1); break;
    case 10: codes[1] = phx_all_gather(c, x[1], (size_t)1 << 60, x[2], PHX_F64); break;
    case 11: codes[1] = phx_all_gather(c, bytes + 1, 1, x[2], PHX_I64); break;
    case 12: codes[1] = phx_all_gather(c, x[1], 1, NULL, PHX_F64); break;
    case 13: codes[1] = phx_broadcast(c, x[1], 4, PHX_F64, -1); break;
    case 14: codes[1] = phx_split(c, -5, 0, &part); break;
    }
}

static phx_comm *kept;

static void keep(phx_comm *c, void *argument) {
    const char *name = "keep";
    (void)argument;
    if (phx_rank(c) == 0)
        kept = c;
    WANT(phx_barrier(c) == PHX_OK);
    /* Of another rank. */
    if (phx_rank(c) == 1) {
        WANT(phx_barrier(kept) == PHX_ERR_THREAD);
        WANT(phx_comm_free(kept) == PHX_ERR_THREAD);
        WANT(phx_rank(kept) == -1);
    }
    WANT(phx_comm_free(c) == PHX_ERR_ARGUMENT);
    WANT(phx_barrier(NULL) == PHX_ERR_HANDLE);
    WANT(phx_barrier((phx_comm *)&failures) == PHX_ERR_HANDLE);
    WANT(phx_barrier((phx_comm *)(size_t)0x500000011) == PHX_ERR_HANDLE);
    WANT(phx_barrier(c) == PHX_OK);
}

static void good(phx_comm *c, void *argument) {
    const char *name = "good";
    double x = 1;
    (void)argument;
    WANT(phx_all_reduce(c, &x, 1, PHX_F64, PHX_SUM) == PHX_OK);
    WANT(x == phx_size(c));
}

/* Calls of a rank by threads one after the other: that come and go, or live beside each other. */
typedef struct {
    phx_comm *comm, *child;
    phx_window *window;
    int part;
} a_rank;

static void *one_part(void *of) {
    const char *name = "threads";
    a_rank *mine = of;
    double x = 1;
    switch (mine->part) {
    case 0: WANT(phx_barrier(mine->comm) == PHX_OK); break;
    case 1:
        WANT(phx_all_reduce(mine->comm, &x, 1, PHX_F64, PHX_SUM) == PHX_OK);
        WANT(x == phx_size(mine->comm));
        break;
    case 2: WANT(phx_split(mine->comm, 0, 0, &mine->child) == PHX_OK); break;
    case 3: WANT(phx_barrier(mine->child) == PHX_OK); break;
    case 4: WANT(phx_window_new(mine->comm, 2, PHX_F64, &mine->window) == PHX_OK); break;
    case 5: WANT(phx_all_reduce(mine->child, &x, 1, PHX_F64, PHX_MAX) == PHX_OK); break;
    case 6: WANT(phx_window_free(mine->window) == PHX_OK); break;
    case 7: WANT(phx_comm_free(mine->child) == PHX_OK); break;
    }
    return NULL;
}

static void by_a_thread(a_rank *mine) {
    pthread_t thread;
    pthread_create(&thread, NULL, one_part, mine);
    pthread_join(thread, NULL);
}

static void *every_part(void *of) {
    a_rank *mine = of;
    for (int round = 0; round < 6; round++)
        for (mine->part = 0; mine->part < 8; mine->part++)
            if ((mine->part + round) % 3)
                by_a_thread(mine);
            else
                one_part(mine);
    return NULL;
}

/* A run's communicator is lent, until the rank has split off another. */
static void lent(phx_comm *c, void *argument) {
    const char *name = "lent";
    a_rank mine = {c, NULL, NULL, 0};
    (void)argument;
    for (int round = 0; round < 3; round++)
        for (mine.part = 0; mine.part < 2; mine.part++) {
            by_a_thread(&mine);
            one_part(&mine);
        }
    WANT(phx_barrier(c) == PHX_OK);
}

static void of_a_parent(phx_comm **comms) {
    const char *name = "fork";
    int status = -1;
    phx_team *team;
    WANT(phx_team_new(NULL, &team) == PHX_OK);
    WANT(phx_team_run(team, good, NULL) == PHX_OK);
    pid_t child = fork();
    if (!child) {
        failures = 0;
        WANT(phx_team_run(team, good, NULL) == PHX_ERR_DEAD);
        WANT(phx_barrier(comms[0]) == PHX_ERR_DEAD);
        WANT(phx_comm_free(comms[0]) == PHX_OK);
        WANT(phx_team_free(team) == PHX_OK);
        WANT(phx_run(2, good, NULL) == PHX_OK);
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    WANT(status == 0);
    WANT(phx_team_free(team) == PHX_OK);
}

/* After a failed call every other is refused at once. */
static void (*case_run)(phx_comm *, void *);

static void and_then_dead(phx_comm *c, void *argument) {
    const char *name = argument;
    int r = phx_rank(c);
    phx_comm *part;
    case_run(c, argument);
    if (codes[r] != PHX_OK) {
        double x = 0;
        WANT(phx_barrier(c) == PHX_ERR_DEAD);
        WANT(phx_all_reduce(c, &x, 1, PHX_F64, PHX_SUM) == PHX_ERR_DEAD);
        WANT(phx_split(c, 0, 0, &part) == PHX_ERR_DEAD);
        WANT(phx_rank(c) == r);
    }
}

typedef struct {
    const char *name;
    void (*run)(phx_comm *, void *);
    phx_err code;
    const char *say[4]; /* What the text says, beside the lines. */
    int lines;          /* How many lines it names: 0, 1 or 2. */
} failure;

static const failure cases[] = {
    {"other operation", other_operation, PHX_ERR_MISMATCH,
     {"phx_all_reduce of 4 f64 with sum", "phx_broadcast of 4 f64", "rank 0", "rank 1"}, 2},
    {"other type", other_type, PHX_ERR_MISMATCH,
     {"phx_broadcast of 4 f64", "phx_broadcast of 4 i64", "rank 1", "element type"}, 2},
    {"other length", other_length, PHX_ERR_MISMATCH, {"3000 f64", "2999 f64", "length", "rank 1"}, 2},
    {"other root", other_root, PHX_ERR_MISMATCH, {"to root 0", "to root 1", "phx_reduce", "rank 1"}, 2},
    {"other operator", other_operator, PHX_ERR_MISMATCH, {"prod", "bit-xor", "operator", "rank 1"}, 2},
    {"other function", other_function, PHX_ERR_MISMATCH,
     {"the operator add", "the operator multiply", "8 bytes", "rank 1"}, 2},
    {"other counts", other_counts, PHX_ERR_MISMATCH, {"counts", "phx_all_gatherv", "rank 0", "rank 1"}, 2},
    {"other message", other_message, PHX_ERR_MISMATCH, {"phx_recv of 4", "phx_send of 3", "rank 0", "rank 1"}, 2},
    {"too long a message", too_long_message, PHX_ERR_MISMATCH,
     {"phx_recv_tagged of 2", "phx_send_tagged of 4", "tag 9", "rank 1"}, 2},
    {"early return", early_return, PHX_ERR_LEFT, {"rank 1 returned", "phx_barrier", "", ""}, 2},
    {"circle", circle, PHX_ERR_DEADLOCK, {"circle", "phx_recv of 1 f64", "rank 0", "rank 1"}, 1},
    {"left open", left_open, PHX_ERR_DEADLOCK, {"circle", "recv", "tag 3", "rank 1"}, 1},
    {"unread", unread, PHX_ERR_UNRECEIVED, {"never received", "phx_send of 1 f64", "rank 1", "rank 0"}, 1},
    {"stuck", stuck, PHX_ERR_DEADLINE, {"deadline", "phx_barrier", "rank 1 is in its own code", ""}, 1},
    {"on purpose", on_purpose, PHX_ERR_ARGUMENT, {"singular", "phx_fail", "rank 1", ""}, 1},
    {"cancelled", cancelled, PHX_ERR_CANCELLED, {"rank 1 cancelled", "", "", ""}, 0},
};

static void judge(const failure *it, phx_err code) {
    const char *name = it->name;
    char text[4000], line[100];
    phx_last_error(text, sizeof text);
    WANT(code == it->code);
    for (int k = 0; k < 4; k++)
        WANT(strstr(text, it->say[k]) != NULL);
    for (int k = 0; k < it->lines; k++) {
        snprintf(line, sizeof line, "mismatch.c:%d", lines[k]);
        WANT(strstr(text, line) != NULL);
    }
    WANT(strstr(text, ".rs") == NULL);
    if (getenv("SHOW"))
        printf("%s: %d, %s\n", name, code, text);
}

typedef struct {
    phx_comm *comm;
    const failure *it;
    char text[4000];
} own_thread;

static void *on_own_thread(void *argument) {
    own_thread *own = argument;
    const char *name = own->it->name;
    and_then_dead(own->comm, (void *)name);
    phx_last_error(own->text, sizeof own->text);
    WANT(phx_comm_free(own->comm) == PHX_OK);
    return NULL;
}

/* Rank 1 is late for a barrier. */
static void late(phx_comm *c, void *argument) {
    const char *name = argument;
    struct timespec some = {0, 300000000};
    if (phx_rank(c) == 1)
        nanosleep(&some, NULL);
    WANT(phx_barrier(c) == PHX_OK);
}

/* A wait without a deadline is told on the standard error, unless that is turned off. */
static void warned(void) {
    char name[] = "warned", text[4000] = "";
    for (int told = 0; told < 2; told++) {
        phx_options options = {0};
        phx_team *team;
        FILE *file = tmpfile();
        int kept = dup(2);
        options.ranks = 2;
        options.stall_warning = told ? 0.1 : -1;
        WANT(phx_team_new(&options, &team) == PHX_OK);
        WANT(dup2(fileno(file), 2) == 2);
        phx_err code = phx_team_run(team, late, name);
        dup2(kept, 2);
        close(kept);
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        WANT(code == PHX_OK && phx_team_free(team) == PHX_OK);
        WANT(told || !text[0]);
        WANT(!told || strstr(text, "rank 0 has waited 100ms for rank 1, and waits on:"));
        WANT(!told || strstr(text, "rank 0 waits for rank 1; latest calls: phx_barrier"));
        WANT(!told || (strstr(text, "mismatch.c:") && strstr(text, "phx_options.stall_warning")));
    }
}

int main(void) {
    const char *name = "main";
    for (int p = 2; p <= 8; p += 3) {
        phx_options options = {0};
        phx_team *team;
        options.ranks = p;
        options.deadline = 0.3;
        WANT(phx_team_new(&options, &team) == PHX_OK);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            memset(codes, 0, sizeof codes);
            case_run = cases[k].run;
            judge(&cases[k], phx_team_run(team, and_then_dead, (void *)cases[k].name));
            WANT(phx_team_run(team, good, NULL) == PHX_OK);
        }
        for (which = 0; which < WRONG; which++) {
            char text[400];
            memset(codes, 0, sizeof codes);
            case_run = wrong_argument;
            name = wrong[which];
            WANT(phx_team_run(team, and_then_dead, (void *)name) == PHX_ERR_ARGUMENT);
            phx_last_error(text, sizeof text);
            WANT(strstr(text, wrong[which]) && strstr(text, "mismatch.c:") && strstr(text, "rank 1"));
            WANT(codes[1] == PHX_ERR_ARGUMENT);
            if (getenv("SHOW"))
                printf("%s\n", text);
            WANT(phx_team_run(team, good, NULL) == PHX_OK);
        }
        name = "handles";
        WANT(phx_team_run(team, keep, NULL) == PHX_OK);
        WANT(phx_barrier(kept) == PHX_ERR_HANDLE);
        name = "threads";
        WANT(phx_team_run(team, lent, NULL) == PHX_OK);
        {
            phx_comm *comms[16];
            pthread_t threads[16];
            a_rank ranks[16];
            /* Without the deadline: threads begin when the system likes. */
            WANT(phx_external(p, NULL, comms) == PHX_OK);
            for (int r = 0; r < p; r++) {
                ranks[r] = (a_rank){comms[r], NULL, NULL, 0};
                pthread_create(&threads[r], NULL, every_part, &ranks[r]);
            }
            for (int r = 0; r < p; r++)
                pthread_join(threads[r], NULL);
            of_a_parent(comms);
            for (int r = 0; r < p; r++)
                WANT(phx_comm_free(comms[r]) == PHX_OK);
        }
        name = "handles";
        WANT(phx_team_run(team, NULL, NULL) == PHX_ERR_ARGUMENT);
        WANT(phx_team_run((phx_team *)kept, good, NULL) == PHX_ERR_HANDLE);
        WANT(phx_team_cancel(team) == PHX_OK);
        WANT(phx_team_run(team, good, NULL) == PHX_ERR_CANCELLED);
        WANT(phx_team_clear_cancel(team) == PHX_OK);
        WANT(phx_team_run(team, good, NULL) == PHX_OK);
        WANT(phx_team_free(team) == PHX_OK);
        WANT(phx_team_run(team, good, NULL) == PHX_ERR_HANDLE);
        /* On threads of one's own there is no end that all wait for: those in which a rank waits. */
        for (size_t k = 0; k < 7; k++) {
            phx_comm *comms[16];
            pthread_t threads[16];
            own_thread own[16];
            int told = 0;
            name = cases[k].name;
            case_run = cases[k].run;
            memset(codes, 0, sizeof codes);
            WANT(phx_external(p, &options, comms) == PHX_OK);
            for (int r = 0; r < p; r++) {
                own[r].comm = comms[r];
                own[r].it = &cases[k];
                pthread_create(&threads[r], NULL, on_own_thread, &own[r]);
            }
            for (int r = 0; r < p; r++)
                pthread_join(threads[r], NULL);
            for (int r = 0; r < p; r++) {
                told += codes[r] == cases[k].code;
                if (codes[r] != PHX_OK)
                    WANT(strstr(own[r].text, "failed before"));
            }
            WANT(told >= 1);
        }
    }
    warned();
    size_t short_enough = 16 << 10, too_long = short_enough + 1;
    name = "kept message";
    WANT(phx_run(2, kept_message, &short_enough) == PHX_OK && codes[0] == PHX_OK && codes[1] == PHX_OK);
    WANT(phx_run(2, kept_message, &too_long) == PHX_ERR_DEADLOCK);
    WANT(phx_run(-1, good, NULL) == PHX_ERR_ARGUMENT);
    WANT(phx_run(100000, good, NULL) == PHX_ERR_RANKS);
    WANT(strcmp(phx_error_name(PHX_ERR_MISMATCH), "ranks disagree") == 0);
    if (failures)
        return 1;
    printf("mismatch: ok\n");
    return 0;
}
