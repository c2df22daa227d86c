/* Linked into each program: what makes the shared object a program.
 *
 * A program is linked as a shared object, of which each rank loads a copy. With an interpreter and
 * an entry point it can be executed by itself all the same (./prog, the run tests of configure and
 * CMake, debuggers): the process is its only rank then, without a copy of anything. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The stack's address and the dynamic linker's last function (in rdx, in x0) go to `begin`. */
#if defined(__x86_64__)
#define INTERPRETER "/lib64/ld-linux-x86-64.so.2"
#define ENTRY \
  "xorl %ebp, %ebp; movq %rsp, %rdi; movq %rdx, %rsi; andq $-16, %rsp; call phalanx_begin; hlt"
#define FIRST_FRAME ".cfi_undefined rip"
#elif defined(__aarch64__)
#define INTERPRETER "/lib/ld-linux-aarch64.so.1"
#define ENTRY "mov x29, #0; mov x30, #0; mov x1, x0; mov x0, sp; bl phalanx_begin; brk #0"
#define FIRST_FRAME ".cfi_undefined x30"
#else
#error "the interpreter of this architecture is not known here"
#endif

const char phalanx_interpreter[] __attribute__((section(".interp"), used)) = INTERPRETER;

__asm__(".text; .globl ph_entry; .type ph_entry, @function; ph_entry: .cfi_startproc; " FIRST_FRAME
        "; " ENTRY "; .cfi_endproc; .size ph_entry, . - ph_entry");

/* The program's main, of which the name itself is not to be had under -fvisibility=hidden. */
typedef int main_function(int, char **, char **);
extern main_function main;
__attribute__((visibility("default"))) main_function *phalanx_main(void) { return main; }

extern void *__dso_handle;
extern void __cxa_finalize(void *);
extern int __cxa_atexit(void (*)(void *), void *, void *);

/* What exit does for a process: the functions of this copy given to atexit, and its destructors. */
__attribute__((visibility("default"))) void phalanx_finish(void) { __cxa_finalize(&__dso_handle); }

/* --- the program by itself --- */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
/* Of the shim: c/team.c. */
extern int phalanx_alone(main_function *constructors, main_function *, int, char **, char **);

static ElfW(Addr) dynamic(ElfW(Sxword) tag) {
  for (const ElfW(Dyn) *at = _DYNAMIC; at->d_tag != DT_NULL; at++)
    if (at->d_tag == tag)
      return at->d_un.d_val;
  return 0;
}

/* The program's constructors, which the dynamic linker leaves to an executable's own start. */
static int construct(int argc, char **argv, char **envp) {
  typedef void constructor(int, char **, char **);
  ElfW(Addr) one = dynamic(DT_INIT), list = dynamic(DT_INIT_ARRAY);
  if (one)
    ((constructor *)(__ehdr_start + one))(argc, argv, envp);
  for (size_t i = 0; list && i < dynamic(DT_INIT_ARRAYSZ) / sizeof(constructor *); i++)
    ((constructor *const *)(__ehdr_start + list))[i](argc, argv, envp);
  return 0;
}

/* Debuggers find the libraries of an executable by the entry DT_DEBUG of its dynamic section, which
 * linkers give to executables only. The section's end has room for it. */
static void tell_debuggers(void) {
  const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)__ehdr_start;
  const ElfW(Phdr) *part = (const ElfW(Phdr) *)(__ehdr_start + file->e_phoff);
  ElfW(Dyn) *at = _DYNAMIC;
  while (at->d_tag != DT_NULL)
    at++;
  ElfW(Addr) offset = (ElfW(Addr))((const char *)at - __ehdr_start);
  int has_room = 0, is_sealed = 0;
  for (int i = 0; i < file->e_phnum; i++, part++)
    if (offset >= part->p_vaddr && offset - part->p_vaddr < part->p_memsz) {
      has_room |= part->p_type == PT_DYNAMIC &&
                  offset + 2 * sizeof *at <= part->p_vaddr + part->p_memsz;
      is_sealed |= part->p_type == PT_GNU_RELRO;
    }
  uintptr_t start = (uintptr_t)at & -(uintptr_t)sysconf(_SC_PAGESIZE);
  size_t length = (uintptr_t)(at + 1) - start;
  if (!has_room || (is_sealed && mprotect((void *)start, length, PROT_READ | PROT_WRITE) != 0))
    return;
  at->d_un.d_ptr = (ElfW(Addr))&_r_debug;
  at->d_tag = DT_DEBUG;
  if (is_sealed)
    mprotect((void *)start, length, PROT_READ);
}

__attribute__((noreturn, used, visibility("hidden"))) void phalanx_begin(void **stack,
                                                                         void (*last)(void)) {
  int argc = (int)(intptr_t)stack[0];
  char **argv = (char **)(stack + 1);
  tell_debuggers();
  if (last)
    __cxa_atexit((void (*)(void *))last, NULL, NULL);
  exit(phalanx_alone(construct, main, argc, argv, argv + argc + 1));
}
