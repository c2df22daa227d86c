/* The frame from which a rank's main is called, and `exit`, which returns to it.
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
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct frame {
  jmp_buf at;
  int code;
  void *caller;  /* of exit */
  void *program; /* where the program's file begins */
};

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

/* Calls `function`; gives what it returns, or what it handed to `exit`, whose caller's address is
 * then `exited`, else null. */
int phalanx_call_main(main_function function, int argc, char **argv, char **envp, void **exited) {
  FIRST_FRAME;
  struct frame frame;
  struct frame *before = current;
  *exited = NULL;
  frame.program = file_of((void *)function);
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

/* What the process prints by the C library's stream goes line by line (see priv.c). */
void phalanx_print_lines(void) { setvbuf(stdout, NULL, _IOLBF, BUFSIZ); }

__attribute__((noreturn)) void exit(int code) {
  struct frame *frame = current;
  if (frame && !barred) {
    frame->code = code;
    frame->caller = phalanx_in_program(__builtin_return_address(0));
    longjmp(frame->at, 1);
  }
  void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "exit");
  if (real)
    real(code);
  _Exit(code);
}
