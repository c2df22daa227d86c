/* The frame from which a rank's main is called, and `exit`, which returns to it. So do the end of
 * main's thread by `pthread_exit` and its cancellation, after the program's own clean-up: the C
 * library unwinds the program's frames, and then comes here.
 *
 * `exit` in one rank must end that rank, not the process. Between the frame and `exit` lie only
 * frames of the program (C, C++, Fortran): while the runtime calls back into the program (a user's
 * operator), `barred` is set, and `exit` ends the process instead, because no frame of Rust may be
 * jumped over. A thread without a frame (a worker of OpenMP) ends the process, too.
 *
 * The frame says of itself that it is the stack's first. So the search for a handler of a C++
 * exception ends there, and an exception that nobody catches terminates the program where it was
 * thrown, in the C++ library's words. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct frame {
  jmp_buf at;
  int code;
  int rank;
  int is_cut;    /* main's thread was ended, by pthread_exit or a cancellation */
  pid_t process; /* exit in a child of fork is the child's */
  void *caller;  /* of exit */
  void *program; /* where the program's file begins */
  struct frame *next;
  __pthread_unwind_buf_t cut;
};

/* Of all ranks, to name one whose other threads end the process. */
static struct frame *_Atomic frames;
/* How many ranks' mains are under way, or will be. */
static atomic_int under_way;

#if defined(__x86_64__)
#define FIRST_FRAME __asm__ volatile(".cfi_undefined rip")
#elif defined(__aarch64__)
#define FIRST_FRAME __asm__ volatile(".cfi_undefined x30")
#endif

static __thread struct frame *current;
static __thread int barred;

typedef int (*main_function)(int, char **, char **);

static void *file_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Whether an address lies in the rank's program; of a thread that the program made, which has no
 * frame: whether it lies neither in the C library nor in the launcher. */
static int is_in_program(const void *address) {
  void *file = file_of(address);
  if (current)
    return file == current->program;
  return file && file != file_of((void *)abort) && file != file_of((void *)is_in_program);
}

/* An address, or if it is not in the rank's program (but in a library that the program called): the
 * one in the program from which the call came, if it is found. For a signal's handler, too, of a
 * process that ends. */
void *phalanx_in_program(void *address) {
  void *trail[64];
  if (is_in_program(address))
    return address;
  int depth = backtrace(trail, sizeof trail / sizeof *trail);
  for (int i = 0; i < depth; i++)
    if (is_in_program(trail[i]))
      return trail[i];
  return address;
}

/* So many ranks will be called: they are under way from now on. */
void phalanx_expect(int ranks) { atomic_fetch_add(&under_way, ranks); }

/* Calls `function` as rank `rank`; gives what it returns, or what it handed to `exit`, whose caller's
 * address is then `exited`, else null. `cut`: whether the thread was ended in it; the code is 0. */
int phalanx_call_main(main_function function, int rank, int argc, char **argv, char **envp,
                      void **exited, int *cut) {
  FIRST_FRAME;
  /* For ever: another thread may look at it at any time. */
  struct frame *frame = calloc(1, sizeof *frame);
  struct frame *before = current;
  if (!frame)
    abort();
  *exited = NULL;
  frame->rank = rank;
  frame->process = getpid();
  frame->program = file_of((void *)function);
  frame->next = atomic_load(&frames);
  while (!atomic_compare_exchange_weak(&frames, &frame->next, frame)) {
  }
  if (__sigsetjmp((struct __jmp_buf_tag *)(void *)frame->cut.__cancel_jmp_buf, 0)) {
    frame->is_cut = 1;
    frame->code = 0;
    if (frame->process != getpid())
      exit(0);
  } else {
    __pthread_register_cancel(&frame->cut);
    if (setjmp(frame->at) == 0) {
      current = frame;
      frame->code = function(argc, argv, envp);
      /* A child of a fork is a process of its own, which ends as C says. */
      if (frame->process != getpid())
        exit(frame->code);
    } else {
      *exited = frame->caller;
    }
  }
  __pthread_unregister_cancel(&frame->cut);
  atomic_fetch_sub(&under_way, 1);
  current = before;
  *cut = frame->is_cut;
  return frame->code;
}

/* Where the program of the calling rank begins, if this is a rank's own thread. */
void *phalanx_program(void) { return current ? current->program : NULL; }

void phalanx_bar_exit(int by) { barred += by; }

/* What the process prints by the C library's stream goes line by line (see priv.c). */
void phalanx_print_lines(void) { setvbuf(stdout, NULL, _IOLBF, BUFSIZ); }

static char *put(char *at, const char *text) { return memcpy(at, text, strlen(text)) + strlen(text); }

static char *put_number(char *at, int number) {
  char digits[12], *first = digits + sizeof digits;
  unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;
  do
    *--first = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0)
    *--first = '-';
  size_t length = (size_t)(digits + sizeof digits - first);
  memcpy(at, first, length);
  return at + length;
}

/* A rank ends the process, by `call` at `caller`, while other ranks go on: says so, and gives the
 * code, which is not 0 then. A signal's handler may call it. */
static int end_all(const char *call, void *caller, int code) {
  struct frame *frame = current;
  int others = atomic_load(&under_way) - (frame != NULL);
  if (!frame && atomic_load(&frames)) {
    void *file = file_of(caller);
    for (frame = atomic_load(&frames); frame && frame->program != file; frame = frame->next) {
    }
    others = atomic_load(&under_way) - 1;
  }
  struct frame *any = frame ? frame : atomic_load(&frames);
  if (!any || any->process != getpid() || others < 1)
    return code;
  char text[160], *end = put(text, "phalanx: ");
  if (!frame) {
    end = put(end, "a rank");
  } else {
    end = put_number(put(end, "rank "), frame->rank);
  }
  end = put(put(end, current ? ": " : ": a thread of its own: "), call);
  end = put(put_number(put(end, " with code "), code), " ends all ranks\n");
  ssize_t written = write(2, text, (size_t)(end - text));
  (void)written;
  return code & 0xff ? code : 1;
}

__attribute__((noreturn)) void phalanx_end(int code);

__attribute__((noreturn)) void exit(int code) {
  struct frame *frame = current;
  if (frame && !barred && frame->process == getpid()) {
    frame->code = code;
    frame->caller = phalanx_in_program(__builtin_return_address(0));
    longjmp(frame->at, 1);
  }
  code = end_all("exit", __builtin_return_address(0), code);
  void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "exit");
  if (real)
    real(code);
  phalanx_end(code);
}

/* Ends the process, without a word: what the C library's _exit does. */
__attribute__((noreturn)) void phalanx_end(int code) {
  for (;;)
    syscall(SYS_exit_group, code);
}

__attribute__((noreturn)) void _exit(int code) {
  phalanx_end(end_all("_exit", __builtin_return_address(0), code));
}

__attribute__((noreturn)) void _Exit(int code) {
  phalanx_end(end_all("_Exit", __builtin_return_address(0), code));
}

__attribute__((noreturn)) void quick_exit(int code) {
  code = end_all("quick_exit", __builtin_return_address(0), code);
  void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "quick_exit");
  if (real)
    real(code);
  phalanx_end(code);
}
