/* A rank that overflows its stack is named, and the process dies of the signal as without the
 * library: the caller, in the thread of main and in another; a worker; a handler of the program's
 * stays in charge. Each case is a process of its own. */
#define _XOPEN_SOURCE 700
#include <phalanx.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int victim;

static int deeper(int n, volatile char *before) {
    volatile char room[3000];
    room[0] = before[0];
    return n == 0 ? room[0] : deeper(n - 1, room) + room[0];
}

static void rank(phx_comm *comm, void *argument) {
    volatile char start[1] = {1};
    (void)argument;
    if (victim >= 0 && phx_rank(comm) == victim)
        exit(deeper(1 << 30, start) & 1);
    if (victim == -1 && phx_rank(comm) == 1)
        *(volatile int *)8 = 1;
    if (victim == -2 && phx_rank(comm) == 0)
        kill(getpid(), SIGSEGV);
    phx_barrier(comm);
    if (victim != -3)
        sleep(20);
}

static void *run(void *argument) {
    (void)argument;
    phx_run(3, rank, NULL);
    return NULL;
}

static void own(int signal) {
    static const char text[] = "the program's handler\n";
    _exit(write(2, text, sizeof text - 1) < 0 ? signal : 7);
}

/* The handler runs on a stack of the program's. */
static void handle(void) {
    static char room[1 << 16];
    stack_t stack;
    struct sigaction action;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = own;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
}

static int bad;

enum { PLAIN, HANDLER_BEFORE, HANDLER_AFTER, OTHER_THREAD, AFTER_THREADS };

/* Runs a case; `text` is to be on the standard error, if there is one, and nothing if not. */
static void check(const char *name, int whom, int how, const char *text, int status_wanted) {
    char said[4096];
    size_t length = 0;
    ssize_t n;
    int ends[2], status, i;
    pid_t child;
    if (pipe(ends) != 0 || (child = fork()) < 0)
        exit(2);
    if (child == 0) {
        struct rlimit none, stack;
        pthread_t thread;
        memset(&none, 0, sizeof none);
        setrlimit(RLIMIT_CORE, &none);
        getrlimit(RLIMIT_STACK, &stack);
        stack.rlim_cur = 8 << 20;
        setrlimit(RLIMIT_STACK, &stack);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        victim = -3;
        if (how == HANDLER_BEFORE)
            handle();
        if (how == HANDLER_AFTER || how == PLAIN)
            phx_run(2, rank, NULL);
        if (how == HANDLER_AFTER)
            handle();
        for (i = 0; how == AFTER_THREADS && i < 30; i++)
            if (pthread_create(&thread, NULL, run, NULL) == 0)
                pthread_join(thread, NULL);
        victim = whom;
        if (how == OTHER_THREAD && pthread_create(&thread, NULL, run, NULL) == 0)
            pthread_join(thread, NULL);
        run(NULL);
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)n;
    said[length] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (status_wanted >= 0 ? !WIFEXITED(status) || WEXITSTATUS(status) != status_wanted
                           : !WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) {
        fprintf(stderr, "%s: status %#x\n", name, (unsigned)status);
        bad = 1;
    }
    if (text ? !strstr(said, text) : length > 0) {
        fprintf(stderr, "%s: said \"%s\"\n", name, said);
        bad = 1;
    }
}

int main(void) {
    const char *caller = "rank 0 (the caller) has overflowed its stack\n";
    check("caller", 0, PLAIN, caller, -1);
    check("worker", 2, PLAIN, "rank 2 has overflowed its stack\n", -1);
    check("caller in a thread", 0, OTHER_THREAD, caller, -1);
    check("caller after threads", 0, AFTER_THREADS, caller, -1);
    check("worker after threads", 1, AFTER_THREADS, "rank 1 has overflowed its stack\n", -1);
    check("bad address", -1, PLAIN, NULL, -1);
    check("sent", -2, PLAIN, NULL, -1);
    check("own handler before", 0, HANDLER_BEFORE, "the program's handler\n", 7);
    check("own handler after", 0, HANDLER_AFTER, "the program's handler\n", 7);
    if (!bad)
        printf("overflow: ok\n");
    return bad;
}
