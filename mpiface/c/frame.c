/* The frame from which a rank's main is called, and `exit`, which returns to it.
 *
 * `exit` in one rank must end that rank, not the process. Between the frame and `exit` lie only
 * frames of the program (C, C++, Fortran): while the runtime calls back into the program (a user's
 * operator), `barred` is set, and `exit` ends the process instead, because no frame of Rust may be
 * jumped over. A thread without a frame (a worker of OpenMP) ends the process, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>

struct frame {
  jmp_buf at;
  int code;
  void *caller; /* of exit */
};

static __thread struct frame *current;
static __thread int barred;

typedef int (*main_function)(int, char **, char **);

/* Calls `function`; gives what it returns, or what it handed to `exit`, whose caller's address is
 * then `exited`, else null. */
int phalanx_call_main(main_function function, int argc, char **argv, char **envp, void **exited) {
  struct frame frame;
  struct frame *before = current;
  *exited = NULL;
  if (setjmp(frame.at) == 0) {
    current = &frame;
    frame.code = function(argc, argv, envp);
  } else {
    *exited = frame.caller;
  }
  current = before;
  return frame.code;
}

void phalanx_bar_exit(int by) { barred += by; }

__attribute__((noreturn)) void exit(int code) {
  struct frame *frame = current;
  if (frame && !barred) {
    frame->code = code;
    frame->caller = __builtin_return_address(0);
    longjmp(frame->at, 1);
  }
  void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "exit");
  if (real)
    real(code);
  _Exit(code);
}
