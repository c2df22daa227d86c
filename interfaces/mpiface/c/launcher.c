/* Functions of the C library that the launcher has instead, for a rank's own threads and plug-ins:
 * it is looked in before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define PUBLIC __attribute__((visibility("default")))

/* The C library's own. */
#define REAL(name) \
  static _Atomic(void *) found; \
  void *real = atomic_load_explicit(&found, memory_order_relaxed); \
  if (!real) { \
    real = dlsym(RTLD_NEXT, name); \
    atomic_store_explicit(&found, real, memory_order_relaxed); \
  }

/* --- thread-local variables of executables: see start.c --- */

struct values {
  const void *first; /* of the rank's copy */
  size_t given, room;
};

static __thread const struct values *mine;

static void settle(const struct values *values) {
  char *at = (char *)__builtin_thread_pointer() - values->room;
  memcpy(at, values->first, values->given);
  memset(at + values->given, 0, values->room - values->given);
  mine = values;
}

/* The calling thread has them from now on, and those that it makes. (That there is room for them
 * the loader has seen.) */
PUBLIC void phalanx_settle_thread_locals(const void *first, size_t given, size_t bytes,
                                         size_t unit) {
  struct values *values = malloc(sizeof *values); /* for ever: threads may look at it */
  if (!values)
    abort();
  unit = unit ? unit : 1;
  *values = (struct values){first, given, (bytes + unit - 1) / unit * unit};
  settle(values);
}

struct beginning {
  void *function, *argument;
  const struct values *values;
};

static struct beginning *prepare(void *function, void *argument) {
  struct beginning *it = malloc(sizeof *it);
  if (it)
    *it = (struct beginning){function, argument, mine};
  return it;
}

static struct beginning take(void *given) {
  struct beginning it = *(struct beginning *)given;
  free(given);
  settle(it.values);
  return it;
}

static void *begin(void *given) {
  struct beginning it = take(given);
  return ((void *(*)(void *))it.function)(it.argument);
}

static int begin_c11(void *given) {
  struct beginning it = take(given);
  return ((int (*)(void *))it.function)(it.argument);
}

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*function)(void *),
                          void *argument) {
  REAL("pthread_create");
  if (!mine)
    return ((create_function *)real)(thread, how, function, argument);
  struct beginning *it = prepare((void *)function, argument);
  if (!it)
    return EAGAIN;
  int code = ((create_function *)real)(thread, how, begin, it);
  if (code)
    free(it);
  return code;
}

typedef int create_c11_function(thrd_t *, thrd_start_t, void *);
PUBLIC int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
  REAL("thrd_create");
  if (!mine)
    return ((create_c11_function *)real)(thread, function, argument);
  struct beginning *it = prepare((void *)function, argument);
  if (!it)
    return thrd_nomem;
  int code = ((create_c11_function *)real)(thread, begin_c11, it);
  if (code != thrd_success)
    free(it);
  return code;
}

/* --- what a rank loads itself: src/load/plugin.rs --- */

typedef void *dlopen_function(const char *, int);
typedef void *plugin_function(const char *name, int flags, const void *caller, dlopen_function *,
                              const char **failure);

/* Set before the first rank's code runs. */
static plugin_function *plugins;
static __thread const char *failure;
/* As the C library: one after the other, and a library's constructor may load another. */
static pthread_mutex_t loading = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

PUBLIC void phalanx_watch_plugins(plugin_function *function) { plugins = function; }

extern void *phalanx_program(void);

/* From where a call comes: the caller's file, or in a library of the system the rank's program. */
static const void *origin(const void *caller) {
  Dl_info info, own, rank;
  void *program = phalanx_program();
  if (program && dladdr(caller, &info) && dladdr((void *)origin, &own) &&
      info.dli_fbase != own.dli_fbase && dladdr(program, &rank) && info.dli_fname[0] == '/' &&
      strncmp(info.dli_fname, "/proc/", 6) != 0)
    return program;
  return caller;
}

PUBLIC void *dlopen(const char *name, int flags) {
  REAL("dlopen");
  dlopen_function *open = (dlopen_function *)real;
  failure = NULL;
  if (!plugins)
    return open(name, flags);
  const char *text = NULL;
  const void *caller = origin(__builtin_return_address(0));
  pthread_mutex_lock(&loading);
  void *handle = plugins(name, flags, caller, open, &text);
  if (!handle && !text)
    handle = open(name, flags);
  pthread_mutex_unlock(&loading);
  failure = text;
  return handle;
}

/* (To look for it is a call of the dynamic linker, which forgets the error: so it is done early.) */
static char *(*real_dlerror)(void);
__attribute__((constructor)) static void look_for_dlerror(void) {
  real_dlerror = (char *(*)(void))dlsym(RTLD_NEXT, "dlerror");
}

PUBLIC char *dlerror(void) {
  const char *text = failure;
  failure = NULL;
  return text ? (char *)text : real_dlerror ? real_dlerror() : NULL;
}
