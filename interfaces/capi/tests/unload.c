/* A team in a plug-in: an object that a program loads by dlopen, and closes by dlclose. One source,
 * compiled twice:
 *     cc -DPLUGIN -shared -fPIC unload.c LIBRARY -o plugin.so
 *     cc unload.c -o unload -lpthread; ./unload ./plugin.so
 * The program itself needs nothing of the library. LIBRARY is the shared library, or all of the
 * static one: then the plug-in is what must not go while threads and destructors of it are there.
 */
#if defined(PLUGIN)
#include <phalanx.h>

#include <stdlib.h>

static phx_team *kept;
static int kept_ranks;

static void add(phx_comm *comm, void *argument) {
    double sum = phx_rank(comm) + 1;
    PHX_CHECK_VOID(phx_all_reduce(comm, &sum, 1, PHX_F64, PHX_SUM));
    if (phx_rank(comm) == 0)
        *(double *)argument = sum;
}

static int is_sum(int ranks, double sum) { return sum == ranks * (ranks + 1) / 2.; }

/* A team that is made, run and freed. */
int plugin_once(int ranks) {
    double sum = 0;
    return phx_run(ranks, add, &sum) == PHX_OK && is_sum(ranks, sum);
}

/* A team that is made, run and left. */
int plugin_keep(int ranks) {
    phx_options options = {0};
    double sum = 0;
    options.ranks = kept_ranks = ranks;
    return phx_team_new(&options, &kept) == PHX_OK && phx_team_run(kept, add, &sum) == PHX_OK &&
           is_sum(ranks, sum);
}

/* One that was left, run again. */
int plugin_again(int ranks) {
    double sum = 0;
    return phx_team_run(kept, add, &sum) == PHX_OK && is_sum(ranks, sum);
}

int plugin_free(int ranks) {
    (void)ranks;
    phx_err code = phx_team_free(kept);
    kept = NULL;
    return code == PHX_OK;
}

int plugin_has(int ranks) { return kept != NULL && kept_ranks == ranks; }

/* When the plug-in goes. If the library is a part of it, that is at the end of the process. */
__attribute__((destructor)) static void last(void) {
    if (kept != NULL && !(plugin_again(kept_ranks) && plugin_free(0)))
        abort();
}

#else
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path;

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void *load(void) {
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        fprintf(stderr, "%s\n", dlerror());
    WANT(plugin != NULL);
    return plugin;
}

/* Calls one of the plug-in's functions. */
static int call(void *plugin, const char *name, int ranks) {
    int (*function)(int);
    *(void **)&function = dlsym(plugin, name);
    WANT(function != NULL);
    return function(ranks);
}

static long entries(const char *folder) {
    long count = 0;
    DIR *open = opendir(folder);
    WANT(open != NULL);
    while (readdir(open) != NULL)
        count++;
    closedir(open);
    return count;
}

/* What a leak would make more of: bytes, mappings, descriptors. */
typedef struct {
    long bytes, mappings, descriptors;
} held;

static held now(void) {
    held it = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    WANT(file != NULL && fscanf(file, "%*d %ld", &it.bytes) == 1);
    fclose(file);
    it.bytes *= sysconf(_SC_PAGESIZE);
    WANT((file = fopen("/proc/self/maps", "r")) != NULL);
    for (int c; (c = getc(file)) != EOF;)
        it.mappings += c == '\n';
    fclose(file);
    it.descriptors = entries("/proc/self/fd");
    return it;
}

/* A joined thread may be listed for a moment still. */
static int has_only_this_thread(void) {
    for (int i = 0; i < 2000; i++) {
        if (entries("/proc/self/task") == 3)
            return 1;
        usleep(1000);
    }
    return 0;
}

static void loaded_used_and_unloaded(void) {
    void *plugin = load();
    WANT(call(plugin, "plugin_once", 3));
    WANT(dlclose(plugin) == 0);
}

static void *on_a_thread(void *nothing) {
    loaded_used_and_unloaded();
    return nothing;
}

static void in_a_thread(void *(*f)(void *), void *argument) {
    pthread_t thread;
    WANT(pthread_create(&thread, NULL, f, argument) == 0 && pthread_join(thread, NULL) == 0);
}

static void *uses(void *plugin) {
    WANT(call(plugin, "plugin_once", 3));
    return NULL;
}

