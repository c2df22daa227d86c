/* Linked into a position-independent executable, if a plain compiler links a program with
 * libmpi_abi.so (which brings it in): what entry.c is for the wrappers' programs.
 *
 * It stands in an archive under the name of the function that an executable's first code calls. So
 * it becomes part of executables, and never of shared libraries. By itself the program begins as
 * any, and its main is handed to the runtime. Under the launcher its first code never runs: each
 * rank's thread calls `begin`.
 *
 * A linker has given the executable's thread-local variables their places from the thread's
 * pointer: they are where the launcher's would be. The launcher has left room there (c/room.c), so
 * each thread of a rank has them; their first values are written by it (c/launcher.c). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>


typedef int main_function(int, char **, char **);
extern main_function main;
extern void *__dso_handle;
extern void __cxa_finalize(void *);
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
/* Of priv.c: brings that in. */
extern const char phalanx_private;
const char *const phalanx_needs __attribute__((visibility("hidden"))) __attribute__((used)) = &phalanx_private;

/* Under the launcher: the first values of this copy's thread-local variables, for the calling
 * thread, and for those that it will make. */
static void own_thread_locals(void) {
  typedef void room_function(const void *, size_t, size_t, size_t);
  room_function *settle = (room_function *)dlsym(RTLD_DEFAULT, "phalanx_settle_thread_locals");
  const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)__ehdr_start;
  const ElfW(Phdr) *part = (const ElfW(Phdr) *)(__ehdr_start + file->e_phoff);
  for (int i = 0; settle && i < file->e_phnum; i++, part++)
    if (part->p_type == PT_TLS)
      settle(__ehdr_start + part->p_vaddr, part->p_filesz, part->p_memsz, part->p_align);
}

/* Before the program's constructors. */
__attribute__((constructor(101))) static void settle_early(void) { own_thread_locals(); }

/* An executable shows others such names only as a library asks for. So where these two are is said
 * in a note, by their distances: the loader reads it. */
static int begin(int, char **, char **) __asm__("phalanx_begin") __attribute__((used));
static void finish(void) __asm__("phalanx_end") __attribute__((used));
__asm__(".pushsection .note.phalanx, \"a\", %note; .balign 4; .long 8, 8, 1; "
        ".asciz \"phalanx\"; .long phalanx_begin - .; .long phalanx_end - .; .popsection");

/* On the rank's thread. */
static int begin(int argc, char **argv, char **envp) {
  own_thread_locals();
  return main(argc, argv, envp);
}

static void finish(void) { __cxa_finalize(&__dso_handle); }

/* Of the shim: c/team.c. */
extern int phalanx_alone(main_function *constructors, main_function *, int, char **, char **);

static main_function *program;
static int nothing(int argc, char **argv, char **envp) {
  (void)argc, (void)argv, (void)envp;
  return 0;
}
static int alone(int argc, char **argv, char **envp) {
  return phalanx_alone(nothing, program, argc, argv, envp);
}

typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);
__attribute__((visibility("hidden"))) int __libc_start_main(main_function *function, int argc,
                                                           char **argv, void (*init)(void),
                                                           void (*fini)(void), void (*last)(void),
                                                           void *stack) {
  start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
  program = function;
  return start(alone, argc, argv, init, fini, last, stack);
}