/* No thread that has run anything of the plug-in's is there when it is closed. */
static void used_by_a_thread(void) {
    void *plugin = load();
    in_a_thread(uses, plugin);
    WANT(dlclose(plugin) == 0);
}

static void of_a_thread(void) { in_a_thread(on_a_thread, NULL); }

/* Again and again; from the tenth time on nothing more is taken. */
static void repeat(int times, const char *what, void (*f)(void)) {
    held early = {0}, late;
    for (int i = 0; i < times; i++) {
        f();
        WANT(has_only_this_thread());
        if (i == 9)
            early = now();
    }
    late = now();
    printf("%s: %d times more: %+ld KiB, %+ld mappings, %+ld descriptors\n", what, times - 10,
           (late.bytes - early.bytes) / 1024, late.mappings - early.mappings,
           late.descriptors - early.descriptors);
    WANT(late.bytes - early.bytes < 1 << 20);
    WANT(late.mappings - early.mappings < 8);
    WANT(late.descriptors == early.descriptors);
}

/* Threads of a team that nobody has freed wake now and then; a fork calls what was registered. A
 * plug-in that is not the library itself has gone, and has freed its team then. */
static void closed_with_a_team(void) {
    void *plugin = load();
    WANT(call(plugin, "plugin_keep", 3));
    WANT(dlclose(plugin) == 0);
    usleep(100000);
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status = 0;
    WANT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    plugin = load();
    if (call(plugin, "plugin_has", 3)) {
        WANT(call(plugin, "plugin_again", 3));
        WANT(call(plugin, "plugin_free", 3));
    }
    WANT(has_only_this_thread());
    WANT(dlclose(plugin) == 0);
}

static pthread_barrier_t meeting;

static void *waits_for_the_end(void *plugin) {
    WANT(call(plugin, "plugin_once", 2));
    pthread_barrier_wait(&meeting);
    /* Closed by the other thread. */
    pthread_barrier_wait(&meeting);
    return NULL;
}

/* A thread that has run a team ends after the plug-in was closed: its thread-locals' destructors
 * are the plug-in's. */
static void closed_before_a_thread_ends(void) {
    pthread_t thread;
    pthread_barrier_init(&meeting, NULL, 2);
    void *plugin = load();
    WANT(pthread_create(&thread, NULL, waits_for_the_end, plugin) == 0);
    pthread_barrier_wait(&meeting);
    WANT(dlclose(plugin) == 0);
    pthread_barrier_wait(&meeting);
    WANT(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&meeting);
}

static pthread_key_t key;
static int ends;

static void run_one(void *plugin) { ends += call(plugin, "plugin_once", 2); }

static void *leaves_a_value(void *plugin) {
    WANT(call(plugin, "plugin_once", 2));
    WANT(pthread_setspecific(key, plugin) == 0);
    return NULL;
}

/* A team is made, run and freed by the destructor of a thread's value, in C: after those of the
 * plug-in's own thread-locals. */
static void in_a_destructor(void) {
    void *plugin = load();
    pthread_t thread;
    WANT(pthread_key_create(&key, run_one) == 0);
    for (int i = 0; i < 20; i++)
        WANT(pthread_create(&thread, NULL, leaves_a_value, plugin) == 0 &&
             pthread_join(thread, NULL) == 0);
    WANT(ends == 20);
    WANT(has_only_this_thread());
    WANT(pthread_key_delete(key) == 0 && dlclose(plugin) == 0);
}

static void *keeps(void *nothing) {
    void *plugin = load();
    WANT(call(plugin, "plugin_keep", 2));
    WANT(dlclose(plugin) == 0);
    return nothing;
}

int main(int count, char *arguments[]) {
    WANT(count == 2);
    path = arguments[1];
    /* A library that was unloaded would leave a key of pthread_key_create each time, of which a
     * process has 1024. */
    repeat(1100, "used by a thread that has ended", used_by_a_thread);
    repeat(100, "by threads that come and go", of_a_thread);
    repeat(100, "by the main thread", loaded_used_and_unloaded);
    closed_with_a_team();
    closed_before_a_thread_ends();
    in_a_destructor();
    /* The last one is freed by the plug-in's destructor, after main; its caller's thread is gone. */
    in_a_thread(keeps, NULL);
    printf("unload: %s: ok\n", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    return 0;
}
#endif
